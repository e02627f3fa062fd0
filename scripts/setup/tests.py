#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the chosen tests need, read from their sources before anything is built.

    tests.py ROOT [-R REGEX] [-L REGEX] [other options of ctest]

Prints lines of two words: "target NAME" (what to build), "package KIND" (a key of TEST_PACKAGES in
packages.sh), "use programs", "use native" (the test-runner of ns-3's modules). Status 2, with one
line: no test matches, or an expression is none.
"""

import difflib
import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # a file that is new here would have the programs built anew
from ctest_names import BadExpression, Expression, plain  # noqa: E402

KINDS = ("unit", "native", "system", "setup", "identity", "fuzz")
# A system test needs what it, or a module of the tests that it imports, speaks of.
WORDS = {
    "tshark": r"\btshark\b",
    "browser": r"\b(selenium|chromium)\b",
    "notebook": r"\b(nbclient|nbformat|ipykernel|notebook)\b",
    "pip": r"\bpip\b",
    "torch": r"\b(torch|_capture|_cuda)\b",
    "python": r"\b(pandas|matplotlib|plot|report|notebook|cluster_simulator|scripts)\b",
}


class Test:
    """One test, or the tests of one file. `names`: what ctest calls them, as far as the source
    tells; a name that ends with "/" goes on with a parameter's name, made of `words`."""

    def __init__(self, kind, path, names, target=None, words=()):
        self.kind, self.path, self.names, self.target = kind, path, names, target
        self.words = words


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def short(path):
    """As tests/CMakeLists.txt names a script."""
    return re.sub(r"[-_]test$", "", os.path.basename(path).split(".")[0])


def unit_tests(root):
    for path in glob.glob(f"{root}/tests/unit/**/*.cc", recursive=True):
        folder = os.path.relpath(path, f"{root}/tests/unit").split(os.sep)[0]
        text = read(path)
        names = [
            f"{folder}.{suite}.{name}"
            for suite, name in re.findall(r"^TEST(?:_F)?\(\s*(\w+),\s*(\w+)\)", text, re.M)
        ]
        made = re.findall(r"^INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)", text, re.M)
        for suite, name in re.findall(r"^TEST_P\(\s*(\w+),\s*(\w+)\)", text, re.M):
            names += [f"{folder}.{m}/{suite}.{name}/" for m, of in made if of == suite]
        target = f"unit_{folder}_{os.path.basename(path).split('.')[0]}"
        yield Test("unit", path, names, target, parameter_words(root, folder, text) if made else ())


def parameter_words(root, folder, text):
    """What the names of a test's parameters may be made of: words of strings in the test, and in
    what it tests."""
    strings = ["GetParam byte object", *re.findall(r'"([^"\n]*)"', text)]
    folder = "contrib/rdma/core" if folder == "core" else folder
    for path in glob.glob(f"{root}/{folder}/**/*.[ch]*", recursive=True):
        strings += re.findall(r'"([\w-]+)"', read(path))
    return set(re.findall(r"[A-Za-z0-9]+", " ".join(strings)))


def native_tests(root):
    for path in glob.glob(f"{root}/contrib/*/test/*.cc"):
        names = re.findall(r'TestSuite\(\s*"([^"]+)"', read(path))
        yield Test("native", path, [f"native.{name}" for name in names])


def script_tests(root):
    for path in glob.glob(f"{root}/tests/system/*/*.py"):
        if "/system/shared/" not in path:
            yield Test("system", path, [f"system.{short(path)}"])
    for path in glob.glob(f"{root}/tests/setup/*-test.*"):
        yield Test("setup", path, [f"setup.{short(path)}"])
    for name, file in (("runs", "identity"), ("machinery", "machinery_test")):
        yield Test("identity", f"{root}/tests/identity/{file}.py", [f"identity.{name}"])
    for name in ("machinery", "kept", "seeds", "options", "files", "attributes", "folders"):
        yield Test("fuzz", f"{root}/tests/fuzz/fuzz.py", [f"fuzz.{name}"])


def option(arguments, names):
    """The last value, as ctest takes it; None: not given."""
    value, before = None, ""
    for word in arguments:
        name, equals, rest = word.partition("=")
        if before in names:
            value = word
        elif equals and name in names:
            value = rest
        before = word
    return value


def labels(test):
    """Beside its kind: full, of a test that only "./ns3 test --full" runs."""
    is_full = test.path.endswith((".py", ".sh")) and re.search(
        r"^# ctest: .*\bFULL\b", read(test.path), re.M
    )
    return [test.kind, "full"] if is_full else [test.kind]


def is_match(expression, test, name):
    return expression.matches(name, test.words if name.endswith("/") else None)


def is_chosen(test, regex, label):
    """By expressions; None: not given."""
    if label and not any(label.matches(of) for of in labels(test)):
        return False
    return not regex or any(is_match(regex, test, name) for name in test.names)


def refuse(message):
    print("error: test: " + message, file=sys.stderr)
    sys.exit(2)


def expression(arguments, short, long):
    text = option(arguments, (short, long))
    try:
        return Expression(text) if text else None
    except BadExpression as bad:
        refuse(f"{short} '{text}' is no regular expression of ctest: {bad}")


def refuse_none(tests, regex, label):
    given = [f"-L '{label.text}'"] if label else []
    given += [f"-R '{regex.text}'"] if regex else []
    # By the whole name, a test suite's name, or a part of it.
    near = {of: f"-L {of}" for test in tests for of in labels(test)} if not regex else {}
    for name in (name.rstrip("/") for test in tests for name in test.names if regex):
        for part in re.finditer(r"[^./]+", name):
            for text in (part[0], name[: part.end()], name[name.find(".") + 1 : part.end()]):
                near.setdefault(text.lower(), name[: part.end()])
    close = difflib.get_close_matches(plain((regex or label).text).lower(), near, 1)
    hint = f"nearest: {near[close[0]]}" if close else "./ns3 test alone runs all"
    refuse(f"no test matches {' '.join(given)}; {hint}")


def imported(path, seen):
    """A test script with the modules of the tests that it imports."""
    seen.add(path)
    for name in re.findall(r"^\s*(?:from|import) (\w+)", read(path), re.M):
        module = os.path.join(os.path.dirname(path), "..", "shared", name + ".py")
        module = os.path.normpath(module)
        if os.path.exists(module) and module not in seen:
            imported(module, seen)
    return seen


def packages_of(test):
    if test.kind in ("unit", "native", "setup"):
        return {"unit"} if test.kind == "unit" else set()
    text = read(test.path)
    if test.path.endswith(".py"):
        text = "".join(read(path) for path in imported(test.path, set()))
    return {kind for kind, words in WORDS.items() if re.search(words, text)}


def main():
    root, arguments = sys.argv[1], sys.argv[2:]
    regex = expression(arguments, "-R", "--tests-regex")
    label = expression(arguments, "-L", "--label-regex")
    expression(arguments, "-E", "--exclude-regex")
    expression(arguments, "-LE", "--label-exclude")
    tests = [*unit_tests(root), *native_tests(root), *script_tests(root)]
    chosen = [test for test in tests if is_chosen(test, regex, label)]
    if not chosen:
        refuse_none(tests, regex, label)
    lines = set()
    units = [test for test in chosen if test.kind == "unit"]
    if len(units) == sum(test.kind == "unit" for test in tests):
        lines.add("target unit_tests")
    else:
        lines |= {f"target {test.target}" for test in units}
    for test in chosen:
        lines |= {f"package {kind}" for kind in packages_of(test)}
        if test.kind == "system" and "compute_times" in read(test.path):
            lines.add("target compute_times")
        if test.kind == "native":
            lines.add("use native")
        elif test.kind in ("system", "identity", "fuzz"):
            lines.add("use programs")
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
