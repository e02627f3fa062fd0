# SPDX-License-Identifier: GPL-2.0-only
"""Every byte that the programs write, of the runs of runs.json, is what expected.json says:
tests/identity/README.md.

    tests/identity/identity.py                             compare with expected.json
    tests/identity/identity.py --only='ib|pcap' --jobs=2   some of them
    tests/identity/identity.py --against=DIR               ... and where lines differ from those of
        the programs in DIR
    tests/identity/identity.py --against=DIR --ignore=configuration.fabric   compare with DIR
        instead, but for that
    tests/identity/identity.py --elsewhere                 compare although compiler, C library,
        Python or numpy are others than those of expected.json; without pictures
    tests/identity/identity.py --update                    write expected.json

The programs are those in $DLTRAIN_PROGRAMS, by default of the clone's last ./ns3 test.
Exit status: 0 equal, 1 not, 2 bad input, 77 skipped: expected.json is of another compiler or
machine.
"""

import argparse
import concurrent.futures
import difflib
import glob
import hashlib
import itertools
import json
import os
import platform
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system", "shared"))

from _mpi import ENVIRONMENT as MPI_ENVIRONMENT, MPIRUN  # noqa: E402
from _system_test import NONDETERMINISTIC, PROGRAMS, ROOT, share_of  # noqa: E402

SIMULATORS = ("dltrain", "collperf", "traffic")
TIMEOUT_S = 300
SHOWN_LINES = 12

# ---- what may differ between two runs of one build, and why. Nothing else is replaced, and no file
# is left out but these.

NUMBER = rb"[-+.\de]+"
DURATION = rb"[.\d]+ (?:ns|us|ms|s|min|h)"
# (files, expression, replacement, reason)
NORMALISED = (
    (
        "stats.json",
        re.compile(
            rb'^(  "(?:%s)": )%s' % ("|".join(sorted(NONDETERMINISTIC)).encode(), NUMBER), re.M
        ),
        rb"\1*",
        (
            "wall-clock time, what is divided by it, and memory: the keys that stats.json itself"
            " lists as nondeterministic"
        ),
    ),
    ("*.std*", re.compile(rb"(?<=; set up in )" + DURATION), b"*", "wall-clock time"),
    (
        "*.std*",
        re.compile(
            rb"^(Simulation .* simulated in )%s(: [\d,]+ frame-hops)(?:, [.\d]+ [kMG]?"
            rb" ?frame-hops/s)?(?:; (?:\d+ threads for|one thread, as) [^;\n]+)?"
            rb"(; peak memory )[.\d]+ \w+" % DURATION,
            re.M,
        ),
        rb"\1*\2\3*",
        "wall-clock time, frame-hops per second of it (left out of a very short run), the threads"
        " that had idle cores, and memory",
    ),
    (
        "*.std*",
        re.compile(rb"^(?:\w+: setting up: .*, \d+ s|.* ms simulated, +[.\d]+% done, .*)\n", re.M),
        b"",
        "progress: a line every few seconds of wall-clock time, so only on a slow machine",
    ),
    (
        "compare.csv",
        re.compile(rb"(,event_loop_s\n(?s:.*))\Z"),
        lambda found: re.sub(rb",[^,\n]*$", b",*", found[1], flags=re.M),
        "event_loop_s, its last column, is wall-clock time",
    ),
    (
        "*.std*",
        re.compile(rb"^.*UserWarning: constrained_layout .*\n  .*\n", re.M),
        b"",
        "matplotlib's word on a small picture, with the clone's path",
    ),
    (
        "*.std*",
        re.compile(rb"^(\[\d+/\d+\] .*), ETA .*$", re.M),
        rb"\1",
        "what is left of a sweep, in wall-clock time",
    ),
    (
        "*.std*",
        re.compile(rb"^(\[\d+/\d+\] .*: done in )[.\d]+ s.*$", re.M),
        rb"\1*",
        "wall-clock time of a run of a sweep, and what is left",
    ),
    (
        "*.svg",
        re.compile(rb"-?\b\d+\.\d{4,}\b"),
        lambda found: b"%.3f" % (round(float(found[0]), 3) or 0),
        "numpy's last digits are others with AVX-512: thousandths of a point are kept",
    ),
    (
        "*.svg",
        re.compile(rb"\bp[0-9a-f]{10}\b"),
        b"clip",
        "names of clipping paths, which matplotlib makes of all digits of their numbers",
    ),
)
LEFT_OUT = (
    ("*.sqlite*", "a sweep's records hold wall-clock times; its table is compared"),
    (
        "*.png",
        (
            "pixels and compression depend on versions of libraries; the same picture as SVG is"
            " compared"
        ),
    ),
)


