# Captures of --fabric=ib: tshark reads them without a malformed frame, and what they say equals
# what stats.json says, on congested runs over links that lose frames. CRCs and credits are checked
# here.
# ctest: TIMEOUT 900
import collections
import glob
import os
import shutil
import sys

sys.path.append(sys.path[0] + "/../shared")
from _captures import (
    DATA,
    IB_CN,
    IB_FIELDS,
    IB_HEADERS,
    INBOUND,
    NO_RPC,
    OUTBOUND,
    Counts,
    check_credits,
    check_ib_crcs,
    ib_clean,
    tshark,
)
from _system_test import share_of
from _traffic import check, done, folder, run, stats

if not shutil.which("tshark"):
    print("skipped: tshark is not installed")
    sys.exit(77)

HOSTS = 9
BUFFER = 16384
RUN = [
    "--fabric=ib",
    "--topology=single-switch",
    "--hosts=%d" % HOSTS,
    "--pattern=incast",
    "--fan-in=8",
    "--bytes=120kB,119999",
    "--cc=ib-cc",
    "--vls=2",
    "--vl-buffer=%dB" % BUFFER,
    "--lmc=1",
    "--bit-error-rate=1e-6",
    "--timeout-exponent=6",
    "--seed=3",
    "--pcap=all",
]
CREDITS = [
    "frame.packet_flags_direction",
    "infiniband.lrh.vl",
    "frame.len",
    "infiniband_link.vl",
    "infiniband_link.fctbs",
    "infiniband_link.fccl",
]


def by_port(name, fields):
    """Rows of a pcapng file by its interfaces."""
    ports = collections.defaultdict(list)
    for port, *row in tshark(name, ["frame.interface_name", *fields], *NO_RPC):
        ports[port].append(row)
    return ports


FROM_HOSTS = (
    'frame.packet_flags_direction == 2 && frame.interface_name matches "^server-" && infiniband.bth'
)

