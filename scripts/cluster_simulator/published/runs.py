# SPDX-License-Identifier: GPL-2.0-only
"""Runs dltrain for rows of published steps. A run that is there from before, of the same command
line and program, is not run again.
"""

import collections
import glob
import hashlib
import json
import os
import shutil
import subprocess

from .. import files, programs
from ..errors import CannotWrite

# Without packets: rows go up to thousands of GPUs. Without a step to warm up: that of ZeRO 3 on two
# servers, of a pipeline on four and of plain data parallelism take as long after one within 0.01%.
# Nothing but stats.json is read.
COMMON = [
    "--network=analytic",
    "--warmup=0",
    "--report=0",
    "--timeline=0",
    "--attribution=0",
    "--progress=0",
]

# What stats.json says of a step; the time in seconds. `fits`: by the estimate of a GPU's memory.
Step = collections.namedtuple("Step", "seconds tflops peak exposed stats fits")


def written(what, name, folder):
    path = os.path.join(folder, "models", f"{name}.json")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"--out={folder}: cannot be written: {error.strerror}") from None
    files.write_text("--out", path, json.dumps(what, indent=1, sort_keys=True) + "\n")
    return path


def words_of(row, folder, more=()):
    """The options of a row; the model it describes is written to a file of the folder."""
    model = row.model
    if isinstance(model, dict):
        model = written(model, model["name"], folder)
    topology = row.facts.get("topology")
    if topology:
        shape = {key: value for key, value in topology.items() if key != "name"}
        topology = written(shape, topology["name"], folder)
    given = {word.partition("=")[0] for word in row.options}
    # Tables of years in which few had fused attention: it is what their rows say.
    fused = [] if "--fused-attention" in given or not model else ["--fused-attention=0"]
    common = [word for word in COMMON if word.partition("=")[0] not in given]
    return [
        *([f"--model={model}"] if model else []),
        *([f"--topology={topology}"] if topology else []),
        *row.options,
        *row.shorter,
        *fused,
        *common,
        *more,
    ]


def built(program):
    """The program and the libraries that it was built with."""
    program = os.path.realpath(program)
    top = os.path.dirname(os.path.dirname(program))
    return [program, *sorted(glob.glob(os.path.join(top, "lib", "*.so*")))]


def identity(program, words):
    """What a run's result hangs on: program, options, and the models and profiles these name."""
    digest = hashlib.sha256()
    for path in built(program):
        state = os.stat(path)
        digest.update(f"{state.st_size} {state.st_mtime_ns}\n".encode())
    for word in words:
        digest.update(f"{word}\n".encode())
        path = word.partition("=")[2]
        if word.startswith(("--model=", "--profile=", "--topology=")) and os.path.isfile(path):
            with open(path, "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:16]


# Lists as long as a run: of hundreds of them they would fill the memory.
LONG = ("collectives", "links", "step_times_us", "critical_path")


def step_of(stats, fits):
    stats = {key: value for key, value in stats.items() if key not in LONG}
    return Step(
        stats["step_time_us"] * 1e-6,
        stats["tflops_per_gpu"],
        stats["peak_tflops_per_gpu"],
        stats["exposed_communication_time_us"] * 1e-6,
        stats,
        fits,
    )


def read(folder, fits):
    try:
        stats = files.parse_json(files.read_text(os.path.join(folder, "stats.json")))
        return step_of(stats, fits) if stats["completed"] else None
    except (OSError, ValueError, LookupError, TypeError):  # cut off, or somebody else's
        return None


# Files that nothing reads here: over all rows they fill a disk (12 GB of 324).
LARGE = (
    "flows.csv",
    "calls.log",
    "step_collectives.csv",
    "critical_messages.csv",
    "critical_path.csv",
)
# It ran on the real machine: what the estimate says of its memory is told, and it runs.
ANYWAY = "--ignore-memory"


def run(program, words, folder, limit):
    """A Step, or a string that says why there is none."""
    done = attempt(program, words, folder, limit)
    if isinstance(done, str) and ANYWAY in done and ANYWAY not in words:
        done = attempt(program, [*words, ANYWAY], folder, limit)
    return done


def attempt(program, words, folder, limit):
    where = os.path.join(folder, "runs", identity(program, words))
    fits = ANYWAY not in words
    done = read(where, fits)
    if done:
        return done
    try:
        process = programs.captured([program, *words, f"--out={where}"], limit)
    except subprocess.TimeoutExpired:
        shutil.rmtree(where, ignore_errors=True)
        return f"takes longer than {limit:g} s: --time-limit"
    if process.returncode == 0:
        done = read(where, fits)
    if done is None:
        said = process.stderr.strip().splitlines() or [f"status {process.returncode}"]
        return next((line for line in said if ": error: " in line), said[-1])
    for name in LARGE:
        path = os.path.join(where, name)
        if os.path.exists(path):
            os.remove(path)
    return done


def all_of(program, rows, folder, jobs, limit, more=()):
    """(row, Step or why not), in the order of rows."""
    words = [words_of(row, folder, more) for row in rows]
    done = programs.each(jobs, lambda one: run(program, one, folder, limit), words)
    return list(zip(rows, done))
