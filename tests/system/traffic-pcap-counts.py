# What a capture says equals what stats.json says, on a congested run over links that lose frames: data packets and bytes,
# CNPs, NAKs, retransmissions, pauses, messages, counted by tshark on the transmit side of the NICs' ports. And no frame is
# malformed, has a wrong checksum (IPv4, ICRC) or a warning.
# ctest: TIMEOUT 900
import collections
import glob
import os
import shutil
import struct
import subprocess
import sys
import zlib
from _traffic import check, done, folder, run, stats

if not shutil.which("tshark"):
    print("skipped: tshark is not installed")
    sys.exit(77)

HOSTS = 9
RUN = ["--topology=single-switch", "--hosts=%d" % HOSTS, "--pattern=incast", "--fan-in=8", "--bytes=1MB,999999", "--buffer=100kB",
       "--ecn-kmin=20kB", "--ecn-kmax=60kB", "--bit-error-rate=3e-7", "--timeout-exponent=6", "--seed=3", "--pcap=all"]
DATA = {6: "WRITE First", 7: "Middle", 8: "Last", 9: "Last with immediate", 10: "Only", 11: "Only with immediate"}
HEADERS = 14 + 20 + 8 + 12 + 4  # Ethernet, IPv4, UDP, BTH, ICRC
OUTBOUND, INBOUND = "0x00000002", "0x00000001"


