# SPDX-License-Identifier: GPL-2.0-only
"""Files that others wrote, which may hold anything; and whether there can be new ones, which is
better known before hours of runs than behind them.
"""

import contextlib
import json
import os

from .errors import CannotWrite, InvalidInput


def check_new_file(option, path):
    """Raises InvalidInput if a file cannot be written there, for a reason that can be seen."""
    folder = os.path.dirname(os.path.abspath(path))
    if not path:
        raise InvalidInput(f"{option}: needs the name of a file: {option}=FILE")
    if "\0" in path:
        raise InvalidInput(f"{option}={path}: is no name of a file")
    if os.path.isdir(path):
        raise InvalidInput(f"{option}={path}: is a folder; allowed: a file")
    if os.path.lexists(path) and not os.path.isfile(path):
        raise InvalidInput(f"{option}={path}: is no regular file")
    if not os.path.isdir(folder):
        raise InvalidInput(f"{option}={path}: there is no folder {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise InvalidInput(f"{option}={path}: cannot be written")


def own(path):
    """The path of a file in a folder of results, without the link that stands there: a folder may
    come from anybody, and a link in it would lead to any file.
    """
    if os.path.islink(path):
        os.unlink(path)
    return path


@contextlib.contextmanager
def at_once(path):
    """Gives the name of a file to write, which then takes the place of `path` at once: who is
    killed or fails meanwhile leaves the old one. Raises OSError. A link stays one, to what is new.
    """
    path = os.path.realpath(path)
    part = f"{path}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            os.remove(part)


@contextlib.contextmanager
def replaced(option, path):
    """The same for the value of an option. Raises CannotWrite."""
    try:
        with at_once(path) as part:
            yield part
    except OSError as error:
        raise CannotWrite(
            f"{option}={path}: cannot be written: {error.strerror or error}"
        ) from None


def write_text(option, path, text):
    """A whole file. Raises CannotWrite."""
    with replaced(option, path) as part:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)


# What a run writes (scenarios/launch/output-folder.cc;
# tests/system/scripts/scripts-hostile.py compares).
RESULTS = (
    "attribution.csv",
    "calls.log",
    "collectives.csv",
    "compared_slices.csv",
    "compared.csv",
    "critical_messages.csv",
    "critical_path.csv",
    "curve.csv",
    "estimates.csv",
    "executions.csv",
    "fairness.csv",
    "fct.txt",
    "flows.csv",
    "interruptions.csv",
    "intervals.csv",
    "kernels.csv",
    "links.csv",
    "mix.csv",
    "network.yml",
    "network_events.log",
    "paths.csv",
    "plans.csv",
    "queue_pairs.csv",
    "queues.csv",
    "rates.csv",
    "report.html",
    "slices.csv",
    "slowdown.csv",
    "stats.json",
    "step_collectives.csv",
    "steps.csv",
    "timeline.json",
    "topology.json",
    "trace.goal",
    "watch.csv",
)


def check_no_result(option, path, own):
    """Raises InvalidInput for the name of a result other than `own` in a folder of results, which
    would be lost.
    """
    folder, name = os.path.split(os.path.realpath(path))
    if name in RESULTS and name != own and os.path.exists(os.path.join(folder, "stats.json")):
        raise InvalidInput(
            f"{option}={path}: is a result of the run in {folder}; allowed: {own}, or another name"
        )


def check_new_folder(option, path):
    """The same of a folder that is made, or there already, and of those that it is in."""
    if not path or "\0" in path:
        raise InvalidInput(f"{option}={path}: is no name of a folder")
    above = os.path.abspath(path)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise InvalidInput(f"{option}={path}: {above} is no folder")
    if not os.access(above, os.W_OK):
        raise InvalidInput(f"{option}={path}: cannot be written")


def programs_of(root):
    """The folder of the programs of a clone, or of the environment."""
    return os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(root, ".ns3", "programs")


def built(folder, program):
    """The path of a program in the folder that --programs names. Raises InvalidInput."""
    path = os.path.join(folder, program)
    if not os.access(path, os.X_OK):
        raise InvalidInput(f"--programs={folder}: {path} is not built: ./ns3 build")
    return path


def refuse_no_file(path):
    """Raises OSError for a pipe or a device, which might never end, for a folder and for nothing.
    ValueError: no name of a file.
    """
    if not os.path.isfile(path):
        os.stat(path)  # says why, if there is none
        raise OSError(0, "is no file", os.fspath(path))


def read_text(path):
    """A whole file of UTF-8. Raises OSError or ValueError."""
    refuse_no_file(path)
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"no UTF-8 text (byte {error.start})") from None


def _each_once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{json.dumps(twice)} stands twice in an object")
    return found


def parse_json(text):
    """Its value. Raises ValueError, also for what is nested too deeply, or a key that stands twice
    in an object.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