def matches(path, pattern):
    """pattern: of the file's name, with a * at one end or both."""
    name = os.path.basename(path)
    if pattern.startswith("*"):
        return pattern.strip("*") in name if pattern.endswith("*") else name.endswith(pattern[1:])
    return name == pattern


def normalised(path, content):
    for files, expression, replacement, _ in NORMALISED:
        if matches(path, files):
            content = expression.sub(replacement, content)
    return content


# ---- where checksums hold


def environment(programs):
    """What the bytes may depend on besides the sources: last digits of floating-point numbers on
    compiler, machine and C library (exp, log); texts of scripts on Python, D3 (in report.html),
    numpy and matplotlib (in pictures).
    """
    with open(os.path.join(programs, "traffic"), "rb") as file:
        # What the compiler wrote into .comment; the start files of the C library may be of another
        # one.
        compilers = set(
            re.findall(rb"(?:GCC: \([^)\0]*\) [.\d]+|clang version [^\0]*)", file.read())
        )
    d3 = [
        path
        for path in (os.environ.get("DLTRAIN_D3"), "/usr/share/javascript/d3/d3.min.js")
        if path and os.path.isfile(path)
    ]
    # Of the scripts' interpreter, which need not be this one.
    packages = (
        "import platform; print(platform.python_version()); import numpy, matplotlib;"
        " print(numpy.__version__, matplotlib.__version__)"
    )
    found = (
        subprocess.run(
            ["/usr/bin/python3", "-c", packages], capture_output=True, text=True, check=False
        ).stdout.split()
        + [None] * 3
    )
    return {
        "compilers": sorted(text.decode(errors="replace") for text in compilers),
        "machine": platform.machine(),
        "c_library": " ".join(platform.libc_ver()),
        "python": found[0],
        "d3": hashlib.sha256(open(d3[0], "rb").read()).hexdigest() if d3 else None,
        "numpy": found[1],
        "matplotlib": found[2],
    }


# ---- one run


class Skipped(Exception):
    """This run needs something that this machine has not."""


