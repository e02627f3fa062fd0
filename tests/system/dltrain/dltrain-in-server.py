# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 240
"""--in-server=formula: collectives inside a server without their messages."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0 --warmup=0"


class InServer(SystemTest):
    def both(self, line):
        """The same run with messages and by formula."""
        runs = [
            self.run_program(f"dltrain {line} --in-server={how}{QUIET}")
            for how in ("messages", "formula")
        ]
        return [run.stats for run in runs]

    def test_moves_the_same_bytes_in_nearly_the_same_time(self):
        # Idle links inside servers: what is left between the two is what the formula misses
        # (docs/validation.md: 3% and more where pipelines fill), of a part of the step.
        for line in (
            "--model=gpt2-medium --servers=1 --gpus-per-server=8 --tp=8",
            "--model=gpt2 --servers=3 --gpus-per-server=4 --tp=2 --zero=1 --network=analytic",
            "--model=gpt2-medium --servers=2 --gpus-per-server=6 --tp=2 --cp=3 --seq=1020"
            " --network=analytic",
            "--model=gpt2 --servers=2 --gpus-per-server=8 --tp=4 --sequence-parallel",
            "--model=gpt2-medium --fused-attention=0 --server=dgx-h100 --servers=2 --tp=8"
            " --fabric=ib",
            "--model=gpt2 --servers=2 --gpus-per-server=4 --tp=4 --library=none",
        ):
            with self.subTest(line):
                messages, formula = self.both(line)
                self.assertEqual(messages["bytes_sent_per_gpu"], formula["bytes_sent_per_gpu"])
                ratio = formula["step_time_us"] / messages["step_time_us"]
                self.assertLess(abs(ratio - 1), 0.05, ratio)
                # `messages` works lone collectives out at once, which takes as few events.
                singly = self.run_program(f"dltrain {line} --in-server=one-by-one{QUIET}").stats
                self.assertLess(formula["events"], singly["events"])
                if "critical_path" in formula:
                    path = formula["critical_path"]
                    self.assertAlmostEqual(sum(path["parts_us"].values()), path["total_us"], 3)

    def test_threads_and_engines_agree(self):
        line = "dltrain --model=gpt2 --servers=4 --gpus-per-server=4 --tp=2 --in-server=formula"
        line += QUIET
        runs = [
            self.run_program(line + more).rows("flows.csv")
            for more in (" --threads=1", " --threads=2", " --engine=ns3")
        ]
        self.assertGreater(len(runs[0]), 0)
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])

    def test_all_by_formula(self):
        # Alone on the NICs, a ring takes nearly what its messages take, without them; 2 x 4 groups
        # of single GPUs share one NIC, and an all-to-all its own.
        for line in (
            "--model=gpt2-medium --servers=4 --gpus-per-server=1 --algorithm=ring",
            "--model=gpt2-medium --servers=4 --gpus-per-server=4 --tp=4",
            "--model=gpt2-medium --servers=4 --gpus-per-server=4 --nics-per-server=4 --tp=4",
        ):
            with self.subTest(line):
                messages, formula = (
                    self.run_program(f"dltrain {line} --network=analytic {how}{QUIET}").stats
                    for how in ("--in-server=one-by-one", "--collective-times=formula")
                )
                self.assertEqual(messages["bytes_sent_per_gpu"], formula["bytes_sent_per_gpu"])
                ratio = formula["step_time_us"] / messages["step_time_us"]
                self.assertLess(abs(ratio - 1), 0.15, ratio)
                self.assertLess(formula["events"], messages["events"] / 2)
        line = "dltrain --model=gpt2 --servers=4 --gpus-per-server=4 --network=analytic"
        line += " --collective-times=formula" + QUIET
        runs = [
            self.run_program(line + more).stats["step_time_us"]
            for more in ("", " --engine=ns3")
        ]
        self.assertEqual(runs[0], runs[1])
        for more, words in (
            ("", ["--collective-times", "--network=analytic"]),
            (" --network=analytic --step-latency=1us", ["--step-latency"]),
        ):
            run = self.run_program(
                f"dltrain --model=gpt2 --collective-times=formula{more}", status=2
            )
            for word in words:
                self.assertIn(word, run.err)

    def test_refuses_what_has_no_formula(self):
        run = self.run_program(
            "dltrain --model=gpt2 --in-server=formula --step-latency=1us", status=2
        )
        self.assertIn("--step-latency", run.err)
        run = self.run_program("dltrain --model=gpt2 --in-server=formulae", status=2)
        self.assertIn("did you mean 'formula'?", run.err)


if __name__ == "__main__":
    main()
