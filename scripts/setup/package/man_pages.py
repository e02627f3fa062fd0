# SPDX-License-Identifier: GPL-2.0-only
"""A man page of a program, made of its --help."""

import re
import subprocess

TEXT = 32  # the column in which --help describes an option (scenarios/options/options-help.cc)
SEE_ALSO = ("collperf", "dlgoodput", "dlplan", "dlserve", "dltrain", "traffic")


def escaped(text):
    """As roff reads it: a dash is typed, and no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def paragraphs(text):
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text) if block.strip()]


def rows(lines):
    """(option, description) of a section."""
    found = []
    for line in lines:
        if line.startswith(" " * TEXT) and found:
            found[-1][1].append(line.strip())
        elif len(line) > TEXT and line[TEXT - 1] == " " and line[TEXT] != " ":
            found.append((line[:TEXT].strip(), [line[TEXT:].strip()]))
        else:
            left, _, text = line.strip().partition("  ")
            found.append((left, [text.strip()] if text else []))
    return [(left, " ".join(text)) for left, text in found]


def sections(text):
    """(heading, lines) of what stands behind the introduction."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            found.append((line, []))
        elif line.strip() and found:
            found[-1][1].append(line)
    return found


def preformatted(lines):
    return [".nf", *(escaped(line.strip()) or "." for line in lines), ".fi"]


def names(lines):
    found = []
    for line in lines:
        if line.startswith("    ") and found:
            found[-1][1].append(line.strip())
        else:
            name, _, rest = line.strip().partition(": ")
            found.append((name, [rest]))
    return [(name, " ".join(text)) for name, text in found]


def page(name, path, version):
    """Text of NAME.1."""
    done = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)
    # The introduction has no options; the first section begins behind an empty line.
    about, usage, *rest = re.split(r"\n\n", done.stdout, maxsplit=2)
    summary = " ".join(about.split()).partition(" - ")[2]
    explained = " ".join(usage.split("\n")[1:])
    out = [
        f'.TH {name.upper()} 1 "" "dltrain {version}" "dltrain"',
        ".SH NAME",
        f"{name} \\- {escaped(summary)}",
        ".SH SYNOPSIS",
        f".B {name}",
        "[\\fI\\-\\-option\\fR=\\fIvalue\\fR ...]",
        ".SH DESCRIPTION",
        escaped(explained),
        ".SH OPTIONS",
    ]
    for heading, lines in sections("\n".join(rest)):
        if heading == "Examples":
            out += [".SH EXAMPLES", *preformatted(lines)]
        elif heading.startswith("Names"):
            out += [".SH NAMES", "Described by \\fB\\-\\-list\\fR=\\fIWHAT\\fR."]
            for what, text in names(lines):
                out += [".TP", f".B {escaped(what)}", escaped(text)]
        else:
            out += [f'.SS "{escaped(heading)}"']
            for left, text in rows(lines):
                out += [".TP", f".B {escaped(left)}", escaped(text)]
    others = [other for other in SEE_ALSO if other != name]
    out += [
        ".SH FILES",
        "A run writes to \\fIresults/\\fR in the current folder, or to the folder of "
        "\\fB\\-\\-out\\fR.",
        ".SH EXIT STATUS",
        "0: done. 1: the system failed (a full disk, no memory). 2: bad input. 3: the simulation",
        "could not go on.",
        ".SH SEE ALSO",
        ", ".join(f"\\fB{other}\\fR(1)" for other in others),
    ]
    return "\n".join(line for line in out if line.strip()) + "\n"
