# ctest: TIMEOUT 30
# The words for where time went are the same everywhere: the table of the terminal, README and
# docs/. (The report's and attribution.csv's are made of them.)
import glob
import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


source = read("reports/attribution/message-parts.cc")
names = re.findall(
    r'"(\w+)"', re.search(r"names\[TIME_SHARES\] = \{(.*?)\};", source, re.DOTALL).group(1)
)
table = re.search(r"\nGetTimeShareWords\(.*?\n\}\n", source, re.DOTALL).group(0)
words = {}
# What differs between kinds of links is in a table: its rows are InfiniBand's and Ethernet's.
of_links = read("contrib/rdma/core/link-words.h")
members = re.findall(r"const char\* (\w+);", of_links)
rows = [
    re.findall(r'"([^"]*)"', re.search(rf"k{kind}Words\{{(.*?)\}};", of_links, re.DOTALL).group(1))
    for kind in ("InfiniBand", "Ethernet")
]
if any(len(row) != len(members) for row in rows):
    sys.exit("FAILED: the words of links were not found: %s" % rows)
for share, text in re.findall(r"case TimeShare::(\w+):\s*return ([^;]*);", table):
    of_link = re.fullmatch(r"link\.(\w+)", text)
    words[share.lower()] = (
        [row[members.index(of_link.group(1))] for row in rows] if of_link else [text.strip('"')]
    )
if not any("credits" in one[0] for one in words.values()):
    sys.exit("FAILED: InfiniBand's words were not found")
words["host"] = re.findall(r'return "([^"]*)";\n\}', table)
failures = []
if sorted(words) != sorted(names):
    failures.append("shares %s, but words for %s" % (sorted(names), sorted(words)))
shown = ["README.md", *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
readme = "\n".join(read(os.path.join(ROOT, page)) for page in shown)
# A collective's chunks wait for one another as a rule, which is no fault.
words["pipelining"] = re.findall(
    r'PIPELINING =\s*"([^"]*)";', read("reports/attribution/message-parts.h")
)
for share in ("pipelining", "throttled", "serialization"):
    if "% " + words[share][0] not in " ".join(readme.split()):
        failures.append("no page shows %r" % words[share][0])
if re.search(r"\d% (behind earlier messages|serialization)", readme):
    failures.append("README.md or docs/ has old words")
print("\n".join(failures) or "passed")
sys.exit(1 if failures else 0)
