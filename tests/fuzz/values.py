# SPDX-License-Identifier: GPL-2.0-only
"""Absurd values of every kind, for options, attributes, JSON and tables."""

NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "9",
    "15",
    "16",
    "17",
    "63",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "257",
    "1000",
    "1023",
    "1024",
    "1025",
    "4095",
    "4096",
    "4097",
    "65535",
    "65536",
    "1000000",
    "16777216",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "9" * 400,
    "1" + "0" * 308,
    "1" + "0" * 309,
    "0" * 500 + "1",
    "0.1",
    "0.5",
    "1.5",
    "1e-6",
    "0.9999999999999999",
    "1.0000000000000002",
    "1e3",
    "1e9",
    "1e18",
    "1e19",
    "1e20",
    "1e300",
    "1e308",
    "1e309",
    "1e999",
    "1e-300",
    "1e-324",
    "1e-999",
    "-1e999",
    "nan",
    "-nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "infinity",
    "0x10",
    "0x1p3",
    "010",
    "1_000",
    "1,000",
    "1.000.000",
    "1e",
    "e1",
    ".",
    ".5",
    "5.",
    "+1",
    "++1",
    "--1",
    " 1",
    "1 ",
    "1\t",
    "1 2",
    "½",
    "１",
    "٣",
    "1/2",
    "50%",
    "1'000",
    "1k",
    "true",
]
WORDS = [
    "",
    " ",
    "\t",
    "-",
    "--",
    "---",
    "=",
    "==",
    ",",
    ",,",
    ",1",
    "1,",
    ":",
    "::",
    ";",
    ".",
    "..",
    "/",
    "*",
    "?",
    "%",
    "%s%n",
    "%d",
    "\\",
    "'",
    '"',
    "`",
    "$HOME",
    "~",
    "#",
    "&",
    "|",
    "null",
    "none",
    "None",
    "all",
    "auto",
    "default",
    "true",
    "false",
    "yes",
    "on",
    "off",
    "nope",
    "a",
    "A",
    "abc",
    "é",
    "日本",
    "\u202e",
    "\ufeff",
    "\u00a0",
    "\u0085",
    "\u200b",
    "a\nb",
    "\n",
    "\r",
    "a\rb",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;t\x07",
    "\x07",
    "\x01",
    "\x7f",
    "\udcff",
    "\udcc3(",
    "a" * 300,
    "a" * 5000,
    "9" * 5000,
    "a," * 2000,
    "1," * 5000 + "1",
    "[" * 3000,
    "../" * 100,
    "<b>&amp;</b>",
    "--help",
    "-h",
    "--version",
    "0:0",
    "0:1,0:1",
    "1:",
    ":1",
    "a=b",
    "a=b,a=b",
    "1:2:3",
    "3x3",
    "0x0",
    "1x1x1x1x1x1x1x1",
    "-1x3",
    "x",
    "999999x999999",
]
FILES = [
    "missing.json",
    "missing/below",
    "empty",
    "folder",
    "fifo",
    "link-to-itself",
    "tiny.json",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/stdin",
    "/proc/self/mem",
    "/proc/version",
    "tiny.json/below",
    "a" * 300 + ".json",
    "noise.bin",
    "./",
    ".json",
]
AT_HAND = {
    "empty": "",
    "folder": {"directory": True},
    "fifo": {"fifo": True},
    "link-to-itself": {"link": "link-to-itself"},
    "noise.bin": {"base64": "AAEC/v8AgICAgA0KABtbMzFtAP8="},
}  # files that go by those names
# Written to by root they would hurt the machine.
NEVER_WRITTEN = ("/", "~", "$HOME", "/proc/self/mem", "/dev/stdin", "/dev/zero", "/dev/full", "*")

