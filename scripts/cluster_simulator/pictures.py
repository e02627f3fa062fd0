# SPDX-License-Identifier: GPL-2.0-only
"""Simple pictures of one run, for a notebook. Each draws into the axes it is given, or new ones, and returns them."""


class Pictures:
    """Methods of Result."""

    def plot_step(self, ax=None):
        """Where a step's time goes: computing and exposed communication."""
        ax = _axes(ax, (7, 1.6))
        left = 0
        for key, label, colour in (
            ("compute_time_us", "computing", "#0072B2"),
            ("exposed_communication_time_us", "exposed communication", "#D55E00"),
        ):
            value = _number(self, key) / 1000
            ax.barh([0], [value], left=left, color=colour, label=f"{label} {value:.3g} ms")
            left += value
        ax.set_yticks([])
        ax.set_xlabel("time in a step (ms)")
        ax.set_title(
            _title(self, f"{self.stats.get('model', 'step')}, {self.stats.get('gpus', '?')} GPUs: {left:.3g} ms a step")
        )
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.55), ncol=2, frameon=False)
        return ax

    def plot_completion_times(self, ax=None):
        """Share of messages (of the sample, if flows.csv is one) that arrived within a time."""
        ax = _axes(ax)
        times = self.flows()["fct_us"].sort_values().to_numpy()
        if len(times):
            ax.step(times, [(i + 1) / len(times) for i in range(len(times))], where="post", color="#0072B2")
            ax.set_xscale("log")
        for name, style in (("p50", ":"), ("p99", "--")):
            value = (self.stats.get("fct_us") or {}).get(name)
            if value:
                ax.axvline(value, linestyle=style, color="#D55E00", label=f"{name} {value:.4g} µs")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("completion time (µs)")
        ax.set_ylabel("share of messages")
        ax.set_title(_title(self, f"{self.stats.get('messages') or len(times):,} messages"))
        return ax

    def plot_links(self, count=6, ax=None):
        """Utilization over time of the links that are busiest on the whole: a strip for each."""
        wide, width_us = self._utilization()
        busiest = wide.sum().sort_values(ascending=False, kind="stable").index[:count]
        ax = _axes(ax, (8, 1.3 + 0.3 * max(len(busiest), 2)))
        if len(busiest):  # lines would hide each other: links of one ring do the same at the same time
            edges = [time / 1000 for time in [*wide.index, wide.index[-1] + width_us]]
            mesh = ax.pcolormesh(
                edges, range(len(busiest) + 1), 100 * wide[busiest].T.to_numpy(), cmap="viridis", vmin=0, vmax=100
            )
            ax.figure.colorbar(mesh, ax=ax, label="utilization (%)")
            ax.set_yticks(
                [place + 0.5 for place in range(len(busiest))], [_plain(link) for link in busiest], fontsize="small"
            )
            ax.invert_yaxis()
        else:
            ax.set_yticks([])
        ax.set_xlabel("time since the simulation began (ms)")
        ax.set_title(_title(self, "Busiest links" + (f", means over {width_us / 1000:.3g} ms" if width_us else "")))
        return ax

    def _utilization(self):
        """(table: a row for each stretch of time, by its begin, a column for each link; length of a stretch)"""
        table = self.links()
        wide = table.pivot_table(index="time_us", columns="link", values="utilization", aggfunc="mean")
        interval = (self.stats.get("links_csv") or {}).get("interval_us")
        if not len(wide) or not interval:
            return wide.fillna(0), float(interval or 0)
        # An interval in which a link did nothing has no row: that is zero.
        first, last = float(self.stats.get("measured_from_us") or 0), float(wide.index[-1])
        every = [round(n * interval, 6) for n in range(int(first / interval) + 1, int(last / interval) + 1)]
        wide = wide.reindex(sorted({*every, *wide.index})).fillna(0)
        together = -(-len(wide) // 150)  # as many as a picture shows
        stretches = wide.groupby([place // together for place in range(len(wide))]).mean()
        stretches.index = [max(0.0, time - interval) for time in wide.index[::together]]
        return stretches, together * interval

    def plot_bandwidth(self, ax=None):
        """Bus bandwidth over size of collectives: collperf's result."""
        ax = _axes(ax)
        table = self.collectives()
        for (op, algorithm), rows in table.groupby(["op", "algorithm"]) if len(table) else []:
            rows = rows.sort_values("bytes", kind="stable")
            ax.plot(
                rows["bytes"],
                rows["busbw_GBps"],
                marker="o",
                linestyle="-" if self.program == "collperf" else "none",
                label=f"{op}, {algorithm}",
            )
        if len(table):
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter(lambda value, _: _binary(value))
            ax.set_ylim(0, 1.1 * table["busbw_GBps"].max() or 1)
            ax.legend(frameon=False, loc="lower right")
        ax.set_xlabel("size of the collective")
        ax.set_ylabel("bus bandwidth (GB/s)")
        ax.set_title(_title(self, "Collectives"))
        return ax


def _axes(ax, size=(6, 3.5)):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=size)[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _binary(size):
    """1048576 as 1 MiB."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = 0
    while size >= 1024 and power < len(units) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.3g} {units[power]}"


def _number(run, key):
    value = run.stats.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _plain(text):
    """matplotlib takes what stands between dollars for a formula."""
    return str(text).replace("$", r"\$")


def _title(run, text):
    return _plain(text if run.complete else f"{text} (incomplete run)")
