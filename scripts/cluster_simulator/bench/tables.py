# SPDX-License-Identifier: GPL-2.0-only
"""The tables, for a terminal and for docs/measured.md: rows are lists of cells."""

import os
import statistics

from .. import marked
from ..errors import InvalidInput
from .cases import DOUBLING, NAMES
from .measuring import speed

PAGE = os.path.join("docs", "measured.md")
MACHINE, CASES, GROWTH = "bench-machine", "bench", "bench-growth"


def number(value):
    """Three digits."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:#.3g}".rstrip(".")


def of_range(values, form=number):
    """The median and, of several, the range."""
    if not values:
        return ""
    middle = form(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({form(min(values))} to {form(max(values))})"


def size(count):
    if count is None:
        return ""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * factor:
            return f"{number(count / factor)} {unit}"
    return f"{count:.0f} B"


def percent(value):
    return f"{100 * value:.0f}%"


# ---- one row a case

CASE_HEAD = [
    "case",
    "algorithm",
    "engine",
    "cores",
    "hosts",
    "frame-hops",
    "M frame-hops/s",
    "yardstick",
    "share",
    "events a hop",
    "GPU-s a core-s",
    "peak memory",
    "a host",
    "runs",
]
# In a terminal a row is printed when it is measured: how wide the others are is not known then.
CASE_WIDTHS = [26, 9, 7, 11, 5, 10, 20, 20, 5, 12, 14, 11, 7, 4]


def cores(case):
    if case.ranks > 1:
        return f"{case.ranks} processes"
    return f"{case.threads} threads" if case.threads > 1 else "1"


def case_row(one):
    first = [one.case.name, one.case.algorithm, one.engine, cores(one.case)]
    if one.missing:
        return [*first, "", "", f"not in this build: {one.missing}", *[""] * 7]
    if not one.samples:
        return [*first, "", "", "not measured", *[""] * 7]
    sample = one.samples[0]
    return [
        *first,
        f"{sample['hosts']:,}",
        f"{number(sample['frame_hops'] / 1e6)} M",
        of_range(one.speeds()),
        of_range(one.yardstick),
        percent(statistics.median(one.shares())) if one.shares() else "",
        number(sample["events"] / sample["frame_hops"]) if sample["events"] else "",
        number(statistics.median(one.gpu_seconds())) if sample["gpus"] else "",
        size(one.median("peak_rss_bytes")),
        size(one.bytes_a_host()),
        str(len(one.samples)),
    ]


# ---- what it costs when hosts double

GROWTH_HEAD = [
    "hosts",
    "k",
    "frame-hops",
    "event loop",
    "ns a frame-hop",
    "yardstick's",
    "time, of half as many",
    "memory",
    "memory, of half as many",
]


def growth_rows(all_measured):
    """Of those measured; what a row is compared with is the one above it."""
    rows, before = [], None
    for one in all_measured:
        if not one.case.name.startswith("growth-") or not one.samples:
            continue
        sample = one.samples[0]
        seconds, peak = one.median("event_loop_s"), one.median("peak_rss_bytes")
        doubled = before is not None and sample["hosts"] == 2 * before[0]
        rows.append(
            [
                f"{sample['hosts']:,}",
                str(one.k),
                f"{number(sample['frame_hops'] / 1e6)} M",
                f"{number(seconds)} s",
                number(1e9 * seconds / sample["frame_hops"]),
                number(1e3 / statistics.median(one.yardstick)),
                f"x {seconds / before[1]:.2f}" if doubled else "",
                size(peak),
                f"x {peak / before[2]:.2f}" if doubled else "",
            ]
        )
        before = (sample["hosts"], seconds, peak)
    return rows


# ---- pairs of two builds

PAIR_HEAD = [
    "case",
    "old, M frame-hops/s",
    "new",
    "new over old, of the medians",
    "of the pairs",
    "frame-hops",
]


def pair_rows(all_measured):
    rows = []
    for one in all_measured:
        if one.old_missing:
            rows.append([one.case.name, f"not in the old build: {one.old_missing}", *[""] * 4])
        if not one.ratios():
            continue
        old = [speed(sample) for sample in one.old_samples]
        hops = [samples[0]["frame_hops"] for samples in (one.old_samples, one.samples)]
        rows.append(
            [
                one.case.name,
                of_range(old),
                of_range(one.speeds()),
                f"{statistics.median(one.speeds()) / statistics.median(old):.3f}",
                of_range(one.ratios(), "{:.3f}".format),
                "the same" if hops[0] == hops[1] else f"{hops[0]:,} and {hops[1]:,}",
            ]
        )
    return rows


# ---- in a terminal


def line(cells, widths):
    """Columns two blanks apart; the first to the left, as all words are."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def case_line(cells):
    return line(cells, CASE_WIDTHS)


def text(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(line(row, widths) for row in [head, *rows])


# ---- in the page

MACHINE_HEAD = ["processor", "cores", "caches", "memory", "system", "compiler", "load", "date"]


def machine_row(machine, loads):
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else ""
    return [
        machine["processor"],
        str(machine["cores"]),
        machine["caches"],
        size(machine["memory_bytes"]),
        machine["system"],
        machine["compiler"],
        load,
        machine["date"],
    ]


class Page:
    """docs/measured.md, with the rows that were measured in the place of those of the same name;
    the others stay, so all have to be of one machine.
    """

    def __init__(self, root, machine, cases):
        self.path = os.path.join(root, PAGE)
        try:
            with open(self.path, encoding="utf-8") as file:
                self.text = file.read()
            there = marked.rows(self.text, MACHINE)
            kept = [row[0] for row in marked.rows(self.text, CASES)]
            marked.rows(self.text, GROWTH)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--update: {self.path}: {error}") from error
        now = machine_row(machine, [])[:4]
        others = [name for name in kept if name not in [case.name for case in cases]]
        if others and there and there[0][:4] != now:
            raise InvalidInput(
                f"--update: {PAGE} has rows of another machine ({', '.join(there[0][:4])}):"
                f" measure these, too: {','.join(others)}"
            )

    def update(self, machine, loads, all_measured):
        missing = [one.case.name for one in all_measured if one.missing]
        measured = [case_row(one) for one in all_measured if one.samples]
        self._merge(MACHINE, [machine_row(machine, loads)], None)
        self._merge(CASES, measured, [name for name in NAMES if name not in missing])
        self._merge(GROWTH, growth_rows(all_measured), [f"{hosts:,}" for hosts in DOUBLING])
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def _merge(self, name, measured, order):
        if order is not None:
            rows = {row[0]: row for row in [*marked.rows(self.text, name), *measured]}
            measured = [rows[first] for first in order if first in rows]
        self.text = marked.merge(self.text, name, measured)
