# ctest: TIMEOUT 300
# Tables of nccl-tests from real machines beside collperf: scripts/nccl-tables, with the bounds that
# the project has set itself.
import json
import math
import os
import statistics
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, is_share
from _traffic import check, done, folder

SCRIPT = os.path.join(ROOT, "scripts/nccl-tables")


def run(*arguments, status=0):
    process = subprocess.run(
        [sys.executable, SCRIPT, "--programs=" + PROGRAMS, *arguments],
        capture_output=True,
        text=True,
        timeout=250,
    )
    check(
        process.returncode == status,
        "%s: status %d\n%s%s" % (arguments, process.returncode, process.stdout, process.stderr),
    )
    return process


# All of them: every row has a machine. The share has a server's operations and sizes from small to
# large, and several servers.
SETS = (["mleng", "h100ndr-multi-node-n10-g1"], 90) if is_share() else ([""], 400)
rows = []
for name in SETS[0]:
    out = folder("nccl.json")
    run("--json=" + out, *(["--set=" + name] if name else []))
    with open(out) as file:
        result = json.load(file)
    rows += result["rows"]
    check(result["factor"] < 1.3, "off by %.3f" % result["factor"])
check(len(rows) > SETS[1], "%d rows" % len(rows))


# Of the tables of nccl-tests: median errors by size, as issue 14 sets them.
BOUNDS = ((64 << 10, 0.40), (1 << 20, 0.35), (64 << 20, 0.25), (256 << 20, 0.15), (1 << 60, 0.10))
low = 0
for high, bound in BOUNDS:
    errors = [
        abs(r["simulated_us"] / r["measured_us"] - 1)
        for r in rows
        if low < r["bytes"] <= high and r["set"] != "a100_dgx"
    ]
    median = statistics.median(errors)
    check(median < bound, "%d to %d B: median error %.2f" % (low, high, median))
    low = high

# A line through the ends of these tables is up to twice too fast in the middle.
for name, size in (("mleng-a100-n1", 1 << 20), ("mleng-h200-n1", 8 << 20)):
    row = next(r for r in rows if r["set"] == name and r["bytes"] == size)
    error = row["simulated_us"] / row["measured_us"] - 1
    check(abs(error) < 0.25, "%s at %d B: %+.2f" % (name, size, error))

# Pairs of GPUs have few channels: without that they are twice as fast
# (collectives/tuner/exchange-rates.h).
for row in rows:
    if row["set"].startswith("h100ndr") and row["op"] == "sendrecv":
        error = row["simulated_us"] / row["measured_us"] - 1
        check(abs(error) < 0.15, "%s at %d B: %+.2f" % (row["set"], row["bytes"], error))

# No group of machine, operation and class of sizes is off by more than a factor of 2.
CLASSES = (64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 60)
groups = {}
for row in rows:
    size = next(limit for limit in CLASSES if row["bytes"] <= limit)
    key = (row["set"], row["op"], row["nodes"], row["gpus"], size)
    groups.setdefault(key, []).append(abs(math.log(row["simulated_us"] / row["measured_us"])))
for key, logs in groups.items():
    factor = math.exp(statistics.mean(logs))
    check(factor < 2, "%s: off by a factor of %.2f" % (key, factor))

# Rows that cannot be read, and machines of the user's own.
table = folder("mine.csv")
with open(table, "w") as file:
    file.write("set_id,nodes,gpus_per_node,collective,size_bytes,time_us\n")
    file.write("mine,1,8,all_reduce,1048576,100\n")
check("no machine of that name" in run(table, status=1).stderr, "mine has no machine")
text = run(table, "--machine=--server=dgx-a100", "--rows").stdout
check("| mine | all_reduce | 1 x 8 | 1048576 | 100 |" in text, text)


def refuses(text, *words):
    with open(table, "w") as file:
        file.write(text)
    lines = run(table, status=2).stderr.splitlines()
    check(len(lines) == 1, "one line: %s" % lines)
    for word in (table, *words):
        check(word in lines[0], "%r in %s" % (word, lines[0]))


HEAD = "set_id,nodes,gpus_per_node,collective,size_bytes,time_us\n"
refuses("size,time\n1,2\n", "is no table of collectives", "no column set_id or machine")
refuses(HEAD.replace("time_us", "time"), "no column time_us or time_us_median")
refuses("", "no column")
for time in ("0", "-3", "nan", "inf", "", "fast"):
    row = "mleng-a100,1,8,all_reduce,1024," + time
    refuses(HEAD + row, "line 2: time_us='%s'; allowed: a number of microseconds above 0" % time)
for size in ("abc", "0", "-1", "1e3", "9" * 40):
    row = "mleng-a100,1,8,all_reduce,%s,10" % size
    refuses(HEAD + row, "line 2: size_bytes='%s'; allowed: a whole number from 1 on" % size)
