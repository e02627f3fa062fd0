# Limits of NICs as attributes of a run: a bus bounds goodput, a slow receiver pauses its switch or
# drops, counters in stats.json; off, nothing of them is to be seen.
import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, near, run, stats

ONE = [
    "--topology=single-switch",
    "--hosts=2",
    "--pattern=permutation",
    "--bytes=4096000",
    "--cc=none",
]
INCAST = [
    "--topology=single-switch",
    "--hosts=5",
    "--pattern=incast",
    "--fan-in=4",
    "--bytes=1MB",
    "--cc=none",
]

run(*ONE, out="off")
s = stats("off")
check(
    "nic_limits" not in s and "nic_receive_buffer" not in s["drops"], "limits that nobody asked for"
)
default = flows("off")

# 1,000 full packets cross a bus of 50 Gb/s in 655.36 us, after the first one's way through sender
# (0.65536 us), two links (335.52 ns each), two cables (1 us each) and the switch (500 ns).
run(*ONE, "--ns3::RdmaNic::PcieBandwidth=50Gbps", out="bus")
for row in flows("bus"):
    check(
        abs(float(row["fct_us"]) - (655.36 + 0.65536 + 0.67104 + 2.5)) < 1e-3,
        "bus of 50 Gb/s: " + str(row),
    )
s = stats("bus")
check(
    s["nic_limits"] == {"qp_cache_misses": 0, "pauses": 0}
    and s["drops"]["nic_receive_buffer"] == 0,
    "counters",
)
check(
    "50Gbps" in json.dumps(s["configuration"]),
    "the attribute is not in the configuration: %s" % s["configuration"],
)

# What ran reads back as a scenario: the same flows.
with open(folder("again.json"), "w") as file:
    json.dump(s["configuration"], file)
run("--scenario=" + folder("again.json"), out="again")
check(flows("again") == flows("bus"), "the configuration does not read back")

# A limit that does not bind changes nothing.
run(*ONE, "--ns3::RdmaNic::MessageRate=1000000000", out="wide")
check(flows("wide") == default, "a message rate of 1e9 changes the times of two messages")

# The slow receiver: its bus takes 4 MB in 1,280 us, whoever waits where.
slow = ["--ns3::RdmaNic::PcieBandwidth=25Gbps", "--ns3::RdmaNic::PcieReceiveBuffer=100000"]
run(*INCAST, *slow, out="slow")
s = stats("slow")
check(s["completed"] and sum(s["drops"].values()) == 0, "lossless: %s" % s["drops"])
check(s["nic_limits"]["pauses"] > 10, "the receiver pauses its switch")
check(near(s["flows"]["last_arrival_us"], 4e6 * 8 / 25e3, 0.01), "4 MB at 25 Gb/s: %s" % s["flows"])
check(s["links"][0]["utilization"] > 0, "links")

run(*INCAST, *slow, "--pfc=0", out="lossy")
s = stats("lossy")
check(s["completed"] and s["nic_limits"]["pauses"] == 0, "no pauses without PFC")
check(
    s["drops"]["nic_receive_buffer"] > 0 and s["retransmitted_packets"] > 0,
    "drops, repaired: %s" % s["drops"],
)
with open(folder("lossy/network_events.log")) as file:
    check("nic_receive_buffer" in file.read(), "the event log does not tell")

# Each of four queue pairs of one packet after the other over one context.
run(*INCAST, "--ns3::RdmaNic::QpCacheEntries=1", out="cache")
check(
    stats("cache")["nic_limits"]["qp_cache_misses"] > 500, "four senders in turn over one context"
)

# Errors say what is allowed.
error = run(*INCAST, *slow[:1], "--ns3::RdmaNic::PcieReceiveBuffer=1000", status=2).stderr
check("PcieReceiveBuffer" in error and "1000 B" in error and "at least 46035" in error, error)
error = run(*INCAST, "--ns3::RdmaNic::PcieBandwidth=fast", status=2).stderr
check("PcieBandwidth" in error and "fast" in error, error)
done()
