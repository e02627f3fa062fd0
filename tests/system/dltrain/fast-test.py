# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 240
"""--fidelity=fast: collectives and messages of pipelines that come again."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0"


class Fast(SystemTest):
    def both(self, line):
        return [
            self.run_program(f"{line} --fidelity={fidelity}{QUIET}")
            for fidelity in ("packet", "fast")
        ]

    def test_steps_are_those_of_packets(self):
        # `most` is the largest error of the step. Where nothing collides it is what pipelines and
        # data parallelism do to each other's queues; where groups collide, steps of packets differ
        # by as much. The stated error is never below the true one here.
        for line, most, fewer in (
            # Eight groups that are alike, a rail each.
            (
                "dltrain --model=gpt2-medium --tp=4 --zero=1 --servers=6 --gpus-per-server=4"
                " --nics-per-server=4 --topology=rail-optimized --steps=2",
                1e-4,
                5,
            ),
            # Parameters come for the forward pass, and gradients go while those of the backward
            # pass come; several micro-batches.
            (
                "dltrain --model=gpt2 --zero=3 --servers=5 --gpus-per-server=2 --accumulation=2"
                " --steps=3",
                1e-3,
                1.1,
            ),
            # Messages of a pipeline and buckets at the same NICs.
            (
                "dltrain --model=gpt2 --pp=4 --zero=1 --servers=8 --gpus-per-server=1"
                " --topology=leaf-spine --global-batch=64 --steps=2",
                3e-3,
                1.5,
            ),
            # Groups that collide between switches: rounds.
            (
                "dltrain --model=gpt2 --tp=2 --zero=1 --servers=6 --gpus-per-server=2"
                " --nics-per-server=2 --topology=leaf-spine --leaves=3 --placement=random"
                " --nic=25GbE --steps=5",
                0.05,
                1.4,  # two of six steps are recalled
            ),
            # Groups of context and data parallelism that meet at NICs, and inside servers.
            (
                "dltrain --model=gpt2 --cp=4 --context-exchange=all-gather --zero=1 --servers=4"
                " --gpus-per-server=4 --nics-per-server=2 --topology=rail-optimized --steps=4",
                0.02,
                1.1,
            ),
        ):
            with self.subTest(line):
                packet, fast = (run.stats for run in self.both(line))
                ratio = fast["step_time_us"] / packet["step_time_us"]
                its = fast["fast_forward"]
                self.assertLess(abs(ratio - 1), most)
                self.assertLessEqual(abs(ratio - 1), its["error"])
                self.assertGreater(packet["frame_hops"], fewer * fast["frame_hops"])
                self.assertEqual(its["collectives"], its["in_packets"] + its["recalled"])
                self.assertEqual(packet["bytes_sent_per_gpu"], fast["bytes_sent_per_gpu"])
                # Frames that were sent and those that were not are those of packets, but for what
                # was posted when it was recalled, and ACKs that are asked for more seldom.
                hops = fast["frame_hops"] + its["frame_hops_skipped"]
                self.assertLess(abs(hops / packet["frame_hops"] - 1), 0.05)
                # The busiest links have what was not sent, too: steps of one length.
                busy = [max(link["utilization"] for link in s["links"]) for s in (packet, fast)]
                self.assertLess(abs(busy[1] / busy[0] - 1), 0.1)

    def test_nothing_is_recalled_beside_what_is_not_followed(self):
        # Exchanges of context parallelism, sums in switches, workers that do not wait.
        for more in (
            "--cp=2 --context-exchange=ring --servers=4 --gpus-per-server=1",
            "--servers=4 --gpus-per-server=1 --algorithm=all_reduce=sharp --fabric=ib --zero=0",
            "--strategy=downpour --servers=4 --gpus-per-server=1",
        ):
            with self.subTest(more):
                packet, fast = self.both(f"dltrain --model=gpt2 --steps=3 {more}")
                self.assertEqual(packet.stats["step_times_us"], fast.stats["step_times_us"])
                self.assertTrue(fast.stats["fast_forward"]["untracked"])
                self.assertEqual(fast.stats["fast_forward"]["recalled"], 0)
                self.assertIn("Fast             nothing: some messages", fast.out)

    def test_links_carry_what_was_not_sent(self):
        line = (
            "dltrain --model=gpt2 --zero=1 --servers=4 --gpus-per-server=1 --nic=100GbE --steps=2"
            " --topology=leaf-spine --leaves=2"
        )
        # Utilization, summed over rows of 100 us.
        sums = []
        for run in self.both(line + " --link-interval=100us"):
            of_links = {}
            for row in run.rows("links.csv"):
                of_links.setdefault(row["link"], []).append(float(row["utilization"]))
            sums.append({link: sum(its) for link, its in of_links.items()})
        packet, fast = sums
        self.assertEqual(packet.keys(), fast.keys())
        for link, used in packet.items():
            self.assertLess(abs(fast[link] - used), 0.02 * used + 1, link)

    def test_threads_and_engines_agree(self):
        line = (
            "dltrain --model=gpt2 --tp=2 --pp=2 --zero=1 --servers=8 --gpus-per-server=2"
            " --nics-per-server=2 --topology=fat-tree --global-batch=32 --steps=2"
            " --fidelity=fast" + QUIET
        )
        runs = [
            self.run_program(line + more)
            for more in (" --threads=1", " --threads=2", " --threads=4", " --engine=ns3")
        ]
        for name in ("steps.csv", "flows.csv", "links.csv", "step_collectives.csv"):
            rows = [run.rows(name) for run in runs]
            self.assertGreater(len(rows[0]), 0)
            for other in rows[1:]:
                self.assertEqual(rows[0], other)

    def test_what_needs_packets_is_refused(self):
        for program, more in (
            ("dltrain", "--pcap=server-0"),
            ("dltrain", "--fault=nic-down,at=1ms,on=server-0"),
            ("dltrain", "--background=pattern=poisson,load=0.1"),
            ("dltrain", "--load-balancer=spray"),
            ("dltrain", "--qps-per-connection=2"),
            ("dltrain", "--set=edge:ecn-kmin=100kB"),
            ("collperf", "--mpi-ranks=2"),
        ):
            with self.subTest(more):
                self.refuse(f"{program} --fidelity=fast {more}", "--fidelity", "allowed")
        self.refuse("dltrain --fast-error=0.02", "--fast-error=0.02: needs --fidelity=fast")
        self.refuse("dltrain --fidelity=fast --network=fluid", "--network=fluid", "packet")


if __name__ == "__main__":
    main()
