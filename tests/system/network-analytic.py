# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""--network=analytic: what all networks without packets do; links between switches have room."""

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


class NetworkTest(SystemTest):
    def test_with_packets_nothing_is_new(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=3 --network=packet" + _packetless.PacketlessTest.quick
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