SIZES = [
    "0B",
    "1B",
    "-1B",
    "1.5",
    "1.5B",
    "1kB",
    "1KiB",
    "1MB",
    "1GB",
    "1TB",
    "1PB",
    "1EB",
    "16EiB",
    "1ZB",
    "1e30B",
    "1Kb",
    "1Gbit",
    "0.1B",
    "1 MB",
    "MB",
    "1MB1",
    "1mB",
    "1M",
    "1m",
    "1g",
    "64k",
    "1e-7",
]
RATES = [
    "0bps",
    "1bps",
    "-1bps",
    "0.5bps",
    "1kbps",
    "1Mbps",
    "1Gbps",
    "1.5Gbps",
    "100Gbps",
    "1Tbps",
    "10000Gbps",
    "2147483648Gbps",
    "9223372036854775807bps",
    "9223372036854775808bps",
    "18446744073709551615bps",
    "18446744073709551616bps",
    "1e30Gbps",
    "1Gb/s",
    "1GBps",
    "1gbps",
    "Gbps",
    "1 Gbps",
    "1000000Tbps",
    "1e-9Gbps",
    "33333333333bps",
    "infGbps",
    "nanGbps",
]
TIMES = [
    "0s",
    "0ns",
    "1ps",
    "0.5ps",
    "0.1ps",
    "1fs",
    "1ns",
    "1us",
    "1ms",
    "1s",
    "1min",
    "1h",
    "1d",
    "1y",
    "-1ns",
    "-1s",
    "9223372036854775807ps",
    "9223372036854775808ps",
    "106d",
    "107d",
    "1e30s",
    "1e18ns",
    "1e-30s",
    "1 us",
    "us",
    "1us1",
    "1US",
    "1usec",
    "infs",
    "nans",
    "9.2e18ps",
    "9.3e18ps",
    "+1ns",
    "0x1ns",
]

BY_KIND = {
    "flag": ["0", "1", "2", "-1", "true", "TRUE", "maybe", "on", "off"],
    "integer": [],
    "real": [],
    "text": [],
    "name": [],
    "bytes": SIZES,
    "rate": RATES,
    "duration": TIMES,
    "file": FILES,
    "name or file": FILES,
    "entries": [
        "link-down",
        "link-down,at=1us",
        "link-down,on=all",
        "link-down,at=1us,on=all",
        "link-down,at=1us,on=all,for=0s",
        "link-down,at=-1us,on=all",
        "flap,at=1us,on=all,for=1ms,period=1ps",
        "flap,at=1us,on=all,for=1ms,period=10us,duty=1",
        "rate,at=0s,on=all,to=0",
        "rate,at=0s,on=all,to=1e30bps",
        "lane-down,at=0s,on=all,to=1.5",
        "ber,at=1us,on=all,to=nan",
        "drop,at=1us,on=all,to=1",
        "pause-storm,at=1us,on=all,for=1ms",
        "switch-down,at=1us,on=server-0",
        "nic-down,at=1us,on=server-0,for=1us",
        "gpu-stop,at=1us,on=gpu-4294967296",
        "gpu-slow,at=1us,on=gpu-0,to=0",
        ",at=1us",
        "=,=",
        "what=drop,at=1us,on=all,to=0.5",
        "at=1us,on=all",
    ],
    "list": [
        "a,a",
        "1,1,1",
        "0:1",
        "1:1.5",
        "1:1,1:1",
        "server-0,server-0",
        "all,all",
        "none,all",
        "[1,2]",
        "a;b",
        "1kB,1MB",
        "1MB,1kB",
        "0B,1B",
        "100kB,100kB",
    ],
}


def common():
    """Values that go with every kind, in an order that is always the same."""
    return list(dict.fromkeys(NUMBERS + WORDS + SIZES[:8] + RATES[:8] + TIMES[:8]))


def of_option(option):
    """All values to try for an option of --list=options."""
    kind = option["kind"]
    values = common() + BY_KIND.get(kind, []) + around(option)
    if kind == "text" or kind == "list":
        values += FILES + SIZES + RATES + TIMES
    values += [str(number) for number in option.get("one_of", [])]
    for name in option.get("names", []):
        values += [name, name.upper(), name[:-1], name + "x", name + "," + name, "-" + name]
    for key in ("default", "example"):
        if key in option:
            values += [
                option[key],
                option[key].upper(),
                option[key] + "0",
                "-" + option[key],
                option[key] + "," + option[key],
                option[key][:-1],
            ]
    return list(dict.fromkeys(values))


