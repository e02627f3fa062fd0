# SPDX-License-Identifier: GPL-2.0-only
"""The optional part: Debian's PyTorch, and the device built against it. Both are made on first use
of the set-up; nothing else of the simulator needs them.
"""

import concurrent.futures
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from ..errors import SimulatorError

PYTHON = "/usr/bin/python3"
PACKAGES = (
    "python3-torch",
    "python3-torchvision",
    "libtorch-dev",
    "pybind11-dev",
    "libpython3-dev",
    "g++",
)
# Two that install wait for each other; where it is goes to standard output (sudo closes others).
APT = ("-o", "DPkg::Lock::Timeout=900", "-o", "APT::Status-Fd=1")
STATUS = re.compile(r"(dlstatus|pmstatus):[^:]*(?::[^:\d][^:]*)?:(\d+(?:\.\d*)?):")
DOES = {"dlstatus": "downloading packages", "pmstatus": "unpacking and setting up packages"}
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device")
# What is included of PyTorch is of these versions (device/pytorch.h): other ones have other
# interfaces.
VERSIONS = {"1.13": "Debian 12", "2.6": "Debian 13"}
SETUP = "python3 -m cluster_simulator.capture --setup"


class NotInstalled(SimulatorError):
    """The optional part is not there; the message says the command that makes it."""


def missing_packages():
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}:${Package} ", *PACKAGES],
        capture_output=True,
        text=True,
    )
    return [name for name in PACKAGES if f"installed:{name} " not in query.stdout]


def extension():
    """Path of the built device. Raises NotInstalled."""
    try:
        path = _built()
    except OSError:
        path = None
    if path is not None and os.path.exists(path) and not _intact(path):
        raise NotInstalled(f"{path} is damaged; type:  {_setup_command()}")
    if path is None or not os.path.exists(path):
        missing = _missing_or_none()
        why = f"these packages are missing: {' '.join(missing)}" if missing else "it is not built"
        raise NotInstalled(
            f"capturing needs a PyTorch with simulated GPUs, and {why}; type:  {_setup_command()}"
        )
    return path


def _intact(path):
    """As it was built: of a file that was cut, its first use would end the process."""
    try:
        with open(f"{path}.sha256", encoding="utf-8") as file:
            return file.read().strip() == _sum(path)
    except OSError:
        return False


def _sum(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _setup_command():
    clone = _clone()
    return f"cd {clone} && ./ns3 capture --setup" if clone else SETUP


def _clone():
    """The clone that this package is in; None: it is installed elsewhere."""
    clone = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(SOURCES))))
    return clone if os.path.isfile(os.path.join(clone, "ns3")) else None


def _missing_or_none():
    try:
        return missing_packages()
    except OSError:
        return list(PACKAGES)


def set_up(say=None):
    """Installs and builds what is missing. Returns the path of the device."""
    say = say or (lambda text: print(text, file=sys.stderr))
    _install(say)
    path = _built()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.path.join(os.path.dirname(path), "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two that set up, one builds
        if not _intact(path):
            say("building the simulated GPUs (a minute or two, once)")
            began = time.monotonic()
            _build(path, say)
            say(f"built in {time.monotonic() - began:.0f} s")
    return path


def _install(say):
    try:
        missing = missing_packages()
    except FileNotFoundError:
        raise NotInstalled(
            f"capturing needs PyTorch {supported()} (python3-torch), and this is no Debian"
        ) from None
    if not missing:
        return
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = ["apt-get", *APT, "-y", "install", "--no-install-recommends", *missing]
    told = f"type:  sudo apt-get install --no-install-recommends {' '.join(missing)}"
    if os.environ.get("DLTRAIN_NO_INSTALL") or (root and not shutil.which("sudo")):
        raise NotInstalled(f"these packages are missing; {told}")
    say(f"installing with apt (600 MB, once): {' '.join(missing)}")
    for attempt in (command, ["apt-get", *APT, "update"], command):
        say(
            "reading apt's lists of packages anew"
            if "update" in attempt
            else f"apt-get install: {len(missing)} packages and what they need"
        )
        status, errors = _run_apt([*root, *attempt], say)
        if attempt is command and status == 0:
            return
    raise NotInstalled(f"apt could not install what is missing; {told}\n{errors}")


def _run_apt(command, say):
    """(exit status, what it says of errors). Tells how far it is, a line each tenth."""
    with subprocess.Popen(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        reader.start()
        before = None
        for line in process.stdout:
            done = progress_of_apt(line)
            if done and done != before:
                say(f"{done[0]}: {done[1]}%")
                before = done
        reader.join()
    return process.returncode, errors[0].strip()


def progress_of_apt(line):
    """(what it does, per cent in whole tenths) of a line of its status; None: of another one. As
    apt 2.6 writes them: dlstatus:NUMBER:PERCENT:WORDS while it downloads,
    pmstatus:PACKAGE:PERCENT:WORDS while it unpacks and sets up.
    """
    found = STATUS.match(line)
    return found and (DOES[found[1]], int(float(found[2])) // 10 * 10)


def _sources():
    return sorted(glob.glob(os.path.join(SOURCES, "*.cc")))


def _built():
    """Where the device is, or will be: of these sources, this Python and this PyTorch."""
    content = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(SOURCES, "*"))):
        with open(path, "rb") as file:
            content.update(os.path.basename(path).encode() + b"\0" + file.read() + b"\0")
    content.update(_torch_version().encode())
    return os.path.join(folder_of_builds(), f"capture_device-{content.hexdigest()[:16]}.so")


def _torch_version():
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "libtorch-dev"], capture_output=True, text=True
    )
    return query.stdout


