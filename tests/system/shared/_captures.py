# Captures read by tshark, and what they say counted. Shared by the tests of captures.
import collections
import os
import struct
import subprocess
import zlib
from _traffic import check, folder

# Bytes between BTH and payload of packets that carry data: SEND, WRITE (RETH 16), READ responses
# (AETH 4); immediate data 4.
DATA = {
    0: 0,
    1: 0,
    2: 0,
    3: 4,
    4: 0,
    5: 4,
    6: 16,
    7: 0,
    8: 0,
    9: 4,
    10: 16,
    11: 20,
    13: 4,
    14: 0,
    15: 4,
    16: 4,
}
READ_REQUEST = 12
HEADERS = 14 + 20 + 8 + 12 + 4  # Ethernet, IPv4, UDP, BTH, ICRC
IB_HEADERS = 8 + 12 + 4 + 2  # LRH, BTH, ICRC, VCRC
CN, IB_CN = 0x81, 0x80  # opcodes of a RoCEv2 CNP and of an InfiniBand CN packet
OUTBOUND, INBOUND = "0x00000002", "0x00000001"


def tshark(name, fields, *more):
    """Rows of fields, one a frame."""
    command = [
        "tshark",
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "-r",
        name,
        *more,
        "-T",
        "fields",
        "-E",
        "separator=|",
    ]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "HOME": folder()}
    )
    check(result.returncode == 0, "tshark: " + result.stderr)
    return [line.split("|") for line in result.stdout.splitlines()]


def clean(name, frames):
    """Nothing malformed, no warning, every IPv4 checksum good, every frame known."""
    # severities: 0x400000 note, 0x600000 warning, 0x800000 error
    bad = [
        "_ws.malformed",
        "_ws.expert.severity >= 0x400000",
        "ip && ip.checksum.status != 1",
        "!(infiniband.bth || macc.opcode == 0x0101)",
        "udp && !infiniband.bth",
        "udp && udp.dstport != 4791",
    ]
    rows = tshark(
        name,
        ["frame.number", "frame.protocols", "ip.checksum.status", "_ws.expert.message"],
        "-Y",
        " || ".join("(%s)" % one for one in bad),
    )
    check(not rows, "%s: %d bad frames, the first: %s" % (name, len(rows), rows[:1]))
    # The filters above mean something: what they are made of is known to tshark, and fits the rest.
    good = tshark(name, ["frame.number"], "-Y", "ip.checksum.status == 1 || macc.opcode == 0x0101")
    check(len(good) == frames, "%s: %d good frames of %d" % (name, len(good), frames))


def pauses_begun(rows):
    """Pauses of a priority that began at a port, from the PFC frames it received: XOFF of what was
    not paused.
    """
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
                # TOS, TTL, checksums, BTH's FECN and BECN
                for masked in (1, 8, 10, 11, 26, 27, 32):
                    ip[masked] = 0xFF
                expected = zlib.crc32(b"\xff" * 8 + bytes(ip[:-4])) & 0xFFFFFFFF
                check(
                    struct.unpack_from("<I", ip, len(ip) - 4)[0] == expected,
                    "ICRC of frame %d" % frames,
                )
            frames += 1
        at += length
    return frames


