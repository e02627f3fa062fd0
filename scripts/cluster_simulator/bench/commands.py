# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench: the command line."""

import json
import os
import sys

from .. import files, programs
from ..amounts import counted
from ..arguments import Parser, whole_number
from ..errors import CannotWrite, InvalidInput, ProgramNotFound
from ..console import OVER
from ..shown import complaint
from . import machine, tables
from .builds import Build
from .cases import CASES, chosen
from .measuring import Measuring
from .running import Failed
from .yardstick import SOURCE, Yardstick

DESCRIPTION = f"""\
How fast the programs simulate: whole runs, each in turns with a bare data plane on the same
fat-tree with as many threads ({SOURCE}, compiled on first use),
so that what else the machine does is seen. Numbers are medians, with their range in brackets."""

EPILOG = """\
columns
  engine          what runs the events; of builds without --engine it is ns3
  cores           1, or threads or processes (MPI)
  frame-hops      every frame, ACKs included, on every cable
  M frame-hops/s  of the event loop, in millions
  yardstick       the same of the bare data plane, before and after each run
  share           of the yardstick's speed, median over the runs
  GPU-s a core-s  simulated seconds of all GPUs in a second of one core
  peak memory     of the process; of several that of the first
  a host          peak memory beyond that of a run with two hosts

Programs are the clone's, or those of the folder DLTRAIN_PROGRAMS; a folder lib/ beside them has
their libraries. A case that needs an option that they have not is "not in this build".
To keep a build for --old: cp -L .ns3/programs/* DIR; cp -rL .ns3/build/lib DIR
Exit status: 0 measured, 1 a run failed, 2 bad input, 130 Ctrl-C; what was measured is printed."""


def parse(words):
    parser = Parser(
        prog="bench",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "--cases",
        metavar="NAME,...",
        help="these only; * stands for any text: growth-* [default: all]",
    )
    parser.add_argument("--list", action="store_true", help="print cases and commands, run none")
    parser.add_argument("--repeat", metavar="N", help="runs of each case [default: 7]")
    parser.add_argument(
        "--old",
        metavar="DIR",
        help="programs of another build: pairs of an old and a new run in turns",
    )
    parser.add_argument("--json", metavar="FILE", help="write every number there, too")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, one run of each: to try, not to measure",
    )
    parser.add_argument("--update", action="store_true", help=f"write the tables of {tables.PAGE}")
    parser.add_argument("--keep", metavar="DIR", help="keep the results of the runs there")
    parser.add_argument(
        "--prototype",
        metavar="FILE.cc",
        help=(
            "another yardstick: it takes the arguments K BYTES THREADS and prints Mhop/s=NUMBER"
        ),
    )
    options = parser.parse_args(words)
    repeat = options.repeat or ("1" if options.quick else "7")
    options.repeat = whole_number("--repeat", repeat, 1, 9999)
    options.cases = chosen(options.cases)
    if options.update and (options.quick or options.prototype):
        other = "--quick" if options.quick else "--prototype"
        raise InvalidInput(f"--update: not with {other}: the page has measurements beside {SOURCE}")
    if options.prototype is not None and not os.path.isfile(options.prototype):
        raise InvalidInput(f"--prototype={options.prototype}: there is no such file")
    return options


def main(arguments):
    try:
        options = parse(arguments)
        if options.list:
            return show_list(options)
        return measure(options)
    except InvalidInput as error:
        print(f"bench: error: {complaint(error)}", file=sys.stderr)
        return 2
    except (CannotWrite, Failed, ProgramNotFound) as error:
        print(f"bench: error: {complaint(error)}", file=sys.stderr)
        return 1


def show_list(options):
    width = max(len(case.name) for case in CASES)
    for case in options.cases:
        words = [case.program, *programs.words(case.options_of(options.quick))]
        needs = [
            f"{name}={value}"
            for name, value, usual in (
                ("engine", case.engine, ""),
                ("threads", case.threads, 1),
                ("processes", case.ranks, 1),
            )
            if value != usual
        ]
        print(f"{case.name:<{width}}  {' '.join(words)}{''.join(f'  ({n})' for n in needs)}")
    return 0


def measure(options):
    root = programs.clone()
    names = sorted({case.program for case in options.cases})
    new, old = Build(), Build(options.old, f"--old={options.old}") if options.old else None
    for build in filter(None, (old, new)):
        build.check(names)
    of_machine = machine.describe()
    page = tables.Page(root, of_machine, options.cases) if options.update else None
    make_places(options)
    yardstick = Yardstick(root, options.prototype)
    yardstick.compile()
    measuring = Measuring(
        root, new, old, yardstick, options.repeat, options.quick, options.keep
    )
    completed = False
    print(f"Machine    {describe(of_machine)}")
    print(f"Programs   {os.path.dirname(new.path(names[0]))}")
    print(f"Yardstick  {yardstick.name}\n")
    print(tables.case_line(tables.CASE_HEAD), flush=True)
    try:
        for case in options.cases:
            show_row(measuring.measure(case))
        completed = True
    finally:
        # However it ends, what was measured is shown; a case that was cut off has fewer runs.
        if not completed and measuring.all and measuring.all[-1].samples:
            show_row(measuring.all[-1])
        show_rest(measuring, options)
        if options.json:
            write_json(options.json, completed, of_machine, yardstick, measuring)
    if page:
        page.update(of_machine, measuring.loads, measuring.all)
        print(f"\nwritten: {tables.PAGE}")
    return 0


def make_places(options):
    """What cannot be written is said now, not after an hour."""
    if options.json is not None:
        files.check_new_file("--json", options.json)
    if options.keep is not None:
        files.check_new_folder("--keep", options.keep)
        try:
            os.makedirs(options.keep, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"--keep={options.keep}: {error.strerror}") from error


def describe(of_machine):
    return (
        f"{of_machine['processor']}, {counted(of_machine['cores'], 'core')}"
        f" ({of_machine['caches']}),"
        f" {tables.size(of_machine['memory_bytes'])}; {of_machine['system']};"
        f" {of_machine['compiler']}; {of_machine['date']}"
    )


def show_row(one):
    if sys.stderr.isatty():
        print(OVER, end="", file=sys.stderr, flush=True)
    print(tables.case_line(tables.case_row(one)), flush=True)


def show_rest(measuring, options):
    growth = tables.growth_rows(measuring.all)
    if len(growth) > 1:
        print("\nThe same load on every host\n" + tables.text(tables.GROWTH_HEAD, growth))
    if options.old:
        print(
            f"\nAgainst {options.old}\n"
            + tables.text(tables.PAIR_HEAD, tables.pair_rows(measuring.all))
        )
    if measuring.loads:
        print(f"\nLoad of the machine {min(measuring.loads):.1f} to {max(measuring.loads):.1f}")


def write_json(path, completed, of_machine, yardstick, measuring):
    content = {
        "completed": completed,
        "machine": of_machine,
        "load": measuring.loads,
        "yardstick": yardstick.name,
        "repeat": measuring.repeat,
        "quick": measuring.quick,
        "cases": [one.as_json() for one in measuring.all],
    }
    files.write_text("--json", path, json.dumps(content, indent=2) + "\n")
