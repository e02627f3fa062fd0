#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Looks for inputs that the programs and scripts do not stand; see README.md beside this file.

    tests/fuzz/fuzz.py all --minutes=30          everything, in proportion, until the time is over
    tests/fuzz/fuzz.py options --cases=50000     one part: options, files, attributes, folders
    tests/fuzz/fuzz.py kept                      every case that was ever found, again
    tests/fuzz/fuzz.py seeds                     the files that are mutated are valid themselves
    tests/fuzz/fuzz.py replay tests/fuzz/cases/NAME.json
"""

import argparse
import collections
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(os.path.dirname(sys.path[0]), "system", "shared"))
sys.dont_write_bytecode = True

import attribute_cases  # noqa: E402
import file_cases  # noqa: E402
import folder_cases  # noqa: E402
import judging  # noqa: E402
import option_cases  # noqa: E402
import reducing  # noqa: E402
import running  # noqa: E402
from _system_test import is_share, share_of  # noqa: E402

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
PARTS = ("options", "files", "attributes", "folders")
# "all": so many of each, in turn. 50,000 options and files, 5,000 attributes, 1,000 folders.
PROPORTION = ["options", "files"] * 50 + ["attributes"] * 10 + ["folders"] * 2


def parse(words):
    parser = argparse.ArgumentParser(
        prog="fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("what", choices=[*PARTS, "all", "kept", "seeds", "replay", "show"])
    parser.add_argument("case", nargs="*", help="replay: files of cases; show: PART INDEX")
    parser.add_argument(
        "--cases",
        type=int,
        metavar="N",
        help="so many cases of each part [default: until --minutes, else 1000]",
    )
    parser.add_argument(
        "--share",
        type=int,
        default=1,
        metavar="N",
        help="in a ./ns3 test without --full, one in N of these cases: the first [default: 1]",
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="at most so long")
    parser.add_argument(
        "--start",
        type=int,
        default=0,
        metavar="N",
        help="from this case of the part on [default: 0]",
    )
    parser.add_argument("--seed", type=int, default=1, help="of all cases [default: 1]")
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="as many at a time [default: the processors]",
    )
    parser.add_argument(
        "--keep",
        metavar="DIR",
        help="write new failures there [default: tests/fuzz/cases for `all`, else nowhere]",
    )
    parser.add_argument("--list", metavar="FILE", help="write one line for each new failure to it")
    options = parser.parse_args(words)
    if options.cases is None and options.minutes is None:
        options.cases = 1000
    if options.cases is not None and is_share():
        options.cases = -(-options.cases // options.share)  # rounded up
    if options.keep is None and options.what == "all":
        options.keep = CASES
    return options


# ---- workers


class Folders:
    """Result folders that cases change copies of; made when they are first asked for."""

    def __init__(self, base):
        self.base = base

    def __getitem__(self, name):
        folder = os.path.join(self.base, name)
        if not os.path.isdir(folder):
            folder_cases.make(name, folder, os.path.join(self.base, f"making-{name}-{os.getpid()}"))
        return folder

    def all(self):
        return {name: self[name] for name in folder_cases.MADE_BY}


def make_part(name, seed, folders):
    if name == "options":
        return option_cases.Part(seed)
    if name == "attributes":
        return attribute_cases.Part(seed)
    if name == "files":
        return file_cases.Part(seed)
    return folder_cases.Part(seed, folders.all())


def work(number, options, schedule, folders, scratch, results):
    """Every options.jobs-th case."""
    # The parent's to handle: it ends its workers. Not SIG_IGN, which the programs would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    running.limit_this_process()
    runner = running.Runner(os.path.join(scratch, f"worker-{number}"))
    parts, known = {}, set()
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    counted = collections.Counter()
    for position, (name, index) in enumerate(schedule()):
        if position % options.jobs != number:
            continue
        if end and time.monotonic() > end:
            break
        if name not in parts:
            parts[name] = make_part(name, options.seed, folders)
        case = parts[name].case(index)
        case["part"], case["index"] = name, index
        counted[name] += 1
        counted[outcome_of(runner, case, folders, known, options, results)] += 1
        if sum(counted.values()) % 50 == 0:
            results.put(("count", counted))
            counted = collections.Counter()
    results.put(("count", counted))
    results.put(("end", number))


def outcome_of(runner, case, folders, known, options, results):
    """Run one case; a failure is tried again, reduced and told. Returns the status as a word."""
    try:
        outcome = runner.run(case, folders)
    except (OSError, ValueError) as error:  # a command line that the system does not take
        return f"not run: {type(error).__name__}"
    fault = judging.judge(case, outcome, runner.folder)
    if fault is None:
        return f"status {outcome.status}"
    signature = fault.signature(case)
    if signature not in known:
        known.add(signature)
        again = judging.judge(case, runner.run(case, folders), runner.folder)
        if again:
            case, fault = reducing.reduce(
                case,
                fault,
                lambda smaller: judging.judge(smaller, runner.run(smaller, folders), runner.folder),
            )
        results.put(("fault", (signature, case, fault, bool(again))))
    results.put(("again", signature))
    return f"fault: {fault.kind}"


# ---- the whole


def schedule_of(options):
    def schedule():
        names = PROPORTION if options.what == "all" else [options.what]
        next_of = collections.Counter({name: options.start for name in PARTS})
        while True:
            for name in names:
                index = next_of[name]
                next_of[name] += 1
                if options.cases is not None and index - options.start >= options.cases:
                    if all(next_of[one] - options.start >= options.cases for one in names):
                        return
                    continue
                yield name, index

    return schedule


def scratch_folder():
    """In memory, where there is room: cases write many small files."""
    for base in ("/dev/shm", None):
        if base is None or (os.access(base, os.W_OK) and shutil.disk_usage(base).free > 1 << 30):
            return tempfile.mkdtemp(prefix="dltrain-fuzz-", dir=base)
    return None


def fuzz(options):
    have_pandas = running.import_for_scripts()
    scratch = scratch_folder()
    folders = Folders(os.path.join(scratch, "made"))
    os.makedirs(folders.base)
    results = multiprocessing.Queue()
    begin = time.monotonic()
    workers = []
    try:
        if options.what in ("folders", "options", "all"):
            if not have_pandas:
                print("fuzz: python3-pandas and python3-matplotlib are missing", file=sys.stderr)
                return 2
            # Once, before there are several workers; a comparison takes longer than many cases.
            if options.what == "options":
                _ = folders[option_cases.FOLDER]
            else:
                folders.all()
        for number in range(options.jobs):
            workers.append(
                multiprocessing.Process(
                    target=work,
                    args=(number, options, schedule_of(options), folders, scratch, results),
                )
            )
            workers[-1].start()
        return gather(options, workers, results, begin)
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.terminate()
            worker.join()
        shutil.rmtree(scratch, ignore_errors=True)


def gather(options, workers, results, begin):
    counted, faults, times = collections.Counter(), {}, collections.Counter()
    ended, shown = 0, begin
    try:
        while ended < len(workers):
            try:
                what, value = results.get(timeout=5)
            except Exception:  # queue.Empty: is anybody there?
                if not any(worker.is_alive() for worker in workers):
                    raise RuntimeError("a worker died") from None
                continue
            if what == "count":
                counted.update(value)
            elif what == "again":
                times[value] += 1
            elif what == "fault":
                tell(options, faults, *value)
            else:
                ended += 1
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(
                    f"fuzz: {summary_of(counted)}, {shown - begin:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    except KeyboardInterrupt:
        print("fuzz: stopped", file=sys.stderr)
    words = [f"{count} {word}" for word, count in sorted(counted.items()) if word not in PARTS]
    print(f"fuzz: {summary_of(counted)}: {', '.join(words)}")
    for signature, (case, fault, certain) in sorted(
        faults.items(), key=lambda item: -times[item[0]]
    ):
        print(
            f"{times[signature]:6} {fault.kind}: {command_text(case)}\n       {fault.text[:300]}"
            + ("" if certain else "\n       (not the second time)")
        )
    return 1 if any(certain for _, _, certain in faults.values()) else 0


def summary_of(counted):
    return ", ".join(f"{counted[name]} {name}" for name in PARTS if counted[name]) or "nothing yet"


def tell(options, faults, signature, case, fault, certain):
    if signature in faults:
        return
    faults[signature] = (case, fault, certain)
    line = f"{fault.kind}: {command_text(case)}  -->  {fault.text[:300]}" + (
        "" if certain else "  (not the second time)"
    )
    path = ""
    if options.keep and certain:
        path = keep(options.keep, case, fault)
    if options.list:
        with open(options.list, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line + (f"  [{path}]" if path else "") + "\n")


def keep(folder, case, fault):
    """Write a case that runs for ever after. Returns its path."""
    os.makedirs(folder, exist_ok=True)
    kept = {
        "why": f"{fault.kind}: {fault.text[:300]}",
        **{key: value for key, value in case.items() if key not in ("index", "format") and value},
    }
    digest = hashlib.sha256(
        json.dumps([kept["run"], kept.get("files")], sort_keys=True).encode()
    ).hexdigest()[:8]
    what = re.sub(
        r"[^a-z0-9]+",
        "-",
        " ".join(
            [
                os.path.basename(case["run"][0]),
                *(re.findall(r"--([\w:-]+)", " ".join(case["run"][1:]))[-1:]),
            ]
        ).lower(),
    ).strip("-")
    path = os.path.join(folder, f"{what[:50]}-{digest}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=1)
        file.write("\n")
    return path


def command_text(case):
    import shlex

    text = " ".join(
        shlex.quote(word if len(word) < 200 else word[:80] + "...") for word in case["run"]
    )
    for name, what in case.get("files", {}).items():
        if name not in option_cases.values.AT_HAND and name != "tiny.json":
            text += f"  with {name} = {repr(what)[:300]}"
    return text.encode("ascii", "backslashreplace").decode()


# ---- cases that were found


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def replay(paths, verbose):
    """Every case must pass. Returns the status."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a background job
        signal.signal(signal.SIGINT, signal.default_int_handler)
    running.import_for_scripts()
    scratch = scratch_folder()
    folders = Folders(os.path.join(scratch, "made"))
    os.makedirs(folders.base)
    failed = 0
    try:
        runner = running.Runner(os.path.join(scratch, "worker"))
        running.limit_this_process()
        for path in paths:
            case = load(path)
            # What asks for the limit of memory says nothing where there is none.
            if case.get("limited") and running.sanitized():
                continue
            outcome = runner.run(case, folders)
            fault = judging.judge(case, outcome, runner.folder)
            failed += fault is not None
            if verbose:
                print(command_text(case))
                print(
                    (outcome.out + outcome.err)
                    .decode("utf-8", "backslashreplace")
                    .encode("ascii", "backslashreplace")
                    .decode()
                )
                print(
                    f"status {outcome.status}, {outcome.seconds:.2f} s, {outcome.rss / 1e6:.0f} MB;"
                    f" new: {sorted(outcome.new)}"
                )
            if fault or verbose:
                print(
                    f"{os.path.relpath(path)}:"
                    f" {f'{fault.kind}: {fault.text}' if fault else 'passes'}"
                )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not verbose or len(paths) > 1:
        print(f"fuzz: {len(paths)} kept cases, {failed} failed")
    return 1 if failed else 0


