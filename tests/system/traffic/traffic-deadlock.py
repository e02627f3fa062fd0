# A ring of five switches whose buffers depend on each other in a circle: the deadlock is found and
# named.
import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, run, stats

# Two hosts at each switch; each sends two switches on, the short way, so all go round the same way.
# Every link of the ring is wanted by four flows.
n = 5
nodes = [{"name": "h%d" % i, "kind": "host"} for i in range(2 * n)]
nodes += [{"name": "s%d" % i, "kind": "switch"} for i in range(n)]
links = [{"from": "h%d" % i, "to": "s%d" % (i // 2)} for i in range(2 * n)]
links += [{"from": "s%d" % i, "to": "s%d" % ((i + 1) % n)} for i in range(n)]
with open(folder("ring.json"), "w") as file:
    json.dump(
        {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes, "links": links}, file
    )


def write_flows(name, hops):
    with open(folder(name), "w") as file:
        file.write("%d\n" % (2 * n))
        for i in range(2 * n):
            file.write("%d %d 3 100 10000000 0\n" % (i, (i + 2 * hops) % (2 * n)))
    return "--flows=" + folder(name)


ring = "--topology=" + folder("ring.json")
two = write_flows("two.txt", 2)
arguments = (ring, two, "--cc=none", "--ecn=0")

result = run(*arguments, status=3)
cycle = ["s%d->s%d" % (i, (i + 1) % n) for i in range(n)]
named = [" waits for ".join(cycle[i:] + cycle[:i]) for i in range(n)]  # from whichever link on
check(any(text in result.stderr for text in named), "the cycle is not named:\n" + result.stderr)
message = stats()["message"]
check(
    "PFC deadlock" in message and any(text in message for text in named), "stats.json: " + message
)
check(flows() == [], "flows arrived in a deadlock")

# One switch on: the same load on every link, but no circle.
run(ring, write_flows("one.txt", 1), "--cc=none", "--ecn=0", out="plain")
check(
    len(flows("plain")) == 2 * n and sum(stats("plain")["drops"].values()) == 0,
    "without a circle everything arrives, nothing is lost",
)

# With a watchdog the fabric recovers: frames are dropped, go-back-N repairs it, every flow is
# finished.
watchdog = ("--pfc-watchdog=500us", "--timeout-exponent=10")
run(*arguments, *watchdog)
s = stats()
check(
    s["completed"] and len(flows()) == 2 * n,
    "flows are missing behind the watchdog: %d" % len(flows()),
)
check(s["drops"]["pfc_watchdog"] > 0, "the watchdog dropped nothing: %s" % s["drops"])
check(s["drops"]["headroom_full"] == 0 and s["failed_queue_pairs"] == 0, "drops: %s" % s["drops"])
# Forwarded in spite of the pause, what has no headroom downstream is dropped there.
run(*arguments, *watchdog, "--pfc-watchdog-action=forward")
s = stats()
check(
    s["completed"] and len(flows()) == 2 * n,
    "flows are missing behind the watchdog: %d" % len(flows()),
)
check(s["drops"]["pfc_watchdog"] == 0 and s["drops"]["headroom_full"] > 0, "drops: %s" % s["drops"])
# Where there is no storm it changes nothing.
run(ring, write_flows("one.txt", 1), "--cc=none", "--ecn=0", "--pfc-watchdog=10ms", out="watched")
check(flows("watched") == flows("plain"), "a watchdog without a storm changes completion times")
result = run("--pfc-watchdog=1ms", "--pfc-watchdog-action=dorp", status=2, out=None)
check("drop" in result.stderr and "forward" in result.stderr, result.stderr)
done()
