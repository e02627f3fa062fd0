# SPDX-License-Identifier: GPL-2.0-only
"""identity.py finds what differs, hides nothing but what it names, and does not depend on how it is
called.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import identity

RUN = {
    "files": {"job.json": {"program": "traffic", "run": {"seed": 3}}},
    "runs": [
        {
            "name": "small",
            "reaches": "a run",
            "files": ["job.json"],
            "commands": [
                "traffic --scenario=job.json --topology=single-switch --hosts=3 --bytes=9kB"
            ],
        },
        {"name": "refused", "reaches": "bad input", "commands": ["traffic --mtu=1"]},
    ],
}


class IdentityTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dltrain-machinery-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # ./ns3 test sets it for identity.py: the runs of this test are not meant.
        unchanged = unittest.mock.patch.dict(os.environ)
        unchanged.start()
        self.addCleanup(unchanged.stop)
        os.environ.pop("DLTRAIN_FULL", None)

    def write(self, name, value):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    def call(self, *words, table=RUN):
        """(exit status, output) of identity.py with these words, on the runs above."""
        runs, expected = self.write("runs.json", table), os.path.join(self.folder, "expected.json")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                status = identity.main([f"--runs={runs}", f"--expected={expected}", *words])
            except SystemExit as ended:
                status = ended.code
        return status, output.getvalue()

    def expected(self):
        return identity.read_json(os.path.join(self.folder, "expected.json"))

    def with_option(self, option):
        table = json.loads(json.dumps(RUN))
        table["runs"][0]["commands"][0] += " " + option
        return table

    def test_equal_whatever_the_jobs_and_the_surroundings(self):
        self.assertEqual(self.call("--update")[0], 0)
        first = self.expected()
        before = dict(os.environ)
        self.addCleanup(os.environ.update, before)
        os.environ.update(
            LC_ALL="de_DE.UTF-8",
            TZ="Asia/Kathmandu",
            COLUMNS="40",
            TERM="dumb",
            NS_GLOBAL_VALUE="RngRun=7",
        )
        self.addCleanup(os.environ.pop, "NS_GLOBAL_VALUE")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for words in (["--jobs=1"], ["--jobs=2"]):
            status, text = self.call(*words)
            self.assertEqual(status, 0, text)
        self.call("--update", "--jobs=2")
        self.assertEqual(self.expected(), first)
        self.assertEqual(sorted(first["runs"]["refused"]), ["1.status", "1.stderr", "1.stdout"])
        self.assertIn("out/stats.json", first["runs"]["small"])

    def test_a_byte_a_file_an_option(self):
        self.call("--update")
        good = self.expected()

        def changed(change):
            value = json.loads(json.dumps(good))
            change(value["runs"]["small"])
            self.write("expected.json", value)
            return self.call()

        one = good["runs"]["small"]["out/flows.csv"]
        status, text = changed(
            lambda files: files.update(
                {"out/flows.csv": one[:-1] + ("0" if one[-1] != "0" else "1")}
            )
        )
        self.assertEqual(status, 1)
        self.assertIn("small: out/flows.csv differs", text)
        self.assertIn("1 runs equal, 1 differ", text)
        self.assertIn("out/flows.csv is new", changed(lambda files: files.pop("out/flows.csv"))[1])
        self.assertIn(
            "out/x.csv is missing", changed(lambda files: files.update({"out/x.csv": one}))[1]
        )
        self.write("expected.json", good)
        for option in ("--link-delay=1001ns", "--seed=4", "--no-report"):
            status, text = self.call(table=self.with_option(option))
            self.assertEqual(status, 1, option)
            self.assertIn("stats.json" if option != "--no-report" else "report.html", text, option)
        # Only the seed is another: nothing of this run is random, and still the configuration says
        # so.
        self.assertIn(
            "small: out/stats.json differs", self.call(table=self.with_option("--seed=4"))[1]
        )

    def test_the_lines_that_differ(self):
        """Programs of "another build": the same with a longer cable."""
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        program = os.path.join(identity.PROGRAMS, "traffic")
        with open(os.path.join(other, "traffic"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {program} "$@" --link-delay=1001ns\n')
        os.chmod(os.path.join(other, "traffic"), 0o755)
        self.call("--update")
        expected = self.expected()
        expected["runs"]["small"]["out/flows.csv"] = "0" * 64
        self.write("expected.json", expected)
        status, text = self.call("--only=small", f"--against={other}")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"from line 2 on, - of --against and \+ here:\n +-\d,server-")
        # Compared with that build, its cable is the difference in configuration, and not the only
        # one.
        status, text = self.call(
            "--only=small", f"--against={other}", "--ignore=configuration.network.link_delay"
        )
        self.assertEqual(status, 1)
        self.assertIn("flows.csv differs", text)
        self.assertNotIn("link_delay", text)
        status, text = self.call(
            "--only=small", f"--against={identity.PROGRAMS}", "--ignore=configuration"
        )
        self.assertEqual(status, 0, text)

    def test_another_compiler_is_skipped(self):
        self.call("--update")
        expected = self.expected()
        expected["environment"]["compilers"] = ["GCC: (Other) 1.0"]
        self.write("expected.json", expected)
        status, text = self.call()
        self.assertEqual(status, 77)
        self.assertIn("compilers: recorded with ['GCC: (Other) 1.0'], here", text)
        expected["runs"]["small"]["out/plots/a.svg"] = "0" * 64
        self.write("expected.json", expected)
        status, text = self.call("--elsewhere")
        self.assertEqual(status, 0, text)
        self.assertIn("compilers: recorded with", text)
        expected["runs"]["small"]["out/flows.csv"] = "0" * 64
        self.write("expected.json", expected)
        status, text = self.call("--elsewhere")
        self.assertEqual(status, 1)
        self.assertIn("small: out/flows.csv differs", text)

    def test_a_share(self):
        """Of a default ./ns3 test: every second run, but what is named, listed or recorded."""
        os.environ["DLTRAIN_FULL"] = "0"
        self.call("--update")
        self.assertEqual(sorted(self.expected()["runs"]), ["refused", "small"])
        # Which of both: a run that would differ is found when it is the first, or named.
        status, text = self.call()
        self.assertEqual(status, 0, text)
        self.assertIn("1 runs equal, 0 differ, 0 skipped", text)
        self.assertEqual(self.call(table=self.with_option("--seed=4"))[0], 1)
        table = json.loads(json.dumps(RUN))
        table["runs"][1]["commands"] = ["traffic --mtu=2"]
        self.assertEqual(self.call(table=table)[0], 0)
        self.assertEqual(self.call("--only=refused", table=table)[0], 1)
        self.assertEqual(len(self.call("--list")[1].splitlines()), 2)
        os.environ["DLTRAIN_FULL"] = "1"
        self.assertEqual(self.call(table=table)[0], 1)
        del os.environ["DLTRAIN_FULL"]
        self.assertEqual(self.call(table=table)[0], 1)

    def test_bad_input(self):
        for words, said in (
            (["--only=("], "--only=("),
            (["--jobs=0"], "--jobs=0"),
            (["--only=nothing"], "no run"),
            (["--ignore=configuration"], "--against"),
            (["--against=/nowhere"], "/nowhere"),
        ):
            status, text = self.call(*words)
            self.assertEqual(status, 2, words)
            self.assertIn(said, text)

    def test_only_what_is_named_is_normalised(self):
        stats = (
            '{\n  "completed": true,\n  "configuration": {\n    "wall_s": 3\n  },\n  "wall_s":'
            ' 0.02,\n  "event_loop_s": 1e-05,\n  "frame_hops": 12,\n  "peak_rss_bytes":'
            " 16953344\n}\n"
        ).encode()
        self.assertEqual(
            identity.normalised("out/stats.json", stats),
            stats.replace(b"0.02", b"*").replace(b"1e-05", b"*").replace(b"16953344", b"*"),
        )
        self.assertEqual(identity.normalised("out/flows.csv", stats), stats)
        short = (
            b"Simulation       43.1 us simulated in 587 us: 2,592 frame-hops; peak memory 16.4 MB\n"
        )
        long = (
            b"Simulation       43.1 us simulated in 2.18 s: 2,592 frame-hops, 6.00 M frame-hops/s;"
            b" peak memory 1.4 GB\n"
        )
        kept = b"Simulation       43.1 us simulated in *: 2,592 frame-hops; peak memory *\n"
        threads = [
            long.replace(b"/s;", b"/s; " + words + b";")
            for words in (b"4 threads for 9% of the events", b"one thread, as more is slower")
        ]
        for line in [short, long, *threads]:
            self.assertEqual(identity.normalised("1.stdout", line), kept)
        progress = (
            b"step 1: 301 ms simulated,  45.0% done, 6.00 M frame-hops/s, ETA 3 s\ndltrain: setting"
            b" up: routes, 40%, 7 s\n"
        )
        self.assertEqual(identity.normalised("1.stderr", b"a\n" + progress + b"b\n"), b"a\nb\n")
        path = b'<path d="M 26.076249 -0.0001 L 3.25 7"/>'
        self.assertEqual(
            identity.normalised("out/plots/a.svg", path),
            b'<path d="M 26.076 0.000 L 3.25 7"/>',
        )

    def test_command_line(self):
        script = os.path.join(identity.HERE, "identity.py")
        listed = subprocess.run(
            ["/usr/bin/python3", script, "--list"], capture_output=True, text=True, check=True
        ).stdout
        table = identity.read_json(os.path.join(identity.HERE, "runs.json"))
        names = [run["name"] for run in table["runs"]]
        self.assertEqual([line.split()[0] for line in listed.splitlines()], names)
        self.assertEqual(len(set(names)), len(names))
        self.assertGreaterEqual(len(names), 40)
        why = subprocess.run(
            ["/usr/bin/python3", script, "--why"], capture_output=True, text=True, check=True
        ).stdout
        self.assertEqual(len(why.splitlines()), len(identity.NORMALISED) + len(identity.LEFT_OUT))
        # Every congestion control and loss recovery that there is has a run.
        commands = " ".join(command for run in table["runs"] for command in run["commands"])
        help_text = subprocess.run(
            [os.path.join(identity.PROGRAMS, "traffic"), "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        laws = (
            re.search(r"^  cc: (.*(?:\n    .*)*)", help_text, re.M)[1].replace("\n", " ").split(",")
        )
        for law in laws:
            self.assertRegex(commands, rf"--cc={law.strip()}\b")
        kinds = re.search(r"^  topologies: (.*(?:\n    .*)*)", help_text, re.M)[1]
        for kind in kinds.replace("\n", " ").split(","):
            self.assertRegex(commands, rf"--topology={kind.strip()}\b")


if __name__ == "__main__":
    unittest.main(verbosity=2)
