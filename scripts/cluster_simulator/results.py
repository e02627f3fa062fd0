# SPDX-License-Identifier: GPL-2.0-only
"""Read the folder that a run of dltrain, collperf or traffic wrote.

    run = load("results/dltrain-1")
    run.stats["step_time_us"]
    run.flows().groupby("tag").fct_us.quantile(0.99)

Columns and units are those of the files (docs/outputs.md). A run that was interrupted, failed or is
still going can be read too: what is not there is empty, a last line that was cut off is left out, and Run.problem says
why the run is not complete. pandas is imported only when a table is asked for.
"""

import difflib
import io
import itertools
import json
import os
import re
import stat

from .schema import why_not_readable
from .shown import complaint, printable
from .shapes import MOST, sound

FLOWS = {
    "flow": "int64",
    "src": "str",
    "dst": "str",
    "bytes": "int64",
    "start_us": "float64",
    "end_us": "float64",
    "fct_us": "float64",
    "ideal_fct_us": "float64",
    "tag": "str",
}
LINKS = {
    "time_us": "float64",
    "link": "str",
    "from": "str",
    "to": "str",
    "rate_gbps": "float64",
    "utilization": "float64",
    "queue_bytes": "int64",
    "pause_share": "float64",
}
CALLS = {
    "start_us": "float64",
    "end_us": "float64",
    "step": "int64",
    "rank": "int64",
    "stream": "str",
    "kind": "str",
    "call": "str",
    "bytes": "int64",
    "group": "str",
}
SLOWDOWNS = {
    "tag": "str",
    "kind": "str",
    "from_bytes": "int64",
    "to_bytes": "int64",
    "flows": "int64",
    "mean": "float64",
    "p50": "float64",
    "p95": "float64",
    "p99": "float64",
    "p999": "float64",
    "max": "float64",
}
QUEUES = {"time_us": "float64", "link": "str", "mean_bytes": "float64", "max_bytes": "int64"}
FAIRNESS = {"time_us": "float64", "flows": "int64", "jain": "float64", "gbps": "float64"}
RATES = {"time_us": "float64", "flow": "int64", "src": "str", "dst": "str", "gbps": "float64"}
QUEUE_PAIRS = {  # with "?": may be empty
    "time_us": "float64",
    "src": "str",
    "dst": "str",
    "qp": "int64",
    "flow": "float64?",
    "rate_gbps": "float64",
    "window_bytes": "float64?",
}
EVENTS = {"time_us": "float64", "what": "str", "where": "str", "details": "str"}

# More than any run writes; it would not fit into memory. Events are read line by line, which is slow.
MOST_BYTES = {"stats.json": 128 << 20, "topology.json": 128 << 20, "network_events.log": 256 << 20}
MOST_TABLE_BYTES = 1 << 30

FILES = ("stats.json", "flows.csv", "links.csv", "calls.log", "network_events.log")


class ResultsError(Exception):
    """A folder that holds no results, or a file in it that cannot be read."""


def load(folder):
    """The run in a folder. Raises ResultsError if there is none."""
    return Run(folder)


