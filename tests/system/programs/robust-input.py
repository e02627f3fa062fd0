# SPDX-License-Identifier: GPL-2.0-only
"""Bad input is refused by name, with status 2 and one line that is short and that no terminal
obeys; in a dry run too.
"""

import os
import socket
import subprocess
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _robust import LAYERS, RobustTest, at_most, star
from _system_test import PROGRAMS, main, share_of

ESCAPE = "\x1b]0;owned\x07\x1b[31m"


class Readable(RobustTest):
    """What the files and options of others hold."""

    def shown_safely(self, text):
        for character in text:
            self.assertTrue(
                character in "\n\t" or (character >= " " and not "\x7f" <= character < "\xa0"),
                repr(text),
            )
        for line in text.splitlines():
            self.assertLess(len(line), 8000)

    def test_escapes(self):
        model = self.write(
            "model.json",
            {
                "name": "m" + ESCAPE,
                "sequence": 256,
                "layers": [{**LAYERS[0], "name": "layer" + ESCAPE}],
            },
        )
        net = self.write("net.json", star([f"a{ESCAPE}", "b", "c"], "s" + ESCAPE))
        lines = (
            (
                f"dltrain --gpus=4 --gpus-per-server=2 --model={model} --micro-batch=1 --steps=1"
                " --warmup=0"
            ),
            f"dltrain --gpus=4 --gpus-per-server=2 --model={model} --dry-run",
            f"traffic --topology={net} --bytes=100kB",
            f"traffic --topology={net} --bytes=100kB --fabric=ib",
            f"traffic --topology={net} --dry-run",
            f"collperf --topology={net} --ranks=3 --gpus-per-server=1 -b 64K -e 64K",
        )
        for line in lines:
            with self.subTest(line.split("/")[0]):
                status, output, errors, _ = self.ended(line + " --report=0")
                self.assertIn(status, (0, 2), errors)
                self.shown_safely(output + errors)

    def test_tokens_are_short(self):
        long = "x" * 100000
        network = self.write("long.txt", f"3 1 2\n2\n0 2 100Gbps 1us 0\n1 {long} 100Gbps 1us 0\n")
        graph = self.write(
            "long.json",
            {**star(["a", long]), "links": [{"from": long + "y", "to": "s", "rate": long}]},
        )
        flows = self.write("flows.txt", f"1\n0 1 3 100 {long} 2.0\n")
        table = self.write("flows.csv", f"src,dst,bytes,start\n0,{long},1,0\n")
        sizes = self.write("sizes.txt", f"0 0\n{long} 100\n")
        scenario = self.write(
            "scenario.json", '{"' + long + '": 1, "fabric": {"nic": "' + long + '"}}'
        )
        broken = self.write("broken.json", '{"' + long)
        lines = (
            f"traffic --topology={network}",
            f"traffic --topology={graph}",
            f"traffic --topology=single-switch --hosts=4 --flows={flows}",
            f"traffic --topology=single-switch --hosts=4 --flows={table}",
            f"traffic --topology=single-switch --hosts=4 --pattern=poisson --sizes={sizes}",
            f"traffic --scenario={scenario}",
            f"traffic --scenario={broken}",
            f"traffic --cc={long}",
            f"traffic --{long}=1",
            f"traffic {long}",
            f"traffic --pcap={long}",
            f"traffic --mtu={long}",
            f"traffic --ns3::RdmaNic::{long}=1",
            f"traffic --ns3::RdmaNic::Mtu={long}",
            f"traffic --ns3::{long}::Mtu=1",
            f"traffic --fabric=ib --ib-routing={long}",
            f"traffic --fabric=ib --ib-lfts={long}",
            f"dltrain --model={long}",
            f"dltrain --gpu={long}",
            f"collperf --op={long}",
        )
        for line in lines:
            for more in ("", " --dry-run"):
                with self.subTest(line[:60] + more):
                    status, output, errors, _ = self.ended(line + more)
                    self.assertEqual(status, 2, errors[:3000])
                    self.shown_safely(errors)
                    self.assertNotIn("x" * 1000, errors)

    def test_escapes_of_options(self):
        for option in (
            f"--cc={ESCAPE}",
            f"--{ESCAPE}=1",
            f"--pcap={ESCAPE}",
            f"--ns3::{ESCAPE}::A=1",
            f"--out=/dev/null/{ESCAPE}",
        ):
            with self.subTest(repr(option)):
                words, _ = self.command("traffic")
                done = subprocess.run(
                    [*words, option], capture_output=True, text=True, timeout=30, cwd=self.folder
                )
                self.assertEqual(done.returncode, 2, done.stderr)
                self.shown_safely(done.stderr)


