# --mpi-ranks=N is mpirun -np N with the program itself: the same files and standard output; and who
# died is said in one line.
# ctest: TIMEOUT 600 PROCESSORS 2
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _mpi import ENVIRONMENT, MPIRUN
from _system_test import share_of
from _traffic import PROGRAM, SLOWER, check, done, folder, stats, write

if not MPIRUN:
    print("skipped: no mpirun")
    sys.exit(77)

# Nothing that mpirun needs in a container is set: the program has to know.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
if "ASAN_OPTIONS" in ENVIRONMENT:
    PLAIN["ASAN_OPTIONS"] = ENVIRONMENT["ASAN_OPTIONS"]
COSTS = {"wall_s", "event_loop_s", "frame_hops_per_s", "peak_rss_bytes"}
LONG = ["--k=4", "--bytes=1MB,100GB", "--ack-every=1", "--out=out"]


def run(*words, status=0, environment=PLAIN, program=PROGRAM, **more):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    process = subprocess.run(
        [program, *words],
        text=True,
        timeout=120 * SLOWER,
        cwd=folder(),
        env=environment,
        **{**streams, **more},
    )
    check(
        process.returncode == status,
        "%s: status %d, not %d\n%s%s"
        % (" ".join(words), process.returncode, status, process.stdout, process.stderr),
    )
    return process


def error(process, *words):
    """The one line that it says."""
    lines = process.stderr.splitlines()
    check(len(lines) == 1 and ": error: " in lines[0], "not one error:\n" + process.stderr)
    check(process.stdout == "", "something was printed:\n" + process.stdout)
    for word in words:
        check(word in lines[0], "'%s' is not in: %s" % (word, lines[0]))


def without_costs(text):
    """Standard output without what wall time and memory make of it."""
    text = re.sub(r"set up in .*", "", text)
    return re.sub(r"simulated in .*", "", text)


def read(out, name):
    with open(os.path.join(folder(out), name)) as file:
        return file.read()


def same(a, b):
    """Two folders hold the same, but for costs."""
    check(sorted(os.listdir(folder(a))) == sorted(os.listdir(folder(b))), "other files in " + b)
    one, other = stats(a), stats(b)
    for each in (one, other):  # --mpi-ranks was given, or mpirun was called by hand
        each["configuration"].pop("given")
        each["configuration"]["run"].pop("mpi_ranks", None)
    for key in sorted((set(one) | set(other)) - COSTS):
        what = "%s: %s, not %s" % (key, other.get(key), one.get(key))
        check(one.get(key) == other.get(key), what)
    for name in ("flows.csv", "links.csv", "network_events.log", "topology.json"):
        check(read(a, name) == read(b, name), name + " differs")


# ---- the same as mpirun by hand

traffic = ["--k=4", "--pattern=permutation", "--bytes=1MB", "--out=out"]
by_hand = subprocess.run(
    [MPIRUN, "-np", "2", PROGRAM, *traffic],
    capture_output=True,
    text=True,
    cwd=folder(),
    env=ENVIRONMENT,
    stdin=subprocess.DEVNULL,
)
check(by_hand.returncode == 0, by_hand.stderr)
os.rename(folder("out"), folder("by-hand"))
process = run(*traffic, "--mpi-ranks=2")
check(process.stderr == by_hand.stderr == "", "said:\n" + process.stderr)
check(
    without_costs(process.stdout) == without_costs(by_hand.stdout),
    "other words:\n%s\n%s" % (process.stdout, by_hand.stdout),
)
check("2 processes" in process.stdout, "no two processes:\n" + process.stdout)
same("by-hand", "out")

# Both sides of a fat-tree take turns in all ranks; three switches that are all joined have no two
# sides.
check(stats("out")["turns"] is True, "ranks do not take turns")
hyperx = ["--topology=hyperx", "--hyperx=3x3", "--hosts-per-switch=1", "--bytes=10kB"]
run(*hyperx, "--mpi-ranks=2", "--out=hyperx")
check(stats("hyperx")["turns"] is False, "a triangle has two sides")

