# SPDX-License-Identifier: GPL-2.0-only
"""Lays the tree that each package has: PREFIX/bin, lib/dltrain, share.

share/dltrain is laid as a clone: scripts/ and the JSON files of scenarios/ and topologies/ have the
same relative paths there, which documentation and scripts name.
"""

import os
import shutil
import subprocess

import completion
import man_pages

# Commands of scripts/ that need no clone; they are called dltrain-NAME.
SCRIPTS = ("compare", "plot", "report", "sweep", "timeline")
FOLDERS = ("scripts/cluster_simulator", "scripts/report-page")
DATA = (
    "scenarios/presets",
    "scenarios/jobs",
    "scenarios/graphs",
    "scenarios/zoo",
    "topologies/examples",
)
DOCS = ("README.md", "LICENSE", "CONTRIBUTING.md", "docs")
D3 = "/usr/share/javascript/d3/d3.min.js"
D3_COPYRIGHT = "/usr/share/doc/libjs-d3/copyright"


def programs(prefix):
    """The simulator's, not the commands of scripts/."""
    folder = os.path.join(prefix, "bin")
    return sorted(name for name in os.listdir(folder) if not name.startswith("dltrain-"))


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def copy_file(source, target, mode=0o644):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)


def copy_folder(source, target):
    """What git has of it, links as their files."""
    for folder, folders, files in os.walk(source, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(folder, name)
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            if not name.endswith(".pyc"):
                copy_file(path, os.path.join(target, os.path.relpath(path, source)), mode)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def lay(root, build, prefix, version):
    """Everything but the libraries of others."""
    fresh(prefix)
    subprocess.run(
        ["cmake", "--install", build, "--prefix", prefix, "--component", "dltrain", "--strip"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    share = os.path.join(prefix, "share")
    home = os.path.join(share, "dltrain")
    for name in SCRIPTS:
        path = os.path.join("scripts", name)
        copy_file(os.path.join(root, path), os.path.join(home, path), 0o755)
        os.symlink(f"../share/dltrain/{path}", os.path.join(prefix, "bin", f"dltrain-{name}"))
    # (pip removes a folder in which a file of its own lies, with all below it.)
    copy_file(os.path.join(root, "LICENSE"), os.path.join(home, "LICENSE"))
    for name in (*FOLDERS, *DATA):
        copy_folder(os.path.join(root, name), os.path.join(home, name))
    for name in DOCS:
        path, target = os.path.join(root, name), os.path.join(share, "doc", "dltrain", name)
        (copy_folder if os.path.isdir(path) else copy_file)(path, target)
    for name in programs(prefix):
        path = os.path.join(prefix, "bin", name)
        page = man_pages.page(name, path, version)
        write(os.path.join(share, "man", "man1", f"{name}.1"), page)
        text = completion.completion(name, path)
        write(os.path.join(share, "bash-completion", "completions", name), text)


def add_d3(prefix):
    """Where Debian's libjs-d3 is not: beside the page's own sources."""
    folder = os.path.join(prefix, "share", "dltrain", "scripts", "report-page", "d3")
    copy_file(D3, os.path.join(folder, "d3.min.js"))
    copy_file(D3_COPYRIGHT, os.path.join(folder, "LICENSE"))
