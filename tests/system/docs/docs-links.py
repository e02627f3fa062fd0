# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 60
"""Links of the documentation: every one leads to a file that is there and to a heading that is
there, and every page is reached from README.md."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.append(sys.path[0] + "/../shared")
from _pages import anchors, blocks, links, pages, read, slug
from _system_test import ROOT, main


def complaints(root):
    """What is wrong with the links of all pages below a folder, in words."""
    wrong = []
    reached, todo = set(), ["README.md"]
    known = pages(root)
    targets = {page: links(read(page, root)) for page in known}
    for page in known:
        for line, target in targets[page]:
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if path.startswith("/") or name.startswith(".."):
                wrong.append(f"{page}:{line}: {target} leads out of the repository")
            elif not os.path.exists(os.path.join(root, name)):
                wrong.append(f"{page}:{line}: {target}: there is no {name}")
            elif anchor and name.endswith(".md") and anchor not in anchors(read(name, root)):
                wrong.append(f"{page}:{line}: {target}: {name} has no heading '{anchor}'")
    while todo:
        page = todo.pop()
        if page in reached or page not in targets:
            continue
        reached.add(page)
        for _, target in targets[page]:
            path = urllib.parse.unquote(target).partition("#")[0]
            name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if os.path.isdir(os.path.join(root, name)):
                name = os.path.join(name, "README.md")  # what GitHub shows of a folder
            todo.append(name)
    return wrong + [
        f"{page}: no link leads there from README.md" for page in known if page not in reached
    ]


def others():
    """Relative paths of pages and headings in files that are no Markdown: "docs/x.md",
    `x.md#heading`.
    """
    found = []
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False
    )
    for name in listed.stdout.split("\n"):
        if (
            not name
            or name.endswith((".md", ".ipynb", ".csv"))
            or name.startswith(("tests/fuzz/cases/", "tests/system/docs/"))
        ):
            continue
        try:
            text = read(name)
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for match in re.finditer(
            r"(?<![\w/.-])((?:docs|tests/fuzz|tests/identity|scenarios/presets/cc)/[\w-]+\.md"
            r"|CONTRIBUTING\.md)(?:#([\w-]+))?",
            text,
        ):
            found.append(
                (
                    f"{name}:{text.count(chr(10), 0, match.start()) + 1}",
                    match.group(1),
                    match.group(2),
                )
            )
    return found


class Links(unittest.TestCase):
    maxDiff = None

    def test_every_link_leads_somewhere_and_every_page_is_reached(self):
        self.assertEqual("\n".join(complaints(ROOT)), "")

    def test_pages_named_in_other_files_are_there(self):
        for where, page, anchor in others():
            self.assertTrue(os.path.exists(os.path.join(ROOT, page)), f"{where} names {page}")
            if anchor:
                self.assertIn(anchor, anchors(read(page)), where)

    def test_the_contents_page_has_questions(self):
        """At least twenty, each with a link to a heading, or to a page that is one answer; and
        every page of docs/ is in it.
        """
        text = read("docs/README.md")
        questions = [line for line in text.split("\n") if re.match(r"(- |\| ).*\?", line)]
        self.assertGreaterEqual(len(questions), 20)
        for line in questions:
            self.assertTrue(links(line), f"no link: {line}")
        listed = {
            os.path.normpath(os.path.join("docs", target.partition("#")[0]))
            for _, target in links(text)
        }
        for page in pages():
            if page.startswith("docs" + os.sep) and page != "docs/README.md":
                self.assertIn(page, listed, "docs/README.md does not name it")

    def test_blocks_end_and_pages_have_one_title(self):
        for page in pages():
            blocks(read(page))
            titles = re.findall(
                r"^# ",
                "\n".join(
                    line
                    for line in re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S).split(
                        "\n"
                    )
                ),
                re.M,
            )
            self.assertEqual(len(titles), 1, page)

    def test_the_test_finds_what_is_wrong(self):
        self.assertEqual(
            slug("Links, and `--cc=NAME`: what *is* it?"), "links-and---ccname-what-is-it"
        )
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "docs"))
            files = {
                "README.md": (
                    "# A\n\n## B c\n\n## B c\n"
                    "[x](docs/y.md#z-1) [w](#b-c-1) [v](#b-c-2) `[no](link)`\n\n"
                    "    [no](link)\n\n```\n[no](link)\n```\n"
                ),
                "docs/y.md": (
                    "# Y\n\n## Z\n"
                    "[up](../../out.md) [gone](gone.md) [at](https://example.org)\n## Z\n"
                ),
                "docs/lonely.md": "# L\n",
            }
            for name, text in files.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(
                [text.split(": ")[0] for text in complaints(root)],
                ["README.md:6", "docs/y.md:4", "docs/y.md:4", "docs/lonely.md"],
            )


if __name__ == "__main__":
    main()
