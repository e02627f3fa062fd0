# SPDX-License-Identifier: GPL-2.0-only
"""What a run leaves: names that scripts rely on, the same bytes for the same seed, complete files
after Ctrl-C, captures.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import (
    NONDETERMINISTIC,
    SystemTest,
    add_lists,
    captured,
    header_of,
    main,
    repeatable,
)


def small(test):
    """16 servers on a k = 4 fat-tree as the default job, and 32 MB of parameters: half a second."""
    layers = [{"name": f"layer {i}", "parameters": 4 << 20, "flops": 1.0e9} for i in range(4)]
    model = {"name": "small", "sequence": 256, "layers": layers}
    return f"dltrain --model={test.write('small.json', model)} "


FILES = [
    "attribution.csv",
    "calls.log",
    "critical_messages.csv",
    "critical_path.csv",
    "flows.csv",
    "links.csv",
    "network_events.log",
    "report.html",
    "stats.json",
    "step_collectives.csv",
    "steps.csv",
    "timeline.json",
    "topology.json",
]
PARTS = header_of("critical_path.csv").split(",")[7:]
OF_STEPS = {
    "calls.log",
    "critical_messages.csv",
    "critical_path.csv",
    "step_collectives.csv",
    "steps.csv",
}


class Names(SystemTest):
    """Issue 2, "Names that others build on": more may come, none may go."""

    def test_files_columns_and_keys(self):
        run = self.run_program(small(self) + "--placement=random")
        self.assertEqual(sorted(os.listdir(run.folder)), FILES)
        self.assertEqual(
            run.header("flows.csv"),
            header_of("flows.csv"),
        )
        self.assertEqual(run.header("links.csv"), header_of("links.csv"))
        self.assertTrue(run.text("calls.log").startswith("# calls of the measured steps"))
        self.assertIn(
            "\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n",
            run.text("calls.log"),
        )
        self.assertEqual(run.header("network_events.log"), "# time_us what where details")

        stats = run.stats
        for key in (
            "schema_version step_time_us compute_time_us exposed_communication_time_us gpus servers"
            " bytes_sent_per_gpu collectives fct_us fct_slowdown drops ecn_marks cnps pfc_pauses"
            " pfc_pause_time_us retransmitted_packets data_packets frame_hops events wall_s"
            " frame_hops_per_s simulated_gpu_s_per_core_s peak_rss_bytes"
        ).split():
            self.assertIn(key, stats)
        self.assertEqual(stats["schema_version"], 1)
        for key in ("fct_us", "fct_slowdown"):
            for quantile in ("p50", "p90", "p99", "p999", "max"):
                self.assertIn(quantile, stats[key])
        for one in stats["collectives"]:
            for key in ("op", "algorithm", "bytes", "ranks", "time_us", "algbw_GBps", "busbw_GBps"):
                self.assertIn(key, one)
        self.assertEqual(set(stats["nondeterministic"]), NONDETERMINISTIC)
        self.assertTrue(NONDETERMINISTIC <= set(stats))
        self.assertWithin(
            stats["frame_hops_per_s"], stats["frame_hops"] / stats["event_loop_s"], 1e-6
        )
        # A second of two threads is two core-seconds while both have events, one otherwise: how
        # many threads there are depends on the idle cores of the machine.
        cores = 1 + (stats.get("threads", 1) - 1) * stats.get("parallel_share", 0)
        self.assertWithin(
            stats["simulated_gpu_s_per_core_s"],
            stats["simulated_time_us"] * 1e-6 * 128 / (stats["event_loop_s"] * cores),
            1e-6,
        )

        # links.csv: shares are shares, links are those of the network, both directions.
        rows = run.rows("links.csv")
        self.assertEqual(len(rows), stats["links_csv"]["rows"])
        for row in rows:
            self.assertEqual(row["link"].split("#")[0], f"{row['from']}->{row['to']}")
            self.assertTrue(0 <= row["utilization"] <= 1, row)
            self.assertTrue(0 <= row["pause_share"] <= 1, row)
            self.assertEqual(row["rate_gbps"], 100)
        self.assertEqual([row["time_us"] for row in rows], sorted(row["time_us"] for row in rows))
        self.assertEqual(sum(row["ecn_marks"] for row in rows), stats["ecn_marks"])
        # Rows of the busiest link add up to its share of the measured time.
        busiest = stats["links"][0]
        interval = stats["links_csv"]["interval_us"]
        busy = sum(row["utilization"] * interval for row in rows if row["link"] == busiest["link"])
        measured = stats["simulated_time_us"] - stats["measured_from_us"]
        self.assertWithin(busy / measured, busiest["utilization"], 0.02)
        # Only messages of the measured step are recorded. A rank may begin it before the last one
        # ends the warm-up, but not by as much as a step: the first messages of the warm-up are
        # longer ago than that.
        starts = [row["start_us"] for row in run.rows("flows.csv")]
        self.assertEqual(len(starts), stats["messages"])
        self.assertGreater(min(starts), stats["measured_from_us"] - 0.5 * stats["step_time_us"])
        # The summary tells where the files are.
        for name in (run.folder, "stats.json", "flows.csv", "links.csv", "network_events.log"):
            self.assertIn(name, run.out)

    def test_collperf_and_traffic_write_the_same(self):
        for line in (
            "collperf --ranks=4 -b 1M -e 4M",
            "traffic --topology=single-switch --hosts=4 --bytes=1MB",
        ):
            run = self.run_program(line)
            own = {"slowdown.csv" if run.stats["program"] == "traffic" else "collectives.csv"}
            self.assertEqual(sorted(os.listdir(run.folder)), sorted({*FILES, *own} - OF_STEPS))
            self.assertEqual(
                run.header("flows.csv"),
                header_of("flows.csv"),
            )
            stats = run.stats
            for key in (
                "schema_version fct_us fct_slowdown drops ecn_marks cnps pfc_pauses"
                " pfc_pause_time_us retransmitted_packets data_packets frame_hops events wall_s"
                " frame_hops_per_s peak_rss_bytes"
            ).split():
                self.assertIn(key, stats)


class SameSeedSameBytes(SystemTest):
    def outputs(self, line):
        run = self.run_program(line)
        files = {name: run.text(name) for name in os.listdir(run.folder) if name != "stats.json"}
        files["stats"] = repeatable(run.stats)
        # The summary, without its line of speeds and the folder's name.
        files["summary"] = [
            text.replace(run.folder, "")
            for text in run.out.splitlines()
            if not text.startswith("Simulation ")
        ]
        return files

    def test_twice_is_the_same_and_another_seed_is_not(self):
        line = small(self) + "--placement=random --bit-error-rate=1e-9 "
        first = self.outputs(line + "--seed=5")
        again = self.outputs(line + "--seed=5")
        self.assertEqual(sorted(first), sorted(again))
        for name in first:
            self.assertEqual(first[name], again[name], name)
        other = self.outputs(line + "--seed=6")
        self.assertNotEqual(first["flows.csv"], other["flows.csv"])
        self.assertNotEqual(first["stats"]["step_time_us"], other["stats"]["step_time_us"])

    def test_the_configuration_as_run_runs_again(self):
        # stats.json's configuration is a scenario file: it gives the same result, although it was
        # not asked for one.
        options = (
            "--zero=3 --placement=random --seed=3 --mtu=2048 --ack-every=4 --cc-preset=sigcomm15"
            " --oversubscription=2 --ns3::RdmaSwitch::PipelineLatency=300ns"
        )
        first = self.run_program(small(self) + options)
        scenario = self.write("as-run.json", first.stats["configuration"])
        again = self.run_program(f"dltrain --scenario={scenario}")
        for name in ("flows.csv", "calls.log", "links.csv", "network_events.log"):
            self.assertEqual(first.text(name), again.text(name), name)
        self.assertEqual(repeatable(first.stats), repeatable(again.stats))

    def test_command_line_overrides_the_file(self):
        scenario = self.write(
            "s.json",
            {"training": {"model": "gpt2", "seq": 256, "zero": 0}, "cluster": {"servers": 2}},
        )
        stats = self.run_program(f"dltrain --scenario={scenario} --zero=1").stats
        self.assertEqual((stats["zero"], stats["servers"], stats["model"]), (1, 2, "gpt2"))
        self.assertEqual(stats["configuration"]["training"]["zero"], 1)


class Interrupted(SystemTest):
    def test_ctrl_c_leaves_complete_files(self):
        # Some minutes' worth of steps; --no-progress keeps standard error for what must be said.
        words, out = self.command(small(self) + "--steps=100000 --no-progress")
        process = subprocess.Popen(
            words,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            # Files are written as the run goes: a measured step is done when there are more
            # messages than it has.
            deadline = time.monotonic() + 60
            flows = os.path.join(out, "flows.csv")
            while not os.path.exists(flows) or os.path.getsize(flows) < 2000000:
                self.assertIsNone(process.poll(), "it ended before it could be interrupted")
                self.assertLess(time.monotonic(), deadline, "no results while it runs")
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 130, stdout + stderr)
        self.assertIn("interrupted", stdout + stderr)
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            stats = add_lists(json.load(file), out)
        self.assertFalse(stats["completed"])
        self.assertTrue(stats["interrupted"])
        self.assertTrue(0 < stats["share_done"] < 1)
        # How far it got is said, and the steps that were completed are in.
        self.assertGreater(stats["steps_measured"], 0)
        self.assertEqual(len(stats["step_times_us"]), stats["steps_measured"])
        self.assertGreater(stats["step_time_us"], 0)
        self.assertRegex(stdout, r"\d+(\.\d+)?%")
        # Every line of every file is whole.
        columns = {"flows.csv": (",", 11), "links.csv": (",", 10), "calls.log": ("\t", 9)}
        for name, (separator, count) in columns.items():
            with open(os.path.join(out, name), encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.endswith("\n"), name)
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            self.assertGreater(len(lines), 10, name)
            self.assertEqual({line.count(separator) for line in lines}, {count - 1}, name)
        with open(os.path.join(out, "network_events.log"), encoding="utf-8") as file:
            self.assertRegex(file.read().splitlines()[-1], r"^# end \d")
        self.assertEqual(glob.glob(os.path.join(out, "*.part")), [])


class Captures(SystemTest):
    """--pcap: tshark reads every frame as RoCEv2, none malformed, and counts what the simulator
    counted.
    """

    def tshark(self, path, display, *fields):
        command = ["tshark", "-n", "-r", path]
        if display:
            command += ["-Y", display]
        if fields:
            command += ["-T", "fields"] + [word for field in fields for word in ("-e", field)]
        done = captured(command, timeout=60, check=True, env={**os.environ, "HOME": self.folder})
        return done.stdout.splitlines()

    def test_a_link(self):
        # Two servers of one GPU: 1 MiB all-reduced is 2 messages of 512 KiB each way, 128 packets
        # each.
        run = self.run_program("collperf --ranks=2 -b 1M --library=none --pcap=server-0-switch-0")
        files = [name for name in os.listdir(run.folder) if name.endswith(".pcap")]
        self.assertEqual(len(files), 1, files)
        path = run.path(files[0])
        with open(path, "rb") as file:
            # nanosecond pcap
            self.assertIn(file.read(4), (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"))
        self.assertEqual(run.stats["data_packets"], 2 * 2 * 128)
        if not shutil.which("tshark"):
            raise unittest.SkipTest(
                "tshark is not installed: only the file's first bytes were looked at"
            )
        frames = self.tshark(path, "")
        # At server 0: 256 packets out, 256 in, and an ACK for each 16 of both; the run ends with
        # the last byte of data, so that the last ACKs may be missing.
        self.assertLessEqual(len(frames), 2 * (256 + 16))
        self.assertGreaterEqual(len(frames), 2 * (256 + 16) - 2)
        self.assertEqual(self.tshark(path, "_ws.malformed"), [])
        self.assertEqual(len(self.tshark(path, "infiniband.bth")), len(frames))
        opcodes = [int(text) for text in self.tshark(path, "", "infiniband.bth.opcode")]
        # WRITE First 6, Middle 7, Last with immediate 9, Acknowledge 17: four messages of 128
        # packets.
        self.assertEqual(
            {code: opcodes.count(code) for code in set(opcodes)},
            {6: 4, 7: 4 * 126, 9: 4, 17: len(frames) - 512},
        )
        sizes = {
            int(code): int(size)
            for code, size in (
                line.split("\t")
                for line in self.tshark(path, "", "infiniband.bth.opcode", "frame.len")
            )
        }
        # Ethernet 14 + IPv4 20 + UDP 8 + BTH 12 + payload + ICRC 4; the FCS is not captured or is
        # (4).
        self.assertIn(sizes[7] - (14 + 20 + 8 + 12 + 4096 + 4), (0, 4))
        self.assertEqual(sizes[6] - sizes[7], 16)
        self.assertEqual(sizes[9] - sizes[7], 4)
        # UDP to RoCE's port, lengths right in every frame.
        self.assertEqual(set(self.tshark(path, "", "udp.dstport")), {"4791"})
        self.assertEqual(self.tshark(path, "frame.len < ip.len"), [])

    def test_pauses_are_in_it(self):
        run = self.run_program(
            "traffic --pattern=incast --topology=single-switch --hosts=9 --fan-in=8 --bytes=2MB"
            " --cc=none --pcap=server-1"
        )
        self.assertGreater(run.stats["pfc_pauses"], 0)
        if not shutil.which("tshark"):
            raise unittest.SkipTest("tshark is not installed")
        path = glob.glob(run.path("*.pcap"))[0]
        self.assertEqual(self.tshark(path, "_ws.malformed"), [])
        self.assertGreater(len(self.tshark(path, "macc.opcode == 0x0101")), 0)


class NsAttributes(SystemTest):
    def test_pipeline_latency_changes_the_time(self):
        # 30 steps of a ring over one switch: 200 ns less in each.
        times = {}
        for latency in ("500ns", "300ns"):
            run = self.run_program(
                "collperf --ranks=16 -b 64K --library=none --algorithm=ring"
                f" --ns3::RdmaSwitch::PipelineLatency={latency}"
            )
            times[latency] = run.stats["collectives"][0]["time_us"]
        self.assertAlmostEqual(times["500ns"] - times["300ns"], 30 * 0.2, delta=0.3)
        plain = self.run_program(
            "collperf --ranks=16 -b 64K --library=none --algorithm=ring --switch-latency=300ns"
        )
        self.assertEqual(plain.stats["collectives"][0]["time_us"], times["300ns"])

    def test_what_ns3_can_print(self):
        run = self.run_program("dltrain --PrintAttributes=ns3::RdmaSwitch")
        self.assertIn("PipelineLatency", run.out)
        # Defaults are what this run has; the attributes' own stand before.
        run = self.run_program("traffic --priority=5 --PrintAttributes=ns3::RdmaSwitch")
        self.assertIn(
            "This run sets ns3::RdmaSwitch::LosslessPriorities to 40; the attribute's own default"
            " is 8\n",
            run.out,
        )
        self.assertTrue(
            re.search(r"DcqcnCongestionOps", self.run_program("dltrain --PrintTypeIds").out)
        )


class ManyRanks(SystemTest):
    """stats.json stays small: lists that grow with ranks or collectives are tables."""

    def test_size_of_stats(self):
        run = self.run_program(
            "dltrain --model=gpt2 --gpus=128 --tensor-parallel=4 --accumulation=8"
            " --network=analytic --steps=2 --report=0 --timeline=0"
        )
        rows = run.rows("step_collectives.csv")
        self.assertGreater(len(rows), 5_000)
        self.assertLess(os.path.getsize(run.path("stats.json")), 1e6)
        told = json.loads(run.text("stats.json"))
        for key in ("collectives", "step_times_us"):
            self.assertNotIn(key, told)
        # One step has more than 10,000; the other is as long.
        self.assertEqual({row["step"] for row in rows}, {1})
        self.assertEqual(told["collectives_left_out"], len(rows))
        path = run.rows("critical_path.csv")
        self.assertEqual(min(1000, told["critical_path"]["calls"]), len(path))
        # A row's parts are its time; a computation has none.
        for row in path:
            parts = sum(value for name, value in row.items() if name in PARTS)
            took = row["end_us"] - row["start_us"]
            self.assertAlmostEqual(parts, took if row["messages"] != "" else 0, places=3)


class ManySteps(SystemTest):
    """Memory does not grow with the number of steps: what is listed is of the first ones, sums and
    means are of all.
    """

    @classmethod
    def setUpClass(cls):
        cls.of_both = tempfile.mkdtemp(prefix="dltrain-test-")
        cls.addClassCleanup(shutil.rmtree, cls.of_both, ignore_errors=True)
        cls.of_steps = {}

    def run_steps(self, steps):
        """Run once: both tests look at the longest run."""
        if steps not in self.of_steps:
            layers = [{"name": "layer", "parameters": 1024, "flops": 1.0e9}]
            model = self.write("tiny.json", {"name": "tiny", "sequence": 256, "layers": layers})
            self.of_steps[steps] = self.run_program(
                f"dltrain --model={model} --gpus=2 --gpus-per-server=2 --servers=1 --micro-batch=1"
                f" --warmup=1 --zero=2 --steps={steps} --report=0 --timeline=0",
                out=os.path.join(self.of_both, str(steps)),
            )
        return self.of_steps[steps]

    def test_memory_and_lists(self):
        # A reduce-scatter and an all-gather a step; calls of a GPU a step: forward, backward, two
        # collectives, optimizer.
        few, some, many = (self.run_steps(steps) for steps in (10, 20_000, 250_000))
        self.assertEqual(
            (len(few.stats["collectives"]), few.stats["collectives_left_out"]), (20, 0)
        )
        self.assertEqual(
            (len(few.stats["step_times_us"]), few.stats["step_times_left_out"]), (10, 0)
        )
        for run, steps in ((some, 20_000), (many, 250_000)):
            stats = run.stats
            self.assertEqual(stats["steps_measured"], steps)
            self.assertEqual(
                [one["step"] for one in stats["collectives"]], [1 + i // 2 for i in range(10_000)]
            )
            self.assertEqual(stats["collectives_left_out"], 2 * steps - 10_000)
            self.assertEqual(len(stats["step_times_us"]), min(steps, 100_000))
            self.assertEqual(stats["step_times_left_out"], max(0, steps - 100_000))
            self.assertLess(os.path.getsize(run.path("stats.json")), 1e6)
            # All steps are alike, so means of all of them are those of ten; a GPU sends half of 2 x
            # 1,024 B and 2 x 1,024 B.
            for key in ("step_time_us", "compute_time_us", "communication_time_us"):
                self.assertWithin(stats[key], few.stats[key], 1e-6, key)
            self.assertEqual(stats["bytes_sent_per_gpu"], few.stats["bytes_sent_per_gpu"])
        # Between these: 80,000 numbers more in a list of stats.json, no more. Records of steps were
        # 6 kB each.
        self.assertLess(many.stats["peak_rss_bytes"] - some.stats["peak_rss_bytes"], 230_000 * 200)

    def test_calls_log_ends_with_the_first_steps(self):
        """Of 2 x 5 x 250,000 calls one GPU's of the first 200,000 steps."""
        run = self.run_steps(250_000)
        with open(run.path("calls.log"), encoding="utf-8") as file:
            self.assertRegex(
                file.readline(),
                r"^# calls of the measured steps, the first 200000, .*; only every 2nd rank\n$",
            )
            rows, last = 0, ""
            for last in file:
                rows += 1
        self.assertEqual(rows - 1, 1_000_000)
        self.assertEqual(last.split("\t")[2:4], ["200000", "0"])


if __name__ == "__main__":
    main()
