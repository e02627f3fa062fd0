# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the documentation share: the pages, their headings, links and blocks, as GitHub
renders them.
"""

import os
import re

from _system_test import ROOT

# Folders that hold no page of ours.
SKIPPED = {".git", ".ns3", "build", "results", "node_modules", "__pycache__", ".ipynb_checkpoints"}
FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")


def pages(root=ROOT):
    """Every *.md below the folder, as a path relative to it, sorted."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name for name in folders if name not in SKIPPED and not name.startswith("egg-info")
        ]
        found += [
            os.path.relpath(os.path.join(folder, name), root)
            for name in files
            if name.endswith(".md")
        ]
    return sorted(found)


def read(page, root=ROOT):
    with open(os.path.join(root, page), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """Fenced blocks: (words behind the fence, lines, number of the line after the opening
    fence).
    """
    found, fence, words, lines, start = [], None, "", [], 0
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence, words, lines, start = match.group(1), match.group(2).strip(), [], number + 1
        elif (
            fence is not None
            and match
            and match.group(1).startswith(fence)
            and not match.group(2).strip()
        ):
            found.append((words, lines, start))
            fence = None
        elif fence is not None:
            lines.append(line)
    if fence is not None:
        raise AssertionError(f"line {start - 1}: a block that does not end")
    return found


def without_blocks(text):
    """The text with empty lines in place of fenced and indented blocks, so that numbers of lines
    stay.
    """
    out, fence, before = [], None, ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match.group(1)
            out.append("")
        elif fence is not None:
            if match and match.group(1).startswith(fence) and not match.group(2).strip():
                fence = None
            out.append("")
        elif line.startswith("    ") and (not before.strip() or before == "\0"):
            out.append("")
            before = "\0"
            continue
        else:
            out.append(line)
        before = line
    return "\n".join(out)


def slug(heading):
    """The anchor that GitHub gives a heading: lower case, no punctuation, blanks to hyphens."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[`*]", "", text).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", text))


def anchors(text):
    """Anchors of a page: of its headings (a second one of the same name is name-1), and <a
    name=...>.
    """
    found, seen = set(), {}
    plain = without_blocks(text)
    for heading in re.findall(r"^#{1,6} +(.*?)\s*#*$", plain, re.MULTILINE):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found | set(re.findall(r'<a (?:name|id)="([^"]+)"', plain))


def links(text):
    """(line, target) of every link that is no address: [text](target) and [text]: target."""
    plain = without_blocks(text)
    found = []
    for number, line in enumerate(plain.split("\n"), 1):
        line = re.sub(r"`[^`]*`", "", line)
        targets = re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", line) + re.findall(
            r"^\[[^\]]+\]:\s+<?(\S+?)>?$", line
        )
        found += [
            (number, target) for target in targets if not re.match(r"[a-z][a-z0-9+.-]*:", target)
        ]
    return found
