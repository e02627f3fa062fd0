# SPDX-License-Identifier: GPL-2.0-only
"""A results folder as dlserve writes it, of a made-up queue: for tests of what reads it."""

import csv
import json
import os
import random
import statistics

PARTS = "products attention tensor pipeline experts kv draft host idle recomputed".split()
KV_BLOCKS = 4000


def quantiles(values):
    """As stats.json has them, by nearest rank; None of no value."""
    if not values:
        return None
    ordered = sorted(values)
    at = lambda share: ordered[max(0, -(-round(share * 1000 * len(ordered)) // 1000) - 1)]
    return {
        **{name: at(share) for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))},
        "p999": at(0.999),
        "max": ordered[-1],
        "mean": statistics.fmean(ordered),
    }


class Instance:
    def __init__(self, name, role):
        self.name, self.role = name, role
        self.free, self.running, self.busy, self.peak, self.iterations = 0.0, [], 0.0, 0, 0
        self.load = [(0.0, 0, 0, 0)]

    def serve(self, arrivals):
        """[(time, seconds)], in order: a queue with 16 servers. Begin and end of each."""
        spans, ends = [], []
        for time, seconds in arrivals:
            begin = time
            if len(ends) >= 16:
                ends.sort()
                begin = max(time, ends.pop(0))
            ends.append(begin + seconds)
            spans.append((begin, begin + seconds))
        # At one time those that end come first, then those that arrive, then those that begin.
        changes = sorted(
            [(time, 1, 1, 0) for time, _ in arrivals]
            + [(begin, 2, -1, 1) for begin, _ in spans]
            + [(end, 0, 0, -1) for _, end in spans]
        )
        waiting = running = 0
        for time, _, queue, run in changes:
            waiting, running = waiting + queue, running + run
            self.load.append((time, waiting, running, 200 * running))
            self.peak = max(self.peak, 200 * running)
        self.busy = sum(end - begin for begin, end in spans) / 16
        self.iterations = len(spans)
        return spans


def write_serving_results(folder, split=False, rates=False, count=300, rate=6.0, answered=True):
    """Writes all files. `answered`: whether a request was."""
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(7)
    arrival, requests = 0.0, []
    for number in range(count):
        arrival += draw.expovariate(rate)
        requests.append((number, arrival, draw.randrange(50, 3000), draw.randrange(1, 400)))
    roles = ["prefill", "prefill", "decode", "decode"] if split else ["both", "both"]
    instances = [
        Instance(f"{role} {place % 2}" if split else f"instance {place}", role)
        for place, role in enumerate(roles)
    ]
    rows = {}
    for place in range(2):
        mine = requests[place::2]
        prompts = [(at, 0.02 + prompt * 1e-4) for _, at, prompt, _ in mine]
        answers = [0.03 * (output - 1) for *_, output in mine]
        whole = [
            (at, seconds + (0 if split else answer))
            for (at, seconds), answer in zip(prompts, answers)
        ]
        spans = instances[place].serve(whole)
        firsts = [begin + seconds for (begin, _), (_, seconds) in zip(spans, prompts)]
        lasts = [end for _, end in spans]
        moved = [None] * len(mine)
        if split:
            moved = [0.004 + prompt * 1e-5 for _, _, prompt, _ in mine]
            order = sorted(range(len(mine)), key=lambda i: firsts[i] + moved[i])
            later = instances[place + 2].serve(
                [(firsts[i] + moved[i], answers[i]) for i in order]
            )
            for i, (_, end) in zip(order, later):
                lasts[i] = end
        for i, (number, at, prompt, output) in enumerate(mine):
            rows[number] = {
                "id": number,
                "arrival_s": at,
                "input_tokens": prompt,
                "output_tokens": output,
                "queue_ms": 1e3 * (spans[i][0] - at),
                "ttft_ms": 1e3 * (firsts[i] - at),
                "tpot_ms": 1e3 * (lasts[i] - firsts[i]) / (output - 1) if output > 1 else "",
                "e2e_ms": 1e3 * (lasts[i] - at),
                "instance": place,
                "decode_instance": place + 2 * split,
                "preemptions": 0,
                "cached_tokens": 0,
                "produced_tokens": output,
                "kv_transfer_ms": 1e3 * moved[i] if split else "",
                "kv_blocked_ms": 0 if split else "",
                "kv_bytes": 327680 * prompt if split else 0,
                "warmup": int(number < count // 10),
                "met_slo": 1,
            }
            if not answered:
                for name in ("queue_ms", "ttft_ms", "tpot_ms", "e2e_ms", "met_slo"):
                    rows[number][name] = ""
    table(folder, "requests.csv", [rows[number] for number in sorted(rows)])
    end = max(time for instance in instances for time, *_ in instance.load)
    table(
        folder,
        "load.csv",
        [
            dict(
                zip(
                    ("time_s", "instance", "waiting", "running", "kv_blocks"),
                    (time, place, *values),
                )
            )
            for time, place, *values in sorted(
                (time, place, *values)
                for place, instance in enumerate(instances)
                for time, *values in instance.load
            )
        ],
    )
    parts = [
        dict.fromkeys(PARTS, 0.0)
        | {
            "products": 0.6 * one.busy,
            "attention": 0.2 * one.busy,
            "tensor": 0.15 * one.busy,
            "host": 0.05 * one.busy,
            "idle": end - one.busy,
        }
        for one in instances
    ]
    table(
        folder,
        "instances.csv",
        [
            {
                "instance": place,
                "name": one.name,
                "role": one.role,
                "first_gpu": 4 * place,
                "gpus": 4,
                "engines": 1,
                "iterations": one.iterations,
                "requests": one.iterations,
                **dict.fromkeys(("tokens_in", "tokens_out", "preemptions"), 0),
                "batch_mean": 8,
                "kv_blocks": KV_BLOCKS,
                "kv_mean": 0.2,
                "kv_peak": one.peak / KV_BLOCKS,
                **{f"{part}_s": seconds for part, seconds in of.items()},
            }
            for place, (one, of) in enumerate(zip(instances, parts))
        ],
    )
    measured = [row for row in rows.values() if not row["warmup"]]
    latency = lambda name: quantiles([row[name] for row in measured if row[name] != ""])
    points = [
        {
            "rate_per_s": at,
            "requests": count,
            "requests_per_s": min(at, 12),
            "output_tokens_per_s": 200 * min(at, 12),
            "attainment": max(0, min(1, 1.4 - at / 20)),
            "goodput_per_s": at,
            "ttft_p50_ms": 80 * at,
            "ttft_p90_ms": 200 * at,
            "ttft_p99_ms": 400 * at,
            "tpot_p50_ms": 20 + at,
            "tpot_p90_ms": 24 + at,
            "tpot_p99_ms": 30 + 2 * at,
            "e2e_p50_ms": 4000,
            "e2e_p99_ms": 9000,
            "kv_peak": min(1, at / 14),
            "keeps_up": int(at < 14),
            "steady": 1,
        }
        for at in (1, 2, 4, 8, 16)
    ]
    if rates:
        table(folder, "serving_rates.csv", points)
    pools = [
        {
            "role": role,
            "instances": 2,
            "gpus": 8,
            "batch_mean": 8,
            "kv_blocks": KV_BLOCKS,
            "kv_mean": 0.2,
            "kv_peak": 0.8,
            "preemptions": 0,
            "limited_by": "memory bandwidth, in decode",
            "time_s": {
                f"{part}_s": statistics.fmean(
                    of[part] for one, of in zip(instances, parts) if one.role == role
                )
                for part in PARTS
            },
        }
        for role in dict.fromkeys(roles)
    ]
    stats = {
        "schema_version": 1,
        "program": "dlserve",
        "completed": True,
        "configuration": {},
        "nondeterministic": [],
        "serving": {
            "model": "llama3-70b",
            "dtype": "bf16",
            "gpu": "H100",
            "gpus": 4 * len(instances),
            "requests": count,
            "answered": count * answered,
            "measured": len(measured),
            "ended_early": False,
            **{
                name: latency(name)
                for name in ("ttft_ms", "tpot_ms", "e2e_ms", "queue_ms", "kv_transfer_ms")
            },
            "requests_per_s": count / end,
            "output_tokens_per_s": sum(row["output_tokens"] for row in measured) / end,
            "output_tokens_per_s_per_gpu": 30.0,
            "slo": {
                "ttft_ms": 250.0,
                "tpot_ms": 40.0,
                "e2e_ms": None,
                "attainment": 0.9 if answered else None,
                "ttft_attainment": 0.95 if answered else None,
                "tpot_attainment": 0.92 if answered else None,
                "e2e_attainment": None,
                "undecided": 0,
                "goodput_per_s": 5.0,
            },
            "in_system_mean": 20.5,
            "in_system_peak": 44,
            "preemptions": 0,
            "time_share": {
                part: sum(of[part] for of in parts) / end / len(parts) for part in PARTS
            },
            "pools": pools,
        },
    }
    if rates:
        stats["serving"].update(rates=points, wanted_attainment=0.9, best_rate_per_s=8)
        for point in points:
            point["keeps_up"] = bool(point["keeps_up"])
    with open(os.path.join(folder, "stats.json"), "w", encoding="utf-8") as file:
        json.dump(stats, file, indent=1)
    return folder


def table(folder, name, rows):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    key: f"{value:.6f}" if isinstance(value, float) else value
                    for key, value in row.items()
                }
            )
