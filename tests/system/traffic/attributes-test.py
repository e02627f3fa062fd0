# SPDX-License-Identifier: GPL-2.0-only
"""What is given to a run and not used by it is told: attributes of parts that it does not choose,
priorities that a transport chooses itself. Options that print and end leave no folder.
"""

import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

LINE = "traffic --k=4 --bytes=10kB --dry-run"


class Unused(SystemTest):
    def test_attributes_of_parts_that_a_run_does_not_choose(self):
        for attribute, chosen, why in (
            ("PieMarker::Target=1us", "--marker=pie", "there is no marker (--marker)"),
            ("FqQueueDisc::Queues=4", "--queue-disc=fq", "the queue discipline is drr"),
            (
                "HeadroomPoolsBufferPolicy::Pools=2",
                "--buffer-policy=headroom-pools",
                "the buffer policy is dynamic (--buffer-policy)",
            ),
            (
                "SprayLoadBalancer::Order=round-robin",
                "--load-balancer=spray",
                "the load balancer is ecmp (--load-balancer)",
            ),
            ("RepsPathSelector::ExplorePackets=4", "--load-balancer=reps", "(--load-balancer)"),
            (
                "SwiftCongestionOps::BaseTarget=50us",
                "--cc=swift",
                "the congestion control is dcqcn (--cc)",
            ),
            (
                "HomaParameters::Overcommitment=2",
                "--transport=homa",
                "the transport is rc (--transport)",
            ),
        ):
            given = f" --ns3::{attribute}"
            name = given.split("=", maxsplit=1)[0].strip()
            with self.subTest(given):
                run = self.run_program(LINE + given)
                self.assertIn(f"{name} has no effect: ", run.err + run.out)
                self.assertIn(why, run.err + run.out)
                run = self.run_program(f"{LINE}{given} {chosen}")
                self.assertNotIn("has no effect", run.err + run.out)
        # What some place of the network has is used.
        pie = " --ns3::PieMarker::Target=1us --set=core:marker=pie"
        run = self.run_program(LINE + pie)
        self.assertNotIn("has no effect", run.err + run.out)
        run = self.run_program(LINE + " --set=core:ns3::PieMarker::Target=1us")
        self.assertIn("--set=core:ns3::PieMarker::Target=1us has no effect", run.err + run.out)
        # Classes that others derive from.
        run = self.run_program(LINE + " --ns3::EcmpLoadBalancer::HashSeed=3 --load-balancer=wcmp")
        self.assertNotIn("has no effect", run.err + run.out)

    def test_priorities_that_the_transport_chooses(self):
        flows = self.write("own.csv", "start_ns,src,dst,bytes,priority\n0,0,1,1000,2\n")
        line = f"traffic --topology=single-switch --hosts=2 --flows={flows} --dry-run"
        self.run_program(line)
        self.refuse(f"{line} --transport=homa", "column priority=2", "Homa", "allowed: without")
        plain = self.write("none.csv", "start_ns,src,dst,bytes\n0,0,1,1000\n")
        self.run_program(line.replace(flows, plain) + " --transport=homa")

    def test_options_that_print_leave_no_folder(self):
        for option in ("--PrintAttributes=RdmaPort", "--PrintGlobals", "--PrintTypeIds"):
            with self.subTest(option):
                run = self.run_program(f"traffic --k=4 {option}")
                self.assertNotEqual(run.out, "")
                self.assertFalse(os.path.exists(run.folder))


if __name__ == "__main__":
    main()
