# SPDX-License-Identifier: GPL-2.0-only
"""Tables of rows that say whose software they are: by software, by scale, of scaling, of memory.

Rows of low confidence are judged nowhere: they are in no line but their own.
"""

import collections
import statistics

from . import figures, measured

SCALING = 0.07  # a relative throughput of a series is right within this
MEMORY = 0.12  # a peak of memory is


def judged(results):
    """Rows of known software, which are not guessed."""
    return [
        (row, step)
        for row, step in results
        if row.facts.get("framework") and row.facts.get("confidence") != "low"
    ]


def by(pairs, key):
    of = collections.OrderedDict()
    for row, step in pairs:
        of.setdefault(key(row), []).append((row, step))
    return of


def step_groups(results):
    """(name, figures.Summary, median error with its sign): software, then scales, then all."""
    rows = figures.timed(judged(results))
    software = by(rows, lambda row: row.facts["framework"])
    order = sorted(software, key=lambda name: -len(software[name]))
    groups = [(name, software[name]) for name in order]
    scales = by(rows, lambda row: row.facts["scale"])
    groups += [(f"{name} GPUs", scales[name]) for _, name in measured.SCALES if name in scales]
    if rows:
        groups.append(("all software", rows))
    for name, members in groups:
        ratios = [step.seconds / row.seconds for row, step in members]
        yield name, figures.summary(ratios), statistics.median(ratios) - 1


def throughput(row, seconds):
    """Samples a second and GPU."""
    return row.facts["global_batch"] / row.facts["gpus"] / seconds


def scaling(results):
    """(software, points, of these within SCALING, mean error). A series is measured and simulated
    relative to its smallest number of GPUs: where that row is not among these, relative to the
    smallest that is."""
    rows = [pair for pair in figures.timed(judged(results)) if "vs_smallest" in pair[0].facts]
    found = collections.OrderedDict()
    for members in by(rows, lambda row: row.facts["family"]).values():
        base, base_step = min(members, key=lambda pair: pair[0].facts["gpus"])
        for row, step in members:
            if row.facts["gpus"] <= base.facts["gpus"]:
                continue
            said = throughput(row, row.seconds) / throughput(base, base.seconds)
            ours = throughput(row, step.seconds) / throughput(base, base_step.seconds)
            found.setdefault(row.facts["framework"], []).append(ours - said)
    for name, errors in found.items():
        yield name, len(errors), sum(abs(e) <= SCALING for e in errors), statistics.fmean(errors)


GIB = 1 << 30


def estimated(step):
    """GiB of tensors, by the estimate."""
    return step.stats["gpu_memory_bytes_estimate"] / GIB


def memory(results):
    """(software, rows with a peak, of these within MEMORY, bias, rows refused, rows that ran)."""
    rows = [pair for pair in judged(results) if not isinstance(pair[1], str)]
    software = by(rows, lambda row: row.facts["framework"])
    groups = [*software.items(), *([("all software", rows)] if rows else [])]
    for name, members in groups:
        ratios = [
            estimated(step) / row.facts["memory_gib"]
            for row, step in members
            if "memory_gib" in row.facts
        ]
        refused = sum(not step.fits for _, step in members)
        if ratios or refused:
            bias = statistics.geometric_mean(ratios) - 1 if ratios else None
            within = sum(abs(ratio - 1) <= MEMORY for ratio in ratios)
            yield name, len(ratios), within, bias, refused, len(members)
