# SPDX-License-Identifier: GPL-2.0-only
"""One run of a program on simulated GPUs, from the user's command to a folder."""

import csv
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from ...errors import InvalidInput
from ...shown import shown
from .. import ending, gpus, isolation
from ..captured import Captured, CaptureFailed
from ..launch import environment, words as launcher_words
from ..launch.counts import WrongWords
from ..launch.mpirun import mpirun
from . import building, elf, rates
from .coordinator import Coordinator
from .prices import Prices
from .recording import Recording

LAUNCHERS = ("mpirun", "mpiexec", "srun", "torchrun")
CLOCKS = ("simulated", "measured", "off")
KEEP = 64 << 20
# Of Open MPI 4 and 5: root may start it (in a namespace of its own everybody is), processes may be
# more than cores, and let others run while they wait.
FOR_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
# Seconds that processes get to end by themselves, once one of them cannot go on.
GRACE = 2


def program_of(words):
    """The program that a command starts: the path of an executable; None: a script, or nothing."""
    rest = list(words)
    name = os.path.basename(rest[0]) if rest else ""
    if name in LAUNCHERS and not elf.read(rest[0] if os.path.dirname(rest[0]) else ""):
        try:
            rest = _launched(name, rest[1:], 1, None)[2]
        except WrongWords:
            return None
    path = shutil.which(rest[0]) if rest else None
    return path if path and elf.read(path) else None


def uses_cuda(words):
    """Whether a command starts a program (not a script) that is linked to CUDA or NCCL, or has the
    runtime in itself.
    """
    path = program_of(words)
    about = path and elf.read(path)
    return bool(about) and (bool(_libraries(about)) or about.has_static_runtime)


def run(
    command,
    out=None,
    gpu="A100",
    gpus_per_server=8,
    servers=None,
    memory=None,
    network=False,
    patience=30,
    cluster=(),
    keep=KEEP,
    clock="simulated",
    kernel_times=None,
    echo=True,
    say=None,
):
    """Runs a command (a list of words) whose programs use CUDA or NCCL. Returns a Captured of
    `out`, or None if there is no `out`.

    cluster: options of the servers and their network, as collperf has them (a list of words).
    keep: bytes of the largest allocation that has contents. clock: what the program sees:
    "simulated", "measured" (its own work on this machine counts as well), "off" (this machine's).
    kernel_times: a file with the times of kernels. echo: what the program prints is passed on.

    Raises InvalidInput, CaptureFailed.
    """
    words = _checked(command, clock, keep, gpus_per_server, servers, patience)
    told = gpus.told(gpu, memory)
    kernels = _kernel_times(kernel_times)
    servers = servers or _servers_of(words, gpus_per_server)
    libraries = building.libraries(say)
    found_at = building.one_word(libraries)
    path = program_of(words)
    preloaded = [building.CORE]
    if path:
        elf.check(path)
        preloaded += _check_libraries(path, libraries)
    prices = Prices(cluster, servers, gpus_per_server, say)
    isolated = not network and isolation.possible()
    with tempfile.TemporaryDirectory(prefix="capture-", dir=_scratch()) as scratch:
        settings = {
            "socket": os.path.join(scratch, "socket"),
            "memory": scratch,
            "records": scratch,
            "name": told["driver_name"],
            "gpus": gpus_per_server,
            "servers": servers,
            "major": told["major"],
            "minor": told["minor"],
            "multiprocessors": told["multiprocessors"],
            "bytes": told["memory_bytes"] // 4096 * 4096,
            "keep": keep,
            "clock": clock,
        }
        rate, link, launch = rates.of(told["name"])
        settings.update(memory_rate=rate, host_link=link, launch_us=launch)
        _write(os.path.join(scratch, "settings"), [*settings.items(), *kernels])
        given = {
            **os.environ,
            **{key: value for key, value in FOR_MPI.items() if key not in os.environ},
            "DLTRAIN_CUDA": os.path.join(scratch, "settings"),
            "LD_LIBRARY_PATH": _before(found_at, os.environ.get("LD_LIBRARY_PATH")),
            "LD_PRELOAD": _before(
                ":".join(os.path.join(found_at, name) for name in preloaded),
                os.environ.get("LD_PRELOAD"),
            ),
        }
        coordinator = Coordinator(settings["socket"], prices, patience)
        watcher = ending.watch(0, scratch)
        try:
            jobs = _Jobs(words, given, isolated, gpus_per_server, servers, out, echo, scratch)
            try:
                coordinator.run(jobs.ended)
                status = jobs.finish(bool(coordinator.mistakes))
            finally:
                jobs.kill()
                coordinator.close()
        finally:
            ending.stop_watching(watcher)
        if status and not coordinator.mistakes:
            coordinator.failed(status)
        if not coordinator.processes and not status:
            raise InvalidInput(
                "capture: the command started no program that calls CUDA or NCCL:"
                f" {' '.join(words)}"
            )
        notes = list(coordinator.notes)
        if not network and not isolated:
            notes.append("the program was not isolated: it could use the network")
        captured = None
        if out:
            recording = Recording(
                scratch,
                {process.pid: process.server for process in coordinator.processes},
                coordinator.communicators,
            )
            more = {
                "command": words,
                "gpu": told,
                "exit_status": status,
                "mistakes": coordinator.mistakes,
                "notes": notes,
            }
            recording.write(out, more)
            captured = Captured(out)
        elif say:
            for note in notes:
                say(f"note: {note}")
    if coordinator.mistakes:
        mistake = coordinator.mistakes[0]
        text = f"{mistake['kind']}: {mistake['text']}"
        raise CaptureFailed(text, captured, status or 1, coordinator.mistakes)
    if status:
        raise CaptureFailed(f"the program ended with status {status}", captured, status)
    return captured


