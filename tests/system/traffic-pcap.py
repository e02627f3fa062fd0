# --pcap: files for what was asked, and Wireshark reads them as RoCEv2 without a malformed frame.
import glob
import os
import shutil
import subprocess
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
done()