OPERATIONS = (("write", {6, 7, 8}), ("send", {0, 1, 2}), ("read", {12, 13, 14, 15}))
for operation, codes in share_of(OPERATIONS, one_in=3):
    run(*RUN, "--operation=" + operation, "--pcap-format=pcapng", out=operation)
    told = stats(operation)
    for key in ("cnps", "retransmitted_packets", "ecn_marks"):
        check(told[key] > 0, operation + ": the run has no " + key)
    check(told["drops"]["corrupted"] > 0, operation + ": no frame was lost")
    capture = folder(operation + "/capture.pcapng")
    check(glob.glob(folder(operation + "/*.pcap*")) == [capture], "one file")
    frames = check_ib_crcs(capture)
    ib_clean(capture, frames)
    counts = Counts(tshark(capture, IB_FIELDS, *NO_RPC, "-Y", FROM_HOSTS), IB_HEADERS, IB_CN)
    counts.compare(told, operation)
    check(
        codes <= set(counts.opcodes) <= codes | {16, 17, IB_CN},
        "%s: opcodes %s" % (operation, counts.opcodes),
    )

    # Every frame is received, or lost, but for what is on its way when the last flow is done.
    # Frame-hops are of packets, and of whatever was lost; flow-control packets stay on their link.
    directions = collections.Counter()
    for direction, lane in tshark(
        capture, ["frame.packet_flags_direction", "infiniband_link.vl"], *NO_RPC
    ):
        directions[direction, bool(lane)] += 1
    lost = told["drops"]["corrupted"]
    check(
        directions[INBOUND, False] + lost == told["frame_hops"],
        "packets received: %s, frame-hops: %d" % (directions, told["frame_hops"]),
    )
    sent = directions[OUTBOUND, False] + directions[OUTBOUND, True]
    check(
        0 <= sent - lost - directions[INBOUND, False] - directions[INBOUND, True] <= 2 * HOSTS,
        "frames: %s" % directions,
    )
    check(
        directions[OUTBOUND, True] == told["credits"]["flow_control_packets"],
        "flow-control packets: %s" % directions,
    )
    times = [float(row[0]) for row in tshark(capture, ["frame.time_delta"])]
    check(min(times) >= 0, "not in order of time")

    # BTH's fifth byte: FECN where the switch has marked, BECN in CN packets, nothing else.
    marked = tshark(
        capture,
        ["infiniband.bth.opcode"],
        *NO_RPC,
        "-Y",
        "infiniband.bth[4] == 80 && frame.packet_flags_direction == 2"
    )
    check(
        len(marked) == told["ecn_marks"],
        "FECN: %d in the capture, %d in stats.json" % (len(marked), told["ecn_marks"]),
    )
    check({int(row[0]) for row in marked} <= set(DATA), "FECN in what is no data")
    for what, expression in (
        ("BECN in no CN packet", "infiniband.bth[4] == 40 && !(infiniband.bth.opcode == 128)"),
        ("no BECN in a CN packet", "infiniband.bth.opcode == 128 && !(infiniband.bth[4] == 40)"),
        (
            "a byte of its own",
            (
                "infiniband.bth && !(infiniband.bth[4] == 00 || infiniband.bth[4] == 40 ||"
                " infiniband.bth[4] == 80)"
            ),
        ),
    ):
        check(
            not tshark(capture, ["frame.number"], *NO_RPC, "-Y", expression),
            operation + ": " + what,
        )

    # LIDs: two each, the first on what a NIC sends.
    lids = {}
    for name, direction, source, destination in tshark(
        capture,
        [
            "frame.interface_name",
            "frame.packet_flags_direction",
            "infiniband.lrh.slid",
            "infiniband.lrh.dlid",
        ],
        *NO_RPC,
        "-Y",
        'infiniband.bth && frame.interface_name matches "^server-"'
    ):
        lid = int(source if direction == OUTBOUND else destination, 0)
        check(
            lids.setdefault(name, lid // 2) == lid // 2,
            "%s has LIDs %d and %d" % (name, lid, 2 * lids[name]),
        )
        check(direction == INBOUND or lid % 2 == 0, "%s sends from LID %d" % (name, lid))
    check(len(lids) == len(set(lids.values())) == HOSTS, "LIDs: %s" % lids)

    # Flow control: what one end sends the other hears, or it was lost; FCTBS and FCCL.
    ports = by_port(capture, CREDITS)
    check(
        set(ports)
        == {"server-%d:0" % n for n in range(HOSTS)} | {"switch-0:%d" % n for n in range(HOSTS)},
        "ports: %s" % set(ports),
    )
    told_by = {port: check_credits(rows, BUFFER // 64) for port, rows in ports.items()}
    check(all(told_by.values()), "a port without flow-control packets: %s" % told_by)
    sent = sum(told_by.values())
    check(sent == directions[OUTBOUND, True], "flow-control packets")
    print("%s: flow-control packets: %d" % (operation, sent))

# ---- pcap: a file for each port, the same frames

run(*RUN, "--operation=write", out="pcap")
check(
    stats("pcap")["data_packets"] == stats("write")["data_packets"],
    "the same seed gives another run",
)
capture = folder("write/capture.pcapng")
total = 0
fields = ["frame.time_epoch", "frame.len", "infiniband.bth.psn", "infiniband_link.fccl"]
ports = by_port(capture, fields)
for name in glob.glob(folder("pcap/*.pcap")):
    port = ":".join(os.path.basename(name)[:-5].rsplit("-", 1))
    here = tshark(name, fields, *NO_RPC)
    check(here == ports[port], name + " has other frames")
    total += len(here)
ib_clean(name, len(here))
frames = sum(len(rows) for rows in ports.values())
check(total == frames, "%d frames as pcap, %d as pcapng" % (total, frames))

# A run into the same folder takes away what the earlier one captured.
run(
    "--fabric=ib",
    "--topology=single-switch",
    "--hosts=4",
    "--bytes=4kB",
    "--pcap=server-1",
    out="pcap",
)
check(
    [os.path.basename(name) for name in glob.glob(folder("pcap/*.pcap"))] == ["server-1-0.pcap"],
    "captures of an earlier run are left",
)

# ---- cut to the headers: the same counts, and frames that are cut off are no malformed ones

run(*RUN, "--pcap-format=pcapng", "--pcap-snaplen=96", out="snap")
snap = folder("snap/capture.pcapng")
ib_clean(snap, frames)
Counts(tshark(snap, IB_FIELDS, *NO_RPC, "-Y", FROM_HOSTS), IB_HEADERS, IB_CN).compare(
    stats("write"), "snap length 96"
)
check(
    max(int(row[0]) for row in tshark(snap, ["frame.cap_len"])) == 96, "longer than the snap length"
)

# ---- a ring of files

run(*RUN, "--pcap-size=100kB", "--pcap-files=3", out="ring")
ring = glob.glob(folder("ring/switch-0-0.*.pcap"))
check(len(ring) == 3 and all(os.path.getsize(name) <= 100000 for name in ring), "ring: %s" % ring)
for name in ring:
    ib_clean(name, len(tshark(name, ["frame.number"])))

# ---- the flow filter, with and without flow-control packets

fields = ["frame.time_epoch", "frame.interface_name", "frame.len"]
base = {name.split(":")[0]: 2 * lid for name, lid in lids.items()}
flow = "(infiniband.lrh.slid == %d || infiniband.lrh.dlid == %d || infiniband.lrh.dlid == %d)" % (
    base["server-1"],
    base["server-1"],
    base["server-1"] + 1,
)  # in an incast: all of this host
for option, expression in (
    ("server-1->server-0", "infiniband.bth && " + flow),
    ("credits", "infiniband_link"),
    ("server-1->server-0,credits", "infiniband_link || infiniband.bth && " + flow),
):
    run(*RUN, "--pcap-format=pcapng", "--pcap-snaplen=96", "--pcap-flow=" + option, out="flow")
    got = tshark(folder("flow/capture.pcapng"), fields)
    wanted = tshark(snap, fields, *NO_RPC, "-Y", expression)
    check(
        got == wanted and 0 < len(got) < frames,
        "%s: %d frames, tshark's: %d" % (option, len(got), len(wanted)),
    )

# ---- what Ethernet has InfiniBand has not, and the other way round

for fabric, word, allowed in (("ib", "pfc", "credits"), ("roce", "credits", "pfc")):
    result = run(
        "--fabric=" + fabric,
        "--topology=single-switch",
        "--hosts=4",
        "--pcap=all",
        "--pcap-flow=" + word,
        status=2,
        out="bad",
    )
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    check(len(lines) == 1, "not one line:\n" + result.stderr)
    for text in ("--pcap-flow=" + word, "--fabric=ib", "allowed: SRC->DST", ", " + allowed):
        check(text in lines[0], "the error does not say %s:\n%s" % (text, lines[0]))
result = run(
    "--fabric=ib",
    "--topology=single-switch",
    "--hosts=4",
    "--pcap=all",
    "--pcap-flow=credit",
    status=2,
    out="bad",
)
check("did you mean 'credits'" in result.stderr, "no nearest name:\n" + result.stderr)
done()
