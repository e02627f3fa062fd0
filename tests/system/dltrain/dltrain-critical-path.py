# The critical path of a step: its calls follow one another without a gap from the step's beginning
# to its end, each is a call of calls.log that waited for the one before it, and its parts add up to
# the picosecond; collectives on it go on message by message; where all communication is exposed it
# is all there is.
import csv
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, SLOWER, add_lists

PROGRAM = os.path.join(PROGRAMS, "dltrain")
FOLDER = tempfile.mkdtemp(prefix="critical-path-test-")


def check(condition, what):
    if not condition:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def run(name, *arguments):
    out = os.path.join(FOLDER, name)
    process = subprocess.run(
        [PROGRAM, *arguments, "--out=" + out, "--report=0"],
        capture_output=True,
        text=True,
        timeout=120 * SLOWER,
    )
    check(process.returncode == 0, process.stderr)
    with open(out + "/stats.json", encoding="utf-8") as file:
        stats = add_lists(json.load(file), out)
    calls = collections.defaultdict(dict)  # by name, by rank: (start, end)
    with open(out + "/calls.log", encoding="utf-8") as file:
        for row in csv.reader((line for line in file if not line.startswith("#")), delimiter="\t"):
            if int(row[2]) == stats["steps_measured"]:
                calls[row[6]][int(row[3])] = (float(row[0]), float(row[1]), row[5])
    return process.stdout, stats, calls


def ps(us):
    return round(us * 1e6)  # the files have picoseconds, as decimals of microseconds


