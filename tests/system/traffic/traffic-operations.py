# SEND and READ (--operation): on an idle path the closed form; over lossy, congested links all
# bytes arrive, with either loss recovery, and what a capture says equals what stats.json says.
# ctest: TIMEOUT 900
import csv
import shutil
import sys

sys.path.append(sys.path[0] + "/../shared")
from _captures import FIELDS, Counts, check_icrc, clean, tshark
from _traffic import LOSSY, check, done, folder, run, stats


def flows(out):
    with open(folder(out + "/flows.csv"), encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- one flow over one switch, by hand: 5,000 B are two packets, 4,096 and 904 B of payload, 82 B
# more each on the wire

LINK = 1.0  # us
FIRST, LAST, GBPS = 4096 + 82, 904 + 82, 100


def path(*frames):
    """The first frame crosses two links, the others follow; all smaller than the first."""
    return (2 * frames[0] + sum(frames[1:])) * 8e-3 / GBPS + 2 * LINK + 0.5


EXPECTED = {
    "write": path(FIRST + 16, LAST),  # RETH
    "send": path(FIRST, LAST),
    "read": path(98) + path(FIRST + 4, LAST + 4),  # the request, 62 + 16 + 20; AETH
}
for operation, by_hand in EXPECTED.items():
    run(
        "--topology=single-switch",
        "--hosts=2",
        "--pattern=incast",
        "--fan-in=1",
        "--bytes=5000",
        "--operation=" + operation,
        out=operation,
    )
    (flow,) = flows(operation)
    check(
        abs(float(flow["fct_us"]) - by_hand) < 1e-6,
        "%s: %s us, by hand %f" % (operation, flow["fct_us"], by_hand),
    )
    check(flow["ideal_fct_us"] == flow["fct_us"], "the ideal is another: " + flow["ideal_fct_us"])
    check(
        (flow["src"], flow["dst"]) == ("server-1", "server-0"),
        "bytes go from 1 to 0, whoever posts: %s" % flow,
    )
    check(stats(operation)["read_requests"] == (operation == "read"), "READ requests")

# ---- lossy and congested

for operation in ("send", "read"):
    for recovery in ("go-back-n", "selective-repeat"):
        what = operation + ", " + recovery
        out = operation + recovery
        run(
            *LOSSY,
            "--operation=" + operation,
            "--loss-recovery=" + recovery,
            "--pcap=all",
            "--pcap-format=pcapng",
            out=out
        )
        told = stats(out)
        check(
            told["flows"]["arrived"] == 8 and told["message_bytes"] == 4 * 1999999,
            what + ": all bytes: %s" % told["flows"],
        )
        check(len(flows(out)) == 8, what + ": a row a flow")
        for key in ("cnps", "retransmitted_packets", "pfc_pauses", "ecn_marks"):
            check(told[key] > 0, what + ": the run has no " + key)
        check(told["drops"]["corrupted"] > 0 and told["failed_requests"] == 0, what)
        if operation == "read":
            check(told["read_requests"] > 8, "no READ was repeated")
        if not shutil.which("tshark"):
            print("tshark is not installed: the captures are not read")
            continue
        capture = folder(out + "/capture.pcapng")
        clean(capture, check_icrc(capture))
        rows = tshark(
            capture,
            FIELDS,
            "-Y",
            (
                'frame.packet_flags_direction == 2 && frame.interface_name matches "^server-" &&'
                " infiniband.bth"
            ),
        )
        counts = Counts(rows)
        counts.compare(told, what)
        codes = {0, 1, 2} if operation == "send" else {12, 13, 14, 15}
        check(
            codes <= set(counts.opcodes) and not set(counts.opcodes) & {6, 7, 8, 10},
            "opcodes: %s" % counts.opcodes,
        )
done()
