# SPDX-License-Identifier: GPL-2.0-only
"""Mutations of files: of JSON by its structure, of tables by lines and fields, of anything by
bytes, and of what a file is (a FIFO, a folder, a link to itself).

Every function takes a random.Random and returns what a case says of a file (running.lay).
"""

import json

import running
import values

# ---- what a file is

KINDS = [
    {"fifo": True},
    {"directory": True},
    {"missing": True},
    {"link": "/dev/zero"},
    {"link": "/dev/null"},
    {"link": "nowhere"},
    {"link": "/proc/self/mem"},
    {"repeat": ["", "\x00", 1000, ""]},
    {"repeat": ["", " ", 3000000, ""]},
    {"repeat": ["", "[", 200000, ""]},
    {"repeat": ["", '{"a":', 200000, ""]},
    {"repeat": ["", "1\n", 300000, ""]},
    {"repeat": ["", "0 1 2 3 4 5\n", 200000, ""]},
    {"repeat": ["", "x", 5000000, "\n"]},
    "",
    "\n",
    " ",
    "\x00",
    "\ufeff",
    "null",
    "true",
    "0",
    "-1",
    '""',
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "[null]",
    '{"": ""}',
    "NaN",
    "#",
    "# \n",
    "//\n{}",
    ",",
    "\n\n\n",
    "a",
    "1",
    "1 1 1",
    "0 0 0\n",
    "-1 -1 -1\n",
]


# ---- JSON


class Raw:
    """A number or word as it is written: 1e999, NaN."""

    def __init__(self, text):
        self.text = text


class Pairs(list):
    """An object as a list of (key, value), so that keys can come twice."""


def tree_of(value):
    if isinstance(value, dict):
        return Pairs((key, tree_of(part)) for key, part in value.items())
    if isinstance(value, list):
        return [tree_of(part) for part in value]
    return value


def text_of(tree):
    if isinstance(tree, Raw):
        return tree.text
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{_key(key)}: {text_of(part)}" for key, part in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(text_of, tree)) + "]"
    return json.dumps(tree, ensure_ascii=False)


def _key(key):
    return key.text if isinstance(key, Raw) else json.dumps(key, ensure_ascii=False)


JSON_VALUES = (
    [
        Raw(text)
        for text in (
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "-1",
            "2",
            "0.5",
            "1.5",
            "1e3",
            "1e999",
            "-1e999",
            "1e-999",
            "1e308",
            "NaN",
            "Infinity",
            "-Infinity",
            "4294967295",
            "4294967296",
            "2147483648",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "9" * 400,
            "1" + "0" * 310,
            "0x10",
            "01",
            "1.",
            ".5",
            "+1",
            "--1",
            "'a'",
            "undefined",
            "[]",
            "{}",
            "[[]]",
            "[{}]",
            '{"a": 1}',
            "[1, 2]",
            '["a"]',
            "[null]",
            '[[["a"]]]',
            '"\\ud800"',
            '"\\u0000"',
            '"\\u001b[31m"',
            '"\\x"',
            '"a',
            "[" * 600 + "]" * 600,
            "100000",
            "1000000",
            "100000000",
        )
    ]
    + values.WORDS
    + values.NUMBERS
    + values.SIZES
    + values.RATES
    + values.TIMES
    + ["tiny.json", "fifo", "/dev/zero"]
)


def _places(tree, found, parent=None, index=None):
    """Every node with where it hangs."""
    found.append((parent, index))
    if isinstance(tree, Pairs):
        for i, (_, part) in enumerate(tree):
            _places(part, found, tree, i)
    elif isinstance(tree, list):
        for i, part in enumerate(tree):
            _places(part, found, tree, i)
    return found


def _get(parent, index):
    return parent[index][1] if isinstance(parent, Pairs) else parent[index]


def _put(parent, index, value):
    parent[index] = (parent[index][0], value) if isinstance(parent, Pairs) else value


def json_mutation(rng, text):
    """A JSON text with one to three changes of its structure."""
    tree = tree_of(json.loads(text))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        tree = _change(rng, tree)
    return text_of(tree)


def _change(rng, tree):
    places = [place for place in _places(tree, []) if place[0] is not None]
    if not places or rng.random() < 0.01:
        return rng.choice(JSON_VALUES)
    parent, index = rng.choice(places)
    value = _get(parent, index)
    how = rng.randrange(12)
    if how <= 4:
        _put(parent, index, rng.choice(JSON_VALUES))
    elif how == 5:
        del parent[index]
    elif how == 6:
        parent.insert(index, parent[index])  # twice
    elif how == 7 and isinstance(parent, Pairs):
        key = parent[index][0]
        parent[index] = (
            rng.choice(
                [
                    str(key) + "x",
                    "",
                    str(key).upper(),
                    str(key)[:-1],
                    " " + str(key),
                    rng.choice(values.WORDS),
                    Raw("a"),
                    Raw("1"),
                ]
            ),
            value,
        )
    elif how == 8 and isinstance(parent, Pairs):
        parent.insert(
            index,
            (
                rng.choice(values.WORDS + ["extra", "name", "layers", "ns3"]),
                rng.choice(JSON_VALUES),
            ),
        )
    elif how == 9:
        _put(parent, index, [value] * rng.choice((0, 1, 2, 3, 1000)))
    elif how == 10:
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 1
        _put(
            parent,
            index,
            Raw(
                repr(
                    rng.choice(
                        [
                            -number,
                            number * 10,
                            number * 1e6,
                            number / 3,
                            number + 1,
                            number - 1,
                            number * 1e30,
                            number * 1000000007,
                        ]
                    )
                )
            ),
        )
    else:
        if isinstance(value, list) and not isinstance(value, Pairs):
            rng.shuffle(value)
        elif isinstance(value, str):
            _put(parent, index, text_damage(rng, value))
        else:
            _put(parent, index, str(value) if not isinstance(value, (Pairs, Raw)) else None)
    return tree


