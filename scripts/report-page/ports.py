# SPDX-License-Identifier: GPL-2.0-only
"""network_events.log: marks and pauses of each port; and the worst ports."""

import itertools
import re

from bounds import cut
from cluster_simulator.folder.events import EventLog
from cluster_simulator.folder.streams import MOST_ROWS
from series import rounded

MOST_PORTS = 8  # worst ports
MOST_EVENTS = 40  # last lines of the log, of runs that failed
LONGEST_LINE = 500  # of them, in characters
MARKS = re.compile(r"\d{1,15}")


class Events:
    """What a page shows of the log; None for `shown` if there is none."""

    def __init__(self, files, series, failed):
        self.marks, self.pauses, self.marks_bin_us = (
            {},
            {},
            max(series.bin_us, 1000.0),
        )  # logged a millisecond at a time
        self.shown = None
        file = files.open("network_events.log")
        if file:
            with file:
                self._read(files, file, series.begin, failed)

    def pauses_of(self, port):
        """None where it is not known: from some time on all were counted together."""
        counted = self.shown is not None and "pause" in self.shown["cut"]
        return None if counted else self.pauses.get(port, 0)

    def _read(self, files, file, measured, failed):
        log, last, read = EventLog(), [], 0
        for time, what, where, details, line in log.entries(
            files.lines("network_events.log", file)
        ):
            read += 1
            if read > MOST_ROWS:
                files.problems.append(
                    f"network_events.log has more than {MOST_ROWS:,} lines: those after them are"
                    " left out"
                )
                break
            last.append(cut(line, LONGEST_LINE))
            if len(last) > 2 * MOST_EVENTS:
                del last[:MOST_EVENTS]
            if time < measured:
                continue
            if what == "ecn":
                count = MARKS.match(details)
                of = self.marks.setdefault(where, {})
                at = int((time - measured) // self.marks_bin_us)
                of[at] = of.get(at, 0) + int(count[0] if count else 0)
            elif what == "pause":
                self.pauses[where] = self.pauses.get(where, 0) + 1
        if not log.finished:
            files.problems.append(
                "network_events.log has no end: the program was ended before it could complete it."
            )
        self.shown = {
            "totals": {kind: list(total) for kind, total in log.totals.items()},
            "cut": log.only_counted,
            "last": last[-MOST_EVENTS:] if failed else [],
        }


def ports_of(events, series):
    """The worst of each kind. Marks are of the same intervals as queues if links.csv has them, else
    of network_events.log, where they stand by the millisecond.
    """

    def largest(values, n=MOST_PORTS):
        return [
            name
            for value, name in sorted(((-value, name) for name, value in values.items() if value))[
                :n
            ]
        ]

    by_queue = {name: link.queue_peak for name, link in series.links.items()}
    by_pause = {name: link.paused for name, link in series.links.items()}
    by_marks = (
        {name: sum(link.marks) for name, link in series.links.items() if link.marks}
        if series.has_marks
        else {name: sum(of.values()) for name, of in events.marks.items()}
    )
    ranked = [largest(values) for values in (by_marks, by_pause, by_queue)]
    worst = []
    for name in itertools.chain(*itertools.zip_longest(*ranked)):  # the worst of each kind first
        if name is not None and name not in worst:
            worst.append(name)
    ports = []
    for name in worst[:MOST_PORTS]:
        link = series.links.get(name)
        ports.append(
            {
                "name": cut(name),
                "marks": by_marks.get(name, 0),
                "pauses": events.pauses_of(name),
                "queue_peak_bytes": link.queue_peak if link else 0,
                "pause_share": series.paused_share(name),
                "queue_bytes": link.queue if link else [],
                "pause": [rounded(value) for value in series.pause_shares(name)] if link else [],
                "marks_over_time": (link.marks or [] if link else []) if series.has_marks else None,
                "marks_in": []
                if series.has_marks
                else sorted(map(list, events.marks.get(name, {}).items())),
            }
        )
    return {
        "ports": ports,
        "marks_bin_us": series.bin_us if series.has_marks else events.marks_bin_us,
        "marks_by_interval": series.has_marks,
        "ports_with": {
            "marks": len(by_marks),
            "pause": sum(1 for v in by_pause.values() if v),
            "queue": sum(1 for v in by_queue.values() if v),
        },
    }
