# SPDX-License-Identifier: GPL-2.0-only
"""The network of a run, from topology.json or, without it, from the names in links.csv."""

import re

from .streams import LONGEST_TIME_US

MOST_COORDINATES, MOST_TIERS, LONGEST_WORD = 8, 16, 40
ENDS = ("host", "unit")  # kinds of nodes that are no switch


def graph_of(graph):
    """topology.json as [name, kind, tier] and [a, b, rate, delay, name a->b, name b->a]; None if
    broken. Of a switch's part that adds up the kind is "unit".

    "places", if the network's family says any: {"coordinates": of each node, "part", "tiers",
    "grid"}.
    """
    try:
        places = _places(graph)
        nodes = [
            [
                _text(node["name"]),
                "unit" if node.get("unit") is True else _text(node["kind"]),
                min(99, max(0, int(node.get("tier") or 0))),
            ]
            for node in graph["nodes"]
        ]
        links = []
        for link in graph["links"]:
            a, b, name = int(link["a"]), int(link["b"]), _text(link["link"])
            if not (0 <= a < len(nodes) and 0 <= b < len(nodes)):
                return None
            _, hash_mark, ordinal = name[len(nodes[a][0]) + 2 :][len(nodes[b][0]) :].partition("#")
            rate, delay = float(link["rate_gbps"]), float(link["delay_us"])
            if not (0 < rate < 1e9 and 0 <= delay <= LONGEST_TIME_US):
                return None
            links.append(
                [a, b, rate, delay, name, f"{nodes[b][0]}->{nodes[a][0]}{hash_mark}{ordinal}"]
            )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    if not nodes:
        return None
    _fill_tiers(nodes, links)
    return {
        "name": str(graph.get("name", "")),
        "nodes": nodes,
        "links": links,
        "places": places,
        "names": [name for link in links for name in link[4:6]],
    }


def _places(graph):
    """Where switches stand as the network's family counts; None where topology.json does not say
    it: of a file of somebody's own, or of a run of earlier days.
    """
    coordinates = [
        [int(c) for c in node.get("coordinates", [])][:MOST_COORDINATES] for node in graph["nodes"]
    ]
    tiers = [_text(tier)[:LONGEST_WORD] for tier in graph.get("tiers", [])][:MOST_TIERS]
    if not any(coordinates):
        return None
    if any(not 0 <= c < 1 << 32 for at in coordinates for c in at):
        raise ValueError
    return {
        "coordinates": coordinates,
        "part": _text(graph.get("part", ""))[:LONGEST_WORD],
        "tiers": tiers,
        "grid": graph.get("grid") is True,
    }


def graph_from_links(series):
    """The part of the network that carried something, from the names in links.csv."""
    names = sorted({end for link in series.links.values() for end in link.ends}, key=_natural)
    index, links, pairs = {name: i for i, name in enumerate(names)}, [], {}
    for name, link in sorted(series.links.items()):
        ends = link.ends
        _, hash_mark, ordinal = name[len("->".join(ends)) :].partition("#")
        key = (frozenset(ends), ordinal)
        if key in pairs:
            continue
        pairs[key] = True
        a, b = index[ends[0]], index[ends[1]]
        links.append([a, b, link.rate, 0.0, name, f"{ends[1]}->{ends[0]}{hash_mark}{ordinal}"])
    nodes = [
        [name, "host" if name.startswith("server-") or name.startswith("host") else "switch", 0]
        for name in index
    ]
    if not nodes:
        return None
    if all(kind == "switch" for _, kind, _ in nodes):  # other names: what has one link is a host
        degree = {}
        for link in links:
            for end in link[:2]:
                degree[end] = degree.get(end, 0) + 1
        for i, node in enumerate(nodes):
            node[1] = "host" if degree.get(i, 0) == 1 else "switch"
    _fill_tiers(nodes, links)
    return {"name": "", "nodes": nodes, "links": links, "places": None, "names": []}


def _text(value):
    if not isinstance(value, str):
        raise TypeError
    return value


def _natural(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _fill_tiers(nodes, links):
    """A switch whose tier is not known stands one tier above the lowest of what it is wired to: its
    distance from the hosts.
    """
    if all(kind in ENDS or tier for _, kind, tier in nodes):
        return
    neighbours = [[] for _ in nodes]
    for link in links:
        neighbours[link[0]].append(link[1])
        neighbours[link[1]].append(link[0])
    distance = {i: 0 for i, node in enumerate(nodes) if node[1] == "host"}
    wave = list(distance)
    while wave:
        wave = [
            other
            for i in wave
            for other in neighbours[i]
            if distance.setdefault(other, distance[i] + 1) == distance[i] + 1
            and not nodes[other][2] == -1
            and _mark(nodes, other)
        ]
    for i, node in enumerate(nodes):
        node[2] = distance.get(i, 1) if node[1] not in ENDS else 0


def _mark(nodes, i):
    """True the first time a switch is reached."""
    if nodes[i][1] in ENDS or nodes[i][2] == -1:
        return False
    nodes[i][2] = -1
    return True
