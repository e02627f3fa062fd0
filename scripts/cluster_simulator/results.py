# SPDX-License-Identifier: GPL-2.0-only
"""Read the folder that a run of dltrain, collperf or traffic wrote.

    run = load("results/dltrain-1")
    run.stats["step_time_us"]
    run.flows().groupby("tag").fct_us.quantile(0.99)

Columns and units are those of the files (docs/outputs.md). A run that was interrupted, failed or is
still going can be read too: what is not there is empty, a last line that was cut off is left out,
and Run.problem says why the run is not complete. pandas is imported only when a table is asked for.
"""

import io
import itertools
import os
import re

from .folder import tables
from .folder.calls import rank_stride
from .folder.events import EventLog
from .folder.lists import add_lists
from .folder.network import graph_of
from .folder.opening import Unreadable, exists, read_json, refuse_too_large
from .folder.tables import FILES, plain
from .nearest import nearest_beside
from .schema import why_not_readable
from .shown import complaint, printable
from .shapes import MOST, sound


class ResultsError(Exception):
    """A folder that holds no results, or a file in it that cannot be read."""


def load(folder):
    """The run in a folder. Raises ResultsError if there is none."""
    return Run(folder)


class Run:
    """One run's folder. Tables are read when first asked for and kept: copy one before you change
    it.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        _check_folder(self.folder)
        self._tables = {}
        self.stats, unreadable = _read_stats(self.path("stats.json"))
        self.problem = unreadable or _why_incomplete(self.stats)
        self.complete = not self.problem

    def __repr__(self):
        return f"Run({self.folder!r}" + (")" if self.complete else f", incomplete: {self.problem})")

    @property
    def name(self):
        """The folder's own name."""
        return os.path.basename(os.path.abspath(self.folder))

    @property
    def program(self):
        """The name of the program; empty if stats.json is missing."""
        return self.stats.get("program", "")

    def path(self, file):
        return os.path.join(self.folder, file)

    def flows(self):
        """Messages between servers (flows.csv)."""
        return self._table("flows.csv", tables.FLOWS, ",")

    def links(self):
        """Links over time (links.csv). A link that did nothing in an interval has no row."""
        return self._table("links.csv", tables.LINKS, ",")

    def slowdowns(self):
        """Slowdown of traffic's flows by size (slowdown.csv)."""
        return self._table("slowdown.csv", tables.SLOWDOWNS, ",")

    def queues(self):
        """The longest queues of traffic over time (queues.csv); a link's row of empty intervals has
        only its ends.
        """
        return self._table("queues.csv", tables.QUEUES, ",")

    def fairness(self):
        """Jain's index of the flows' throughputs over time (fairness.csv)."""
        return self._table("fairness.csv", tables.FAIRNESS, ",")

    def rates(self):
        """Throughput of each flow over time (rates.csv); there is none with many flows."""
        return self._table("rates.csv", tables.RATES, ",")

    def queue_pairs(self):
        """Rate and window of chosen queue pairs, a change a row (queue_pairs.csv); no window is not
        a number.
        """
        return self._table("queue_pairs.csv", tables.QUEUE_PAIRS, ",")

    def paths(self):
        """Ways that messages between chosen hosts took, with how many did (paths.csv)."""
        return self._table("paths.csv", tables.PATHS, ",")

    def watch(self):
        """Queue, rate, pauses and marks of watched ports over time (watch.csv). What has no row is
        zero.
        """
        return self._table("watch.csv", tables.WATCH, ",")

    def intervals(self):
        """Goodput of dlgoodput over the interval between checkpoints (intervals.csv)."""
        return self._table("intervals.csv", tables.INTERVALS, ",")

    def interruptions(self):
        """Failures of dlgoodput's first course of each number of GPUs (interruptions.csv)."""
        return self._table("interruptions.csv", tables.INTERRUPTIONS, ",")

    def requests(self):
        """Requests of dlserve and their latencies (requests.csv)."""
        return self._table("requests.csv", tables.REQUESTS, ",")

    def iterations(self):
        """Iterations of dlserve's engines (iterations.csv)."""
        return self._table("iterations.csv", tables.ITERATIONS, ",")

    def load(self):
        """Queue, running requests and KV blocks of dlserve's instances over time (load.csv)."""
        return self._table("load.csv", tables.LOAD, ",")

    def instances(self):
        """Instances of dlserve's model, and where their time went (instances.csv)."""
        return self._table("instances.csv", tables.INSTANCES, ",")

    def serving_rates(self):
        """Rates that dlserve has tried, and their latencies (serving_rates.csv)."""
        return self._table("serving_rates.csv", tables.SERVING_RATES, ",")

    def mix(self):
        """Models of dlserve --multiplex, for each policy and rate (mix.csv)."""
        return self._table("mix.csv", tables.MIX, ",")

    def executions(self):
        """Batches of dlserve --multiplex (executions.csv)."""
        return self._table("executions.csv", tables.EXECUTIONS, ",")

    def curve(self):
        """Latency against the share of a GPU (curve.csv)."""
        return self._table("curve.csv", tables.CURVE, ",")

    def compared(self):
        """Measured latencies beside computed ones (compared.csv)."""
        return self._table("compared.csv", tables.COMPARED, ",")

    def slices(self):
        """Throughput by MIG instance, processes and batch (slices.csv)."""
        return self._table("slices.csv", tables.SLICES, ",")

    def compared_slices(self):
        """Measured throughputs of MIG instances beside computed ones (compared_slices.csv)."""
        return self._table("compared_slices.csv", tables.COMPARED_SLICES, ",")

    def kernels(self):
        """Measured kernels beside those of iterations (kernels.csv of dlserve --kernel-times)."""
        return self._table("kernels.csv", tables.KERNELS, ",")

    def estimates(self):
        """Layouts of dlplan that have an estimate, best first (estimates.csv)."""
        return self._table("estimates.csv", tables.ESTIMATES, ",")

    def plans(self):
        """dlplan's table of the best layouts (plans.csv)."""
        return self._table("plans.csv", tables.PLANS, ",")

    def calls(self):
        """Computations and collectives of the ranks (calls.log), in the order they end."""
        return self._table("calls.log", tables.CALLS, "\t")

    def events(self):
        """Pauses, ECN marks, drops and so on (network_events.log)."""
        if "events" not in self._tables:
            self._tables["events"] = _read_events(self.path("network_events.log"))
        return self._tables["events"]

    def topology(self):
        """([(node, tier)], [(node, node)]) of topology.json, empty if there is none; tier: 0 a
        host.
        """
        network = self._network()
        if not network:
            return [], []
        nodes = [(name, tier) for name, _, tier in network["nodes"]]
        return nodes, [(nodes[link[0]][0], nodes[link[1]][0]) for link in network["links"]]

    def grid(self):
        """{switch: its coordinates} of topology.json, of a torus or HyperX; else empty."""
        network = self._network()
        places = network and network["places"]
        if not places or not places["grid"]:
            return {}
        return {
            name: at
            for (name, kind, _), at in zip(network["nodes"], places["coordinates"])
            if kind == "switch" and at
        }

    def units(self):
        """{node: switch} of topology.json: nodes that are the part of a switch that adds up."""
        network = self._network()
        units = {}
        for link in network["links"] if network else []:
            (a, kind_a, _), (b, kind_b, _) = (network["nodes"][end] for end in link[:2])
            if kind_a == "unit":
                units[a] = b
            elif kind_b == "unit":
                units[b] = a
        return units

    def _network(self):
        try:
            content = read_json(self.path("topology.json"))
        except Unreadable:
            return None
        _refuse_other_versions(content, self.path("topology.json"))
        return graph_of(content) if content else None

    def event_totals(self):
        """{kind: (of the whole run, of its measured part)}, from the end of network_events.log; {}
        if cut off.
        """
        log = EventLog()
        for _ in log.entries(_lines(self.path("network_events.log"))):
            pass
        return log.totals

    def rank_stride(self):
        """calls.log holds every rank (1) or, for many calls, every n-th one only (n)."""
        return rank_stride(_comments(self.path("calls.log")))

    def flows_are_sample(self):
        """Whether flows.csv is a sample; the quantiles of stats.json are of all messages in any
        case.
        """
        return bool(self.stats.get("flows_csv", {}).get("sampled"))

    def _table(self, file, columns, separator):
        if file not in self._tables:
            self._tables[file] = _read_table(self.path(file), columns, separator)
        return self._tables[file]


