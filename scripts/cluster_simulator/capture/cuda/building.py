# SPDX-License-Identifier: GPL-2.0-only
"""The libraries, built with g++ on first use; nothing else is needed.

    libdltrain-gpus.so     GPUs, their memory and streams, and the program's clock; preloaded
    libcudart.so.N         the runtime of each version of CUDA
    libcuda.so.1, libnccl.so.2
"""

import concurrent.futures
import fcntl
import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile

from ...errors import SimulatorError
from ..installing import folder_of_builds

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "source")
HEADERS = os.path.join(HERE, "include")
CORE = "libdltrain-gpus.so"
# Version of CUDA: suffix of its library.
RUNTIMES = {11000: "11.0", 12000: "12", 13000: "13"}
OF_NCCL = ("nccl", "nccl-operations")
OF_RUNTIME = ("runtime-devices", "runtime-streams", "kernels", "errors")
SEPARATORS = re.compile(r"[\s:;,]")
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-Wall", "-Wextra", "-fno-strict-aliasing")


class NoCompiler(SimulatorError):
    """There is no g++."""


def libraries(say=None):
    """The folder of the libraries, built if need be."""
    folder = os.path.join(folder_of_builds(), f"cuda-{_version()}")
    if os.path.isfile(os.path.join(folder, CORE)):
        return folder
    if not shutil.which("g++"):
        raise NoCompiler(
            "programs that use CUDA need g++ to build the simulated GPUs; type:"
            "  sudo apt-get install g++"
        )
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(os.path.join(os.path.dirname(folder), "cuda-lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two that build, one does
        if not os.path.isfile(os.path.join(folder, CORE)):
            if say:
                say("building the simulated GPUs for programs of C++ (half a minute, once)")
            _build(folder)
    return folder


def flags(say=None):
    """What a compiler needs for a program of C or C++, behind its sources: headers, libraries."""
    headers, folder = one_word(HEADERS), one_word(libraries(say))
    return f"-I{headers} -L{folder} -Wl,-rpath-link,{folder} -lnccl -lcudart -lcuda"


def one_word(path):
    """The path, or a link to it without the characters that separate words and paths: a shell
    divides what $(...) gives at blanks, LD_PRELOAD is divided at blanks and colons, -Wl at commas.
    """
    if not SEPARATORS.search(path):
        return path
    folder = os.path.join(tempfile.gettempdir(), f"dltrain-{os.getuid()}")
    link = os.path.join(folder, hashlib.sha256(os.fsencode(path)).hexdigest()[:16])
    if SEPARATORS.search(link):
        raise SimulatorError(
            f"{path}: a blank, a colon or a comma in it needs a link, and {tempfile.gettempdir()}"
            " has one, too; set TMPDIR to a folder without"
        )
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        raise SimulatorError(f"{folder}: is not a folder of this user's; remove it")
    if not os.path.islink(link) or os.readlink(link) != path:
        new = f"{link}-{os.getpid()}"
        os.symlink(path, new)
        os.replace(new, link)
    return link


def _version():
    content = hashlib.sha256()
    for path in [__file__, *sorted(glob.glob(os.path.join(HERE, "*", "*.[ch]*")))]:
        with open(path, "rb") as file:
            content.update(os.path.basename(path).encode() + b"\0" + file.read() + b"\0")
    return content.hexdigest()[:16]


def _build(folder):
    building = f"{folder}.building"
    shutil.rmtree(building, ignore_errors=True)
    os.makedirs(building)
    names = [os.path.basename(path)[:-3] for path in sorted(glob.glob(f"{SOURCES}/*.cc"))]
    compiler = (["ccache"] if shutil.which("ccache") else []) + ["g++"]
    jobs = [(name, 0) for name in names if name != "runtime-devices"]
    jobs += [("runtime-devices", version) for version in RUNTIMES]

    def compile_one(job):
        name, version = job
        made = os.path.join(building, f"{name}{version or ''}.o")
        more = [f"-DVERSION={version}"] if version else []
        _run([*compiler, *FLAGS, *more, "-c", f"{SOURCES}/{name}.cc", "-o", made])

    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        list(pool.map(compile_one, jobs))

    def link(library, objects, needs=(), version=None):
        words = ["g++", "-shared", "-o", f"{building}/{library}", f"-Wl,-soname,{library}"]
        if version:
            script = os.path.join(building, "versions")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"{version} {{ global: *; }};\n")
            words.append(f"-Wl,--version-script={script}")
        paths = [f"{building}/{name}.o" for name in objects]
        needed = [f"{building}/{name}" for name in needs]
        _run([*words, *paths, *needed, "-Wl,-rpath,$ORIGIN", "-ldl", "-lpthread"])

    shared = [name for name in names if name not in (*OF_RUNTIME, *OF_NCCL, "driver")]
    link(CORE, shared)
    for version, suffix in RUNTIMES.items():
        library = f"libcudart.so.{suffix}"
        own = [name for name in OF_RUNTIME if name != "runtime-devices"]
        link(library, [f"runtime-devices{version}", *own], [CORE], library)
    link("libcuda.so.1", ["driver"], ["libcudart.so.12", CORE])
    link("libnccl.so.2", OF_NCCL, ["libcudart.so.12", CORE])
    # Names to link programs with.
    for name, library in (
        ("libcudart.so", "libcudart.so.12"),
        ("libcuda.so", "libcuda.so.1"),
        ("libnccl.so", "libnccl.so.2"),
    ):
        os.symlink(library, os.path.join(building, name))
    for name in glob.glob(f"{building}/*.o"):
        os.remove(name)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(building, folder)


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SimulatorError(
            f"the simulated GPUs could not be built: {' '.join(command)}\n{done.stderr[-3000:]}"
        )
