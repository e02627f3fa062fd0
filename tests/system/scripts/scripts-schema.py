#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Results of another schema_version are refused by every script that reads a folder, in the same
words and with status 2.
"""

import json
import os
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
from cluster_simulator import results, schema  # noqa: E402  (needs the path)

STATS = {"schema_version": 1, "program": "traffic", "completed": True}
TOPOLOGY = {
    "schema_version": 1,
    "name": "two",
    "nodes": [{"name": "a", "kind": "host", "tier": 0}, {"name": "b", "kind": "host", "tier": 0}],
    "links": [{"link": "a->b", "a": 0, "b": 1, "rate_gbps": 100, "delay_us": 1}],
}
ROW = (
    "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share\n100,a->b,a,b,100,0.5,0,0\n"
)
OTHERS = (0, 2, 999, -1, 1.5, "1", "\x1b[31m2", None, True, [1], {"a": 1}, 10**5000)


class SchemaTest(SystemTest):
    def folder_of(self, **files):
        self.runs += 1
        folder = os.path.join(self.folder, f"results-{self.runs}")
        os.mkdir(folder)
        for name, content in {"stats": STATS, "topology": TOPOLOGY, **files}.items():
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
        with open(os.path.join(folder, "links.csv"), "w", encoding="utf-8") as file:
            file.write(ROW)
        return folder

    def run_script(self, name, *arguments):
        return subprocess.run(
            [os.path.join(SCRIPTS, name), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    def test_the_rule(self):
        for content in (
            {},
            {"schema_version": 1},
            {"schema_version": schema.SCHEMA_VERSION},
            [],
            7,
            None,
        ):
            self.assertEqual(schema.why_not_readable(content, "stats.json"), "", content)
        sys.set_int_max_str_digits(0)
        for version in OTHERS:
            why = schema.why_not_readable({"schema_version": version}, "stats.json")
            self.assertRegex(
                why, r"^stats\.json: schema_version .* is not 1, the one that is read here", version
            )
            self.assertTrue(why.isprintable() and len(why) < 200, why)
            self.assertEqual(
                "newer" in why,
                isinstance(version, int) and version is not True and version > 1,
                why,
            )

    def test_every_script_refuses(self):
        commands = (("report",), ("plot", "--only=topology", "--format=png"), ("timeline",))
        for file in ("stats", "topology"):
            for version in (999, "1"):
                folder = self.folder_of(
                    **{
                        file: {
                            **(STATS if file == "stats" else TOPOLOGY),
                            "schema_version": version,
                        }
                    }
                )
                for name, *options in commands:
                    if (name, file) == ("timeline", "topology"):
                        continue  # it has no use for the network
                    with self.subTest(script=name, file=file, version=type(version)):
                        done = self.run_script(name, folder, *options)
                        self.assertEqual(
                            (done.returncode, done.stdout, done.stderr.count("\n")),
                            (2, "", 1),
                            done,
                        )
                        self.assertRegex(done.stderr, rf"^{name}: error: .*{file}\.json")
                        self.assertNotIn("Traceback", done.stderr)
                        self.assertIn("schema_version", done.stderr)
                        self.assertEqual(
                            sorted(os.listdir(folder)), ["links.csv", "stats.json", "topology.json"]
                        )

    def test_package_refuses(self):
        with self.assertRaisesRegex(results.ResultsError, "schema_version 2 is not 1"):
            results.load(self.folder_of(stats={**STATS, "schema_version": 2}))
        run = results.load(self.folder_of(topology={**TOPOLOGY, "schema_version": 2}))
        with self.assertRaisesRegex(results.ResultsError, "topology.json: schema_version 2"):
            run.topology()

    def test_known_and_unnamed_versions_are_read(self):
        for stats in (
            STATS,
            {key: value for key, value in STATS.items() if key != "schema_version"},
        ):
            folder = self.folder_of(stats=stats)
            for name, *options in (("report",), ("plot", "--only=topology", "--format=png")):
                done = self.run_script(name, folder, *options)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done)


if __name__ == "__main__":
    main()
