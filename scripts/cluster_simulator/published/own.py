# SPDX-License-Identifier: GPL-2.0-only
"""Tables that a program compares by itself: kernels and MIG instances, by dlserve."""

import collections
import csv
import hashlib
import os
import subprocess

from .. import files, programs
from ..errors import CannotWrite, InvalidInput
from . import runs
from .summary import Pair

# `option` takes the table, `made` is the file of the run's folder that has its rows beside their
# simulation; `of`: a row's Pair without the kind, or None.
Own = collections.namedtuple("Own", "kind column option made of")


def kernel(row):
    if not row["simulated_us"] or float(row["measured_us"]) <= 0:
        return None
    return f"{row['gpu']}, {row['kind']}", float(row["measured_us"]), float(row["simulated_us"])


def instance(row):
    return row["model"], float(row["measured_per_s"]), float(row["computed_per_s"])


OWN = (
    Own("kernels of inference", "query_tokens", "--kernel-times", "kernels.csv", kernel),
    Own("MIG instances, requests/s", "share_kind", "--compare", "compared_slices.csv", instance),
)


def of_columns(columns):
    """The kind of a table; None: none of these."""
    return next((own for own in OWN if own.column in columns), None)


def words_of(own, path):
    return [f"{own.option}={os.path.abspath(path)}"]


def compare(own, program, path, folder, limit):
    """Pairs of a table."""
    words = words_of(own, path)
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    where = os.path.join(folder, "runs", runs.identity(program, [*words, digest]))
    made = os.path.join(where, own.made)
    try:
        process = programs.captured([program, *words, "--report=0", f"--out={where}"], limit)
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"{path}: takes longer than {limit:g} s: --time-limit") from None
    if process.returncode:
        said = process.stderr.strip().splitlines() or [f"status {process.returncode}"]
        raise InvalidInput(next((line for line in said if ": error: " in line), said[-1]))
    try:
        rows = list(csv.DictReader(files.read_text(made).splitlines()))
        found = [own.of(row) for row in rows]
        return [Pair(own.kind, *pair) for pair in found if pair]
    except (OSError, ValueError, LookupError, TypeError):
        raise CannotWrite(f"{made}: is no comparison of {own.kind}") from None