def clean_environment(programs):
    """Nothing of the caller's terminal, language, time zone or cores; paths that do not stand in
    outputs.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "DLTRAIN_D3", "ASAN_OPTIONS")
        if name in os.environ
    }
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "DLTRAIN_ROOT": ROOT,
        "DLTRAIN_PROGRAMS": programs,
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": "0",
    }


def command_words(line, programs, ranks, number):
    words = shlex.split(line)
    if words[0] in SIMULATORS:
        program = os.path.join(programs, words[0])
        if not os.access(program, os.X_OK):
            raise SystemExit(f"identity: error: {program} is not built")
        if not any(word.startswith("--out=") for word in words):
            words.append("--out=out")
        words = [program] + words[1:]
        if ranks:
            if not MPIRUN:
                raise Skipped("no mpirun")
            # Each rank into files of its own: which rank's line comes first is chance, and mpirun's
            # own words name processes.
            redirected = (
                'exec "$0" "$@" >%d.rank$OMPI_COMM_WORLD_RANK.stdout'
                " 2>%d.rank$OMPI_COMM_WORLD_RANK.stderr" % (number, number)
            )
            words = [MPIRUN, "-np", str(ranks), "sh", "-c", redirected] + words
        return words
    return ["/usr/bin/python3", os.path.join(ROOT, "scripts", words[0])] + words[1:]


def prepare(run, files, folder):
    """Inputs of a run in its folder, so that no path of this machine comes into a command, and so
    into no output.
    """
    for name in run.get("files", []):
        content = files[name]
        if isinstance(content, list):
            content = "\n".join(content) + "\n"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=1))
    for pattern in run.get("inputs", []):
        found = glob.glob(os.path.join(ROOT, pattern))
        if not found:
            raise SystemExit(f"identity: error: run {run['name']}: no file {pattern}")
        for path in found:
            shutil.copy(path, folder)


def execute(run, files, programs, folder):
    """Run it in `folder`. Returns {file: bytes, not normalised}, with N.stdout, N.stderr and
    N.status of its N-th command, and the CPU seconds.
    """
    prepare(run, files, folder)
    inputs = {name: os.path.getmtime(os.path.join(folder, name)) for name in os.listdir(folder)}
    result = {}
    for number, line in enumerate(run["commands"], 1):
        words = command_words(line, programs, run.get("ranks"), number)
        surroundings = clean_environment(programs)
        if run.get("ranks"):
            surroundings.update(
                {key: MPI_ENVIRONMENT[key] for key in MPI_ENVIRONMENT if key.startswith("OMPI_")}
            )
        done = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=surroundings,
            timeout=TIMEOUT_S,
            check=False,
        )
        if not run.get("ranks"):
            result[f"{number}.stdout"] = done.stdout
            result[f"{number}.stderr"] = done.stderr
        result[f"{number}.status"] = b"%d\n" % done.returncode
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            relative = os.path.relpath(path, folder)
            if any(matches(relative, pattern) for pattern, _ in LEFT_OUT) or inputs.get(
                relative
            ) == os.path.getmtime(path):
                continue
            with open(path, "rb") as file:
                result[relative] = file.read()
    # Scripts make paths of scenarios absolute; the folder is a temporary one.
    return {
        path: content.replace(os.path.realpath(folder).encode(), b"FOLDER")
        for path, content in result.items()
    }


def outputs(run, files, programs, ignored=()):
    """{file: bytes that must be equal} of a run."""
    folder = tempfile.mkdtemp(prefix="dltrain-identity-")
    try:
        result = execute(run, files, programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        path: without(path, normalised(path, content), ignored) for path, content in result.items()
    }


def without(path, content, ignored):
    """A JSON file without what lies at these paths; report.html, which holds stats.json, without
    its data.
    """
    if not ignored:
        return content
    if path.endswith(".html"):
        return re.sub(
            rb'(<script type="application/json"[^>]*>).*?(</script>)', rb"\1\2", content, flags=re.S
        )
    if not path.endswith(".json"):
        return content
    try:
        value = json.loads(re.sub(rb'": \*(,?)$', rb'": "*"\1', content, flags=re.M))
    except ValueError:
        return content
    for keys in ignored:
        inside = value
        for key in keys[:-1]:
            inside = inside.get(key) if isinstance(inside, dict) else None
        if isinstance(inside, dict):
            inside.pop(keys[-1], None)
    return json.dumps(value, indent=1).encode()


def without_pictures(result):
    """Other releases of matplotlib draw other pictures of the same numbers."""
    return {path: value for path, value in result.items() if not path.endswith(".svg")}


def checksums(result):
    return {path: hashlib.sha256(content).hexdigest() for path, content in sorted(result.items())}


# ---- differences


def first_lines(path, old, new):
    """What differs first, in lines; of binary files, where."""
    if b"\0" in old or b"\0" in new:
        at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        return [
            f"      byte {at} of {len(old)} and {len(new)}: {old[at:at + 16].hex(' ')} |"
            f" {new[at:at + 16].hex(' ')}"
        ]
    lines = [text.decode(errors="replace").splitlines() for text in (old, new)]
    # Long equal beginnings are quick to find, and difflib is slow on long files.
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*lines)))
    parts = [part[same : same + 2000] for part in lines]
    shown = [f"      from line {same + 1} on, - of --against and + here:"]
    for line in itertools.islice(
        difflib.unified_diff(*parts, n=0, lineterm=""), 2, 2 + SHOWN_LINES
    ):
        if not line.startswith("@@"):
            shown.append("      " + (line if len(line) <= 200 else around_difference(line, parts)))
    return shown


def around_difference(line, parts):
    """A long line, cut to where the first two differ."""
    a, b = (part[0] if part else "" for part in parts)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), 0)
    begin = max(0, at - 60)
    return f"{line[0]}[{begin}...] {line[1 + begin:1 + begin + 160]}"


def compare(name, expected, found):
    """Lines that say which files of a run differ: [(file, text)]."""
    differences = []
    for path in sorted(set(expected) | set(found)):
        if path not in found:
            differences.append((path, f"{name}: {path} is missing"))
        elif path not in expected:
            differences.append((path, f"{name}: {path} is new"))
        elif expected[path] != found[path]:
            differences.append((path, f"{name}: {path} differs"))
    return differences


# ---- the whole


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="identity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--programs",
        metavar="DIR",
        default=PROGRAMS,
        help="folder of the programs [default: $DLTRAIN_PROGRAMS]",
    )
    parser.add_argument("--runs", metavar="FILE", default=os.path.join(HERE, "runs.json"))
    parser.add_argument("--expected", metavar="FILE", default=os.path.join(HERE, "expected.json"))
    parser.add_argument("--only", metavar="REGEX", help="runs with such a name")
    parser.add_argument(
        "--jobs", type=int, metavar="N", default=1, help="runs at a time [default: 1]"
    )
    parser.add_argument(
        "--update", action="store_true", help="write the expectation; with --only of these runs"
    )
    parser.add_argument(
        "--elsewhere",
        action="store_true",
        help="compare although compiler or libraries are others; without pictures",
    )
    parser.add_argument(
        "--list", action="store_true", help="the runs and what they reach, then stop"
    )
    parser.add_argument(
        "--why", action="store_true", help="what is not compared and the reasons, then stop"
    )
    parser.add_argument(
        "--against",
        metavar="DIR",
        help="programs of another build: show the lines that differ from theirs",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="JSON.PATH",
        help=(
            "compare without this, such as configuration.fabric; with --against; by hand, not in"
            " tests"
        ),
    )
    options = parser.parse_args(words)
    if options.jobs < 1:
        parser.error(f"--jobs={options.jobs}: at least 1")
    for folder in (options.programs, options.against):
        if (
            folder
            and not (options.list or options.why)
            and not os.path.isfile(os.path.join(folder, "traffic"))
        ):
            parser.error(f"{folder}: no program traffic in it")
    if options.ignore and not options.against:
        parser.error("--ignore needs --against: checksums are of whole files")
    if options.update and options.against:
        parser.error("--update and --against: one of them")
    if options.update and options.elsewhere:
        parser.error("--update and --elsewhere: one of them")
    options.programs = os.path.abspath(options.programs)
    options.against = options.against and os.path.abspath(options.against)
    try:
        options.selected = re.compile(options.only or "")
    except re.error as error:
        parser.error(f"--only={options.only}: {error}")
    return options


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def judge(run, files, options, expected):
    """(differences as text, checksums, None or why it was skipped) of one run."""
    ignored = [tuple(path.strip("./").split(".")) for path in options.ignore]
    try:
        found = outputs(run, files, options.programs, ignored)
        if options.update:
            return [], checksums(found), None
        if ignored:
            other = outputs(run, files, options.against, ignored)
            differences = compare(run["name"], checksums(other), checksums(found))
        else:
            sums = expected.get(run["name"], {})
            if options.elsewhere:
                sums, found = without_pictures(sums), without_pictures(found)
            differences = compare(run["name"], sums, checksums(found))
            other = (
                outputs(run, files, options.against) if differences and options.against else None
            )
    except Skipped as reason:
        return [], None, str(reason)
    except subprocess.TimeoutExpired as late:
        return [f"{run['name']}: more than {late.timeout:g} s: {' '.join(late.cmd)}"], None, None
    text = []
    for path, line in differences:
        text.append(line)
        if other is not None and path in other and path in found:
            if other[path] == found[path]:
                text.append("      but not from the programs of --against")
            else:
                text += first_lines(path, other[path], found[path])
    return text, checksums(found), None


def main(words):
    options = arguments(words)
    table = read_json(options.runs)
    runs = [run for run in table["runs"] if options.selected.search(run["name"])]
    # Whoever names runs, lists or records them means all.
    if not (options.only or options.list or options.update):
        runs = share_of(runs, one_in=2)
    if options.list:
        for run in runs:
            print(f"{run['name']:<28} {run['reaches']}")
        return 0
    if options.why:
        for files, _, _, reason in NORMALISED:
            print(f"{files:<12} {reason}")
        for files, reason in LEFT_OUT:
            print(f"{files:<12} left out: {reason}")
        return 0
    if not runs:
        print(f"identity: error: --only={options.only}: no run has such a name", file=sys.stderr)
        return 2
    here = environment(options.programs)
    expected = (
        read_json(options.expected)
        if os.path.exists(options.expected)
        else {"environment": here, "runs": {}}
    )
    if not options.update and not options.ignore and not os.path.exists(options.expected):
        print(
            f"identity: error: {options.expected}: not there; --update writes it", file=sys.stderr
        )
        return 2
    if not options.update and not options.ignore and expected["environment"] != here:
        print(
            f"{'compared although' if options.elsewhere else 'skipped:'} checksums hold for one"
            " compiler, machine and set of libraries, and these are others:"
        )
        for key in sorted(set(here) | set(expected["environment"])):
            old, new = expected["environment"].get(key), here.get(key)
            if old != new:
                print(f"  {key}: recorded with {old}, here {new}")
        if not options.elsewhere:
            print(
                "To compare two builds on this machine: --against; to compare nevertheless:"
                " --elsewhere; to record here: --update (see tests/identity/README.md)."
            )
            return 77
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        judged = list(
            pool.map(lambda run: judge(run, table["files"], options, expected["runs"]), runs)
        )
    different = skipped = 0
    updated = {run["name"]: sums for run, (_, sums, _) in zip(runs, judged) if sums}
    for run, (text, _, reason) in zip(runs, judged):
        if reason:
            skipped += 1
            print(f"{run['name']}: skipped: {reason}")
        if text:
            different += 1
            print("\n".join(text))
    if options.update:
        # Runs that are no more are forgotten; those that were not run now keep what they have, if
        # it is of the same build.
        kept = expected["runs"] if expected["environment"] == here else {}
        names = [run["name"] for run in table["runs"]]
        merged = {
            name: updated.get(name) or kept.get(name)
            for name in names
            if updated.get(name) or kept.get(name)
        }
        with open(options.expected, "w", encoding="utf-8") as file:
            json.dump({"environment": here, "runs": merged}, file, indent=1)
            file.write("\n")
        print(
            f"{len(updated)} runs written to {options.expected}"
            + (f", {skipped} skipped" if skipped else "")
        )
        return 1 if different else 0
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(runs) - different - skipped} runs equal, {different} differ, {skipped} skipped; "
        f"{seconds.ru_utime + seconds.ru_stime:.0f} CPU seconds"
    )
    if different:
        print(
            "Intended? tests/identity/identity.py --update, and the reason for it in the commit."
            " Which lines: --against=DIR."
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