class Run:
    """One run's folder. Tables are read when first asked for and kept: copy one before you change it."""

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
        """dltrain, collperf or traffic; empty if stats.json is missing."""
        return self.stats.get("program", "")

    def path(self, file):
        return os.path.join(self.folder, file)

    def flows(self):
        """Messages between servers (flows.csv)."""
        return self._table("flows.csv", FLOWS, ",")

    def links(self):
        """Links over time (links.csv). A link that did nothing in an interval has no row."""
        return self._table("links.csv", LINKS, ",")

    def slowdowns(self):
        """Slowdown of traffic's flows by size (slowdown.csv)."""
        return self._table("slowdown.csv", SLOWDOWNS, ",")

    def queues(self):
        """The longest queues of traffic over time (queues.csv); a link's row of empty intervals has only its ends."""
        return self._table("queues.csv", QUEUES, ",")

    def fairness(self):
        """Jain's index of the flows' throughputs over time (fairness.csv)."""
        return self._table("fairness.csv", FAIRNESS, ",")

    def rates(self):
        """Throughput of each flow over time (rates.csv); there is none with many flows."""
        return self._table("rates.csv", RATES, ",")

    def queue_pairs(self):
        """Rate and window of chosen queue pairs, a change a row (queue_pairs.csv); no window is not a number."""
        return self._table("queue_pairs.csv", QUEUE_PAIRS, ",")

    def calls(self):
        """Computations and collectives of the ranks (calls.log), in the order they end."""
        return self._table("calls.log", CALLS, "\t")

    def events(self):
        """Pauses, ECN marks, drops and so on (network_events.log)."""
        if "events" not in self._tables:
            self._tables["events"] = _read_events(self.path("network_events.log"))
        return self._tables["events"]

    def topology(self):
        """([(node, tier)], [(node, node)]) of topology.json, empty if there is none; tier: 0 a host, None unknown."""
        if not _exists(self.path("topology.json")):
            return [], []
        try:
            with open(self.path("topology.json"), encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, ValueError, RecursionError):
            return [], []
        _refuse_other_versions(content, self.path("topology.json"))
        try:
            nodes = [
                (str(node["name"]), 0 if node["kind"] == "host" else int(node.get("tier") or 0) or None)
                for node in content["nodes"]
            ]
            links = [(link["a"], link["b"]) for link in content["links"]]
            if any(end < 0 for link in links for end in link):
                return [], []
            return nodes, [(nodes[a][0], nodes[b][0]) for a, b in links]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
            return [], []

    def event_totals(self):
        """{kind: (of the whole run, of its measured part)}, from the end of network_events.log; {} if cut off."""
        totals = {}
        for line in _lines(self.path("network_events.log")):
            found = re.match(r"# total (\S+) (\d{1,18}), measured (\d{1,18})$", line)
            if found:
                totals[found[1]] = (int(found[2]), int(found[3]))
        return totals

    def rank_stride(self):
        """calls.log holds every rank (1) or, for many calls, every n-th one only (n)."""
        for line in _lines(self.path("calls.log")):
            found = re.match(r"# .*; only every (\d{1,9})th rank$", line)
            return max(1, int(found[1])) if found else 1
        return 1

    def flows_are_sample(self):
        """Whether flows.csv is a sample; the quantiles of stats.json are of all messages in any case."""
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
            inside = [name for name in sorted(os.listdir(folder)) if _is_run(os.path.join(folder, name))]
        except OSError as error:
            raise ResultsError(f"{complaint(folder)}: {error.strerror}") from None
        hint = f"; runs inside it: {', '.join(inside[:5])}" + (" ..." if len(inside) > 5 else "") if inside else ""
        raise ResultsError(
            complaint(f"{folder}: no results of a run in this folder (none of {', '.join(FILES)}){hint}")
        )


def _is_run(folder):
    return any(os.path.isfile(os.path.join(folder, file)) for file in FILES)


def _nearest(folder):
    if os.path.isfile(folder):
        parent = os.path.dirname(folder)
        return f"; do you mean {parent or '.'}?" if _is_run(parent or ".") else ""
    parent, name = os.path.split(os.path.abspath(folder))
    try:
        runs = [other for other in os.listdir(parent) if _is_run(os.path.join(parent, other))]
    except OSError:
        return ""
    near = difflib.get_close_matches(name, runs, 1)
    return f"; do you mean {os.path.join(os.path.dirname(folder), near[0])}?" if near else ""


