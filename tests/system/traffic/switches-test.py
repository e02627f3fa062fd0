# SPDX-License-Identifier: GPL-2.0-only
"""--marker, --buffer-policy and --cut-through: each name runs and is told, closed forms, what other
options say of them, errors."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

SMALL = " --report=0 --timeline=0"
INCAST = (
    "traffic --topology=single-switch --hosts=5 --pattern=incast --fan-in=4" + SMALL
)
CHAIN = (
    "traffic --topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=1 --hosts=2"
    " --pattern=permutation --bytes=1024 --mtu=1024" + SMALL
)


class Switches(SystemTest):
    def names(self, what):
        run = self.run_program(f"traffic --list={what}")
        return [line.split()[0] for line in run.out.splitlines() if line.startswith("  ")]

    def test_each_marker_runs_and_is_told(self):
        markers = self.names("markers")
        self.assertEqual(markers, ["codel", "phantom", "pie", "red-average", "step", "tcn"])
        for marker in markers:
            with self.subTest(marker=marker):
                run = self.run_program(INCAST + f" --bytes=4MB --marker={marker}")
                stats = run.stats
                self.assertEqual(stats["flows"]["arrived"], 4)
                self.assertGreater(stats["ecn_marks"], 0)
                self.assertEqual(stats["configuration"]["fabric"]["marker"], marker)

    def test_each_policy_runs_and_is_told(self):
        policies = self.names("buffer-policies")
        self.assertEqual(policies, ["abm", "credit", "dynamic", "fair", "headroom-pools", "static"])
        for policy in policies:
            with self.subTest(policy=policy):
                stats = self.run_program(INCAST + f" --buffer-policy={policy} --cc=none").stats
                self.assertEqual(stats["flows"]["arrived"], 4)
                self.assertEqual(stats["configuration"]["fabric"]["buffer_policy"], policy)
                self.assertGreater(stats["pfc_pauses"], 0)
        # The default is dynamic, and is told only if it is asked for.
        fabric = self.run_program(INCAST).stats["configuration"]["fabric"]
        self.assertFalse({"marker", "buffer_policy", "cut_through"} & set(fabric))

    def test_cut_through_takes_less_by_what_it_does_not_store(self):
        """Of 1,122 B on the line, three switches of 100 Gb/s wait for 72 B: 3 x 1,050 x 80 ps."""
        times = {}
        for cut in ("", " --cut-through"):
            (row, _) = self.run_program(CHAIN + cut).rows("flows.csv")
            times[cut] = row["fct_us"]
        self.assertAlmostEqual(times[""] - times[" --cut-through"], 0.252, places=6)

    def test_the_plan_names_links_before_which_frames_are_stored(self):
        plan = self.run_program(CHAIN + " --cut-through --dry-run").out
        self.assertRegex(plan, r"switches +pipeline 500 ns cut-through")
        self.assertRegex(plan, r"stored before +none")
        faster = CHAIN + " --cut-through --fabric-rate=400Gbps --dry-run"
        self.assertRegex(
            self.run_program(faster).out,
            r"stored before +2 of 6: leaf-0->spine-0, leaf-1->spine-0",
        )
        self.assertNotIn("stored before", self.run_program(CHAIN + " --dry-run").out)
        for marker, words in (("codel", "ECN by codel"), ("step", "ECN by step, K 400kB")):
            run = self.run_program(CHAIN + f" --marker={marker} --dry-run")
            self.assertIn(words, " ".join(run.out.split()))

    def test_what_is_wrong(self):
        for line, *words in (
            ("--marker=codle", "--marker=codle", "'codel'"),
            ("--buffer-policy=fari", "--buffer-policy=fari", "'fair'"),
            ("--fabric=ib --marker=pie", "--marker=pie", "--fabric=roce"),
            ("--fabric=ib --buffer-policy=abm", "--buffer-policy=abm", "--fabric=roce"),
            ("--fabric=ib --cut-through", "--cut-through", "always cut through"),
            ("--network=fluid --cut-through", "--cut-through", "--network=packet"),
            ("--compat=hpcc --marker=pie", "--marker=pie", "--ecn-behind"),
            ("--ns3::RdmaSwitch::Marker=cdel", "ns3::RdmaSwitch::Marker", "did you mean codel?"),
            (
                "--ns3::RdmaSwitch::TrimPackets=8",
                "ns3::RdmaSwitch::TrimPackets",
                "'go-back-n' knows no trimmed packets",
            ),
            (
                "--transport=irn --no-pfc --ns3::RdmaSwitch::TrimPackets=8",
                "ns3::RdmaSwitch::TrimPackets",
                "'selective-repeat' knows no trimmed packets",
            ),
        ):
            with self.subTest(line=line):
                self.refuse("traffic --topology=single-switch --hosts=4 " + line, *words)

    def test_what_has_no_effect_is_said(self):
        run = self.run_program(INCAST + " --marker=codel --ecn-kmin=1MB --dry-run")
        self.assertIn("--ecn-kmin has no effect with --marker=codel", run.err + run.out)
        run = self.run_program(INCAST + " --marker=codel --no-ecn --dry-run")
        self.assertIn("--marker has no effect with --no-ecn", run.err + run.out)


if __name__ == "__main__":
    main()
