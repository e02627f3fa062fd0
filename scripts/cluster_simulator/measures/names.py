# SPDX-License-Identifier: GPL-2.0-only
"""What names of tags, links, nodes and keys say."""

import re

# A name that begins another one stands behind it.
COLLECTIVES = (
    "all-reduce",
    "reduce-scatter",
    "all-gather",
    "all-to-all",
    "broadcast",
    "barrier",
    "reduce",
    "gather",
    "scatter",
    "sendrecv",
)

# What a GPU computes of a layer, whose name follows: "weights" are its gradients where they are
# computed apart from backward.
PASSES = ("forward", "recompute", "backward", "weights")

OTHER = "other ("  # so begins the name of operations that are drawn together


def operation(name):
    """What a tag or a call belongs to: "reduce-scatter bucket 7" and "reduce_scatter" are both
    reduce-scatter. Of several jobs each has its own: "big/all-gather bucket 3" is big/all-gather.
    """
    name = str(name).removesuffix(" (aborted)")
    job, _, rest = name.partition("/")  # names of jobs are one word, without a slash
    if job and rest and " " not in job:
        return f"{job}/{operation(rest)}"
    plain = name.replace("_", "-")
    for collective in COLLECTIVES:
        if plain.startswith(collective):
            return collective
    if plain.startswith("alltoall"):
        return "all-to-all"
    # A kernel of a captured script: "aten::log2 train.py:31", of which the line is another one each
    # time.
    of_a_line = re.fullmatch(r"(\S+) \S+:\d+", name)
    if of_a_line:
        return of_a_line[1]
    first = plain.split(" ", 1)[0]
    if first in PASSES:
        return first
    of_a_stage = re.fullmatch(r"(.+) micro-batch \d+", name)
    if of_a_stage:  # "send gradients chunk 1"
        return of_a_stage[1]
    return re.sub(r"[ -]*\d+$", "", name) or "other"


def operations(names):
    """The same for a column, each different name looked at once."""
    return names.map({name: operation(name) for name in names.unique()})


def family(name):
    """Of chunks of a pipeline's stage what they have in common: "send gradients chunk 1" is send
    gradients.
    """
    return re.sub(r" chunk \d+$|, all chunks$", "", name)


def main_kinds(kinds, weight, most=6):
    """The names under which operations are drawn, at most so many."""
    amounts = kinds.to_frame("kind").assign(amount=weight).groupby("kind")["amount"]
    return kinds.map(drawn_as(amounts.sum().to_dict(), most))


def drawn_as(totals, most=6):
    """{operation: the name that it is drawn under}, of {operation: how much there is of it}: its
    own. Of more than `most` the chunks of one are drawn together, and if that is not enough those
    that there is least of; the names say so.
    """
    names = {name: name for name in totals}
    if len(totals) > most:
        for name in totals:
            names[name] = name if family(name) == name else f"{family(name)}, all chunks"
    together = {}
    for name, drawn in names.items():
        together[drawn] = together.get(drawn, 0) + totals[name]
    if len(together) > most:
        keep = set(sorted(together, key=lambda name: (-together[name], name))[: most - 1])
        rest = [name for name, drawn in names.items() if drawn not in keep]
        names.update(dict.fromkeys(rest, f"{OTHER}{len(rest):,} operations)"))
    return names


def is_other(name):
    """Whether it is what drawn_as() put together; it comes last."""
    return name.startswith(OTHER)


def tier(link):
    """What a link connects: "edge-0-1->agg-0-0#2" is edge->agg."""
    ends = [re.sub(r"[-_.\d]+$", "", end) or "?" for end in str(link).split("#")[0].split("->")]
    return "→".join(ends)


def natural(name):
    """server-2 comes before server-10."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", str(name))
    ]


def part(stats, *keys):
    """An object inside stats.json; an empty one if it is not there, or no object."""
    for key in keys:
        stats = stats.get(key) if isinstance(stats, dict) else None
    return stats if isinstance(stats, dict) else {}
