# SPDX-License-Identifier: GPL-2.0-only
"""What of a stats.json the pictures and tables rely on: what has another type is left out, and
said.

A results folder may be anybody's, or damaged. Behind this, a key that is there is what it should
be: numbers are finite, not negative and at most MOST (so that sums and squares of some stay
finite), lists and objects are such.
"""

import math

MOST = 1e15


def is_number(value):
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value <= MOST
        and math.isfinite(value)
    )


def is_signed(value):
    return is_number(value) or (isinstance(value, float) and is_number(-value))


def is_text(value):
    return isinstance(value, str)


def is_anything(value):
    return True


NUMBER, TEXT, FLAG, ANY = is_number, is_text, lambda value: isinstance(value, bool), is_anything
QUANTILES = dict.fromkeys(("p50", "p90", "p95", "p99", "p999", "max", "mean"), NUMBER)
EACH = object()  # key of an object whose names are free: the shape of each value

# An object: its known keys; a list: the shape of each element; else a test. Unknown keys are not
# looked at.
STATS = {
    **dict.fromkeys("program model pattern message".split(), TEXT),
    **dict.fromkeys("completed interrupted".split(), FLAG),
    **dict.fromkeys(
        "share_done gpus servers messages message_bytes steps_measured warmup_steps step_time_us"
        " step_times_left_out compute_time_us communication_time_us exposed_communication_time_us"
        " bubble_time_us waiting_time_us"
        " measured_from_us simulated_time_us samples_per_s tokens_per_s tflops_per_gpu mfu"
        " gpu_memory_bytes_estimate gpu_memory_capacity_bytes collectives_left_out ecn_marks cnps"
        " pfc_pauses pfc_pause_time_us retransmitted_packets timeouts event_loop_s".split(),
        NUMBER,
    ),
    "nondeterministic": [TEXT],
    "step_times_us": [NUMBER],
    "extrapolation": {
        **dict.fromkeys("blocks_simulated step_times_us".split(), [NUMBER]),
        "blocks": NUMBER,
    },
    "drops": {EACH: NUMBER},
    "faults": [
        {
            "what": TEXT,
            "where": TEXT,
            "at_us": NUMBER,
            "begun": FLAG,
            "until_us": NUMBER,
            "times": NUMBER,
            "frames_lost": NUMBER,
        },
    ],
    "fct_us": QUANTILES,
    "fct_slowdown": QUANTILES,
    "flows": dict.fromkeys(
        "all posted arrived failed measured measured_arrived first_start_us last_arrival_us"
        " goodput_gbps".split(),
        NUMBER,
    ),
    "flows_csv": {"sampled": FLAG},
    "links_csv": {"interval_us": NUMBER},
    "watch_csv": {"interval_us": NUMBER},
    "queues_csv": {"interval_us": NUMBER},
    "fairness": {"interval_us": NUMBER, "jain_mean": NUMBER, "jain_min": NUMBER},
    "topology": {"hosts": NUMBER},
    "goodput_runs": [
        {
            **dict.fromkeys("gpus interval_s goodput goodput_closed_form".split(), NUMBER),
            "goodput_half_width": lambda value: value is None or is_number(value),
            "time_s": {EACH: NUMBER},
        }
    ],
    "serving": {
        **dict.fromkeys("model dtype gpu".split(), TEXT),
        **dict.fromkeys(
            "gpus requests answered measured duration_s measured_s requests_per_s"
            " input_tokens_per_s output_tokens_per_s total_tokens_per_s"
            " output_tokens_per_s_per_gpu in_system_mean in_system_peak preemptions network_bytes"
            " kv_bytes dollars_per_million_tokens arrives_per_s answers_per_s wanted_attainment"
            " best_rate_per_s".split(),
            NUMBER,
        ),
        **dict.fromkeys(
            "ttft_ms tpot_ms e2e_ms queue_ms iteration_ms kv_transfer_ms kv_blocked_ms".split(),
            QUANTILES,
        ),
        "compared_with": [
            {
                **dict.fromkeys("metric like".split(), TEXT),
                **dict.fromkeys("rows sources share low high".split(), NUMBER),
            }
        ],
        "slo": dict.fromkeys(
            "ttft_ms tpot_ms e2e_ms attainment ttft_attainment tpot_attainment e2e_attainment"
            " undecided goodput_per_s".split(),
            NUMBER,
        ),
        "time_share": {EACH: NUMBER},
        "pools": [
            {
                **dict.fromkeys("role limited_by".split(), TEXT),
                **dict.fromkeys(
                    "instances gpus engines iterations batch_mean kv_blocks kv_mean kv_peak"
                    " preemptions".split(),
                    NUMBER,
                ),
                "time_s": {EACH: NUMBER},
            }
        ],
        "rates": [
            {
                "rate_per_s": NUMBER,
                "requests_per_s": NUMBER,
                "attainment": lambda value: value is None or is_number(value),
                "keeps_up": FLAG,
            }
        ],
    },
    "multiplex": [
        {
            "policy": TEXT,
            **dict.fromkeys(
                "rate_scale gpus duration_s throughput_per_s slo_attainment utilization"
                " effective_utilization".split(),
                NUMBER,
            ),
            "models": [
                {
                    "model": TEXT,
                    **dict.fromkeys(
                        "gpu gpu_percent rate_per_s throughput_per_s slo_ms slo_attainment arrived"
                        " served".split(),
                        NUMBER,
                    ),
                }
            ],
        }
    ],
    "share_curves": [
        {
            "model": TEXT,
            "batch": NUMBER,
            **dict.fromkeys(
                ("knee_percent", "knee_latency_ms"), lambda value: value is None or is_number(value)
            ),
        }
    ],
    "slices": [
        {
            **dict.fromkeys("model instance band".split(), TEXT),
            **dict.fromkeys("processes batch throughput_per_s latency_ms".split(), NUMBER),
        }
    ],
    "slices_compared": [
        {
            "model": TEXT,
            **dict.fromkeys("rows throughput_median_error".split(), NUMBER),
            "throughput_bias": is_signed,
        }
    ],
    "planning": {
        **dict.fromkeys("layouts too_large pruned estimated gpu_memory_bytes".split(), NUMBER),
        "whole": FLAG,
        **dict.fromkeys("words model torchrun".split(), TEXT),
        "megatron": [TEXT],
        "plans": [
            {"layout": TEXT, "options": TEXT}
            | dict.fromkeys("gpus memory_bytes estimate_us".split(), NUMBER)
            | {"verified_us": lambda value: value is None or is_number(value)}
        ],
        "moves": [
            {"option": TEXT, "value": TEXT, "kept": FLAG}
            | {"step_us": lambda value: value is None or is_number(value)}
        ],
        "compared_with": {},
    },
    "scale_up": {"kind": TEXT, "gpu_gbps": NUMBER},
    "collectives": [{"op": TEXT, "algorithm": TEXT, "bytes": NUMBER, "busbw_GBps": NUMBER}],
    "compared": [
        {"choice": TEXT, "op": TEXT, "algorithm": TEXT, "bytes": NUMBER, "busbw_GBps": NUMBER},
    ],
    "links": [{"link": TEXT, "rate_gbps": NUMBER, "utilization": NUMBER}],
    "longest_queues": [ANY],
    "mistakes": [{"kind": TEXT, "ranks": [NUMBER], "lines": [TEXT], "text": TEXT}],
    "gpu_memory_peak": dict.fromkeys("rank allocated_bytes reserved_bytes".split(), NUMBER),
    "port_classes": {
        EACH: {
            "ports": NUMBER,
            "utilization": NUMBER,
            "pause_share": NUMBER,
            "queue_bytes": QUANTILES,
        },
    },
    "slowdown_by_size": [
        {
            "tag": TEXT,
            "kind": TEXT,
            "from_bytes": NUMBER,
            "to_bytes": NUMBER,
            "flows": NUMBER,
            **QUANTILES,
        },
    ],
    "attribution": {"share": {}, "ports": [ANY], "slowest": [ANY]},
    "critical_path": {"share": {}, "hops": [ANY], "path": [ANY], "longest_messages": [ANY]},
    "credits": {"stalls": NUMBER, "stall_time_us": NUMBER},
    "gpu_memory_parts_bytes": {EACH: NUMBER},
    "exposed_by_parallelism_us": {EACH: NUMBER},
    "stages": [dict.fromkeys("forward_us backward_us bubble_us bytes_sent".split(), NUMBER)],
    "bytes_sent_per_gpu": {},
    "parameter_servers": {},
    "replica_rounds": {},
    "pieces": {},
    "staleness": {"histogram": [ANY], **QUANTILES},
    "offered_load": {},
    "nic_limits": {},
    "trace": {"format": TEXT, "ranks": NUMBER},
    "configuration": {
        "cluster": {"gpus_per_server": NUMBER, "nics_per_server": NUMBER},
        "network": {"topology": TEXT},
        "fabric": {"nic": TEXT, "fabric": TEXT},
        "collperf": {"op": TEXT},
    },
}


def sound(stats, nulls=False):
    """(the same without what has another shape, the names of that). null is as if it were not
    there, and left out; with `nulls` those of objects stay.
    """
    odd = []
    return _fitted(stats, STATS, "", odd, nulls), odd


def _fitted(value, shape, where, odd, nulls):
    if callable(shape):
        if value is not None and shape(value):
            return value
    elif isinstance(shape, list):
        if isinstance(value, list):
            # An element that does not fit is none; of an object what fits stays.
            found = (_fitted(one, shape[0], f"{where}[]", odd, nulls) for one in value)
            return [one for one in found if one is not None]
    elif isinstance(value, dict):
        result = {}
        for key, one in value.items():
            of = shape.get(key, shape.get(EACH))
            known = of is not None and not (nulls and one is None)
            fitted = (
                _fitted(one, of, f"{where}.{key}" if where else key, odd, nulls) if known else one
            )
            if fitted is not None or not known:
                result[key] = fitted
        return result
    if value is not None and where not in odd:
        odd.append(where)
    return None