def walk(what, stats, calls, together=lambda call, one, other: True):
    """together: whether two ranks are of one group in a call"""
    path = stats["critical_path"]
    parts = path["path"]
    check(len(parts) == path["calls"] > 5, what + ": calls")
    check(
        ps(parts[0]["start_us"]) == ps(path["start_us"])
        and ps(parts[-1]["end_us"]) == ps(path["end_us"]),
        what + ": ends",
    )
    for one, other in zip(parts, parts[1:]):
        check(ps(one["end_us"]) == ps(other["start_us"]), what + ": a gap: %s, %s" % (one, other))
    computing = collectives = straggling = messages = 0
    sums = collections.Counter()
    for part in parts:
        of = calls[part["call"]]
        length = ps(part["end_us"]) - ps(part["start_us"])
        if part["rank"] not in of or of[part["rank"]][2] == "recv":
            # A receive: if it waited, the path goes back to the rank that sent.
            check(
                any(ps(times[1]) == ps(part["end_us"]) for times in of.values()),
                what + ": a receive: %s" % part,
            )
            sums.update({name: ps(us) for name, us in part["parts_us"].items()})
            collectives += length
            messages += part["messages"]
            continue
        start, end, kind = of[part["rank"]]
        check(ps(start) == ps(part["start_us"]), what + ": another start: %s" % part)
        if kind == "collective":
            # It begins where some rank enters, which the first one waited for, and the path leaves
            # it where some rank does.
            check(
                ps(part["waited_us"])
                == ps(start)
                - min(
                    ps(times[0])
                    for rank, times in of.items()
                    if together(part["call"], part["rank"], rank)
                ),
                what + ": entry: %s, %s" % (part, sorted(of.values())[:3]),
            )
            check(
                any(ps(times[1]) == ps(part["end_us"]) for times in of.values()),
                what + ": leaving: %s" % part,
            )
            check(
                sum(map(ps, part["parts_us"].values())) == length,
                what + ": the parts of a collective: %s" % part,
            )
            sums.update({name: ps(us) for name, us in part["parts_us"].items()})
            collectives += length
            messages += part["messages"]
        else:
            check(ps(end) == ps(part["end_us"]) and "waited_us" not in part, what + ": %s" % part)
            computing += length
            straggling += ps(part.get("straggling_us", 0))
    check(
        computing == ps(path["compute_us"]) and collectives == ps(path["collectives_us"]),
        what + ": sums",
    )
    # To the picosecond: by cause, and the step's time but for what lies before it.
    sums.update({"compute": computing - straggling, "straggling": straggling})
    check(
        {name: ps(us) for name, us in path["parts_us"].items()}
        == {name: sums[name] for name in path["parts_us"]},
        what + ": parts: %s" % sums,
    )
    check(
        sum(sums.values()) == ps(path["total_us"]) == ps(path["end_us"]) - ps(path["start_us"]),
        what + ": parts do not add up",
    )
    check(
        ps(path["total_us"]) - ps(path["before_step_us"]) == ps(stats["step_times_us"][-1]),
        what + ": step time",
    )
    check(abs(sum(path["share"].values()) - 1) < 1e-9, what + ": shares: %s" % path["share"])
    for name, share in path["share"].items():
        check(
            abs(share - path["parts_us"][name] / path["total_us"]) < 1e-12,
            what + ": share of " + name,
        )
    last = max(times[1] for of in calls.values() for times in of.values())
    check(ps(last) == ps(path["end_us"]), what + ": it ends before the step does")
    # Messages: each begins where and when the one before it ended, the first where the path enters.
    told = path["longest_messages"]
    among = sum(message["messages"] for message in told)
    check(messages == path["messages"] and len(told) <= 500, what + ": messages: %d" % messages)
    check(
        messages == among if messages < 300 else messages >= among > 100,
        what + ": messages: %d, told of %d" % (messages, among),
    )
    chains = collections.defaultdict(list)
    for message in told:
        check(
            sum(map(ps, message["parts_us"].values()))
            == ps(message["end_us"]) - ps(message["start_us"]),
            what + ": a message: %s" % message,
        )
        check(
            (message["link"] is None)
            == bool({"inside_servers", "collectives_undivided"} & set(message["parts_us"])),
            what + ": where: %s" % message,
        )
        chains[message["call"]].append(message)
    for part in parts:
        chain = chains[part["call"]]
        if (
            "waited_us" in part
            and sum(message["messages"] for message in chain) == part["messages"] > 0
        ):
            at, time = part["rank"], ps(part["start_us"])
            for message in chain:
                check(
                    (message["from"], ps(message["start_us"])) == (at, time),
                    what + ": a jump: %s after %d" % (message, at),
                )
                at, time = message["to"], ps(message["end_us"])
            check(
                time == ps(part["end_us"]) == ps(calls[part["call"]][at][1]),
                what + ": the last message of %s" % part,
            )
    hops = [hop["time_us"] for hop in path["hops"]]
    check(hops == sorted(hops, reverse=True) and len(hops) <= 10, what + ": hops: %s" % hops)
    check(len({hop["link"] for hop in path["hops"]}) == len(hops), what + ": a port twice")
    of_hops = [max((ps(m["end_us"]) - ps(m["start_us"]) for m in told if m["link"]), default=0)]
    check(
        not hops or ps(hops[0]) <= of_hops[0] or len(told) == 500,
        what + ": a hop longer than any message",
    )
    return path


SMALL = ["--model=gpt2", "--servers=4"]

text, stats, calls = run("default", *SMALL, "--steps=2")
path = walk("default", stats, calls)


def lines_of_path(text):
    """The lines of the terminal that tell of the path: {"computing": "313 ms 70.0%", ...}; what
    continues a line joined to it.
    """
    told, name = {}, None
    for line in text.split("Critical path", 1)[1].split("Throughput", 1)[0].splitlines()[1:]:
        name = line[:23].strip() or name
        told[name] = (told.get(name, "") + " " + " ".join(line[23:].split())).strip()
    return told


told = lines_of_path(text)
check(
    told["computing"].endswith("%") and told["DP all-gather"].endswith("%"),
    "the terminal: %s" % told,
)
check(
    sum(
        float(re.search(r"([\d.]+)%$", told[what]).group(1))
        for what in told
        if told[what].endswith("%") and " ms " in told[what]
    )
    > 99,
    "its parts are the path: %s" % told,
)
check(
    "% pipelining (waiting for the previous chunk on the same connection)"
    in told["of the collectives"],
    "plain words: %s" % told,
)
of_path = text.split("Critical path", 1)[1].split("Throughput", 1)[0].splitlines()[1:]
of_latest = text.split("Latest ", 1)[1].split("Congestion", 1)[0].splitlines()[1:]
check(
    len(of_path) >= 6 and of_latest and max(map(len, of_path + of_latest)) <= 100,
    "lines of the terminal: " + text,
)
check("queue pair" not in text, "words of the trade: " + text)

