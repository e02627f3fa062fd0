# SPDX-License-Identifier: GPL-2.0-only
"""Words of the command line, of scripts/sweep and scripts/compare."""

import os

from ..nearest import nearest
from .errors import BadUse
from .points import option_name


def option_of(argument):
    """ "--micro-batch=4" -> ("micro_batch", "4")"""
    if not argument.startswith("--"):
        hint = (
            "; write options in full and with '=': --minbytes=1M"
            if argument.startswith("-")
            else "; options are written with '=': --zero=0,1"
        )
        raise BadUse(f"{argument}: unexpected argument{hint}")
    name, equals, text = argument[2:].partition("=")
    return option_name(name), text if equals else None


def set_own(own, name, text, argument):
    if isinstance(own[name], bool):
        if text is not None:
            raise BadUse(f"{argument}: takes no value")
        own[name] = True
        return
    if own[name] is not None:
        raise BadUse(f"{argument}: given twice")
    if not text:
        raise BadUse(f"{argument}: needs a value")
    own[name] = text


def said_too_many(words):
    """Which of several words is the first that is too many."""
    return f"{words[1]}: unexpected argument; " if len(words) > 1 else ""


def is_file_of_jobs(program, text):
    """Whether --jobs is the simulator's (files, each with several jobs), not how many runs at a
    time.
    """
    if program != "dltrain" or not text:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def jobs_of(text):
    """None: as many as the points leave cores for, see runs_at_once."""
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 4096:
        raise BadUse(f"--jobs={text}: allowed: 1 to 4096")
    return int(text)


def place_of(own):
    """(place, options for Slurm) of --on and --slurm-options"""
    place = own["on"] or "local"
    if place not in ("local", "slurm"):
        raise BadUse(f"--on={place}: allowed: local, slurm{nearest(place, ['local', 'slurm'])}")
    if own["slurm_options"] is not None and place != "slurm":
        raise BadUse(f"--slurm-options={own['slurm_options']}: needs --on=slurm")
    return place, own["slurm_options"]


def runs_at_once(points):
    """As many runs as there are cores for, each with the processes that --mpi-ranks asks for."""
    ranks = [point.get("mpi_ranks", "1") for point in points]
    most = max([int(text) for text in ranks if text.isascii() and text.isdigit()], default=1)
    return max(1, cores() // max(1, most))


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
