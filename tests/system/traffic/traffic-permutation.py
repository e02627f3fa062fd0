# A permutation on a small fat-tree: everything arrives, and the output files agree with each other
# and with arithmetic.
import math
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, folder, links, near, run, stats

HOSTS, BYTES, MTU = 16, 4000000, 4096
result = run(
    "--topology=fat-tree",
    "--k=4",
    "--pattern=permutation",
    "--offset=4",
    "--bytes=4MB",
    "--ack-every=1",
)
for word in ("Completion time", "Busiest links", "frame-hops/s", "stats.json"):
    check(word in result.stdout, "the summary does not say " + word)

# The files it names are those that are there.
named = result.stdout.split("\nFiles ")[1].splitlines()[0].strip()
check(
    sorted([*named.split(": ")[1].split(", "), "report.html", "timeline.json"])
    == sorted(os.listdir(folder("out"))),
    "files: " + named,
)
check(
    "\nReport           %s/report.html\n" % folder("out") in result.stdout,
    "the report is not named",
)

s = stats()
for key in (
    "schema_version fct_us fct_slowdown drops ecn_marks cnps pfc_pauses pfc_pause_time_us"
    " retransmitted_packets data_packets frame_hops events wall_s frame_hops_per_s peak_rss_bytes"
    " configuration links"
).split():
    check(key in s, "stats.json lacks " + key)
for key in ("p50", "p90", "p99", "p999", "max"):
    check(key in s["fct_us"] and key in s["fct_slowdown"], "stats.json: no quantile " + key)
check(s["completed"] and not s["interrupted"], "stats.json does not say that it is completed")

packets = math.ceil(BYTES / MTU)
check(s["data_packets"] == HOSTS * packets, "data packets: %d" % s["data_packets"])
check(
    sum(s["drops"].values()) == 0 and s["retransmitted_packets"] == 0, "losses on a lossless fabric"
)
# Data and an ACK for each packet over six links (offset 4: every flow leaves its pod), and the
# CNPs; pauses besides.
frames = HOSTS * packets * 2 + s["cnps"]
check(
    frames * 6 <= s["frame_hops"] <= frames * 6 + 4 * s["pfc_pauses"],
    "frame-hops: %d" % s["frame_hops"],
)

rows = flows()
check(len(rows) == HOSTS, "flows.csv has %d rows" % len(rows))
check(sorted(int(r["flow"]) for r in rows) == list(range(HOSTS)), "flow numbers")
times = []
for r in rows:
    check(r["src"] == "server-%d" % int(r["flow"]), "src of flow " + r["flow"])
    check(r["dst"] == "server-%d" % ((int(r["flow"]) + 4) % HOSTS), "dst of flow " + r["flow"])
    check(
        int(r["bytes"]) == BYTES and r["tag"] == "permutation", "bytes and tag of flow " + r["flow"]
    )
    check(
        near(float(r["end_us"]) - float(r["start_us"]), float(r["fct_us"]), 1e-9),
        "fct_us is not end - start",
    )
    check(float(r["fct_us"]) >= float(r["ideal_fct_us"]), "faster than an idle network")
    times.append(float(r["fct_us"]))
times.sort()
check(
    near(s["fct_us"]["max"], times[-1], 1e-12)
    and near(s["fct_us"]["p50"], times[HOSTS // 2 - 1], 1e-12),
    "quantiles",
)

# What the links carried, summed over the intervals, is every frame's wire bytes: a full packet has
# 4096 + 82.
interval = s["links_csv"]["interval_us"]
end = s["simulated_time_us"]
carried = 0
for r in links():
    time = float(r["time_us"])
    covered = interval if time % interval == 0 else time % interval
    check(
        0 <= float(r["utilization"]) <= 1 and 0 <= float(r["pause_share"]) <= 1,
        "links.csv: a share above 1",
    )
    check(
        time <= end and r["link"].split("#")[0] == r["from"] + "->" + r["to"],
        "links.csv: " + str(r),
    )
    if r["from"].startswith("server"):
        carried += float(r["utilization"]) * covered * float(r["rate_gbps"]) * 1e3 / 8
data = HOSTS * (packets * 82 + BYTES + 16)
acks = (HOSTS * packets) * 86 + s["cnps"] * 98
check(
    near(carried, data + acks, 2e-3),
    "links.csv: %.0f bytes left the hosts, not %.0f" % (carried, data + acks),
)
done()