# Nothing overlaps: every GPU computes as long as every other, and all its computing and all
# collectives are on the path.
text, stats, calls = run("no-overlap", *SMALL, "--no-overlap")
path = walk("no overlap", stats, calls)
check(
    abs(path["compute_us"] - stats["compute_time_us"]) < 1e-3 * stats["compute_time_us"],
    "no overlap: computing",
)
check(
    {part["call"] for part in path["path"]} == set(calls),
    "no overlap: not all calls are on the path",
)
unhurried = path["compute_us"]

# One server: NVLink only.
text, stats, calls = run("one-server", "--model=gpt2", "--servers=1", "--no-overlap")
path = walk("one server", stats, calls)
check(
    path["collectives_us"] > 0
    and abs(
        path["parts_us"]["inside_servers"] + path["parts_us"]["software"] - path["collectives_us"]
    )
    < 1e-6
    and path["parts_us"]["software"] > 0  # each collective is launched
    and path["hops"] == [],
    "one server: %s" % path["share"],
)

# On a thin network the path is the network, and its senders wait for the congestion control.
text, stats, calls = run(
    "thin",
    *SMALL,
    "--placement=random",
    "--topology=leaf-spine",
    "--hosts-per-leaf=2",
    "--oversubscription=4"
)
path = walk("thin", stats, calls)
check(path["collectives_us"] > path["compute_us"], "thin: %s" % path["share"])
check(
    path["parts_us"]["collectives_undivided"] == 0 == path["parts_us"]["straggling"],
    "thin: %s" % path["share"],
)
check(path["share"]["throttled"] + path["share"]["queued"] > 0.3, "thin: %s" % path["share"])

# A slow link, that of host 2 in a network of one switch.
nodes = [{"name": "host-%d" % i, "kind": "host"} for i in range(4)] + [
    {"name": "s", "kind": "switch"}
]
links = [
    {"from": "host-%d" % i, "to": "s", "rate": "25Gbps" if i == 2 else "100Gbps"} for i in range(4)
]
with open(FOLDER + "/slow.json", "w", encoding="utf-8") as file:
    json.dump(
        {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes, "links": links}, file
    )
for name, options, link, why in (
    ("throttled", [], "host-1->s", "throttled"),
    ("paused", ["--cc=none"], "host-1->s", "nic_paused"),
    ("queued", ["--cc=none", "--buffer=512MB"], "s->host-2", "queued"),
):
    # What comes too fast for it waits where the congestion control, PFC or neither lets it.
    text, stats, calls = run(
        "slow link " + name, *SMALL, "--topology=" + FOLDER + "/slow.json", *options
    )
    path = walk("slow link " + name, stats, calls)
    worst = path["hops"][0]
    check(
        (worst["link"], worst["why"]) == (link, why)
        and worst["waited_us"] > 0.9 * worst["time_us"],
        "slow link %s: %s" % (name, worst),
    )
    check(
        (worst["behind"] in calls) == (why == "queued"),
        "slow link %s: behind whom: %s" % (name, worst),
    )
    check(path["share"][why] > 0.1, "slow link %s: %s" % (name, path["share"]))
    check(lines_of_path(text)["longest at"].startswith(link + ", "), "slow link: " + text)

# Losses: the parts add up all the same, with what was repeated; also those are divided whose last
# packet came before an earlier one that was repeated. (Whether one of those is on the path is
# chance: of several rates one has to do.)
repeating, undivided = 0, 0
for rate in ("1e-9", "3e-8"):
    text, stats, calls = run(
        "losses " + rate, *SMALL, "--bit-error-rate=" + rate, "--loss-recovery=selective-repeat"
    )
    path = walk("losses " + rate, stats, calls)
    repeating += path["parts_us"]["repeating"]
    undivided += path["parts_us"]["collectives_undivided"]
check(repeating > 0 and undivided == 0, "losses: %g and %g us" % (repeating, undivided))

