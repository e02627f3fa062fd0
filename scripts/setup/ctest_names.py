# SPDX-License-Identifier: GPL-2.0-only
"""Which names of tests an expression of ctest -R matches, where a name's end may be unknown.

ctest has a dialect of its own (KWSys): ^ $ . [] * + ? | ( ) and a backslash before a literal
character. It has no {}, \\d or (?:.
"""

import re

SPECIAL = "^$.[]()|*+?\\"
# In what GoogleTest prints of parameters: "all_reduce_ring  # GetParam() = all_reduce by ring".
SEPARATORS = "_-/., ()<>#="


class BadExpression(Exception):
    """The expression is none of ctest's."""


class Expression:
    """An automaton: `edges[state]` has (what, next), where what is None (nothing is read), "^",
    "$", or a function of the character that is read."""

    def __init__(self, text):
        self.text, self.at, self.edges, self.known = text, 0, [], {}
        self.start, self.end, _ = self._branches()
        if self.at < len(text):
            raise BadExpression("a ) without its (")

    # ---- the parser: each part returns (first state, last state, is something read for sure?)

    def _state(self):
        self.edges.append([])
        return len(self.edges) - 1

    def _link(self, a, b, what=None):
        self.edges[a].append((what, b))

    def _peek(self):
        return self.text[self.at : self.at + 1]

    def _next(self):
        self.at += 1
        return self.text[self.at - 1]

    def _branches(self):
        first, last, reads = self._state(), self._state(), True
        while True:
            a, b, wide = self._branch()
            self._link(first, a)
            self._link(b, last)
            reads = reads and wide
            if self._peek() != "|":
                return first, last, reads
            self._next()

    def _branch(self):
        first = last = self._state()
        reads = False
        while self._peek() and self._peek() not in "|)":
            a, b, wide = self._piece()
            self._link(last, a)
            last, reads = b, reads or wide
        return first, last, reads

    def _piece(self):
        a, b, wide = self._atom()
        repeat = self._peek()
        if not repeat or repeat not in "*+?":
            return a, b, wide
        self._next()
        if repeat != "?" and not wide:
            raise BadExpression(f"{repeat} follows what may be empty")
        if self._peek() and self._peek() in "*+?":
            raise BadExpression(f"{repeat}{self._peek()} repeats a repetition")
        first, last = self._state(), self._state()
        self._link(first, a)
        self._link(b, last)
        if repeat != "?":
            self._link(b, a)
        if repeat != "+":
            self._link(first, last)
        return first, last, repeat == "+"

    def _atom(self):
        one = self._next()
        if one == "(":
            parts = self._branches()
            if self._peek() != ")":
                raise BadExpression("a ( without its )")
            self._next()
            return parts
        if one in "*+?":
            raise BadExpression(f"{one} follows nothing")
        first, last = self._state(), self._state()
        if one in "^$":
            self._link(first, last, one)
            return first, last, False
        if one == ".":
            reads = lambda character: True
        elif one == "[":
            reads = self._set()
        else:
            if one == "\\":
                if not self._peek():
                    raise BadExpression("a backslash at the end")
                one = self._next()
            reads = lambda character, literal=one: character == literal
        self._link(first, last, reads)
        return first, last, True

    def _set(self):
        negated = self._peek() == "^"
        self.at += negated
        members = set()
        if self._peek() and self._peek() in "]-":
            members.add(self._next())
        while self._peek() and self._peek() != "]":
            one = self._next()
            to = self.text[self.at + 1 : self.at + 2]
            if self._peek() == "-" and to and to != "]":
                if to < one:
                    raise BadExpression(f"{one}-{to} is no range")
                members |= {chr(code) for code in range(ord(one), ord(to) + 1)}
                self.at += 2
            else:
                members.add(one)
        if not self._peek():
            raise BadExpression("a [ without its ]")
        self._next()
        return lambda character: (character in members) != negated

    # ---- matching

    def _closure(self, states, at_start=False, at_end=False):
        found, unread = set(states), list(states)
        while unread:
            for what, to in self.edges[unread.pop()]:
                passes = what is None or what == "^" and at_start or what == "$" and at_end
                if passes and to not in found:
                    found.add(to)
                    unread.append(to)
        return frozenset(found)

    def _read(self, states, character):
        """A match may begin behind every character."""
        if (states, character) not in self.known:
            after = {
                to
                for state in states
                for what, to in self.edges[state]
                if callable(what) and what(character)
            }
            self.known[states, character] = self._closure(after | {self.start})
        return self.known[states, character]

    def _ends(self, states):
        return self.end in self._closure(states, at_end=True)

    def matches(self, name, words=None):
        """Is it found in the name? With `words` the name goes on, by words of these and by
        numbers."""
        states = self._closure({self.start}, at_start=True)
        for character in name:
            if self.end in states:
                return True
            states = self._read(states, character)
        if self.end in states or words is None:
            return self._ends(states)
        return self._matches_on(states, words)

    def _matches_on(self, states, words):
        """Collects the states that there may be before a word, behind one, and behind a number,
        until there are no more."""
        before, behind, number = states, frozenset(), frozenset()
        size = -1
        while size != len(before) + len(behind) + len(number):
            size = len(before) + len(behind) + len(number)
            for word in words:
                states = before
                for character in word:
                    states = self._read(states, character)
                    if self.end in states:
                        return True
                behind |= states
            for digit in "0123456789":
                number |= self._read(before | number, digit)
            for separator in SEPARATORS:
                before |= self._read(before | behind | number, separator)
            if self.end in before | number or self._ends(before | behind | number):
                return True
        return False


def plain(text):
    """The expression as somebody would write a name."""
    return re.sub(r"\\(.)|[][^$()*+?|]", r"\1", text)
