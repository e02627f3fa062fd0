# SPDX-License-Identifier: GPL-2.0-only
"""The columns of each table in a run's folder, by the file that they are in (docs/outputs.md)."""

FLOWS = {
    "flow": "int64",
    "src": "str",
    "dst": "str",
    "bytes": "int64",
    "start_us": "float64",
    "end_us": "float64",
    "fct_us": "float64",
    "ideal_fct_us": "float64",
    "tag": "str",
}
LINKS = {  # with "*": results of older versions have not this column
    "time_us": "float64",
    "link": "str",
    "from": "str",
    "to": "str",
    "rate_gbps": "float64",
    "utilization": "float64",
    "queue_bytes": "int64",
    "pause_share": "float64",
    "ecn_marks": "int64*",
    "queue_peak_bytes": "int64*",
}
CALLS = {
    "start_us": "float64",
    "end_us": "float64",
    "step": "int64",
    "rank": "int64",
    "stream": "str",
    "kind": "str",
    "call": "str",
    "bytes": "int64",
    "group": "str",
}
SLOWDOWNS = {
    "tag": "str",
    "kind": "str",
    "from_bytes": "int64",
    "to_bytes": "int64",
    "flows": "int64",
    "mean": "float64",
    "p50": "float64",
    "p95": "float64",
    "p99": "float64",
    "p999": "float64",
    "max": "float64",
}
QUEUES = {"time_us": "float64", "link": "str", "mean_bytes": "float64", "max_bytes": "int64"}
FAIRNESS = {"time_us": "float64", "flows": "int64", "jain": "float64", "gbps": "float64"}
RATES = {"time_us": "float64", "flow": "int64", "src": "str", "dst": "str", "gbps": "float64"}
QUEUE_PAIRS = {  # with "?": may be empty
    "time_us": "float64",
    "src": "str",
    "dst": "str",
    "qp": "int64",
    "flow": "float64?",
    "rate_gbps": "float64",
    "window_bytes": "float64?",
}
PATHS = {
    "src": "str",
    "dst": "str",
    "messages": "int64",
    "bytes": "int64",
    "fct_us_mean": "float64?",
    "fct_us_max": "float64?",
    "packets": "int64*",
    "path": "str",
}
EVENTS = {"time_us": "float64", "what": "str", "where": "str", "details": "str"}

# A folder with one of these is a run's.
FILES = ("stats.json", "flows.csv", "links.csv", "calls.log", "network_events.log")

SLOWEST = (
    10000  # rows of a sampled flows.csv that are not a sample: the slowest ones (flow-table.h)
)


def always(columns):
    """The names of the columns that results of every version have."""
    return [name for name, kind in columns.items() if not kind.endswith("*")]


def plain(kind):
    """The type without what may be missing."""
    return kind.rstrip("?*")
