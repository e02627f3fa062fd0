# HPCC's topology and flow files in, its fct file out.
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, near, run, stats, write

# Switches first, so that node numbers are not host numbers: 0 and 1 are leaves, 2 the spine, 3..6
# hosts.
topology = write(
    "topology.txt",
    (
        "7 3 6\n0 1 2\n0 3 100Gbps 1000ns 0\n0 4 100Gbps 1000ns 0\n1 5 100Gbps 1000ns 0\n1 6"
        " 100Gbps 1000ns 0\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0"
    ),
)
FLOWS = [(3, 5, 100, 1000000, 0), (4, 3, 200, 10, 0), (6, 3, 100, 40960, 0.001)]
flow_file = write("flow.txt", "3\n" + "".join("%d %d 3 %d %d %.6f\n" % f for f in FLOWS))
run("--topology=" + topology, "--flows=" + flow_file)
with open(folder("out/fct.txt")) as file:
    lines = [line.split() for line in file]
check(len(lines) == 3, "fct.txt has %d lines" % len(lines))
by_source = {line[0]: line for line in lines}
rows = {row["flow"]: row for row in flows()}
for number, (src, dst, dport, size, start) in enumerate(FLOWS):
    line = by_source["%08x" % (0x0B000001 + (src << 8))]
    row = rows[str(number)]
    check(line[1] == "%08x" % (0x0B000001 + (dst << 8)), "dip: %s" % line)
    check(int(line[2]) >= 0xC000 and int(line[3]) == dport, "ports: %s" % line)
    check(int(line[4]) == size == int(row["bytes"]), "bytes: %s" % line)
    check(
        int(line[5]) == round(start * 1e9) == round(float(row["start_us"]) * 1e3),
        "start: %s" % line,
    )
    check(
        int(line[6]) == int(float(row["fct_us"]) * 1e3 + 0.5),
        "fct: %s, flows.csv: %s" % (line, row),
    )
    check(int(line[7]) == int(float(row["ideal_fct_us"]) * 1e3 + 0.5), "standalone fct: %s" % line)
    check(int(line[6]) <= 1.02 * int(line[7]), "slow on a network that is nearly idle: %s" % line)
check(near(stats()["fct_slowdown"]["max"], 1, 0.02), "slowdown")
done()
