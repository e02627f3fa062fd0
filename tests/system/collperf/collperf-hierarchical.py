# SPDX-License-Identifier: GPL-2.0-only
"""Collectives inside a server and over two levels, from outside: what ports and network interfaces
allow is reached.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import HEADERS, MTU, SystemTest, main, nccl_table

MIB, GIB = 1 << 20, 1 << 30

# NVLink, GB/s a GPU and direction: rate, and the share that messages get (server-presets.cc, from
# NCCL's topo.h).
NVLINK = {
    "dgx-a100": 300 * 0.8,
    "dgx-h100": 450 * 0.824,
    "dgx-b200": 900 * 0.75,
    "dgx-1-v100": 150 * 0.8,
}
SIMPLE_US = 3.4


class Collperf(SystemTest):
    def row(self, options):
        alone = "--library=none --no-report --no-timeline --no-attribution "
        run = self.run_program("collperf " + alone + options)
        return nccl_table(run.out)[0]


class InsideAServer(Collperf):
    def test_all_to_all_fills_all_ports(self):
        # (n - 1) S / n through every port in both directions at once. (The model that reserved
        # ports in the order of calls took three times that.)
        for server, rate in NVLINK.items():
            for ranks in (3, 5, 8):
                row = self.row(
                    f"--op=alltoall --ranks={ranks} --servers=1"
                    f" --gpus-per-server={ranks} --server={server} -b 1G -e 1G"
                )
                expected = GIB * (ranks - 1) / ranks / rate / 1e3 + SIMPLE_US
                self.assertWithin(row["time_us"], expected, 1e-3, f"{server}, {ranks} GPUs")

    def test_ring_all_reduce_is_a_chain(self):
        # 2 (n - 1) messages of S / n, one after the other; small ones are LL's: 0.6 us and twice
        # the bytes.
        for size in (64 * 1024, 64 * MIB, GIB):
            row = self.row(
                "--op=all_reduce --ranks=8 --servers=1 --gpus-per-server=8 --server=dgx-a100 -b"
                f" {size} -e {size}"
            )
            chunk = size / 8 / NVLINK["dgx-a100"] / 1e3
            self.assertWithin(
                row["time_us"], 14 * min(0.6 + 2 * chunk, SIMPLE_US + chunk), 1e-3, size
            )

    def test_a_server_of_72(self):
        row = self.row(
            "--op=alltoall --ranks=72 --servers=1 --gpus-per-server=72 --server=dgx-b200 -b 1G"
            " -e 1G"
        )
        self.assertWithin(
            row["time_us"], GIB * 71 / 72 / NVLINK["dgx-b200"] / 1e3 + SIMPLE_US, 1e-3
        )


class TwoLevels(Collperf):
    """Phases of the two levels overlap: with N loops a period takes the slower of the two."""

    SIZE = 256 * MIB

    # Of a packet on the line: RoCEv2's, or LRH 8, BTH 12, ICRC 4, VCRC 2 and two delimiters
    # (docs/infiniband.md: 4,096 of 4,124 B).
    OVERHEAD = {"400GbE": HEADERS, "NDR": 28}

    def times(self, op, servers, gpus, nics, nic, size):
        """Times of all phases inside and between servers, us, by the formulas in
        collectives/core/cost.h.
        """
        twice = 2 if op == "all_reduce" else 1
        inside = twice * size * (gpus - 1) / gpus / NVLINK["dgx-h100"] / 1e3
        payload = MTU / (MTU + self.OVERHEAD[nic])
        between = twice * size * (servers - 1) / servers / (nics * 400 / 8 * payload) / 1e3
        return inside, between

    def check(self, op, servers, gpus, nics, nic):
        inside, between = self.times(op, servers, gpus, nics, nic, self.SIZE)
        row = self.row(
            f"--op={op} --algorithm=hierarchical"
            f" --ranks={servers * gpus} --servers={servers} --gpus-per-server={gpus} --nics-per"
            f"-server={nics} --server=dgx-h100"
            f" --nic={nic} --cc=none --topology=single-switch -b {self.SIZE} -e {self.SIZE}"
        )
        return row["time_us"], inside, between

    def test_time_tends_to_the_slower_level(self):
        for op in ("all_reduce", "reduce_scatter", "all_gather"):
            # Both levels about as fast, the network slower, NVLink slower; on InfiniBand too.
            for servers, gpus, nics, nic in (
                (2, 4, 2, "400GbE"),
                (4, 8, 8, "400GbE"),
                (4, 8, 8, "NDR"),
                (3, 8, 1, "NDR"),
                (8, 2, 2, "400GbE"),
            ):
                took, inside, between = self.check(op, servers, gpus, nics, nic)
                where = (
                    f"{op}, {servers} x {gpus}, {nics} x {nic}: {took} of {inside} inside,"
                    f" {between} between"
                )
                self.assertGreater(took, max(inside, between), where)
                # Well below the sum: what one loop, or loops without overlap, take.
                self.assertLess(took, max(inside, between) + 0.45 * min(inside, between), where)


if __name__ == "__main__":
    main()
