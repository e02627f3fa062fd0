# SPDX-License-Identifier: GPL-2.0-only
"""Steps of replicas with parameter servers: what all of them do together, each at its own pace.

They are spans of time, one behind another from the end of the warm-up on, which calls, that stand
where they ended, know nothing of.
"""


def has_replicas(stats):
    """Whether steps are such spans."""
    return "replica_rounds" in stats


def step_spans(stats):
    """[(begin, end)] of the steps that are listed (us)."""
    ends = [float(stats.get("measured_from_us") or 0)]
    for took in stats.get("step_times_us") or []:
        ends.append(ends[-1] + took)
    return list(zip(ends, ends[1:]))
