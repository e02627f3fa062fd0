# SPDX-License-Identifier: GPL-2.0-only
"""Where calls stand: "MODULE|OFFSET|SYMBOL" of the program as FILE:LINE, where it has debugging
information, else by its function.
"""

import functools
import os
import shutil
import subprocess
import urllib.parse

from . import elf


# What nvcc makes of a launch.
OF_LAUNCHES = ("__cudaLaunchKernel_helper", "device_stub_", "cudaLaunchKernel<")


@functools.lru_cache(maxsize=None)
def of_launch(places, kernel):
    """The launch of a kernel: the first of these places that is none of the compiler's, as its
    helpers are, and the function on the host that has the kernel's name.
    """
    mine = _bare(kernel)
    every = places.split(";")
    for place in every:
        module, offset, symbol = _parts(place)
        function = _looked_up(module, int(offset, 16))[0] or _demangled(symbol)
        if function and _bare(function) != mine and not any(o in function for o in OF_LAUNCHES):
            return shown(place)
    return shown(every[0])


def _bare(function):
    return function.partition("(")[0].split(" ")[-1]


@functools.lru_cache(maxsize=None)
def shown(place):
    """For people: "train.cc:12", or "main in prog+0x11f4"."""
    module, offset, symbol = _parts(place)
    if module in ("", "?"):
        return "?"
    function, line = _looked_up(module, int(offset, 16))
    if line:
        return line
    name = os.path.basename(module)
    function = function or _demangled(symbol)
    return f"{function} in {name}+0x{offset}" if function else f"{name}+0x{offset}"


def _parts(place):
    parts = [urllib.parse.unquote(part) for part in place.split("|")]
    return (parts + ["", "0", ""])[:3]


@functools.lru_cache(maxsize=None)
def _looked_up(module, offset):
    """(function, FILE:LINE); empty texts where they are not known."""
    if not shutil.which("addr2line"):
        return "", ""
    about = elf.read(module)
    address = offset + (about.base if about else 0)
    done = subprocess.run(
        ["addr2line", "-f", "-C", "-e", module, hex(address)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) < 2:
        return "", ""
    function = "" if lines[0] == "??" else lines[0].partition("(")[0]
    file, _, number = lines[1].partition(" ")[0].rpartition(":")
    if file in ("", "??") or not number.isdigit() or number == "0":
        return function, ""
    near = os.path.relpath(file)
    return function, f"{file if near.startswith('..') else near}:{number}"


def _demangled(symbol):
    if not symbol or not shutil.which("c++filt"):
        return symbol
    done = subprocess.run(
        ["c++filt", symbol], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return done.stdout.strip().partition("(")[0] or symbol
