# Shared by the tests of the traffic program: run it, read what it wrote.
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

from _system_test import PROGRAMS, add_lists, header_of

PROGRAM = os.path.join(PROGRAMS, "traffic")

# Under the sanitizers (./ns3 test --sanitize) everything takes some five times as long.
SLOWER = 5 if os.environ.get("DLTRAIN_SANITIZED") == "1" else 1

# Two leaves and a spine, two hosts at each leaf.
TWO_LEAVES = [
    "--topology=leaf-spine",
    "--leaves=2",
    "--spines=1",
    "--hosts-per-leaf=2",
    "--hosts=4",
]

# A congested run of 9 hosts over links that lose frames: there is some of everything in it.
LOSSY = [
    "--topology=single-switch",
    "--hosts=9",
    "--pattern=incast",
    "--fan-in=8",
    "--bytes=1MB,999999",
    "--buffer=100kB",
    "--ecn-kmin=20kB",
    "--ecn-kmax=60kB",
    "--bit-error-rate=3e-7",
    "--timeout-exponent=6",
    "--seed=3",
]

_folder = tempfile.mkdtemp(prefix="traffic-test-")


def folder(name=""):
    """A place of this test's own."""
    return os.path.join(_folder, name)


def done():
    shutil.rmtree(_folder, ignore_errors=True)
    print("passed")
    sys.exit(0)


def check(condition, what):
    if not condition:
        print("FAILED:", what, file=sys.stderr)
        sys.exit(1)


def run(*arguments, status=0, out="out", timeout=60):
    """Run traffic; with out=None as it is. Returns the finished process."""
    where = [] if out is None else ["--out=" + folder(out)]
    process = subprocess.run(
        [PROGRAM, *arguments, *where],
        capture_output=True,
        text=True,
        timeout=SLOWER * timeout,
        cwd=_folder,
    )
    check(
        process.returncode == status,
        "%s: status %d, not %d\n%s%s"
        % (" ".join(arguments), process.returncode, status, process.stdout, process.stderr),
    )
    return process


def stats(out="out"):
    with open(os.path.join(folder(out), "stats.json")) as file:
        return add_lists(json.load(file), folder(out))


def table(name, header, out="out"):
    """Rows of a CSV file as dictionaries, after a look at its header and its last line."""
    with open(os.path.join(folder(out), name), newline="") as file:
        text = file.read()
    check(text.endswith("\n"), name + " does not end with a whole line")
    check(text.split("\n", 1)[0] == header, name + " has another header: " + text.split("\n", 1)[0])
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        check(None not in row and None not in row.values(), name + ": a broken row: " + str(row))
    return rows


def flows(out="out"):
    return table("flows.csv", header_of("flows.csv"), out)


def links(out="out"):
    return table("links.csv", header_of("links.csv"), out)


def write(name, text):
    """A file of this test's own; its path."""
    with open(folder(name), "w") as file:
        file.write(text)
    return folder(name)


def near(a, b, relative):
    return abs(a - b) <= relative * max(abs(a), abs(b))
