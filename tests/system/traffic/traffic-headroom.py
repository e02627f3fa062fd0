# Headroom where serialization times are cut to whole ns: no lossless frame is dropped, although
# links carry more than their rate.
#
# --compat=hpcc has frames of 1048 B, which at 400 Gb/s take 20 ns instead of 20.96: 52.4 B/ns.
# After XOFF what a round trip of 20 us holds still arrives at a port, 1,048,000 B, of which a 40th
# leaves meanwhile, as 40 ports share the one to the receiver: 1,021,800 B. Headroom for 50 B/ns
# would be 1,003,289 B (2 x 10 us, 3 frames, a PFC frame).
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, run, stats

NETWORK = [
    "--compat=hpcc",
    "--nic=400GbE",
    "--topology=single-switch",
    "--hosts=41",
    "--pattern=incast",
    "--fan-in=40",
    "--cc=none",
    "--window=0B",
    "--link-delay=10us",
    "--no-report",
]
run(*NETWORK, "--bytes=2MB", "--buffer=300kB")
s = stats()
check(
    s["configuration"]["fabric"]["time_unit"] == "1ns",
    "times are not cut: %s" % s["configuration"]["fabric"],
)
check(s["pfc_pauses"] > 0, "no pause, so no headroom was needed")
check(sum(s["drops"].values()) == 0, "drops: %s" % s["drops"])
check(s["retransmitted_packets"] == 0, "packets were sent again")

# The check before the run and the switch agree: the least buffer that the one allows is enough for
# the other. 41 ports of 4 x 100 Gb/s have 1,048,000 + 1 + 3 x 1068 + 84 B of headroom and a minimum
# of 4,096 B each, so 263,846 B per 100 Gb/s are needed, and 251,846 as if links carried their rate.
refused = run(*NETWORK, "--bytes=10kB", "--buffer=255kB", status=2, out=None)
least = re.search(r"--buffer=(\d+)kB or more", refused.stderr)
check(least and 264 <= int(least[1]) <= 270, "least buffer: %s" % refused.stderr)
run(*NETWORK, "--bytes=10kB", "--buffer=%skB" % least[1])
done()
