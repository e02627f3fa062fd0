# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 PROCESSORS 2
"""All layouts of small jobs in packets: how far is the layout with the least estimate from the
best?

    dlplan-exhaustive.py --print      the regret and the spread of each job
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, long_test, main, taken

PRINT = taken("--print")
# One server and several, NICs for each GPU and one for all, 8 to 16 GPUs.
JOBS = [
    "--model=gpt2-medium --server=dgx-h100 --servers=1 --seq=1024 --global-batch=32",
    "--model=gpt2 --server=dgx-a100 --servers=2 --seq=512 --global-batch=64",
    "--model=bloom-560m --gpu=V100 --gpus-per-server=4 --nics-per-server=1 --servers=3 --seq=512"
    " --global-batch=48",
]
ALL = " --fused-attention --search=tp,pp,virtual-stages,micro-batch,zero"


class Exhaustive(SystemTest):
    def regret(self, job):
        """Step of the layout with the least estimate over the least step, in packets."""
        run = self.run_program(
            f"dlplan {job} --top=1000 --verify=1000 --verify-network=packet --no-report"
            " --no-progress"
        )
        rows = run.rows("plans.csv")
        planning = run.stats["planning"]
        self.assertEqual(planning["pruned"], 0)
        self.assertEqual(len(rows), planning["estimated"])
        self.assertTrue(all(row["verified_us"] for row in rows), job)
        pick = min(rows, key=lambda row: row["estimate_us"])
        best = min(rows, key=lambda row: row["verified_us"])
        ratios = sorted(row["verified_us"] / row["estimate_us"] for row in rows)
        regret = pick["verified_us"] / best["verified_us"]
        if PRINT:
            print(
                f"{job}\n  {len(rows)} layouts, regret {regret:.4f}, packets over estimate"
                f" {ratios[0]:.2f} to {ratios[-1]:.2f}, median {ratios[len(ratios) // 2]:.3f}\n"
                f"  pick {pick['options']}\n  best {best['options']}",
                file=sys.stderr,
            )
        return regret

    @long_test
    def test_picks_are_the_best(self):
        for job in JOBS:
            self.assertLess(self.regret(job + ALL), 1.02, job)

    def test_a_few_layouts(self):
        self.assertLess(self.regret(JOBS[0] + " --search=tp,zero --fix=micro-batch=4"), 1.02)


if __name__ == "__main__":
    main()
