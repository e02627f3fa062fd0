# SPDX-License-Identifier: GPL-2.0-only
"""Simulator: a cluster, and what to run on it. Result: what a run gave."""

import html
import os
import shutil
import signal
import tempfile
import warnings
import weakref

from . import pictures, programs, progress
from .errors import InvalidInput, SimulationFailed, SimulatorWarning
from .flat import flat
from .hardware import ServerConfig
from .network import NetworkConfig
from .results import ResultsError, Run

INVALID = 2  # exit status of the programs
TEXT_ONLY = ("dry_run", "help", "list", "version")


class Simulator:
    """A cluster: servers, all alike, and the network between them. What is left out is the
    programs' own default.

        sim = Simulator(servers=[ServerConfig([GPUmodel.A100] * 8)] * 16,
            network_topo=NetworkConfig("fattree"))
        run = sim.train(model="bloom560m", zero=2)

    Each method runs one program and takes all its options by name, with underscores: micro_batch=4,
    pfc=False, bytes=["1MB", "4MB"], **{"ns3::RdmaSwitch::PipelineLatency": "300ns"}. The program
    itself checks them. An option given to a method wins over what the Simulator says. Besides,
    every method takes

        out=FOLDER      keep the results there; otherwise they are in a temporary folder that goes
            away with the Result
        progress=False  show nothing while it runs
        dry_run=True    check, plan and estimate only: returns a Plan, a text

    Raises InvalidInput, SimulationFailed, ProgramNotFound; KeyboardInterrupt after Ctrl-C, when the
    files are complete. What there is of a run that failed or was interrupted is the exception's
    `run`, and `last`.
    """

    def __init__(self, servers=None, network_topo=None):
        self.server, self.server_count = _all_alike(servers)
        if network_topo is not None and not isinstance(network_topo, NetworkConfig):
            raise TypeError(f"network_topo is a NetworkConfig, not {network_topo!r}")
        self.network = network_topo
        self.last = None  # the Result of the last run, also of one that failed

    def __repr__(self):
        words = [f"servers=[{self.server!r}] * {self.server_count}"] if self.server else []
        words += [f"network_topo={self.network!r}"] if self.network else []
        return f"Simulator({', '.join(words)})"

    def train(self, **options):
        """Training steps of a network (the program dltrain): train(model="bloom560m", zero=2)."""
        return self._run("dltrain", options)

    def collperf(self, **options):
        """One collective over a range of sizes (the program collperf): collperf(op="all_reduce",
        minbytes="64MiB").
        """
        return self._run("collperf", options)

    def traffic(self, **options):
        """Flows between hosts (the program traffic): traffic(pattern="incast", fan_in=8). A server
        is a host.
        """
        return self._run("traffic", options)

    def serve(self, **options):
        """Answers of a language model to requests (the program dlserve): serve(model="llama3-70b",
        tp=8, rate=4).
        """
        return self._run("dlserve", options)

    def run(self, script="launch.sh", **options):
        """A training script of one's own, unmodified, or a launcher's words (["torchrun", ...]): it
        is captured on simulated GPUs (docs/capture.md), and a step of it runs as in train(). The
        servers of this cluster are those of the job. capture_ranks, capture_steps, capture_step
        and capture_network are as those of ./ns3 capture; all others are train()'s. The capture is
        in the folder "capture" of the results. (train(launch="torchrun ...") is dltrain --launch.)

        Also raises capture.NotInstalled and capture.CaptureFailed.
        """
        from .capture import capture

        given = {
            name: options.pop(f"capture_{name}")
            for name in ("ranks", "steps", "step", "network")
            if f"capture_{name}" in options
        }
        if self.server:
            given.update(gpus_per_server=len(self.server.gpus), servers=self.server_count)
            given["gpu"] = getattr(self.server.gpu, "value", self.server.gpu)
        keep = _Temporary("capture")
        folder = os.path.join(os.fspath(options.get("out") or keep.name), "capture")
        on = _on(options.get("progress", True))
        show = progress.shown("capture") if on else progress.Silent()
        how = "failed"
        try:
            captured = capture(
                script,
                folder,
                progress=lambda done, total, what: show.update(
                    done / total if total else 0, progress.capture_line(done, total, what)
                ),
                **given,
            )
            how = "done"
        except KeyboardInterrupt:
            how = "interrupted"
            raise
        finally:
            show.finish(how)
        for mistake in captured.mistakes:
            warnings.warn(mistake["text"], SimulatorWarning, stacklevel=2)
        result = self.train(trace=captured.folder, **options)
        result.captured = captured
        result.capture_folder = keep  # lives as long as the result
        return result

    def options(self, program, folder):
        """What this cluster is to a program; files that it needs are written into the folder."""
        options = {}
        if self.server and program == "traffic":
            options["hosts"] = self.server_count
        elif self.server:
            options.update(self.server.options(folder), servers=self.server_count)
            if program == "collperf":  # computes nothing
                del options["gpu"]
        if self.network:
            options.update(self.network.options())
        return options

    def _all(self, program, folder, given):
        """Options of the Simulator under those given. A server without a name has the NIC of the
        programs' own default.
        """
        options = {**self.options(program, folder), **given}
        brings = program != "traffic" and self.server is not None and self.server.unnamed
        topology = os.fspath(options.get("topology") or "")
        # which says it for every link
        from_file = os.path.isabs(topology) or os.path.isfile(topology)
        if brings and options.get("nic") is None and not options.get("scenario") and not from_file:
            options["nic"] = "EDR" if options.get("fabric") == "ib" else "100GbE"
        return options

    def _run(self, program, given):
        given = {name.replace("-", "_"): value for name, value in given.items()}
        show = progress.shown(program) if _on(given.get("progress", True)) else progress.Silent()
        keep = _Temporary(program)
        folder = (
            os.path.abspath(os.fspath(given["out"]))
            if given.get("out")
            else os.path.join(keep.name, "results")
        )
        if any(_on(given.get(name)) for name in TEXT_ONLY):
            ended = programs.run(
                program, {**self._all(program, keep.name, given), "out": folder}, progress.Silent()
            )
            _raise_if_bad(program, ended, None)
            return Plan(ended.output)
        # A server's file stays with the results, whose configuration names it.
        options = {**self._all(program, folder, given), "out": folder}
        self.last, before = None, _stamp(folder)
        ended = programs.run(program, options, show)
        # A folder of an earlier run says nothing about one that did not begin, or died.
        stale = ended.status == INVALID or (before is not None and _stamp(folder) == before)
        result = None if stale else _result(folder, keep, ended)
        self.last = result
        show.finish(
            "interrupted" if ended.interrupted else "done" if ended.status == 0 else "failed"
        )
        _raise_if_bad(program, ended, result)
        return result