# ---- the folder


def _check_folder(folder):
    if not os.path.isdir(folder):
        what = "is a file, not the folder of a run" if os.path.exists(folder) else "no such folder"
        raise ResultsError(complaint(f"{folder}: {what}{_nearest(folder)}"))
    if not any(os.path.lexists(os.path.join(folder, file)) for file in FILES):
        try:
            inside = [
                name for name in sorted(os.listdir(folder)) if _is_run(os.path.join(folder, name))
            ]
        except OSError as error:
            raise ResultsError(f"{complaint(folder)}: {error.strerror}") from None
        hint = (
            f"; runs inside it: {', '.join(inside[:5])}" + (" ..." if len(inside) > 5 else "")
            if inside
            else ""
        )
        raise ResultsError(
            complaint(
                f"{folder}: no results of a run in this folder (none of {', '.join(FILES)}){hint}"
            )
        )


def _is_run(folder):
    return any(os.path.isfile(os.path.join(folder, file)) for file in FILES)


def _nearest(folder):
    if os.path.isfile(folder):
        parent = os.path.dirname(folder)
        return f"; did you mean '{parent or '.'}'?" if _is_run(parent or ".") else ""
    return nearest_beside(folder, _is_run)


def _exists(path):
    """Whether there is such a file. One that is no file (a pipe would be waited for) or too large
    is refused.
    """
    try:
        if not exists(path):
            return False
        refuse_too_large(path)
    except Unreadable as why:
        raise ResultsError(f"{complaint(path)}: {str(why).removeprefix('it ')}") from None
    return True


