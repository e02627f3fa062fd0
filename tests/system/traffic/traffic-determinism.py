# SPDX-License-Identifier: GPL-2.0-only
"""The same seed gives the same bytes, but for the keys of stats.json that say so; another seed
gives others.
"""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import TRAFFIC_FILES, SystemTest, main

RUN = (
    "traffic --k=4 --pattern=all-to-all --bytes=100kB,1MB --start-jitter=100us --ack-every=4"
    " --seed="
)


class Determinism(SystemTest):
    def files(self, seed):
        run = self.run_program(RUN + seed)
        result = {}
        for name in sorted(os.listdir(run.folder)):
            with open(run.path(name), "rb") as file:
                result[name] = file.read()
        stats = json.loads(result["stats.json"])
        for key in stats["nondeterministic"]:
            stats.pop(key, None)
        result["stats.json"] = json.dumps(stats)
        return result

    def test_a_seed_decides(self):
        first, second, other = self.files("7"), self.files("7"), self.files("8")
        self.assertEqual(sorted(first), TRAFFIC_FILES)
        for name in first:
            self.assertTrue(first[name] == second[name], name)
        self.assertNotEqual(first["flows.csv"], other["flows.csv"])


if __name__ == "__main__":
    main()
