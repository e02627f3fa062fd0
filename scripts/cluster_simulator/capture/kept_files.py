# SPDX-License-Identifier: GPL-2.0-only
"""Files of the machine that a captured script writes are as they were when the capture has ended:
weights that nobody trained must not take a checkpoint's place, nor be found by the next run.

A process of the script keeps a copy of each file before it is written for the first time (watch());
who captures puts them back (put_back()), and takes what the script wrote. Seen is what Python and
PyTorch write, not what a shell's redirection or another program does.

DLTRAIN_CAPTURE_FILES names a folder. In it stand, for each path, by a number made of it:

    NUMBER.json    {"path": "/home/...", "was": "file"|"nothing"|"folder"|"link", "to": of a link}
    NUMBER.was     what a file had
    NUMBER.lock    one of the processes looks at it: others wait for NUMBER.json
"""

import os
import sys
import threading
import time

FOLDER = "DLTRAIN_CAPTURE_FILES"
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# A file of the folder: what was not there before stays where it is (downloads).
NEW_STAY = "new-stay"
# Nobody's files, and those of which each program makes new ones.
NOT_KEPT = ("/dev/", "/proc/", "/sys/")
CACHES = ("__pycache__", ".cache")
LONGEST_WAIT_S = 600  # for another process's copy (assumed)

_thread = threading.local()
_known = set()


def watch():
    """In a process of the script, from its beginning."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return

    def heard(event, arguments):
        if event in EVENTS:  # nearly all are others: of id(), say
            _seen(folder, event, arguments)

    sys.addaudithook(heard)


def _seen(folder, event, arguments):
    if getattr(_thread, "busy", False):
        return
    paths = EVENTS[event]
    _thread.busy = True
    try:
        for path in paths(*arguments):
            _keep(folder, path)
    finally:
        _thread.busy = False


# ---- what Python tells before it does it (docs.python.org: audit events table)


def _opened(path, mode, flags):
    if isinstance(path, int) or not flags & WRITES:
        return ()
    return (os.path.realpath(os.fsdecode(path)),)


def _at(path, folder=-1):
    """An entry of a folder by itself: of a link not what it leads to."""
    path = os.fsdecode(path)
    if folder != -1:
        path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    path = os.path.abspath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _renamed(source, to, source_folder=-1, to_folder=-1):
    source, to = _at(source, source_folder), _at(to, to_folder)
    yield from (source, to)
    if os.path.isdir(source) and not os.path.islink(source):
        for folder, folders, files in os.walk(source):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                yield from (path, to + path[len(source) :])


def _cut(path, length):
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{path}")
    return (os.path.realpath(os.fsdecode(path)),)


EVENTS = {
    "open": _opened,
    "os.remove": lambda path, folder=-1: (_at(path, folder),),
    "os.rmdir": lambda path, folder=-1: (_at(path, folder),),
    "os.mkdir": lambda path, mode=0, folder=-1: (_at(path, folder),),
    "os.rename": _renamed,
    "os.truncate": _cut,
    "os.symlink": lambda source, to, folder=-1: (_at(to, folder),),
    "os.link": lambda source, to, source_folder=-1, folder=-1: (_at(to, folder),),
    "sqlite3.connect": lambda path: (os.path.realpath(os.fsdecode(path)),),
}


def written(path):
    """Tells of a file that a library of C++ is going to write."""
    folder = os.environ.get(FOLDER)
    if folder:
        _seen(folder, "open", (path, "w", os.O_WRONLY))


# ---- before: a copy


def _keep(folder, path):
    parts = path.split(os.sep)
    if (
        path in _known
        or path.startswith((*NOT_KEPT, os.path.dirname(folder) + os.sep))
        or any(cache in parts for cache in CACHES)
    ):
        return
    import hashlib

    number = os.path.join(folder, hashlib.sha256(os.fsencode(path)).hexdigest()[:24])
    try:
        os.close(os.open(f"{number}.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        until = time.monotonic() + LONGEST_WAIT_S
        while not os.path.exists(f"{number}.json") and time.monotonic() < until:
            time.sleep(0.002)
    except FileNotFoundError:
        return  # the capture has ended
    else:
        try:
            _copy(number, path)
        except OSError as error:
            raise RuntimeError(
                f"capture: the script writes {path}, of which no copy could be kept in {folder}:"
                f" {error.strerror}"
            ) from None
    _known.add(path)


def _copy(number, path):
    import json
    import shutil
    import stat

    told = {"path": path, "was": "nothing"}
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    if stat.S_ISREG(mode):
        told["was"] = "file"
        shutil.copy2(path, f"{number}.was")
    elif stat.S_ISDIR(mode):
        told["was"] = "folder"
    elif stat.S_ISLNK(mode):
        told.update(was="link", to=os.readlink(path))
    elif mode:
        told["was"] = "device"  # or a pipe, a socket
    with open(f"{number}.part", "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(told, file)
    os.replace(f"{number}.part", f"{number}.json")


# ---- after


def put_back(folder, to=None):
    """All is as it was. What the script wrote goes below `to`, by its path from the current folder
    (or from the root); None: it is gone. Returns these paths. Raises OSError where it could not
    all be kept; it is put back all the same.
    """
    import json

    kept = []
    failed = None
    folders = []
    stays = os.path.exists(os.path.join(folder, NEW_STAY))
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            told = json.load(file)
        path, was = told["path"], told["was"]
        if was == "nothing" and stays:
            continue
        if was in ("nothing", "folder") and os.path.isdir(path) and not os.path.islink(path):
            folders += [path] if was == "nothing" else []
            continue
        if was == "folder":
            os.makedirs(path, exist_ok=True)
            continue
        before = os.path.join(folder, name.removesuffix(".json") + ".was")
        if was != "device" and not _is(path, was, told.get("to"), before):
            try:
                kept += [_take(path, to)] if os.path.lexists(path) else []
            except OSError as error:
                failed = failed or error
                _take(path, None)
            _restore(path, was, told.get("to"), before)
    for path in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(path)  # not if there is anything in it
        except OSError:
            pass
    if failed is not None:
        raise failed
    return sorted(filter(None, kept))


def _is(path, was, to, before):
    """Whether it is as it was."""
    import filecmp

    if not os.path.lexists(path):
        return was == "nothing"
    if was == "link":
        return os.path.islink(path) and os.readlink(path) == to
    if was == "file" and os.path.isfile(path) and not os.path.islink(path):
        if filecmp.cmp(path, before, shallow=False):
            time_of = os.stat(before)
            os.utime(path, ns=(time_of.st_atime_ns, time_of.st_mtime_ns))
            return True
    return False


def _take(path, to):
    import shutil

    if to is None:
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
        return None
    name = os.path.relpath(path)
    if name.startswith(os.pardir + os.sep):
        name = path.lstrip(os.sep)
    os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
    shutil.move(path, os.path.join(to, name))
    return name


def _restore(path, was, to, before):
    import shutil

    if was == "nothing":
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if was == "link":
        os.symlink(to, path)
    else:
        shutil.copy2(before, path)
