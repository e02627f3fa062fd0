#!/usr/bin/python3
"""Runs the examples of contrib/rdma and checks the numbers that they print. By rdma-alone-test.sh:

    rdma-examples.py FOLDER EXAMPLE...
"""
import os
import re
import subprocess
import sys

FOLDER, EXAMPLES = sys.argv[1], sys.argv[2:]


def check(condition, what):
    if not condition:
        print("FAILED:", what)
        sys.exit(1)


def run(name, *arguments):
    program = os.path.join(FOLDER, "ns3.37-%s-optimized" % name)
    process = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    check(process.returncode == 0, "%s: status %d\n%s" % (name, process.returncode, process.stdout + process.stderr))
    return process.stdout


def incast():
    # One sender: the closed form, to the picosecond that is printed.
    text = run("rdma-incast", "--senders=1")
    arrived = re.search(r"^1000000 B from endpoint 1 at ([\d.]+) us$", text, re.M).group(1)
    alone = re.search(r"^alone it takes ([\d.]+) us; ECN marks 0, pauses 0, retransmitted 0$", text, re.M).group(1)
    check(arrived == alone, "one sender takes %s us, alone it takes %s" % (arrived, alone))
    # Eight: all arrive, the last after eight times the bytes at line rate; no loss.
    text = run("rdma-incast", "--senders=8", "--cc=none")
    times = [float(t) for t in re.findall(r"^1000000 B from endpoint \d at ([\d.]+) us$", text, re.M)]
    check(len(times) == 8 and times == sorted(times), "eight messages")
    check(8 * 80 < times[-1] < 8 * 80 * 4178 / 4096 * 1.01, "8 MB at 100 Gb/s take 653 us and a bit: %s" % times[-1])
    check("retransmitted 0" in text, "nothing is lost")


def pfc_propagation():
    # At 100 Gb/s a frame takes 0.334 us. The hops before the last: half a frame; the last: three frames of one of 16
    # ports (derived in rdma-pfc-propagation-test-suite.cc).
    row = r"^s(\d) +([\d.]+) us +([\d.]+) us +([\d.]+) us +([\d.]+) kB$"
    for arguments, hops in (([], 5), (["--senders=3"], 5), (["--switches=7", "--senders=31", "--delay=300"], 7)):
        text = run("rdma-pfc-propagation", *arguments)
        rows = re.findall(row, text, re.M)
        check([int(r[0]) for r in rows] == list(range(hops - 1, -1, -1)), "a row a switch:\n" + text)
        for number, _, after, expected, stored in rows:
            bound = 1.1 if int(number) == hops - 1 else 0.17
            check(abs(float(after) - float(expected)) < bound, "s%s: %s us, expected %s" % (number, after, expected))
            check(float(stored) > 4.1, "s%s pauses with %s kB" % (number, stored))
        for one, other in zip(rows, rows[1:]):
            difference = float(other[1]) - float(one[1])
            check(abs(difference - float(other[2])) < 0.002, "times and differences do not go together:\n" + text)
        check(re.search(r"^h0 was paused for [1-9]\d*\.\d us in all; frames dropped: 0$", text, re.M), text)


def own_congestion_control():
    text = run("rdma-own-congestion-control")
    row = r"^(\w+) +([\d.]+) us +([\d.]+) Gb/s +(\d+) +(\d+) +([\d.]+) kB$"
    rows = {r[0]: [float(n) for n in r[1:]] for r in re.findall(row, text, re.M)}
    check(list(rows) == ["none", "dcqcn", "aimd"], "three rows:\n" + text)
    for name, (done, goodput, pauses, cnps, queue) in rows.items():
        check(abs(8 * 4e6 * 8e-3 / goodput - done) < 2e-3 * done, name + ": time and goodput do not go together")
        check(60 < goodput <= 100 * 4096 / 4178, name + ": goodput above what headers leave, or lost")
        check((cnps == 0) == (name == "none"), name + ": CNPs are for those that use them")
    # Without congestion control the link never idles (header arithmetic, 98.0), and PFC has all the work.
    check(rows["none"][1] > 97.5, "none: the link idles")
    check(rows["none"][2] > 100 and rows["aimd"][2] < rows["none"][2] / 10, "AIMD spares pauses:\n" + text)
    check(rows["aimd"][4] < rows["none"][4], "AIMD has the shorter queue:\n" + text)
    # Its attributes count: half the increase, slower.
    slow = run("rdma-own-congestion-control", "--cc=aimd", "--ns3::AimdCongestionOps::Increase=200000000")
    check(float(re.search(r"^aimd +([\d.]+) us", slow, re.M).group(1)) > rows["aimd"][0], "an attribute has no effect")


CHECKS = {
    "rdma-incast": incast,
    "rdma-pfc-propagation": pfc_propagation,
    "rdma-own-congestion-control": own_congestion_control,
}
for example in EXAMPLES:
    check(example in CHECKS, "nobody checks the example " + example)
    CHECKS[example]()
    print("checked", example)
