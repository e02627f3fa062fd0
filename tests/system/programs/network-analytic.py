# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""--network=analytic: what all networks without packets do; links between switches have room."""

import sys

sys.path.append(sys.path[0] + "/../shared")
import _packetless
from _system_test import SystemTest, main


class AnalyticTest(_packetless.PacketlessTest):
    network = "analytic"

    def test_links_between_switches_have_room_for_everything(self):
        # Eight hosts of a leaf send at once over one cable of 100 Gb/s, each as if alone.
        run = self.run_program(
            "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=8 --spines=1"
            " --pattern=permutation --offset=8 --bytes=1MB --network=analytic" + self.quick
        )
        for row in run.rows("flows.csv"):
            self.assertEqual(row["fct_us"], row["ideal_fct_us"])

    def test_a_slow_path_takes_its_time_once(self):
        # 1 MB over links of 5 Gb/s, and at the same time 1 MB to a neighbour at the NIC's 10 Gb/s:
        # the first takes no longer than alone, as its NIC has time for both meanwhile.
        flows = self.write(
            "flows.csv", "start_us,src,dst,bytes\n0,4,7,1000000\n20.5,4,5,1000000\n"
        )
        run = self.run_program(
            "traffic --topology=fat-tree --k=4 --oversubscription=4 --nic=10GbE"
            f" --queue-pairs=per-pair --flows={flows} --network=analytic" + self.quick
        )
        slow = [row for row in run.rows("flows.csv") if row["dst"] == "server-7"][0]
        self.assertLess(slow["fct_us"], 1.01 * slow["ideal_fct_us"])


class CriticalPathTest(SystemTest):
    def test_the_path_of_a_step_is_told_without_packets(self):
        """Its parts add up to the step, whatever the shape, and the slow GPU is named."""
        for network in ("analytic", "fluid"):
            for shape, waits in (  # for the slow one longer than for any message
                ("--gpus=6 --gpus-per-server=3 --zero=3", False),
                ("--gpus=6 --gpus-per-server=1 --nic=25GbE", True),
                ("--gpus=8 --gpus-per-server=2 --pp=4 --accumulation=3", True),
                ("--gpus=4 --gpus-per-server=2 --tp=2 --fabric=ib --nic=HDR", False),
            ):
                with self.subTest(network=network, shape=shape):
                    run = self.run_program(
                        f"dltrain --model=gpt2 --seq=64 --network={network} {shape}"
                        " --slow-gpu=2:3 --report=0 --timeline=0"
                    )
                    path = run.stats["critical_path"]
                    self.assertWithin(sum(path["parts_us"].values()), path["total_us"], 1e-9)
                    step = run.stats["step_times_us"][-1]
                    self.assertWithin(path["total_us"] - path["before_step_us"], step, 1e-9)
                    self.assertIn("not divided further", run.out)
                    if waits:
                        self.assertRegex(run.out, r"longest wait .* for GPU 2,")
                    self.assertGreater(path["parts_us"]["straggling"], 0)


class NetworkTest(SystemTest):
    def test_with_packets_nothing_is_new(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=3 --network=packet"
            + _packetless.PacketlessTest.quick
        )
        self.assertNotIn("network", run.stats)
        self.assertNotIn("network", run.stats["configuration"]["fabric"])
        self.assertLessEqual({"drops", "links", "frame_hops"}, set(run.stats))

    def test_another_name_is_refused(self):
        self.refuse(
            "collperf --network=analitic",
            "--network",
            "analitic",
            "packet, fluid, analytic",
            "analytic",
        )


if __name__ == "__main__":
    main()
