# SPDX-License-Identifier: GPL-2.0-only
"""Shared libraries of others, and the release of glibc that all of them need."""

import os
import re
import shutil
import subprocess

# glibc is the system's, and fits the system's kernel and loader. All else goes into the package:
# an image of Python alone has no libstdc++.
OF_GLIBC = re.compile(
    r"(ld-linux[\w-]*|libc|libm|libpthread|libdl|librt|libresolv|libutil|libmvec)\.so\.\d+"
)

# Debian's ns-3 names GSL, of which the modules here use nothing. GSL is GPL-3.0-or-later beside
# ns-3's GPL-2.0-only: it stays out.
UNUSED = {"libgsl": r"gsl_\w+", "libgslcblas": r"cblas_\w+"}


class Missing(Exception):
    """A library that a program needs is nowhere."""


def elf_files(prefix):
    for folder, _, files in os.walk(prefix):
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        yield path


def _loaded(path):
    """{name: path} of all that the loader finds for a file."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            found[name] = rest.split(" (")[0]
    return found


def add(prefix):
    """Copies the libraries of others into lib/dltrain, and their licences."""
    folder = os.path.join(prefix, "lib", "dltrain")
    wanted = {}
    for path in elf_files(prefix):
        for name, found in _loaded(path).items():
            if found == "not found":
                raise Missing(f"{os.path.basename(path)} needs {name}, which is not installed")
            if not OF_GLIBC.fullmatch(name) and not found.startswith(prefix + os.sep):
                wanted[name] = os.path.realpath(found)
    unused = {name for name in wanted if name.split(".")[0] in UNUSED}
    wanted = {name: path for name, path in wanted.items() if name not in unused}
    for name, path in sorted(wanted.items()):
        target = os.path.join(folder, name)
        shutil.copyfile(path, target)
        os.chmod(target, 0o644)
    for package in sorted({_package_of(path) for path in wanted.values()} - {None}):
        copyright_file = f"/usr/share/doc/{package}/copyright"
        if os.path.isfile(copyright_file):
            licences = os.path.join(prefix, "share", "doc", "dltrain", "licenses")
            os.makedirs(licences, exist_ok=True)
            shutil.copyfile(copyright_file, os.path.join(licences, package))
    _leave_out(prefix, unused)
    _check(prefix)


def _leave_out(prefix, names):
    """Libraries of which nothing is used are no longer asked for."""
    for path in elf_files(prefix):
        here = sorted(names & set(_needed(path)))
        if not here:
            continue
        done = subprocess.run(
            ["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True
        )
        for name in here:
            if re.search(rf"\bU {UNUSED[name.split('.')[0]]}", done.stdout):
                raise Missing(f"{os.path.basename(path)} uses {name}: see UNUSED in {__file__}")
            subprocess.run(["patchelf", "--remove-needed", name, path], check=True)


def _package_of(path):
    # (Debian 12 has merged /lib into /usr/lib; dpkg may know either.)
    for name in (path, path.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return None


def _needed(path):
    done = subprocess.run(
        ["readelf", "--wide", "--dynamic", path], capture_output=True, text=True, check=True
    )
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)


def _check(prefix):
    """Nothing but glibc is taken from outside. (Debian's libraries name no folder: they find each
    other by that of the program, which the loader of one alone does not know.)
    """
    folder = os.path.join(prefix, "lib", "dltrain")
    for path in elf_files(prefix):
        for name in _needed(path):
            if not OF_GLIBC.fullmatch(name) and not os.path.exists(os.path.join(folder, name)):
                raise Missing(f"{os.path.basename(path)} needs {name}, which is not in {folder}")
        if ".so" in os.path.basename(path):
            continue
        for name, found in _loaded(path).items():
            if not OF_GLIBC.fullmatch(name) and not found.startswith(prefix + os.sep):
                raise Missing(f"{os.path.basename(path)} takes {name} from {found}")


def glibc(prefix):
    """(2, 36): the oldest glibc that has every symbol version that is asked for."""
    needed = {(2, 17)}
    for path in elf_files(prefix):
        done = subprocess.run(
            ["readelf", "--wide", "--version-info", path],
            capture_output=True,
            text=True,
            check=True,
        )
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", done.stdout):
            needed.add((int(major), int(minor)))
    return max(needed)
