# SPDX-License-Identifier: GPL-2.0-only
# Which of several ways a frame takes: by flow, around queues, or each packet on its own, chosen by
# the name of a load balancer.
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, links, near, run, stats

SWITCH, IB_SWITCH = "--ns3::RdmaSwitch::LoadBalancer=", "--ns3::IbSwitch::LoadBalancer="
LINE = (
    "--topology=leaf-spine",
    "--hosts=16",
    "--leaves=2",
    "--spines=4",
    "--pattern=permutation",
    "--offset=8",
    "--bytes=1MB",
    "--cc=none",
    "--report=0",
    "--timeline=0",
)
# Two leaves of eight servers, four spines, all at 100 Gb/s: the uplinks carry eight servers' data
# at half its speed.
PACKETS = 16 * 245


def content(name, out):
    with open(os.path.join(folder(out), name), "rb") as file:
        return file.read()


def uplinks(out):
    """Bytes that leaf 0 sent to each spine, as links.csv has them."""
    sums, interval, end = (
        {},
        stats(out)["links_csv"]["interval_us"],
        stats(out)["simulated_time_us"],
    )
    for row in links(out):
        if row["from"] == "leaf-0" and row["to"].startswith("spine"):
            time = float(row["time_us"])
            covered = interval if time % interval == 0 else time % interval
            sums[row["link"]] = sums.get(row["link"], 0) + float(
                row["utilization"]
            ) * covered * float(row["rate_gbps"])
    return sums


run(*LINE, out="ecmp")
run(*LINE, SWITCH + "ns3::EcmpLoadBalancer", out="ecmp-by-type")
check(
    content("flows.csv", "ecmp") == content("flows.csv", "ecmp-by-type"),
    "ECMP is what there is without a word",
)

# Spraying, in turns: the same bytes on every uplink, but for the ACKs; by chance within 3 of 44 (4
# x 245 x 2 packets, a quarter each: standard deviation sqrt(1960 x 3 / 16) = 19 of 490, 4%).
for order, tolerance in (("round-robin", 0.01), ("random", 0.16)):
    out = "spray-" + order
    spray = (
        SWITCH + "spray",
        "--ns3::SprayLoadBalancer::Order=" + order,
        "--loss-recovery=out-of-order",
    )
    run(*LINE, *spray, out=out)
    split = uplinks(out)
    mean = sum(split.values()) / 4
    check(
        len(split) == 4 and all(near(part, mean, tolerance) for part in split.values()),
        "%s: %s" % (order, split),
    )
    s = stats(out)
    check(
        s["data_packets"] == PACKETS and s["retransmitted_packets"] == 0 and s["naks"] == 0,
        order + ": something goes again",
    )
    check(
        s["fct_us"]["max"] < stats("ecmp")["fct_us"]["max"],
        order + ": no faster than hashes that meet",
    )
    run(*LINE, *spray, out=out + "-again")
    check(
        content("flows.csv", out) == content("flows.csv", out + "-again"),
        order + ": not the same again",
    )

# Packets that are overtaken look lost to go-back-N.
run(*LINE, SWITCH + "spray", out="go-back-n")
check(stats("go-back-n")["retransmitted_packets"] > 0, "go-back-N goes back at nothing")
check(sum(stats("go-back-n")["drops"].values()) == 0, "nothing was lost")

# --adaptive-routing is a load balancer by its name; on Ethernet the same one goes around queues.
# The tables give three spines 3, 3 and 2 of the 8 servers.
IB = (*(word.replace("--spines=4", "--spines=3") for word in LINE), "--fabric=ib", "--nic=EDR")
run(*IB, "--adaptive-routing", out="option")
run(*IB, "--loss-recovery=out-of-order", IB_SWITCH + "adaptive", out="attribute")
check(
    content("flows.csv", "option") == content("flows.csv", "attribute"),
    "adaptive routing by two names",
)
check(stats("option")["credits"]["rerouted_packets"] > 0, "nothing goes around")
run(*LINE, SWITCH + "adaptive", "--loss-recovery=out-of-order", out="adaptive")
check(
    stats("adaptive")["fct_us"]["max"] < stats("ecmp")["fct_us"]["max"],
    "adaptive: no faster than hashes that meet",
)
run(*IB, IB_SWITCH + "spray", "--loss-recovery=out-of-order", out="ib-spray")
check(
    stats("ib-spray")["data_packets"] == PACKETS
    and stats("ib-spray")["retransmitted_packets"] == 0,
    "InfiniBand, sprayed",
)

# An unknown name lists the known ones; InfiniBand can do without.
for words, where in (
    ((*LINE, SWITCH + "sprai"), "ns3::RdmaSwitch::LoadBalancer: 'sprai'"),
    ((*IB, IB_SWITCH + "sprai"), "ns3::IbSwitch::LoadBalancer: 'sprai'"),
    ((*LINE, SWITCH), "ns3::RdmaSwitch::LoadBalancer: ''"),
):
    error = run(*words, status=2, out="refused").stderr
    check(
        where + " is unknown; allowed: adaptive, conga, conweave, drill, ecmp, flowlet, spray,"
        " ugal, valiant, wcmp"
        in error,
        error,
    )
run(*IB, IB_SWITCH, out="table")
done()
