# SPDX-License-Identifier: GPL-2.0-only
"""What "./ns3 package" makes of a build: a .deb, a wheel, a tarball.

    packages.py --root=CLONE --build=DIR --work=DIR --output=DIR KIND...

The .deb depends on Debian's ns-3 and Boost. The wheel and the tarball have all libraries but those
of glibc inside. The same build makes the same bytes.
"""

import argparse
import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True  # a file that is new here would have the programs built anew
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import libraries  # noqa: E402
import tree  # noqa: E402
from build_wheel import write_wheel  # noqa: E402

SUMMARY = "Simulates distributed training and serving on RDMA clusters, packet by packet"
# A command of scripts/ in a wheel, which has no links: pip writes the first line anew.
STUB = """#!python
import os
import runpy

here = os.path.dirname(os.path.realpath(__file__))
script = os.path.join(os.path.dirname(here), "share", "dltrain", "scripts", "{name}")
runpy.run_path(script, run_name="__main__")
"""


def git(root, *words):
    done = subprocess.run(
        ["git", "-C", root, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def version_of(root, program):
    """The program's own version; of a commit also 1234.g6fd32562, which rises with each commit. To
    Debian and to Python a version of that form is later than the one without.
    """
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.fullmatch(r"dltrain (\S+), commit (\w+)( with changes)?, .*\n", done.stdout)
    version, commit, changed = found.groups()
    if commit == "unknown":
        return version
    count = git(root, "rev-list", "--count", commit) or "0"
    return f"{version}+{count}.g{commit}" + (".changed" if changed else "")


def make_deb(root, stage, work, output, version):
    top = tree.fresh(os.path.join(work, "deb"))
    usr = os.path.join(top, "root", "usr")
    shutil.copytree(stage, usr, symlinks=True)
    documentation = os.path.join(usr, "share", "doc", "dltrain")
    os.remove(os.path.join(documentation, "LICENSE"))
    tree.write(os.path.join(documentation, "copyright"), COPYRIGHT)
    pages = os.path.join(usr, "share", "man", "man1")
    for name in sorted(os.listdir(pages)):
        path = os.path.join(pages, name)
        with open(path, "rb") as file:
            text = gzip.compress(file.read(), mtime=0)
        os.remove(path)
        with open(path + ".gz", "wb") as file:
            file.write(text)
    # Python of the system finds the package without a path.
    modules = os.path.join(usr, "lib", "python3", "dist-packages")
    os.makedirs(modules)
    os.symlink(
        "../../../share/dltrain/scripts/cluster_simulator",
        os.path.join(modules, "cluster_simulator"),
    )
    tree.write(os.path.join(top, "prerm"), PRERM, 0o755)
    settings = os.path.join(top, "CPackConfig.cmake")
    tree.write(
        settings,
        CPACK.format(
            version=version,
            top=top,
            usr=usr,
            summary=SUMMARY,
            contact=contact(),
        ),
    )
    log = os.path.join(top, "cpack.log")
    with open(log, "w") as file:
        failed = subprocess.run(
            ["cpack", "--config", settings, "-B", top], cwd=top, stdout=file, stderr=file
        ).returncode
    made = [name for name in os.listdir(top) if name.endswith(".deb")]
    if failed or len(made) != 1:
        raise libraries.Missing(f"CPack could not make the .deb: see {log}")
    return keep(os.path.join(top, made[0]), output)


def contact():
    """As Debian's own tools ask for it."""
    name = os.environ.get("DEBFULLNAME", "dltrain")
    return f"{name} <{os.environ.get('DEBEMAIL', 'dltrain@localhost')}>"


def keep(path, output):
    """Whole or not at all: another program may be reading the one that was there."""
    target = os.path.join(output, os.path.basename(path))
    shutil.copyfile(path, target + ".new")
    os.replace(target + ".new", target)
    return target


def whole(stage, work):
    """The tree with the libraries of others, and the release of glibc that it needs."""
    prefix = os.path.join(tree.fresh(os.path.join(work, "whole")), "dltrain")
    shutil.copytree(stage, prefix, symlinks=True)
    libraries.add(prefix)
    tree.add_d3(prefix)
    return prefix


def make_tar(prefix, work, output, version, epoch):
    name = f"dltrain-{version}-linux-{platform.machine()}"
    path = os.path.join(work, f"{name}.tar.gz")

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch
        return entry

    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            archive.add(prefix, name, filter=plain)
    made = keep(path, output)
    os.remove(path)
    return made


def make_wheel(prefix, work, output, version):
    """bin/ are scripts of the wheel, and the rest is data: the same tree below the environment."""
    data = f"dltrain-{version}.data"
    contents = {}
    for folder, folders, files in os.walk(prefix):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, prefix)
            if relative.startswith("bin/dltrain-"):
                script = STUB.format(name=name.removeprefix("dltrain-"))
                contents[f"{data}/scripts/{name}"] = (script.encode(), True)
                continue
            with open(path, "rb") as file:
                text = file.read()
            executable = os.access(path, os.X_OK)
            if relative.startswith("bin/"):
                contents[f"{data}/scripts/{name}"] = (text, True)
                continue
            contents[f"{data}/data/{relative}"] = (text, executable)
            module = relative.partition("share/dltrain/scripts/cluster_simulator/")[2]
            if module:
                contents[f"cluster_simulator/{module}"] = (text, executable)
    major, minor = libraries.glibc(prefix)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    metadata = (
        f"Metadata-Version: 2.1\nName: dltrain\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License: GPL-2.0-only\nRequires-Python: >=3.9\nProvides-Extra: frames\n"
        'Requires-Dist: pandas; extra == "frames"\nRequires-Dist: matplotlib; extra == "frames"\n'
    )
    name = write_wheel(work, ("dltrain", version), tag, contents, metadata)
    made = keep(os.path.join(work, name), output)
    os.remove(os.path.join(work, name))
    return made


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "build", "work", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("kinds", nargs="+", choices=("deb", "wheel", "tar"))
    given = parser.parse_args()
    stage = os.path.join(given.work, "stage")
    version = version_of(given.root, os.path.join(given.build, "bin", "dltrain"))
    epoch = int(git(given.root, "log", "-1", "--format=%ct") or 0)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    os.umask(0o022)
    try:
        os.makedirs(given.output, exist_ok=True)
        tree.lay(given.root, given.build, stage, version)
        prefix = whole(stage, given.work) if {"wheel", "tar"} & set(given.kinds) else None
        for kind in given.kinds:
            if kind == "deb":
                made = make_deb(given.root, stage, given.work, given.output, version)
            elif kind == "wheel":
                made = make_wheel(prefix, given.work, given.output, version)
            else:
                made = make_tar(prefix, given.work, given.output, version, epoch)
            print(f"{made}  ({os.path.getsize(made) / 1e6:.1f} MB)")
    except (OSError, libraries.Missing) as error:
        print(f"error: package: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: package: {error.cmd[0]} ended with {error.returncode}", file=sys.stderr)
        return 1
    return 0


COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: dltrain

Files: *
Copyright: the authors of dltrain
License: GPL-2

License: GPL-2
 This program is free software; you can redistribute it and/or modify it under the terms of the GNU
 General Public License version 2 as published by the Free Software Foundation. On Debian systems
 its text is in /usr/share/common-licenses/GPL-2.
"""
# What Python wrote beside its modules when root ran them.
PRERM = """#!/bin/sh
set -e
find /usr/share/dltrain -depth -name __pycache__ -type d -exec rm -rf {} +
"""
CPACK = """set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dltrain)
set(CPACK_PACKAGE_VERSION "{version}")
set(CPACK_PACKAGE_CONTACT "{contact}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "{summary}")
set(CPACK_PACKAGE_DESCRIPTION "{summary}.
Programs: dltrain, collperf, traffic, dlplan, dlgoodput, dlserve.")
set(CPACK_PACKAGE_FILE_NAME dltrain)
set(CPACK_TOPLEVEL_TAG deb)
set(CPACK_INSTALLED_DIRECTORIES "{top}/root" /)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "{usr}/lib/dltrain")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3, libjs-d3")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "{top}/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
"""

if __name__ == "__main__":
    sys.exit(main())
