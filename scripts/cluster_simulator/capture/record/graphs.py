# SPDX-License-Identifier: GPL-2.0-only
"""CUDA graphs: what was captured is issued where it is replayed, on the stream of the replay."""


def replayed(lines):
    """The lines as a GPU saw them. A list of the same lines if there is no graph."""
    if not any(line["t"] == "graph" for line in lines):
        return lines
    captured, open_graph, made = {}, None, []
    for line in lines:
        kind = line["t"]
        if kind == "graph":
            open_graph = line["graph"]
            captured[open_graph] = []
        elif kind == "graph-end":
            open_graph = None
        elif open_graph is not None:
            captured[open_graph].append(line)
        elif kind == "replay":
            made += _on_stream_of(line, captured.get(line["graph"], []))
        else:
            made.append(line)
    return made


def _on_stream_of(replay, lines):
    """What the graph's own stream had is on that of the replay. Between begin and end nothing waits
    for the program.
    """
    own = next((line["s"] for line in lines if "s" in line and line["t"] == "op"), None)
    for line in lines:
        if line["t"] in ("note", "sync"):
            continue
        placed = {**line, "replayed": True}
        if line.get("s") == own:
            placed["s"] = replay["s"]
        if "l" in replay and "l" not in placed:
            placed["l"] = replay["l"]
        yield placed
