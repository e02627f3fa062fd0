# --loss-recovery: a lossy network under both; selective repeat sends again what was lost, and
# little else.
import filecmp
import glob
import json
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import SLOWER, check, done, flows, folder, run, stats

INCAST = [
    "--topology=single-switch",
    "--pattern=incast",
    "--hosts=17",
    "--fan-in=16",
    "--bytes=2MB",
    "--cc=none",
    "--ecn=0",
    "--pfc=0",
    "--buffer=50kB",
]
ALL_TO_ALL = [
    "--topology=leaf-spine",
    "--leaves=4",
    "--spines=2",
    "--hosts-per-leaf=4",
    "--hosts=16",
    "--pattern=all-to-all",
    "--bytes=200kB",
    "--pfc=0",
    "--bit-error-rate=1e-7",
]


def all_arrived(s, rows, count, size, what):
    check(s["completed"] and s["failed_queue_pairs"] == 0, what + ": queue pairs failed")
    check(
        len(rows) == count and all(int(r["bytes"]) == size for r in rows),
        what + ": bytes are missing",
    )


# A lossy incast. No ACK is dropped: what goes again was dropped, but for one packet a time-out.
retransmitted = {}
for recovery in ("go-back-n", "selective-repeat"):
    run(*INCAST, "--loss-recovery=" + recovery)
    s = stats()
    all_arrived(s, flows(), 16, 2000000, recovery)
    drops = sum(s["drops"].values())
    retransmitted[recovery] = s["retransmitted_packets"]
    check(
        drops > 0 and s["pfc_pauses"] == 0, "a lossy network that loses nothing: " + str(s["drops"])
    )
    check(s["retransmitted_packets"] >= drops, "what was dropped has not gone again")
    if recovery == "selective-repeat":
        check(s["retransmitted_packets"] <= drops + s["timeouts"], "more goes again than was lost")
check(
    retransmitted["selective-repeat"] < retransmitted["go-back-n"],
    "go-back-N sends less again: %s" % retransmitted,
)

# Default and name are the same thing; the JSON has a key for it; the same seed gives the same
# bytes.
run(*ALL_TO_ALL, out="default")
run(*ALL_TO_ALL, "--loss-recovery=go-back-n", out="named")
run(*ALL_TO_ALL, "--loss-recovery=selective-repeat", out="first")
with open(folder("scenario.json"), "w") as file:
    json.dump({"fabric": {"loss_recovery": "selective-repeat"}}, file)
run(*ALL_TO_ALL, "--scenario=" + folder("scenario.json"), out="second")
for one, other in (("default", "named"), ("first", "second")):
    check(
        filecmp.cmp(folder(one + "/flows.csv"), folder(other + "/flows.csv"), False),
        "%s and %s differ" % (one, other),
    )
check(
    not filecmp.cmp(folder("named/flows.csv"), folder("first/flows.csv"), False),
    "both recoveries are the same",
)
all_arrived(stats("first"), flows("first"), 240, 200000, "all-to-all")

# No such name.
error = run(*INCAST, "--loss-recovery=go-back-m", status=2).stderr
check(
    "go-back-n" in error and "selective-repeat" in error,
    "the error does not say what there is: " + error,
)

# The NACKs in a capture: the frame of an ACK, PSN expected in the BTH and the one that came in the
# MSN's place.
run(*ALL_TO_ALL, "--loss-recovery=selective-repeat", "--pcap=server-0-leaf-0", out="pcap")
names = glob.glob(folder("pcap/*.pcap"))
check(len(names) >= 1, "no capture")
if shutil.which("tshark"):
    fields = [
        "frame.len",
        "infiniband.bth.psn",
        "infiniband.aeth.syndrome",
        "infiniband.aeth.msn",
        "_ws.malformed",
        "_ws.expert.message",
    ]
    command = ["tshark", "-r", names[0], "-T", "fields", "-E", "separator=;"]
    for field in fields:
        command += ["-e", field]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOWER)
    lines = process.stdout.splitlines()
    check(len(lines) > 100, "tshark reads %d frames" % len(lines))
    nacks = 0
    for line in lines:
        length, psn, syndrome, came, malformed, expert = line.split(";")
        check(not malformed and not expert, "tshark: " + line)
        if syndrome and int(syndrome, 0) == 0x60:
            nacks += 1
            check(int(length) == 62, "a NACK of another length than an ACK: " + line)
            check(
                0 < int(came, 0) - int(psn, 0) < 200,
                "it names no packet that came out of order: " + line,
            )
    check(nacks > 0, "no NACK in the capture")
else:
    print("no tshark: the captures are there, but nobody read them")
done()