class Counts:
    """What the frames that NICs sent say."""

    def __init__(self, rows, headers=HEADERS, cn=CN):
        self.cn = cn
        self.opcodes = collections.Counter()
        self.data_bytes = self.retransmitted = self.naks = 0
        self.retransmitted_bytes = 0
        seen = set()
        asked = {}
        for source, destination, qp, opcode, psn, length, pad, syndrome, dma in rows:
            opcode = int(opcode)
            self.opcodes[opcode] += 1
            if opcode in DATA:
                payload = int(length) - headers - int(pad) - DATA[opcode]
                self.data_bytes += payload
                packet = (source, destination, qp, psn)
                if packet in seen:
                    self.retransmitted += 1
                    self.retransmitted_bytes += payload
                seen.add(packet)
            elif opcode == READ_REQUEST:
                # Again, if some of what it asks for has been asked for. (PSNs do not wrap in these
                # runs.)
                first, end = int(psn), int(psn) + max(1, -(-int(dma) // 4096))
                self.retransmitted += first < asked.get((source, destination, qp), 0)
                asked[source, destination, qp] = max(end, asked.get((source, destination, qp), 0))
            elif opcode == 17:
                self.naks += int(syndrome, 0) >> 5 == 3
        self.data_packets = sum(self.opcodes[code] for code in DATA)

    def compare(self, told, what):
        for key, counted in (
            ("data_packets", self.data_packets),
            ("data_bytes", self.data_bytes),
            ("read_requests", self.opcodes[READ_REQUEST]),
            ("cnps", self.opcodes[self.cn]),
            ("naks", self.naks),
            ("retransmitted_packets", self.retransmitted),
            ("message_bytes", self.data_bytes - self.retransmitted_bytes),
        ):
            print("%s: %s: %d" % (what, key, counted))
            check(
                counted == told[key],
                "%s: %s: %d in the capture, %d in stats.json" % (what, key, counted, told[key]),
            )


FIELDS = [
    "ip.src",
    "ip.dst",
    "infiniband.bth.destqp",
    "infiniband.bth.opcode",
    "infiniband.bth.psn",
    "frame.len",
    "infiniband.bth.padcnt",
    "infiniband.aeth.syndrome",
    "infiniband.reth.dmalen",
]
IB_FIELDS = ["infiniband.lrh.slid", "infiniband.lrh.dlid", *FIELDS[2:]]
# A SEND without payload, or any whose bytes look like one, is taken for RPC over RDMA by its
# heuristics, which read beyond the end.
NO_RPC = ["--disable-protocol", "rpcordma"]


def ib_clean(name, frames):
    """Nothing malformed, no warning, every record a packet or a flow-control packet."""
    bad = tshark(
        name,
        ["frame.number", "frame.protocols", "_ws.expert.message"],
        *NO_RPC,
        "-Y",
        "_ws.malformed || _ws.expert.severity >= 0x600000 || !(infiniband.bth || infiniband_link)"
    )
    check(not bad, "%s: %d bad frames, the first: %s" % (name, len(bad), bad[:1]))
    good = tshark(
        name,
        ["frame.number"],
        *NO_RPC,
        "-Y",
        "!_ws.malformed && (infiniband.bth || infiniband_link.op == 0)"
    )
    check(len(good) == frames, "%s: %d good frames of %d" % (name, len(good), frames))


def _vcrc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0xD008 if byte & 1 else 0)  # x^16 + x^12 + x^3 + x + 1, reflected
        table.append(byte)
    return table


_VCRC = _vcrc_table()


def vcrc(data):
    """CRC-16 of InfiniBand (Architecture Specification vol. 1, 7.8.2)."""
    crc = 0xFFFF
    for byte in data:
        crc = crc >> 8 ^ _VCRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFF


def check_ib_crcs(name):
    """Lengths, and the CRCs computed here, record by record, of a pcapng file with whole ERF
    records. VCRCs of long packets, which take time, of one in 50.
    """
    with open(name, "rb") as file:
        text = file.read()
    at = frames = full = 0
    while at < len(text):
        kind, length = struct.unpack_from("<II", text, at)
        if kind == 1:
            check(struct.unpack_from("<H", text, at + 8)[0] == 197, "link type")
        if kind == 6:
            kept, whole = struct.unpack_from("<II", text, at + 20)
            check(kept == whole, "a frame is cut off")
            record = text[at + 28 : at + 28 + kept]
            erf, flags, rlen, lost, wire = struct.unpack_from(">BBHHH", record, 8)
            check(
                (flags, rlen, lost, wire) == (4, kept, 0, kept - 16),
                "ERF header of record %d" % frames,
            )
            packet = bytearray(record[16:])
            if erf == 25:
                check(
                    struct.unpack_from("<H", packet, 4)[0] == vcrc(packet[:4])
                    and not any(packet[6:]),
                    "flow control, record %d" % frames,
                )
            else:
                check(erf == 21 and packet[1] & 3 == 2, "record %d: a packet with BTH" % frames)
                check(
                    (struct.unpack_from(">H", packet, 4)[0] & 0x7FF) * 4 + 2 == len(packet),
                    "packet length of record %d" % frames,
                )
                full += len(packet) > 500
                if len(packet) <= 500 or full % 50 == 1:
                    check(
                        struct.unpack_from("<H", packet, len(packet) - 2)[0] == vcrc(packet[:-2]),
                        "VCRC of record %d" % frames,
                    )
                packet[0] |= 0xF0  # the VL may change on the way
                packet[12] = 0xFF  # FECN, BECN
                check(
                    struct.unpack_from("<I", packet, len(packet) - 6)[0] == zlib.crc32(packet[:-6]),
                    "ICRC of record %d" % frames,
                )
            frames += 1
        at += length
    return frames


def check_credits(rows, buffer_blocks):
    """From what a port sends and hears alone: FCTBS is what it has sent, FCCL is never exceeded.
    Rows of one port and in order, of (direction, VL of a packet, length, VL of a flow-control
    packet, FCTBS, FCCL). Returns the flow-control packets sent.
    """
    sent = collections.Counter()
    limit = collections.defaultdict(lambda: buffer_blocks)
    told = 0
    for direction, lane, length, link_lane, fctbs, fccl in rows:
        if link_lane and direction == OUTBOUND:
            told += 1
            check(
                int(fctbs) == sent[int(link_lane, 0)] % 4096,
                "FCTBS %s, %d blocks sent" % (fctbs, sent[int(link_lane, 0)]),
            )
        elif link_lane:
            limit[int(link_lane, 0)] = int(fccl)
        elif direction == OUTBOUND:
            sent[int(lane, 0)] += -(-int(length) // 64)
            check(
                (limit[int(lane, 0)] - sent[int(lane, 0)]) % 4096 <= 2048,
                "more blocks than credits",
            )
    return told
