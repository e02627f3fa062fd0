# A frame that takes its time on a slow or a long link is no deadlock.
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, links, run, stats, write

# 20 kB over a link of 1 kb/s behind one of 100 Gb/s: each frame takes half a minute, in which no
# other is sent. Time-outs fill the switch with retransmissions, so it pauses the sender again and
# again meanwhile.
message = write("flow.txt", "1\n0 1 3 100 20000 0\n")
slow = write("slow.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 1kbps 1us 0\n")
run("--topology=" + slow, "--flows=" + message, out="slow")
s = stats("slow")
check(s["completed"] and s["flows"]["arrived"] == 1, "a link of 1 kb/s: %s" % s.get("message"))
check(s["pfc_pauses"] > 0, "nothing was paused: another test than was meant")
# Five packets of 4096 B at most, 82 B around each, and a RETH of 16 B.
wire = 20000 + 5 * 82 + 16
(flow,) = flows("slow")
check(
    abs(float(flow["fct_us"]) / (wire * 8e3) - 1) < 0.01, "completion time %s us" % flow["fct_us"]
)

# The same without retransmissions: links.csv is written all the time, although for half a minute
# nothing begins to be sent; its shares add up.
run("--topology=" + slow, "--flows=" + message, "--timeout-exponent=26", out="calm")
s = stats("calm")
check(
    s["completed"] and s["retransmitted_packets"] == 0,
    "a link of 1 kb/s, long time-outs: %s" % s.get("message"),
)
rows = [row for row in links("calm") if row["link"] == "switch-2->server-1"]
busy = sum(float(row["utilization"]) for row in rows) * s["links_csv"]["interval_us"]
check(abs(busy / (wire * 8e3) - 1) < 0.02, "links.csv: busy for %g us of %g" % (busy, wire * 8e3))

# To the Moon: 1.3 s there and back again, twice.
moon = write("moon.txt", "3 1 2\n2\n0 2 100Gbps 1300ms 0\n1 2 100Gbps 1300ms 0\n")
run("--topology=" + moon, "--flows=" + message, "--pfc=0", "--timeout-exponent=22", out="moon")
s = stats("moon")
check(
    s["completed"] and abs(s["flows"]["last_arrival_us"] / 2.6e6 - 1) < 0.001,
    "a long link: %s" % s["flows"],
)
done()