def around(option):
    """The limits of a range, and what is just beyond; in the unit that its kind is typed in."""
    found = []
    for key in ("min", "max"):
        if key in option and abs(option[key]) < 1e19:
            limit = option[key]
            numbers = (
                [limit, limit - 1, limit + 1, limit / 2, limit * 2]
                if limit == int(limit)
                else [limit, limit / 2, limit * 2]
            )
            unit = {"bytes": "B", "rate": "bps", "duration": "ps"}.get(option["kind"], "")
            found += [(f"{int(n)}" if n == int(n) else repr(n)) + unit for n in numbers]
    return found


def valid_of_option(option, rng):
    """A value that is most likely allowed: pairs of options get past the first check with it."""
    choices = [option[key] for key in ("default", "example") if key in option] + option.get(
        "names", []
    )
    choices += [str(number) for number in option.get("one_of", [])]
    kind = option["kind"]
    if kind == "flag":
        choices += ["0", "1"]
    elif kind in ("integer", "real"):
        choices += ["0", "1", "2", "3", "8", "100"] + (
            ["0.25", "0.99", "1e-6"] if kind == "real" else []
        )
    choices += {
        "bytes": ["1B", "100B", "1kB", "4KiB", "1MB"],
        "rate": ["1Mbps", "1Gbps", "25Gbps", "400Gbps"],
        "duration": ["0ns", "1ps", "10ns", "1us", "30us", "1ms"],
    }.get(kind, [])
    if kind in ("integer", "real", "bytes", "rate", "duration") and rng.random() < 0.3:
        choices = around(option) or choices
    return rng.choice(choices) if choices else rng.choice(common())


def of_attribute(default):
    """All values to try for an ns-3 attribute with this default."""
    values = common() + SIZES + RATES + TIMES
    if default in ("true", "false"):
        values += ["true", "false", "0", "1"]
    try:
        number = float(default.lstrip("+").rstrip("psb"))
        values += [
            f"{number * factor:.12g}{unit}"
            for factor in (0.001, 0.1, 0.5, 0.99, 1.01, 2, 10, 1e3, 1e6, -1)
            for unit in ("", "ps", "bps")
        ]
        values += [str(int(number) + step) for step in (-1, 1, 3)]
    except ValueError:
        values += [default.upper(), default[:-1], default + "x", default + "," + default]
    return list(dict.fromkeys(values))


def usable_of_attribute(default, rng):
    """A value that an attribute most likely takes, and that may hurt all the same."""
    if default in ("true", "false"):
        return rng.choice(["true", "false"])
    if default.startswith("+") or default.endswith("ps"):
        return rng.choice(
            [
                "0ns",
                "1ps",
                "3ps",
                "1ns",
                "10ns",
                "100ns",
                "1us",
                "10us",
                "1ms",
                "1s",
                "1h",
                "9223372036854775807ps",
                "-1ns",
            ]
        )
    if default.endswith("bps") or default.endswith("b/s"):
        return rng.choice(
            [
                "0bps",
                "1bps",
                "1kbps",
                "1Mbps",
                "1Gbps",
                "99Gbps",
                "100Gbps",
                "101Gbps",
                "1Tbps",
                "18446744073709551615bps",
            ]
        )
    try:
        float(default)
    except ValueError:
        return rng.choice([default, "", "0", "1", "0:1", "3:0", "0:0,1:1", "255:255", "a"])
    return rng.choice(
        [
            "0",
            "1",
            "2",
            "3",
            "7",
            "8",
            "16",
            "31",
            "32",
            "63",
            "64",
            "100",
            "255",
            "256",
            "1000",
            "4096",
            "65535",
            "65536",
            "1000000",
            "4294967295",
            "4294967296",
            "18446744073709551615",
            "0.5",
            "0.001",
            "1e-9",
            "1e-300",
            "0.999999",
            "1e9",
            "1e18",
            "1e300",
            "-1",
            "-0.5",
        ]
    )
