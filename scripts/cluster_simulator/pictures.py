# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of one run, for a notebook, in the look of scripts/plot.

plot() is scripts/plot's own; the others draw into the axes they are given, or new ones, and return
them.
"""

import functools

from .amounts import counted
from .nearest import nearest


def _in_style(method):
    """Imports matplotlib only when a picture is asked for."""

    @functools.wraps(method)
    def styled(*words, **options):
        import matplotlib

        from .plots.style import STYLE

        with matplotlib.rc_context(STYLE):
            return method(*words, **options)

    return styled


class Pictures:
    """Methods of Result."""

    def plot(self, name, width=None):
        """One of scripts/plot's pictures ("step", "completion", "links", ...) as a matplotlib
        Figure.
        """
        from . import plots

        if name not in plots.PICTURES:
            raise ValueError(
                f"plot: unknown picture {name!r}; allowed: {', '.join(plots.PICTURES)}"
                f"{nearest(str(name), plots.PICTURES)}"
            )
        return plots.draw(name, [self], [self.program], width or plots.WIDTH)

    @_in_style
    def plot_step(self, ax=None):
        """Where a step's time goes: computing and exposed communication."""
        from .plots import steps, style

        ax = _axes(ax, 1.2)
        if not _number(self, "step_time_us"):
            # A bar of 0 ms would be a step that took no time.
            _say_empty(ax, steps.WHY_NOT + style.each_job([style.Item(self, "", "", "")]))
            ax.set_title(_title(self, str(self.stats.get("model", self.program or "step"))))
            return ax
        left = 0
        told = ("compute_time_us", "exposed_communication_time_us")
        rest = _number(self, "step_time_us") - sum(_number(self, key) for key in told)
        computing, _, exposed, waiting = style.STATES
        for us, (label, colour) in (
            (_number(self, told[0]), computing),
            (_number(self, told[1]), exposed),
            (rest if rest > 1e-6 * _number(self, "step_time_us") else 0, waiting),
        ):
            if us == 0 and colour == waiting[1]:
                continue
            value = us / 1000
            ax.barh([0], [value], left=left, color=colour, label=f"{label} {value:.3g} ms")
            left += value
        ax.set_yticks([])
        ax.grid(False, axis="y")
        ax.set_xlabel("time in a step (ms)")
        ax.set_title(
            _title(
                self,
                (
                    f"{self.stats.get('model', 'step')},"
                    f" {counted(self.stats.get('gpus', '?'), 'GPU')}: {left:.3g} ms a step"
                ),
            )
        )
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.6), ncol=2)
        return ax

    @_in_style
    def plot_completion_times(self, ax=None):
        """Share of messages (of the sample, if flows.csv is one) that arrived within a time."""
        from .plots import style

        ax = _axes(ax)
        times = self.flows()["fct_us"].sort_values().to_numpy()
        if len(times):
            share = [100 * (i + 1) / len(times) for i in range(len(times))]
            ax.step(times, share, where="post", color=style.BLACK)
            style.widen_log(ax, "x", [max(times[0], 1e-6), max(times[-1], 1e-6)], 4)
            style.time_ticks(ax, "x")
        for name, dashes in (("p50", style.DASHES[2]), ("p99", style.DASHES[1])):
            value = (self.stats.get("fct_us") or {}).get(name)
            if value:
                ax.axvline(
                    value,
                    linestyle=dashes,
                    color=style.RED,
                    label=f"{name} {style.human_time(value)}",
                )
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        ax.set_ylim(0, 104)
        ax.set_yticks([0, 25, 50, 75, 100])
        ax.set_xlabel("completion time of a message")
        ax.set_ylabel("messages (%)")
        ax.set_title(_title(self, counted(self.stats.get("messages") or len(times), "message")))
        return ax

    @_in_style
    def plot_links(self, count=6, ax=None):
        """Utilization over time of the links that are busiest on the whole: a strip for each."""
        from .plots import style

        wide, width_us = self._utilization()
        busiest = wide.sum().sort_values(ascending=False, kind="stable").index[:count]
        ax = _axes(ax, 0.9 + 0.2 * max(len(busiest), 2))
        # lines would hide each other: links of one ring do the same at the same time
        if len(busiest):
            edges = [time / 1000 for time in [*wide.index, wide.index[-1] + width_us]]
            mesh = ax.pcolormesh(
                edges,
                range(len(busiest) + 1),
                100 * wide[busiest].T.to_numpy(),
                cmap="Blues",
                vmin=0,
                vmax=100,
            )
            bar = ax.figure.colorbar(mesh, ax=ax, label="utilization (%)")
            bar.outline.set_linewidth(0.4)
            ax.set_yticks(
                [place + 0.5 for place in range(len(busiest))], [_plain(link) for link in busiest]
            )
            ax.invert_yaxis()
        else:
            from .plots.links import why_no_links

            _say_empty(ax, why_no_links(self))
        ax.grid(False)
        style.time_axis(ax, "ms")
        ax.set_title(
            _title(
                self,
                "Busiest links" + (f", means over {width_us / 1000:.3g} ms" if width_us else ""),
            )
        )
        return ax

    def _utilization(self):
        """(table: a row for each stretch of time, by its begin, a column for each link; length of a
        stretch)
        """
        table = self.links()
        wide = table.pivot_table(
            index="time_us", columns="link", values="utilization", aggfunc="mean"
        )
        interval = (self.stats.get("links_csv") or {}).get("interval_us")
        if not len(wide) or not interval:
            return wide.fillna(0), float(interval or 0)
        # An interval in which a link did nothing has no row: that is zero.
        first, last = float(self.stats.get("measured_from_us") or 0), float(wide.index[-1])
        every = [
            round(n * interval, 6)
            for n in range(int(first / interval) + 1, int(last / interval) + 1)
        ]
        wide = wide.reindex(sorted({*every, *wide.index})).fillna(0)
        together = -(-len(wide) // 150)  # as many as a picture shows
        groups = [place // together for place in range(len(wide))]
        rates = table.pivot_table(index="time_us", columns="link", values="rate_gbps")
        if (rates.max() > rates.min()).any():
            # A link that is slower for a while counts less then; between rows its rate stays.
            rates = rates.reindex(wide.index).ffill().bfill()
            sums = (wide * rates).groupby(groups).sum()
            stretches = sums / rates.groupby(groups).sum()
        else:
            stretches = wide.groupby(groups).mean()
        stretches.index = [max(0.0, time - interval) for time in wide.index[::together]]
        return stretches, together * interval

    @_in_style
    def plot_bandwidth(self, ax=None):
        """Bus bandwidth over size of collectives: collperf's result."""
        from .plots import collectives, style

        ax = _axes(ax)
        table = self.collectives()
        for number, ((op, algorithm), rows) in enumerate(
            table.groupby(["op", "algorithm"]) if len(table) else []
        ):
            rows = rows.sort_values("bytes", kind="stable")
            ax.plot(
                rows["bytes"],
                rows["busbw_GBps"],
                color=style.COLOURS[number % len(style.COLOURS)],
                marker=style.MARKERS[number % len(style.MARKERS)],
                markersize=3,
                linestyle=style.DASHES[number % len(style.DASHES)]
                if self.program == "collperf"
                else "none",
                label=f"{op}, {algorithm}",
            )
        if len(table):
            style.widen_log(
                ax, "x", [max(1, table["bytes"].min()), max(1, table["bytes"].max())], 4
            )
            ax.set_xscale("log", base=2)
            style.byte_ticks(ax, "x", binary=True)
            ax.set_ylim(0, 1.1 * table["busbw_GBps"].max() or 1)
            ax.legend(loc="lower right")
        else:
            _say_empty(ax, collectives.WHY_NOT)
        ax.set_xlabel("size of the collective")
        ax.set_ylabel("bus bandwidth (GB/s)")
        ax.set_title(_title(self, "Collectives"))
        return ax


def _axes(ax, height=2.4):
    """New axes of a page's width; those of the caller get the look of ours."""
    from .plots.style import WIDTH, dress

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(WIDTH, height + 0.4), layout="constrained")[1]
    return dress(ax)


def _say_empty(ax, words):
    """In place of a picture: why there is none."""
    from .plots import style

    room = ax.get_position().width * ax.figure.get_figwidth() * 72
    style.say_empty(ax, "\n".join(style.wrapped(words, 7, room)))
    ax.set_xticks([])


def _number(run, key):
    value = run.stats.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _plain(text):
    """matplotlib takes what stands between dollars for a formula."""
    return str(text).replace("$", r"\$")


def _title(run, text):
    return _plain(text if run.complete else f"{text} (incomplete run)")