def tshark(name, fields, *more):
    """Rows of fields, one a frame."""
    command = ["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-r", name, *more, "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "HOME": folder()})
    check(result.returncode == 0, "tshark: " + result.stderr)
    return [line.split("|") for line in result.stdout.splitlines()]


def clean(name, frames):
    """Nothing malformed, no warning, every IPv4 checksum good, every frame known."""
    # severities: 0x400000 note, 0x600000 warning, 0x800000 error
    bad = ["_ws.malformed", "_ws.expert.severity >= 0x400000", "ip && ip.checksum.status != 1",
           "!(infiniband.bth || macc.opcode == 0x0101)", "udp && !infiniband.bth", "udp && udp.dstport != 4791"]
    rows = tshark(name, ["frame.number", "frame.protocols", "ip.checksum.status", "_ws.expert.message"], "-Y",
                  " || ".join("(%s)" % one for one in bad))
    check(not rows, "%s: %d bad frames, the first: %s" % (name, len(rows), rows[:1]))
    # The filters above mean something: what they are made of is known to tshark, and fits the rest.
    good = tshark(name, ["frame.number"], "-Y", "ip.checksum.status == 1 || macc.opcode == 0x0101")
    check(len(good) == frames, "%s: %d good frames of %d" % (name, len(good), frames))


def pauses_begun(rows):
    """Pauses of a priority that began at a port, from the PFC frames it received: XOFF of what was not paused."""
    begun = 0
    until = collections.defaultdict(float)
    for port, time, enable, *quanta in rows:
        time = float(time)
        for priority in range(8):
            if int(enable, 0) >> priority & 1:
                value = int(quanta[priority], 0)
                begun += value > 0 and until[port, priority] <= time
                until[port, priority] = time + value * 512 / 100e9
    return begun


def check_icrc(name):
    """ICRC by zlib, frame by frame, of a pcapng file read here."""
    with open(name, "rb") as file:
        text = file.read()
    at = frames = 0
    while at < len(text):
        kind, length = struct.unpack_from("<II", text, at)
        if kind == 6:
            kept, whole = struct.unpack_from("<II", text, at + 20)
            check(kept == whole, "a frame is cut off")
            frame = bytearray(text[at + 28 : at + 28 + kept])
            if frame[12:14] == b"\x08\x00":
                ip = frame[14:]
                check(struct.unpack_from(">H", ip, 2)[0] == len(ip), "IPv4 length")
                check(struct.unpack_from(">H", ip, 24)[0] == len(ip) - 20, "UDP length")
                for masked in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, checksums, BTH's FECN and BECN
                    ip[masked] = 0xFF
                expected = zlib.crc32(b"\xff" * 8 + bytes(ip[:-4])) & 0xFFFFFFFF
                check(struct.unpack_from("<I", ip, len(ip) - 4)[0] == expected, "ICRC of frame %d" % frames)
            frames += 1
        at += length
    return frames


class Counts:
    """What the frames that NICs sent say."""

    def __init__(self, rows):
        self.opcodes = collections.Counter()
        self.data_bytes = self.retransmitted = self.naks = 0
        self.retransmitted_bytes = 0
        seen = set()
        for source, destination, qp, opcode, psn, length, pad, syndrome in rows:
            opcode = int(opcode)
            self.opcodes[opcode] += 1
            if opcode in DATA:
                payload = int(length) - HEADERS - int(pad) - (16 if opcode in (6, 10, 11) else 0) - (4 if opcode in (9, 11) else 0)
                self.data_bytes += payload
                packet = (source, destination, qp, psn)
                if packet in seen:
                    self.retransmitted += 1
                    self.retransmitted_bytes += payload
                seen.add(packet)
            elif opcode == 17:
                self.naks += int(syndrome, 0) >> 5 == 3
        self.data_packets = sum(self.opcodes[code] for code in DATA)

    def compare(self, told, what):
        for key, counted in (
            ("data_packets", self.data_packets),
            ("data_bytes", self.data_bytes),
            ("cnps", self.opcodes[0x81]),
            ("naks", self.naks),
            ("retransmitted_packets", self.retransmitted),
            ("message_bytes", self.data_bytes - self.retransmitted_bytes),
        ):
            print("%s: %s: %d" % (what, key, counted))
            check(counted == told[key], "%s: %s: %d in the capture, %d in stats.json" % (what, key, counted, told[key]))


FIELDS = ["ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn", "frame.len",
          "infiniband.bth.padcnt", "infiniband.aeth.syndrome"]

# ---- pcapng: one file

run(*RUN, "--pcap-format=pcapng", out="ng")
told = stats("ng")
for key in ("cnps", "naks", "retransmitted_packets", "pfc_pauses", "ecn_marks", "timeouts"):
    check(told[key] > 0, "the run has no " + key)
check(told["drops"].get("corrupted", 1) > 0, "no frame was lost")
capture = folder("ng/capture.pcapng")
check(glob.glob(folder("ng/*.pcap*")) == [capture], "one file")
frames = check_icrc(capture)
clean(capture, frames)
from_hosts = 'frame.packet_flags_direction == 2 && frame.interface_name matches "^server-" && infiniband.bth'
Counts(tshark(capture, FIELDS, "-Y", from_hosts)).compare(told, "pcapng")

# Every frame is sent once: those of all ports are the frame-hops. Each is received unless it was lost.
directions = collections.Counter(row[0] for row in tshark(capture, ["frame.packet_flags_direction"]))
check(set(directions) == {OUTBOUND, INBOUND}, "directions: %s" % directions)
check(directions[OUTBOUND] == told["frame_hops"], "frames sent: %d, frame-hops: %d" % (directions[OUTBOUND], told["frame_hops"]))
pfc = tshark(capture, ["frame.interface_name", "frame.time_epoch", "macc.cbfc.enbv"] + ["macc.cbfc.pause_time.c%d" % p for p in range(8)],
             "-Y", "macc && frame.packet_flags_direction == 1")
check(len(pfc) > 0, "no PFC frame")
begun = pauses_begun(pfc)
check(begun == told["pfc_pauses"], "pauses: %d in the capture, %d in stats.json" % (begun, told["pfc_pauses"]))
marked = tshark(capture, ["frame.number"], "-Y", 'ip.dsfield.ecn == 3 && frame.packet_flags_direction == 2 && infiniband.bth')
check(len(marked) == told["ecn_marks"], "ECN marks: %d in the capture, %d in stats.json" % (len(marked), told["ecn_marks"]))

# ---- pcap: a file for each port, transmit side by address; the same frames

run(*RUN, out="pcap")
check(stats("pcap")["data_packets"] == told["data_packets"], "the same seed gives another run")
files = glob.glob(folder("pcap/*.pcap"))
check(len(files) == 2 * HOSTS, "%d files" % len(files))
rows = []
total = 0
for name in files:
    here = tshark(name, ["frame.number"])
    total += len(here)
    clean(name, len(here))
    if os.path.basename(name).startswith("server-"):
        host = int(os.path.basename(name).split("-")[1])
        rows += tshark(name, FIELDS, "-Y", "ip.src == 10.0.0.%d && infiniband.bth" % (host + 1))
check(total == frames, "%d frames as pcap, %d as pcapng" % (total, frames))
Counts(rows).compare(told, "pcap")

# ---- cut to the headers: the same counts, and frames that are cut off are no malformed ones

run(*RUN, "--pcap-format=pcapng", "--pcap-snaplen=96", out="snap")
capture = folder("snap/capture.pcapng")
clean(capture, frames)
Counts(tshark(capture, FIELDS, "-Y", from_hosts)).compare(told, "snap length 96")
check(all(int(row[0]) <= 96 for row in tshark(capture, ["frame.cap_len"])), "longer than the snap length")

# ---- the flow filter, against tshark's own

run(*RUN, "--pcap-format=pcapng", "--pcap-snaplen=96", "--pcap-flow=server-1->server-0,server-2->server-0,pfc", out="flow")
wanted = tshark(capture, ["frame.time_epoch", "frame.interface_name", "frame.len"], "-Y",
                "macc || ip.addr == 10.0.0.2 || ip.addr == 10.0.0.3")  # in an incast: all of these two hosts
got = tshark(folder("flow/capture.pcapng"), ["frame.time_epoch", "frame.interface_name", "frame.len"])
check(got == wanted and 0 < len(got) < frames, "flow filter: %d frames, tshark's: %d" % (len(got), len(wanted)))

# ---- capinfos

if shutil.which("capinfos"):
    text = subprocess.run(["capinfos", "-M", folder("ng/capture.pcapng")], capture_output=True, text=True, timeout=60).stdout
    for words in ("pcapng", "nanoseconds", "Strict time order:   True", "Number of interfaces in file: %d" % (2 * HOSTS),
                  "Name = server-0:0", "Name = switch-0:8"):
        check(words in text, "capinfos does not say '%s':\n%s" % (words, text[:2000]))
    check(text.split("Number of packets:")[1].split()[0] == str(frames), "capinfos counts other frames")
done()
