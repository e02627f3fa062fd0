# SPDX-License-Identifier: GPL-2.0-only
"""Numbers of stats.json's port_classes, for tables and pictures."""


def port_class(run, key, part=None, kind="switch_to_host"):
    """A number of stats.json's port_classes; 0 if it is not there."""
    value = ((run.stats.get("port_classes") or {}).get(kind) or {}).get(key, 0)
    if part is not None:
        value = value.get(part, 0) if isinstance(value, dict) else 0
    return float(value or 0)


def held_up(runs):
    """What keeps a port from sending: pauses, or the credits that InfiniBand's lanes wait for."""
    kinds = {"without credits" if "credits" in run.stats else "paused" for run in runs}
    return "paused or without credits" if len(kinds) > 1 else "".join(kinds)


def paused(run):
    """Share of the time in which PFC, or missing credits, held a port, mean over all ports; None:
    not known, as without rows of ports.
    """
    classes = [c for c in (run.stats.get("port_classes") or {}).values() if isinstance(c, dict)]
    ports = sum(c.get("ports", 0) for c in classes)
    return (
        sum(c.get("ports", 0) * c.get("pause_share", 0) for c in classes) / ports
        if ports
        else None
    )