class _Jobs:
    """The processes that the command starts."""

    def __init__(self, words, given, isolated, gpus_per_server, servers, out, echo, scratch):
        self._scratch = scratch
        self._copiers = []
        name = os.path.basename(words[0])
        starts = [(words, given)]
        if name in LAUNCHERS and not shutil.which(words[0]):
            try:
                given = dict(given)
                job_servers, each, command = _launched(
                    name, words[1:], gpus_per_server, servers, given
                )
            except WrongWords as error:
                raise InvalidInput(f"capture: {error}") from None
            launcher = {"mpiexec": "mpirun"}.get(name, name)
            job = launcher_words.Job(job_servers, each, command, False, launcher)
            starts = [
                (command, {**given, **_texts(environment.of_rank(job, rank))})
                for rank in range(job.world)
            ]
        files = {}
        for name in ("stdout", "stderr"):
            files[name] = open(os.path.join(out, f"{name}.txt"), "wb") if out else None
        self._files = [file for file in files.values() if file]
        piped = subprocess.PIPE if out or not echo else None
        self._processes = []
        for command, variables in starts:
            process = subprocess.Popen(
                isolation.isolated(command) if isolated else command,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=piped,
                stderr=piped,
                start_new_session=True,
            )
            self._processes.append(process)
            for name in ("stdout", "stderr") if piped else ():
                copier = threading.Thread(
                    target=_copy,
                    args=(
                        getattr(process, name),
                        files[name],
                        getattr(sys, name).buffer if echo else None,
                    ),
                    daemon=True,
                )
                copier.start()
                self._copiers.append(copier)

    def ended(self):
        return all(process.poll() is not None for process in self._processes)

    def finish(self, failed):
        """The first exit status that is not 0, of a signal as a shell has it."""
        for process in self._processes:
            try:
                process.wait(GRACE if failed else None)
            except subprocess.TimeoutExpired:
                pass
        self.kill()
        for copier in self._copiers:
            copier.join(GRACE)
        for file in self._files:
            file.close()
        codes = [process.returncode for process in self._processes]
        return next((code if code > 0 else 128 - code for code in codes if code), 0)

    def kill(self):
        for process in self._processes:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        # And what began a session of its own.
        ending.end(0, self._scratch)


def _copy(source, file, terminal):
    for data in iter(lambda: source.read1(65536), b""):
        for target in (file, terminal):
            if target is not None:
                target.write(data)
                target.flush()


