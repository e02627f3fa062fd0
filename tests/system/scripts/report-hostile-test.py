#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""scripts/report on results folders that anybody may have written: a page that says what is
missing, or one line; never a traceback.

Fixed cases first, then a share of seeded mutations of a real folder. What the page does with such
data in a browser: the last test.
"""

import copy
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _report import SCRIPT, page_data, report
from _system_test import SystemTest, main

FILES = (
    "stats.json",
    "flows.csv",
    "links.csv",
    "network_events.log",
    "topology.json",
    "fairness.csv",
    "calls.log",
)
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&\\\x1b[31m\u202e\x00\ud800"
)
VALUES = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    -1e308,
    10**40,
    10**4000,
    "",
    "7",
    HOSTILE,
    "A" * 100000,
    [],
    [1],
    {},
    {"a": 1},
    [[[[[[[[[[1]]]]]]]]]],
    "nan",
)
TOKENS = (
    "",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1",
    "0",
    "1e30",
    "99999999999999999999999999",
    HOSTILE,
    "a\tb",
    '"',
    '"a',
    "\u0660",
    "x" * 70000,
    "\x1b[2J",
)
SEED, SHARE = 11, 40  # mutations: a minute's share is in tests/fuzz


sys.set_int_max_str_digits(0)  # to write numbers that nobody can read


def dump(value):
    return json.dumps(value).encode("utf-8", "surrogatepass")


def mutate_json(seeded, content):
    """One value of it, somewhere, becomes another; or the text is damaged."""
    value = json.loads(content)
    for _ in range(seeded.choice((1, 1, 3))):
        at = value
        while True:
            keys = list(at) if isinstance(at, dict) else range(len(at))
            if not keys:
                break
            key = seeded.choice(list(keys))
            if isinstance(at[key], (dict, list)) and at[key] and seeded.random() < 0.7:
                at = at[key]
                continue
            if key == "schema_version":
                break  # scripts-schema.py
            if isinstance(at, dict) and seeded.random() < 0.2:
                del at[key]
            else:
                at[key] = copy.deepcopy(seeded.choice(VALUES))
            break
    return dump(value)


def mutate_table(seeded, content):
    separator = b"\t" if b"\t" in content else b","
    lines = content.split(b"\n")
    for _ in range(seeded.choice((1, 3, 50))):
        i = seeded.randrange(len(lines))
        fields = lines[i].split(separator if seeded.random() < 0.8 else b" ")
        fields[seeded.randrange(len(fields))] = seeded.choice(TOKENS).encode(
            "utf-8", "surrogatepass"
        )
        if seeded.random() < 0.1:
            fields *= 2
        lines[i] = separator.join(fields)
    return b"\n".join(lines)


def damage(seeded, content):
    kind = seeded.randrange(5)
    if kind == 0:
        return content[: seeded.randrange(len(content) + 1)]
    if kind == 1:
        at = seeded.randrange(len(content) + 1)
        return content[:at] + seeded.randbytes(seeded.choice((1, 100, 100000))) + content[at:]
    if kind == 2:
        return seeded.randbytes(seeded.choice((0, 1, 5000)))
    if kind == 3:
        return content.replace(b"\n", seeded.choice((b"\r\n", b"\r", b"", b"\n\n", b"\x0b")))
    return b"[" * seeded.choice((10, 100000)) + content


class HostileTest(SystemTest):
    programs = (
        (
            "traffic --topology=leaf-spine --hosts=8 --leaves=2 --hosts-per-leaf=4 --spines=2"
            " --pattern=poisson --load=0.4 --duration=200us --incast-load=0.1 --incast-fan-in=3"
            " --incast-bytes=20kB --rate-interval=20us --report=0 --timeline=0"
        ),
        "dltrain --gpus=16 --servers=2 --model=gpt2 --warmup=0 --report=0 --timeline=0",
    )

    def setUp(self):
        super().setUp()
        self.originals = [self.run_program(line).folder for line in self.programs]

    def copy_of(self, original=0):
        self.runs += 1
        folder = os.path.join(self.folder, f"copy-{self.runs}")
        shutil.copytree(self.originals[original], folder)
        return folder

    def check(self, folder, what, statuses=(0,)):
        done = subprocess.run(
            [SCRIPT, folder], capture_output=True, timeout=60, stdin=subprocess.DEVNULL
        )
        told = done.stderr.decode("utf-8")  # strictly: what is no UTF-8 is escaped
        self.assertIn(done.returncode, statuses, f"{what}\n{told}")
        self.assertNotIn("Traceback", told, what)
        self.assertNotIn("a mistake of this script", told, what)
        self.assertTrue(
            told.replace("\n", "").isprintable() and told.count("\n") <= 1, (what, told)
        )
        path = os.path.join(folder, "report.html")
        if done.returncode:
            self.assertFalse(os.path.lexists(path) and os.path.getsize(path), what)
            return None
        with open(path, encoding="utf-8") as file:  # again strictly
            text = file.read()
        self.assertLess(len(text), 20e6, what)
        self.assertEqual(text.count("<script"), 4, what)
        self.assertEqual(text.count("</script>"), 4, what)
        self.assertNotIn("<img", text.split("<style>")[0], what)
        return page_data(path)

    # ---- each on its own

    def test_every_kind_of_file_in_the_place_of_each(self):
        for name in FILES:
            for kind in (
                "empty",
                "folder",
                "pipe",
                "device",
                "dangling",
                "loop",
                "unreadable",
                "binary",
                "latin-1",
                "one-line",
            ):
                original = 1 if name == "calls.log" else 0
                folder = self.copy_of(original)
                path = os.path.join(folder, name)
                if not os.path.lexists(path):
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                os.unlink(path)
                if kind == "folder":
                    os.mkdir(path)
                elif kind == "pipe":
                    os.mkfifo(path)  # nobody writes: a reader would wait for ever
                elif kind in ("device", "dangling", "loop"):
                    os.symlink(
                        {"device": "/dev/zero", "dangling": "nowhere", "loop": name}[kind], path
                    )
                else:
                    with open(path, "wb") as file:
                        file.write(
                            {
                                "empty": b"",
                                "binary": bytes(range(256)) * 50,
                                "latin-1": content.replace(b"server", b"s\xe4rv\xe9r"),
                                "one-line": b"x" * 3000000,
                            }.get(kind, content)
                        )
                    if kind == "unreadable":
                        os.chmod(path, 0)
                with self.subTest(file=name, kind=kind):
                    data = self.check(folder, f"{name}: {kind}")
                    said = " ".join(data["problems"])
                    if kind in ("folder", "pipe", "device"):
                        self.assertIn(f"{name} cannot be read: it is no regular file", said)
                    elif kind == "binary" or kind == "empty" and name.endswith(".json"):
                        self.assertIn(name, said)
                shutil.rmtree(folder)

    def test_values_of_every_type(self):
        """Each key of stats.json in turn, and those of what is in it, becomes each of the
        values.
        """
        seeded = random.Random(SEED)
        with open(os.path.join(self.originals[1], "stats.json"), encoding="utf-8") as file:
            whole = json.load(file)
        paths = [(key,) for key in whole if key != "schema_version"]
        paths += [
            (key, inner) for key in whole if isinstance(whole[key], dict) for inner in whole[key]
        ]
        folder = self.copy_of(1)
        for value in VALUES:  # several keys at once: some forty pages
            for chunk in range(2):
                stats = json.loads(json.dumps(whole))
                for path in seeded.sample(paths, len(paths) // 6):
                    at = stats
                    for key in path[:-1]:
                        at = at[key] if isinstance(at.get(key), dict) else {}
                    at[path[-1]] = copy.deepcopy(value)
                with open(os.path.join(folder, "stats.json"), "wb") as file:
                    file.write(dump(stats))
                self.check(folder, f"stats.json with {str(value)[:40]!r}")

    def test_what_is_wrong_is_said(self):
        cases = (
            ("stats.json", b"{", "stats.json cannot be read"),
            ("stats.json", b"[]", "it is no JSON object"),
            ("stats.json", b'{"a":' * 100000, "nested too deeply"),
            (
                "stats.json",
                b'{"simulated_time_us": "x"}',
                "simulated_time_us is not what it should be",
            ),
            ("stats.json", b'{"measured_from_us": 5, "simulated_time_us": 4}', "later than"),
            ("stats.json", b'{"messages": 1e999}', "no number"),
            ("topology.json", b'{"nodes": [], "links": []}', "topology.json is broken"),
            (
                "topology.json",
                (
                    b'{"nodes": [{"name": "a", "kind": "host", "tier": 0}], "links": [{"link":'
                    b' "a->b", "a": 0, "b": -1, "rate_gbps": 1, "delay_us": 1}]}'
                ),
                "broken",
            ),
            ("flows.csv", b"what,is,this\n1,2,3\n", "flows.csv has other columns"),
            ("links.csv", b"\n", "links.csv has other columns"),
            (
                "flows.csv",
                b"flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n1,a,b,nan,0,inf"
                b",1e999,-5,x\n",
                "no numbers of a run",
            ),
            (
                "links.csv",
                b"time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share\ninf,a->b,a,b"
                b",100,nan,1e99,-3\n",
                "no numbers of a run",
            ),
            ("network_events.log", b'1 note * "is only counted\n# total x 9\n', "has no end"),
            (
                "flows.csv",
                b"flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n"
                + b"x" * 5000000
                + b"\n1,a,b,5,0,1,1,1,x\n",
                "line of more than",
            ),
        )
        for name, content, words in cases:
            folder = self.copy_of()
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
            with self.subTest(file=name, content=content[:60]):
                self.assertIn(words, " ".join(self.check(folder, words)["problems"]))

    def test_names_are_text(self):
        folder = self.copy_of(1)
        for name in ("stats.json", "topology.json", "flows.csv", "links.csv", "calls.log"):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            hostile = HOSTILE if not name.endswith(".json") else json.dumps(HOSTILE)[1:-1]
            for word in ("server-0", "reduce-scatter", "gpt2", "compute"):
                text = text.replace(word, hostile)
            with open(path, "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
        data = self.check(folder, "hostile names")
        self.assertIn("<script>", data["stats"]["model"])
        self.assertTrue(any("<img" in name for name, _, _ in data["topology"]["nodes"]))

    def test_places_that_cannot_be_written(self):
        folder = self.copy_of()
        os.mkdir(os.path.join(folder, "report.html"))
        self.assertIn("no regular file", self.refused([folder], 1))
        os.rmdir(os.path.join(folder, "report.html"))
        # nobody reads: a writer would wait for ever
        os.mkfifo(os.path.join(folder, "report.html.part"))
        self.assertEqual(report(folder).returncode, 0)
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        self.assertIn("no regular file", self.refused([folder, "--out=" + pipe], 1))
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertIn("cannot be written", self.refused([folder, "--out=/nowhere/x.html"], 1))
        self.assertIn("cannot be written", self.refused([folder, "--out=" + "x" * 300], 1))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [SCRIPT, folder], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "report: error: standard output: cannot be written: No space left on device\n"),
        )
        done = subprocess.run(
            ["bash", "-c", '"$0" "$1" >&-', SCRIPT, folder],
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    def refused(self, arguments, status):
        done = report(*arguments)
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr.count("\n")), (status, "", 1), done
        )
        return done.stderr

    def test_odd_names_of_folders(self):
        # A name, and as it is shown on standard output: what acts on a terminal, and what is no
        # UTF-8, as bytes.
        for name, shown in (
            (b"\xff\xfe", r"\xff\xfe"),
            (b"a\nb", "a\nb"),
            (b"\x1b[31m", r"\x1b[31m"),
            ("\u202ename".encode(), r"\xe2\x80\xaename"),
        ):
            folder = os.path.join(os.fsencode(self.folder), name)
            done = subprocess.run([os.fsencode(SCRIPT), folder], capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done)
            self.assertTrue(done.stderr.decode().rstrip("\n").isprintable(), done)
            shutil.copytree(os.fsencode(self.originals[0]), folder)
            done = subprocess.run([os.fsencode(SCRIPT), folder], capture_output=True, timeout=60)
            self.assertEqual(
                (done.returncode, done.stderr, done.stdout.decode()),
                (0, b"", f"{self.folder}/{shown}/report.html\n"),
            )
            self.assertTrue(os.path.getsize(os.path.join(folder, b"report.html")))

    # ---- a seeded share

    def test_mutations(self):
        seeded = random.Random(SEED)
        for number in range(SHARE):
            original = seeded.randrange(2)
            folder = self.copy_of(original)
            for name in seeded.sample(
                [name for name in FILES if os.path.exists(os.path.join(folder, name))],
                seeded.choice((1, 1, 2)),
            ):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    content = file.read()
                change = seeded.choice(
                    (damage, mutate_json if name.endswith(".json") else mutate_table)
                )
                with open(path, "wb") as file:
                    file.write(change(seeded, content))
            with self.subTest(mutation=number):
                self.check(folder, f"mutation {number} of seed {SEED}", statuses=(0, 2))
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