def seeds():
    """A mutation of a file that is refused anyway would find nothing: every seed passes with every
    command.
    """
    running.import_for_scripts()
    scratch = scratch_folder()
    wrong = 0
    try:
        runner = running.Runner(os.path.join(scratch, "worker"))
        cases = file_cases.valid_cases()
        for case in cases:
            outcome = runner.run(case)
            fault = judging.judge(case, outcome, runner.folder)
            if fault or outcome.status != 0:
                wrong += 1
                print(
                    f"{case['format']}: {command_text(case)}\n  status {outcome.status}:"
                    f" {outcome.err.decode('utf-8', 'replace')[-300:]}"
                )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"fuzz: {len(cases)} valid files, {wrong} refused")
    return 1 if wrong else 0


def show(options):
    """The INDEX-th case of a part, as JSON: can be kept and replayed."""
    running.import_for_scripts()
    scratch = scratch_folder()
    try:
        folders = Folders(os.path.join(scratch, "made"))
        os.makedirs(folders.base)
        print(
            json.dumps(
                make_part(options.case[0], options.seed, folders).case(int(options.case[1])),
                indent=1,
            )
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def main(words):
    options = parse(words)
    if options.what == "kept":
        names = sorted(name for name in os.listdir(CASES) if name.endswith(".json"))
        return replay([os.path.join(CASES, name) for name in share_of(names, one_in=5)], False)
    if options.what == "seeds":
        return seeds()
    if options.what == "replay":
        return replay(options.case, True)
    if options.what == "show":
        return show(options)
    return fuzz(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
