# SPDX-License-Identifier: GPL-2.0-only
"""The network with what it carried, for a picture."""

import re

from .link_use import Links
from .names import natural


def host_nodes(run):
    """Ends of messages as links.csv names them: the NIC "server-3:1" is at the node server-3.
    Without parts of switches.
    """
    flows, links = run.flows(), run.links()
    nodes = set(links["from"].unique()) | set(links["to"].unique())
    ends = set(flows["src"].unique()) | set(flows["dst"].unique())
    ends = {end if end in nodes else end.rsplit(":", 1)[0] for end in ends} & nodes
    return ends - set(run.units())


class Graph:
    """Nodes and links in tiers; without topology.json only links that carried something.

    links: [(node, node, bytes carried in both directions, utilization of the busier direction)]
    level: {node: its tier, or how many links it is from the nearest host}
    units: {switch: utilization of the busiest link to its part that adds up}; such parts are no
    nodes
    grid: {switch: coordinates} of a torus or HyperX of two dimensions and more; else empty
    """

    def __init__(self, run):
        links = Links(run)
        table = links.table
        ends = (
            table.drop_duplicates("link")
            .set_index("link")[["from", "to"]]
            .loc[links.names]
        )
        all_nodes, all_links = run.topology()
        nodes = sorted(
            set(ends["from"]) | set(ends["to"]) | {name for name, _ in all_nodes}, key=natural
        )
        units = run.units()
        nodes = [node for node in nodes if node not in units]
        known_hosts = {name for name, tier in all_nodes if tier == 0} - set(units)
        if not known_hosts:  # no topology.json: what is called as our families call hosts is one
            known_hosts = {node for node in nodes if re.fullmatch(r"server-\d+", node)}
        hosts = host_nodes(run) | known_hosts
        pairs = {}  # both directions, and all parallel links, of two nodes: one line
        for place, (begin, end) in enumerate(ends.itertuples(index=False)):
            pair = pairs.setdefault(tuple(sorted((begin, end), key=natural)), [0.0, 0.0])
            pair[0] += links.carried[place]
            pair[1] = max(pair[1], links.mean[place])
        for begin, end in all_links:
            pairs.setdefault(tuple(sorted((begin, end), key=natural)), [0.0, 0.0])
        self.units = dict.fromkeys(units.values(), 0.0)
        for (a, b), (_, busy) in pairs.items():
            if a in units or b in units:
                switch = units.get(a) or units[b]
                self.units[switch] = max(self.units[switch], busy)
        self.links = [
            (a, b, carried, busy)
            for (a, b), (carried, busy) in pairs.items()
            if a not in units and b not in units
        ]
        self.units = {switch: busy for switch, busy in self.units.items() if switch in nodes}
        known = dict(all_nodes)
        if all(known.get(node) is not None for node in nodes):
            level = known
        else:
            level = self._distances(nodes, hosts or set(nodes[:1]))
        self.level = level
        grid = run.grid()
        #: {switch: coordinates} of two dimensions and more, all alike; else empty
        self.grid = {}
        if {len(at) for at in grid.values()} in ({n} for n in range(2, 9)):
            if all(node in grid for node in nodes if level[node] != 0):
                self.grid = grid
        self.tiers = [
            [node for node in nodes if level[node] == tier] for tier in sorted(set(level.values()))
        ]

    def _distances(self, nodes, hosts):
        """{node: links to the nearest host}; what is not connected comes on top."""
        neighbours = {node: set() for node in nodes}
        for a, b, _, _ in self.links:
            neighbours[a].add(b)
            neighbours[b].add(a)
        level, front = {node: 0 for node in hosts}, set(hosts)
        far = 0
        while front:
            far += 1
            front = {other for node in front for other in neighbours[node] if other not in level}
            level.update(dict.fromkeys(front, far))
        top = max(level.values(), default=0) + 1
        return {node: level.get(node, top) for node in nodes}

    def places(self):
        """{node: (x in 0..1, tier)}: the nodes of a tier are spread evenly, in the order of their
        names.
        """
        result = {}
        for height, tier_nodes in enumerate(self.tiers):
            for place, node in enumerate(tier_nodes):
                result[node] = ((place + 0.5) / len(tier_nodes), height)
        return result
