# SPDX-License-Identifier: GPL-2.0-only
"""Numbers with the unit that suits them."""


def human(value, units):
    """A number in the unit that suits it: units are (factor, name), ascending."""
    factor, name = units[0]
    for f, n in units:
        if abs(value) >= f * 0.9995:
            factor, name = f, n
    return f"{digits(value / factor)} {name}"


def digits(number):
    """Three digits, and never 1e+03."""
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"


def counted(number, what):
    """ "1 GPU", "1,024 GPUs"; of what is no number, as it stands."""
    told = f"{number:,}" if isinstance(number, (int, float)) else number
    return f"{told} {what}{'' if number == 1 else 's'}"


TIMES = ((1e-3, "ns"), (1, "µs"), (1e3, "ms"), (1e6, "s"))
BYTES = ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
BINARY = ((1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"))


def human_time(us):
    return "0" if us == 0 else human(us, TIMES)


def human_bytes(count):
    return human(count, BYTES)
