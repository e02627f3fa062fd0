#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The tests of a folder, unit or native, in a few files that include them.

    groups.py FOLDER OUTPUT     writes OUTPUT/0.cc, OUTPUT/1.cc, ...

Most of the time that a test takes to compile goes into its headers; tests of a group read them
once. Tests that use a name of another's unnamed namespace are in different groups.
"""

import os
import re
import sys

UNIT = os.path.dirname(os.path.abspath(__file__))
MOST = 160_000  # bytes of sources in a group; four groups or more keep all cores busy

# What stands at the start of a line: a type, an alias, a macro; a function or a variable.
TYPE = re.compile(r"^(?:struct|class|enum class|enum|#define) +(\w+)|^using +(\w+) *=", re.M)
VALUE = re.compile(
    r"^(?!TEST|INSTANTIATE|(?:using|namespace|struct|class|enum)\b)"
    r"(?:\w[\w:<>,&* ]*?[ &*])?(\w+)\s*[({=\[;]",
    re.M,
)
OPENED = re.compile(r"^using namespace ([\w:]+)", re.M)
# Not what belongs to an object or a scope.
WORD = re.compile(r"(?<![.\w:>])\w+")
HEADER = re.compile(r'^#include "(tests/unit/)?([^"]+\.h)"', re.M)  # of the tests' own
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"', re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def made_by(text):
    return {a or b for a, b in TYPE.findall(text)} | set(VALUE.findall(text))


class Source:
    """A test: the names that it makes, all that it uses, the namespaces that it opens."""

    def __init__(self, path):
        self.path = path
        text = read(path)
        headers = [
            os.path.join(UNIT if from_top else os.path.dirname(path), name)
            for from_top, name in HEADER.findall(text)
        ]
        text = COMMENT_OR_STRING.sub('""', text)
        self.size = len(text)
        self.made = made_by(text)
        self.used = set(WORD.findall(text))
        for header in filter(os.path.exists, headers):
            self.used |= made_by(read(header))
        self.opened = set(OPENED.findall(text))

    def clashes(self, other):
        # A name of two opened namespaces is ambiguous.
        return self.opened != other.opened or self.made & other.used or other.made & self.used


def groups_of(sources):
    groups = []
    for source in sources:
        for group in groups:
            size = sum(member.size for member in group) + source.size
            if size <= MOST and not any(source.clashes(member) for member in group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def write(path, text):
    """What is as before keeps its time: nothing is compiled again."""
    if os.path.exists(path) and read(path) == text:
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    folder, output = sys.argv[1:]
    sources = []
    for parent, _, names in os.walk(folder):
        sources += [Source(os.path.join(parent, name)) for name in names if name.endswith(".cc")]
    # Large ones first: small ones find a place in what is left.
    sources.sort(key=lambda source: (-source.size, source.path))
    groups = groups_of(sources)
    os.makedirs(output, exist_ok=True)
    for name in set(os.listdir(output)) - {f"{number}.cc" for number in range(len(groups))}:
        os.remove(os.path.join(output, name))
    for number, group in enumerate(groups):
        text = "".join(f'#include "{os.path.relpath(of.path, output)}"\n' for of in group)
        write(os.path.join(output, f"{number}.cc"), text)


if __name__ == "__main__":
    main()
