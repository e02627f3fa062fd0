# Traffic made from a load: what is measured, what stats.json says of it, recomputed from the files;
# queue pairs; queues; fairness.
# ctest: TIMEOUT 300
import collections
import csv
import math
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import header_of, write_time_us
from _traffic import check, done, flows, folder, near, run, stats, table

SLOWDOWN, QUEUES, FAIRNESS, RATES = map(
    header_of, ("slowdown.csv", "queues.csv", "fairness.csv", "rates.csv")
)
NAMES = ("mean", "p50", "p95", "p99", "p999", "max")


def rank(values, p):
    values = sorted(values)
    return values[max(0, math.ceil(p * len(values) * (1 - 1e-12)) - 1)]


def summary(slow):
    return dict(
        zip(
            NAMES,
            (
                sum(slow) / len(slow),
                rank(slow, 0.5),
                rank(slow, 0.95),
                rank(slow, 0.99),
                rank(slow, 0.999),
                max(slow),
            ),
        )
    )


def expected_rows(rows, groups, bins):
    """The rows of slowdown_by_size, from flows.csv."""
    tags = sorted({row["tag"] for row in rows})
    result = []
    for tag in ["all"] + (tags if len(tags) > 1 else []):
        of = sorted(
            (int(r["bytes"]), float(r["fct_us"]) / float(r["ideal_fct_us"]))
            for r in rows
            if tag in ("all", r["tag"])
        )
        n = len(of)
        # A size is in the group of equal number, i n / g to (i + 1) n / g, in which its middle flow
        # is.
        members = {}
        for size in sorted({size for size, _ in of}):
            at = [i for i, (other, _) in enumerate(of) if other == size]
            middle = at[(len(at) - 1) // 2]
            members.setdefault(
                max(g for g in range(groups) if g * n // groups <= middle), []
            ).extend(of[i] for i in at)
        for part in members.values():
            result.append(
                dict(
                    tag=tag,
                    kind="group",
                    from_bytes=part[0][0],
                    to_bytes=part[-1][0],
                    flows=len(part),
                    **summary([s for _, s in part])
                )
            )
        low = 0
        for high in [*bins, of[-1][0]]:
            part = [s for size, s in of if size > low and (size <= high or high == of[-1][0])]
            if part:
                result.append(
                    dict(
                        tag=tag,
                        kind="class",
                        from_bytes=low,
                        to_bytes=high,
                        flows=len(part),
                        **summary(part)
                    )
                )
            low = high
    return result


# ---- what is measured, and statistics against flows.csv

with open(folder("sizes.txt"), "w") as file:
    file.write("500 0\n5000 60\n50000 95\n1000000 100\n")
# mean 0.6 x 2750 + 0.35 x 27500 + 0.05 x 525000
MEAN = 0.6 * 2750 + 0.35 * 27500 + 0.05 * 525000
ARGUMENTS = [
    "--topology=leaf-spine",
    "--leaves=2",
    "--hosts-per-leaf=8",
    "--spines=8",
    "--pattern=poisson",
    "--sizes=" + folder("sizes.txt"),
    "--load=0.4",
    "--warm-up=500us",
    "--duration=4ms",
    "--cool-down=300us",
    "--size-groups=7",
    "--size-bins=4kB,100kB",
    "--incast-load=0.05",
    "--incast-fan-in=5",
    "--incast-bytes=30kB",
    "--no-report",
]
run(*ARGUMENTS)
s, rows = stats(), flows()
check(
    all(500 <= float(r["start_us"]) < 4500 for r in rows),
    "a flow that starts in the warm-up or later is in flows.csv",
)
check(s["flows"]["measured"] == len(rows) == s["messages"], "measured flows: %s" % s["flows"])
check(s["flows"]["all"] > len(rows) + 200, "no flows beside the measured ones: %s" % s["flows"])
check(s["measured_from_us"] == 500, "measuring began at %s" % s["measured_from_us"])
for got, want in zip(s["slowdown_by_size"], expected_rows(rows, 7, [4000, 100000]), strict=True):
    for key, value in want.items():
        check(
            got[key] == value if isinstance(value, (str, int)) else near(got[key], value, 1e-9),
            "%s: %s, not %s" % (key, got, want),
        )
for got, line in zip(s["slowdown_by_size"], table("slowdown.csv", SLOWDOWN), strict=True):
    check(
        line["tag"] == got["tag"]
        and int(line["flows"]) == got["flows"]
        and abs(float(line["p99"]) - got["p99"]) < 1e-6,
        "slowdown.csv: %s" % line,
    )
incast = [row for row in s["slowdown_by_size"] if row["tag"] == "incast"]
check(
    [(row["kind"], row["from_bytes"], row["flows"]) for row in incast]
    == [("group", 30000, 5 * 267), ("class", 4000, 5 * 267)],
    "1,335 flows of one size are one group: %s" % incast,
)

# Times alone: on whichever queue pair a flow was, two or four links away.
leaf = {"server-%d" % h: h // 8 for h in range(16)}
for r in rows:
    links = 2 if leaf[r["src"]] == leaf[r["dst"]] else 4
    size = int(r["bytes"])
    if size < 20000:  # frame by frame in Python: long ones take long
        alone = write_time_us(size, links=links)
        # That is with immediate data, 4 B of the last packet, of 0.32 ns on each link.
        check(
            abs(float(r["ideal_fct_us"]) - alone) <= links * 3.2e-4 + 1e-6,
            "alone %s, not %g: %s" % (r["ideal_fct_us"], alone, r),
        )
check(
    min(float(r["fct_us"]) / float(r["ideal_fct_us"]) for r in rows) >= 1 - 1e-9,
    "faster than alone",
)

# The load: of 16 hosts x 12.5 GB/s x 4 ms. The variance of a sum of Poisson many sizes is n
# E[size^2].
capacity = 16 * 12.5e9 * 4e-3
own = [int(r["bytes"]) for r in rows if r["tag"] == "poisson"]
square = sum(
    w * (a * a + a * b + b * b) / 3
    for w, a, b in ((0.6, 500, 5000), (0.35, 5000, 50000), (0.05, 50000, 1000000))
)
expected = 0.4 * capacity
check(
    abs(sum(own) - expected) <= 5 * math.sqrt(expected / MEAN * square),
    "load: %g of %g bytes" % (sum(own), expected),
)
check(
    near(s["offered_load"]["payload"], sum(int(r["bytes"]) for r in rows) / capacity, 1e-9),
    "offered load: %s" % s["offered_load"],
)
check(near(s["offered_load"]["mean_flow_bytes"], MEAN, 1e-6), "mean: %s" % s["offered_load"])
# Every 5 x 30 kB / (0.05 x 200 GB/s) = 15 us, the first after 7.5 us: from 502.5 to 4492.5 us.
incasts = collections.defaultdict(list)
for r in rows:
    if r["tag"] == "incast":
        incasts[float(r["start_us"])].append(r)
check(sorted(incasts) == [502.5 + 15 * i for i in range(267)], "incasts: %s" % sorted(incasts)[:4])
check(
    all(
        len(rs) == 5 and len({r["dst"] for r in rs}) == 1 and len({r["src"] for r in rs}) == 5
        for rs in incasts.values()
    ),
    "not 5 to 1",
)
# Utilization of the hosts' links in the measured time: the bytes that start in it, those of the
# warm-up that are still under way instead of those that go on after it, and ACKs: within a tenth.
use = s["port_classes"]["host_to_switch"]["utilization"]
check(
    near(use, s["offered_load"]["wire"], 0.1),
    "utilization %g, offered %s" % (use, s["offered_load"]),
)
check(
    s["port_classes"]["host_to_switch"]["ports"] == 16
    and s["port_classes"]["switch_to_switch"]["ports"] == 32,
    "ports: %s" % s["port_classes"],
)

# Queue pairs are reused after 2 ms: fewer than two a flow.
check(
    s["queue_pairs"] < 1.5 * s["flows"]["all"],
    "%d queue pairs for %d flows" % (s["queue_pairs"], s["flows"]["all"]),
)

# The same seed, the same bytes; another one, others.
run(*ARGUMENTS, out="again")
run(*ARGUMENTS, "--seed=2", out="other")
for name in ("flows.csv", "slowdown.csv", "queues.csv", "fairness.csv", "links.csv"):
    with open(folder("out/" + name), "rb") as a, open(folder("again/" + name), "rb") as b, open(
        folder("other/" + name), "rb"
    ) as c:
        text = a.read()
        check(text == b.read(), name + " differs between two runs of one seed")
        check(text != c.read(), name + " does not depend on the seed")

# A table of flows is replayed: the measured ones alone, all at their times.
run(
    "--topology=leaf-spine",
    "--leaves=2",
    "--hosts-per-leaf=8",
    "--spines=8",
    "--flows=" + folder("out/flows.csv"),
    "--queue-pairs=reused",
    "--no-report",
    out="replay",
)
key = lambda r: (float(r["start_us"]), r["src"], r["dst"], int(r["bytes"]), r["tag"])
check(sorted(map(key, flows("replay"))) == sorted(map(key, rows)), "the replay has other flows")

# ---- a reused queue pair remembers nothing, a pair's own does

with open(folder("two.csv"), "w") as file:
    # Two flows share a port and are slowed down; then the first pair has another one, alone, 2.5 ms
    # after.
    file.write(
        "start_us,src,dst,bytes\n0,1,0,2000000\n0,2,0,20000000\n6000,1,3,1000\n6500,2,0,4000000\n"
    )
for use, fresh in (("per-flow", True), ("reused", True), ("per-pair", False)):
    run(
        "--topology=single-switch",
        "--hosts=4",
        "--cc=dcqcn",
        "--cc-preset=sigcomm15",
        "--flows=" + folder("two.csv"),
        "--queue-pairs=" + use,
        "--no-report",
        out=use,
    )
    last = flows(use)[-1]
    ratio = float(last["fct_us"]) / float(last["ideal_fct_us"])
    check(
        abs(ratio - 1) < 1e-9 if fresh else ratio > 1.01,
        "--queue-pairs=%s: slowdown %g" % (use, ratio),
    )
check(
    stats("per-flow")["queue_pairs"] == 8
    and stats("reused")["queue_pairs"] < 8
    and stats("per-pair")["queue_pairs"] == 6,
    "queue pairs: %s" % [stats(out)["queue_pairs"] for out in ("per-flow", "reused", "per-pair")],
)

# ---- queues: two hosts send 4 MB each at line rate to one

with open(folder("queue.csv"), "w") as file:
    file.write("start_ns,src,dst,bytes\n0,1,0,4000000\n0,2,0,4000000\n")
run(
    "--topology=single-switch",
    "--hosts=3",
    "--cc=none",
    "--no-pfc",
    "--buffer=100MB",
    "--flows=" + folder("queue.csv"),
    "--queue-interval=200ns",
    "--rate-interval=50us",
    "--no-report",
    out="queue",
)
s = stats("queue")
port = s["longest_queues"][0]
check(port["link"] == "switch-0->server-0", "longest queue: %s" % port)
# It grows to the size of one flow while both send, then shrinks as fast: over the run a triangle,
# whose quantile p is p of its height, but for the two links' delays, 3 us of 680. In the buffer a
# frame is 20 B less than on the wire.
height = 4000000 / 4096 * (4096 + 62)
q = port["queue_bytes"]
for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1), ("mean", 0.5)):
    check(
        near(q[name], share * height, 0.02),
        "%s of the queue is %g, not %g" % (name, q[name], share * height),
    )
longest = max(float(r["max_bytes"]) for r in table("queues.csv", QUEUES, "queue"))
check(
    longest == q["max"] <= s["port_queue_peak_bytes"] <= q["max"] + 3 * 4158,
    "queues.csv: %g, stats: %s" % (longest, q),
)

# Jain's index and rates: 1 while both send as fast, and the sums are what arrives.
rates = collections.defaultdict(list)
for r in table("rates.csv", RATES, "queue"):
    rates[r["time_us"]].append(float(r["gbps"]))
for r in table("fairness.csv", FAIRNESS, "queue"):
    x = rates[r["time_us"]]
    if int(r["flows"]) == len(x) == 2:  # both under way in the whole interval
        check(
            near(float(r["jain"]), sum(x) ** 2 / (2 * sum(v * v for v in x)), 1e-5),
            "jain %s of %s" % (r, x),
        )
        # 4096 of 4178 B of 100 Gb/s, a packet more or less (0.7 Gb/s); the first interval has the
        # way there in it.
        check(
            near(float(r["gbps"]), sum(x), 1e-5)
            and 97.3 < sum(x) + (5.9 if r["time_us"] == "50" else 0) < 98.8,
            "gbps %s of %s" % (r, x),
        )
total = sum(float(r["gbps"]) for r in table("fairness.csv", FAIRNESS, "queue")) * 50e-6 * 1e9 / 8
# the last interval is not whole
check(
    total <= 8000000 and total > 8000000 - 50e-6 * 12.5e9,
    "fairness.csv sums up to %g bytes" % total,
)

# ---- more than links carry is said, headers included: a packet of 256 B has a fifth more

LIGHT = (
    *("--hosts=3", "--topology=single-switch", "--pattern=poisson"),
    *("--duration=40us", "--sizes=fb-hadoop"),
)
for options, percent in (
    (("--load=1.5", "--load-of=wire"), "150%"),
    (("--load=0.6", "--incast-load=0.6", "--incast-fan-in=2", "--incast-bytes=20kB"), "12"),
    # Half of the load are messages of 64 B, which take (64 + 82 + 16) / 64 of that: 127%.
    (("--load=0.5", "--incast-load=0.5", "--incast-fan-in=2", "--incast-bytes=64"), "17"),
    (("--load=0.97", "--load-of=wire"), ""),
    (("--load=0.9", "--mtu=4096"), ""),
    (("--load=0.99", "--mtu=256"), "%"),
):
    said = run(*LIGHT, *options, out="overload").stderr
    check(
        ("of the rate of the hosts' links" in said) == bool(percent) and percent in said,
        "%s: %s" % (options, said),
    )

# ---- bad distributions: one error, and no result

for text, expected in (
    ("0 0\n10 50\n", "100 percent"),
    ("0 0\n10 x\n", "sizes-bad.txt:2"),
    ("", "no points"),
):
    with open(folder("sizes-bad.txt"), "w") as file:
        file.write(text)
    result = run("--pattern=poisson", "--sizes=" + folder("sizes-bad.txt"), status=2, out="bad")
    check(
        expected in result.stderr and len(result.stderr.splitlines()) == 1,
        "bad sizes: " + result.stderr,
    )
    check(not os.path.exists(folder("bad/stats.json")), "results of bad sizes")
done()
