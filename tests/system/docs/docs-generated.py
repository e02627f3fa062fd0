# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""docs/options.md, docs/attributes.md, docs/keys.md, the report's words (options.json and
meanings.json) and the columns of tables (columns.json) are made of what the programs say of
themselves, and are current.

    docs-generated.py --update     writes them anew (programs have to be built)
"""

import collections
import functools
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _pages import read
from _system_test import PROGRAMS, ROOT, captured, main, taken

UPDATE = taken("--update")

NAMES = ["dltrain", "collperf", "traffic", "dlserve"]
# The options that a program has beside dltrain's.
OWN = {"dlplan": "Planning", "dlgoodput": "Goodput"}
MADE = "<!-- Made by tests/system/docs/docs-generated.py --update: do not edit. -->"


@functools.lru_cache(maxsize=None)
def say(program, *arguments):
    """What a program prints; asked once."""
    environment = {key: value for key, value in os.environ.items() if key != "NS_ATTRIBUTE_DEFAULT"}
    # (--PrintAttributes leaves a folder for results behind.)
    with tempfile.TemporaryDirectory() as folder:
        run = captured(
            [os.path.join(PROGRAMS, program), *arguments], timeout=60, env=environment, cwd=folder
        )
    if run.returncode:
        raise AssertionError(
            f"{program} {' '.join(arguments)}: status {run.returncode}\n{run.stderr}"
        )
    return run.stdout


def cell(text):
    """Text of a cell of a table: what Markdown would take for its own is shown as it is."""
    return re.sub(r"([|*<>_\[\]])", r"\\\1", text)


def code(text):
    return "`" + text.replace("|", "\\|") + "`"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


# ---- options


class Option:
    """An option as --help shows it: left column, help, default."""

    def __init__(self, group, left):
        self.group = group
        self.left = left
        self.text = ""
        self.name = re.search(r"--([a-z0-9-]+)", left).group(1)

    def finish(self, described):
        # The column "needs" has the conditions.
        self.text = re.sub(r"; needs [^\[]*?(; also --|(?= \[| \(JSON:)|$)", r"\1", self.text)
        match = re.match(r"(.*?)(?: \[default:? (.*)\])?(?: \(JSON: \S+\))?$", self.text)
        self.help, self.default = match.group(1), match.group(2) or ""
        self.path = described[self.name].get("path", "")
        self.attributes = tuple(described[self.name].get("attributes", []))
        self.needs = described[self.name].get("needs", [])
        return self

    def key(self):
        return self.name, self.left, self.help, self.default, self.path, self.attributes


def options_of(program):
    """Groups in their order, and the options of --help, with what --help=options says of them."""
    described = {o["name"]: o for o in json.loads(say(program, "--help=options"))["options"]}
    groups, found = [], []
    for line in say(program, "--help").split("\n"):
        if line.startswith(" " * 32) and found and groups:
            found[-1].text += (" " if found[-1].text else "") + line.strip()
        elif re.match(r"  -", line) and groups:
            if groups[-1].startswith("ns-3 "):
                continue
            left, _, text = line.strip().partition("  ")
            found.append(Option(groups[-1], left))
            found[-1].text = text.strip()
        elif match := re.match(r"(\S.*?)(?:  \(JSON: \S+\))?$", line):
            if match.group(1) in ("Examples",) or match.group(1).startswith("Names "):
                break
            groups.append(match.group(1))
    if {o.name for o in found} != set(described):
        raise AssertionError(
            f"{program}: --help and --help=options differ: "
            f"{sorted({o.name for o in found} ^ set(described))}"
        )
    used = [group for group in groups if any(o.group == group for o in found)]
    return used, [o.finish(described) for o in found]


def lists_of(program):
    options = json.loads(say(program, "--help=options"))["options"]
    return [
        name
        for o in options
        if o["name"] == "list"
        for name in o["names"]
        if name not in ("options", "results")
        # (Names of one option stand with it.)
        and not say(program, f"--list={name}").startswith("--")
    ]


def list_table(text):
    """--list=WHAT: a title, then names with what they are; more lines of a description are
    indented.
    """
    title, *lines = text.rstrip("\n").split("\n")
    rows = []
    for line in lines:
        if match := re.match(r"  (\S+)(?:\s+(.*))?$", line):
            rows.append([match.group(1), match.group(2) or ""])
        else:
            rows[-1][1] += " " + line.strip()
    return title, rows


def shared_needs(all_needs):
    """Conditions that most options of a group have: written once."""
    counts = collections.Counter(need for needs in all_needs for need in needs)
    return [need for need, count in counts.items() if count > max(2, 0.6 * len(all_needs))]


def with_shared(needs, shared):
    """An option's conditions; an asterisk for the shared ones, if it has all of them."""
    if not shared or not set(shared) <= set(needs):
        return needs
    return [need for need in needs if need not in shared] + ["*"]


