# SPDX-License-Identifier: GPL-2.0-only
"""What a collective takes: collperf is asked, once for each kind and size, and its answers are kept
on disk.
"""

import csv
import hashlib
import json
import os
import subprocess
import tempfile

from ... import programs
from ...errors import InvalidInput, SimulatorError
from ..installing import folder_of_builds

# Options of collperf that follow from the program and what it runs on.
OWN = (
    "servers ranks gpus-per-server ngpus nthreads op minbytes maxbytes stepfactor stepbytes iters"
    " warmup-iters datatype root block-sizes out compare reduction check report timeline"
    " attribution progress dry-run average"
).split()
SHORT = "g t b e f i n w c d a r o".split()


class Prices:
    """options: words for collperf, of the cluster; say: is told what takes long."""

    def __init__(self, options, servers, gpus, say=None):
        self._options = list(options)
        self._say = say or (lambda text: None)
        self._known = {}
        self.notes = []
        self.runs = 0  # of collperf
        self._check_words()
        self._program = programs.find("collperf")
        self._ask(["--op=all_reduce", "--minbytes=8", *_cluster(servers, gpus), "--dry-run"])

    def _check_words(self):
        for word in self._options:
            name = word.lstrip("-").partition("=")[0].replace("_", "-")
            if not word.startswith("-"):
                raise InvalidInput(f"--cluster: {word}: is no option: --NAME=VALUE")
            if name.removeprefix("no-") in OWN or (word[1:2] != "-" and name[:1] in SHORT):
                raise InvalidInput(
                    f"--cluster: {word}: follows from the program and --servers,"
                    " --gpus-per-server; allowed: options of the cluster and its network, as"
                    " collperf has them"
                )

    def of(self, op, size, members, root=None, blocks=None):
        """Picoseconds of a collective of `size` bytes among members, (server, GPU) by rank. blocks:
        for alltoallv, a list of bytes for each receiver, by sender.
        """
        key = (op, size, tuple(members), root, json.dumps(blocks))
        if key not in self._known:
            self._known[key] = self._measure(op, size, members, root, blocks)
        return self._known[key]

    def _measure(self, op, size, members, root, blocks):
        each = {}
        for server, _ in members:
            each[server] = each.get(server, 0) + 1
        most = max(each.values())
        if len(set(each.values())) > 1:
            note = (
                f"a communicator of {len(members)} GPUs fills its servers unevenly: its collectives"
                f" take what they do on {len(each)} servers of {most}"
            )
            if note not in self.notes:
                self.notes.append(note)
            if blocks is not None:
                spare = len(each) * most - len(members)
                blocks = [row + [0] * spare for row in blocks]
                blocks += [[0] * len(blocks[0])] * spare
        words = [f"--op={op}", f"--minbytes={size}", "--datatype=uint8"]
        words += _cluster(len(each), most)
        if root is not None:
            words.append(f"--root={root}")
        return self._kept(words, blocks)

    def _kept(self, words, blocks):
        about = os.stat(self._program)
        key = [self._program, about.st_size, about.st_mtime_ns, words, blocks, self._options]
        for word in self._options:
            path = word.partition("=")[2]
            if path and os.path.isfile(path):
                with open(path, "rb") as file:
                    key.append(hashlib.sha256(file.read()).hexdigest())
        key += sorted(item for item in os.environ.items() if item[0].startswith("NCCL_"))
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
        path = os.path.join(folder_of_builds(), "cuda-times", name)
        try:
            with open(path, encoding="utf-8") as file:
                return int(file.read())
        except (OSError, ValueError):
            pass
        time = self._simulate(words, blocks)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", dir=os.path.dirname(path), delete=False, encoding="utf-8"
            ) as file:
                file.write(str(time))
            os.replace(file.name, path)
        except OSError:
            pass  # asked again next time
        return time

    def _simulate(self, words, blocks):
        self._say("simulating " + " ".join(words))
        self.runs += 1
        with tempfile.TemporaryDirectory(prefix="capture-") as folder:
            if blocks is not None:
                path = os.path.join(folder, "blocks")
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(" ".join(map(str, row)) + "\n" for row in blocks)
                words = [*words, f"--block-sizes={path}"]
            out = os.path.join(folder, "run")
            quiet = ["--no-report", "--no-timeline", "--attribution=0", "--no-progress"]
            self._ask([*words, *quiet, f"--out={out}"])
            with open(os.path.join(out, "collectives.csv"), encoding="utf-8", newline="") as file:
                row = next(csv.DictReader(file))
        return round(float(row["time_us"]) * 1e6)

    def _ask(self, words):
        command = [self._program, *words, *self._options]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode == 2:
            raise InvalidInput(f"--cluster: {done.stderr.strip().splitlines()[0]}")
        if done.returncode != 0:
            raise SimulatorError(f"{' '.join(command)}:\n{done.stderr[-2000:]}")


def _cluster(servers, gpus):
    return [f"--servers={servers}", f"--gpus-per-server={gpus}", f"--ranks={servers * gpus}"]