# Software before every send is a part of its own: so many messages, so many times.
text, stats, calls = run("software", *SMALL, "--library=none", "--step-latency=2us")
path = walk("software", stats, calls)
check(
    ps(path["parts_us"]["software"]) == 2000000 * path["messages"] > 0,
    "software: %s" % path["parts_us"],
)

# A pipeline whose ends share a matrix: its gradient is added up by ranks of two roles, to which it
# is not the same task. On a thin network that is what the step ends with.
for pp, options in ((2, []), (4, ["--seq=96"]), (2, ["--virtual-stages=2"])):
    name = "pipeline of %d" % pp + "".join(" " + option for option in options)
    gpus = 16 if options else 8
    text, stats, calls = run(
        name,
        "--model=gpt2",
        "--servers=4",
        "--gpus-per-server=%d" % (gpus // 4),
        "--pp=%d" % pp,
        "--micro-batch=1",
        "--accumulation=2",
        "--nic=25GbE",
        *options
    )

    def together(call, one, other):
        """Ranks are counted along dp, then pp."""
        embedding = call == "all-reduce embedding"  # of the first stage and the last
        a, b = (divmod(rank, gpus // pp)[embedding] for rank in (one, other))
        return a == b

    path = walk(name, stats, calls, together)
    check(
        any("embedding" in part["call"] and "waited_us" in part for part in path["path"]),
        name + ": %s" % [part["call"] for part in path["path"]][-5:],
    )

# One slow GPU: its computing is on the path, all others wait for it, and it is the one that is
# named.
text, stats, calls = run("slow", *SMALL, "--slow-gpu=13:1.5", "--no-overlap")
path = walk("slow GPU", stats, calls)
# (Another GPU may leave the last reduction so much later that its short optimizer ends last all the
# same.)
others = [part for part in path["path"] if "waited_us" not in part and part["rank"] != 13]
check(
    all(part["call"] == "optimizer" for part in others),
    "slow GPU: others compute on the path: %s" % others[:3],
)
expected = 1.5 * unhurried - sum(0.5 * (part["end_us"] - part["start_us"]) for part in others)
check(
    abs(path["compute_us"] - expected) < 1e-3,
    "slow GPU: %s us, expected %f" % (path["compute_us"], expected),
)
check(" for GPU 13, at " in lines_of_path(text)["longest wait"], "slow GPU: " + text)
# A third of what it computes is straggling: 0.5 of 1.5, the picosecond of each call rounded.
third = (path["compute_us"] - sum(part["end_us"] - part["start_us"] for part in others)) / 3
check(
    abs(path["parts_us"]["straggling"] - third) < 1e-3,
    "slow GPU: straggling: %s, expected %f" % (path["parts_us"]["straggling"], third),
)
check("of it straggling, GPU 13)" in text, "slow GPU: " + text)
bad = subprocess.run(
    [PROGRAM, *SMALL, "--slow-gpu=32:2"], capture_output=True, text=True, timeout=60 * SLOWER
)
check(
    bad.returncode == 2
    and "--slow-gpu=32:2: allowed: GPU:FACTOR as 5:1.3, GPU 0 to 31, factor 1 to 1000"
    in bad.stderr,
    bad.stderr,
)

# A GPU that stands still from the beginning of the first step on: that is on the path, and no part
# of a step before.
text, stats, calls = run(
    "stopped", *SMALL, "--warmup=0", "--steps=1", "--fault=gpu-stop,at=0us,on=gpu-0,for=9ms"
)
path = stats["critical_path"]
check(path["step"] == path["before_step_us"] == path["start_us"] == 0, "stopped: %s" % path)
check(path["total_us"] == stats["step_times_us"][0], "stopped: %s" % path["total_us"])
# It computes as long as others, and its first call begins 9 ms after the step.
check(ps(path["parts_us"]["straggling"]) == 9_000_000_000, "stopped: %s" % path["parts_us"])

# Off.
text, stats, calls = run("off", *SMALL, "--attribution=0")
check("critical_path" not in stats and "Critical path" not in text, "it is off")
shutil.rmtree(FOLDER)
print("passed")
