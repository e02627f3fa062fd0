# InfiniBand from outside: what the command line, the terminal and stats.json say of it.
import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, run, stats

shape = ("--topology=single-switch", "--hosts=9", "--pattern=incast", "--fan-in=8", "--bytes=1MB")

# 8 x 1 MB into one port. 245 packets a flow: 28 B of headers and delimiters each, RETH 16 once; 1
# MB = 244 x 4096 + 576, so 245 x 28 + 16 + 10^6 B a flow on the line, 80 ps each at EDR. The last
# byte can be there no earlier than all of it has passed the last link, and comes not much later:
# the port never runs dry (1 us links: 131,072 B of buffer are 10 us of the line, the round trip is
# 2.4 us).
run(*shape, "--fabric=ib", out="ib")
s = stats("ib")
line = 8 * (245 * 28 + 16 + 1000000) * 80e-6
check(
    line < s["fct_us"]["max"] < 1.01 * line,
    "incast took %g us, not %g" % (s["fct_us"]["max"], line),
)
check(
    s["data_packets"] == 8 * 245 and s["retransmitted_packets"] == 0,
    "packets: %d" % s["data_packets"],
)
check(
    sum(s["drops"].values()) == 0 and s["pfc_pauses"] == 0 and s["ecn_marks"] == 0,
    "drops, pauses or marks",
)
credits = s["credits"]
check(
    credits["stalls"] > 0 and credits["stall_time_us"] > 0 and credits["blocks_lost"] == 0,
    str(credits),
)
# Each of the 8 senders' 245 packets take 65 blocks and the last 10: 15,870 of the buffer's 2,048,
# told by quarters.
least = 8 * (15870 - 2048) // (512 + 65)
check(
    credits["flow_control_packets"] >= least,
    "%d flow-control packets, not %d" % (credits["flow_control_packets"], least),
)

# The configuration as run is a scenario that gives the same run.
options = (
    "--fabric=ib",
    "--nic=HDR",
    "--vls=2",
    "--vl-high=1:64",
    "--vl-low=0:64",
    "--vl-high-limit=16",
    "--lmc=1",
    "--cc=ib-cc",
    "--fecn-threshold=12",
    "--adaptive-routing",
    "--static-rate",
    "--vl-buffer=32KiB",
    "--ib-routing=updn",
)
run(*shape, *options, out="first")
first = stats("first")
with open(folder("again.json"), "w") as file:
    json.dump(first["configuration"], file)
run("--scenario=" + folder("again.json"), out="second")
second = stats("second")
for key in ("fct_us", "credits", "ecn_marks", "cnps", "events", "frame_hops"):
    check(first[key] == second[key], "%s: %s, then %s" % (key, first[key], second[key]))
check(
    first["ecn_marks"] > 0 and first["cnps"] == first["ecn_marks"],
    "each mark is answered by a CN packet",
)

# The same with RoCE and as much buffer: pauses hold the senders back.
run(*shape, "--fabric=roce", "--cc=none", "--buffer=200kB", out="roce")
check(
    "credits" not in stats("roce") and stats("roce")["pfc_pauses"] > 0,
    "RoCE has pauses, not credits",
)
done()
