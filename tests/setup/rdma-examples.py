#!/usr/bin/python3
"""Runs the examples of contrib/rdma and checks the numbers that they print. By rdma-alone-test.sh:

    rdma-examples.py FOLDER EXAMPLE...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER, EXAMPLES = sys.argv[1], sys.argv[2:]


def check(condition, what):
    if not condition:
        print("FAILED:", what)
        sys.exit(1)


def run(name, *arguments):
    program = os.path.join(FOLDER, "ns3.37-%s-optimized" % name)
    process = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    check(
        process.returncode == 0,
        "%s: status %d\n%s" % (name, process.returncode, process.stdout + process.stderr),
    )
    return process.stdout


def incast():
    # One sender: the closed form, to the picosecond that is printed.
    text = run("rdma-incast", "--senders=1")
    arrived = re.search(r"^1000000 B from endpoint 1 at ([\d.]+) us$", text, re.M).group(1)
    alone = re.search(
        r"^alone it takes ([\d.]+) us; ECN marks 0, pauses 0, retransmitted 0$", text, re.M
    ).group(1)
    check(arrived == alone, "one sender takes %s us, alone it takes %s" % (arrived, alone))
    # Eight: all arrive, the last after eight times the bytes at line rate; no loss.
    text = run("rdma-incast", "--senders=8", "--cc=none")
    times = [
        float(t) for t in re.findall(r"^1000000 B from endpoint \d at ([\d.]+) us$", text, re.M)
    ]
    check(len(times) == 8 and times == sorted(times), "eight messages")
    check(
        8 * 80 < times[-1] < 8 * 80 * 4178 / 4096 * 1.01,
        "8 MB at 100 Gb/s take 653 us and a bit: %s" % times[-1],
    )
    check("retransmitted 0" in text, "nothing is lost")


def pfc_propagation():
    # At 100 Gb/s a frame takes 0.334 us. The hops before the last: half a frame; the last: three
    # frames of one of 16 ports (derived in rdma-pfc-propagation-test-suite.cc).
    row = r"^s(\d) +([\d.]+) us +([\d.]+) us +([\d.]+) us +([\d.]+) kB$"
    for arguments, hops in (
        ([], 5),
        (["--senders=3"], 5),
        (["--switches=7", "--senders=31", "--delay=300"], 7),
    ):
        text = run("rdma-pfc-propagation", *arguments)
        rows = re.findall(row, text, re.M)
        check(
            [int(r[0]) for r in rows] == list(range(hops - 1, -1, -1)), "a row a switch:\n" + text
        )
        for number, _, after, expected, stored in rows:
            bound = 1.1 if int(number) == hops - 1 else 0.17
            check(
                abs(float(after) - float(expected)) < bound,
                "s%s: %s us, expected %s" % (number, after, expected),
            )
            check(float(stored) > 4.1, "s%s pauses with %s kB" % (number, stored))
        for one, other in zip(rows, rows[1:]):
            difference = float(other[1]) - float(one[1])
            check(
                abs(difference - float(other[2])) < 0.002,
                "times and differences do not go together:\n" + text,
            )
        check(
            re.search(r"^h0 was paused for [1-9]\d*\.\d us in all; frames dropped: 0$", text, re.M),
            text,
        )


def own_congestion_control():
    text = run("rdma-own-congestion-control")
    row = r"^(\w+) +([\d.]+) us +([\d.]+) Gb/s +(\d+) +(\d+) +([\d.]+) kB$"
    rows = {r[0]: [float(n) for n in r[1:]] for r in re.findall(row, text, re.M)}
    check(list(rows) == ["none", "dcqcn", "aimd"], "three rows:\n" + text)
    for name, (done, goodput, pauses, cnps, queue) in rows.items():
        check(
            abs(8 * 4e6 * 8e-3 / goodput - done) < 2e-3 * done,
            name + ": time and goodput do not go together",
        )
        check(
            60 < goodput <= 100 * 4096 / 4178, name + ": goodput above what headers leave, or lost"
        )
        check((cnps == 0) == (name == "none"), name + ": CNPs are for those that use them")
    # Without congestion control the link never idles (header arithmetic, 98.0), and PFC has all the
    # work.
    check(rows["none"][1] > 97.5, "none: the link idles")
    check(
        rows["none"][2] > 100 and rows["aimd"][2] < rows["none"][2] / 10,
        "AIMD spares pauses:\n" + text,
    )
    check(rows["aimd"][4] < rows["none"][4], "AIMD has the shorter queue:\n" + text)
    # Its attributes count: half the increase, slower.
    slow = run(
        "rdma-own-congestion-control", "--cc=aimd", "--ns3::AimdCongestionOps::Increase=200000000"
    )
    check(
        float(re.search(r"^aimd +([\d.]+) us", slow, re.M).group(1)) > rows["aimd"][0],
        "an attribute has no effect",
    )


def ping_pong():
    for arguments, gbps, delay in (
        ([], 100, 1.0),
        (["--rate=400Gbps", "--delay=300ns", "--mtu=1024"], 400, 0.3),
    ):
        mtu = 1024 if gbps == 400 else 4096
        text = run("rdma-ping-pong", *arguments)
        rows = re.findall(r"^ +(\d) +(\d+)" + r" +([\d.]+) \( ?(-?[\d.]+)\)" * 3 + "$", text, re.M)
        check(len(rows) == 4 * 7, "a row for each of 4 paths and 7 sizes:\n" + text)
        for switches, size, *numbers in rows:
            check(all(n == "0.000" for n in numbers[1::2]), "not the closed form: %s" % (numbers,))
            # By hand, one packet: 62 B of headers + 20 on the wire, a WRITE's RETH 16; READ: a
            # request of 98 B, then AETH 4. Padded to 4 B.
            if int(size) <= mtu:
                payload = (int(size) + 3) // 4 * 4
                links = int(switches) + 1

                def path(wire):
                    return links * (wire * 8e-3 / gbps + delay) + int(switches) * 0.5

                for told, by_hand in zip(
                    numbers[::2],
                    (path(82 + payload), path(98 + payload), path(98) + path(86 + payload)),
                ):
                    check(
                        abs(float(told) - by_hand) < 0.0006,
                        "%s B: %s, by hand %f" % (size, told, by_hand),
                    )
        bandwidth = re.search(
            r"%\)\n.*?([\d.]+) \( ?[\d.]+\) +([\d.]+) \( ?[\d.]+\) +([\d.]+) \(", text
        )
        packets = (1 << 20) // mtu
        for told, more in zip(bandwidth.groups(), (0, 16, 8)):
            by_hand = gbps * (1 << 20) / ((1 << 20) + packets * 82 + more)
            check(abs(float(told) - by_hand) < 0.001, "bandwidth %s, by hand %f" % (told, by_hand))
        # 64 B over one switch, and before each answer the ACK of what it answers, 86 B.
        each_way = 2 * (146 * 8e-3 / gbps + delay) + 0.5 + 86 * 8e-3 / gbps
        check(
            abs(float(re.search(r"SENDs: ([\d.]+) us", text).group(1)) - each_way) < 0.0006,
            "ping-pong:\n" + text,
        )


def tshark(name, *arguments):
    command = [
        "tshark",
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "--disable-protocol",
        "rpcordma",
        "-r",
        name,
        *arguments,
    ]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": "/tmp"}
    )
    check(result.returncode == 0, "tshark: " + result.stderr)
    return result.stdout.split("\n")[:-1]


def verbs():
    for arguments in (
        [],
        ["--recovery=selective-repeat"],
        ["--bit-error-rate=2e-6"],
        ["--bit-error-rate=2e-6", "--recovery=selective-repeat"],
    ):
        with tempfile.TemporaryDirectory() as folder:
            text = run("rdma-verbs", "--pcap=" + folder, *arguments)
            done = re.findall(r"^ +[\d.]+ us  (\w): (\w+) +id (\d+), +(\d+) B, (.*)$", text, re.M)
            lossy = "--bit-error-rate=2e-6" in arguments
            expected = {
                ("a", "SEND", "101", "20000", "success"),
                ("a", "WRITE", "102", "10001", "success"),
                ("a", "READ", "103", "30000", "success"),
                ("a", "SEND", "104", "3", "success"),
                ("b", "RECEIVE", "1", "20000", "success"),
                ("b", "RECEIVE", "2", "10001", "success, immediate 7"),
                ("b", "RECEIVE", "3", "3", "success"),
                ("b", "SEND", "105", "1000", "success"),
                ("a", "RECEIVE", "4", "1000", "success, immediate 8"),
            }
            missing = expected - set(done)
            # A datagram may be lost for good.
            check(
                not (
                    missing - {("a", "RECEIVE", "4", "1000", "success, immediate 8")}
                    if lossy
                    else missing
                ),
                text,
            )
            check(len(done) == len(set(done)), "each completes once:\n" + text)
            told = [
                int(n)
                for n in re.search(
                    r"packets (\d+) \((\d+) B\), READ requests (\d+), ACKs (\d+), NAKs (\d+) "
                    r"\(RNR (\d+)\), retransmitted (\d+), time-outs (\d+), lost (\d+)",
                    text,
                ).groups()
            ]
            check(lossy == (told[8] > 0), "lost: %d" % told[8])
            if not shutil.which("tshark"):
                print("  tshark is not installed: the captures are not read")
                continue
            name = folder + "/capture.pcapng"
            bad = tshark(
                name,
                "-Y",
                (
                    "_ws.malformed || _ws.expert.severity >= 0x400000 || !infiniband.bth || "
                    "ip.checksum.status != 1"
                ),
            )
            check(not bad, "bad frames: %s" % bad[:2])
            rows = [
                line.split("|")
                for line in tshark(
                    name,
                    "-Y",
                    "frame.packet_flags_direction == 2",
                    "-T",
                    "fields",
                    "-E",
                    "separator=|",
                    "-e",
                    "infiniband.bth.opcode",
                    "-e",
                    "infiniband.aeth.syndrome",
                    "-e",
                    "udp.length",
                    "-e",
                    "infiniband.bth.padcnt",
                )
            ]
            codes = [int(r[0]) for r in rows]
            # UDP 8, BTH 12, ICRC 4, and RETH 16, ImmDt 4, AETH 4, DETH 8 by opcode.
            more = {3: 4, 5: 4, 6: 16, 10: 16, 9: 4, 11: 20, 13: 4, 15: 4, 16: 4, 0x64: 8, 0x65: 12}
            data = [
                r
                for r in rows
                if int(r[0]) <= 0x10 and int(r[0]) != 0x0C or int(r[0]) in (0x64, 0x65)
            ]
            counted = [
                len(data),
                sum(int(r[2]) - 24 - int(r[3]) - more.get(int(r[0]), 0) for r in data),
                codes.count(0x0C),
                sum(r[0] == "17" and int(r[1], 0) >> 5 == 0 for r in rows),
                sum(r[0] == "17" and int(r[1], 0) >> 5 != 0 for r in rows),
                sum(r[0] == "17" and int(r[1], 0) >> 5 == 1 for r in rows),
            ]
            check(counted == told[:6], "the capture says %s, the NICs %s" % (counted, told[:6]))
            check(
                {0, 1, 2, 4, 6, 7, 9, 12, 13, 14, 15, 17, 0x65} <= set(codes),
                "opcodes seen: %s" % sorted(set(codes)),
            )


def on_nodes():
    # By hand, as in the example; CSMA: 1,018 B at 100 Mb/s and 6.56 us.
    wire = 1000000 + 245 * 82 + 16
    arrival = (wire + 4096 + 82 + 16) * 8e-5 + 2 * 1 + 0.5
    done = arrival + 2 * 86 * 8e-5 + 2 * 1 + 0.5
    text = run("rdma-on-nodes")
    told = re.fullmatch(
        r"/NodeList/0/\$ns3::RdmaHost/NicList/0/MessageDone: 1000000 B acknowledged after "
        r"\+([\d.]+)us\nCSMA, node 1: 1000 B at \+88us\n",
        text,
    )
    check(told is not None, text)
    check(abs(float(told.group(1)) - done) < 1e-4, "%s us, by hand %f" % (told.group(1), done))


CHECKS = {
    "rdma-on-nodes": on_nodes,
    "rdma-incast": incast,
    "rdma-ping-pong": ping_pong,
    "rdma-verbs": verbs,
    "rdma-pfc-propagation": pfc_propagation,
    "rdma-own-congestion-control": own_congestion_control,
}
for example in EXAMPLES:
    check(example in CHECKS, "nobody checks the example " + example)
    CHECKS[example]()
    print("checked", example)
