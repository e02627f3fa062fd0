#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures the tables of docs/ and scenarios/presets/cc/README.md anew and prints them as Markdown.

    tests/bench/tables.py [--only=changes,placement,training,...] [--keep=DIR] [--jobs=N] [--update]

A table stands in its file behind a line <!-- TABLE: NAME -->. --update writes the measured rows
there; columns that are not measured (what happens, what a paper says) stay. Sentences around the
tables are for a human: read them again. What they draw from the runs beside the tables is printed
as "NAME, more". --list: tables and commands, nothing is run. The programs have to be built (./ns3
test -N does that). A run that --keep has from before is not run again, so take a new DIR after the
simulator has changed. All of it: 630 runs, some 75 minutes of a core.
"""

import argparse
import concurrent.futures
import os
import sys
import tempfile

import _table
import balancers
import jobs_tables
import networks
import replica_tables
from _table import ROOT, Runs
from cluster_simulator.marked import merge


def one(file, header, rows, **more):
    """A page's one table of a name."""

    def make():
        yield _table.Table(file, header, rows(), **more)

    return make


TABLES = {
    **jobs_tables.TABLES,
    **replica_tables.TABLES,
    "balancers": one(
        "docs/measured.md",
        balancers.HEADER,
        balancers.rows,
        picture=(balancers.PICTURE, balancers.draw),
    ),
    "balancers-published": one(
        "docs/measured.md", balancers.PUBLISHED_HEADER, balancers.published
    ),
    "permutations": one(
        balancers.PAGE, balancers.PERMUTATIONS_HEADER, balancers.permutations
    ),
    "placements": one(balancers.PAGE, balancers.PLACEMENTS_HEADER, balancers.placements),
    **{name: one(*table) for name, table in networks.TABLES.items()},
}


def line_of(command):
    return " ".join(command.split())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(TABLES), help="tables, of " + ", ".join(TABLES))
    parser.add_argument("--keep", help="folder for the results of the runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--update", action="store_true", help="write the tables into their files")
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        parser.error(f"no table '{unknown[0]}'; there are: {', '.join(TABLES)}")
    tables = [(name, list(TABLES[name]())) for name in names]
    commands = dict.fromkeys(
        line_of(line)
        for _, parts in tables
        for table in parts
        for _, lines, _ in table.rows
        for line in lines
    )
    if arguments.list:
        print("\n".join(commands))
        return 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(
        arguments.jobs
    ) as pool:
        results = dict(
            zip(commands, pool.map(Runs(os.path.abspath(arguments.keep or temporary)), commands))
        )
        for name, parts in tables:
            for table in parts:
                measured = [
                    [*first, *cells(*(results[line_of(line)] for line in lines))]
                    for first, lines, cells in table.rows
                ]
                print(
                    f"\n{name}{', more' if table.more else ', ' + table.file}\n\n|"
                    f" {' | '.join(table.header)} |\n|{'---|' * len(table.header)}"
                )
                for row in measured:
                    print(f"| {' | '.join(row)} |")
                if arguments.update and not table.more:
                    path = os.path.join(ROOT, table.file)
                    with open(path, encoding="utf-8") as file:
                        text = merge(file.read(), name, measured)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    if table.picture:
                        picture, draw = table.picture
                        draw(measured, os.path.join(ROOT, picture))
    return 0


if __name__ == "__main__":
    sys.exit(main())
