# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement ran on."""

import datetime
import functools
import glob
import os
import platform
import subprocess


def _first_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _field(path, name):
    """Of lines "name : value", the first."""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return ""


def flags():
    """What -march=native makes of the processor."""
    return _field("/proc/cpuinfo", "flags") or platform.machine()


@functools.lru_cache(maxsize=None)
def compiler():
    try:
        said = subprocess.run(
            ["c++", "--version"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        ).stdout
    except OSError:
        said = ""
    return said.split("\n", 1)[0]


def caches():
    """Of the first core: "L1 32 KiB, L2 1 MiB, L3 32 MiB"."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (
            _first_line(os.path.join(folder, name)) for name in ("level", "type", "size")
        )
        if kind != "Instruction" and size.endswith("K"):
            kib = int(size[:-1])
            shown = f"{kib // 1024} MiB" if kib % 1024 == 0 else f"{kib} KiB"
            found.append(f"L{level} {shown}")
    return ", ".join(found)


def describe():
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.release()}",
        "compiler": compiler(),
        "date": datetime.date.today().isoformat(),
    }
