# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps of dltrain --launch: values of one's own in the script's command, and captures that points
share.

A point may have names of its own, in braces: {"launch": "torchrun --nproc_per_node={nproc}
train.py", "{nproc}": "2"}. Their values stand wherever other options have {nproc}; the column of
the table is nproc.
"""

import hashlib
import json
import os
import re
import shlex
import shutil

from ..files import parse_json, read_text
from .errors import BadUse

PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
# What a capture depends on, beside capture_...
CAPTURED_ON = ("launch", "gpu", "server", "servers", "gpus", "gpus_per_server", "scenario")
FOLDER = "captures"


def own_name(name):
    """"nproc" of "{nproc}"; None: it is an option."""
    found = PLACE.fullmatch(name)
    return found[1] if found else None


def column_of(name):
    return own_name(name) or name


def joined(arguments):
    """"--set", "n=2,4" as one word."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        yield f"{word}={rest.pop(0)}" if word == "--set" and rest else word


def set_values(text, values, split):
    """--set=nproc=2,4: into values. `split` splits at commas."""
    name, equals, rest = text.partition("=")
    if not equals or not PLACE.fullmatch(f"{{{name}}}"):
        raise BadUse(f"--set={text}: allowed: NAME=VALUE,..., such as --set=batch=16,32")
    if f"{{{name}}}" in values:
        raise BadUse(f"--set={text}: {name} is given twice; all values go into one: {name}=A,B")
    values[f"{{{name}}}"] = split(rest, f"set={name}")


def check(points):
    """Names are set and used."""
    for point in points:
        names = {own_name(name) for name in point if own_name(name)}
        used = {name for option in point for name in _places(option, point[option])}
        for name in sorted(used - names) if "launch" in point else []:
            raise BadUse(
                f"--launch={point['launch']}: {{{name}}} has no values; give --set={name}=..."
            )
        for name in sorted(names - used):
            raise BadUse(
                f"--set={name}=...: no option has {{{name}}}, such as"
                f' --launch="python train.py --{name}={{{name}}}"'
            )


def _places(option, value):
    return [] if own_name(option) else PLACE.findall(value)


def filled(point):
    """Options for the program: without names of its own, with their values."""
    own = {name: value for name, value in point.items() if own_name(name)}
    made = {}
    for option, value in point.items():
        if option not in own:
            for name, text in own.items():
                value = value.replace(name, text)
            made[option] = value
    return made


def without_script(options):
    """Of options those that need no script to be captured."""
    return {
        name: value
        for name, value in options.items()
        if name != "launch" and not name.startswith("capture_")
    }


def uses_script(options):
    return "launch" in options


class Captures:
    """Captures of a sweep, in its folder: equal ones are made once, by the first point that needs
    one. `cwd` of a point: relative to which its files are.
    """

    def __init__(self, folder):
        self.folder = os.path.join(folder, FOLDER)
        self.making = {}  # key: id of the point that makes it
        self.failed = set()  # keys of which nothing can be shared

    def is_waiting(self, number, options, cwd):
        """Whether another point makes the capture just now."""
        key = self._key(options, cwd)
        return key in self.making and self.making[key] != number

    def options_for(self, number, options, cwd):
        """Options to run a point with: the capture that is there, or --launch."""
        key = self._key(options, cwd)
        made = os.path.join(self.folder, key)
        if os.path.isdir(made):
            return {**without_script(options), "trace": made}
        if key not in self.failed:
            self.making[key] = number
        return options

    def ended(self, number, out):
        """The point has ended; its capture goes to where others find it."""
        for key, maker in list(self.making.items()):
            if maker != number:
                continue
            del self.making[key]
            source, made = os.path.join(out, "capture"), os.path.join(self.folder, key)
            if not _is_whole(source):
                self.failed.add(key)
                continue
            for old in (made, f"{made}.part"):
                shutil.rmtree(old, ignore_errors=True)
            os.makedirs(self.folder, exist_ok=True)
            shutil.copytree(source, f"{made}.part", symlinks=True, copy_function=os.link)
            os.replace(f"{made}.part", made)

    def _key(self, options, cwd):
        wanted = {
            name: value
            for name, value in options.items()
            if name in CAPTURED_ON or name.startswith("capture_")
        }
        text = json.dumps([sorted(wanted.items()), cwd, _files(options["launch"], cwd)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_whole(capture):
    """The script has not failed."""
    try:
        meta = parse_json(read_text(os.path.join(capture, "meta.json")))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("exit_status") == 0


def _files(command, cwd):
    """The scripts that a command names, so that a changed one is captured anew."""
    try:
        words = shlex.split(command)
    except ValueError:  # the program says so
        words = []
    found = []
    for word in words:
        path = os.path.join(cwd or "", word)
        if os.path.isfile(path):
            about = os.stat(path)
            found.append([word, about.st_size, about.st_mtime_ns])
    return found
