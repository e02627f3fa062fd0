# SPDX-License-Identifier: GPL-2.0-only
"""What can go wrong. Every message is the simulator's own, or says as much as the simulator would.

Ctrl-C raises KeyboardInterrupt itself; its `run` holds the result so far, whose files are complete,
or None.
"""

import sys


class SimulatorError(Exception):
    """Base of all errors of this package."""


class ProgramNotFound(SimulatorError):
    """The simulator's programs are not built, or not where they were looked for."""


class InvalidInput(SimulatorError, ValueError):
    """An option, a value or a file that the simulator refuses (exit status 2). Nothing was
    simulated.
    """


class CannotWrite(SimulatorError):
    """A file could not be written (exit status 1): a full disk, a place that is gone since."""


class SimulationFailed(SimulatorError):
    """The simulation could not go on: stuck, queue pairs that failed (exit status 3), or the
    program died.

    `run` holds what there is until then, or None; `exit_status` is the program's.
    """

    def __init__(self, message, run=None, exit_status=None):
        super().__init__(message)
        self.run = run
        self.exit_status = exit_status


class SimulatorWarning(UserWarning):
    """The simulation goes on, but not quite as one might think."""


def missing_library(error):
    """What an ImportError says to who reads it. One of this package's own modules is a mistake of
    ours, not a missing Debian package: it is raised again.
    """
    if (error.name or "").split(".")[0] == __package__:
        raise error
    if sys.prefix != sys.base_prefix:  # a virtual environment sees none of Debian's
        return f"{error}; type:  {sys.executable} -m pip install matplotlib pandas"
    return (
        f"{error}; type:  sudo apt-get install --no-install-recommends python3-matplotlib"
        " python3-pandas"
    )
