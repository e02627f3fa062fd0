# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""--tuner=measured: the best few by formula are simulated on the run's own network, the fastest is
taken, and all of it is kept in --tuner-cache.

Expected: what a candidate takes as it is measured is what collperf itself takes with it, alone. The
network is one where formulas fail: a fat-tree whose uplinks are a fourth of what they serve, and
servers at random places of it, so that a ring's neighbours share uplinks. (With 16 ranks and 16 MiB
the formula, which has only NICs, takes a ring; every candidate crosses the uplinks in another way.)
"""

import json
import os
import re
import signal
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import NONDETERMINISTIC, SystemTest, main, nccl_table

QUIET = " --report=0 --timeline=0 --attribution=0 --progress=0"
NARROW = " --topology=fat-tree --k=8 --oversubscription=4 --placement=random --seed=3"
RUN = "collperf --ranks=16 -b 16M -e 16M" + NARROW + QUIET
TUNED = " --tuner=measured --tuner-cache=tuned"


def results(run):
    """stats.json but for what measures this machine."""
    return {key: value for key, value in run.stats.items() if key not in NONDETERMINISTIC}


def digest(one):
    """Of a measurement: FNV-1a over its JSON without spaces, keys in order, and a zero."""
    one = {key: value for key, value in one.items() if key != "digest"}
    one["tried"] = [
        {key: value for key, value in tried.items() if key != "formula_us"}
        for tried in one["tried"]
    ]
    value = 0xCBF29CE484222325
    for byte in json.dumps(one, sort_keys=True, separators=(",", ":")).encode() + b"\0":
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


class Tuner(SystemTest):
    def cached(self, folder="tuned"):
        """Files of the cache, which has no other ones."""
        names = os.listdir(os.path.join(self.folder, folder))
        self.assertTrue(all(re.fullmatch("[0-9a-f]{16}.json", name) for name in names), names)
        return [os.path.join(self.folder, folder, name) for name in sorted(names)]

    def time_us(self, line):
        return nccl_table(self.run_program(line).out)[0]["time_us"]

    def test_finds_what_the_formula_does_not_know(self):
        by_formula = self.time_us(RUN)
        tuned = self.run_program(RUN + TUNED)
        (found,) = tuned.stats["tuner"]
        self.assertEqual((found["op"], found["ranks"], found["groups"]), ("all_reduce", 16, 1))
        # 16 MiB is what its range is measured at: 16 MiB / sqrt 2 = 11,863,283.2, and twice that.
        self.assertEqual(found["measured_bytes"], 16 << 20)
        self.assertEqual((found["from_bytes"], found["below_bytes"]), (11863284, 23726567))
        self.assertEqual(found["by_formula"], found["tried"][0])
        self.assertGreater(len(found["tried"]), 3)
        self.assertEqual(found["chosen"]["time_us"], min(t["time_us"] for t in found["tried"]))
        self.assertAlmostEqual(found["by_formula"]["time_us"], by_formula, delta=1e-3 * by_formula)
        gain = found["by_formula"]["time_us"] / found["chosen"]["time_us"]
        self.assertAlmostEqual(found["gain"], gain, delta=1e-9 * gain)
        self.assertGreater(gain, 1.1)
        # And the run does it, in that time: alone it is what was measured.
        row = tuned.stats["collectives"][0]
        for key in ("algorithm", "protocol"):
            self.assertEqual(row[key], found["chosen"][key])
        took = found["chosen"]["time_us"]
        self.assertAlmostEqual(row["time_us"], took, delta=1e-9 * took)
        self.assertIn(f"by formula {found['by_formula']['algorithm']}, ", tuned.err)
        self.assertIn(f"{gain:.2f} times as long", tuned.err)
        # Named, each of the others takes what was measured of it.
        for tried in found["tried"]:
            line = RUN + f" --algorithm={tried['algorithm']} --protocol={tried['protocol']}"
            if tried["channels"]:
                line += f" --channels={tried['channels']}"
            # Printed with six digits or so.
            self.assertAlmostEqual(self.time_us(line), tried["time_us"], delta=1e-3 * by_formula)

    def test_the_second_run_reads(self):
        first = self.run_program(RUN + TUNED)
        self.assertIn("measuring 1 choice (", first.err)
        (file,) = self.cached()
        with open(file, encoding="utf-8") as kept:
            text = kept.read()
        second = self.run_program(RUN + TUNED)
        self.assertIn(f"1 of 1 choice read from tuned/{os.path.basename(file)}", second.err)
        self.assertNotIn("measuring", second.err)
        # The same bytes, but for where files are.
        self.assertEqual(first.out, second.out)
        self.assertEqual(results(first), results(second))
        self.assertEqual(first.text("collectives.csv"), second.text("collectives.csv"))
        # A size more: what is known is read, the rest measured; what stood there stays.
        both = self.run_program(RUN.replace("-b 16M", "-b 8M") + TUNED)
        self.assertIn("1 of 2 choices read", both.err)
        self.assertIn("measuring 1 choice (", both.err)
        self.assertEqual(self.cached(), [file])
        one = json.loads(text)["measured"]
        with open(file, encoding="utf-8") as kept:
            two = json.load(kept)["measured"]
        self.assertEqual(len(two), 2)
        self.assertIn(one[0], two)
        self.assertEqual(both.stats["tuner"][1], first.stats["tuner"][0])
        # Sizes of a range share its choice; one is not measured for them.
        within = self.run_program(RUN.replace("-b 16M -e 16M", "-b 20M -e 20M") + TUNED)
        self.assertNotIn("measuring", within.err)
        self.assertEqual(within.stats["tuner"], first.stats["tuner"])
        # Written anew in another folder, it is what it was.
        self.run_program(RUN + TUNED.replace("=tuned", "=other"))
        (other,) = self.cached("other")
        with open(other, encoding="utf-8") as kept:
            self.assertEqual(kept.read(), text)

    def test_chance_is_the_same_with_and_without_a_measurement(self):
        """Random ways and losses: simulations before it leave no trace in a run."""
        line = (
            RUN.replace("16M", "256K")
            + TUNED
            + " --bit-error-rate=1e-9 --ns3::RdmaSwitch::LoadBalancer=spray"
            " --ns3::RdmaNic::LossRecovery=out-of-order"
        )
        first = self.run_program(line)
        second = self.run_program(line)
        self.assertIn("measuring", first.err)
        self.assertNotIn("measuring", second.err)
        self.assertEqual(results(first), results(second))
        self.assertEqual(first.text("flows.csv"), second.text("flows.csv"))

    def test_without_a_library_formulas_choose(self):
        """Few messages for small sizes, few bytes for large ones: 16 ranks on a switch."""
        line = "collperf --ranks=16 --library=none -b 1K -e 16M -f 16384" + QUIET
        small, large = self.run_program(line).stats["collectives"]
        self.assertEqual(small["algorithm"], "double-binary-tree")
        self.assertEqual(large["algorithm"], "ring")
        # And that is right: each is faster there than the other.
        for row, other in ((small, "ring"), (large, "double-binary-tree")):
            size = f" -b {row['bytes']} -e {row['bytes']} --algorithm={other}"
            took = self.time_us(line.replace(" -b 1K -e 16M -f 16384", size))
            self.assertLess(row["time_us"], took)

    def test_another_network_is_another_file(self):
        small = RUN.replace("16M", "64K")
        self.run_program(small + TUNED)
        for n, more in enumerate(
            (
                " --cc=hpcc",
                " --seed=4",
                " --link-delay=2us",
                " --ns3::RdmaSwitch::LoadBalancer=adaptive"
                " --ns3::RdmaNic::LossRecovery=out-of-order",
                " --library=none",
            )
        ):
            line = small.replace(" --seed=3", "") if "seed" in more else small
            self.assertIn("measuring", self.run_program(line + more + TUNED).err)
            self.assertEqual(len(self.cached()), n + 2)
        # Neither outputs nor sizes nor threads are the network.
        self.run_program(small + TUNED + " --threads=1")
        self.assertEqual(len(self.cached()), 6)

    def test_the_contents_of_files_count(self):
        server = {
            "name": "mine",
            "gpu": "A100",
            "gpus": 4,
            "nics": 2,
            "nic_rate": "100Gbps",
            "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "600ns"},
            "source": "assumed",
        }
        line = "collperf --server=mine.json --servers=3 -b 64K" + QUIET + TUNED
        self.write("mine.json", {"servers": [server]})
        self.run_program(line)
        server["scale_up"]["latency"] = "900ns"
        self.write("mine.json", {"servers": [server]})
        self.assertIn("measuring", self.run_program(line).err)
        self.assertEqual(len(self.cached()), 2)

    def test_odd_shapes(self):
        """Ranks that are no power of two, several NICs, InfiniBand, no library, other
        operations.
        """
        for line in (
            "--servers=3 -g 5 --nics-per-server=2 --op=all_gather -b 100K -e 100K",
            "--ranks=7 --fabric=ib --op=reduce_scatter -b 1M -e 1M",
            "--ranks=12 --library=none --op=alltoall -b 1M -e 1M",
            "--servers=2 -g 8 --server=dgx-h100 -b 4 -e 4",
            "--ranks=6 --op=barrier",
            "--ranks=5 --network=analytic --op=broadcast --root=2 -b 3M -e 3M",
        ):
            run = self.run_program("collperf " + line + QUIET + TUNED)
            (found,) = run.stats["tuner"]
            times = [t["time_us"] for t in found["tried"]]
            self.assertEqual(found["chosen"]["time_us"], min(times), line)
            self.assertEqual(run.stats["collectives"][0]["algorithm"], found["chosen"]["algorithm"])

    def test_a_step_uses_the_same(self):
        """Groups of a step enter together, each with 1 of a server's 4 GPUs: 4 groups of 4."""
        line = (
            "dltrain --model=gpt2 --servers=4 --gpus-per-server=4 --tp=4 --zero=0 --seq=128"
            " --topology=fat-tree --k=8 --oversubscription=4 --placement=random" + QUIET + TUNED
        )
        first = self.run_program(line)
        kinds = {(t["op"], t["ranks"], t["groups"]) for t in first.stats["tuner"]}
        self.assertIn(("all_reduce", 4, 4), kinds)
        self.assertIn("Tuner ", first.out)
        second = self.run_program(line)
        self.assertNotIn("measuring", second.err)
        self.assertEqual(results(first), results(second))
        self.assertEqual(first.text("calls.log"), second.text("calls.log"))

    def test_dry_runs_only_read(self):
        dry = self.run_program(RUN + TUNED + " --dry-run")
        self.assertIn("1 choice would be measured first", dry.err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "tuned")))

    def test_a_signal_ends_it_and_keeps_what_was_measured(self):
        # Sizes of 11 ranges, the last ones of seconds: some are done when the first is told.
        line = RUN.replace("-b 16M -e 16M", "-b 64K -e 64M -f 2").replace(" --progress=0", "")
        for number in (signal.SIGINT, signal.SIGTERM):
            command, _ = self.command(line + TUNED.replace("=tuned", f"=tuned{number}"))
            with subprocess.Popen(
                command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as process:
                said = ""
                while "64 KiB, 16 ranks: " not in said:
                    said += process.stderr.readline()
                    self.assertIsNone(process.poll(), said)
                process.send_signal(number)
                _, rest = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, said + rest)
            self.assertRegex(
                rest, r"interrupted while --tuner measured: \d+ choices? of 11 kept in tuned"
            )
            (file,) = self.cached(f"tuned{number}")
            with open(file, encoding="utf-8") as kept:
                self.assertGreaterEqual(len(json.load(kept)["measured"]), 1)

    def test_what_cannot_be_written_is_status_1(self):
        # A limit of one block, as a disk that is full: some 4 kB are needed.
        command, _ = self.command(RUN.replace("16M", "64K") + TUNED)
        run = subprocess.run(
            ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("--tuner-cache: tuned/", run.stderr)
        self.assertIn("cannot be written", run.stderr)

    def test_just_below_a_power_of_two(self):
        # One element less is done as the power of two is, and takes no longer.
        line = "collperf --ranks=4 -b SIZE --nic=200GbE --topology=fat-tree --oversubscription=4"
        line += QUIET + TUNED
        times = []
        for size in (262140, 262144):
            run = self.run_program(line.replace("SIZE", str(size)))
            (found,) = run.stats["tuner"]
            self.assertEqual(found["measured_bytes"], 262144)
            (row,) = run.stats["collectives"]
            times.append(row["time_us"])
            self.assertEqual(row["protocol"], found["chosen"]["protocol"])
            self.assertEqual("measuring" in run.err, size == 262140)
        self.assertLessEqual(times[0], times[1] * 1.001)
        self.assertIn("Tuner            all_reduce of 256 KiB and near it, 4 ranks: ", run.err)

    def test_a_wrong_size_is_the_only_mistake(self):
        run = self.refuse(
            "collperf --ranks=4 -b 100001 --tuner=measured", "-b=100001", "multiples of 4 B"
        )
        self.assertNotIn("--tuner", run.err)

    def test_mistakes(self):
        small = "collperf --ranks=4 -b 64K" + QUIET  # of no network that has something to tell
        self.refuse(small + " --tuner=measure", "--tuner", "measured")
        self.refuse(small + " --tuner-cache=x", "--tuner-cache", "needs --tuner=measured")
        self.refuse(small + TUNED + " --algorithm=ring", "--tuner", "allowed: model")
        self.refuse(
            "collperf --op=sendrecv --ranks=4 -b 1K" + TUNED, "--tuner", "allowed: model"
        )
        self.write("file", "")
        for more in ("", " --dry-run"):
            line = small + TUNED.replace("=tuned", "=file/x") + more
            self.refuse(line, "--tuner-cache", "file/x", "file is a file, not a folder")
        self.run_program(small + TUNED)
        (file,) = self.cached()
        with open(file, encoding="utf-8") as kept:
            good = json.load(kept)
        for text, words in (
            ("", "is no JSON object"),
            ('{"format": 1', "is no JSON object"),
            ({**good, "format": "else"}, "/format"),
            ({**good, "format_version": 9}, "/format"),
            ({**good, "network": {}}, "/network"),
            ({**good, "measured": 1}, "/measured"),
            ({**good, "measured": [{"tried": [{"time_ps": "1"}]}]}, "/measured/0"),
            ({**good, "measured": [{"tried": [{"time_ps": -1}]}]}, "/measured/0"),
        ):
            self.write(os.path.relpath(file, self.folder), text)
            self.refuse(small + TUNED, os.path.basename(file), words, "measured anew")
        # A folder in its place: one remedy, not two.
        os.rename(file, file + ".away")
        os.mkdir(file)
        run = self.refuse(small + TUNED, os.path.basename(file), "allowed: a regular file")
        os.rmdir(file)
        # Times that nobody has measured, whatever they are.
        tried = good["measured"][0]["tried"][0]
        right = tried["time_ps"]
        self.assertEqual(digest(good["measured"][0]), good["measured"][0]["digest"])
        for wrong in (1, right - 1, right + 1, 2 * right):
            tried["time_ps"] = wrong
            self.write(os.path.relpath(file, self.folder), good)
            self.refuse(small + TUNED, "/measured/0: is not what was measured", "measured anew")
        tried["time_ps"] = right
        # What this version would not try is measured anew.
        tried["algorithm"] = "nosuch"
        good["measured"][0]["digest"] = digest(good["measured"][0])
        self.write(os.path.relpath(file, self.folder), good)
        self.assertIn("measuring 1 choice", self.run_program(small + TUNED).err)


if __name__ == "__main__":
    main()