def options_page():
    groups, rows, needs = [], {}, {}
    for program in NAMES:
        used, found = options_of(program)
        # A group that this program has and those before had not comes after the one before it.
        for place, group in enumerate(used):
            if group not in groups:
                groups.insert(groups.index(used[place - 1]) + 1 if place else len(groups), group)
        for option in found:
            rows.setdefault((option.group, option.key()), []).append(program)
            mine = needs.setdefault((option.group, option.key()), [])
            mine += [need for need in option.needs if need not in mine]
    for program, group in OWN.items():
        for option in options_of(program)[1]:
            if option.group == group:
                rows[(option.group, option.key())] = [program]
                needs[(option.group, option.key())] = option.needs
        groups.append(group)
    lines = [
        "# Options",
        "",
        MADE,
        "",
        (
            "Every option of the programs, from their `--help`. `dlplan` has all of `dltrain`'s and"
            " those of [planning](#planning), `dlgoodput` those of [goodput](#goodput)."
            " [Attributes](attributes.md) are those of ns-3;"
            " [outputs](outputs.md) are described elsewhere."
        ),
        "",
        (
            "An option can stand on the command line (`--mtu=1024`) or, at its path, in a scenario"
            ' file (`/fabric/mtu`: `{"fabric": {"mtu": 1024}}`, `--scenario=FILE.json`); the'
            " command line wins. In Python it is an argument with underscores (`mtu=1024`). Sizes:"
            " 40MB = 40 * 10^6 bytes, 25MiB and 25M = 25 * 2^20. Times: 500ns, 1us, 2ms. Rates:"
            " 100Gbps. An option that is not in all programs, or has another default in one, names"
            " its programs; one that is an [attribute](attributes.md) of ns-3 names that. The"
            ' column "needs" lists the conditions under which an option applies. Elsewhere it is an'
            " error,"
            " or a note says that it has no effect."
        ),
        "",
    ]
    lines += [
        f"- [{group}](#{re.sub(r'[^a-z0-9- ]', '', group.lower()).replace(' ', '-')})"
        for group in groups
    ]
    lines += ["- [Names](#names)", ""]
    for group in groups:
        shared = shared_needs([found for (of, _), found in needs.items() if of == group])
        lines += [f"## {group}", ""]
        if shared:
            lines += [f"\\* stands for: {cell('; '.join(shared))}.", ""]
        lines += [
            row("option", "JSON", "what it does", "default", "needs", "programs"),
            "|---|---|---|---|---|---|",
        ]
        # Options of one name stand together, in the order of their first.
        mine = [(key, programs) for (of, key), programs in rows.items() if of == group]
        names = list(dict.fromkeys(key[0] for key, _ in mine))
        for key in sorted((key for key, _ in mine), key=lambda key: names.index(key[0])):
            _, left, text, default, path, attributes = key
            programs = rows[(group, key)]
            letter = re.match(r"(-\w), (.*)$", left)
            shown = f"{code(letter.group(1))}, {code(letter.group(2))}" if letter else code(left)
            lines.append(
                row(
                    shown,
                    code(path) if path else "",
                    ", ".join([cell(text), *map(code, attributes)]),
                    cell(default),
                    cell("; ".join(with_shared(needs[(group, key)], shared))),
                    "" if programs == NAMES else ", ".join(programs),
                )
            )
        lines.append("")
    lines += ["## Names", "", "What `--list=WHAT` (or `--help=WHAT`) prints.", ""]
    for what in dict.fromkeys(name for program in NAMES for name in lists_of(program)):
        titles = {}
        for program in NAMES:
            if what in lists_of(program):
                title, entries = list_table(say(program, f"--list={what}"))
                titles.setdefault((title, tuple(map(tuple, entries))), []).append(program)
        for (title, entries), programs in titles.items():
            of = "" if len(titles) == 1 else f" ({', '.join(programs)})"
            lines += [f"### `{what}`{of}", "", cell(title) + ".", "", row("name", ""), "|---|---|"]
            lines += [row(code(name), cell(text)) for name, text in entries] + [""]
    return "\n".join(lines).rstrip("\n") + "\n"


