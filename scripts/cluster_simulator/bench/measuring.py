# SPDX-License-Identifier: GPL-2.0-only
"""Repeats of a case in turns with the yardstick (and with another build), and what follows."""

import os
import shutil
import statistics
import sys
import tempfile

from ..console import OVER
from ..files import parse_json, read_text
from . import running
from .builds import NotInThisBuild
from .cases import smallest_of


class Measured:
    """A case and the samples of it, as many as there are so far."""

    def __init__(self, case, quick):
        self.case = case
        self.k = case.k_of(quick)
        self.command = []  # without the folder of its results
        self.engine = ""
        self.missing = None  # what the build has not
        self.old_missing = None
        self.samples = []
        self.old_samples = []
        self.yardstick = []  # Mhop/s: before the first sample, after each
        self.smallest_bytes = None  # peak memory of a run of two hosts

    # ---- what follows from the samples

    def speeds(self):
        return [speed(sample) for sample in self.samples]

    def shares(self):
        """Of the yardstick's speed just before and after each sample."""
        return [
            mine / statistics.mean(around)
            for mine, around in zip(self.speeds(), zip(self.yardstick, self.yardstick[1:]))
        ]

    def ratios(self):
        """New over old speed, pair by pair."""
        return [
            speed(new) / speed(old) for new, old in zip(self.samples, self.old_samples)
        ]

    def median(self, key):
        values = [sample[key] for sample in self.samples if sample.get(key) is not None]
        return statistics.median(values) if values else None

    def gpu_seconds(self):
        """Simulated, in a second of a core."""
        return [
            sample["gpus"]
            * sample["simulated_s"]
            / (sample["event_loop_s"] * self.case.cores)
            for sample in self.samples
            if sample["gpus"]
        ]

    def bytes_a_host(self):
        """Peak memory beyond that of two hosts. Of several processes only the first one's is
        known.
        """
        peak = self.median("peak_rss_bytes")
        if self.case.ranks > 1 or None in (peak, self.smallest_bytes):
            return None
        return max(0, peak - self.smallest_bytes) / self.samples[0]["hosts"]

    def as_json(self):
        case = self.case
        result = {
            "name": case.name,
            "command": self.command,
            "program": case.program,
            "algorithm": case.algorithm or None,
            "engine": self.engine,
            "threads": case.threads,
            "ranks": case.ranks,
            "yardstick_k": self.k,
            "not_in_this_build": self.missing,
            "runs": self.samples,
            "yardstick_mhops_per_s": self.yardstick,
            "smallest_peak_rss_bytes": self.smallest_bytes,
        }
        if self.samples:
            result["median"] = {
                "mhops_per_s": statistics.median(self.speeds()),
                "share_of_yardstick": _median(self.shares()),
                "gpu_s_per_core_s": _median(self.gpu_seconds()),
                "bytes_a_host": self.bytes_a_host(),
                **{
                    key: self.median(key)
                    for key in ("event_loop_s", "wall_s", "core_s", "peak_rss_bytes")
                },
            }
        if self.old_samples or self.old_missing:
            result["not_in_old_build"] = self.old_missing
            result["old_runs"] = self.old_samples
            result["ratios_of_pairs"] = self.ratios()
        return result


def _median(values):
    return statistics.median(values) if values else None


def speed(sample):
    """Million frame-hops a second."""
    return sample["frame_hops"] / sample["event_loop_s"] / 1e6


class Measuring:
    """Measures cases one after another; what there is of an interrupted one stays in `all`."""

    def __init__(self, root, new, old, yardstick, repeat, quick, keep):
        self.root = root
        self.new, self.old, self.yardstick = new, old, yardstick
        self.repeat, self.quick, self.keep = repeat, quick, keep
        self.all = []
        self.loads = []  # of the machine, before each run
        self.smallest = {}

    def measure(self, case):
        one = Measured(case, self.quick)
        self.all.append(one)
        one.engine = self.new.engine_of(case)
        try:
            one.command = self.new.command(case, self.quick, None)
            one.command[one.command.index(self.new.path(case.program))] = case.program
        except NotInThisBuild as missing:
            one.missing = str(missing)
            return one
        builds = [(self.new, one.samples)]
        if self.old:
            try:
                self.old.command(case, self.quick, None)
                builds.append((self.old, one.old_samples))
            except NotInThisBuild as missing:
                one.old_missing = str(missing)
        if case.ranks == 1:
            one.smallest_bytes = self._smallest(case)
        self._show(case, 0)
        one.yardstick.append(self._yardstick(one))
        for number in range(self.repeat):
            self._show(case, number)
            # In pairs of runs the first one is now the new, now the old one.
            for build, samples in builds[:: -1 if number % 2 else 1]:
                which = "old" if build is self.old else "new"
                samples.append(self._sample(build, case, f"{case.name}/{which}-{number + 1}"))
            one.yardstick.append(self._yardstick(one))
            self._compare_hops(one.samples, one.command)
            self._compare_hops(one.old_samples, ["(old)", *one.command])
        return one

    def _yardstick(self, one):
        return self.yardstick.run(one.k, one.case.cores, self.quick)

    def _smallest(self, case):
        key = (case.program, case.engine)
        if key not in self.smallest:
            name = f"smallest-{case.program}" + (f"-{case.engine}" if case.engine else "")
            self.smallest[key] = self._sample(self.new, smallest_of(case), name)["peak_rss_bytes"]
        return self.smallest[key]

    def _sample(self, build, case, name):
        folder = os.path.join(self.keep, name) if self.keep else tempfile.mkdtemp(prefix="bench-")
        try:
            self.loads.append(os.getloadavg()[0])
            words = build.command(case, self.quick, os.path.abspath(folder))
            ended = running.run(words, self.root, build.environment)
            try:
                stats = parse_json(read_text(os.path.join(folder, "stats.json")))
                return sample_of(stats, ended)
            except (OSError, ValueError, KeyError, TypeError, ArithmeticError) as error:
                raise running.Failed(
                    f"{' '.join(words)}: its stats.json cannot be used:"
                    f" {type(error).__name__}: {error}"
                ) from error
        finally:
            if not self.keep:
                shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _compare_hops(samples, command):
        """The same command simulates the same."""
        if len({sample["frame_hops"] for sample in samples}) > 1:
            raise running.Failed(
                f"{' '.join(command)}: frame-hops differ between its runs:"
                f" {', '.join(str(sample['frame_hops']) for sample in samples)}"
            )

    def _show(self, case, number):
        if sys.stderr.isatty():
            print(
                f"{OVER}{case.name}: run {number + 1} of {self.repeat}",
                end="",
                file=sys.stderr,
                flush=True,
            )


def sample_of(stats, ended):
    if not stats["completed"]:
        raise ValueError("the run is not complete")
    if not stats["event_loop_s"] > 0 or not stats["frame_hops"] > 0:
        raise ValueError("it has no frame-hops, or no time")
    return {
        "frame_hops": stats["frame_hops"],
        "events": stats.get("events"),
        "hosts": stats["topology"]["hosts"] if "topology" in stats else stats["servers"],
        "gpus": stats.get("gpus", 0),
        "simulated_s": stats["simulated_time_us"] * 1e-6,
        "event_loop_s": stats["event_loop_s"],
        "wall_s": ended.wall_s,
        "core_s": ended.core_s,
        "peak_rss_bytes": stats.get("peak_rss_bytes"),
    }
