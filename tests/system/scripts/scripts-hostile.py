# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 FULL
"""Result folders of anybody: scripts/plot, sweep and the package end with a status of 0, 1 or 2 and
clear words.

Damaged, cut off, of wrong types, huge, no files at all, bytes that are no text, characters that a
terminal obeys. (tests/fuzz makes many more of them; these are the classes, each by name.)
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

for module in ("pandas", "matplotlib"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cluster_simulator import files, measures, results, shapes  # noqa: E402  (needs the path)

FLOWS = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n"
LINKS = "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share\n"
GOOD = {
    "stats.json": {
        "program": "traffic",
        "completed": True,
        "messages": 2,
        "simulated_time_us": 200,
    },
    "flows.csv": FLOWS + "0,a,b,1000,0,5,5,4,x\n1,b,a,2000,0,9,9,5,x\n",
    "links.csv": LINKS + "100,a->b,a,b,100,0.5,10,0\n200,b->a,b,a,100,0.25,0,0\n",
}
ODD = (
    None,
    True,
    -1,
    1e300,
    float("nan"),
    10**400,
    "",
    "x",
    "\x1b[31m",
    [],
    {},
    [None],
    [[1]],
    {"a": {}},
    "\ud800",
)


def main_of(script):
    """The function that ends with the status of scripts/NAME."""
    loader = importlib.machinery.SourceFileLoader(
        f"script_{script}", os.path.join(ROOT, "scripts", script)
    )
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module.main


MAIN = {name: main_of(name) for name in ("plot", "sweep")}


class Hostile(SystemTest):
    def folder_of(self, **files):
        """A run's folder with some files changed: text, bytes, an object, or None for no such
        file.
        """
        self.runs += 1
        folder = os.path.join(self.folder, f"results-{self.runs}")
        os.mkdir(folder)
        for name, content in {
            **GOOD,
            **{key.replace("_", "."): value for key, value in files.items()},
        }.items():
            if content is None:
                continue
            content = json.dumps(content) if isinstance(content, dict) else content
            with open(os.path.join(folder, name), "wb") as file:
                file.write(
                    content
                    if isinstance(content, bytes)
                    else content.encode("utf-8", "surrogatepass")
                )
        return folder

    def script(self, name, *words, status, says=()):
        out, err = io.StringIO(), io.StringIO()
        before = os.getcwd()
        os.chdir(self.folder)
        try:  # in this process: pandas and matplotlib take a second to come
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                returned = MAIN[name](list(words))
        finally:
            os.chdir(before)
        done = subprocess.CompletedProcess(words, returned, out.getvalue(), err.getvalue())
        self.assertIn(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        for word in says:
            self.assertIn(word, done.stderr)
        return done

    def plot(self, folder, status, *says):
        return self.script(
            "plot", folder, "--format=svg", "--only=completion,links", status=status, says=says
        )

    def test_no_files_are_not_waited_for(self):
        """A pipe that nobody writes to, a device without an end, a folder, a loop of links."""
        for kind, make in (
            ("pipe", os.mkfifo),
            ("folder", os.mkdir),
            ("device", lambda path: os.symlink("/dev/zero", path)),
            ("loop", lambda path: os.symlink(path, path)),
        ):
            for name in ("stats.json", "flows.csv"):
                folder = self.folder_of(**{name.replace(".", "_"): None})
                make(os.path.join(folder, name))
                with self.subTest(kind, file=name):
                    done = self.plot(
                        folder,
                        (2,),
                        name,
                        "is no regular file" if kind != "loop" else "symbolic links",
                    )
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_results_are_not_written_over(self):
        with open(os.path.join(ROOT, "scenarios", "launch", "output-folder.cc")) as file:
            names = re.findall(r'"([a-z_]+\.[a-z]+)"[,}]', file.read())
        self.assertCountEqual(files.RESULTS, names)
        for script, own in (("report", "report.html"), ("timeline", "timeline.json")):
            for name in files.RESULTS:
                folder = self.folder_of()
                path = os.path.join(folder, "..", os.path.basename(folder), name)
                with open(path, "a", encoding="utf-8") as file:
                    file.write("\n")
                with open(path, "rb") as file:
                    before = file.read()
                if name != own:
                    with self.subTest(script, file=name):
                        done = subprocess.run(
                            [os.path.join(ROOT, "scripts", script), folder, f"--out={path}"],
                            capture_output=True,
                            text=True,
                        )
                        self.assertEqual(done.returncode, 2, done.stderr)
                        self.assertIn(f"allowed: {own}, or another name", done.stderr)
                        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                        with open(path, "rb") as file:
                            self.assertEqual(file.read(), before)

    def test_huge_files_are_refused(self):
        for name, most in (
            ("stats.json", 128 << 20),
            ("flows.csv", 1 << 30),
            ("links.csv", 1 << 30),
        ):
            folder = self.folder_of()
            os.truncate(os.path.join(folder, name), most + 1)  # sparse
            with self.subTest(name):
                self.plot(folder, (2,), name, "too large", f"{most:,}")

    def test_deep_and_long_json(self):
        for text in (
            "[" * 100000,
            '{"a":' * 100000,
            '{"completed": ' + "9" * 5000 + "}",
            '{"message": "' + "x" * 100000 + '"}',
            "\xff\xfe",
        ):
            done = self.plot(self.folder_of(stats_json=text), (0,), "incomplete")
            self.assertLess(len(done.stderr), 1000)
        self.plot(self.folder_of(topology_json="[" * 100000), (0,))

    def test_tables(self):
        """Rows that no run can have are left out; a file of other columns is refused by its
        name.
        """
        cases = (
            (b"\x00\xff" * 500, (0,), ""),
            (b"\x00\xff\n" * 500, (2,), "flows.csv"),
            (FLOWS, (0,), ""),
            (FLOWS + "x\n" * 3, (0,), ""),
            (FLOWS + "0,a,b,nan,inf,-5,1e400,9999999999999999999999999,x\n", (0,), ""),
            (FLOWS + '0,"a\nb,c', (2,), "flows.csv: cannot be read"),
            (FLOWS + "0,\x1b[2J,b,1,0,5,5,4,\x1b]0;x\x07\n", (0,), ""),
            ("size,place\n1,2\n", (2,), "'flow'"),
        )
        for text, status, word in cases:
            with self.subTest(text[-60:]):
                self.plot(self.folder_of(flows_csv=text), status, word)
        run = results.load(
            self.folder_of(
                flows_csv=GOOD["flows.csv"]
                + "2,a,b,5,0,1,-1,1,x\n3,a,b,5,0,1,inf,1,x\n4,a,b,5,0,1,2,1,x\n"
            )
        )
        self.assertEqual(run.flows()["flow"].tolist(), [0, 1, 4])
        run = results.load(
            self.folder_of(
                links_csv=LINKS + "100,a->b,a,b,100,0.5,-1,0\n1e99,a->b,a,b,100,0.5,0,0\n"
            )
        )
        self.assertTrue(run.links().empty)

    def test_every_known_key_with_every_odd_value(self):
        """What is there afterwards has its type: nothing that reads it needs to look again."""

        def paths(shape, path=()):
            yield path
            if isinstance(shape, dict):
                for key, one in shape.items():
                    yield from paths(one, (*path, "any" if key is shapes.EACH else key))
            elif isinstance(shape, list):
                yield from paths(shape[0], (*path, 0))

        def put(path, value):
            if not path:
                return value
            return [put(path[1:], value)] if path[0] == 0 else {path[0]: put(path[1:], value)}

        def check(value, shape):
            if callable(shape):
                return shape(value)
            if isinstance(shape, list):
                return isinstance(value, list) and all(check(one, shape[0]) for one in value)
            return isinstance(value, dict) and all(
                check(one, shape.get(key, shape.get(shapes.EACH)))
                for key, one in value.items()
                if key in shape or shapes.EACH in shape
            )

        count = 0
        for path in paths(shapes.STATS):
            for value in ODD:
                stats, odd = shapes.sound(put(path, value) if path else {})
                self.assertTrue(check(stats, shapes.STATS), (path, value, stats))
                count += bool(odd)
        self.assertGreater(count, 500)
        # And what a run writes stays as it is.
        good = {
            "messages": 3,
            "drops": {"buffer": 0},
            "collectives": [{"op": "x", "bytes": 1, "unknown": None}],
            "other": [None],
        }
        self.assertEqual(
            shapes.sound(good),
            ({**good, "collectives": [{"op": "x", "bytes": 1, "unknown": None}]}, []),
        )

    def test_types_of_stats(self):
        for key, value in (
            ("messages", "many"),
            ("fct_us", {"p50": [1]}),
            ("links_csv", 7),
            ("configuration", {"cluster": [1]}),
        ):
            folder = self.folder_of(stats_json={**GOOD["stats.json"], key: value})
            with self.subTest(key):
                self.plot(folder, (0,), "stats.json: " + key, "cannot be what the simulator wrote")

    def test_numbers_that_do_not_fit_together(self):
        for stats in (
            {"measured_from_us": 1e15},
            {"simulated_time_us": 1e15},
            {"links_csv": {"interval_us": 1e-300}},
            {"links_csv": {"interval_us": 1e15}},
            {"messages": 1e15, "flows_csv": {"sampled": True}},
            {"fct_us": {"p50": 0, "p99": 0, "p999": 1e15}},
        ):
            with self.subTest(stats):
                self.plot(self.folder_of(stats_json={**GOOD["stats.json"], **stats}), (0, 1))

    def test_more_of_everything_than_a_picture_holds(self):
        """Streams, operations and links by the thousand: bounded pictures, in bounded time."""
        calls = ["# calls", "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup"]
        calls += [
            f"{i}\t{i + 1}\t1\t{i % 50}\tstream"
            f" {i}\tcollective\tkind{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}\t0\t-"
            for i in range(4000)
        ]
        ops = [{"op": f"op{i}", "bytes": 100, "busbw_GBps": 1.0} for i in range(2000)]
        folder = self.folder_of(
            calls_log="\n".join(calls) + "\n",
            stats_json={**GOOD["stats.json"], "step_time_us": 5000, "collectives": ops},
        )
        self.script(
            "plot", folder, "--format=png", "--only=step,timeline,busbw", "--out=big", status=(0,)
        )
        for name in ("step", "timeline", "busbw"):
            with open(os.path.join(self.folder, "big", f"{name}.png"), "rb") as file:
                width, height = (
                    int.from_bytes(file.read(20)[16:20], "big"),
                    int.from_bytes(file.read(4), "big"),
                )
            self.assertLess(height, 12 * 300, f"{name}: {width} x {height}")
        # A chain of 3,000 switches: how far each is from a host is found in one pass.
        rows = "".join(f"100,n{i}->n{i + 1},n{i},n{i + 1},100,0.5,0,0\n" for i in range(3000))
        run = results.load(
            self.folder_of(links_csv=LINKS + rows, flows_csv=FLOWS + "0,n0,n3000,1,0,1,1,1,x\n")
        )
        self.assertEqual(max(measures.Graph(run).level.values()), 1500)

    def test_names_never_act_on_the_terminal(self):
        folder = self.folder_of(
            stats_json={**GOOD["stats.json"], "completed": False, "message": "\x1b[31mred\x07"}
        )
        hostile = os.path.join(self.folder, "a\x1b[2Jb")
        os.rename(folder, hostile)
        self.plot(hostile, (0,), "incomplete", "\\x1b[31mred")
        self.script("plot", hostile + "x", status=(2,), says=["no such folder"])

    def sweep_of(self, *statements):
        self.runs += 1
        folder = os.path.join(self.folder, f"sweep-{self.runs}")
        os.mkdir(folder)
        db = sqlite3.connect(os.path.join(folder, "sweep.sqlite"))
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()
        return folder

    def test_sweeps(self):
        table = (
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, program, point, options, cwd, status,"
            " attempts, exit_status, error, stats, folder, zero, step_time_us)"
        )
        row = (
            "INSERT INTO runs (program, point, options, cwd, status, error, zero, step_time_us)"
            " VALUES ({})"
        )
        good = "'dltrain', 'p', '{}', '/', 'done', NULL, 1, 5.0"
        commands = (("status",), ("table",), ("plot", "--x=zero", "--y=step_time_us"))
        for command, *options in commands:
            self.script(
                "sweep", command, self.sweep_of(table, row.format(good)), *options, status=(0,)
            )
            for case in (
                good.replace("'done'", "'\x1b[2J'"),
                good.replace("'done'", "7"),
                good.replace("'{}'", "'{'"),
                good.replace("'{}'", "x'ff00'"),
                good.replace("'dltrain'", "'rm'"),
                good.replace("NULL", "x'ff'"),
                good.replace("NULL", "3.5"),
            ):
                with self.subTest(command, row=case):
                    done = self.script(
                        "sweep",
                        command,
                        self.sweep_of(table, row.format(case)),
                        *options,
                        status=(2,),
                        says=["run 1"],
                    )
                    self.assertEqual(len(done.stderr.splitlines()), 1)
            other = self.sweep_of("CREATE TABLE runs (id, point)")
            self.script(
                "sweep",
                command,
                other,
                *options,
                status=(2,),
                says=["not written by scripts/sweep"],
            )
            with open(os.path.join(other, "sweep.sqlite"), "wb") as file:
                file.write(b"SQLite format 3\0" + os.urandom(5000))
            self.script("sweep", command, other, *options, status=(1, 2), says=["sweep: error: "])

    @unittest.skipIf(os.name != "posix", "pipes")
    def test_a_sweep_that_is_a_pipe(self):
        folder = os.path.join(self.folder, "pipes")
        os.mkdir(folder)
        os.mkfifo(os.path.join(folder, "sweep.sqlite"))
        self.script("sweep", "status", folder, status=(2,), says=["no sweep.sqlite"])


if __name__ == "__main__":
    main()
