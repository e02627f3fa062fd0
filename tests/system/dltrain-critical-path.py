# The critical path of a step: its calls follow one another without a gap from the step's beginning to its end, each is a call of
# calls.log that waited for the one before it, and its shares add up; where all communication is exposed it is all there is.
import csv
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.environ["DLTRAIN_PROGRAMS"], "dltrain")
FOLDER = tempfile.mkdtemp(prefix="critical-path-test-")


def check(condition, what):
    if not condition:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def run(name, *arguments):
    out = os.path.join(FOLDER, name)
    process = subprocess.run([PROGRAM, *arguments, "--out=" + out, "--report=0"], capture_output=True, text=True, timeout=120)
    check(process.returncode == 0, process.stderr)
    with open(out + "/stats.json", encoding="utf-8") as file:
        stats = json.load(file)
    calls = collections.defaultdict(dict)  # by name, by rank: (start, end)
    with open(out + "/calls.log", encoding="utf-8") as file:
        for row in csv.reader((line for line in file if not line.startswith("#")), delimiter="\t"):
            if int(row[2]) == stats["steps_measured"]:
                calls[row[6]][int(row[3])] = (float(row[0]), float(row[1]), row[5])
    return process.stdout, stats, calls


def walk(what, stats, calls):
    path = stats["critical_path"]
    near = lambda a, b: abs(a - b) < 2e-6  # the files have picoseconds, as decimals of microseconds
    parts = path["path"]
    check(len(parts) == path["calls"] > 5, what + ": calls")
    check(near(parts[0]["start_us"], path["start_us"]) and near(parts[-1]["end_us"], path["end_us"]), what + ": ends")
    for one, other in zip(parts, parts[1:]):
        check(near(one["end_us"], other["start_us"]), what + ": a gap: %s, %s" % (one, other))
    computing = collectives = 0.0
    for part in parts:
        of = calls[part["call"]]
        start, end, kind = of[part["rank"]]
        check(near(start, part["start_us"]), what + ": another start: %s" % part)
        length = part["end_us"] - part["start_us"]
        if kind == "collective":
            # It begins when the last of all ranks has entered, and the path leaves it where some rank does.
            entered = [times[0] for times in of.values()]
            check(near(start, max(entered)) and near(part["waited_us"], max(entered) - min(entered)), what + ": entry: %s" % part)
            check(any(near(times[1], part["end_us"]) for times in of.values()), what + ": leaving: %s" % part)
            collectives += length
        else:
            check(near(end, part["end_us"]) and "waited_us" not in part, what + ": %s" % part)
            computing += length
    check(abs(computing - path["compute_us"]) < 1e-3 and abs(collectives - path["collectives_us"]) < 1e-3, what + ": sums")
    check(abs(sum(path["share"].values()) - 1) < 1e-9, what + ": shares: %s" % path["share"])
    check(abs(path["share"]["compute"] * path["total_us"] - path["compute_us"]) < 1e-3, what + ": share of computing")
    last = max(times[1] for of in calls.values() for times in of.values())
    check(near(last, path["end_us"]), what + ": it ends before the step does")
    return path


SMALL = ["--model=gpt2", "--servers=4"]

text, stats, calls = run("default", *SMALL, "--steps=2")
path = walk("default", stats, calls)
check("Critical path" in text and "all-gather" in text.split("Critical path")[1].splitlines()[0], "the terminal: " + text)

# Nothing overlaps: every GPU computes as long as every other, and all its computing and all collectives are on the path.
text, stats, calls = run("no-overlap", *SMALL, "--no-overlap")
path = walk("no overlap", stats, calls)
check(abs(path["compute_us"] - stats["compute_time_us"]) < 1e-3 * stats["compute_time_us"], "no overlap: computing")
check({part["call"] for part in path["path"]} == set(calls), "no overlap: not all calls are on the path")
unhurried = path["compute_us"]

# One server: NVLink only. Its collectives have no messages between servers, and stay undivided.
text, stats, calls = run("one-server", "--model=gpt2", "--servers=1", "--no-overlap")
path = walk("one server", stats, calls)
check(path["share"]["collectives_undivided"] > 0 and abs(path["share"]["collectives_undivided"] - path["collectives_us"] / path["total_us"]) < 1e-9,
      "one server: %s" % path["share"])

# On a thin network the path is the network, and its senders wait for the congestion control.
text, stats, calls = run("thin", *SMALL, "--placement=random", "--topology=leaf-spine", "--hosts-per-leaf=2", "--oversubscription=4")
path = walk("thin", stats, calls)
check(path["collectives_us"] > path["compute_us"], "thin: %s" % path["share"])
network = {k: v for k, v in path["share"].items() if k not in ("compute", "collectives_undivided")}
check(sum(network.values()) * path["total_us"] > 0.99 * path["collectives_us"], "thin: undivided: %s" % path["share"])

# One slow GPU: its computing is on the path, all others wait for it, and it is the one that is named.
text, stats, calls = run("slow", *SMALL, "--slow-gpu=13:1.5", "--no-overlap")
path = walk("slow GPU", stats, calls)
# (Another GPU may leave the last reduction so much later that its short optimizer ends last all the same.)
others = [part for part in path["path"] if "waited_us" not in part and part["rank"] != 13]
check(all(part["call"] == "optimizer" for part in others), "slow GPU: others compute on the path: %s" % others[:3])
expected = 1.5 * unhurried - sum(0.5 * (part["end_us"] - part["start_us"]) for part in others)
check(abs(path["compute_us"] - expected) < 1e-3, "slow GPU: %s us, expected %f" % (path["compute_us"], expected))
check("waited most for GPU 13: " in text, "slow GPU: " + text)
bad = subprocess.run([PROGRAM, *SMALL, "--slow-gpu=32:2"], capture_output=True, text=True, timeout=60)
check(bad.returncode == 2 and "--slow-gpu=32:2: allowed: GPU:FACTOR as 5:1.3, GPU 0 to 31, factor 1 to 1000" in bad.stderr, bad.stderr)

# Off.
text, stats, calls = run("off", *SMALL, "--attribution=0")
check("critical_path" not in stats and "Critical path" not in text, "it is off")
shutil.rmtree(FOLDER)
print("passed")