# ---- tables of lines and fields

FIELD_VALUES = (
    values.NUMBERS
    + values.WORDS[:60]
    + values.RATES
    + values.TIMES
    + ["-1", "0", "1e999", "nan", "4294967296", "99999"]
)


def table_mutation(rng, text, separator):
    """One to three changes; separator None: white space."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        fields = lines[at].split(separator)
        joint = separator or " "
        how = rng.randrange(14)
        if how <= 5 and fields:
            fields[rng.randrange(len(fields))] = rng.choice(FIELD_VALUES)
            lines[at] = joint.join(fields)
        elif how == 6 and fields:
            del fields[rng.randrange(len(fields))]
            lines[at] = joint.join(fields)
        elif how == 7:
            lines[at] = joint.join(fields + [rng.choice(FIELD_VALUES)])
        elif how == 8:
            del lines[at]
            lines = lines or [""]
        elif how == 9:
            lines[at:at] = [lines[at]] * rng.choice((1, 1, 2, 50))
        elif how == 10:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif how == 11 and fields:
            i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
            fields[i], fields[j] = fields[j], fields[i]
            lines[at] = joint.join(fields)
        elif how == 12:
            lines[at] = text_damage(rng, lines[at])
        else:
            lines.insert(
                at,
                rng.choice(
                    ["", "#", "# x", "a b c", '"', "\x00", "\t\t", ",,,,", rng.choice(FIELD_VALUES)]
                ),
            )
    return "\n".join(lines)


# ---- anything

INSERTED = [
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\udcff",
    "\udcc3",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "-",
    "e",
    ".",
    "#",
    "0",
    "9" * 30,
    " ",
    "\ufeff",
    "%",
    "/",
    "<",
    "a" * 4000,
    "\x7f",
    "\u0085",
]


def text_damage(rng, text):
    """One change of characters."""
    at = rng.randrange(len(text) + 1)
    how = rng.randrange(5)
    if how == 0:
        return text[:at]
    if how == 1:
        return text[:at] + rng.choice(INSERTED) + text[at:]
    if how == 2:
        return text[:at] + text[at + rng.choice((1, 1, 2, 10)) :]
    if how == 3:
        return text[:at] + rng.choice(INSERTED) + text[at + 1 :]
    end = min(len(text), at + rng.choice((1, 5, 40)))
    return text[:end] + text[at:end] + text[end:]


def byte_damage(rng, content):
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(4)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at:at] = bytes(
                [rng.choice((0, 0x0A, 0x0D, 0x1B, 0x22, 0x2C, 0x7F, 0x80, 0xC3, 0xFE, 0xFF))]
            )
        elif how == 2:
            del data[at : at + rng.choice((1, 4, 100))]
        else:
            data[at:at] = data[max(0, at - rng.choice((1, 8, 200))) : at]
    return bytes(data)


def whole_text(rng, text):
    """The same content in another dress: most of these are the same file to a reader who is
    kind.
    """
    return rng.choice(
        [
            lambda: text.rstrip("\n"),
            lambda: text + "\n\n\n",
            lambda: text.replace("\n", "\r\n"),
            lambda: text.replace("\n", "\r"),
            lambda: "\ufeff" + text,
            lambda: {"base64": _base64(text.encode("utf-16", "surrogatepass"))},
            lambda: {"base64": _base64(text.encode("utf-32", "surrogatepass"))},
            lambda: {"base64": _base64(text.encode("latin-1", "replace") + b"\xe9\xff")},
            lambda: text + "\x00",
            lambda: text + text,
            lambda: text + " x",
            lambda: "# a remark\n" + text,
            lambda: text.upper(),
            lambda: text.replace(" ", "\t"),
            lambda: text.replace("\n", ""),
            lambda: {"repeat": ["", text, 200, ""]},
            lambda: {"repeat": [text, "\n", 100000, ""]},
            lambda: {"repeat": [text, " ", 1000000, ""]},
            lambda: text[::-1],
        ]
    )()


def _base64(content):
    import base64

    return base64.b64encode(content).decode()


def mutation(rng, text, form):
    """A mutation of a file's text; form: "json", "," or "\t" (tables), " " (fields by white
    space), "bytes"."""
    how = rng.random()
    if how < 0.04:
        return rng.choice(KINDS)
    if how < 0.10:
        return whole_text(rng, text)
    if how < 0.20:
        return running.packed(byte_damage(rng, text.encode("utf-8", "surrogateescape")))
    if how < 0.28:
        return text_damage(rng, text)
    if form == "json":
        try:
            return json_mutation(rng, text)
        except ValueError:
            return text_damage(rng, text)
    if form == "bytes":
        return running.packed(byte_damage(rng, text.encode("utf-8", "surrogateescape")))
    return table_mutation(rng, text, None if form == " " else form)
