# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sweep: runs a grid or a list of options in parallel and keeps all results in one SQLite
file.

A folder holds sweep.sqlite (table runs, a row for each point), sweep.lock, and runs/ID while a
point runs. The row says how a point stands: pending, running, done or failed. Each change is one
transaction, so that a sweep can be killed at any time: what was running is then simply not done.
The runs die with their sweep, and hold its lock as long as they live, so that nothing runs twice.
"""

from .commands import main
from .errors import BadUse
from .sweeping import read, run

__all__ = ["BadUse", "main", "read", "run"]