def torch_version():
    """"2.6.0" of the package 2.6.0+dfsg-7; "": it is not there."""
    return re.split(r"[^\d.]", _torch_version(), maxsplit=1)[0]


def supported():
    """In words."""
    return " or ".join(f"{version} of {debian}" for version, debian in VERSIONS.items())


def _check_version():
    version = torch_version()
    if ".".join(version.split(".")[:2]) not in VERSIONS:
        raise NotInstalled(
            f"the simulated GPUs are made for PyTorch {supported()}; libtorch-dev is"
            f" {version or 'not there'}"
        )


def folder_of_builds():
    """Below .ns3 of a clone, else in the user's cache."""
    clone = _clone()
    if clone and os.access(clone, os.W_OK):
        return os.path.join(clone, ".ns3", "capture")
    cache = os.environ.get("DLTRAIN_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dltrain"
    )
    return os.path.join(cache, "capture")


def _build(path, say):
    _check_version()
    folder = f"{path}.building"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    compiler = (["ccache"] if shutil.which("ccache") else []) + ["g++"]
    include = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    flags = [
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-w",  # PyTorch's own headers warn
        "-DTORCH_EXTENSION_NAME=capture_device",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        "-I/usr/include/torch/csrc/api/include",
        f"-I{include}",
    ]

    def compile_one(source):
        _run([*compiler, *flags, "-c", source, "-o", source + ".o"])

    groups = _groups(folder)
    with concurrent.futures.ThreadPoolExecutor(len(groups)) as pool:
        running = {pool.submit(compile_one, source): source for source in groups}
        for done, one in enumerate(concurrent.futures.as_completed(running), 1):
            one.result()
            say(f"compiled {os.path.basename(running[one])} ({done} of {len(groups)})")
    objects = [source + ".o" for source in groups]
    say("linking")
    libraries = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    made = os.path.join(folder, "device.so")
    _run(["g++", "-shared", *objects, "-o", made, *libraries])
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    with open(f"{path}.sha256", "w", encoding="utf-8") as file:
        file.write(_sum(made) + "\n")
    os.replace(made, path)
    shutil.rmtree(folder, ignore_errors=True)


def _groups(folder):
    """Files that each include some of the sources, of about the same size: nearly all of what
    compiling one takes is PyTorch's headers. One for each core that there is, at most two."""
    count = min(2, os.cpu_count() or 1)
    groups, sizes = [[] for _ in range(count)], [0] * count
    for source in sorted(_sources(), key=os.path.getsize, reverse=True):
        least = sizes.index(min(sizes))
        groups[least].append(source)
        sizes[least] += os.path.getsize(source)
    paths = []
    for number, sources in enumerate(groups, 1):
        paths.append(os.path.join(folder, f"device-{number}.cc"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.writelines(f'#include "{source}"\n' for source in sources)
    return paths


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SimulatorError(
            f"the simulated GPUs could not be built: {' '.join(command)}\n{done.stderr[-3000:]}"
        )
