# SPDX-License-Identifier: GPL-2.0-only
"""How a job is shared out, in a few words."""

from .amounts import counted

DIMENSIONS = ("tp", "pp", "cp", "ep")


def words(stats):
    """ "ZeRO-1, TP 4, PP 2", or the strategy where there is no ZeRO; of a recorded step "capture of
    8 ranks"; of a stats.json with anything in it.
    """
    recorded = stats.get("trace")
    if isinstance(recorded, dict):
        return f"{recorded.get('format', '?')} of {counted(recorded.get('ranks', '?'), 'rank')}"
    if "mistakes" in stats:
        return "not simulated"
    configuration = stats.get("configuration")
    training = configuration.get("training") if isinstance(configuration, dict) else None
    training = training if isinstance(training, dict) else {}
    strategy = training.get("strategy", "sync")
    told = [f"ZeRO-{stats.get('zero', '?')}" if strategy in ("sync", None) else str(strategy)]
    for name in DIMENSIONS:
        size = training.get(name, 1)
        if isinstance(size, int) and size > 1:
            told.append(f"{name.upper()} {size}")
    return ", ".join(told)
