# SPDX-License-Identifier: GPL-2.0-only
"""GPUs of the simulator's zoo. gpus.json here is a link to scenarios/zoo/gpus.json of the clone; an
installed package has a copy.
"""

import json
import os

from .errors import SimulatorError

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpus.json")


def _gpus():
    try:
        with open(FILE, encoding="utf-8") as file:
            rows = json.load(file)["gpus"]
    except OSError as error:
        raise SimulatorError(
            f"{FILE}: {error.strerror}; it belongs to the package: get scenarios/zoo/gpus.json of"
            " the clone, or install the package anew"
        ) from error
    found = {}
    for row in rows:
        base = dict(found.get(row.get("base"), {}))
        for key in ("driver_name", "sold_in"):  # each GPU's own
            base.pop(key, None)
        found[row["name"]] = {**base, **row}
    return found


# {"A100": {"name": "A100", "memory_GB": 80, ...}}, with what a row takes from its base.
GPUS = _gpus()
