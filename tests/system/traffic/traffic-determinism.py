# The same seed gives the same bytes, but for the keys of stats.json that say so; another seed gives
# others.
import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import TRAFFIC_FILES
from _traffic import check, done, folder, run

ARGUMENTS = [
    "--k=4",
    "--pattern=all-to-all",
    "--bytes=100kB,1MB",
    "--start-jitter=100us",
    "--ack-every=4",
]


def files(out):
    result = {}
    for name in sorted(os.listdir(folder(out))):
        with open(os.path.join(folder(out), name), "rb") as file:
            result[name] = file.read()
    stats = json.loads(result["stats.json"])
    for key in stats["nondeterministic"]:
        stats.pop(key, None)
    result["stats.json"] = json.dumps(stats)
    return result


run(*ARGUMENTS, "--seed=7", out="first")
run(*ARGUMENTS, "--seed=7", out="second")
run(*ARGUMENTS, "--seed=8", out="other")
first, second, other = files("first"), files("second"), files("other")
check(sorted(first) == TRAFFIC_FILES, "files: %s" % sorted(first))
for name in first:
    check(first[name] == second[name], name + " differs between two runs of one seed")
check(first["flows.csv"] != other["flows.csv"], "flows.csv does not depend on the seed")
done()
