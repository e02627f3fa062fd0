# attribution.csv and the words about it: the parts of every message add up to its completion time,
# and in networks built with one cause that cause is named: a slow link, an incast, a victim of PFC,
# a closed window, losses.
import csv
import json
import sys
from decimal import Decimal

sys.path.append(sys.path[0] + "/../shared")
from _system_test import header_of
from _traffic import check, done, folder, run, stats

HEADER = header_of("attribution.csv")
PARTS = HEADER.split(",")[8:-2]


def attribution(*arguments, out):
    """Rows of the run, sums checked; what the terminal said about the latest."""
    process = run(*arguments, out=out)
    with open(folder(out + "/attribution.csv"), encoding="utf-8") as file:
        check(file.readline().strip() == HEADER, "header")
        rows = list(csv.DictReader(file, fieldnames=HEADER.split(",")))
    with open(folder(out + "/flows.csv"), encoding="utf-8") as file:
        flows = {r["flow"]: r for r in csv.DictReader(file)}
    for row in rows:
        check(all(Decimal(row[part]) >= 0 for part in PARTS), "a negative part: %s" % row)
        check(
            sum(Decimal(row[part]) for part in PARTS) == Decimal(row["fct_us"]),
            "the parts do not add up: %s" % row,
        )
        flow = flows[row["flow"]]
        check(
            (row["fct_us"], row["ideal_fct_us"]) == (flow["fct_us"], flow["ideal_fct_us"]),
            "other times than flows.csv",
        )
        check(
            Decimal(row["lost_us"]) == Decimal(row["fct_us"]) - Decimal(row["ideal_fct_us"]),
            "time lost",
        )
    lost = [Decimal(row["lost_us"]) for row in rows]
    check(lost == sorted(lost, reverse=True), "the slowest come first")
    told = stats(out)["attribution"]
    check(told["messages"] + told["messages_unknown"] == stats(out)["messages"], "messages")
    check(abs(sum(told["share"].values()) - 1) < 1e-9, "shares: %s" % told["share"])
    for line in told["slowest"][:3]:
        # Long lines go on in the next one.
        check(line in " ".join(process.stdout.split()), "the terminal does not say: " + line)
    return rows, told


def incast(senders):
    """A flow from each to one host, over a switch."""
    return [
        "--topology=single-switch",
        f"--hosts={senders + 1}",
        "--pattern=incast",
        f"--fan-in={senders}",
    ]


PAIR = incast(1)


def most(row):
    return max(PARTS, key=lambda part: Decimal(row[part]))


def blames(row, part, words, what):
    """Most of the time went there, and the row says so."""
    check(most(row) == part and words in row["why"], what + ": " + row["why"])


# ---- nothing wrong: one flow alone loses nothing and is serialization

rows, told = attribution(*PAIR, "--bytes=1MB", out="alone")
check(
    Decimal(rows[0]["lost_us"]) == 0
    and most(rows[0]) == "serialization_us"
    and told["slowest"] == [],
    "alone: %s" % rows,
)

# ---- networks of two switches, a and b at the one, c and d at the other


def network(name, **rates):
    links = [
        {"from": "a", "to": "s"},
        {"from": "b", "to": "s"},
        {"from": "s", "to": "t"},
        {"from": "t", "to": "c"},
        {"from": "t", "to": "d"},
    ]
    for link in links:
        link["rate"] = rates.get(link["from"] + link["to"], "100Gbps")
    nodes = [
        {"name": n, "kind": k}
        for n, k in (
            ("a", "host"),
            ("b", "host"),
            ("c", "host"),
            ("d", "host"),
            ("s", "switch"),
            ("t", "switch"),
        )
    ]
    with open(folder(name), "w", encoding="utf-8") as file:
        json.dump(
            {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes, "links": links}, file
        )
    return "--topology=" + folder(name)


def flow_file(name, *lines):
    with open(folder(name), "w", encoding="utf-8") as file:
        file.write("%d\n%s\n" % (len(lines), "\n".join(lines)))
    return "--flows=" + folder(name)


# A slow link: the last packet waits there for those before it, nine tenths of the time.
rows, told = attribution(
    network("slow.json", st="10Gbps"),
    flow_file("one.txt", "0 2 3 100 1000000 0"),
    "--cc=none",
    "--buffer=10MB",
    out="slow",
)
blames(rows[0], "queued_us", "queued in switches, most at s->t behind its own packets", "slow link")
check(told["ports"][0]["link"] == "s->t", "slow link: " + str(told["ports"]))

# A PFC victim: b sends more than c's slow link takes; a, which sends to the idle d, is paused for
# it.
rows, told = attribution(
    network("victim.json", tc="10Gbps"),
    flow_file("two.txt", "1 2 3 100 20000000 0", "0 3 3 100 2000000 0.0005"),
    "--cc=none",
    "--ecn=0",
    out="victim",
)
(victim,) = [r for r in rows if (r["src"], r["dst"]) == ("a", "d")]
by_pfc = Decimal(victim["paused_us"]) + Decimal(victim["nic_paused_us"])
check(by_pfc > Decimal(victim["fct_us"]) / 2, "victim: %s" % victim)
check("paused by PFC" in victim["why"], "victim: " + victim["why"])
check(Decimal(victim["throttled_us"]) + Decimal(victim["repeating_us"]) == 0, "victim: %s" % victim)

# ---- an incast: behind the other senders at the one port, without PFC and congestion control in
# between

rows, told = attribution(
    *incast(8),
    "--bytes=200kB",
    "--cc=none",
    "--ecn=0",
    "--buffer=100MB",
    out="incast",
)
for row in rows[:4]:
    blames(row, "queued_us", "most at switch-0->server-0 behind server-", "incast")
    check("behind %s->" % row["src"] not in row["why"], "incast: behind itself: " + row["why"])
check(told["ports"][0]["link"] == "switch-0->server-0", "incast: %s" % told["ports"])

# With DCQCN it is the senders that wait.
rows, told = attribution(*incast(16), "--bytes=2MB", out="dcqcn")
blames(rows[0], "throttled_us", "throttled by congestion control", "DCQCN")

# ---- a window of one packet, and losses

rows, told = attribution(*PAIR, "--bytes=1MB", "--window=4096", out="window")
blames(rows[0], "window_us", "waiting for acknowledgements, as the window was full", "window")
rows, told = attribution(
    *PAIR,
    "--bytes=1MB",
    "--bit-error-rate=2e-6",
    "--timeout-exponent=8",
    "--seed=2",
    out="lossy",
)
blames(rows[0], "repeating_us", "repeating packets", "lossy")

# ---- and without it there is none

process = run(
    "--pattern=incast",
    "--topology=single-switch",
    "--hosts=3",
    "--bytes=1MB",
    "--attribution=0",
    out="without",
)
check(
    "attribution" not in stats("without")
    and "Latest" not in process.stdout
    and "attribution.csv" not in process.stdout,
    "it is off",
)
done()
