# SPDX-License-Identifier: GPL-2.0-only
"""The columns of each table in a run's folder, by the file that they are in (docs/keys.md)."""

import json
import os

# {file: {column: type}}, written by tests/system/docs/docs-generated.py --update: with "?": fields
# may be empty; with "*": results of older versions have not this column.
with open(os.path.join(os.path.dirname(__file__), "columns.json"), encoding="utf-8") as _file:
    COLUMNS = json.load(_file)

FLOWS = COLUMNS["flows.csv"]
LINKS = COLUMNS["links.csv"]
CALLS = COLUMNS["calls.log"]
SLOWDOWNS = COLUMNS["slowdown.csv"]
QUEUES = COLUMNS["queues.csv"]
FAIRNESS = COLUMNS["fairness.csv"]
RATES = COLUMNS["rates.csv"]
QUEUE_PAIRS = COLUMNS["queue_pairs.csv"]
PATHS = COLUMNS["paths.csv"]
WATCH = COLUMNS["watch.csv"]
INTERVALS = COLUMNS["intervals.csv"]
INTERRUPTIONS = COLUMNS["interruptions.csv"]
REQUESTS = COLUMNS["requests.csv"]
ITERATIONS = COLUMNS["iterations.csv"]
LOAD = COLUMNS["load.csv"]
INSTANCES = COLUMNS["instances.csv"]
SERVING_RATES = COLUMNS["serving_rates.csv"]
MIX = COLUMNS["mix.csv"]
EXECUTIONS = COLUMNS["executions.csv"]
CURVE = COLUMNS["curve.csv"]
COMPARED = COLUMNS["compared.csv"]
SLICES = COLUMNS["slices.csv"]
COMPARED_SLICES = COLUMNS["compared_slices.csv"]
KERNELS = COLUMNS["kernels.csv"]
ESTIMATES = COLUMNS["estimates.csv"]
PLANS = COLUMNS["plans.csv"]
EVENTS = {"time_us": "float64", "what": "str", "where": "str", "details": "str"}

# A folder with one of these is a run's.
FILES = ("stats.json", "flows.csv", "links.csv", "calls.log", "network_events.log")

SLOWEST = (
    10000  # rows of a sampled flows.csv that are not a sample: the slowest ones (flow-table.h)
)


def always(columns):
    """The names of the columns that results of every version have."""
    return [name for name, kind in columns.items() if "*" not in kind]


def plain(kind):
    """The type without what may be missing."""
    return kind.rstrip("?*")
