# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 30
"""The words for where time went are the same everywhere: the table of the terminal, README and
docs/. (The report's and attribution.csv's are made of them.)
"""

import glob
import os
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, main


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def words_of_links():
    """{member: its words on InfiniBand and Ethernet}: words that differ between kinds of links."""
    text = read("contrib/rdma/core/link-words.h")
    members = re.findall(r"const char\* (\w+);", text)
    rows = [
        re.findall(r'"([^"]*)"', re.search(rf"k{kind}Words\{{(.*?)\}};", text, re.DOTALL)[1])
        for kind in ("InfiniBand", "Ethernet")
    ]
    return dict(zip(members, zip(*rows, strict=True), strict=True))


class Words(unittest.TestCase):
    def setUp(self):
        self.source = read("reports/attribution/message-parts.cc")
        table = re.search(r"\nGetTimeShareWords\(.*?\n\}\n", self.source, re.DOTALL)[0]
        of_links, self.words = words_of_links(), {}
        for share, text in re.findall(r"case TimeShare::(\w+):\s*return ([^;]*);", table):
            of_link = re.fullmatch(r"link\.(\w+)", text)
            self.words[share.lower()] = of_links[of_link[1]] if of_link else [text.strip('"')]
        self.words["host"] = re.findall(r'return "([^"]*)";\n\}', table)
        # A collective's chunks wait for one another as a rule, which is no fault.
        self.pipelining = re.search(
            r'PIPELINING =\s*"([^"]*)";', read("reports/attribution/message-parts.h")
        )[1]

    def test_each_share_has_words(self):
        names = re.search(r"names\[TIME_SHARES\] = \{(.*?)\};", self.source, re.DOTALL)[1]
        self.assertCountEqual(self.words, re.findall(r'"(\w+)"', names))
        self.assertTrue(any("credits" in one[0] for one in self.words.values()))

    def test_pages_have_these_words(self):
        pages = ["README.md", *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
        text = " ".join("\n".join(read(page) for page in pages).split())
        shown = [self.pipelining, self.words["throttled"][0], self.words["serialization"][0]]
        for words in shown:
            self.assertIn("% " + words, text)
        self.assertNotRegex(text, r"\d% (behind earlier messages|serialization)")


if __name__ == "__main__":
    main()
