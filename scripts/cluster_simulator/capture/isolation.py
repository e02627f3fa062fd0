# SPDX-License-Identifier: GPL-2.0-only
"""A network namespace of its own for a script: nothing that it does reaches a network. Files it
sees as any program does.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

# linux/sockios.h, linux/if.h
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1


def possible():
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0


def isolated(command):
    """The command in a namespace in which there is only the loopback, and that is up."""
    # (It needs nothing but Python's own modules: -I -S leaves out the rest, which takes time.)
    own = [sys.executable, "-I", "-S", os.path.abspath(__file__)]
    return ["unshare", "-rn", *own, *command]


def _raise_loopback():
    """Processes of a job may talk to each other by it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, GET_FLAGS, request))
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", flags | UP))


if __name__ == "__main__":
    _raise_loopback()
    os.execvp(sys.argv[1], sys.argv[1:])
