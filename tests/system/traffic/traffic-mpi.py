# Several processes (mpirun) give the results of one: completion times to the picosecond, every
# counter, every file.
# ctest: TIMEOUT 1200 PROCESSORS 2 FULL
#
# There are no ties to explain away: what happens at one picosecond is ordered by node and port
# (RdmaEventOrder), and patterns in which all hosts start at once on links of equal length are full
# of such moments.
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _mpi import ENVIRONMENT, MPIRUN
from _traffic import PROGRAM, SLOWER, check, done, flows, folder, run, stats

if not MPIRUN:
    print("skipped: no mpirun")
    sys.exit(77)

# Keys of stats.json that need not be the same.
COSTS = {"wall_s", "event_loop_s", "frame_hops_per_s", "peak_rss_bytes", "events", "ranks"} | {
    "threads",
    "parallel_share",
    "turns",
}


def mpirun(ranks, *arguments, status=0, out="out", program=PROGRAM, timeout=300 * SLOWER):
    where = [] if out is None else ["--out=" + folder(out)]
    process = subprocess.run(
        [MPIRUN, "-np", str(ranks), program, *arguments, *where],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=folder(),
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    check(
        process.returncode == status,
        "%d ranks, %s: status %d, not %d\n%s%s"
        % (ranks, " ".join(arguments), process.returncode, status, process.stdout, process.stderr),
    )
    return process


def text(out, name):
    with open(os.path.join(folder(out), name)) as file:
        return file.read()


def same(arguments, ranks, ordered_log=False):
    """The outputs of one process and of several."""
    one, several = "one", "several-%d" % ranks
    shutil.rmtree(folder(several), ignore_errors=True)
    process = mpirun(ranks, *arguments, out=several)
    check(sorted(os.listdir(folder(one))) == sorted(os.listdir(folder(several))), "other files")
    what = "%d ranks, %s: " % (ranks, " ".join(arguments))
    a, b = stats(one), stats(several)
    check(b["ranks"] == ranks, what + "stats.json says %s ranks" % b.get("ranks"))
    check("%d processes" % ranks in process.stdout, what + "the summary does not say so")
    for key in sorted((set(a) | set(b)) - COSTS - {"configuration"}):
        check(a.get(key) == b.get(key), what + "%s: %s, not %s" % (key, b.get(key), a.get(key)))
    also = {"fct.txt", "slowdown.csv", "opensm-lfts.dump", "opensm-sl2vl.dump"}
    for key in ["flows.csv", "links.csv"] + sorted(also & set(os.listdir(folder(one)))):
        check(text(one, key) == text(several, key), what + key + " differs")
    # The same lines; within one time, and of ECN bursts, they may be in another order.
    logs = [sorted(text(out, "network_events.log").splitlines()) for out in (one, several)]
    check(
        logs[0] == logs[1],
        what + "network_events.log has other lines: %s" % sorted(set(logs[0]) ^ set(logs[1]))[:6],
    )
    return process


# Of node windows ranks.py compares every byte, in fewer situations.
ENGINES = itertools.cycle(["windows", "ns3"])


def compare(*arguments, ranks=(2, 3)):
    shutil.rmtree(folder("one"), ignore_errors=True)
    run(*arguments, "--attribution=0", out="one")  # several processes have none
    for n in ranks:
        same([*arguments, "--engine=" + next(ENGINES)], n)
    return stats("one")


# ---- what must be the same

s = compare("--k=4", "--pattern=permutation", "--bytes=1MB", ranks=(2, 3, 4))
check(
    s["ecn_marks"] > 0 and s["cnps"] > 0 and s["pfc_pauses"] > 0, "the permutation is not congested"
)

# Incast of all on one, with small buffers: PFC, ECN, DCQCN.
s = compare(
    "--k=4",
    "--pattern=incast",
    "--fan-in=15",
    "--target=5",
    "--bytes=500kB",
    "--buffer=300kB",
    "--ecn-kmin=50kB",
    "--ecn-kmax=200kB",
)
check(s["ecn_marks"] > 0 and s["cnps"] > 0 and s["pfc_pauses"] > 0, "the incast is not congested")

s = compare("--k=4", "--pattern=all-to-all", "--bytes=60kB,1B,100000B")
check(s["messages"] == 240, "all-to-all has %d messages" % s["messages"])

# Lost frames: every port draws the bit errors that it draws in one process, in both kinds of loss
# recovery.
for recovery in ("go-back-n", "selective-repeat"):
    s = compare(
        "--k=4",
        "--pattern=random-permutation",
        "--bytes=500kB",
        "--bit-error-rate=4e-7",
        "--start-jitter=20us",
        "--loss-recovery=" + recovery,
        "--timeout-exponent=8",
        "--seed=11",
    )
    check(s["drops"]["corrupted"] > 0 and s["retransmitted_packets"] > 0, "nothing was lost")

# Lossy Ethernet: drops in the switches, time-outs.
s = compare(
    "--k=4",
    "--pattern=incast",
    "--fan-in=12",
    "--bytes=300kB",
    "--pfc=0",
    "--buffer=200kB",
    "--cc=none",
    "--timeout-exponent=6",
    ranks=(2,),
)
check(s["drops"]["threshold"] + s["drops"]["pool_full"] > 0, "no drops without PFC")

# One switch for all hosts: the links of hosts are cut. More ranks than switches, one host a rank.
compare(
    "--topology=single-switch", "--hosts=6", "--pattern=all-to-all", "--bytes=100kB", ranks=(2, 6)
)
# A rank whose hosts are done long before the others, and one that starts late.
compare("--k=4", "--pattern=permutation", "--bytes=1kB,1MB", "--start-jitter=200us", ranks=(2,))

# More than the 200,000 rows of links.csv: intervals of 100 us become longer, at other times in
# ranks than in one process.
compare("--k=12", "--pattern=permutation", "--offset=37", "--nic=10GbE", "--bytes=8MB", ranks=(2,))
first = text("one", "links.csv").splitlines()[1].split(",")
check(float(first[0]) > 100, "intervals are of %s us" % first[0])

# An end that is given, in the middle of everything.
s = compare("--k=4", "--pattern=permutation", "--bytes=10MB", "--stop-after=300us", ranks=(2,))
check(
    s["flows"]["arrived"] == 0 and s["completed"] and s["simulated_time_us"] == 300,
    "not stopped at 300 us",
)

# HPCC's files, with fct.txt.
with open(folder("flow.txt"), "w") as file:
    file.write(
        "4\n0 9 3 100 100000 0.000001\n9 0 3 200 5000 0.000002\n3 12 3 100 4096 0.000002\n15 2 3"
        " 100 1 0.00001\n"
    )
for more in (
    (),
    ("--completion=sender",),
    ("--compat=hpcc", "--completion=sender"),
    ("--compat=hpcc",),
):
    compare("--k=4", "--flows=" + folder("flow.txt"), *more)
    check(len(text("several-2", "fct.txt").splitlines()) == 4, "fct.txt is not whole")
compare(
    "--k=4",
    "--compat=hpcc",
    "--completion=sender",
    "--pattern=all-to-all",
    "--bytes=50kB",
    ranks=(3,),
)

# Other verbs than WRITE: what a READ asks for comes from the other rank.
for operation in ("send", "read"):
    compare(
        "--k=4",
        "--operation=" + operation,
        "--pattern=all-to-all",
        "--bytes=30kB,1B",
        "--bit-error-rate=1e-8",
        "--timeout-exponent=8",
        ranks=(2, 3),
    )
    compare("--k=4", "--flows=" + folder("flow.txt"), "--operation=" + operation, ranks=(2,))

# Congestion controls that go by what packets tell of their way: readings of switches and time
# stamps cross with them.
LEAF_SPINE = ["--topology=leaf-spine", "--leaves=4", "--hosts-per-leaf=4", "--spines=2"]
INCAST = ["--pattern=incast", "--fan-in=10", "--bytes=100kB"]
for cc in ("hpcc", "hpcc-pint", "powertcp", "theta-powertcp", "swift", "timely"):
    compare("--k=4", "--pattern=permutation", "--bytes=300kB", "--cc=" + cc)
    compare(*LEAF_SPINE, *INCAST, "--cc=" + cc, ranks=(2,))
# How long the receiving host held a packet back, too.
compare("--k=4", *INCAST, "--cc=swift", "--ns3::RdmaNic::PcieBandwidth=60Gbps", ranks=(2,))

# InfiniBand: credits, cut-through, the tables of the subnet manager.
IB = ["--fabric=ib", "--bytes=300kB"]
for shape in (["--k=4"], [*LEAF_SPINE, "--vls=2"]):
    s = compare(*shape, "--fabric=ib", *INCAST, ranks=(2, 3))
    check(s["credits"]["stalls"] > 0, "nobody waits for credits")
for more in (
    ["--vls=4", "--nic=HDR", "--ib-dump"],
    ["--vls=8", "--ib-switch=quantum", "--lmc=2"],
    ["--ib-switch=switchx", "--nic=FDR", "--ns3::IbSwitch::Latency=0ns", "--link-delay=1ns"],
    ["--ns3::IbSwitch::CutThrough=false", "--credit-block=256"],
    ["--cc=ib-cc", "--ns3::IbSwitch::CongestionThreshold=12", "--pattern=incast"],
    ["--cc=hpcc"],
    ["--fabric-rate=50Gbps", "--static-rate", "--ns3::RdmaNic::PcieBandwidth=60Gbps"],
    ["--operation=read", "--bit-error-rate=1e-8"],
):
    pattern = [] if "--pattern=incast" in more else ["--pattern=permutation"]
    compare("--k=4", *IB, *pattern, *more, ranks=(2, 3))
s = compare("--k=4", *IB, "--adaptive-routing", "--pattern=all-to-all", "--vls=2")
check(s["credits"]["rerouted_packets"] > 0, "no packet went another way")
s = compare("--k=4", *IB, "--bit-error-rate=1e-6", "--adaptive-routing")
check(s["credits"]["blocks_lost"] > 0, "no credits were lost")
compare(
    "--topology=torus",
    "--torus=5x3",
    "--fabric=ib",
    "--ib-routing=dfsssp",
    "--vls=4",
    "--pattern=permutation",
    "--bytes=100kB",
)
# What engine could not route, and that others are used, is told once.
process = mpirun(2, "--k=4", *IB, "--ib-routing=torus,updn")
check(process.stderr.count("note: ") == 1, "the note is not told once:\n" + process.stderr)

# Packets that come out of order call for copies, which are under way when the last flow ends: that
# is where several processes end too.
compare(
    "--k=4",
    "--pattern=permutation",
    "--bytes=300kB",
    "--loss-recovery=out-of-order",
    "--ns3::RdmaSwitch::LoadBalancer=spray",
)

# Traffic made from a load; flows of one pair on one queue pair. What needs one process says so.
POISSON = ["--k=4", "--pattern=poisson", "--sizes=fb-hadoop", "--duration=1ms"]
for use in ("per-flow", "per-pair"):
    s = compare(
        *POISSON, "--queue-pairs=" + use, "--queue-interval=0", "--rate-interval=0", ranks=(2,)
    )
    check(s["messages"] > 200 and s["slowdown_by_size"], "no traffic")
    check(text("one", "slowdown.csv") == text("several-2", "slowdown.csv"), "slowdown.csv differs")
process = mpirun(2, *POISSON, "--engine=ns3", status=2, out="refused")
check(
    "several processes" in process.stderr and "--queue-pairs" in process.stderr,
    "not refused: " + process.stderr,
)

# NICs with limits: what they keep back and pause is theirs.
compare(
    "--k=4",
    "--pattern=incast",
    "--fan-in=8",
    "--bytes=200kB",
    "--ns3::RdmaNic::PcieBandwidth=60Gbps",
    "--ns3::RdmaNic::QpCacheEntries=2",
    "--ns3::RdmaNic::MessageRate=1000000",
    ranks=(2,),
)

# mpirun with one process is a plain run.
mpirun(1, "--k=4", "--bytes=1MB", out="one")
check("ranks" not in stats("one"), "one process is no several ranks")

# ---- what must not hang

# Frames lost for ever: queue pairs fail in one rank, and the run ends with 3 and says whose they
# are.
lost = [
    "--k=4",
    "--pattern=permutation",
    "--bytes=1MB",
    "--bit-error-rate=0.001",
    "--timeout-exponent=4",
    "--retry-count=2",
]
run(*lost, out="one", status=3)
process = mpirun(2, *lost, out="several-2", status=3)
a, b = stats("one"), stats("several-2")
check(
    not b["completed"] and b["failed_queue_pairs"] == a["failed_queue_pairs"] == 16,
    "16 queue pairs fail",
)
check(a["flows"] == b["flows"], "failed otherwise: %s, not %s" % (b["flows"], a["flows"]))
check(
    a["simulated_time_us"] == b["simulated_time_us"] and a["timeouts"] == b["timeouts"],
    "failed at another time",
)
check(
    process.stderr.count("failed queue pairs") == 2, "each rank tells its own:\n" + process.stderr
)

# A PFC deadlock: a ring of five switches, each flow two of its links far. It is stuck in all ranks.
n = 5
links = [(2 * i + j, 2 * n + i) for i in range(n) for j in (0, 1)] + [
    (2 * n + i, 2 * n + (i + 1) % n) for i in range(n)
]
with open(folder("ring.txt"), "w") as file:
    file.write(
        "%d %d %d\n%s\n" % (3 * n, n, len(links), " ".join(str(2 * n + i) for i in range(n)))
    )
    file.writelines("%d %d 100Gbps 1us 0\n" % link for link in links)
with open(folder("ring-flows.txt"), "w") as file:
    file.write("%d\n" % (2 * n))
    file.writelines("%d %d 3 100 4000000 0\n" % (i, (i + 4) % (2 * n)) for i in range(2 * n))
ring = [
    "--topology=" + folder("ring.txt"),
    "--flows=" + folder("ring-flows.txt"),
    "--cc=none",
    "--ecn=0",
]
for ranks, engine in ((2, "windows"), (2, "ns3"), (5, "windows")):
    process = mpirun(ranks, *ring, "--engine=" + engine, status=3, out="ring")
    for word in ("stuck", "queue pairs with outstanding bytes", "links paused by PFC"):
        check(
            word in process.stderr,
            "the deadlock's message lacks '%s':\n%s" % (word, process.stderr),
        )
    # The cycle goes through all ranks, and is named as one, from whichever link on.
    cycle = ["switch-%d->switch-%d" % (2 * n + i, 2 * n + (i + 1) % n) for i in range(n)]
    check(
        any(" waits for ".join(cycle[i:] + cycle[:i]) in process.stderr for i in range(n)),
        "the cycle is not named:\n" + process.stderr,
    )
    check(
        stats("ring")["completed"] is False and flows("ring") == [], "flows arrived in a deadlock"
    )
compare(*ring, "--pfc=0", ranks=(2, 5))

# Ctrl-C, which mpirun turns into SIGTERM for every rank.
for number, engine in (
    (signal.SIGINT, "windows"),
    (signal.SIGTERM, "windows"),
    (signal.SIGINT, "ns3"),
):
    shutil.rmtree(folder("out"), ignore_errors=True)
    process = subprocess.Popen(
        [
            MPIRUN,
            "-np",
            "2",
            PROGRAM,
            "--k=4",
            "--bytes=1MB,100GB",
            "--ack-every=1",
            "--engine=" + engine,
            "--out=" + folder("out"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    begin = time.time()
    links = os.path.join(folder("out"), "links.csv")
    while time.time() - begin < 30 * SLOWER and not os.path.exists(links):
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30 * SLOWER)
    check(
        process.returncode not in (0, 2), "status %d\n%s%s" % (process.returncode, output, errors)
    )

# ---- what is refused, once, by all ranks


def refuse(ranks, *arguments, words=(), program=PROGRAM):
    process = mpirun(ranks, *arguments, status=2, out="refused", program=program)
    errors = [line for line in process.stderr.splitlines() if ": error: " in line]
    check(len(errors) == 1, "not one error:\n" + process.stderr)
    for word in words:
        check(word in errors[0], "'%s' is not in: %s" % (word, errors[0]))
    check(
        process.stdout.replace("-", "").strip().startswith("Primary job")
        or process.stdout.strip() == "",
        "something was printed:\n" + process.stdout,
    )


refuse(
    3,
    "--topology=single-switch",
    "--hosts=2",
    words=("mpirun -np 3", "2 hosts", "at most one process a host"),
)
refuse(2, "--k=4", "--link-delay=0ns", words=("cut between ranks", "0 ps"))
ENVIRONMENT["NS_GLOBAL_VALUE"] = "SimulatorImplementationType=ns3::NullMessageSimulatorImpl"
for engine, implementation in (("windows", "NodeWindow"), ("ns3", "Distributed")):
    refuse(
        2,
        "--k=4",
        "--engine=" + engine,
        words=(
            "SimulatorImplementationType",
            "ns3::NullMessageSimulatorImpl",
            "ns3::" + implementation + "SimulatorImpl",
        ),
    )
del ENVIRONMENT["NS_GLOBAL_VALUE"]
refuse(3, "--k=4", "--attribution=1", words=("--attribution=1", "mpirun -np 3", "allowed: 0"))
refuse(2, "--k=4", "--patern=incast", words=("--patern", "--pattern"))
# An error that only one rank can see while it builds: 200 km of cable there need more headroom than
# there is buffer.
with open(folder("far.txt"), "w") as file:
    file.write(
        "6 2 5\n4 5\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1ms 0\n"
        "4 5 100Gbps 1us 0\n"
    )
refuse(2, "--topology=" + folder("far.txt"), words=("switch-5",))
for name in ("dltrain", "collperf"):
    other = os.path.join(os.path.dirname(PROGRAM), name)
    if os.path.exists(other):
        refuse(2, "--engine=ns3", words=("--engine=ns3", "allowed: windows"), program=other)
# A dry run and the help are told once.
process = mpirun(2, "--k=4", "--dry-run")
check(process.stdout.count("fat-tree") == 1, "the plan is not printed once:\n" + process.stdout)
for option in ("--PrintTypeIds", "--PrintGroups", "--PrintVersion", "--PrintAttributes=RdmaNic"):
    process = mpirun(2, option)  # MPI is left in good order, so mpirun does not call it a failure
    check(
        process.stdout and "Primary job" not in process.stdout + process.stderr,
        option + ":\n" + process.stderr,
    )
check(mpirun(2, "--version", out=None).stdout.count("\n") == 1, "the version is not printed once")
done()