class NoWaiting(RobustTest):
    """Pipes, devices and folders as input."""

    def test_inputs(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        link = os.path.join(self.folder, "link.json")
        os.symlink(pipe, link)
        options = {
            "dltrain": ("--scenario={}", "--model={}", "--topology={}", "--fabric=ib --ib-lfts={}"),
            "collperf": ("--scenario={}", "--topology={}", "--fabric=ib --ib-lfts={}"),
            "traffic": (
                "--scenario={}",
                "--topology={}",
                "--flows={}",
                "--pattern=poisson --sizes={}",
                "--fabric=ib --ib-lfts={}",
            ),
        }
        for program, templates in options.items():
            for template in templates:
                for path, said in (
                    (pipe, "is a pipe"),
                    (link, "is a pipe"),
                    ("/dev/zero", "is a device"),
                    (self.folder, "is a folder"),
                    ("./nowhere", "o such file"),
                ):
                    for more in ("", " --dry-run"):
                        line = f"{program} {template.format(path)}{more}"
                        with self.subTest(line):
                            status, _, errors, _ = self.ended(line, timeout=20)
                            self.assertEqual(status, 2, errors)
                            self.one_error(errors, said)

    def test_results_of_others(self):
        """The program timeline, on a folder that holds no run."""
        done = subprocess.run(
            [
                self.program("traffic"),
                "--topology=single-switch",
                "--hosts=3",
                "--bytes=10kB",
                "--out=run",
                "--report=0",
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = os.path.join(self.folder, "run", "stats.json")
        flows = os.path.join(self.folder, "run", "flows.csv")
        with open(stats, encoding="utf-8") as file:
            text = file.read()

        def timeline(out="trace.json"):
            return subprocess.run(
                [self.program("timeline"), "run", out, "1000"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=20,
            )

        self.assertEqual(timeline().returncode, 0)
        for version in ("999", "0", '"1"', "[1]", "1.5"):
            with self.subTest(version):
                with open(stats, "w", encoding="utf-8") as file:
                    file.write(
                        text.replace('"schema_version": 1', f'"schema_version": {version}', 1)
                    )
                done = timeline()
                self.assertEqual(done.returncode, 2, done.stderr)
                self.one_error(done.stderr, "schema_version", "reads 1")
        with open(stats, "w", encoding="utf-8") as file:
            file.write(text)
        os.remove(flows)
        os.mkfifo(flows)
        done = timeline()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.one_error(done.stderr, "flows.csv", "is a pipe")
        os.remove(flows)
        os.mkfifo(os.path.join(self.folder, "trace.part"))
        done = timeline("trace")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.one_error(done.stderr, "is a pipe")


class DryRun(RobustTest):
    """What a run refuses, a dry run refuses in the same words."""

    def test_the_same(self):
        garbage = self.write("garbage", "this is no table\n")
        lines = [
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB --fabric=ib"
                f" --ib-lfts={garbage}"
            ),
            (
                "collperf --ranks=4 --servers=4 --gpus-per-server=1 --topology=single-switch"
                f" --fabric=ib --ib-lfts={garbage}"
            ),
            (
                "dltrain --gpus=4 --gpus-per-server=2 --topology=single-switch"
                f" --model={self.model()} --fabric=ib --ib-lfts={garbage}"
            ),
            (
                "traffic --topology=leaf-spine --leaves=2 --spines=2 --hosts-per-leaf=2 --bytes=1kB"
                " --fabric=ib --ib-routing=torus-2QoS"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB"
                " --ns3::RdmaSwitch::BufferPer100G=100"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB"
                " --ns3::RdmaSwitch::Chip=nothing"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB"
                " --ns3::RdmaSwitch::AlphaOfPriority=9:9"
            ),
            "traffic --topology=single-switch --hosts=4 --bytes=1kB --ns3::RdmaNic::MaxRate=1",
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB"
                " --ns3::RdmaNic::PcieBandwidth=1bps"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB --ns3::RdmaNic::RtoLow=1s"
                " --ns3::RdmaNic::RtoHigh=1ms"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB"
                " --ns3::RdmaSwitch::PfcWatchdogDetection=1ps"
            ),
            (
                "traffic --topology=single-switch --hosts=4 --bytes=1kB --fabric=ib"
                " --ns3::RdmaNic::PcieReceiveBuffer=1000"
            ),
        ]
        for line in lines:
            with self.subTest(line):
                said = [self.refuse(line + more) for more in ("", " --dry-run")]
                self.assertEqual(said[0].err, said[1].err)

    def test_a_host_called_all(self):
        net = self.write("net.json", star(["all", "b"]))
        self.refuse(f"traffic --topology={net} --bytes=1kB --pcap=all", "--pcap=all", "all:0")
        run = self.run_program(f"traffic --topology={net} --bytes=1kB --pcap=all:0 --report=0")
        self.assertEqual(
            [name for name in os.listdir(run.folder) if name.endswith(".pcap")], ["all-0.pcap"]
        )


class Environment(RobustTest):
    def test_integers_of_ns3(self):
        """ns-3 reads these before main and aborts at what is no integer."""
        for name in ("RngRun", "RngSeed"):
            for value in ("x", "1x", "-1", "99999999999999999999", "1.5", "\x1b[2J"):
                for program in ("traffic", "collperf", "dltrain", "timeline"):
                    with self.subTest(f"{program} {name}={value!r}"):
                        done = subprocess.run(
                            [self.program(program), "--help"],
                            env=dict(
                                os.environ, NS_GLOBAL_VALUE=f"ChecksumEnabled=0;{name}={value}"
                            ),
                            capture_output=True,
                            text=True,
                            timeout=60,
                            check=False,
                        )
                        self.assertEqual(done.returncode, 2, done.stderr)
                        self.assertIn(f"NS_GLOBAL_VALUE: {name}=", done.stderr)
                        self.assertNotIn("\x1b", done.stderr)
        done = subprocess.run(
            [self.program("traffic"), "--help"],
            env=dict(os.environ, NS_GLOBAL_VALUE="RngRun=7;RngSeed=3"),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class WholeLines(RobustTest):
    """Of several processes the lines are not torn: each goes in one write(), whatever says it."""

    def test_one_write_a_line(self):
        small = ["--topology=single-switch", "--hosts=4", "--bytes=1kB", "--dry-run"]
        for arguments in (
            ["--pattern=nothing"],
            ["--nic=nothing", "--cc=nothing"],
            ["--ns3::RdmaNic::Mtuu=1"],
            ["--ns3::RdmaSwitch::BufferPer100G=100"],
        ):
            with self.subTest(arguments):
                # a write is a datagram
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                with ours:
                    with theirs:
                        status = subprocess.run(
                            [self.program("traffic"), *small, *arguments],
                            stderr=theirs,
                            stdout=subprocess.DEVNULL,
                            cwd=self.folder,
                            timeout=60,
                            check=False,
                        ).returncode
                    self.assertEqual(status, 2)
                    ours.setblocking(False)
                    writes = []
                    try:
                        while True:
                            writes.append(ours.recv(100000).decode())
                            if not writes[-1]:
                                break
                    except BlockingIOError:
                        pass
                writes = [text for text in writes if text]
                self.assertTrue(writes)
                for text in writes:
                    self.assertRegex(text, r"\Atraffic: error: [^\n]+\n\Z")


class NoEnd(RobustTest):
    """Sizes that took minutes without a word: refused, quick, or not without a word. In 2 GiB."""

    def test_refused(self):
        for times in (
            "--on-time=1ps --off-time=1ps",
            "--on-time=1ps --off-time=0ns",
            "--on-time=1ns --off-time=1ns --duration=1s",
        ):
            self.refuse(f"traffic --pattern=on-off {times}", "--on-time", "together at least")

    def test_a_thousand_errors(self):
        """The same one is told once; of others 50, and how many more there are."""
        same = {"program": "collperf", "collectives": {"algorithm": ["ring"] * 1000}}
        self.refuse(f"collperf --scenario={self.write('same.json', same)}", "a second algorithm")
        for keys, lines in ((50, 50), (51, 51), (52, 51), (200, 51)):
            others = {"program": "collperf", **{f"key{i}": 1 for i in range(keys)}}
            run = self.run_program(
                f"collperf --scenario={self.write('others.json', others)}", status=2
            )
            errors = run.err.splitlines()
            self.assertEqual(len(errors), lines)
            self.assertTrue(all("unknown key" in line for line in errors), run.err)
            told = min(keys, 101)  # of a file; the last one says that there are more
            more = f"collperf: error: {told - 50} more errors, of which the next is: "
            self.assertEqual(errors[-1].startswith(more), keys > 51, errors[-1])

    def test_long_gaps_cost_nothing(self):
        """Periods beyond the end are not drawn: a load of a billionth has gaps of seconds."""
        self.run_program(
            (
                "traffic --topology=single-switch --hosts=4 --pattern=on-off --on-time=10ns"
                " --off-time=10ns --load=1e-6 --duration=1ms --dry-run"
            ),
            status=2,
        )  # no flow starts

    def test_large_plans(self):
        lines = (
            "traffic --k=128 --dry-run",
            "traffic --topology=torus --torus=30x30x30 --dry-run",
            "dltrain --gpus=1000000 --dry-run",
            "collperf --ranks=100000 --servers=12500 --gpus-per-server=8 --dry-run",
        )
        for line in share_of(lines, one_in=4, first=3):
            with self.subTest(line):
                begin = time.time()
                status, output, errors, _ = self.ended(
                    line, timeout=300, preexec_fn=at_most(3 << 30)
                )
                self.assertEqual(status, 0, errors)
                self.assertIn("host memory", output)
                if time.time() - begin > 20:
                    self.assertIn("setting up", errors)


if __name__ == "__main__":
    main()
