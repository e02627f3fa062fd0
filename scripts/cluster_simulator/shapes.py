# SPDX-License-Identifier: GPL-2.0-only
"""What of a stats.json the pictures and tables rely on: what has another type is left out, and said.

A results folder may be anybody's, or damaged. Behind this, a key that is there is what it should be: numbers are finite,
not negative and at most MOST (so that sums and squares of some stay finite), lists and objects are such.
"""

import math

MOST = 1e15


def is_number(value):
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST and math.isfinite(value)
    )


def is_text(value):
    return isinstance(value, str)


NUMBER, TEXT, FLAG = is_number, is_text, lambda value: isinstance(value, bool)
QUANTILES = dict.fromkeys(("p50", "p90", "p95", "p99", "p999", "max", "mean"), NUMBER)
EACH = object()  # key of an object whose names are free: the shape of each value

# An object: its known keys; a list: the shape of each element; else a test. Unknown keys are not looked at.
STATS = {
    "program": TEXT,
    "model": TEXT,
    "pattern": TEXT,
    "message": TEXT,
    "completed": FLAG,
    "interrupted": FLAG,
    "share_done": NUMBER,
    "gpus": NUMBER,
    "messages": NUMBER,
    "step_time_us": NUMBER,
    "step_times_us": [NUMBER],
    "compute_time_us": NUMBER,
    "exposed_communication_time_us": NUMBER,
    "measured_from_us": NUMBER,
    "simulated_time_us": NUMBER,
    "ecn_marks": NUMBER,
    "pfc_pauses": NUMBER,
    "retransmitted_packets": NUMBER,
    "timeouts": NUMBER,
    "event_loop_s": NUMBER,
    "drops": {EACH: NUMBER},
    "fct_us": QUANTILES,
    "fct_slowdown": QUANTILES,
    "flows_csv": {"sampled": FLAG},
    "links_csv": {"interval_us": NUMBER},
    "queues_csv": {"interval_us": NUMBER},
    "fairness": {"interval_us": NUMBER, "jain_mean": NUMBER, "jain_min": NUMBER},
    "topology": {"hosts": NUMBER},
    "scale_up": {"kind": TEXT, "gpu_gbps": NUMBER},
    "collectives": [{"op": TEXT, "algorithm": TEXT, "bytes": NUMBER, "busbw_GBps": NUMBER}],
    "port_classes": {
        EACH: {"ports": NUMBER, "utilization": NUMBER, "pause_share": NUMBER, "queue_bytes": QUANTILES},
    },
    "slowdown_by_size": [
        {"tag": TEXT, "kind": TEXT, "from_bytes": NUMBER, "to_bytes": NUMBER, "flows": NUMBER, **QUANTILES},
    ],
    "configuration": {
        "cluster": {"gpus_per_server": NUMBER, "nics_per_server": NUMBER},
        "network": {"topology": TEXT},
        "fabric": {"nic": TEXT, "fabric": TEXT},
        "collperf": {"op": TEXT},
    },
}


def sound(stats):
    """(the same without what has another shape, the names of that): null is as if it were not there."""
    odd = []
    return _fitted(stats, STATS, "", odd), odd


def _fitted(value, shape, where, odd):
    if callable(shape):
        if shape(value):
            return value
    elif isinstance(shape, list):
        if isinstance(value, list):
            # An element that does not fit is none; of an object what fits stays.
            found = (_fitted(one, shape[0], f"{where}[]", odd) for one in value)
            return [one for one in found if one is not None]
    elif isinstance(value, dict):
        result = {}
        for key, one in value.items():
            of = shape.get(key) or shape.get(EACH)
            fitted = one if of is None else _fitted(one, of, f"{where}.{key}" if where else key, odd)
            if fitted is not None or of is None:
                result[key] = fitted
        return result
    if value is not None and where not in odd:
        odd.append(where)
    return None
