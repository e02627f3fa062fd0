# SPDX-License-Identifier: GPL-2.0-only
"""Where the time of a training step goes: bars."""

from ..measures import call_times, count_operations, some_blocks, step_parts
from .style import (
    DEEP,
    NARROW,
    PALE,
    RED,
    SKY,
    STATES,
    TIMES,
    digits,
    each_job,
    heading,
    human_time,
    legend_above,
    make_figure,
    patch_handle,
    say_left_out,
    shown_of,
    state_names,
    text,
    text_width,
    unit_for,
)

WHY_NOT = "no training step that took time was measured (only dltrain has steps)"


def has_step(item):
    return step_parts(item.run) is not None


def draw_step(items, width):
    items = shown_of(items, has_step, WHY_NOT + each_job(items))
    rows = []
    steps = len(items[0].run.stats.get("step_times_us") or [])
    one_by_one = len(items) == 1 and 2 <= steps <= 12
    for item in items:
        for step in range(1, steps + 1) if one_by_one else [None]:
            parts = step_parts(item.run, step)
            if parts:
                # Without calls they are of all blocks: the means of stats.json.
                some = None if item.run.calls().empty else some_blocks(item.run)
                name = f"{text(item.label, 20)}, {some}" if some else item.label
                rows.append((name if step is None else f"step {step}", *parts))
    single = len(items) == 1 and not items[0].run.calls().empty
    kinds = call_times(items[0].run) if single else []
    heights = [0.30 * len(rows) + 0.1] + ([0.26 * len(kinds) + 0.1] if kinds else [])
    legend_lines = 2 if width >= NARROW else 4
    figure, axes = make_figure(
        width,
        sum(heights) + 0.55 * len(heights) + 0.17 * legend_lines + 0.5,
        len(heights),
        1,
        gridspec_kw={"height_ratios": heights},
    )
    runs = [item.run for item in items]
    means = means_of([] if one_by_one else runs)
    draw_step_bars(axes[0][0], rows, width, state_names(runs), means)
    if kinds:
        draw_call_bars(axes[1][0], kinds, width)
        more = count_operations(items[0].run) - len(kinds)
        if more > 0:
            say_left_out(figure, [f"{more:,} more operations, {len(kinds)} are drawn"])
    heading(figure, items)
    return figure


def limit_for(end, words, size, width):
    """Where a bar's axis must end for words behind the bar; the axis is as wide as the picture but
    for 1.3 inches.
    """
    share = (text_width(words, size) + 8) / ((width - 1.3) * 72)
    return end / max(1 - share, 0.2)


def means_of(runs):
    """Over what the bars of steps are means; runs: those of which all steps are one bar."""
    counts = {run.stats.get("steps_measured") or 1 for run in runs}
    if counts <= {1}:
        return "the GPUs"
    return f"the GPUs and {counts.pop():,} steps" if len(counts) == 1 else "the GPUs and all steps"


def draw_step_bars(axis, rows, width, names, means):
    factor, unit = unit_for(max(total for _, _, total, _ in rows), TIMES)
    span = max(max(total, sum(parts)) for _, parts, total, _ in rows)
    right = 0
    for y, (_, parts, total, ended) in enumerate(rows):
        left = 0
        for part, (_, colour) in zip(parts, STATES):
            axis.barh(y, part / factor, left=left / factor, color=colour, height=0.72, linewidth=0)
            if part > 0.07 * span:
                axis.text(
                    (left + part / 2) / factor,
                    y,
                    digits(part / factor),
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color="white" if colour in (DEEP, RED) else "black",
                )
            left += part
        words = human_time(total) + ("" if ended else " so far")
        axis.text(
            max(left, total) / factor, y, " " + words, va="center", fontsize=7, fontweight="bold"
        )
        right = max(right, limit_for(max(left, total) / factor, words, 8, width))  # bold is wider
    axis.set_xlim(0, right)
    axis.set_yticks(range(len(rows)), [text(label, 30) for label, _, _, _ in rows])
    if len(rows) == 1:
        axis.set_yticks([])
    axis.invert_yaxis()
    axis.grid(False, axis="y")
    axis.set_xlabel(f"step, mean over {means} ({unit})")
    shown = [i for i in range(4) if any(parts[i] > 0 for _, parts, _, _ in rows)]
    legend_above(
        axis, [patch_handle(STATES[i][1]) for i in shown], [names[i] for i in shown], width
    )


def draw_call_bars(axis, rows, width):
    factor, unit = unit_for(max(row[1] + row[2] for row in rows), TIMES)
    right = 0
    for y, (_, behind, exposed, communicates) in enumerate(rows):
        colour = PALE if communicates is None else SKY if communicates else DEEP
        axis.barh(y, behind / factor, color=colour, height=0.72, linewidth=0)
        axis.barh(y, exposed / factor, left=behind / factor, color=RED, height=0.72, linewidth=0)
        words = human_time(behind + exposed)
        if communicates:
            words += f", {human_time(exposed)} exposed"
        axis.text((behind + exposed) / factor, y, " " + words, va="center", fontsize=6.5)
        right = max(right, limit_for((behind + exposed) / factor, words, 6.5, width))
    axis.set_xlim(0, max(right, max(row[1] + row[2] for row in rows) / factor * 1.02))
    axis.set_yticks(range(len(rows)), [text(row[0], 40) for row in rows])
    axis.invert_yaxis()
    axis.grid(False, axis="y")
    axis.set_xlabel(f"time a GPU is in it, a step ({unit})")