# From a file; the command line wins over it.
with open(folder("two.json"), "w") as file:
    json.dump({"run": {"mpi_ranks": 2}, "network": {"k": 4}, "traffic": {"bytes": "1MB"}}, file)
run("--scenario=two.json", "--out=out")
same("by-hand", "out")
run("--scenario=two.json", "--out=out", "--mpi-ranks=3")
check(stats("out")["ranks"] == 3, "not three")
run("--scenario=two.json", "--out=out", "--mpi-ranks=1")
check("ranks" not in stats("out"), "one process is no several ranks")

# A dry run is one process, without mpirun; so is one rank.
nowhere = dict(PLAIN, PATH="/nowhere")
plan = run(*traffic, "--dry-run", "--mpi-ranks=2", environment=nowhere).stdout
check("\n  processes       2: each has hosts and switches" in plan, "not told:\n" + plan)
check("in each of 2 processes" in plan, "whose memory?\n" + plan)


def of_the_run(text):
    """A plan without what processes make of it."""
    return re.sub(r"\n  (processes|wall time|host memory) .*", "", text)


check(of_the_run(plan) == of_the_run(run(*traffic, "--dry-run").stdout), "another plan:\n" + plan)
run(*traffic, "--mpi-ranks=1", environment=nowhere)

# What a script reads is left to it.
script = "while read -r size; do %s --k=4 --bytes=$size --mpi-ranks=2 --out=$size; done" % PROGRAM
process = run("-c", script, program="/bin/sh", stdin=None, input="1kB\n2kB\n")
check(all(stats(size)["ranks"] == 2 for size in ("1kB", "2kB")), "standard input was read")

# Started by mpirun: as many, or an error that names both.
process = subprocess.run(
    [MPIRUN, "-np", "2", PROGRAM, *traffic, "--mpi-ranks=2"],
    capture_output=True,
    text=True,
    cwd=folder(),
    env=ENVIRONMENT,
)
check(process.returncode == 0, process.stderr)
same("by-hand", "out")
for started in (1, 3):
    process = subprocess.run(
        [MPIRUN, "-np", str(started), PROGRAM, *traffic, "--mpi-ranks=2"],
        capture_output=True,
        text=True,
        cwd=folder(),
        env=ENVIRONMENT,
    )
    errors = [line for line in process.stderr.splitlines() if ": error: " in line]
    check(process.returncode == 2 and len(errors) == 1, "not refused once:\n" + process.stderr)
    check("--mpi-ranks=2" in errors[0] and "mpirun -np %d" % started in errors[0], errors[0])

# ---- errors, each once, without what mpirun says of them

for value in ("0", "65", "two", "", "-1", "2.5"):
    error(run("--mpi-ranks=" + value, status=2), "--mpi-ranks", "1 to 64")
write("bad.json", '{"run": {"mpi_ranks": 65}}')
error(run("--scenario=bad.json", status=2), "/run/mpi_ranks", "65", "1 to 64")
error(run("--mpi-rank=2", status=2), "--mpi-ranks")
error(run("--mpi-ranks=2", "--k=5", status=2), "--k=5")
# What cannot be run so is refused by a dry run alike, in the words that asked for it.
for words in (
    ["--pcap=all", "--mpi-ranks=2", "--engine=ns3"],
    ["--mpi-ranks=17", "--k=4"],
    ["--mpi-ranks=22", "--k=4", "--queue-pairs=reused"],
    ["--mpi-ranks=2", "--k=4", "--link-delay=0ns"],
    ["--mpi-ranks=2", "--k=4", "--network=analytic"],
    ["--mpi-ranks=2", "--attribution=1"],
    ["--mpi-ranks=2", "--k=4", "--engine=ns3", "--queue-pairs=reused"],
    ["--mpi-ranks=2", "--ns3::SimulatorImplementationType=ns3::DefaultSimulatorImpl"],
    [
        "--mpi-ranks=2",
        "--engine=ns3",
        "--ns3::SimulatorImplementationType=ns3::NullMessageSimulatorImpl",
    ],
):
    refused = run(*words, status=2)
    error(refused, words[0])
    check("mpirun" not in refused.stderr, refused.stderr)
    check(run(*words, "--dry-run", status=2).stderr == refused.stderr, refused.stderr)
