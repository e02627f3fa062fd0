# SPDX-License-Identifier: GPL-2.0-only
"""Command lines of the scripts that argparse reads: what is wrong is one line, with the nearest
name.
"""

import argparse
import difflib
import re


class BadInput(Exception):
    """What is said in one line, with status 2."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        found = re.match(r"unrecognized arguments: (-\S+)", message)
        if found:
            options = [word for action in self._actions for word in action.option_strings]
            message = f"{found[1]}: unknown option" + (
                nearest(found[1].split("=")[0], options) or "; see --help"
            )
        raise BadInput(message)


def nearest(name, allowed):
    near = difflib.get_close_matches(name, allowed, 1)
    return f"; do you mean {near[0]}?" if near else ""
