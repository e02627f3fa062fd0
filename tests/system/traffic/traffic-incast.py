# Incast: with PFC no frame is dropped; without, frames are dropped and every byte arrives all the
# same.
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, flows, run, stats

SWITCH = ["--topology=single-switch", "--pattern=incast"]
for fan_in in (16, 64):
    hosts = ["--hosts=%d" % (fan_in + 1), "--fan-in=%d" % fan_in, "--bytes=1MB"]
    for cc in ("none", "dcqcn"):
        run(*SWITCH, *hosts, "--cc=" + cc, "--ecn=%d" % (cc != "none"))
        s = stats()
        check(
            sum(s["drops"].values()) == 0,
            "%d -> 1, %s: drops with PFC: %s" % (fan_in, cc, s["drops"]),
        )
        check(s["retransmitted_packets"] == 0, "retransmissions with PFC")
        check(
            len(flows()) == fan_in and s["messages"] == fan_in,
            "%d -> 1: not all flows arrived" % fan_in,
        )
        if cc == "none":
            check(
                s["pfc_pauses"] > 0 and s["pfc_pause_time_us"] > 0,
                "no pause, and nothing else slows the senders",
            )
            check(s["ecn_marks"] == 0, "marks with --ecn=0")
        else:
            check(s["ecn_marks"] > 0 and s["cnps"] > 0, "DCQCN without marks or CNPs")

    run(*SWITCH, *hosts, "--cc=none", "--pfc=0", "--ecn=0")
    s = stats()
    check(
        s["drops"]["threshold"] + s["drops"]["pool_full"] > 0,
        "%d -> 1 without PFC: no drop" % fan_in,
    )
    check(s["retransmitted_packets"] > 0 and s["pfc_pauses"] == 0, "no retransmission without PFC")
    rows = flows()
    check(
        len(rows) == fan_in and all(int(r["bytes"]) == 1000000 for r in rows),
        "bytes are missing without PFC",
    )
    check(s["failed_queue_pairs"] == 0 and s["completed"], "queue pairs failed")
done()
