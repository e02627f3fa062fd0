# What a capture says equals what stats.json says, on a congested run over links that lose frames:
# data packets and bytes, CNPs, NAKs, retransmissions, pauses, messages, counted by tshark on the
# transmit side of the NICs' ports. And no frame is malformed, has a wrong checksum (IPv4, ICRC) or
# a warning.
# ctest: TIMEOUT 900 FULL
import collections
import glob
import os
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _captures import FIELDS, INBOUND, OUTBOUND, Counts, check_icrc, clean, pauses_begun, tshark
from _traffic import LOSSY, check, done, folder, run, stats

if not shutil.which("tshark"):
    print("skipped: tshark is not installed")
    sys.exit(77)

HOSTS = 9  # of LOSSY
RUN = [*LOSSY, "--pcap=all"]
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
from_hosts = (
    'frame.packet_flags_direction == 2 && frame.interface_name matches "^server-" && infiniband.bth'
)
Counts(tshark(capture, FIELDS, "-Y", from_hosts)).compare(told, "pcapng")

# Every frame is sent once: those of all ports are the frame-hops. Each is received unless it was
# lost.
directions = collections.Counter(
    row[0] for row in tshark(capture, ["frame.packet_flags_direction"])
)
check(set(directions) == {OUTBOUND, INBOUND}, "directions: %s" % directions)
check(
    directions[OUTBOUND] == told["frame_hops"],
    "frames sent: %d, frame-hops: %d" % (directions[OUTBOUND], told["frame_hops"]),
)
pfc = tshark(
    capture,
    ["frame.interface_name", "frame.time_epoch", "macc.cbfc.enbv"]
    + ["macc.cbfc.pause_time.c%d" % p for p in range(8)],
    "-Y",
    "macc && frame.packet_flags_direction == 1",
)
check(len(pfc) > 0, "no PFC frame")
begun = pauses_begun(pfc)
check(
    begun == told["pfc_pauses"],
    "pauses: %d in the capture, %d in stats.json" % (begun, told["pfc_pauses"]),
)
marked = tshark(
    capture,
    ["frame.number"],
    "-Y",
    "ip.dsfield.ecn == 3 && frame.packet_flags_direction == 2 && infiniband.bth",
)
check(
    len(marked) == told["ecn_marks"],
    "ECN marks: %d in the capture, %d in stats.json" % (len(marked), told["ecn_marks"]),
)

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
check(
    all(int(row[0]) <= 96 for row in tshark(capture, ["frame.cap_len"])),
    "longer than the snap length",
)

# ---- the flow filter, against tshark's own

run(
    *RUN,
    "--pcap-format=pcapng",
    "--pcap-snaplen=96",
    "--pcap-flow=server-1->server-0,server-2->server-0,pfc",
    out="flow"
)
wanted = tshark(
    capture,
    ["frame.time_epoch", "frame.interface_name", "frame.len"],
    "-Y",
    # in an incast: all of these two hosts
    "macc || ip.addr == 10.0.0.2 || ip.addr == 10.0.0.3",
)
got = tshark(
    folder("flow/capture.pcapng"), ["frame.time_epoch", "frame.interface_name", "frame.len"]
)
check(
    got == wanted and 0 < len(got) < frames,
    "flow filter: %d frames, tshark's: %d" % (len(got), len(wanted)),
)

# ---- capinfos

if shutil.which("capinfos"):
    text = subprocess.run(
        ["capinfos", "-M", folder("ng/capture.pcapng")], capture_output=True, text=True, timeout=60
    ).stdout
    for words in (
        "pcapng",
        "nanoseconds",
        "Strict time order:   True",
        "Number of interfaces in file: %d" % (2 * HOSTS),
        "Name = server-0:0",
        "Name = switch-0:8",
    ):
        check(words in text, "capinfos does not say '%s':\n%s" % (words, text[:2000]))
    check(
        text.split("Number of packets:")[1].split()[0] == str(frames),
        "capinfos counts other frames",
    )
done()
