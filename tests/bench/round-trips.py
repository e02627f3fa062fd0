#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random jobs, written by --export and run again from what was written: do they take as long?

    tests/bench/round-trips.py --jobs=200 --programs=.ns3/programs

By hand: a job is three runs. Chakra has to take the same to the nanosecond; GOAL, whose times are
whole nanoseconds and whose messages stand in place of collectives, is told by how far it is off:
with --library=none and collectives whose messages follow one another (a ring). Exit status 1: a
Chakra trace took another time, or a run failed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

QUIET = ["--report=0", "--timeline=0", "--warmup=0", "--attribution=0", "--progress=0"]
MODELS = ["gpt2", "bert-large", "resnet50", "vgg16", "bloom560m"]


def job(rng):
    """Options of dltrain: of the job, and of the machine. Not all are possible."""
    each = rng.choice([1, 2, 3, 4, 8])
    gpus = each * rng.choice([1, 2, 3, 4])
    tp, pp, cp = rng.choice([1, 1, 2, 4]), rng.choice([1, 1, 2, 3, 4]), rng.choice([1, 1, 1, 2])
    model = rng.choice(MODELS)
    words = [f"--model={model}", f"--accumulation={rng.choice([1, 2, 3, 5])}"]
    if model in ("gpt2", "bert-large", "bloom560m"):
        words += ["--seq=256", f"--tp={tp}", f"--pp={pp}"]
        if cp > 1:
            words += [f"--cp={cp}", f"--context-exchange={rng.choice(['ring', 'all-gather'])}"]
    elif pp > 1:
        words += [f"--pp={pp}"]
    if rng.random() < 0.5:
        words += [f"--zero={rng.choice([0, 1, 2, 3])}"]
    words += rng.choice(
        [
            [],
            ["--recompute"],
            ["--zero-impl=deepspeed"],
            ["--sequence-parallel"],
            ["--pipeline-schedule=gpipe"],
            ["--pipeline-schedule=zero-bubble"],
            ["--virtual-stages=2"],
            ["--bucket=7MB"],
            ["--no-overlap"],
            ["--optimizer=sgd"],
            ["--slow-gpu=0:1.25"],
        ]
    )
    if rng.random() < 0.15:
        words = ["--model=mixtral-8x7b", "--seq=64", f"--ep={rng.choice([2, 4, 8])}"]
    machine = [f"--servers={gpus // each}", f"--gpus-per-server={each}"]
    # One switch: where there are several ways, messages may take others.
    machine += rng.choice([["--topology=single-switch"], ["--network=analytic"]])
    machine += rng.choice([["--library=none"], []])
    return words, machine


def run(program, words, out):
    command = [program, *words, *QUIET, f"--out={out}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
    with open(f"{out}/stats.json", encoding="utf-8") as file:
        return json.load(file), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", default=".ns3/programs")
    args = parser.parse_args()
    program = os.path.join(args.programs, "dltrain")
    rng = random.Random(args.seed)
    done = bad = 0
    goals = []
    while done < args.jobs:
        words, machine = job(rng)
        with tempfile.TemporaryDirectory() as folder:
            first, why = run(program, [*words, *machine, "--export=chakra,goal"], folder + "/a")
            if first is None and "goal" in why:
                first, why = run(program, [*words, *machine, "--export=chakra"], folder + "/a")
            if first is None:
                continue  # not possible: another one
            done += 1
            told = " ".join(words + machine)
            took = first["step_time_us"]
            back, why = run(program, [f"--trace={folder}/a/chakra", *machine], folder + "/b")
            if back is None or abs(back["step_time_us"] - took) > 1e-3:
                bad += 1
                print(f"CHAKRA {told}: {took} us, back: {back and back['step_time_us']} {why}")
            if not os.path.exists(folder + "/a/trace.goal") or "--library=none" not in machine:
                continue
            back, why = run(program, [f"--trace={folder}/a/trace.goal", *machine], folder + "/c")
            if back is None:
                bad += 1
                print(f"GOAL {told}: {why}")
            else:
                goals.append((abs(back["step_time_us"] / took - 1), told))
        sys.stdout.flush()
    goals.sort()
    print(f"{done} jobs, {bad} bad")
    for share in (0.5, 0.9, 1):
        if goals:
            off, told = goals[min(len(goals) - 1, int(share * len(goals)))]
            print(f"GOAL: {share:.0%} of {len(goals)} are off by at most {off:.2e}: {told}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