# That is before any process is there: without mpirun it is the same (but for ns-3's attributes).
for words in (["--mpi-ranks=64", "--k=4"], ["--mpi-ranks=2", "--k=4", "--link-delay=0ns"]):
    refused = run(*words, status=2, environment=nowhere)
    check("openmpi" not in refused.stderr, refused.stderr)
# Files of MPI's own are longer than these.
limited = run(
    "-c",
    "ulimit -f 40; %s --k=4 --mpi-ranks=2 --out=limited" % PROGRAM,
    program="/bin/bash",
    status=1,
)
error(limited, "--mpi-ranks=2", "40960 B", "ulimit -f", "allowed: 1")
check(not os.path.exists(folder("limited")), "a folder of nothing")
error(run("--mpi-ranks=2", status=2, environment=nowhere), "--mpi-ranks=2", "openmpi-bin")
for name in ("dltrain", "collperf"):
    other = os.path.join(os.path.dirname(PROGRAM), name)
    if os.path.exists(other):
        error(run("--mpi-ranks=2", "--k=5", program=other, status=2), name)
with open("/dev/full", "w") as full:
    process = run(*traffic, "--mpi-ranks=2", status=1, stdout=full)
full = "traffic: error: standard output: cannot be written: No space left on device\n"
check(process.stderr == full, process.stderr)
check(stats("out")["completed"], "a full standard output does not end a run")

# ---- processes that end before their time


def status_of(process):
    """(parent, whether it has ended) of a process; None if there is none."""
    try:
        with open("/proc/%d/stat" % process) as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return None
    return int(parent), state == "Z"


def children(parent):
    found = {int(name): status_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return [process for process, status in found.items() if status == (parent, False)]


def rank_of(process):
    with open("/proc/%d/environ" % process, "rb") as file:
        found = re.search(rb"\0OMPI_COMM_WORLD_RANK=(\d+)\0", b"\0" + file.read())
    return int(found[1])


class Long:
    """A run that is in the middle of it."""

    def __init__(self, ranks):
        shutil.rmtree(folder("out"), ignore_errors=True)
        words = [PROGRAM, *LONG] + (["--mpi-ranks=%d" % ranks] if ranks > 1 else [])
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=folder(),
            env=PLAIN,
        )
        begin = time.time()
        while time.time() - begin < 30 * SLOWER:
            if os.path.exists(os.path.join(folder("out"), "links.csv")):
                break
            time.sleep(0.1)
        time.sleep(1 * SLOWER)
        if ranks > 1:
            (self.mpirun,) = children(self.process.pid)
            self.ranks = {rank_of(process): process for process in children(self.mpirun)}
            check(sorted(self.ranks) == list(range(ranks)), "no %d ranks" % ranks)

    def end(self, status):
        output, errors = self.process.communicate(timeout=60 * SLOWER)
        self.output, self.errors = output, errors
        check(
            self.process.returncode == status,
            "status %d, not %d\n%s%s" % (self.process.returncode, status, output, errors),
        )

    def nobody_is_left(self):
        begin = time.time()
        while time.time() - begin < 30 * SLOWER:
            left = [one for one in (self.mpirun, *self.ranks.values()) if status_of(one)]
            if not left:
                return
            time.sleep(0.1)
        check(False, "still there: %s" % left)


