# --compat=hpcc: flows alone as HPCC's ns-3 code has them, at the receiver and at the sender, its
# window, its fct file.
#
# The expected times come from here, frame by frame, and not from the program: a link sends a frame
# once it has it whole and is free, and takes the largest number of ns below bytes x 8 / rate for it
# (see rdma::SerializationTime); packets have 48 B of headers, ACKs 60 B, nothing else takes time.
import csv
import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT
from _traffic import check, done, flows, folder, run, stats, write

GBPS = {0: 10, 1: 100000, 2: 10}  # of the link of each host, as in the golden runs
DELAY = 1000  # ns

TOPOLOGY = write(
    "topology.txt",
    "4 1 3\n3\n" + "".join("%d 3 %dGbps %dns 0\n" % (h, GBPS[h], DELAY) for h in GBPS),
)


def packets(size, payload=1000):
    return [payload] * (size // payload) + ([size % payload] if size % payload else [])


def alone(src, dst, size, at_sender=False, payload=1000, header=48, ack=60):
    """Completion time in ns, frame by frame over the links; with ACKs back over the same two
    links.
    """
    path = [(GBPS[src], False), (GBPS[dst], False)]
    path += [(GBPS[dst], True), (GBPS[src], True)] if at_sender else []
    free = [0] * len(path)
    for bytes in packets(size, payload):
        at = 0
        for i, (gbps, back) in enumerate(path):
            at = max(at, free[i]) + ((ack if back else bytes + header) * 8 - 1) // gbps
            free[i] = at
            at += DELAY
    return at


def one_at_a_time(cases, gap=20000):
    """A flow file with the next flow well after the end of the one before it."""
    lines, start = [], 1000000000
    for i, (src, dst, size) in enumerate(cases):
        lines.append(
            "%d %d 3 %d %d %d.%09d"
            % (src, dst, 100 + i % 60000, size, start // 10**9, start % 10**9)
        )
        start += alone(src, dst, size) + gap
    return write("flow.txt", "%d\n%s\n" % (len(cases), "\n".join(lines)))


def simulate(cases, *options, gap=20000):
    """Lines of fct.txt, in the order of the cases."""
    run(
        "--compat=hpcc",
        "--cc=none",
        "--topology=" + TOPOLOGY,
        "--flows=" + one_at_a_time(cases, gap),
        *options,
        timeout=300
    )
    with open(folder("out/fct.txt")) as file:
        lines = [line.split() for line in file]
    check(len(lines) == len(cases), "fct.txt has %d lines, not %d" % (len(lines), len(cases)))
    used = {0: 10000, 1: 10000, 2: 10000}
    for i, (line, (src, dst, size)) in enumerate(zip(lines, cases)):
        address = ["%08x" % (0x0B000001 + (host << 8)) for host in (src, dst)]
        # That code gives the flows of a host the source ports from 10000 on (16 bits).
        ports = [str(used[src] % 65536), str(100 + i % 60000)]
        used[src] += 1
        check(line[:5] == address + ports + [str(size)], "fct.txt, line %d: %s" % (i + 1, line))
    return lines


# --- The uncongested golden flows, exactly, and within 0.1% of the table.
def golden(name):
    with open(name) as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    return [(int(r["src"]), int(r["dst"]), int(r["size_bytes"])) for r in rows], [
        int(r["ideal_fct_ns"]) for r in rows
    ]


tables = [os.path.join(ROOT, "tests/golden/hpcc-uncongested.csv")]
whole = os.path.join(ROOT, "../shared/reference/cc_ns3_golden_flows.csv")
if os.path.exists(whole):
    tables.append(whole)
for table in tables:
    cases, ideal = golden(table)
    check(len(cases) >= 300, table + " has %d flows" % len(cases))
    for line, (src, dst, size), expected in zip(simulate(cases), cases, ideal):
        fct = int(line[6])
        # As the table's remarks give it: the packets' times, one more of store and forward for 0 ->
        # 2, 2000 ns.
        times = [((p + 48) * 8 - 1) // 10 for p in packets(size)]
        formula = sum(times) + (times[0] if (src, dst) == (0, 2) else 0) + 2 * DELAY
        check(
            fct == formula == alone(src, dst, size),
            "%d->%d, %d B: %d ns, not %d" % (src, dst, size, fct, formula),
        )
        # That table takes whole times for whole and divides twice; the runs themselves agree with
        # ours (scripts/golden).
        check(
            -2 <= fct - expected <= 1,
            "%d->%d, %d B: %d ns, the table has %d" % (src, dst, size, fct, expected),
        )
        check(
            abs(fct - expected) <= 0.001 * expected,
            "%d->%d, %d B: more than 0.1%%" % (src, dst, size),
        )
        check(int(line[7]) == fct, "standalone time, exact at the receiver: %s" % line)
    slowdown = stats()["fct_slowdown"]
    check(slowdown["max"] == slowdown["p50"] == 1, "slowdown of flows alone: %s" % slowdown)
    print("%s: %d flows" % (os.path.basename(table), len(cases)))

# --- At the sender: the last ACK. 60 B take 47 ns at 10 Gb/s; a last packet of less than 12 B is
# shorter than the ACK of the one before it, which its own ACK then waits for.
SIZES = [1, 11, 12, 999, 1000, 1001, 1005, 2001, 17215, 83273, 1000000]
cases = [(s, d, size) for s, d in ((0, 1), (0, 2), (1, 2)) for size in SIZES]
lines = simulate(cases, "--completion=sender")
rows = flows()
for i, (line, (src, dst, size)) in enumerate(zip(lines, cases)):
    expected = alone(src, dst, size, at_sender=True)
    check(
        int(line[6]) == expected,
        "%d->%d, %d B at the sender: %s ns, not %d" % (src, dst, size, line[6], expected),
    )
    row = rows[i]
    check(
        float(row["fct_us"]) == float(row["ideal_fct_us"]) == expected / 1e3,
        "flows.csv at the sender: %s" % row,
    )
    # third.cc, qp_finish: base RTT of payloads, both ways' delays, and all bytes with 48 B a packet
    # at the bottleneck.
    rtt = 4 * DELAY + 8000 // GBPS[src] + 8000 // GBPS[dst]
    check(
        int(line[7]) == rtt + (size + 48 * len(packets(size))) * 8 // 10,
        "standalone time as HPCC has it: %s" % line,
    )
check(
    stats()["configuration"]["traffic"]["completion"] == "sender", "completion in the configuration"
)

# --- The window. Of 2000 B, host 0 to 1: packet 1 is sent at 0, 2 at 838; the ACK of 1 is back
# after 838 + 1000 + 0 + 1000 (data), 0 + 1000 + 47 + 1000 (ACK) = 4885 and lets 3 go, that of 2 at
# 5723 lets 4 go, and so on: 10 is sent at 4 x 4885 + 838 and arrives 838 + 2000 later.
line = simulate([(0, 1, 10000)], "--window=2000")[0]
check(int(line[6]) == 4 * 4885 + 838 + 2838, "window of two packets: %s" % line)
# A window of 1001 B is two packets as well: sending stops once it is reached. One of 1000 B, one: a
# packet every 4885.
check(
    int(simulate([(0, 1, 10000)], "--window=1001")[0][6]) == 4 * 4885 + 838 + 2838,
    "1001 B in flight",
)
check(int(simulate([(0, 1, 10000)], "--window=1000")[0][6]) == 9 * 4885 + 2838, "1000 B in flight")
# In proportion to the rate: at 5 of 10 Gb/s 4000 B become 2000. Packets take floor(1676.8) there,
# so 2 goes at 1676, and the pair again every 4885. With the same window at any rate the pace alone
# counts: 10 goes at 9 x 1676.
half = "--ns3::NoneCongestionOps::Rate=5000000000"
line = simulate([(0, 1, 10000)], "--window=4000", half)[0]
check(int(line[6]) == 4 * 4885 + 1676 + 2838, "variable window: %s" % line)
line = simulate([(0, 1, 10000)], "--window=4000", half, "--variable-window=0")[0]
check(int(line[6]) == 9 * 1676 + 2838, "constant window: %s" % line)

# --- What is given wins; telemetry's bytes; the configuration as run does the same again.
cases = [(0, 2, 100000), (1, 2, 12345)]
for options, changed in (
    (["--mtu=1024"], dict(payload=1024)),
    (["--payload=9000"], dict(payload=9000)),
    (["--header-bytes=90", "--ack-bytes=88"], dict(header=90, ack=88)),
):
    # The window counts payload and its round trip has no headers, so it may hold larger ones up.
    lines = simulate(cases, "--completion=sender", "--window=0", *options)
    for line, (src, dst, size) in zip(lines, cases):
        expected = alone(src, dst, size, True, **changed)
        check(int(line[6]) == expected, "%s: %s ns, not %d" % (options, line[6], expected))
configuration = stats()["configuration"]
check(
    configuration["fabric"]["compat"] == "hpcc" and configuration["fabric"]["window"] == "0",
    "configuration as run",
)
with open(folder("again.json"), "w") as file:
    json.dump(configuration, file)
run("--scenario=" + folder("again.json"), out="again")
check(stats("again")["configuration"] == configuration, "another configuration as run")
with open(folder("out/fct.txt")) as first, open(folder("again/fct.txt")) as second:
    check(first.read() == second.read(), "another fct.txt from the configuration as run")
plan = run(
    "--compat=hpcc", "--topology=" + TOPOLOGY, "--pattern=incast", "--dry-run", out=None
).stdout
for words in (
    "payload of a packet 1000 B, an ACK every 1 packet",
    (
        "48 B of headers, no extension headers, ACK 60 B of priority 3, preamble and gap 0 B, times"
        " cut to 1 ns"
    ),
    "window          7kB",  # 0 to 2: (4 x 1000 + 2 x 800) ns at 10 Gb/s
    "of the queue behind a frame",
    "pipeline 0 ps",
):
    check(words in plan, "the plan does not say '%s':\n%s" % (words, plan))

# --- What cannot be.
for options, words in (
    (["--compat=hpc"], "did you mean 'hpcc'?"),
    (["--compat=hpcc", "--pcap=all"], "captures of standard frames"),
    (["--payload=1000"], "--no-extension-headers"),
    (
        ["--compat=hpcc", "--mtu=1024", "--payload=1000"],
        "--mtu=1024: cannot be combined with --payload=1000",
    ),
    (["--completion=sendr"], "did you mean 'sender'?"),
):
    error = run(*options, status=2, out="bad").stderr
    check(words in error, "%s: %s" % (options, error))
done()
