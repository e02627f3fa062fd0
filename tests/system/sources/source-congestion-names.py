# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 30
"""NICs, queue pairs, ports, links and switches know no congestion control by name: they go through
RdmaCongestionOps. Comments and texts for the user may say where a number comes from.
"""

import glob
import os
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, main

MODULE = os.path.join(ROOT, "contrib/rdma")
CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)


class CongestionNames(unittest.TestCase):
    def test_devices_know_no_congestion_control(self):
        laws = [
            os.path.basename(path)[: -len("-congestion-ops.h")]
            for path in glob.glob(MODULE + "/congestion/*-congestion-ops.h")
        ]
        # "none" is what a NIC has if nobody says otherwise; "ib" is in "attribute".
        laws = [law for law in laws if law not in ("none", "rdma", "ib")] + ["ibcongestion"]
        self.assertGreater(len(laws), 4)
        paths = [
            path
            for folder in ("link", "nic", "switch", "transport")
            for path in glob.glob(f"{MODULE}/{folder}/rdma-*.*")
        ]
        self.assertGreaterEqual(len(paths), 60)
        found = []
        for path in sorted(paths):
            with open(path, encoding="utf-8") as file:
                text = CODE.sub(lambda match: "\n" * match[0].count("\n"), file.read())
            for number, line in enumerate(text.split("\n"), 1):
                if any(law in line.lower() for law in laws):
                    found.append(f"{os.path.basename(path)}:{number}: {line.strip()}")
        self.assertEqual(found, [])


if __name__ == "__main__":
    main()