def said(errors):
    """Without lines of progress."""
    return [line for line in errors.splitlines() if line and "% done, " not in line]


for ranks, victim in share_of(((2, 1), (3, 0)), one_in=2, first=1):
    run_ = Long(ranks)
    os.kill(run_.ranks[victim], signal.SIGKILL)
    run_.end(1)
    lines = said(run_.errors)
    check(
        len(lines) == 1
        and lines[0].startswith(
            "traffic: error: rank %d of %d was killed by signal 9 (SIGKILL): results are incomplete"
            % (victim, ranks)
        ),
        "not who died, in one line:\n" + run_.errors,
    )
    check("stats.json" not in os.listdir(folder("out")), "stats.json of a run that died")
    run_.nobody_is_left()

run_ = Long(2)
os.kill(run_.mpirun, signal.SIGKILL)
run_.end(1)
killed = "traffic: error: mpirun was killed by signal 9 (SIGKILL): results are incomplete"
check(killed in run_.errors, run_.errors)
run_.nobody_is_left()

# One that an exception ends, here as it gets no more memory from when it knows the others on, says
# which one it is and why, and the others do not wait for it.
SHIM = """
#include <stdlib.h>
#include <sys/resource.h>
int PMPI_Comm_dup(void* from, void* to);
int MPI_Comm_dup(void* from, void* to)
{
    const int status = PMPI_Comm_dup(from, to);
    const struct rlimit none = {1 << 20, RLIM_INFINITY};
    if (atoi(getenv("OMPI_COMM_WORLD_RANK")) == WHO)
        setrlimit(RLIMIT_AS, &none);
    return status;
}
"""
compiler = shutil.which("cc") or shutil.which("c++")
if compiler and os.environ.get("DLTRAIN_SANITIZED") != "1":  # whose memory is without such limits
    for ranks, victim in share_of(((2, 1), (3, 0)), one_in=2):
        source, library = folder("shim.c"), folder("shim-%d.so" % victim)
        with open(source, "w") as file:
            file.write(SHIM.replace("WHO", str(victim)))
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        words = ["--k=8", "--bytes=1kB", "--mpi-ranks=%d" % ranks, "--out=no-memory"]
        process = run(*words, status=1, environment=dict(PLAIN, LD_PRELOAD=library))
        lines = said(process.stderr)
        check(
            len(lines) == 1
            and lines[0].startswith("traffic: error: rank %d of %d: " % (victim, ranks)),
            "not who failed and why, in one line:\n" + process.stderr,
        )

# Whoever kills the one that was started ends all.
run_ = Long(2)
os.kill(run_.process.pid, signal.SIGKILL)
run_.process.communicate()
run_.nobody_is_left()

# Stopped by hand, all stop; and go on.
run_ = Long(2)
os.kill(run_.process.pid, signal.SIGTSTP)
time.sleep(1 * SLOWER)
states = []
for process in run_.ranks.values():
    with open("/proc/%d/stat" % process) as file:
        states.append(file.read().rsplit(")", 1)[1].split()[0])
check(states == ["T", "T"], "not stopped: %s" % states)
os.kill(run_.process.pid, signal.SIGCONT)
time.sleep(0.5)

# Ctrl-C (this run, and one of each kind): as in a run of one process.
SIGNALS = (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)
for number, status in share_of(SIGNALS, one_in=3):
    run_ = run_ or Long(2)
    os.kill(run_.process.pid, number)
    run_.end(status)
    several, lines = stats("out"), said(run_.errors)
    files = os.listdir(folder("out"))
    run_.nobody_is_left()
    run_ = Long(1)
    os.kill(run_.process.pid, number)
    run_.end(status)
    one = stats("out")
    check(set(files) == set(os.listdir(folder("out"))) - {"attribution.csv"}, "files: %s" % files)
    for key in ("interrupted", "completed", "messages"):
        check(several[key] == one[key], "%s: %s, not %s" % (key, several[key], one[key]))
    check(several["interrupted"] and several["frame_hops"] > 0, "not interrupted")
    without = [re.sub(r"[0-9.]+% done", "", line) for line in lines]
    expected = [re.sub(r"[0-9.]+% done", "", line) for line in said(run_.errors)]
    check(without == expected, "said %s, not %s" % (lines, said(run_.errors)))
    run_ = None

