# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong with an outcome, if anything: the rules that every program and script keeps,
whatever it is given.

  status     0, 1, 2 or 3, and 130 only after Ctrl-C; 1, 2 and 3 with one clear error on standard
      error
  words      no abort of ns-3, no exception's own text, no traceback, no sanitizer's report
  time       over after 20 s, or it shows progress and Ctrl-C ends it with its files complete
  memory     an allocation that fails has been foreseen: refused, or announced
  terminal   no control characters, no broken UTF-8, no line of thousands of characters
  files      none of bad input or of a dry run; nothing half done; stats.json is JSON without NaN
"""

import json
import os
import re
import stat

import running

LONGEST_LINE = 3000  # lists of names are long; input that is echoed whole is longer
LEGAL = (0, 1, 2, 3)

# What nobody should see of the inside.
INSIDE = re.compile(
    r"terminate called|what\(\): |Traceback \(most recent call last\)|NS_FATAL|NS_ASSERT|assert"
    r" failed|cond=\"|msg=\"|"
    r"aborted\.|Aborted|Segmentation"
    r" fault|AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|runtime error: |"
    r"std::|bad_alloc|basic_string|vector::|map::at|deque::|json\.exception|nlohmann|stoi\b|stoul"
    r"|stod\b|"
    r"pure virtual|double free|free\(\)|munmap_chunk|core dumped|Fatal Python"
    r" error|RecursionError|MemoryError|"
    r"no option --\S+ in this table|Exception"
    r" ignored|RuntimeWarning|DeprecationWarning|FutureWarning|UserWarning"
)
# Control characters, C1 among them; a progress line may move within its own line.
ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# An error points at something: an option, a JSON path, a file with its line, a quoted value, a
# class of ns-3.
POINTS = re.compile(r"--?[A-Za-z]|(^|\s)/\w|'[^']*'|\"[^\"]*\"|ns3::|\S+\.\w+|\S+:\d+|DIR|FILE|=")
TEMPORARY = re.compile(r"\.(part|tmp|temp|new)$|~$|\.part\.|\.tmp\.|sqlite-journal$")


class Fault:
    def __init__(self, kind, text):
        self.kind = kind  # a word
        self.text = text  # the line that shows it

    def signature(self, case):
        """Two faults of the same signature are most likely one."""
        if self.kind == "terminal":  # one place prints all errors of a program
            return (
                f"{self.kind}|{case['run'][0]}"
                f"|{'long' if self.text.startswith('a line') else 'characters'}"
            )
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "Q", self.text)
        text = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?", "N", text)
        return f"{self.kind}|{case['run'][0]}|{text[:90]}"


def judge(case, outcome, folder):
    """The Fault, or None. `folder`: where the case ran."""
    err, out = _decode(outcome.err), _decode(outcome.out)
    said = out + "\n" + err
    if outcome.interrupted and not running.PROGRESS.search(err):
        return Fault(
            "hang", f"no end and no word for {running.HANG_S} s (then status {outcome.status})"
        )
    inside = INSIDE.search(said)
    if inside:
        traceback = inside[0].startswith("Traceback")
        return Fault(
            "inside",
            _traceback(said, inside.start()) if traceback else _line_at(said, inside.start()),
        )
    if outcome.interrupted:
        if outcome.status != 130:
            return Fault(
                "hang", f"no end, and Ctrl-C ends it with status {outcome.status}, not 130"
            )
    elif outcome.status < 0:
        return Fault("signal", f"ended by signal {-outcome.status}; {_last(err)}")
    elif outcome.status not in LEGAL:
        return Fault("status", f"status {outcome.status}; {_last(err)}")
    strange = CONTROL.search(said)
    if strange:
        return Fault(
            "terminal", f"U+{ord(strange[0]):04X} in: " + _visible(_line_at(said, strange.start()))
        )
    longest = max(err.split("\n"), key=len)
    if len(longest) > LONGEST_LINE and len(longest) > 2 * case.get("longest_line", 0):
        return Fault("terminal", f"a line of {len(longest)} characters: {_visible(longest)[:80]}")
    return (
        _judge_words(case, outcome, err)
        or _judge_files(case, outcome, folder)
        or _judge_expected(case, outcome, said)
    )


def _shown(word):
    """As the programs show it (contrib/rdma/core/shown-text.h): bytes of what acts on a terminal or
    is no UTF-8.
    """
    return ACTING.sub(
        lambda c: "".join(f"\\x{byte:02x}" for byte in c[0].encode("utf-8", "surrogateescape")),
        word,
    )


def _judge_words(case, outcome, err):
    lines = [line for line in err.split("\n") if line.strip()]
    errors = [
        line
        for line in lines
        if "error: " in line or line.startswith(("NOT COMPLETED", "report.html: "))
    ]
    script = case["run"][0].startswith("scripts/")
    if outcome.status in (1, 2):
        if re.search(
            r"out of memory|not enough memory|memory is exhausted", err
        ) and "dry-run" in " ".join(case["run"]):
            return Fault("memory", _last(err))
        named = [
            *case["run"][1:],
            *(word.partition("=")[2] for word in case["run"][1:]),
            *case.get("files", {}),
        ]
        named += [_shown(word) for word in named]
        named += [word[:80] for word in named if len(word) > 200]  # as messages cut them
        pointing = [
            line
            for line in errors or lines
            if POINTS.search(line.split("error: ", 1)[-1])
            or any(word and word in err for word in named)
        ]
        if not lines:
            return Fault("silence", f"status {outcome.status} without a word")
        if not errors and not script and not lines[0].startswith("usage:"):
            return Fault("words", f"status {outcome.status} without an error: {_last(err)}")
        if not pointing:
            return Fault("words", f"an error that points at nothing: {_last(err)}")
    if outcome.status == 3 and not re.search(r"NOT COMPLETED|error", err + _decode(outcome.out)):
        return Fault("silence", "status 3 without a word")
    if outcome.status == 0 and errors:
        return Fault("status", f"status 0 with an error: {errors[0]}")
    return None


def _judge_files(case, outcome, folder):
    new = sorted(name for name in outcome.new)
    dry = "--dry-run" in case["run"]
    if outcome.changed and not case.get("overwrites"):
        return Fault("files", f"changed what it was given: {outcome.changed[0]}")
    if (dry or outcome.status == 2) and new and not case.get("overwrites"):
        return Fault(
            "files",
            f"left behind with status {outcome.status}{' by a dry run' if dry else ''}: {new[0]}",
        )
    for name in new:
        if TEMPORARY.search(name):
            return Fault("files", f"left behind: {name}")
        if (
            os.path.basename(name) in ("stats.json", "timeline.json", "topology.json")
            and outcome.new[name][0] == stat.S_IFREG
        ):
            fault = _judge_json(os.path.join(folder, name))
            if fault:
                return fault
    return None


def _judge_json(path):
    def refuse(word):
        raise ValueError(f"{word} in it")

    try:
        with open(path, encoding="utf-8") as file:
            json.load(file, parse_constant=refuse)
    except (OSError, ValueError) as error:
        return Fault("files", f"{os.path.basename(path)}: {error}")
    return None


def _judge_expected(case, outcome, said):
    """What a kept case asks for beyond the rules."""
    expected = case.get("expect", {})
    if "status" in expected and outcome.status not in expected["status"]:
        return Fault(
            "expected", f"status {outcome.status}, not {expected['status']}: {_last(said)}"
        )
    for word in expected.get("says", []):
        if word not in said:
            return Fault("expected", f"does not say {word!r}: {_last(said)}")
    return None


def _decode(data):
    return data.decode("utf-8", "surrogateescape").replace("\r\x1b[K", "\n").replace("\r", "\n")


def _line_at(text, place):
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : end if end >= 0 else len(text)]


def _traceback(text, place):
    """Its last line, with the place in the source."""
    lines = text[place:].split("\n")
    ending = next((line for line in lines[1:] if line and not line.startswith(" ")), "")
    places = re.findall(r'File "[^"]*?([^"/]+)", line \d+, in (\S+)', text[place:])
    return _visible(f"traceback: {ending[:200]} in {' '.join(places[-1]) if places else '?'}")


def _last(text):
    lines = [line for line in text.split("\n") if line.strip()]
    return _visible(lines[-1])[:300] if lines else "(nothing said)"


def _visible(text):
    return text.encode("ascii", "backslashreplace").decode()
