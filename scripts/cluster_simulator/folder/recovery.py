# SPDX-License-Identifier: GPL-2.0-only
"""What stats.json says of failures: which calls of calls.log count, and when ranks left the job."""

EXACT_US = 1e-3  # times of two files may differ by their rounding


def failures(stats):
    """Those of `recovery` that can be understood."""
    recovery = stats.get("recovery")
    listed = recovery.get("failures") if isinstance(recovery, dict) else None
    return [one for one in listed or [] if isinstance(one, dict)] if _is_list(listed) else []


def counting_spans(stats):
    """[(from, until)] of the attempt that counts of steps 1, 2, ... (us): calls of a step that
    begin in it are of no attempt that was thrown away. None: every call counts.

    A rank may be in a step before the last one is (step_begins_us), but not before the job went on
    after a failure that threw something away, by when all calls before it have ended.
    """
    begins, times = stats.get("step_begins_us"), stats.get("step_times_us")
    if not (_is_list(begins) and _is_list(times) and begins and len(begins) == len(times)):
        return None
    if not all(map(_is_time, [*begins, *times])) or stats.get("step_times_left_out"):
        return None
    again = sorted(
        one["resumed_us"]
        for one in failures(stats)
        if _is_time(one.get("resumed_us")) and one.get("action") != "rebuild"
    )
    spans, number, since = [], 0, 0.0
    for begin, took in zip(begins, times):
        while number < len(again) and again[number] <= begin + EXACT_US:
            since = again[number]
            number += 1
        spans.append((since - EXACT_US, begin + took))
    return spans


def left_at(stats):
    """{rank: when it left the job (us)}: when its GPU stopped, if those of all that left did; else
    (others of a replica leave with it) when the failure was known.
    """
    left = {}
    for one in failures(stats):
        ranks, stopped = one.get("ranks_left"), one.get("gpus_failed")
        ranks = [rank for rank in ranks if isinstance(rank, int)] if _is_list(ranks) else []
        all_stopped = _is_list(stopped) and len(stopped) == len(ranks)
        when = one.get("failed_us") if all_stopped else None
        when = when if _is_time(when) else one.get("known_us")
        if _is_time(when):
            for rank in ranks:
                left.setdefault(rank, when)
    return left


def _is_list(value):
    return isinstance(value, list)


def _is_time(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e13
