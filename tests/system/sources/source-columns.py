# ctest: TIMEOUT 60
# SPDX-License-Identifier: GPL-2.0-only
"""C++, Python, shell and JavaScript have at most 100 columns. Longer is only text of another
language (a raw string, a here-document: JSON, what a program prints), and a word that cannot be
cut.
"""

import io
import os
import re
import subprocess
import sys
import tokenize

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT

MOST = 100


def sources():
    """(path, language) of every source that git tracks; of a tree without git, that there is."""
    done = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False
    )
    names = done.stdout.splitlines()
    if done.returncode:
        names = [
            os.path.relpath(os.path.join(folder, name), ROOT)
            for folder, _, files in os.walk(ROOT)
            for name in files
            if "/." not in os.path.relpath(folder, ROOT)
        ]
    for name in sorted(names):
        path = os.path.join(ROOT, name)
        ending = os.path.splitext(name)[1]
        if ending in (".cc", ".h"):
            yield name, "c++"
        elif ending == ".py":
            yield name, "python"
        elif ending == ".sh":
            yield name, "shell"
        elif ending == ".js":
            yield name, "javascript"
        elif not ending and os.path.isfile(path):
            with open(path, "rb") as file:
                first = file.readline(200)
            if first.startswith(b"#!"):
                yield name, "python" if b"python" in first else "shell"


def foreign_in_cpp(text):
    """The numbers of the lines that a raw string goes through."""
    for found in re.finditer(r'R"(\w*)\(.*?\)\1"', text, re.DOTALL):
        first = text.count("\n", 0, found.start()) + 1
        yield from range(first, first + found[0].count("\n") + 1)


def foreign_in_python(text):
    """The same of a string in triple quotes that is no docstring."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and re.match(r"\w*(\"\"\"|''')", token.string):
            if before not in (None, tokenize.NEWLINE, tokenize.INDENT):
                yield from range(token.start[0], token.end[0] + 1)
        if token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.DEDENT):
            before = token.type


def foreign_in_shell(text):
    """The same of here-documents."""
    end = None
    for number, line in enumerate(text.split("\n"), 1):
        if end is not None:
            yield number
            end = None if line.strip() == end else end
        else:
            found = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line)
            end = found[1] if found else None


FOREIGN = {
    "c++": foreign_in_cpp,
    "python": foreign_in_python,
    "shell": foreign_in_shell,
    "javascript": lambda text: (),
}


def one_word(line):
    """Such as a path or an address, and what must stand beside it."""
    return any(len(word) > MOST - 20 for word in line.split())


def too_long(language, text):
    """[(number, columns)]"""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if len(line) > MOST]
    if not lines:
        return []
    foreign = set(FOREIGN[language](text))
    return [
        (number, len(line))
        for number, line in lines
        if number not in foreign and not one_word(line)
    ]


# That a wrong one is found, and only such: a line of code, a comment, a docstring; not JSON.
wide = "x = 1 " * 20
for language, text, wrong in (
    ("c++", f"int a; // {wide}\n", 1),
    ("c++", f'const char* a = R"json({wide}\n{wide})json";\n', 0),
    ("c++", f'a(R"(x)"); // {wide}\n{wide}', 1),
    ("python", f'"""{wide}"""\n', 1),
    ("python", f'def f():\n    """{wide}"""\n', 1),
    ("python", f'A = """\n{wide}\n"""\n# {wide}\n', 1),
    ("shell", f"cat <<'EOF'\n{wide}\nEOF\n", 0),
    ("shell", f"cat <<EOF\nEOF\n# {wide}\n", 1),
    ("javascript", f'const a = "{wide}";\n', 1),
):
    if len(too_long(language, text)) != wrong:
        sys.exit(f"FAILED: {language}: {text!r}: {too_long(language, text)}")

count, failures = 0, []
for name, language in sources():
    count += 1
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        content = file.read()
    failures += [f"{name}:{n}: {columns} columns" for n, columns in too_long(language, content)]
if count < 500:
    sys.exit(f"FAILED: only {count} sources were found")
print("\n".join(failures) or f"passed: {count} sources")
sys.exit(1 if failures else 0)
