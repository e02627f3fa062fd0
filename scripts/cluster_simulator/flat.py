# SPDX-License-Identifier: GPL-2.0-only
"""stats.json as one row of numbers."""

NO_RESULTS = ("configuration", "schema_version", "nondeterministic")


def flat(stats):
    """{"step_time_us": 447138, "fct_us_p99": 4920, ...}: every number of stats.json under its path,
    with its unit.

    True and False are 1 and 0. Of a list only the first entry is taken, as links_0_utilization,
    which is the busiest link: how many there are differs from run to run. Several jobs are there by
    their names, as jobs_training_time_us.
    """
    row = {}
    for key, value in stats.items():
        if key not in NO_RESULTS:
            _add(row, key, value)
    return row


def _add(row, name, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            _add(row, f"{name}_{key}", inner)
    elif isinstance(value, list):
        if name == "jobs" and all(isinstance(job, dict) and job.get("name") for job in value):
            for job in value:
                _add(row, f"{name}_{job['name']}", job)
        elif value:
            _add(row, f"{name}_0", value[0])
    elif isinstance(value, (int, float)):
        row[name] = float(value) if isinstance(value, float) else int(value)


def repeatable(row, stats):
    """Of such a row what the same run has again: without what its stats.json says may differ."""
    changing = tuple(stats.get("nondeterministic") or ())
    return {name: value for name, value in row.items() if not name.startswith(changing)}
