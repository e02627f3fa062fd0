# SPDX-License-Identifier: GPL-2.0-only
"""A torus or HyperX as the grid that it is: a cell for each switch, with its hosts."""

import numpy

APART = 0.6  # cells between two planes of a grid of three dimensions and more


class Grid:
    """Where nodes stand: {node: (x, y)} in cells, y upwards.

    The last coordinate counts columns, the one before it rows from the top. Every further
    coordinate has such planes side by side, and one below the other, in turns.
    """

    def __init__(self, graph):
        coordinates = graph.grid
        sizes = [1 + max(at[d] for at in coordinates.values()) for d in range(self.rank(graph))]
        steps, extent = [], [1.0, 1.0]  # of each coordinate from the last: (x, y); x and y so far
        for d, size in enumerate(reversed(sizes)):
            way = d % 2
            gap = APART * (d // 2)
            steps.append((extent[0] + gap, 0) if way == 0 else (0, -(extent[1] + gap)))
            extent[way] += (size - 1) * abs(steps[-1][way])
        self.width, self.height = extent
        self.switches = {
            switch: tuple(
                sum(c * step[way] for c, step in zip(reversed(at), steps)) for way in (0, 1)
            )
            for switch, at in coordinates.items()
        }
        self.hosts = self._hosts(graph)
        self.places = {**self.switches, **self.hosts}

    @staticmethod
    def rank(graph):
        return len(next(iter(graph.grid.values())))

    def _hosts(self, graph):
        """In a row under the right half of their switch, those of several NICs under the first."""
        of = {}
        for a, b, *_ in graph.links:
            for host, switch in ((a, b), (b, a)):
                if switch in self.switches and host not in self.switches:
                    of.setdefault(host, switch)
        rows = {}
        for host in graph.tiers[0]:
            if host in of:
                rows.setdefault(of[host], []).append(host)
        places = {}
        for switch, hosts in rows.items():
            x, y = self.switches[switch]
            for place, host in enumerate(hosts):
                places[host] = (x + 0.08 + 0.34 * (place + 0.5) / len(hosts), y - 0.3)
        alone = [host for host in graph.tiers[0] if host not in places]
        for place, host in enumerate(alone):
            places[host] = (self.width * (place + 0.5) / len(alone) - 0.5, 0.5 - self.height)
        return places

    def path(self, a, b):
        """Straight to a host and to the next switch; else a bow, so that it does not lie on those
        between: of a row over them, of a column on their left, the higher the farther.
        """
        (ax, ay), (bx, by) = self.places[a], self.places[b]
        far = numpy.hypot(bx - ax, by - ay)
        if a in self.hosts or b in self.hosts or far <= 1.0001:
            return [(ax, ay), (bx, by)]
        along = numpy.linspace(0, 1, 21)
        bow = 4 * (0.1 + 0.05 * far) * along * (1 - along)
        column = abs(bx - ax) < abs(by - ay)
        return numpy.column_stack(
            [ax + (bx - ax) * along - bow * column, ay + (by - ay) * along + bow * (not column)]
        )