def _exists(path):
    """Whether there is such a file. One that is no file (a pipe would be waited for) or too large is refused."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise ResultsError(f"{complaint(path)}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(found.st_mode):
        raise ResultsError(f"{complaint(path)}: is no regular file")
    most = MOST_BYTES.get(os.path.basename(path), MOST_TABLE_BYTES)
    if found.st_size > most:
        raise ResultsError(
            f"{complaint(path)}: is too large with {found.st_size:,} B; at most {most:,} B are read of such a file"
        )
    return True


def _read_stats(path):
    """(what stats.json holds, why it cannot be used)"""
    if not _exists(path):
        return {}, "stats.json is missing: the run was killed, or it is still going"
    try:
        with open(path, encoding="utf-8") as file:
            stats = json.load(file)
    except FileNotFoundError:
        return {}, "stats.json is missing: the run was killed, or it is still going"
    except OSError as error:
        raise ResultsError(f"{complaint(path)}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        return {}, f"stats.json is no JSON ({printable(error)})"
    if not isinstance(stats, dict):
        return {}, "stats.json is no JSON object"
    _refuse_other_versions(stats, path)
    stats, odd = sound(stats)
    more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
    names = printable(", ".join(odd[:3]), 120)
    return stats, f"stats.json: {names}{more} cannot be what the simulator wrote, and is left out" if odd else ""


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
    """Path or buffer of a file's whole lines: of a run that was killed, the last line may be cut off. None: no file."""
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
        {name: pandas.Series(dtype=object if kind == "str" else kind.rstrip("?")) for name, kind in columns.items()}
    )


def _read_table(path, columns, separator):
    import pandas

    if separator == ",":
        how = {"header": 0, "quotechar": '"'}
    else:  # calls.log: comment lines, then fields that are never quoted
        comments = _comments(path)
        names = [line[2:].split("\t") for line in comments if "\t" in line]
        how = {"header": None, "names": names[-1] if names else list(columns), "skiprows": len(comments), "quoting": 3}
    how.update(sep=separator, keep_default_na=False, encoding="utf-8", encoding_errors="replace", low_memory=False)
    try:
        source = _whole_lines(path)
        if source is None:
            return _empty(columns)
        how["na_values"] = {name: [""] for name, kind in columns.items() if kind.endswith("?")}
        frame = pandas.read_csv(source, dtype={name: kind.rstrip("?") for name, kind in columns.items()}, **how)
    except pandas.errors.EmptyDataError:
        return _empty(columns)
    except (ValueError, OverflowError):  # ParserError too: a damaged row; find the good ones
        try:
            frame = _read_damaged(_whole_lines(path), columns, how)
        except (ValueError, OverflowError) as error:
            raise ResultsError(f"{complaint(path)}: cannot be read: {printable(error)}") from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ResultsError(f"{complaint(path)}: the column {missing[0]!r} is missing: not a file of this simulator?")
    return _sound_rows(frame, columns)


def _sound_rows(frame, columns):
    """Without rows whose numbers no run can have: negative, not finite, beyond all measure."""
    good = None
    for name in (name for name, kind in columns.items() if kind != "str"):
        fits = (frame[name] >= 0) & (frame[name] <= MOST)
        if columns[name].endswith("?"):
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
        frame[name] = frame[name].where(frame[name].abs() <= MOST)  # what no integer holds could not be one
    needed = [name for name, kind in columns.items() if name in frame.columns and not kind.endswith("?")]
    frame = frame.dropna(subset=needed).reset_index(drop=True)
    return frame.astype({name: columns[name].rstrip("?") for name in numbers})


def _comments(path):
    """The lines with '#' that a file begins with; the last of them names the columns."""
    return list(itertools.takewhile(lambda line: line.startswith("#"), _lines(path)))


def _read_events(path):
    import pandas

    rows = {name: [] for name in EVENTS}
    for line in _lines(path):
        fields = line.split(" ", 3)
        if line.startswith("#") or len(fields) < 3:
            continue
        try:
            time = float(fields[0])
        except ValueError:
            continue
        where, details = fields[2], fields[3] if len(fields) > 3 else ""
        queue_pair = re.match(r"(qp \d+) (.*)", details)
        if queue_pair:  # "server-0->server-1 qp 3 goes back to psn 5": the queue pair is part of where
            where, details = f"{where} {queue_pair[1]}", queue_pair[2]
        if not 0 <= time <= MOST:
            continue
        for name, value in zip(EVENTS, (time, fields[1], where, details)):
            rows[name].append(value)
    return pandas.DataFrame(rows) if rows["time_us"] else _empty(EVENTS)