def name_beside(option):
    """The option's name if its path does not end in it: /launch/ranks is --capture-ranks."""
    word = option["path"].split("/")[-1].replace("_", "-")
    return [] if word == option["name"] else [option["name"]]


def option_words():
    """JSON paths of options, and of each its group and what it is: for the report, which runs
    without the programs. Its name, too, where the path's last word is another. "all": of whatever
    program; under a program's name what is otherwise there.
    """
    words = {
        program: {
            option["path"]: [option["group"], option["description"], *name_beside(option)]
            for option in json.loads(say(program, "--list=options"))["options"]
            if "path" in option
        }
        for program in NAMES
    }
    shared = {}
    for mine in words.values():
        for path, word in mine.items():
            shared.setdefault(path, word)
    own = {
        program: {path: word for path, word in mine.items() if shared[path] != word}
        for program, mine in words.items()
    }
    return json.dumps({"all": shared, **own}, indent=1) + "\n"


# ---- results


def written():
    return json.loads(say("dltrain", "--list=results"))


def paths_of(keys, shapes, prefix="", of=""):
    """(path, unit, meaning) of keys and of what is in them: critical_path.hops[].link."""
    for key in keys:
        unit = of if key["unit"] == "=" else key["unit"]
        path = prefix + key["name"]
        yield path, unit, key["meaning"]
        inside = shapes[key["shape"]] if "shape" in key else key.get("keys", [])
        yield from paths_of(inside, shapes, path + ("[]." if "list" in key else "."), unit)


def result_words():
    """Unit and meaning of all keys and columns: for the report, which runs without the programs."""
    all_of = written()
    stats = {}
    for section in all_of["stats"]:
        for path, unit, meaning in paths_of(section["keys"], all_of["shapes"]):
            if stats.setdefault(path, [unit, meaning]) != [unit, meaning]:
                raise AssertionError(f"{path} is declared twice: {meaning!r} and {stats[path]!r}")
    files = {
        file: {column["name"]: [column["unit"], column["meaning"]] for column in of["columns"]}
        for file, of in all_of["files"].items()
    }
    return json.dumps({"stats": stats, "files": files}, separators=(",", ":")) + "\n"