refuses(HEAD + "mleng-a100,1,0,all_reduce,1024,10\n", "gpus_per_node='0'")
refuses(HEAD + "mleng-a100,1\n", "gpus_per_node=''")
nobody = run("nobody.csv", status=2).stderr
check(nobody == "nccl-tables: error: nobody.csv: No such file or directory\n", nobody)
check("no row has such a set" in run("--set=nobody", status=2).stderr, "no set")

# What nccl-tests prints is such a table: of 2.17 and later, which say the collective, among lines
# of other programs; of earlier versions, which do not; through mpirun --tag-output; and collperf's
# own, which is off by nothing.
OUTPUT = """noise, of mpirun
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid     10 on  nodeA device  0 [0000:0f:00] NVIDIA X
#  Rank  1 Group  0 Pid     11 on  nodeA device  1 [0000:15:00] NVIDIA X
#  Rank  2 Group  0 Pid     12 on  nodeB device  0 [0000:0f:00] NVIDIA X
#  Rank  3 Group  0 Pid     13 on  nodeB device  1 [0000:15:00] NVIDIA X
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
       65536         16384     float     sum      -1    45.25    1.45    2.17      0    46.12    1.42    2.13      0
nodeA:10:10 [0] NCCL INFO 12 channels
     1048576        262144     float     sum      -1   120.50    8.70   13.05      0    121.5    8.63   12.95      0
# Out of bounds values : 0 OK
"""
MACHINE = "--machine=--server=dgx-h100"


def output(text, *options, status=0):
    path = folder("mine.txt")
    with open(path, "w") as file:
        file.write(text)
    result_path = folder("mine.json")
    process = run(path, MACHINE, "--json=" + result_path, *options, status=status)
    if status:
        return process.stderr
    with open(result_path) as file:
        return json.load(file)["rows"]


rows = output(OUTPUT)
check(
    [(r["op"], r["nodes"], r["gpus"], r["bytes"], r["measured_us"]) for r in rows]
    == [("all_reduce", 2, 2, 65536, 45.25), ("all_reduce", 2, 2, 1048576, 120.5)],
    rows,
)
tagged = "".join("[1,0]<stdout>:" + line + "\n" for line in OUTPUT.splitlines())
check(output(tagged) == rows, "mpirun --tag-output")
old = OUTPUT.replace("# Collective test starting: all_reduce_perf\n", "").replace(" Group  0", "")
check(output(old, "--collective=all_reduce") == rows, "of an early version")
for text, options, said in (
    (old, (), "does not say which collective"),
    (OUTPUT, ("--collective=all_gather",), "the test of 'all_reduce' behind that of all_gather"),
    (OUTPUT.replace("on  nodeB device  1", "on  nodeC device  1"), (), "hosts with 1 and 2 GPUs"),
    (OUTPUT.replace("Rank  3", "Rank  2"), (), "line 6: rank 2 a second time"),
    (OUTPUT.replace("45.25", "-3"), (), "line 9: time='-3'"),
    # Rows that contradict themselves: 65536 B in 45.25 us are 1.448 GB/s.
    (OUTPUT.replace("2.17      0    46.12", "2.17"), (), "line 9: 11 columns; allowed: 13"),
    (OUTPUT.replace(" 16384 ", " 16383 "), (), "line 9: size=65536; allowed: what 16383 elements"),
    (OUTPUT.replace(" 65536 ", " 6553G "), (), "line 9: size='6553G'; allowed: a whole number"),
    (OUTPUT.replace("65536         16384     float", "65536   16384    flot"), (), "type='flot'"),
    (OUTPUT.replace("45.25", "4525"), (), "line 9: algbw='1.45'; allowed: what 65536 B in '4525'"),
    (OUTPUT.replace("1.45    2.17", "1.45    3.17"), (), "line 9: busbw='3.17'"),
    (OUTPUT.replace("46.12    1.42", "46.12    1.52"), (), "line 9: algbw='1.52'"),
    (OUTPUT[: OUTPUT.index("       65536")], (), "there are no rows of a table"),
    ("\n".join(OUTPUT.splitlines()[:2] + OUTPUT.splitlines()[6:]), (), "no lines of devices"),
):
    stderr = output(text, *options, status=2)
    check(said in stderr and len(stderr.splitlines()) == 1, stderr)
own = subprocess.run(
    [
        os.path.join(PROGRAMS, "collperf"),
        *"--op=all_gather -b 64K -e 1M -f 16 --servers=2 -g 4 --server=dgx-h100".split(),
        "--report=0",
        "--out=" + folder("own"),
    ],
    capture_output=True,
    text=True,
    check=True,
)
rows = output(own.stdout)
check(len(rows) == 2, rows)
for row in rows:
    # collperf prints five digits.
    check(abs(row["simulated_us"] / row["measured_us"] - 1) < 1e-4, row)

done()
