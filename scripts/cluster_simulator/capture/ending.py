# SPDX-License-Identifier: GPL-2.0-only
"""What a capture has started ends with it, its temporary folder goes, and files that the script
wrote are as they were (kept_files.py), however it ends: this file, run as a program, waits for its
standard input to be closed without a word, as it is when the capture is killed.

    ending.py SESSION FOLDER    (SESSION: process that began the command's session; 0: known by
                                the folder alone, which is in the environment of all)
"""

import os
import shutil
import signal
import subprocess
import sys
import time

FILES = "files"  # folder below the temporary one: copies of what the script writes


def watch(session, folder):
    """The process that does it; to be told by stop_watching()."""
    command = [sys.executable, "-I", "-S", os.path.abspath(__file__), str(session), folder]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what ends the capture's session does not end this
    )


def stop_watching(watcher):
    try:
        watcher.communicate(b".")
    except OSError:
        pass


def runs_on(folder):
    """Whether anything runs that the command has started: what a shell has in the background."""
    mark = folder.encode()
    return any(_has(number, mark) for number in os.listdir("/proc") if number.isdigit())


def end(session, folder):
    """Ends a session, if one is told (not 0, which would be the caller's own); and what began one
    of its own, as its environment has the folder.
    """
    try:
        if session:
            os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        pass
    mark = folder.encode()
    while any([_killed(number, mark) for number in os.listdir("/proc") if number.isdigit()]):
        time.sleep(0.02)


def _has(number, mark):
    """Whether a process has the mark in its environment (what has ended has none)."""
    try:
        with open(f"/proc/{number}/environ", "rb") as file:
            return mark in file.read()
    except OSError:
        return False  # it is gone, or is another user's


def _killed(number, mark):
    try:
        if not _has(number, mark):
            return False
        os.kill(int(number), signal.SIGKILL)
        return True
    except OSError:
        return False


if __name__ == "__main__":
    if not os.read(0, 1):
        end(int(sys.argv[1]), sys.argv[2])
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import kept_files

        if os.path.isdir(os.path.join(sys.argv[2], FILES)):
            kept_files.put_back(os.path.join(sys.argv[2], FILES))
        shutil.rmtree(sys.argv[2], ignore_errors=True)
