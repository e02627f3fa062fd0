# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""scripts/bench: what it runs, what follows from the numbers, and what is wrong with its input. No
time is asserted.
"""

import glob
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, captured, main, share_of

BENCH = os.path.join(ROOT, "scripts", "bench")
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator import marked  # noqa: E402
from cluster_simulator.bench import (  # noqa: E402
    cases,
    machine,
    measuring,
    running,
    tables,
)
from cluster_simulator.bench.yardstick import Yardstick  # noqa: E402

# What a run says of itself that is no time and no memory.
SAME = ("frame_hops", "events", "hosts", "gpus", "simulated_s")

# Another yardstick, which measures nothing.
STAND_IN = """#include <cstdio>
int main(int, char** v) { std::printf("k=%s bytes=%s threads=%s Mhop/s=2.5\\n", v[1], v[2], v[3]); }
"""


class BenchTest(SystemTest):
    def bench(self, *arguments, status=0, programs=PROGRAMS, root=ROOT):
        done = captured(
            [BENCH, *arguments],
            cwd=self.folder,
            env={**os.environ, "DLTRAIN_PROGRAMS": programs, "DLTRAIN_ROOT": root},
            timeout=120,
        )
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def quick(self, names, *arguments, **more):
        """(What it printed, what it wrote as JSON.)"""
        path = os.path.join(self.folder, "bench.json")
        done = self.bench("--quick", f"--cases={names}", f"--json={path}", *arguments, **more)
        with open(path, encoding="utf-8") as file:
            return done.stdout, json.load(file)

    def refuse(self, *arguments_and_words, status=2, **more):
        """Words after None have to stand in the one line of the error."""
        place = arguments_and_words.index(None)
        done = self.bench(*arguments_and_words[:place], status=status, **more)
        errors = [line for line in done.stderr.splitlines() if ": error: " in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for word in arguments_and_words[place + 1 :]:
            self.assertIn(word, errors[0])
        return done

    def program(self, text):
        """A folder with a program traffic, which lists the options of the real one, and else is
        this script.
        """
        folder = os.path.join(self.folder, "programs")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "traffic")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f'#!/bin/sh\nreal={shlex.quote(PROGRAMS)}/traffic\ncase "$*" in --list=options)'
                f' exec "$real" "$@" ;; esac\n{text}\n'
            )
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return folder


class Cases(BenchTest):
    def test_list(self):
        lines = self.bench("--list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], cases.NAMES)
        self.assertEqual(len(set(cases.NAMES)), len(cases.NAMES))
        self.assertIn("collperf --op=all_reduce --algorithm=ring --ranks=1024", "\n".join(lines))
        # The yardstick has an ACK for every packet, and so has one all-to-all.
        (acks,) = [line for line in lines if line.startswith("all-to-all-128-acks ")]
        self.assertIn("--pattern=all-to-all --bytes=64kB --ack-every=1", acks)
        some = self.bench("--list", "--cases=growth-*,permutation-k4").stdout.splitlines()
        self.assertEqual(
            [line.split()[0] for line in some],
            ["permutation-k4", *(f"growth-{2**n}" for n in range(7, 14))],
        )

    def test_every_command_is_accepted(self):
        """But those of a plan that takes seconds; their quick ones have the same options."""
        for quick in (False, True):
            for line in {
                json.dumps([case.program, case.options_of(quick)])
                for case in cases.CASES
                if quick or case.k_of(False) < 32
            }:
                with self.subTest(line):
                    program, options = json.loads(line)
                    words = [f"--{key.replace('_', '-')}={options[key]}" for key in options]
                    if "scenario" in options:
                        words = [
                            word.replace("=scenarios", f"={ROOT}/scenarios") for word in words
                        ]
                    self.run_program([program, *words, "--dry-run"])

    def test_growth_doubles_hosts_on_networks_that_have_room(self):
        growing = [case for case in cases.CASES if case.name.startswith("growth-")]
        for case, hosts in zip(growing, (128, 256, 512, 1024, 2048, 4096, 8192)):
            k = case.k_of(False)
            self.assertEqual(case.options["hosts"], hosts)
            self.assertTrue((k - 2) ** 3 // 4 < hosts <= k**3 // 4, k)


class Measurements(BenchTest):
    def test_a_permutation_and_a_ring(self):
        shown, first = self.quick("permutation-k4,all-reduce-ring-16", "--repeat=2")
        _, second = self.quick("permutation-k4,all-reduce-ring-16")
        self.assertTrue(first["completed"] and first["quick"])
        self.assertEqual(first["yardstick"], "tests/bench/yardstick.cc")
        names = [case["name"] for case in first["cases"]]
        self.assertEqual(names, ["permutation-k4", "all-reduce-ring-16"])
        # 16 hosts, 50 kB each to another pod: 13 packets and as many ACKs, over 6 cables.
        self.assertEqual(first["cases"][0]["runs"][0]["frame_hops"], 16 * 13 * 2 * 6)
        self.assertEqual(first["cases"][1]["runs"][0]["gpus"], 16)
        self.assertEqual(first["cases"][1]["algorithm"], "ring")
        for case, other in zip(first["cases"], second["cases"]):
            runs = case["runs"]
            self.assertEqual((len(runs), len(other["runs"])), (2, 1))
            self.assertEqual(len(case["yardstick_mhops_per_s"]), 3)
            for run in (*runs[1:], *other["runs"]):
                self.assertEqual([run[key] for key in SAME], [runs[0][key] for key in SAME])
            self.assertEqual(case["command"], other["command"])
            speeds = [run["frame_hops"] / run["event_loop_s"] / 1e6 for run in runs]
            median = case["median"]
            self.assertAlmostEqual(median["mhops_per_s"], sum(speeds) / 2)
            yard = case["yardstick_mhops_per_s"]
            shares = [2 * speeds[i] / (yard[i] + yard[i + 1]) for i in (0, 1)]
            self.assertAlmostEqual(median["share_of_yardstick"], sum(shares) / 2)
            self.assertIn(f"\n{case['name']} ", shown)
            self.assertGreater(runs[0]["peak_rss_bytes"], 0.9 * case["smallest_peak_rss_bytes"])
        ring = first["cases"][1]
        self.assertAlmostEqual(
            ring["median"]["gpu_s_per_core_s"],
            sum(16 * run["simulated_s"] / run["event_loop_s"] for run in ring["runs"]) / 2,
        )

    def test_peak_memory_is_that_of_the_program(self):
        """A process has at least the peak of the one that it replaced: here of a large Python."""
        large = bytearray(50_000_000)
        ended = running.run(
            ["/usr/bin/python3", "-c", "import resource as r; print(r.getrusage(0).ru_maxrss)"], "/"
        )
        self.assertLess(1024 * int(ended.output), len(large))

    def test_what_a_build_has_not_is_said(self):
        shown, written = self.quick("permutation-k8-threads-2,permutation-k8-ranks-2,growth-128")
        options = captured([os.path.join(PROGRAMS, "traffic"), "--list=options"]).stdout
        known = {option["name"] for option in json.loads(options)["options"]}
        threads, ranks, _ = written["cases"]
        self.assertEqual("threads" in known, threads["not_in_this_build"] is None)
        if "threads" not in known:
            self.assertIn("not in this build: --threads=2\n", shown)
            self.assertEqual(threads["runs"], [])
        if ranks["not_in_this_build"] is None:
            self.assertIsNone(ranks["median"]["bytes_a_host"])
            self.assertEqual(ranks["runs"][0]["hosts"], 16)
        if "engine" not in known:
            self.assertEqual({case["engine"] for case in written["cases"]}, {"ns3"})

    def test_pairs_with_another_build(self):
        """Old ones are made to simulate something else: it is said."""
        old = self.program(
            'case "$*" in *permutation*) set -- "$@" --offset=1 ;; esac\nexec "$real" "$@"'
        )
        more = [f"--old={old}", "--repeat=3", f"--keep={self.folder}/kept"]
        shown, written = self.quick("permutation-k4,incast-64", *more)
        permutation = written["cases"][0]
        self.assertEqual(len(permutation["old_runs"]), 3)
        ratios = [
            old["event_loop_s"] / new["event_loop_s"] * new["frame_hops"] / old["frame_hops"]
            for new, old in zip(permutation["runs"], permutation["old_runs"])
        ]
        for ratio, expected in zip(permutation["ratios_of_pairs"], ratios):
            self.assertAlmostEqual(ratio, expected)
        self.assertIn(f"Against {old}", shown)
        rows = shown.split(f"Against {old}\n")[1].splitlines()
        hops = permutation["old_runs"][0]["frame_hops"]
        self.assertLess(hops, 2496)  # a neighbour is fewer cables away
        self.assertTrue(rows[1].endswith(f" {hops:,} and 2,496"), rows[1])
        self.assertTrue(rows[2].endswith(" the same"), rows[2])
        begun = {
            name: os.stat(os.path.join(self.folder, "kept", "permutation-k4", name, "flows.csv"))
            for name in os.listdir(os.path.join(self.folder, "kept", "permutation-k4"))
        }
        self.assertEqual(
            sorted(begun, key=lambda name: begun[name].st_mtime_ns),
            ["new-1", "old-1", "old-2", "new-2", "new-3", "old-3"],
        )

    def test_growth(self):
        shown, _ = self.quick("growth-128,growth-256,growth-1024")
        rows = shown.split("The same load on every host\n")[1].splitlines()
        self.assertIn(" x ", rows[2])
        self.assertNotIn(" x ", rows[1] + rows[3])  # nothing has half of these hosts

    def test_numbers(self):
        for value, text in ((0.0126, "0.0126"), (9, "9.00"), (124.4, "124"), (12345, "12,345")):
            self.assertEqual(tables.number(value), text)
        self.assertEqual(tables.of_range([3, 1, 2]), "2.00 (1.00 to 3.00)")
        self.assertEqual(tables.size(103e3), "103 kB")
        one = measuring.Measured(cases.CASES[0], False)
        self.assertEqual(tables.case_row(one)[6], "not measured")
        self.assertEqual(len(tables.CASE_HEAD), len(tables.CASE_WIDTHS))


class TheYardstick(BenchTest):
    def test_bare_frames(self):
        """Three cables up, three down, and back again as an ACK; the same for every number of
        threads.
        """
        yardstick = Yardstick(ROOT)
        yardstick.compile()
        seen = set()
        for threads in (1, 2, 3):
            said = captured([yardstick.program, "6", "100000", str(threads)], check=True).stdout
            values = dict(word.split("=") for word in said.split()[1:])
            # 54 hosts, 25 packets each
            self.assertEqual((values["packets"], values["hops"]), ("1350", "16200"))
            self.assertGreater(float(values["Mhop/s"]), 0)
            seen.add((values["events"], values["windows"]))
        self.assertEqual(len(seen), 1, seen)
        for words in (["5", "1", "1"], ["4", "0", "1"], ["4", "1", "5"], ["4", "x", "1"], []):
            done = captured([yardstick.program, *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Ayardstick: error: [^\n]+\n\Z")

    def test_another_one(self):
        source = self.write("stand-in.cc", STAND_IN)
        _, written = self.quick("incast-64", f"--prototype={source}")
        self.assertEqual(written["cases"][0]["yardstick_mhops_per_s"], [2.5, 2.5])
        self.assertEqual(written["yardstick"], source)
        made = glob.glob(os.path.join(ROOT, ".ns3", "bench", "stand-in-*"))
        self.assertEqual(len(made), 1)
        for path in made:
            os.remove(path)
        self.refuse(
            *("--quick", "--cases=incast-64", f"--prototype={self.write('bad.cc', 'int main({')}"),
            *(None, "c++ -O3", "bad.cc", "error: "),
            status=1,
        )
        self.assertEqual(glob.glob(os.path.join(ROOT, ".ns3", "bench", "bad-*")), [])


class Wrong(BenchTest):
    def test_bad_input(self):
        self.refuse(
            "--cases=permutaton-k4",
            None,
            "'permutaton-k4'",
            "did you mean 'permutation-k4'?",
        )
        self.refuse("--cases=permutation-k4,grow-*", None, "'grow-*'", "--list")
        self.refuse("--quik", None, "--quik", "did you mean '--quick'?")
        for word in ("--repeat=0", "--repeat=x", "--repeat=1.5"):
            self.refuse(word, None, word, "1 to 9999")
        self.refuse("--update", "--quick", None, "--update", "--quick")
        self.refuse("--prototype=nowhere.cc", None, "--prototype=nowhere.cc", "no such file")
        self.refuse("--json=nowhere/x.json", None, "--json=nowhere/x.json", "there is no folder")
        os.mkfifo(os.path.join(self.folder, "pipe"))
        for path in (f"{self.folder}/pipe", "/dev/full"):
            self.refuse(f"--json={path}", None, f"--json={path}", "is no regular file")
        self.refuse(f"--keep={self.folder}/pipe", None, "pipe is no folder")
        self.refuse("--keep=/dev/null/x", None, "--keep=/dev/null/x")
        self.refuse("--old=", None, "--old", "needs a value")

    def test_old_build_that_is_none(self):
        self.refuse("--old=nowhere", None, "--old=nowhere", "no such folder")
        self.refuse(
            f"--old={self.folder}", "--cases=incast-64", None, "--old=", "no program traffic"
        )
        self.write("traffic", "#!/bin/sh\necho broken >&2; exit 3\n")
        os.chmod(os.path.join(self.folder, "traffic"), 0o755)
        self.refuse(f"--old={self.folder}", "--cases=incast-64", None, "/traffic", "broken")

    def test_run_that_fails(self):
        """What was measured before it is shown and written; nothing is left behind."""
        scripts = (
            ("exit 7", "exit status 7"),
            ('echo "traffic: error: --k=8: is odd" >&2; exit 2', "--k=8: is odd"),
            ("kill -SEGV $$", "SIGSEGV"),
            ("exit 0", "stats.json"),
            ('"$real" "$@" && echo "{}" > "${out#--out=}/stats.json"', "'completed'"),
        )
        for script, why in share_of(scripts, one_in=3):
            with self.subTest(script):
                programs = self.program(
                    'for out; do :; done\ncase "$*" in *incast*) ;; *) exec "$real" "$@" ;; esac\n'
                    + script
                )
                path = os.path.join(self.folder, "failed.json")
                done = self.refuse(
                    "--quick",
                    "--cases=permutation-k4,incast-64",
                    f"--json={path}",
                    *(None, "traffic --k=4", "--pattern=incast", why),
                    status=1,
                    programs=programs,
                )
                self.assertIn("\npermutation-k4 ", done.stdout)
                with open(path, encoding="utf-8") as file:
                    written = json.load(file)
                self.assertFalse(written["completed"])
                self.assertEqual([len(case["runs"]) for case in written["cases"]], [1, 0])

    def test_runs_that_differ(self):
        """Every run has another number of flows."""
        programs = self.program(
            'case "$*" in *single-switch*) exec "$real" "$@" ;; esac\n'
            f"n=$(cat {self.folder}/n 2>/dev/null || echo 4); echo $((n + 1)) > {self.folder}/n\n"
            'exec "$real" --hosts=$n "$@"'
        )
        self.refuse(
            *("--quick", "--repeat=2", "--cases=permutation-k4"),
            *(None, "frame-hops differ between its runs"),
            status=1,
            programs=programs,
        )

    def test_ctrl_c(self):
        """What is measured is printed and written, and nothing goes on."""
        path, kept = (os.path.join(self.folder, name) for name in ("cut.json", "kept"))
        process = subprocess.Popen(
            [
                *(BENCH, "--quick", "--cases=permutation-k4,incast-64", "--repeat=9999"),
                *(f"--json={path}", f"--keep={kept}"),
            ],
            env={**os.environ, "DLTRAIN_PROGRAMS": PROGRAMS, "DLTRAIN_ROOT": ROOT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begin = time.monotonic()
        while not os.path.exists(os.path.join(kept, "permutation-k4", "new-5")):
            self.assertLess(time.monotonic() - begin, 60)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        self.assertNotIn("Traceback", said)
        self.assertIn("\npermutation-k4 ", shown)
        with open(path, encoding="utf-8") as file:
            written = json.load(file)
        self.assertFalse(written["completed"])
        self.assertGreaterEqual(len(written["cases"][0]["runs"]), 4)
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    self.assertNotIn(kept.encode(), file.read())
            except OSError:
                pass


class ThePage(BenchTest):
    def test_rows_of_the_page(self):
        with open(os.path.join(ROOT, tables.PAGE), encoding="utf-8") as file:
            text = file.read()
        rows = marked.rows(text, tables.CASES)
        names = [row[0] for row in rows]
        self.assertEqual(names, [name for name in cases.NAMES if name in names])
        self.assertEqual({len(row) for row in rows} - {len(tables.CASE_HEAD)}, set())
        growth = marked.rows(text, tables.GROWTH)
        self.assertEqual({len(row) for row in growth} - {len(tables.GROWTH_HEAD)}, set())
        machines = marked.rows(text, tables.MACHINE)
        self.assertEqual([len(row) for row in machines], [len(tables.MACHINE_HEAD)])

    def test_update(self):
        """Rows of one name are replaced and the others stay, if they are of this machine."""
        root = os.path.join(self.folder, "clone")
        for name in ("contrib/dltrain", "docs"):
            os.makedirs(os.path.join(root, name))
        for name in ("ns3", "tests", ".ns3"):  # with what is compiled there
            os.symlink(os.path.join(ROOT, name), os.path.join(root, name))
        page = os.path.join(root, tables.PAGE)

        def write(machines, rows):
            with open(page, "w", encoding="utf-8") as file:
                file.write("# Speed\n\nbefore\n")
                for name, head, body in (
                    (tables.MACHINE, tables.MACHINE_HEAD, machines),
                    (tables.CASES, tables.CASE_HEAD, rows),
                    (tables.GROWTH, tables.GROWTH_HEAD, []),
                ):
                    lines = [head, ["---"] * len(head), *body]
                    file.write(f"\n{marked.marker(name)}\n\n")
                    file.writelines(f"| {' | '.join(line)} |\n" for line in lines)
                file.write("\nafter\n")

        others = [
            [name, *["x"] * (len(tables.CASE_HEAD) - 1)]
            for name in ("permutation-k4", "permutation-k8", "step-3072", "gone")
        ]
        write([["another"] * len(tables.MACHINE_HEAD)], others)
        update = ("--update", "--repeat=1", "--cases=permutation-k4,growth-128")
        self.refuse(*update, None, "another machine", "permutation-k8,step-3072", root=root)
        write([], others)
        self.bench(*update, root=root)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("# Speed\n\nbefore\n") and text.endswith("\nafter\n"))
        rows = marked.rows(text, tables.CASES)
        self.assertEqual(
            [row[0] for row in rows],
            ["permutation-k4", "permutation-k8", "step-3072", "growth-128"],
        )
        self.assertEqual((rows[0][4], rows[0][13], rows[3][4]), ("16", "1", "128"))
        self.assertEqual(rows[1:3], others[1:3])
        self.assertEqual(marked.rows(text, tables.GROWTH)[0][:2], ["128", "8"])
        self.assertEqual(len(marked.rows(text, tables.MACHINE)), 1)
        tables.Page(root, machine.describe(), [])  # all rows are of this machine


if __name__ == "__main__":
    main()
