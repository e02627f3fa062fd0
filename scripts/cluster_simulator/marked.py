# SPDX-License-Identifier: GPL-2.0-only
"""Tables of measured numbers in pages of docs/: each stands behind a line <!-- TABLE: NAME -->."""


def table(head, rows):
    text = "| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n"
    return text + "".join("| " + " | ".join(row) + " |\n" for row in rows)


def marker(name):
    return f"<!-- TABLE: {name} -->"


def cells_of(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def find(text, name):
    """(begin, end) of the rows below the head of a table, in lines of a file."""
    lines = text.split("\n")
    places = [n for n, line in enumerate(lines) if line == marker(name)]
    if len(places) != 1:
        raise ValueError(f"{marker(name)} stands there {len(places)} times")
    begin = next((n for n in range(places[0], len(lines)) if lines[n].startswith("|")), None)
    if begin is None:
        raise ValueError(f"no table stands below {marker(name)}")
    begin += 2
    end = next(
        n for n in range(begin, len(lines) + 2) if n >= len(lines) or not lines[n].startswith("|")
    )
    return begin, end


def rows(text, name):
    """The cells of a table's rows."""
    begin, end = find(text, name)
    return [cells_of(line) for line in text.split("\n")[begin:end]]


def merge(text, name, measured):
    """The text of a file with measured rows in the place of a table's; what its rows have beyond
    them, to the right, stays.
    """
    begin, end = find(text, name)
    lines = text.split("\n")
    old = rows(text, name)
    new = []
    for cells in measured:
        kept = (
            next((row[len(cells) :] for row in old if row[0] == cells[0]), [])
            if old and len(old[0]) > len(cells)
            else []
        )
        new.append(f"| {' | '.join([*cells, *kept])} |")
    return "\n".join([*lines[:begin], *new, *lines[end:]])


def replace(text, name, head, measured):
    """The text of a file with a whole table, head and all, in the place of another."""
    begin, end = find(text, name)
    lines = text.split("\n")
    new = table(head, measured).rstrip("\n").split("\n")
    return "\n".join([*lines[: begin - 2], *new, *lines[end:]])