class _Temporary:
    """A folder that is removed with this object, at the latest when Python ends."""

    def __init__(self, program):
        self.name = tempfile.mkdtemp(prefix=f"{program}-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _on(value):
    """Whether an option that is on or off is on."""
    return str(value).lower() not in ("none", "false", "0", "no", "off")


def _all_alike(servers):
    """(the server, how many of them)"""
    if servers is None:
        return None, 0
    if isinstance(servers, ServerConfig):
        raise TypeError("servers is a list: [ServerConfig([GPUmodel.A100] * 8)] * 16")
    servers = list(servers)
    for server in servers:
        if not isinstance(server, ServerConfig):
            raise TypeError(f"servers is a list of ServerConfig; {server!r} is none")
    if not servers:
        raise InvalidInput(
            "Simulator: a cluster needs at least one server: [ServerConfig([GPUmodel.A100] * 8)]"
            " * 16"
        )
    for number, server in enumerate(servers):
        if server is not servers[0] and server != servers[0]:
            raise InvalidInput(
                f"Simulator: server 0 is {servers[0]!r}, server {number} is {server!r}: all servers"
                " must be alike today"
            )
    return servers[0], len(servers)


def _stamp(folder):
    """Which stats.json there is, if any: the programs put a new file in its place."""
    try:
        now = os.stat(os.path.join(folder, "stats.json"))
    except OSError:
        return None
    return now.st_ino, now.st_mtime_ns


def _result(folder, keep, ended):
    try:
        return Result(folder, keep, ended.output, ended.messages)
    except ResultsError:
        return None


def _raise_if_bad(program, ended, result):
    said = programs.why(ended.messages)
    if ended.interrupted:
        # Exactly this type: with another one Python would not end as a program does that Ctrl-C
        # ended.
        stop = KeyboardInterrupt(said or f"{program} was interrupted before there was a result")
        stop.run = result
        raise stop
    for message in ended.messages:
        if "warning: " in message:
            warnings.warn(message, SimulatorWarning, stacklevel=4)
    if ended.status == 0:
        return
    if ended.status == INVALID:
        raise InvalidInput(programs.error_text(ended.messages))
    if ended.status < 0:
        name = signal.Signals(-ended.status).name
        said = (
            f"{program} was ended by {name}"
            + (" (out of memory?)" if name == "SIGKILL" else "")
            + (f"\n{said}" if said else "")
        )
    mistakes = (result.stats.get("mistakes") or []) if result else []
    said = "\n".join([said, *(f"{one['kind']}: {one['text']}" for one in mistakes)])
    raise SimulationFailed(
        said.strip() or f"{program} ended with status {ended.status}", result, ended.status
    )


class Plan(str):
    """What a program would do, as it says it; shown as it is."""

    def __repr__(self):
        return str(self).rstrip("\n")


class Result(pictures.Pictures, Run):
    """A run's folder as data frames and pictures. See Run for stats, flows(), links(), calls() and
    events().

    output: what the program printed; messages: what it said beside; both empty of a folder that
    was read (load). A temporary folder goes away with this object.
    """

    def __init__(self, folder, keep, output, messages):
        super().__init__(folder)
        self._keep = keep  # the folder lives as long as this object
        self.output = output
        self.messages = messages

    def __repr__(self):
        return f"Result({self.program}" + (
            ")" if self.complete else f", incomplete: {self.problem})"
        )

    def summary(self):
        """All numbers of stats.json as a pandas Series, units in their names: fct_us_p99."""
        import pandas

        return pandas.Series(flat(self.stats), name=self.name, dtype="float64")

    def collectives(self):
        """The collectives of stats.json as a data frame."""
        import pandas

        return pandas.DataFrame(self.stats.get("collectives", []))

    def _repr_html_(self):
        lines = [line for line in self.output.splitlines() if not line.startswith("Files ")]
        lines = lines or [f"{self.program}, {self.folder}"]
        lines += [] if self.complete else [f"Incomplete: {self.problem}"]
        return f"<pre>{html.escape(chr(10).join(lines).strip())}</pre>"


def load(folder):
    """The run in any folder of results, as a Result. Raises ResultsError if there is none."""
    return Result(folder, None, "", [])
