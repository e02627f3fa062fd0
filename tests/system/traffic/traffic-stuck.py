# A run that cannot go on ends, names what is stuck, and has status 3: a PFC deadlock, and queue
# pairs that give up.
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, run, stats, write

# Ten hosts around five switches; each sends two switches on, the short way, so all go round the
# same way. Every link of the ring is wanted twice; buffers fill, each switch holds up the one
# before it, and nothing moves any more.
n = 5
links = [(2 * i + j, 2 * n + i) for i in range(n) for j in (0, 1)] + [
    (2 * n + i, 2 * n + (i + 1) % n) for i in range(n)
]
ring = write(
    "ring.txt",
    "%d %d %d\n%s\n" % (3 * n, n, len(links), " ".join(str(2 * n + i) for i in range(n)))
    + "".join("%d %d 100Gbps 1us 0\n" % link for link in links),
)
around = [(2 * i + j, 2 * ((i + 2) % n) + j) for i in range(n) for j in (0, 1)]
ring_flows = write(
    "ring-flows.txt", "%d\n" % len(around) + "".join("%d %d 3 100 20000000 0\n" % f for f in around)
)
result = run(
    "--topology=" + ring, "--flows=" + ring_flows, "--cc=none", "--ecn=0", status=3, out="ring"
)
for word in (
    "stuck",
    "10 queue pairs with outstanding bytes",
    "PFC deadlock",
    "switch-10->switch-11",
):
    check(word in result.stderr, "the deadlock's message lacks '%s':\n%s" % (word, result.stderr))
s = stats("ring")
check(
    not s["completed"] and not s["interrupted"] and "PFC deadlock" in s["message"],
    "stats.json of a deadlock",
)
check(flows("ring") == [], "flows arrived in a deadlock")
# Without PFC the same frames are dropped, and everything arrives.
run("--topology=" + ring, "--flows=" + ring_flows, "--pfc=0", out="ring")
check(len(flows("ring")) == 10, "flows are missing without PFC")

# Every bit of a thousand is wrong: no frame survives. 4.096 us x 2^4, and 8 time-outs in a row.
result = run(
    "--topology=single-switch",
    "--hosts=3",
    "--pattern=incast",
    "--fan-in=2",
    "--bytes=1MB",
    "--bit-error-rate=0.001",
    "--timeout-exponent=4",
    status=3,
    out="errors",
)
s = stats("errors")
check(
    s["failed_queue_pairs"] == 2 and s["failed_requests"] == 2 and s["timeouts"] == 16,
    "queue pairs: %s" % s,
)
check(
    s["drops"]["corrupted"] > 0 and s["share_done"] == 0 and not s["completed"],
    "stats.json of failed queue pairs",
)
check(
    "2 failed queue pairs" in result.stderr and "server-1 to server-0" in result.stderr,
    result.stderr,
)
with open(folder("errors/network_events.log")) as file:
    check(
        file.read().count(" qp_error ") == 2 + 1,
        "network_events.log does not name the failed queue pairs",
    )
done()
