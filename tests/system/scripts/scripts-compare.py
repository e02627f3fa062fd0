# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""scripts/compare: runs, table and picture of one scenario under several congestion controls; what
it refuses.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, long_test, main, share_of

try:
    import matplotlib  # noqa: F401
    import pandas  # noqa: F401
except ImportError:
    matplotlib = None

SCENARIO = {
    "program": "traffic",
    "traffic": {
        "pattern": "poisson",
        "hosts": 8,
        "load": 0.5,
        "sizes": "fb-hadoop",
        "duration": "500us",
        "warm_up": "50us",
        "incast_load": 0.2,
        "incast_fan_in": 7,
        "incast_bytes": "100kB",
    },
    "network": {"topology": "single-switch"},
}


class CompareTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.write("job.json", SCENARIO)

    def compare(self, *words, status=0, environment=None):
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "scripts", "compare"), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=200,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DLTRAIN_ROOT": ROOT, **(environment or {})},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def rows(self, folder):
        with open(
            os.path.join(self.folder, folder, "compare.csv"), newline="", encoding="utf-8"
        ) as file:
            return {row["run"]: row for row in csv.DictReader(file)}

    def test_table_without_matplotlib(self):
        """The table needs Python alone; the picture is left out, with a line that says why."""
        os.mkdir(os.path.join(self.folder, "none"))
        self.write("none/matplotlib.py", "raise ImportError('No module named matplotlib')\n")
        none = {"PYTHONPATH": os.path.join(self.folder, "none")}
        words = ["job.json", "--cc=none", "--duration=50us", "--out=o"]
        done = self.compare(*words, environment=none)
        self.assertIn("compare: no picture: No module named matplotlib; type: ", done.stderr)
        self.assertIn("\nnone ", done.stdout)
        self.assertEqual(list(self.rows("o")), ["none"])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "o", "compare.png")))
        refused = self.compare(*words, "--format=png", status=2, environment=none)
        self.assertIn("compare: error: No module named matplotlib", refused.stderr)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_table_and_picture_are_what_the_runs_say(self):
        done = self.compare(
            "job.json",
            "--cc=dcqcn,none,none+pfc=0+buffer=100MB",
            "--size-bins=10kB,100kB",
            "--out=o",
            "--format=png,svg",
        )
        out = os.path.join(self.folder, "o")
        rows = self.rows("o")
        self.assertEqual(list(rows), ["dcqcn", "none", "none+pfc=0+buffer=100MB"])
        for number, (label, row) in enumerate(rows.items(), 1):
            with open(
                os.path.join(out, "runs", str(number), "stats.json"), encoding="utf-8"
            ) as file:
                stats = json.load(file)
            self.assertEqual(stats["configuration"]["fabric"]["cc"], label.split("+")[0])
            classes = [
                r for r in stats["slowdown_by_size"] if r["kind"] == "class" and r["tag"] == "all"
            ]
            self.assertEqual(len(classes), 3)
            for n, part in enumerate(classes):
                for name in ("p50", "p95", "p99", "flows"):
                    self.assertEqual(float(row[f"class{n}_{name}"]), part[name])
            self.assertEqual(
                float(row["queue_switch_to_host_p99_bytes"]),
                stats["port_classes"]["switch_to_host"]["queue_bytes"]["p99"],
            )
            self.assertEqual(float(row["jain_mean"]), stats["fairness"]["jain_mean"])
            # Half of the ports are hosts', half the switch's.
            pauses = [
                stats["port_classes"][kind]["pause_share"]
                for kind in ("host_to_switch", "switch_to_host")
            ]
            self.assertAlmostEqual(float(row["pause_share"]), sum(pauses) / 2, places=12)
            # The line of the table: label, three quantiles for each class. Of n flows the highest
            # is above a share of 1 - 1 / n: p95 wants 20, p99 100.
            line = next(line for line in done.stdout.splitlines() if line.split()[:1] == [label])
            self.assertEqual(
                line.split()[1:10],
                [
                    f"{part[name]:.2f}" if part["flows"] >= least else "-"
                    for part in classes
                    for name, least in (("p50", 1), ("p95", 20), ("p99", 100))
                ],
            )
            # Then the slowest of all flows, and when the last one has arrived (a time of its own).
            self.assertEqual(line.split()[10], f"{stats['fct_slowdown']['max']:.2f}")
            last = stats["flows"]["last_arrival_us"]
            number, unit = line.split()[11:13]
            factor = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[unit]
            self.assertAlmostEqual(float(number) * factor / last, 1, delta=0.005)
            self.assertEqual(float(row["last_arrival_us"]), last)
        # All had the same flows; without PFC nothing pauses.
        self.assertEqual(len({row["flows"] for row in rows.values()}), 1)
        self.assertEqual(float(rows["none+pfc=0+buffer=100MB"]["pause_share"]), 0)
        with open(os.path.join(out, "compare.txt"), encoding="utf-8") as file:
            self.assertIn(file.read(), done.stdout)
        for name, begin in (("compare.png", b"\x89PNG"), ("compare.svg", b"<?xml")):
            with open(os.path.join(out, name), "rb") as file:
                content = file.read()
            self.assertTrue(content.startswith(begin) and len(content) > 10000, name)
        self.assertFalse(os.path.exists(os.path.join(out, "compare.pdf")))

        # Again: nothing is run anew, one more algorithm is one more run, and the order is the new
        # one.
        before = os.stat(os.path.join(out, "runs", "1", "stats.json")).st_mtime_ns
        again = self.compare(
            "job.json",
            "--cc=none,dcqcn+cc-preset=sigcomm15,dcqcn",
            "--size-bins=10kB,100kB",
            "--out=o",
            "--format=png",
        )
        self.assertIn("2 done, 0 failed, 1 to run", again.stderr)
        self.assertEqual(list(self.rows("o")), ["none", "dcqcn+cc-preset=sigcomm15", "dcqcn"])
        self.assertEqual(os.stat(os.path.join(out, "runs", "1", "stats.json")).st_mtime_ns, before)
        # Another scenario does not go into the same folder.
        self.write("job.json", {**SCENARIO, "fabric": {"mtu": 1024}})
        done = self.compare("job.json", "--cc=none", "--size-bins=10kB,100kB", "--out=o", status=2)
        self.assertIn("has changed since", done.stderr)

    def loaded(self, name, classes, flows=10, **more):
        """A run with the classes {(from, to): p50}, of so many flows each, and one group."""
        from cluster_simulator import results

        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        quantiles = dict.fromkeys(("mean", "p95", "p99", "p999", "max"), 9.0)
        rows = [
            {
                "tag": "all",
                "kind": "class",
                "from_bytes": low,
                "to_bytes": high,
                "flows": flows,
                **quantiles,
                "p50": p50,
            }
            for (low, high), p50 in classes.items()
        ]
        self.write(
            f"{name}/stats.json",
            {
                "completed": True,
                "program": "traffic",
                "messages": 10,
                "slowdown_by_size": rows,
                **more,
            },
        )
        self.write(
            f"{name}/slowdown.csv",
            "tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max\nall,group,10,1000,10,2"
            ",2,3,4,4,4\n",
        )
        return results.load(folder)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_classes_stand_under_their_sizes(self):
        """A run without a flow of the first class has its others where they are in the other
        runs.
        """
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator import compare

        a = self.loaded("a", {(0, 100): 1.5, (100, 1000): 2.5, (1000, 7000): 3.5})
        b = self.loaded("b", {(100, 1000): 4.5, (1000, 9000): 5.5})
        runs = [("a", a), ("b", b)]
        lows = compare.lows_of([a, b])
        rows = [compare.numbers_of(label, run, lows) for label, run in runs]
        self.assertEqual([rows[0][f"class{n}_p50"] for n in range(3)], [1.5, 2.5, 3.5])
        self.assertEqual([rows[1].get(f"class{n}_p50") for n in range(3)], [None, 4.5, 5.5])
        head, _, first, second = compare.text_table(runs, rows).splitlines()
        self.assertRegex(head, "0 B to 100 B +100 B to 1 kB +1 kB to 9 kB")
        self.assertEqual(first.split()[1:10:3], ["1.50", "2.50", "3.50"])
        self.assertEqual(second.split()[1:10:3], ["-", "4.50", "5.50"])

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_no_quantile_of_a_few_flows(self):
        """As in the picture: of fewer than 20 flows no p95, of fewer than 100 no p99."""
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator import compare

        counts = (1, 19, 20, 99, 100)
        runs = [(str(n), self.loaded(f"of{n}", {(0, 100): 2.0}, flows=n)) for n in counts]
        rows = [compare.numbers_of(label, run, [0]) for label, run in runs]
        shown = [line.split()[1:4] for line in compare.text_table(runs, rows).splitlines()[2:]]
        told = lambda *quantiles: [f"{value:.2f}" if value else "-" for value in quantiles]
        few, more, all_of_them = told(2, None, None), told(2, 9, None), told(2, 9, 9)
        self.assertEqual(shown, [few, few, more, more, all_of_them])
        note = lambda *chosen: compare.few_flows_note(runs[n][1] for n in chosen)
        self.assertIn("p95", note(1, 4))
        self.assertTrue("p95" not in note(3) and "100 for p99" in note(3), note(3))
        self.assertEqual(note(4), "")

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_runs_that_are_alike(self):
        """All numbers count but those that a repetition changes."""
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator import compare

        more = {"a": (7, 1.0), "b": (8, 1.0), "c": (7, 2.0)}
        runs = [
            (
                name,
                self.loaded(
                    f"alike-{name}",
                    {(0, 100): 2.0},
                    ecn_marks=marks,
                    wall_s=seconds,
                    nondeterministic=["wall_s"],
                ),
            )
            for name, (marks, seconds) in more.items()
        ]
        self.assertEqual(compare.alike(runs), [["a", "c"]])
        self.assertEqual(compare.alike(runs[:2]), [])

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_bars_have_names_ticks_and_values(self):
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator import plots
        from cluster_simulator.plots import comparison, style

        kind = {"ports": 4, "utilization": 0.25, "pause_share": 0.125, "queue_bytes": {"p99": 3000}}
        labels = ["dcqcn", "none+window=150kB+a-very-long-option=of-one-run"]
        runs = [
            self.loaded(name, {(0, 100): 1.5}, port_classes={"switch_to_host": kind})
            for name in "ab"
        ]
        with matplotlib.rc_context(style.STYLE):
            figure = comparison.draw_comparison(plots.items_of(runs, labels), 8.5)
        axes = {axis.get_xlabel(): axis for axis in figure.axes}
        for words, value in (
            ("queue to hosts, p99 (kB)", 3),
            ("ports paused (% of time)", 12.5),
            ("use of links to hosts (%)", 25),
        ):
            axis = axes[words]
            self.assertEqual([bar.get_width() for bar in axis.patches], [value, value])
            self.assertGreater(len(axis.get_xticks()), 2)
            self.assertEqual([one.get_text() for one in axis.texts], [f"{value:g}"] * 2)
            self.assertEqual(len(axis.get_yticks()), 2)
        names = [one.get_text() for one in axes["queue to hosts, p99 (kB)"].get_yticklabels()]
        # A name that is too long for its place is a number, which the legend tells.
        self.assertEqual(names, ["1", "2"])
        legend = [one.get_text() for one in figure.axes[0].get_legend().get_texts()]
        self.assertEqual(legend[0], "1  dcqcn")
        self.assertTrue(
            legend[1].startswith("2  none+wind") and legend[1].endswith("of-one-run"), legend
        )
        # What would be an empty panel is left out, and why is said below: the one group has 10
        # flows.
        self.assertEqual(
            " ".join(figure._supxlabel.get_text().split()),
            "Left out: p95: a group has at most 10 flows, 20 are wanted; p99: a group has at most"
            " 10 flows, 100 are wanted; Jain's index: not"
            " measured (--rate-interval); queue in the fabric: no such ports",
        )
        self.assertEqual(len(figure.axes), 4)  # the median, and three of bars
        self.assertTrue(all(axis.lines or axis.patches for axis in figure.axes))

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_long_names_leave_the_panels_their_room(self):
        """Five runs with names of any length: no warning of the layout, the names are told in the
        legend, and Jain's index has its panel where only its mean is known, as in the table.
        """
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        import io
        import warnings

        from cluster_simulator import plots
        from cluster_simulator.plots import comparison, style

        kind = {"ports": 4, "utilization": 0.25, "pause_share": 0.125, "queue_bytes": {"p99": 3000}}
        for letters, jain in share_of(((3, None), (25, 1.0), (300, 0.5)), one_in=2):
            labels = [str(i) + "n" * letters for i in range(5)]
            runs = [
                self.loaded(
                    f"long{letters}-{i}",
                    {(0, 100): 1.5, (100, 40000): 3.0},
                    port_classes={"switch_to_host": kind, "switch_to_switch": kind},
                    **({} if jain is None else {"fairness": {"jain_mean": jain}}),
                )
                for i in range(5)
            ]
            with matplotlib.rc_context(style.STYLE), warnings.catch_warnings():
                warnings.simplefilter("error")
                figure = comparison.draw_comparison(plots.items_of(runs, labels), 8.5)
                figure.savefig(io.BytesIO(), format="png")
            axes = {axis.get_xlabel(): axis for axis in figure.axes}
            self.assertEqual("mean; none over time" in axes, jain is not None)
            if jain is not None:
                marks = axes["mean; none over time"].lines
                self.assertEqual([float(mark.get_ydata()[0]) for mark in marks], [jain] * 5)
            # No panel is narrower than half of what an even share of the page would be.
            for axis in figure.axes:
                self.assertGreater(axis.get_position().width, 0.5 / 4, axis.get_xlabel())
            named = axes["queue to hosts, p99 (kB)"].get_yticklabels()
            self.assertEqual(
                [one.get_text() for one in named],
                labels if letters == 3 else ["1", "2", "3", "4", "5"],
            )

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_a_title_that_is_wider_than_the_page_has_lines(self):
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator.plots import style

        words = "8 of 9 queue pairs, with the most changes; no line: no flow under way"
        size, room = style.STYLE["legend.fontsize"], (84 / 25.4 - 0.1) * 72
        lines = style.wrapped(words, size, room)
        self.assertEqual(" ".join(lines), words)
        self.assertEqual(len(lines), 2)
        self.assertTrue(all(style.text_width(line, size) <= room for line in lines), lines)
        self.assertEqual(style.wrapped("short", size, room), ["short"])

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_a_long_name_keeps_what_differs(self):
        """Attributes lose their classes' names before anything in the middle is left out."""
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from cluster_simulator.plots import style

        label = "dcqcn+ns3::RdmaSwitch::LoadBalancer=drill+loss-recovery=out-of-order"
        shown = style.text(label, longest=55)
        self.assertEqual(shown, "dcqcn+LoadBalancer=drill+loss-recovery=out-of-order")
        self.assertEqual(len(style.text(label)), 44)
        self.assertEqual(style.text("a+ns3::RdmaNic::Mtu=9000"), "a+ns3::RdmaNic::Mtu=9000")

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib and python3-pandas")
    def test_a_run_that_fails(self):
        # Of 4 KiB in 33,000 bits with 1 wrong in 1,000 none arrives: the queue pairs give up.
        done = self.compare(
            "job.json",
            "--cc=none,dcqcn+bit-error-rate=0.001+timeout-exponent=4",
            "--out=o",
            "--format=png",
            status=3,
        )
        self.assertIn("dcqcn+bit-error-rate=0.001+timeout-exponent=4 failed", done.stderr)
        self.assertEqual(list(self.rows("o")), ["none"])

    def test_dry_run_writes_nothing(self):
        done = self.compare("job.json", "--cc=none,dcqcn", "--duration=1ms", "--dry-run")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for line, name in zip(lines, ("none", "dcqcn")):
            self.assertTrue(
                {"--duration=1ms", f"--cc={name}", "--queue-interval=1us", "--rate-interval=100us"}
                <= set(line.split()),
                line,
            )
        self.assertEqual(os.listdir(self.folder), ["job.json"])

    def test_refused(self):
        self.write("bad.json", "{")
        os.mkfifo(os.path.join(self.folder, "pipe"))  # nobody writes: it would be waited for
        self.write("other.json", {"program": "dltrain"})
        cases = (
            (["job.json", "--out=o"], "--cc=NAME"),
            (["job.json", "--cc=none"], "--out=DIR"),
            (["--cc=none", "--out=o"], "one scenario is wanted"),
            (["nope.json", "--cc=none", "--out=o"], "nope.json: No such file"),
            (["bad.json", "--cc=none", "--out=o"], "no JSON"),
            (["pipe", "--cc=none", "--out=o"], "no regular file"),
            (["other.json", "--cc=none", "--out=o"], "no scenario of traffic"),
            (["job.json", "--cc=nome", "--out=o"], "did you mean 'none'"),
            (["job.json", "--cc=none,none", "--out=o"], "given twice"),
            (["job.json", "--cc=none,", "--out=o"], "an empty value"),
            (["job.json", "--cc=none+window", "--out=o"], "NAME+OPTION=VALUE"),
            (["job.json", "--cc=none+mtu=1000", "--out=o"], "4096"),
            (
                ["job.json", "--cc=none+mtu=1024", "--mtu=2048", "--out=o"],
                "is given to all runs too",
            ),
            (["job.json", "--cc=none", "--lod=1", "--out=o"], "did you mean '--load'"),
            (["job.json", "--cc=none", "--jobs=x", "--out=o"], "--jobs=x"),
            (["job.json", "--cc=none", "--format=gif", "--out=o"], "png, svg, pdf"),
            (["job.json", "--cc=none", "--progress", "--out=o"], "--progress"),
        )
        for words, expected in share_of(cases, one_in=4):
            done = self.compare(*words, status=2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(
                done.stderr.startswith("compare: error: ") and expected in done.stderr, done.stderr
            )
            self.assertFalse(os.path.exists(os.path.join(self.folder, "o")))

    @long_test
    def test_runs_whose_files_are_gone(self):
        """No number is of a run that is not there: neither a dash nor a share of 0."""
        self.write(
            "job.json",
            {
                "program": "traffic",
                "traffic": {"pattern": "incast", "bytes": "100kB", "hosts": 4},
                "network": {"topology": "single-switch"},
            },
        )
        words = ("job.json", "--cc=none,dcqcn", "--out=o", "--format=png")
        self.compare(*words)
        before = self.text("o/compare.csv")
        first = os.path.join(self.folder, "o", "runs", "1")
        again = "; it was done: choose another folder for the comparison"
        for spoil, why in (
            (lambda: os.truncate(f"{first}/stats.json", 0), "o/runs/1: stats.json is no JSON"),
            (lambda: shutil.rmtree(first), "o/runs/1: no such folder"),
        ):
            spoil()
            done = self.compare(*words, status=2)
            said = done.stderr.splitlines()[-1]
            self.assertTrue(said.startswith(f"compare: error: {why}"), said)
            self.assertTrue(said.endswith(again), said)
            self.assertEqual(self.text("o/compare.csv"), before)
        self.write("file", "")
        done = self.compare("job.json", "--cc=none", "--out=file", status=2)
        says = "compare: error: --out=file: file/compare.json cannot be read: Not a directory\n"
        self.assertEqual(done.stderr, says)

    def text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_help(self):
        self.assertIn("--cc=NAME,...", self.compare("--help").stdout)


if __name__ == "__main__":
    main()
