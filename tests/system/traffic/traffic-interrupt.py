# Ctrl-C leaves complete files that say how far the run got; so does SIGTERM.
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _traffic import PROGRAM, SLOWER, check, done, flows, folder, links, stats

for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
    # of the other signal: it would be taken for a beginning
    if os.path.exists(os.path.join(folder("out"), "flows.csv")):
        os.remove(os.path.join(folder("out"), "flows.csv"))
    process = subprocess.Popen(
        # Sizes taken in turn: the small flows are done long before the interrupt, the large ones
        # never.
        [PROGRAM, "--k=4", "--bytes=1MB,100GB", "--ack-every=1", "--out=" + folder("out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # It may be slow to start on a busy machine: until the first flow is in the file.
    begin = time.time()
    while time.time() - begin < 15 * SLOWER:
        time.sleep(0.1)
        path = os.path.join(folder("out"), "flows.csv")
        if os.path.exists(path) and len(open(path).readlines()) > 2:
            break
    process.send_signal(number)
    output, errors = process.communicate(timeout=20 * SLOWER)  # 100 GB would take longer
    check(process.returncode == status, "status %d\n%s%s" % (process.returncode, output, errors))
    check(
        "interrupted" in errors and "% done" in errors, "it does not say how far it got:\n" + errors
    )
    s = stats()
    check(
        s["interrupted"] and not s["completed"], "stats.json does not say that it was interrupted"
    )
    check(0 < s["share_done"] < 0.5, "share_done %s" % s["share_done"])
    check(
        s["frame_hops"] > 0 and s["simulated_time_us"] > 0 and s["data_packets"] > 0,
        "stats.json is empty",
    )
    check(len(flows()) == s["messages"] == 8, "flows.csv has %d rows" % len(flows()))
    check(len(links()) > 0, "links.csv is empty")
    with open(os.path.join(folder("out"), "network_events.log")) as file:
        check(
            file.read().rstrip().split("\n")[-1].startswith("# end "),
            "network_events.log has no end",
        )
done()