def _launched(name, rest, gpus_per_server, servers, sets=None):
    """(servers, processes on each, the command) of a launcher's words; `sets`: variables."""
    if name == "srun":
        return launcher_words.srun(rest, gpus_per_server, servers)
    if name == "torchrun":
        job = launcher_words.torchrun(rest, gpus_per_server, servers)
        return job.servers, job.each, job.program
    return mpirun(rest, gpus_per_server, servers, sets)


def _servers_of(words, gpus_per_server):
    """As many as the launcher's words say, else as its processes fill with a GPU each."""
    name = os.path.basename(words[0])
    if name not in LAUNCHERS or elf.read(words[0] if os.path.dirname(words[0]) else ""):
        return 1
    try:
        return _launched(name, words[1:], gpus_per_server, None)[0]
    except WrongWords as error:
        raise InvalidInput(f"capture: {error}") from None


def _texts(variables):
    return {key: str(value) for key, value in variables.items()}


def _before(first, others):
    return f"{first}:{others}" if others else first


def _scratch():
    """A folder for the memory of GPUs: in memory, where there is enough."""
    try:
        about = os.statvfs("/dev/shm")
        if about.f_bavail * about.f_frsize >= 1 << 30 and os.access("/dev/shm", os.W_OK):
            return "/dev/shm"
    except OSError:
        pass
    return None


def _write(path, items):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in items)


def _checked(command, clock, keep, gpus_per_server, servers, patience):
    words = [os.fspath(word) for word in command]
    if not words or not words[0]:
        raise InvalidInput("capture: there is no command: a program, or a launcher with its words")
    if clock not in CLOCKS:
        raise InvalidInput(f"--clock={shown(clock)}: allowed: {', '.join(CLOCKS)}")
    for name, value, least in (
        ("--keep", keep, 0),
        ("--gpus-per-server", gpus_per_server, 1),
        ("--servers", 1 if servers is None else servers, 1),
        ("--capture-patience", patience, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name}={shown(value)}: needs a whole number from {least}")
    if gpus_per_server > 64:
        raise InvalidInput(f"--gpus-per-server={gpus_per_server}: allowed: 1 to 64")
    if os.path.basename(words[0]) not in LAUNCHERS and not shutil.which(words[0]):
        raise InvalidInput(f"capture: {shown(words[0])}: no such program")
    return words


def _kernel_times(path):
    """[("kernel", "US PATTERN")] of a file with columns kernel (a pattern of shells) and us."""
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if not rows.fieldnames or not {"kernel", "us"} <= set(rows.fieldnames):
                raise InvalidInput(f"--kernel-times={path}: line 1: needs the columns kernel,us")
            kernels = []
            for row in rows:
                try:
                    time = float(row["us"])
                except (TypeError, ValueError):
                    time = -1
                if not 0 <= time <= 1e9 or not row["kernel"]:
                    where = f"--kernel-times={path}: line {rows.line_num}"
                    raise InvalidInput(
                        f"{where}: {shown(row['us'])} is no time of a kernel; allowed: 0 to 1e9 us"
                    )
                kernels.append(("kernel", f"{time!r} {row['kernel']}"))
            return kernels
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"--kernel-times={path}: {error}") from None


def _libraries(about):
    return [
        name
        for name in about.needed
        if name.startswith(("libcudart.so", "libcuda.so", "libnccl.so"))
    ]


def _check_libraries(path, folder):
    """The libraries that a program needs of ours. Raises InvalidInput where some, or functions of
    them, are not simulated.
    """
    about = elf.read(path)
    needed = _libraries(about)
    have = [os.path.basename(name) for name in sorted(glob.glob(f"{folder}/*.so*"))]
    for name in needed:
        if name not in have:
            ours = [one for one in have if one.startswith(name.partition(".so")[0] + ".so.")]
            raise InvalidInput(f"{path}: needs {name}; simulated: {', '.join(ours)}")
    known = set()
    for name in have:
        known |= set(elf.Elf(os.path.join(folder, name)).symbols(True))
    missing = [
        name
        for name in about.symbols(False)
        if name.startswith(("cuda", "__cuda", "nccl", "pnccl")) and name not in known
    ]
    if missing and needed:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise InvalidInput(f"{path}: calls what is not simulated: {', '.join(missing[:8])}{more}")
    return needed
