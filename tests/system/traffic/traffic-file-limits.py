# Topology files obey the same limits as options: what is beyond is one clear error and status 2, at
# once and on both fabrics; the limits themselves run.
import json
import resource
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, run, stats


def hpcc(name, rate="100Gbps", delay="1us", loss="0"):
    with open(folder(name + ".file"), "w") as file:
        file.write("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 %s %s %s\n" % (rate, delay, loss))
    return folder(name + ".file")


def graph(name, rate="100Gbps", delay="1us", ber=0):
    nodes = [{"name": n, "kind": k} for n, k in (("a", "host"), ("b", "host"), ("s", "switch"))]
    links = [
        {"from": "a", "to": "s"},
        {"from": "s", "to": "b", "rate": rate, "delay": delay, "bit_error_rate": ber},
    ]
    with open(folder(name + ".file"), "w") as file:
        json.dump(
            {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes, "links": links}, file
        )
    return folder(name + ".file")


RATES = "1kbps to 1000Tbps"
BEYOND = [
    ({"rate": "2147483648Gbps"}, "2147483648Gbps", RATES),
    ({"rate": "1001Tbps"}, "1001Tbps", RATES),
    ({"rate": "999bps"}, "999bps", RATES),
    ({"rate": "0bps"}, "0bps", RATES),
    ({"delay": "11s"}, "11s", "10s"),
    ({"delay": "9e18ps"}, "9e18ps", "10s"),
]
for fabric in ("roce", "ib"):
    for write in (hpcc, graph):
        for values, shown, allowed in BEYOND:
            for more in ([], ["--dry-run"]):
                result = run(
                    "--topology=" + write("bad", **values),
                    "--fabric=" + fabric,
                    "--pattern=incast",
                    "--fan-in=1",
                    "--bytes=10kB",
                    *more,
                    status=2,
                    timeout=20
                )
                lines = result.stderr.strip().splitlines()
                check(
                    len(lines) == 1 and shown in lines[0] and allowed in lines[0],
                    "%s %s:\n%s" % (write.__name__, values, result.stderr),
                )
run("--topology=" + graph("bad", ber=0.5), "--pattern=incast", "--fan-in=1", status=2)
run("--topology=" + hpcc("bad", loss="0.99999999999"), "--pattern=incast", "--fan-in=1", status=2)
# As options.
for option in (
    "--fabric-rate=1001Tbps",
    "--fabric-rate=999bps",
    "--link-delay=11s",
    "--bit-error-rate=0.0011",
):
    result = run(option, "--topology=leaf-spine", "--hosts=4", status=2)
    check(option in result.stderr, result.stderr)

# The fastest link there may be, on both fabrics; and no memory to speak of.
for fabric in ("roce", "ib"):
    for write in (hpcc, graph):
        run(
            "--topology=" + write("fast", rate="1000Tbps"),
            "--fabric=" + fabric,
            "--pattern=incast",
            "--fan-in=1",
            "--bytes=1MB",
            "--no-report",
            out="fast",
            timeout=20,
        )
        check(stats("fast")["flows"]["arrived"] == 1, "a link of 1000 Tb/s")
check(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 500000, "memory")
done()
