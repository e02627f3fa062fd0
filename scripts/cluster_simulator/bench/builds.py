# SPDX-License-Identifier: GPL-2.0-only
"""Programs of a build, what options they have, and the command of a case."""

import functools
import os
import re
import shutil
import subprocess

from .. import programs
from ..errors import InvalidInput

# Outputs that are written when the simulation is over, or to be looked at.
QUIET = ("report", "timeline", "progress")

# What mpirun needs as root and in a container, as scripts/setup/common.sh has it.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


class NotInThisBuild(Exception):
    """What a case needs and the build has not."""


class Build:
    """Of a folder with the programs and, if it is a copy, their libraries in lib/; without a
    folder, the clone's.
    """

    def __init__(self, folder=None, option=None):
        self.folder = folder
        self.option = option  # that named the folder
        self.environment = dict(os.environ, **MPI)

    def check(self, names):
        for name in names:
            path = self.path(name)
            libraries = os.path.join(os.path.dirname(path), "lib")
            if os.path.isdir(libraries):
                more = os.environ.get("LD_LIBRARY_PATH")
                self.environment["LD_LIBRARY_PATH"] = libraries + (f":{more}" if more else "")
            try:
                self.options(name)
            except (OSError, subprocess.CalledProcessError, ValueError, KeyError, TypeError) as e:
                if isinstance(e, subprocess.CalledProcessError):
                    e = (e.stderr or "").strip() or f"status {e.returncode}"
                raise InvalidInput(
                    f"{self.option or 'programs'}: {path} does not say what options it has: {e}"
                ) from None

    def path(self, name):
        if self.folder is None:
            return programs.find(name)
        path = os.path.join(self.folder, name)
        if not os.path.isdir(self.folder):
            raise InvalidInput(f"{self.option}: there is no such folder")
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            raise InvalidInput(f"{self.option}: no program {name} in this folder")
        return os.path.abspath(path)

    @functools.lru_cache(maxsize=None)
    def options(self, name):
        return programs.listed_options(self.path(name), self.environment)

    def engine_of(self, case):
        """Which one runs the events, by the program's own words: "windows; under mpirun ns3"."""
        option = self.options(case.program).get("engine")
        if option is None:
            return "ns3"
        said = str(option.get("default") or option.get("otherwise") or "")
        under = re.search(r"under mpirun (\w+)", said) if case.ranks > 1 else None
        found = under or re.match(r"(\w+)", said)
        return case.engine or (found[1] if found else "")

    def command(self, case, quick, out):
        """Words of the case's command. Raises NotInThisBuild."""
        known = self.options(case.program)
        options = case.options_of(quick)
        before = []
        if case.engine:
            if case.engine not in known.get("engine", {}).get("names", []):
                raise NotInThisBuild(f"--engine={case.engine}")
            options["engine"] = case.engine
        if case.threads > 1:
            if "threads" not in known:
                raise NotInThisBuild(f"--threads={case.threads}")
            options["threads"] = case.threads
        elif "threads" in known and case.ranks == 1 and not case.engine:
            options["threads"] = 1
        if case.ranks > 1:
            if "mpi-ranks" in known:
                options["mpi_ranks"] = case.ranks
            else:
                before = self._mpirun(case)
        for name in QUIET:
            if name in known:
                options[name] = 0
        return [
            *before,
            self.path(case.program),
            *programs.words(options),
            *([f"--out={out}"] if out else []),
        ]

    @functools.lru_cache(maxsize=None)
    def _runs_under_mpi(self, program, ranks):
        """Asked with a dry run: a program that has to be one process refuses."""
        asked = subprocess.run(
            ["mpirun", "-np", str(ranks), self.path(program), "--dry-run"],
            capture_output=True,
            check=False,
            env=self.environment,
            stdin=subprocess.DEVNULL,
        )
        return asked.returncode == 0

    def _mpirun(self, case):
        if shutil.which("mpirun") is None:
            raise NotInThisBuild("mpirun: it is not installed")
        if not self._runs_under_mpi(case.program, case.ranks):
            raise NotInThisBuild(f"{case.program} in {case.ranks} processes")
        return ["mpirun", "-np", str(case.ranks)]
