# SPDX-License-Identifier: GPL-2.0-only
"""Numbers in the words of launchers."""

# As many as the simulator reads (kMostRanks of scenarios/formats/recording.h).
MOST_RANKS = 131072


class WrongWords(ValueError):
    """A launcher's words that nothing can be started from."""


def count(text, option, what="a number of processes", names=""):
    """\\p names: what is allowed besides, in front of a comma."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise WrongWords(f"{option}={text}: is not {what}; allowed: {names}1 to {MOST_RANKS}")
    if number > MOST_RANKS:
        raise WrongWords(f"{option}={text}: allowed: {names}1 to {MOST_RANKS}")
    return number
