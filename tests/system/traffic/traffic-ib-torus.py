# A ring of switches in InfiniBand: where the tables can deadlock they do, and it is said in terms
# of credits; with tables that cannot, everything arrives. Tables are written as OpenSM does, and
# read.
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, run, stats

# torus 5: two servers at each switch; each sends two switches on, the short way, so all go round
# the same way.
n = 5
ring = ("--topology=torus", "--torus=5", "--hosts-per-switch=2", "--fabric=ib", "--vl-buffer=16KiB")
with open(folder("two.txt"), "w") as file:
    file.write("%d\n" % (2 * n))
    for i in range(2 * n):
        file.write("%d %d 0 100 4000000 0\n" % (i, (i + 4) % (2 * n)))
two = "--flows=" + folder("two.txt")


def text(out, name):
    with open(os.path.join(folder(out), name)) as file:
        return file.read()


result = run(*ring, two, "--ib-routing=minhop", status=3, out="stuck")
cycle = ["sw-%d->sw-%d" % (i, (i + 1) % n) for i in range(n)]
named = [" waits for ".join(cycle[i:] + cycle[:i]) for i in range(n)]  # from whichever link on
message = stats("stuck")["message"]
check(
    "credit deadlock" in message and any(one in message for one in named), "stats.json: " + message
)
check("links without credits" in message, message)
check("can deadlock" in result.stderr, "nothing said beforehand: " + result.stderr)
for where in (message, result.stderr, text("stuck", "network_events.log")):
    check("PFC" not in where and "priority" not in where, "not InfiniBand's words: " + where[:2000])
check(flows("stuck") == [], "flows arrived in a deadlock")

# 4 flows of 4 MB on each link of the ring. The check of the tables has nothing to say.
for routing in (
    ("--ib-routing=torus", "--vls=2"),
    ("--ib-routing=dfsssp", "--vls=2"),
    ("--ib-routing=updn",),
    (),
):
    result = run(*ring, two, *routing, "--ib-dump", out="moves")
    check(len(flows("moves")) == 2 * n, "all arrive with %s" % (routing,))
    check("can deadlock" not in result.stderr, result.stderr)
# Without --ib-routing, torus is tried and needs two lanes: up/down it is, and said so.
check("routed by updn: torus cannot route" in result.stderr, result.stderr)
plain = flows("moves")
tables = text("moves", "opensm-lfts.dump")
check(
    tables.count("Unicast lids") == n and tables.count("lids dumped") == n,
    "a block for each switch",
)
check(tables.count("'server-3'") == n, "an entry for each server in each")
check("Switch 0x" in text("moves", "opensm-sl2vl.dump"), "tables of virtual lanes")

check("opensm-lfts.dump" in result.stdout, "not among the files: " + result.stdout)

# Read back: the same tables, the same times.
path = folder("tables.txt")
with open(path, "w") as file:
    file.write(tables)
run(*ring, two, "--ib-lfts=" + path, "--ib-dump", out="read")
check(text("read", "opensm-lfts.dump") == tables, "other tables")
check(flows("read") == plain, "other times")
# From the run's own folder: not removed before it is read, nor after.
own = os.path.join(folder("read"), "opensm-lfts.dump")
run(*ring, two, "--ib-lfts=" + own, out="read")
check(text("read", "opensm-lfts.dump") == tables, "the input is gone")
run(*ring, two, "--ib-routing=updn", out="read")
check(not os.path.exists(own), "what an earlier run wrote is still there")

# Errors name the option, the file and the line.
lines = tables.splitlines(True)
broken = folder("broken.txt")
with open(broken, "w") as file:
    file.writelines(lines[:3] + ["0x0003 099 # Channel Adapter\n"] + lines[4:])
result = run(*ring, two, "--ib-lfts=" + broken, status=2, out="bad")
check("--ib-lfts=%s:4: " % broken in result.stderr and "no port 99" in result.stderr, result.stderr)
result = run(*ring, two, "--ib-lfts=" + folder("nothing.txt"), status=2, out=None)
check("--ib-lfts" in result.stderr and "cannot be read" in result.stderr, result.stderr)
result = run(*ring, two, "--ib-lfts=" + path, "--ib-routing=updn", status=2, out=None)
check("--ib-lfts" in result.stderr and "--ib-routing" in result.stderr, result.stderr)
result = run(*ring, two, "--ib-routing=torus", status=2, out="bad")
check("--ib-routing=torus: " in result.stderr and "2 virtual lanes" in result.stderr, result.stderr)
for option in ("--ib-dump", "--ib-lfts=" + path):
    result = run("--topology=torus", "--torus=5", option, status=2, out=None)
    check("--fabric=ib" in result.stderr, result.stderr)

# The family, with Ethernet: a mesh of three dimensions; what is wrong with sizes.
run(
    "--topology=torus",
    "--torus=3x2x2",
    "--no-wrap",
    "--pattern=all-to-all",
    "--bytes=20kB",
    out="mesh",
)
check(
    stats("mesh")["configuration"]["network"]["torus"] == "3x2x2",
    stats("mesh")["configuration"]["network"],
)
check(len(flows("mesh")) == 12 * 11, "all to all")
for sizes in ("4x1", "four", "4x"):
    result = run("--topology=torus", "--torus=" + sizes, status=2, out=None)
    check("--torus=" + sizes in result.stderr and "4x4x2" in result.stderr, result.stderr)
result = run(
    "--topology=torus", "--torus=4x4", "--hosts=40", "--hosts-per-switch=2", status=2, out=None
)
check("--hosts-per-switch=2" in result.stderr and "3 a switch" in result.stderr, result.stderr)
result = run("--torus=4x4", status=2, out=None)
check("--torus" in result.stderr and "belongs to torus" in result.stderr, result.stderr)
done()
