# ctest: TIMEOUT 30
# NICs, queue pairs, ports, links and switches know no congestion control by name: what one needs
# goes through RdmaCongestionOps. Comments and texts for the user may say where a number comes from.
import glob
import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT

MODULE = os.path.join(ROOT, "contrib/rdma")
ALGORITHMS = [
    os.path.basename(f)[: -len("-congestion-ops.h")]
    for f in glob.glob(MODULE + "/congestion/*-congestion-ops.h")
]
# none is what a NIC has if nobody says otherwise; "ib" is in "attribute"
ALGORITHMS = [a for a in ALGORITHMS if a not in ("none", "rdma", "ib")]
if len(ALGORITHMS) < 4:
    sys.exit("FAILED: only %s found" % ALGORITHMS)
CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)
found = []
paths = [
    path
    for folder in ("link", "nic", "switch", "transport")
    for path in glob.glob(f"{MODULE}/{folder}/rdma-*.*")
]
if len(paths) < 60:
    sys.exit("FAILED: only %d files" % len(paths))
for path in sorted(paths):
    with open(path) as file:
        text = CODE.sub(lambda m: "\n" * m.group().count("\n"), file.read())
    for number, line in enumerate(text.split("\n"), 1):
        for name in ALGORITHMS + ["ibcongestion"]:
            if name in line.lower():
                found.append("%s:%d: %s" % (os.path.basename(path), number, line.strip()))
print("\n".join(found) or "passed")
sys.exit(1 if found else 0)
