# SPDX-License-Identifier: GPL-2.0-only
"""Text from outside (a name, a path, a value of somebody else's file) in what is printed, as the
programs show it (contrib/rdma/core/shown-text.h): nothing acts on the terminal, nothing is endless.

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

import re

# Control characters C0, DEL, C1 (ECMA-48), separators, and what turns the direction of writing
# round (Unicode annex 9).
ACTING = {
    code: "".join(f"\\x{byte:02x}" for byte in chr(code).encode("utf-8"))
    for codes in (
        range(0x20),
        range(0x7F, 0xA0),
        (0x2028, 0x2029),
        range(0x202A, 0x202F),
        range(0x2066, 0x206A),
    )
    for code in codes
}
# Python's stand-ins for bytes that are no UTF-8 (PEP 383).
ACTING.update({0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)})
ACTING_IN_LINES = {code: escape for code, escape in ACTING.items() if chr(code) not in "\n\t"}


def printable(text, most=400):
    """In one line and without effect on a terminal; cut if it is longer."""
    safe = _escaped(str(text), ACTING)
    return safe if len(safe) <= most else safe[: most - 4] + " ..."


def complaint(error, most=2000):
    """What an error says, in one line: a word without end (a path of 4,000 characters) is cut, so
    that what is wrong with it is still read; and what begins with an empty name has it in
    quotes.
    """
    text = re.sub(r"\S{200,}", lambda word: f"{word[0][:80]}...{word[0][-20:]}", str(error))
    return printable("''" + text if text.startswith(":") else text, most)


def printable_lines(text):
    """Without effect on a terminal but for line ends and tabulators."""
    return _escaped(text, ACTING_IN_LINES)


def shown(value, most=60):
    """A value of somebody else's file, fit for a message."""
    if isinstance(value, (dict, list)):
        return "(an object)" if isinstance(value, dict) else "(a list)"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**most:
        # Python refuses to print those of 4,300 digits
        return f"(an integer of {value.bit_length()} bits)"
    return printable(repr(value) if isinstance(value, str) else str(value), most)


def _escaped(text, table):
    return text.translate(table).encode("utf-8", "backslashreplace").decode("utf-8")
