# --pcap: files for what was asked, and Wireshark reads them as RoCEv2 without a malformed frame.
import glob
import os
import shutil
import struct
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import TWO_LEAVES, check, done, folder, run, stats

SMALL = [*TWO_LEAVES, "--bytes=20kB"]
for selector, ports in (
    ("server-1", 1),
    ("leaf-0", 3),
    ("leaf-0:0", 1),
    ("server-0-leaf-0", 1),
    ("all", 12),
):
    result = run(*SMALL, "--pcap=" + selector, out=selector)
    files = glob.glob(folder(selector) + "/*.pcap")
    check(ports <= len(files) <= ports + 1, "%s: %s" % (selector, sorted(files)))
    check("*.pcap" in result.stdout, "the summary does not name the captures")
    for name in files:
        check(os.path.getsize(name) > 24, name + " is empty")

name = folder("server-1/server-1-0.pcap")
if shutil.which("tshark"):
    output = subprocess.run(
        [
            "tshark",
            "-r",
            name,
            "-T",
            "fields",
            "-e",
            "frame.protocols",
            "-e",
            "_ws.malformed",
            "-e",
            "infiniband.bth.opcode",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.splitlines()
    # 5 packets out, 5 in, an ACK each way, at least.
    check(len(output) >= 12, "tshark reads %d frames" % len(output))
    for line in output:
        check("infiniband" in line and "alformed" not in line, "tshark: " + line)
else:
    print("no tshark: the files are there, but nobody read them")


def packets(path):
    """(bytes, length on the wire) of the frames of a capture."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        kept, length = struct.unpack_from("<II", data, at + 8)
        yield data[at + 16 : at + 16 + kept], length
        at += 16 + kept


# Laws that add bytes to packets: behind the payload, before the ICRC. What a packet of 4,096 B in
# the middle of a message has: Ethernet 14, IPv4 20, UDP 8, BTH 12, payload, those bytes, ICRC 4.
PLAIN = 14 + 20 + 8 + 12 + 4096 + 4
ACK = 14 + 20 + 8 + 12 + 4 + 4
WRITE_MIDDLE, ACKNOWLEDGE = 7, 17
for law, more, more_of_ack in (
    ("hpcc", 42, 42),
    ("powertcp", 42, 42),
    ("hpcc-pint", 1, 1),
    ("swift", 0, 8),
    ("dcqcn", 0, 0),
):
    out = "law-" + law
    run(*SMALL, "--pcap=server-1", "--cc=" + law, out=out)
    name = folder(out + "/server-1-0.pcap")
    lengths = {WRITE_MIDDLE: set(), ACKNOWLEDGE: set()}
    for frame, length in packets(name):
        opcode = frame[42]
        lengths.get(opcode, set()).add(length)
        came = frame[6:12] != bytes.fromhex("02000a000002")  # from another host
        if law in ("hpcc", "powertcp") and opcode == WRITE_MIDDLE:
            hops = int.from_bytes(frame[-6:-4], "big")
            check(hops == (3 if came else 0), "%s: %d hops" % (law, hops))
            rate = frame[-46] >> 5  # of the first hop: 2 is 100 Gb/s
            check(not came or rate == 2, "%s: rate %d" % (law, rate))
    check(lengths[WRITE_MIDDLE] == {PLAIN + more}, "%s: data of %s B" % (law, lengths))
    check(lengths[ACKNOWLEDGE] == {ACK + more_of_ack}, "%s: ACKs of %s B" % (law, lengths))
    if shutil.which("tshark"):
        fields = ["-e", "_ws.malformed", "-e", "infiniband.bth.opcode", "-e", "ip.checksum.status"]
        output = subprocess.run(
            ["tshark", "-r", name, "-o", "ip.check_checksum:TRUE", "-T", "fields", *fields],
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        check("alformed" not in output, "%s: tshark: %s" % (law, output))
done()