def column_types():
    files = {
        file: {column["name"]: column["type"] for column in of["columns"]}
        for file, of in written()["files"].items()
    }
    lines = [f"{json.dumps(file)}: {json.dumps(columns)}" for file, columns in files.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def anchor(title):
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def key_rows(keys, prefix=""):
    """Rows of a table; a shape that several keys have stands in a section of its own."""
    for key in keys:
        path = prefix + key["name"]
        meaning = cell(key["meaning"])
        if "shape" in key:
            meaning += f" ([{key['shape']}](#{anchor(key['shape'])}))"
        unit = "as the key" if key["unit"] == "=" else key["unit"]
        yield row(code(path + ("[]" if "list" in key else "")), unit, meaning)
        yield from key_rows(key.get("keys", []), path + ("[]." if "list" in key else "."))


def keys_page():
    all_of = written()
    head = [row("key", "unit", "content"), "|---|---|---|"]
    lines = [
        "# Keys and columns",
        "",
        MADE,
        "",
        (
            "Every key of `stats.json` and every column of tables, from `dltrain --list=results`."
            " [Outputs](outputs.md) explains them."
        ),
        "",
        (
            "A key is absent where it has no meaning, and null where nothing was measured. `a.b`:"
            " key `b` of the object `a`; `a[].b`: of each object in the list `a`."
        ),
        "",
        *(
            f"- [{section['section']}](#{anchor(section['section'])})"
            for section in all_of["stats"]
        ),
        "- [Shapes](#shapes)",
        "- [Tables](#tables)",
        "",
    ]
    for section in all_of["stats"]:
        lines += [f"## {section['section']}", "", *head, *key_rows(section["keys"]), ""]
    lines += ["## Shapes", "", "Objects that several keys have.", ""]
    for name, keys in all_of["shapes"].items():
        lines += [f"### {name}", "", *head, *key_rows(keys), ""]
    lines += [
        "## Tables",
        "",
        "CSV with a line of names; `calls.log`: tab-separated, names in a comment line.",
        "",
    ]
    for file, of in all_of["files"].items():
        lines += [f"### {file}", "", row("column", "unit", "content"), "|---|---|---|"]
        lines += [
            row(code(column["name"]), column["unit"], cell(column["meaning"]))
            for column in of["columns"]
        ] + [""]
    return "\n".join(lines).rstrip("\n") + "\n"


# ---- attributes


def attributes_of(type_id):
    """(parent's name or own, attribute, default, help) as --PrintAttributes prints them; the
    default is the attribute's own, not what a program sets.
    """
    found, owner, defaults = [], "", {}
    for line in say("traffic", "--threads=1", f"--PrintAttributes={type_id}").split("\n"):
        if match := re.match(r"Attributes (?:for TypeId|defined in parent class) (\S+)$", line):
            owner = match.group(1)
        elif match := re.match(r"This run sets (\S+) to .*; .* own default is (.*)$", line):
            defaults[match.group(1)] = match.group(2)
        elif match := re.match(r"    --(ns3::\w+)::(\w+)=\[(.*)\]$", line):
            own = defaults.get(f"{match.group(1)}::{match.group(2)}", match.group(3))
            found.append([owner, match.group(2), own, ""])
        elif line.startswith(" " * 8) and found:
            found[-1][3] += (" " if found[-1][3] else "") + line.strip()
    return found


def time_text(text):
    """ns-3 prints a Time in the resolution's unit, +3.2e+08ps: as people write it."""
    match = re.match(r"\+?(-?[\d.e+]+)ps$", text)
    if not match:
        return text
    value = float(match.group(1))
    for unit, factor in (("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}ps"


def attributes_page():
    ids = re.findall(r"^ +(ns3::\w+)$", say("traffic", "--PrintGroup=Rdma"), re.MULTILINE)
    lines = [
        "# Attributes",
        "",
        MADE,
        "",
        (
            "Every attribute of the module `contrib/rdma`, from `--PrintAttributes=TYPE`. Any of"
            " them is an option of any program: `--ns3::RdmaSwitch::PipelineLatency=300ns`; in a"
            ' scenario file `{"ns3": {"ns3::RdmaSwitch::PipelineLatency": "300ns"}}`; in Python'
            ' `**{"ns3::RdmaSwitch::PipelineLatency": "300ns"}`. Attributes go before what'
            " [options](options.md) set. Defaults are the module's. Programs set some otherwise:"
            " `--PrintAttributes` says which, and `stats.json` (`configuration`) what a run has."
            " What they do is told in [rdma.rst](../contrib/rdma/doc/rdma.rst), trace sources and"
            " paths too."
        ),
        "",
    ]
    own = {type_id: [a for a in attributes_of(type_id) if a[0] == type_id] for type_id in ids}
    none = [type_id for type_id in ids if not own[type_id]]
    lines += [
        f"- [{type_id}](#{type_id.lower().replace(':', '')})" for type_id in ids if own[type_id]
    ] + [""]
    for type_id in ids:
        if own[type_id]:
            lines += [
                f"## {type_id}",
                "",
                row("attribute", "default", "what it is"),
                "|---|---|---|",
            ]
            lines += [
                row(code(name), code(time_text(default)) if default else "", cell(text))
                for _, name, default, text in own[type_id]
            ] + [""]
    lines += ["Without attributes of their own: " + ", ".join(none) + "."] if none else []
    return "\n".join(lines).rstrip("\n") + "\n"


class Generated(unittest.TestCase):
    maxDiff = None

    def current(self, page, text):
        path = os.path.join(ROOT, page)
        if UPDATE:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        is_text = read(page)
        if is_text != text:
            # (options.json is one line.)
            at = len(os.path.commonprefix([is_text, text]))
            begin = max(at - 60, 0)
            self.fail(
                f"{page} is not what the programs say; tests/system/docs/docs-generated.py "
                f"--update writes it anew: it has\n{is_text[begin : at + 140]}\nand they say\n"
                f"{text[begin : at + 140]}"
            )

    def test_options(self):
        self.current("docs/options.md", options_page())

    def test_words_of_the_report(self):
        self.current("scripts/report-page/options.json", option_words())

    def test_results(self):
        self.current("docs/keys.md", keys_page())
        self.current("scripts/report-page/meanings.json", result_words())
        self.current("scripts/cluster_simulator/folder/columns.json", column_types())

    def test_there_is_no_second_description(self):
        """What scripts say of options is what the programs say: no list of their own has them."""
        self.assertEqual(
            sorted(json.loads(read("scripts/report-page/meanings.json"))), ["files", "stats"]
        )
        helps = {
            option["help"]
            for program in NAMES
            for option in json.loads(say(program, "--list=options"))["options"]
            if len(option["help"].split()) > 4
        }
        self.assertGreater(len(helps), 50)
        for folder, _, names in os.walk(os.path.join(ROOT, "scripts")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                # (meanings.json is of results, which may be called as what made them.)
                if name.endswith((".json", ".js", ".py")) and name not in (
                    "options.json",
                    "meanings.json",
                ):
                    text = read(path)
                    self.assertEqual([said for said in helps if said in text], [], path)

    def test_attributes(self):
        self.current("docs/attributes.md", attributes_page())

    def test_they_are_whole(self):
        """Expected by other ways: every option of --help=options is a row; so is every attribute
        that ns-3 finds.
        """
        text = read("docs/options.md")
        for program in NAMES:
            for option in json.loads(say(program, "--help=options"))["options"]:
                self.assertRegex(text, rf"`--{re.escape(option['name'])}(?![a-z0-9-])", program)
                if option.get("path"):
                    self.assertIn(f"`{option['path']}`", text)
        text = read("docs/attributes.md")
        self.assertIn("| `Latency` | `90ns` |", text)  # InfiniBand's switch, which options set
        self.assertIn("| `Turns` | `false` |", text)
        for type_id in re.findall(
            r"^ +(ns3::(?!Tcp)\w+CongestionOps|ns3::Rdma\w+|ns3::Ib\w+)$",
            say("dltrain", "--PrintTypeIds"),
            re.MULTILINE,
        ):
            self.assertIn(type_id, text)
        for program in NAMES:
            for type_id, name in re.findall(
                r"--(ns3::Rdma\w+)::(\w+)=", say(program, "--PrintAttributes=ns3::RdmaNic")
            ):
                self.assertIn(f"| `{name}` |", text, type_id)


if __name__ == "__main__":
    main()