# Again, when the ranks have ended and mpirun has not: it would not survive it.
for wait in share_of((0.4, 1.0), one_in=2):
    run_ = Long(2)
    os.kill(run_.process.pid, signal.SIGINT)
    time.sleep(wait)
    os.kill(run_.process.pid, signal.SIGTERM)
    run_.end(130)
    check(stats("out")["interrupted"], "not interrupted")
    check("mpirun" not in run_.errors, run_.errors)
    run_ = None

# However often it is asked to end: that files are being written is told once.
for ranks in share_of((1, 2), one_in=2, first=1):
    run_ = Long(ranks)
    for wait in (0.02, 0.02, 0):
        os.kill(run_.process.pid, signal.SIGINT)
        time.sleep(wait)
    run_.end(130)
    check(run_.errors.count("results are being written") == 1, run_.errors)
    check(stats("out")["interrupted"], "not interrupted")
run_ = None

# While it is being set up, at any time: it ends, says so once, and says nothing that is not so.
for tenths in share_of(range(5), one_in=3, first=1):
    shutil.rmtree(folder("out"), ignore_errors=True)
    process = subprocess.Popen(
        [PROGRAM, *LONG, "--mpi-ranks=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder(),
        env=PLAIN,
    )
    time.sleep(0.05 + 0.1 * tenths)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60 * SLOWER)
    ended = process.returncode in (130, -signal.SIGINT)
    check(ended, "status %d\n%s" % (process.returncode, errors))
    check("error" not in errors.lower().replace("pmix error", ""), errors)
    if process.returncode == 130:  # else it was still being loaded
        early = errors.count(": interrupted before the simulation began; nothing was written\n")
        check(early + errors.count("done: interrupted by") == 1, "not told once:\n" + errors)
        check(os.path.exists(folder("out")) == (early == 0), "a folder, or none:\n" + errors)

# What ran otherwise than it does by itself is in the summary.
small = ["--k=4", "--bytes=100kB", "--out=out"]
check("Processes" not in run(*small).stdout and "Engine" not in run(*small).stdout, "told too much")
check(
    "\nEngine           ns3\n" in run(*small, "--engine=ns3").stdout, "the engine is not told"
)
check("; one thread, as " in run(*small, "--threads=2").stdout, "one thread of two is not told")
several = run(*small, "--mpi-ranks=2").stdout
check("\nProcesses        2: each has hosts and switches; no attribution" in several, several)
several = run(*small, "--mpi-ranks=2", "--attribution=0").stdout
check("no attribution" not in several, "it was asked for:\n" + several)
for name, more in (("dltrain", ["--model=gpt2", "--servers=2"]), ("collperf", ["-b", "1M"])):
    other = os.path.join(os.path.dirname(PROGRAM), name)
    if os.path.exists(other):
        words = [*more, "--warmup=0"] if name == "dltrain" else [*more, "-e", "1M", "--ranks=4"]
        process = run(*words, "--mpi-ranks=2", "--out=out", program=other)
        said_ = re.sub(r"\s+", " ", process.stdout + process.stderr)
        check("Processes 2: each has hosts and switches; no attribution" in said_, said_)
        process = run(*words, "--mpi-ranks=2", "--trace-qps=*", "--out=out", program=other)
        said_ = re.sub(r"\s+", " ", process.stdout + process.stderr)
        check("Processes 2: one has all hosts, the other switches; no attribution" in said_, said_)
        check("slower than one process with fewer than 16 hosts (docs/ranks.md)" in said_, said_)
done()
