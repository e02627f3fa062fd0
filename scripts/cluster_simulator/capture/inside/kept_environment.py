# SPDX-License-Identifier: GPL-2.0-only
"""A process that a script starts with an environment of its own is captured as well: what the
capture put there is put back (sitecustomize.py, before anything else is imported).
"""

import _posixsubprocess
import os

PATHS = ("PYTHONPATH", "PATH")  # whose first entry is the capture's
PREFIX = "DLTRAIN_CAPTURE"


def watch():
    own = dict(os.environb)  # as it was begun
    first = {name.encode(): own.get(name.encode(), b"").split(b":")[0] for name in PATHS}

    def added(given):
        """{name: value} of bytes, with what is missing."""
        made = dict(given)
        for name, value in os.environb.items():
            if name.startswith(PREFIX.encode()):
                made.setdefault(name, value)
        for name, path in first.items():
            entries = made[name].split(b":") if made.get(name) else []
            if path not in entries:
                made[name] = b":".join([path, *entries])
        return made

    def of_pairs(pairs):
        return [name + b"=" + value for name, value in added(pairs).items()]

    def of_mapping(mapping):
        pairs = {os.fsencode(name): os.fsencode(value) for name, value in mapping.items()}
        return added(pairs)

    fork_exec, execve = _posixsubprocess.fork_exec, os.execve
    spawns = {name: getattr(os, name) for name in ("posix_spawn", "posix_spawnp")}

    def fork_exec_with(*arguments):
        arguments = list(arguments)
        if arguments[ENVIRONMENT] is not None:
            pairs = (one.partition(b"=")[::2] for one in arguments[ENVIRONMENT])
            arguments[ENVIRONMENT] = of_pairs(dict(pairs))
        return fork_exec(*arguments)

    def spawn_with(spawn):
        def spawned(path, words, environment, **options):
            return spawn(path, words, of_mapping(environment), **options)

        return spawned

    _posixsubprocess.fork_exec = fork_exec_with
    os.execve = lambda path, words, environment: execve(path, words, of_mapping(environment))
    for name, spawn in spawns.items():
        setattr(os, name, spawn_with(spawn))


ENVIRONMENT = 5  # of the arguments of _posixsubprocess.fork_exec (subprocess.py of Python 3.11)
