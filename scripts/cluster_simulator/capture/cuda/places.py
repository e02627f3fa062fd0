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


@functools.lru_cache(maxsize=None)
def shown(place):
    """For people: "train.cc:12", or "main in ./prog+0x11f4"."""
    parts = [urllib.parse.unquote(part) for part in place.split("|")]
    module, offset, symbol = (parts + ["", "0", ""])[:3]
    if module in ("", "?"):
        return "?"
    function, line = _looked_up(module, int(offset, 16))
    if line:
        return line
    name = os.path.basename(module)
    function = function or _demangled(symbol)
    return f"{function} in {name}+0x{offset}" if function else f"{name}+0x{offset}"


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
