# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""--server-kinds: clusters of several kinds of servers, and dlplan's stages on them."""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, repeatable, share_of

QUIET = "--no-report --no-timeline --no-progress"
TWO = "--gpus-per-server=2 --nics-per-server=2 --tp=2 --pp=2 --micro-batch=2 --global-batch=4"
JOB = f"dltrain --model=gpt2 --seq=128 {TWO} {QUIET}"


class Simulated(SystemTest):
    def test_equal_kinds_give_the_same_bytes(self):
        """A server under another name is a kind of its own, and simulates as the first one."""
        self.write("mine.json", json.dumps({"name": "mine", "base": "dgx-a100"}))
        mine = os.path.join(self.folder, "mine.json")
        for network in share_of(["packet", "fluid", "analytic"], one_in=2):
            alike = self.run_program(f"{JOB} --server=dgx-a100 --servers=2 --network={network}")
            kinds = self.run_program(
                f"{JOB} --server-kinds=1xdgx-a100,1x{mine} --network={network}"
            )
            for name in sorted(os.listdir(alike.folder)):
                if name.endswith((".csv", ".log", "topology.json")):
                    self.assertEqual(alike.text(name), kinds.text(name), name)
            its, other = repeatable(alike.stats), repeatable(kinds.stats)
            for stats in (its, other):
                stats.pop("configuration", None)
                stats.pop("compared_with", None)  # no published step has kinds
            self.assertEqual(its, other)
        # One name is one kind: the plain cluster.
        joined = self.run_program(f"{JOB} --server-kinds=1xdgx-a100,1xdgx-a100 --network=analytic")
        plain = self.run_program(f"{JOB} --server=dgx-a100 --servers=2 --network=analytic")
        self.assertEqual(joined.stats["step_time_us"], plain.stats["step_time_us"])

    def test_a_step_is_between_those_of_its_kinds(self):
        steps = {}
        for name, cluster in (
            ("slow", "--server=dgx-a100 --servers=2"),
            ("fast", "--server=dgx-h100 --servers=2"),
            ("even", "--server-kinds=1xdgx-a100,1xdgx-h100"),
            ("by speed", "--server-kinds=1xdgx-a100,1xdgx-h100 --partition=balanced"),
        ):
            run = self.run_program(
                f"dltrain --model=gpt2-medium {TWO} --global-batch=16 {QUIET} {cluster}"
                " --network=analytic"
            )
            steps[name] = run.stats["step_time_us"]
        self.assertLess(steps["fast"], steps["by speed"])
        self.assertLess(steps["by speed"], 0.95 * steps["even"])
        self.assertLess(steps["even"], steps["slow"])

    def test_slower_nics_have_slower_cables(self):
        run = self.run_program(
            f"{JOB} --server-kinds=1xdgx-a100,1xdgx-h100 --network=packet --warmup=0"
        )
        rates = {}
        for link in json.loads(run.text("topology.json"))["links"]:
            if link["link"].startswith("server-"):
                rates.setdefault(link["link"].split("->")[0], set()).add(link["rate_gbps"])
        self.assertEqual(rates, {"server-0": {200}, "server-1": {400}})


class Planned(SystemTest):
    def test_stages_are_sized_by_speed_and_the_plan_runs(self):
        run = self.run_program(
            "dlplan --model=gpt2 --seq=256 --server-kinds=1xdgx-a100,1xdgx-h100 --global-batch=64"
            " --gpus-per-server=2 --nics-per-server=1 --fix=tp=2,virtual-stages=1,zero=1"
            " --search=pp,micro-batch --top=3 --no-progress"
        )
        plan = json.loads(run.text("plan.json"))
        self.assertEqual(plan["training"]["pp"], 2)
        blocks = [int(n) for n in plan["training"]["pipeline_layout"].split("-")]
        kinds = plan["cluster"]["server_kinds"]
        of = {kind.split("x", 1)[1]: count for kind, count in zip(kinds, blocks)}
        self.assertEqual(sum(blocks), 12)
        self.assertLess(of["dgx-a100"], of["dgx-h100"])
        self.assertIn("--pipeline-model-parallel-layout 'Et*", run.out)
        self.assertIn("node ranks in this order", run.out)
        step = self.run_program(
            f"dltrain --scenario={run.path('plan.json')} --network=analytic {QUIET}"
        ).stats["step_time_us"]
        self.assertWithin(float(run.rows("plans.csv")[0]["estimate_us"]), step, 0.1)


class Mistakes(SystemTest):
    def test_each_is_one_error(self):
        kinds = "--server-kinds=1xdgx-a100,1xdgx-h100"
        for options, says in (
            ("--server-kinds=dgx-a100", "4xdgx-a100"),
            ("--server-kinds=0xdgx-a100", "1 to 1000000"),
            ("--server-kinds=1xdgx-a100,1xdgx-h1000", "did you mean 'dgx-h100'"),
            ("--server-kinds=1xdgx-a100,1xpolaris", "--gpus-per-server=4"),
            (f"{kinds} --server=dgx-a100", "cannot be combined"),
            (f"{kinds} --servers=3", "has 2"),
            (f"{kinds} --gpus=8", "allowed: without it"),
            (f"{kinds} --tp=16", "another kind of server"),
            (f"{kinds} --fabric=ib", "several rates"),
            (f"{kinds} --offload=optimizer", "cannot be combined"),
            (f"{kinds} --auto-parallel=semi", "cannot be combined"),
            (f"{kinds} --dtype=fp8", "A100 has no fp8"),
        ):
            with self.subTest(options):
                self.refuse(f"dltrain --model=gpt2-medium {options}", says)


if __name__ == "__main__":
    main()
