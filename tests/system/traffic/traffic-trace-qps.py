# ctest: TIMEOUT 120
# queue_pairs.csv: rate and window of chosen queue pairs, and by them DCTCP's first window, which
# follows the switches' K.
import csv
import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, run

QUIET = ["--report=0", "--timeline=0", "--attribution=0", "--no-progress"]


def trace(*arguments, out):
    run(*arguments, *QUIET, out=out)
    with open(os.path.join(folder(out), "queue_pairs.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    with open(os.path.join(folder(out), "stats.json")) as file:
        return rows, json.load(file)


def first_window(*arguments):
    rows, _ = trace(
        "--topology=single-switch",
        "--hosts=3",
        "--pattern=incast",
        "--fan-in=1",
        "--bytes=100kB",
        "--cc=dctcp",
        "--trace-qps=all",
        *arguments,
        out="dctcp"
    )
    return int(rows[0]["window_bytes"])


# The window is the bandwidth-delay product and K, which scales with the rate of the port.
kmax = ["--ecn-kmin=100kB", "--ecn-kmax=100kB"]
check(abs(first_window() - first_window(*kmax) - 200000) <= 1, "K of --ecn-kmax: 300 kB by default")
check(
    abs(first_window("--ecn-kmin=50kB") - first_window()) <= 1,
    "--ecn-kmin is not where all are marked",
)
check(
    abs(first_window("--ns3::RdmaSwitch::EcnKmax=500000") - first_window(*kmax) - 400000) <= 1,
    "K by attribute",
)
check(
    abs(first_window("--nic=25GbE") - first_window("--nic=25GbE", *kmax) - 50000) <= 1,
    "K at 25 Gb/s",
)
# InfiniBand marks at (16 - threshold) / 16 of a lane's buffer, 128 KiB.
ib = ["--fabric=ib", "--vl-buffer=131072B"]
difference = first_window(*ib, "--fecn-threshold=8") - first_window(*ib, "--fecn-threshold=15")
check(abs(difference - 131072 * 7 / 16) <= 1, "K of --fecn-threshold: %d" % difference)

# Rates of two senders of three: from line rate on, in order of time, at most a row a moment and
# queue pair.
incast = [
    "--topology=single-switch",
    "--hosts=4",
    "--pattern=incast",
    "--fan-in=3",
    "--bytes=2MB",
    "--ecn-kmin=20kB",
    "--ecn-kmax=60kB",
]
chosen = "--trace-qps=server-1,server-2->server-*"
rows, stats = trace(*incast, chosen, out="a")
check(
    list(rows[0]) == ["time_us", "src", "dst", "qp", "flow", "rate_gbps", "window_bytes"], "columns"
)
sources = sorted({row["src"] for row in rows})
check(len(sources) == 2 and set(sources) <= {"server-1", "server-2"}, "chosen: %s" % sources)
times = [float(row["time_us"]) for row in rows]
check(times == sorted(times), "order of time")
moments = [(row["time_us"], row["src"], row["qp"]) for row in rows]
check(len(set(moments)) == len(moments), "one row a moment")
for source in sources:
    of = [row for row in rows if row["src"] == source]
    check(
        float(of[0]["rate_gbps"]) == 100 and of[0]["window_bytes"] == "",
        "starts at line rate, DCQCN has no window",
    )
    check(min(float(row["rate_gbps"]) for row in of) < 60, "is cut")
    check(of[0]["flow"] != "", "the flow that it carries")
log = stats["queue_pairs_csv"]
check(
    log
    == {
        "rows": len(rows),
        "changes": len(rows),
        "interval_us": 0,
        "queue_pairs": 2,
        "queue_pairs_left_out": 0,
    },
    "stats: %s" % log,
)
check(
    "queue_pairs.csv" in run(*incast, chosen, *QUIET, out="b").stdout, "the folder's files name it"
)
with open(folder("a/queue_pairs.csv"), "rb") as one, open(
    folder("b/queue_pairs.csv"), "rb"
) as other:
    check(one.read() == other.read(), "the same bytes again")
# Nothing else changes; without the option there is no such file, also none of an earlier run.
run(*incast, *QUIET, out="b")
check(not os.path.exists(folder("b/queue_pairs.csv")), "off")
with open(folder("a/flows.csv"), "rb") as one, open(folder("b/flows.csv"), "rb") as other:
    check(one.read() == other.read(), "the simulation is the same")
done()