def _read_stats(path):
    """(what stats.json holds, why it cannot be used)"""
    if not _exists(path):
        return {}, "stats.json is missing: the run was killed, or it is still going"
    try:
        stats = read_json(path)
    except Unreadable as why:
        return {}, f"stats.json {str(why).removeprefix('it ')}"
    if stats is None:
        return {}, "stats.json is missing: the run was killed, or it is still going"
    _refuse_other_versions(stats, path)
    stats, odd = sound(add_lists(stats, os.path.dirname(path)))
    more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
    names = printable(", ".join(odd[:3]), 120)
    return (
        stats,
        f"stats.json: {names}{more} cannot be what the simulator wrote, and is left out"
        if odd
        else "",
    )


def _refuse_other_versions(content, path):
    why = why_not_readable(content, path)
    if why:
        raise ResultsError(why)


def _why_incomplete(stats):
    if stats.get("completed") is True:
        return ""
    done = stats.get("share_done")
    far = f" after {100 * done:.3g}% of the work" if isinstance(done, (int, float)) else ""
    if stats.get("interrupted"):
        return f"the run was interrupted{far}"
    message = printable(str(stats.get("message") or "").strip())
    return f"the run ended early{far}" + (f": {message}" if message else "")


# ---- tables


def _whole_lines(path):
    """Path or buffer of a file's whole lines: of a run that was killed, the last line may be cut
    off. None: no file.
    """
    if not _exists(path):
        return None
    try:
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            if end == 0:
                return None
            file.seek(end - 1)
            if file.read(1) == b"\n":
                return path
            file.seek(0)
            content = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{complaint(path)}: {error.strerror}") from None
    return io.BytesIO(content[: content.rfind(b"\n") + 1])


