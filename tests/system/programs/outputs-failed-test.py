# SPDX-License-Identifier: GPL-2.0-only
"""A disk that is full: one clear error, a status that is not 0, whole lines, no half-written file
left. And old results go.
"""

import json
import os
import re
import resource
import signal
import struct
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SLOWER, TRAFFIC_FILES, SystemTest, captured, main


class FullDisk(SystemTest):
    PROGRAMS = (
        "dltrain --gpus=16 --servers=2 --model={model} --steps=2",
        "collperf --ranks=8 -b 1M -e 16M",
        "traffic --topology=fat-tree --k=4 --bytes=1MB",
    )

    def limited(self, line, limit, out):
        """Run it such that no file may become longer than `limit`: the portable full disk."""
        words, out = self.command(line, out)

        def confine():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails, with EFBIG
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return captured(words, cwd=self.folder, timeout=120 * SLOWER, preexec_fn=confine)

    def lines(self):
        layers = [{"name": "layer", "parameters": 4 << 20, "flops": 1.0e9}]
        model = self.write("small.json", {"name": "small", "sequence": 256, "layers": layers})
        for i, line in enumerate(self.PROGRAMS):
            yield line.format(model=model), os.path.join(self.folder, f"full-{i}")

    def failed(self, done, status, files=1):
        """At least so many files are named, each once; the first of these lines."""
        errors = [text for text in done.stderr.splitlines() if "cannot be written" in text]
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertGreaterEqual(len(errors), files, done.stderr)
        named = [error.split(": cannot be written")[0] for error in errors]
        self.assertEqual(len(set(named)), len(named), done.stderr)
        for error in errors:
            self.assertRegex(error, r"^\w+: error: /.*: cannot be written: File too large")
        return errors[0]

    def test_no_space_for_any_file(self):
        for line, out in self.lines():
            with self.subTest(line):
                # 1100 bytes hold the heads of the files, and not stats.json nor the flows.
                done = self.limited(line, 1100, out)
                self.failed(done, 1, files=3)  # links.csv, flows.csv, stats.json
                # What a run has written is not said of one that could not.
                told = re.findall(r"(?m)^Files +(.*)$", done.stdout + done.stderr)
                self.assertEqual(told, [out + "/: incomplete, see the error below"])
                self.assertEqual([name for name in os.listdir(out) if name.endswith(".part")], [])
                self.assertNotIn("stats.json", os.listdir(out))
                with open(os.path.join(out, "flows.csv"), encoding="utf-8") as file:
                    text = file.read()
                self.assertTrue(text.endswith("\n"), text[-200:])
                for row in text.splitlines():
                    self.assertEqual(row.count(","), 10, row)
                self.assertGreater(len(text), 1100 - 200)  # as many lines as there is room for

    def test_not_even_for_the_heads(self):
        for line, out in self.lines():
            with self.subTest(line):
                done = self.limited(line, 10, out)
                self.failed(done, 1)
                self.assertEqual(done.stdout, "")

    def test_only_the_statistics_are_lost(self):
        for line, out in self.lines():
            with self.subTest(line):
                # Where stats.json is made a folder stands.
                os.makedirs(os.path.join(out, "stats.json.part", "in the way"))
                words, _ = self.command(line, out)
                done = captured(words, cwd=self.folder, timeout=120 * SLOWER)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(
                    done.stderr,
                    r"(?m)^\w+: error: .*/stats.json(.part)?: cannot be written: Is a directory",
                )
                self.assertNotIn("stats.json", os.listdir(out))
                self.assertIn("topology.json", os.listdir(out))


class OldResults(SystemTest):
    """A second run into a folder leaves nothing of the first there, and nothing else goes."""

    def test_files_of_the_run_before(self):
        out = os.path.join(self.folder, "out")
        flows = self.write("flow.txt", "1\n0 1 3 100 20000 0\n")
        small = "traffic --topology=single-switch --hosts=4 "
        self.run_program(small + f"--flows={flows} --pcap=all", out=out)
        first = os.listdir(out)
        self.assertIn("fct.txt", first)
        self.assertIn("server-0-0.pcap", first)
        self.run_program(small + f"--flows={flows} --pcap=all --pcap-format=pcapng", out=out)
        second = os.listdir(out)
        self.assertIn("capture.pcapng", second)
        self.assertFalse([name for name in second if name.endswith(".pcap")])
        self.run_program(
            small + f"--flows={flows} --pcap=all --pcap-size=10kB --pcap-files=3", out=out
        )
        third = os.listdir(out)
        self.assertIn("server-0-0.0.pcap", third)
        self.assertNotIn("capture.pcapng", third)
        others = {
            "notes.txt": b"mine",
            "my.pcap": b"mine",
            "eth-0.pcap": b"mine",
            # microseconds
            "tcpdump-0.pcap": struct.pack("=6I", 0xA1B2C3D4, 4 << 16 | 2, 0, 0, 65535, 1),
        }
        for name, content in others.items():
            with open(os.path.join(out, name), "wb") as file:
                file.write(content)
        for name in ("calls.log", "links.csv.part"):
            with open(os.path.join(out, name), "w", encoding="utf-8") as file:
                file.write("old\n")
        self.run_program(small + "--bytes=1MB", out=out)
        self.assertEqual(
            sorted(os.listdir(out)),
            sorted([*TRAFFIC_FILES, *others]),
        )
        for name, content in others.items():
            with open(os.path.join(out, name), "rb") as file:
                self.assertEqual(file.read(), content)

    def test_bad_input_leaves_them(self):
        out = os.path.join(self.folder, "out")
        small = "traffic --topology=single-switch --hosts=4 --bytes=1MB "
        before = self.run_program(small, out=out).stats
        self.run_program(small + "--ns3::RdmaNic::Mtu=1000", status=2, out=out)
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), before)

    def test_one_of_a_kind(self):
        flows = self.write("flow.txt", "1\n0 1 3 100 20000 0\n")
        run = self.run_program(f"traffic --topology=single-switch --hosts=2 --flows={flows}")
        self.assertIn(" 2 hosts, 1 switch, 2 links;", run.out)
        self.assertIn(" 1 flow, 20.0 kB", run.out)

    def test_error_lines(self):
        for option in (
            "--ns3::RdmaNic::Mtu=1000",
            "--pcap=nobody",
            "--ns3::RdmaSwitch::BufferPer100G=100",
        ):
            self.refuse(f"traffic --topology=single-switch --hosts=4 --bytes=1MB {option}")


if __name__ == "__main__":
    main()
