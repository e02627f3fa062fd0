# The bounds of our prose, over every page: at most 30 words a sentence, 90 a paragraph, 25 a table
# cell, 120 columns a line. It judges no sense. Before the pages are judged, faulty text is, so that
# this test is known to find what it looks for.
#
#   words-test.py [PAGE...]      what is beyond the bounds in these pages, or in all
import os
import re
import sys

sys.path.insert(0, sys.path[0] + "/../system/shared")

from _pages import pages, read, without_blocks  # noqa: E402

SENTENCE, PARAGRAPH, CELL, COLUMNS = 30, 90, 25, 120
# Made from the programs: their words are those of --help.
GENERATED = {"docs/options.md", "docs/attributes.md", "docs/keys.md"}


def words(text):
    """Code, a link's address and marks count as one word, or none."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]*>", "", text)
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(text):
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    # A full stop behind an abbreviation or a number of a list ends nothing.
    text = re.sub(r"\b(e\.g|i\.e|vs|al|Fig|fig|No|no|sect|cf)\.", r"\1", text)
    return re.split(r"(?<=[.!?:;])[)\"'*_]*\s+", text)


def problems(page):
    """(line, what) of a page's text."""
    paragraph, begun, table = [], 0, False
    found = []

    def end():
        text = " ".join(paragraph)
        if text:
            count = len(words(text))
            if count > PARAGRAPH:
                found.append((begun, f"a paragraph of {count} words"))
            for sentence in sentences(text):
                count = len(words(sentence))
                if count > SENTENCE:
                    found.append((begun, f"a sentence of {count} words: {sentence[:60]}..."))
        paragraph.clear()

    for number, line in enumerate(without_blocks(page).split("\n"), 1):
        if line.startswith("<!-- TABLE:"):
            table = True
        if line.startswith("|"):
            end()
            if not table:
                for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                    count = len(words(cell))
                    if count > CELL:
                        found.append((number, f"a cell of {count} words: {cell.strip()[:60]}..."))
            continue
        if line.strip() and not line.startswith("<!--"):
            table = False
        if not line.strip() or re.match(r"#|<!--", line):
            end()
            continue
        if len(line) > COLUMNS and not re.search(r"\]\(|https?:|`", line):
            found.append((number, f"a line of {len(line)} columns"))
        if re.match(r"\s*([-*+]|\d+\.)\s", line):
            end()
            line = re.sub(r"^\s*([-*+]|\d+\.)\s+", "", line)
        if not paragraph:
            begun = number
        paragraph.append(line.strip())
    end()
    return found


def test_itself():
    word = "word "
    fine = [
        "Short. " * 90,
        word * 30 + ".",
        "| " + word * 25 + "| b |",
        "```\n" + word * 200 + "\n```",
        "    " + word * 200,
        "<!-- TABLE: x -->\n\n| a |\n|---|\n| " + word * 99 + "|",
        "- " + word * 20 + "\n- " + word * 20,
        "[" + word * 10 + "](https://example.org/" + "x" * 200 + ")",
    ]
    faulty = [
        ("Short. " * 91, "a paragraph of 91 words"),
        (word * 31 + ".", "a sentence of 31 words"),
        (word * 15 + "\n" + word * 16, "a sentence of 31 words"),
        ("| a | " + word * 26 + "|", "a cell of 26 words"),
        ("x" * 121, "a line of 121 columns"),
        ("- fine\n- " + word * 31, "a sentence of 31 words"),
    ]
    for text in fine:
        found = [what for _, what in problems(text) if "columns" not in what]
        assert not found, (text[:40], found)
    for text, what in faulty:
        assert any(said.startswith(what) for _, said in problems(text)), (text[:40], what)


def main():
    test_itself()
    bad = 0
    for page in sys.argv[1:] or pages():
        if page in GENERATED:
            continue
        for line, what in problems(read(page)):
            print(f"{page}:{line}: {what}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
