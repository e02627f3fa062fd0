# SPDX-License-Identifier: GPL-2.0-only
"""Slowdown is at least 1: the ideal is that of the transport that runs, on an idle network."""

import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, share_of

QUIET = "--report=0 --timeline=0 --attribution=0 --progress=0"
ETHERNET = [f"--load-balancer={name}" for name in ("ecmp", "flowlet", "conga", "plb", "adaptive")]
ETHERNET += [f"--load-balancer={name}" for name in ("reps", "drill", "spray", "wcmp", "conweave")]
ETHERNET += [f"--transport={name}" for name in ("ndp", "eqds", "uet", "homa")]
ETHERNET += ["--protocol=tcp", "--protocol=udp", "--protocol=tcp --packet-mtu=9000"]
ETHERNET += ["--header-bytes=0", "--no-extension-headers --header-bytes=20", "--cc=hpcc"]
INFINIBAND = ["", "--adaptive-routing", "--vls=4", "--mtu=1024"]
NETWORKS = [
    "--topology=single-switch --hosts={hosts}",
    "--topology=fat-tree --k=4",
    "--topology=leaf-spine --leaves=3 --spines=2 --hosts-per-leaf=3",
    "--topology=torus --torus=3x3",
    "--topology=dragonfly-plus --groups=3 --hosts=12",
]


class Ideal(SystemTest):
    def least(self, line):
        run = self.run_program(f"traffic {line} {QUIET}")
        slowdowns = [row["fct_us"] / row["ideal_fct_us"] for row in run.rows("flows.csv")]
        self.assertTrue(slowdowns)
        # Of the same ideal are the classes of sizes.
        for row in run.stats.get("slowdown_by_size") or []:
            if row["p50"] is not None:
                self.assertGreaterEqual(row["p50"], min(slowdowns) - 1e-6, line)
        return min(slowdowns)

    def test_short_messages(self):
        """A WRITE of a byte with short headers is padded to Ethernet's least frame; UDP has
        headers of its own; the short last packet of a sprayed message overtakes."""
        alone = "--topology=single-switch --hosts=2"
        for line, ideal in (
            (f"--bytes=1 --header-bytes=0 {alone}", 1),
            (f"--protocol=udp --bytes=1 {alone}", 1),
            (f"--protocol=udp --bytes=40kB {alone}", 1),
            (f"--protocol=tcp --bytes=1 {alone}", None),
            ("--bytes=4097 --load-balancer=spray --topology=fat-tree --k=4 --offset=8", None),
        ):
            with self.subTest(line):
                least = self.least(f"--pattern=permutation {line}")
                self.assertGreaterEqual(least, 1 - 1e-6)  # flows.csv has six digits
                if ideal:
                    self.assertWithin(least, ideal, 2e-6)

    def test_random_shapes(self):
        for seed in share_of(range(36), 4):
            chance = random.Random(seed)
            infiniband = chance.random() < 0.2
            network = chance.choice(NETWORKS).format(hosts=chance.randint(2, 9))
            how = chance.choice(INFINIBAND if infiniband else ETHERNET)
            kind = "--fabric=ib" if infiniband else "--nic=" + chance.choice(["25GbE", "200GbE"])
            size = chance.choice([1, 63, 1000, 4095, 4096, 4097, 8193, 20001, 100001])
            line = (
                f"{kind} {network} {how} --pattern=random-permutation --bytes={size}"
                f" --seed={seed}"
            )
            with self.subTest(line):
                self.assertGreaterEqual(self.least(line), 1 - 1e-6)


if __name__ == "__main__":
    main()
