# --pcap-snaplen and tshark: the length that cuts nothing has nothing malformed, a shorter one is
# said to have in advance, and only data packets that are cut are shown so; their fields are read
# all the same. Both fabrics, both formats.
import glob
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, run

if not shutil.which("tshark"):
    print("skipped: tshark is not installed")
    raise SystemExit(77)

SMALL = [
    "--topology=single-switch",
    "--hosts=2",
    "--bytes=20kB",
    "--pcap=all",
    "--no-report",
    "--no-timeline",
]
WORDS = "Invalid Packet Length from LRH"


def frames(out):
    """(length, captured length, opcode, PSN, what tshark says) of every frame with a BTH"""
    (name,) = glob.glob(folder(out) + "/capture.pcapng") or glob.glob(
        folder(out) + "/server-0-0.pcap"
    )
    fields = [
        "frame.len",
        "frame.cap_len",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "_ws.col.Info",
    ]
    output = subprocess.run(
        [
            "tshark",
            "-r",
            name,
            "-Y",
            "infiniband.bth",
            "-T",
            "fields",
            *sum((["-e", f] for f in fields), []),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    return [(int(r[0]), int(r[1]), int(r[2]), int(r[3]), r[4]) for r in rows]


for fabric, whole in (("roce", 4096 + 78), ("ib", 4096 + 46)):
    for form in ("pcap", "pcapng"):
        options = [*SMALL, "--fabric=" + fabric, "--pcap-format=" + form]
        result = run(*options, out="all")
        check("--pcap-snaplen" not in result.stderr, "a note without a cut:\n" + result.stderr)
        complete = frames("all")
        check(
            len(complete) >= 10 and not any(WORDS in f[4] for f in complete),
            "whole frames: %s" % complete[:3],
        )

        # The length that the note advises.
        result = run(*options, "--pcap-snaplen=%d" % whole, out="whole")
        check(
            "--pcap-snaplen" not in result.stderr,
            "a note of a length that cuts nothing:\n" + result.stderr,
        )
        check(frames("whole") == complete, "a length that cuts nothing changes frames")

        result = run(*options, "--pcap-snaplen=96", out="cut")
        check(
            WORDS in result.stderr and "--pcap-snaplen=%d on" % whole in result.stderr,
            "no note:\n" + result.stderr,
        )
        cut = frames("cut")
        check(
            [(f[0], f[2], f[3]) for f in cut] == [(f[0], f[2], f[3]) for f in complete],
            "lengths, opcodes, PSNs of cut frames",
        )
        for length, captured, opcode, _, info in cut:
            check(captured == min(length, 96), "captured %d of %d B" % (captured, length))
            check((WORDS in info) == (length > 96), "%d B, opcode %d: %s" % (length, opcode, info))

# A dry run says so, too, and the help.
result = run(*SMALL, "--pcap-snaplen=96", "--dry-run", out="dry")
check(WORDS in result.stderr, "--dry-run:\n" + result.stderr)
check("malformed" in run("--help", out=None).stdout, "--help does not say it")
done()
