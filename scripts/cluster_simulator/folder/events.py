# SPDX-License-Identifier: GPL-2.0-only
"""network_events.log: what happened, where and when, and how often in all."""

import re

from ..shapes import MOST

TOTAL = re.compile(r"# total (\S+) (\d{1,18}), measured (\d{1,18})$")
ONLY_COUNTED = re.compile(r'"([a-z_]+)" is only counted')


class EventLog:
    """Takes the log's lines. What stands at its end is known when they are through."""

    def __init__(self):
        self.totals = {}  # kind: (of the whole run, of its measured part)
        self.only_counted = []  # kinds of which there were too many to write each
        self.finished = False  # the log has its end

    def entries(self, lines):
        """(time in us, what, where, details, the line) of each line that is an event."""
        for line in lines:
            line = line.rstrip("\r\n")
            if line.startswith("#"):
                total = TOTAL.match(line)
                if total:
                    self.totals[total[1]] = (int(total[2]), int(total[3]))
                self.finished = self.finished or line.startswith("# end")
                continue
            fields = line.split(" ", 3)
            if len(fields) < 3:
                continue
            try:
                time = float(fields[0])
            except ValueError:
                continue
            if not 0 <= time <= MOST:
                continue
            if fields[1] == "note":
                kind = ONLY_COUNTED.search(line)
                if kind and kind[1] not in self.only_counted:
                    self.only_counted.append(kind[1])
            yield time, fields[1], fields[2], fields[3] if len(fields) > 3 else "", line
