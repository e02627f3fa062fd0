# SPDX-License-Identifier: GPL-2.0-only
from ..errors import SimulatorError


class BadUse(SimulatorError):
    """Exit status 2, one line."""
