# SPDX-License-Identifier: GPL-2.0-only
"""Command lines of the scripts that argparse reads: what is wrong is one line that names the word,
what is allowed, and the nearest name; no option is shortened, or given twice.
"""

import argparse
import re

from .errors import InvalidInput
from .nearest import nearest


class Parser(argparse.ArgumentParser):
    def __init__(self, prog, **more):
        more.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog=prog, allow_abbrev=False, exit_on_error=False, **more)

    def parse_args(self, args=None, namespace=None):
        """Raises InvalidInput."""
        for word in self._options_among(args):
            if word.partition("=")[0] not in self._option_string_actions:
                raise InvalidInput(self._unknown(word))
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            raise InvalidInput(self._too_many(rest[0]))
        return options

    def parse_known_args(self, args=None, namespace=None):
        """The same; options that it has not are given back, as they are another program's."""
        self._check_values(args)
        try:
            return super().parse_known_args(args, namespace)
        except argparse.ArgumentError as error:
            action = next(
                (one for one in self._actions if _name_of(one) == error.argument_name), None
            )
            if action is not None and action.option_strings and "expected" in error.message:
                raise InvalidInput(
                    f"{error.argument_name}: needs a value: {error.argument_name}={_value(action)}"
                ) from None
            number = re.fullmatch(r"invalid int value: '(.*)'", error.message)
            if number:
                value = f"{error.argument_name}={number[1]}: allowed: a whole number"
                raise InvalidInput(value) from None
            raise InvalidInput(f"{error.argument_name}: {error.message}") from None

    def error(self, message):
        missing = re.match(r"the following arguments are required: ([^,]+)", message)
        for action in self._actions if missing else []:
            if _name_of(action) == missing[1]:
                name = f"{missing[1]}={_value(action)}" if action.option_strings else missing[1]
                what = f": {action.help}" if action.help else ""
                raise InvalidInput(f"{name} is missing" + what)
        raise InvalidInput(message)

    def _options_among(self, words):
        """The words of a command line that are options, not their values or names of files; before
        a command that has options of its own.
        """
        command = any(action.nargs == argparse.REMAINDER for action in self._actions)
        rest = iter(words)
        for word in rest:
            if word == "--":
                return
            if word.startswith("-") and word != "-":
                yield word
                action = self._option_string_actions.get(word)
                if command and action is not None and action.nargs != 0:
                    next(rest, None)  # its value
            elif command:
                return

    def names(self):
        """Of all options."""
        return list(self._option_string_actions)

    def _check_values(self, args):
        given = set()
        for word in self._options_among(args):
            name, equals, _ = word.partition("=")
            action = self._option_string_actions.get(name)
            if action is None:
                continue
            if action.nargs == 0 and equals:
                raise InvalidInput(f"{word}: takes no value")
            if word == f"{name}=":
                raise InvalidInput(f"{word}: is empty, needs a value: {name}={_value(action)}")
            if isinstance(action, argparse._StoreAction):
                if action.dest in given:
                    raise InvalidInput(f"{word}: given twice")
                given.add(action.dest)

    def _unknown(self, word):
        return f"{word}: unknown option, see --help{nearest(word.partition('=')[0], self.names())}"

    def _too_many(self, word):
        wanted = [
            f"one {_value(action)}" + (f" ({action.help})" if action.help else "")
            for action in self._actions
            if not action.option_strings
        ]
        return f"{word}: unexpected argument; allowed: {', '.join(wanted) or 'only options'}"


def _name_of(action):
    """As argparse calls it where it complains."""
    return argparse._get_action_name(action)


def _value(action):
    return action.metavar or action.dest.upper()


def whole_number(option, text, least, most):
    """The number that an option's text says. Raises InvalidInput."""
    if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
        raise InvalidInput(f"{option}={text}: allowed: a whole number, {least} to {most}")
    return int(text)