def _lines(path):
    source = _whole_lines(path)
    if source is None:
        return
    if isinstance(source, str):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                yield line.rstrip("\n")
    else:
        yield from source.getvalue().decode("utf-8", "replace").splitlines()


def _empty(columns):
    import pandas

    return pandas.DataFrame(
        {
            name: pandas.Series(dtype=object if kind == "str" else plain(kind))
            for name, kind in columns.items()
        }
    )


def _read_table(path, columns, separator):
    import pandas

    if separator == ",":
        how = {"header": 0, "quotechar": '"'}
    else:  # calls.log: comment lines, then fields that are never quoted
        comments = _comments(path)
        names = [line[2:].split("\t") for line in comments if "\t" in line]
        how = {
            "header": None,
            "names": names[-1] if names else list(columns),
            "skiprows": len(comments),
            "quoting": 3,
        }
    how.update(
        sep=separator,
        keep_default_na=False,
        encoding="utf-8",
        encoding_errors="replace",
        low_memory=False,
    )
    try:
        source = _whole_lines(path)
        if source is None:
            return _empty(columns)
        how["na_values"] = {name: [""] for name, kind in columns.items() if "?" in kind}
        frame = pandas.read_csv(
            source, dtype={name: plain(kind) for name, kind in columns.items()}, **how
        )
    except pandas.errors.EmptyDataError:
        return _empty(columns)
    except (ValueError, OverflowError):  # ParserError too: a damaged row; find the good ones
        try:
            frame = _read_damaged(_whole_lines(path), columns, how)
        except (ValueError, OverflowError) as error:
            raise ResultsError(f"{complaint(path)}: cannot be read: {printable(error)}") from None
    missing = [
        name
        for name, kind in columns.items()
        if name not in frame.columns and "*" not in kind
    ]
    if missing:
        raise ResultsError(
            f"{complaint(path)}: the column {missing[0]!r} is missing: not a file of this"
            " simulator?"
        )
    return _sound_rows(frame, columns)


def _sound_rows(frame, columns):
    """Without rows whose numbers no run can have: negative, not finite, beyond all measure."""
    good = None
    for name in (name for name, kind in columns.items() if kind != "str" and name in frame.columns):
        fits = (frame[name] >= 0) & (frame[name] <= MOST)
        if "?" in columns[name]:
            fits |= frame[name].isna()
        good = fits if good is None else good & fits
    return frame if good.all() else frame[good].reset_index(drop=True)


def _read_damaged(source, columns, how):
    """Only the rows whose fields are all there and numbers where they should be."""
    import pandas

    frame = pandas.read_csv(source, dtype="str", on_bad_lines="skip", **how)
    numbers = [name for name, kind in columns.items() if kind != "str" and name in frame.columns]
    for name in numbers:
        frame[name] = pandas.to_numeric(frame[name], errors="coerce")
        frame[name] = frame[name].where(
            frame[name].abs() <= MOST
        )  # what no integer holds could not be one
    needed = [
        name for name, kind in columns.items() if name in frame.columns and not "?" in kind
    ]
    frame = frame.dropna(subset=needed).reset_index(drop=True)
    return frame.astype({name: plain(columns[name]) for name in numbers})


def _comments(path):
    """The lines with '#' that a file begins with; the last of them names the columns."""
    return list(itertools.takewhile(lambda line: line.startswith("#"), _lines(path)))


def _read_events(path):
    import pandas

    rows = {name: [] for name in tables.EVENTS}
    for time, what, where, details, _ in EventLog().entries(_lines(path)):
        queue_pair = re.match(r"(qp \d+) (.*)", details)
        if (
            queue_pair
        ):  # "server-0->server-1 qp 3 goes back to psn 5": the queue pair is part of where
            where, details = f"{where} {queue_pair[1]}", queue_pair[2]
        for name, value in zip(tables.EVENTS, (time, what, where, details)):
            rows[name].append(value)
    return pandas.DataFrame(rows) if rows["time_us"] else _empty(tables.EVENTS)
