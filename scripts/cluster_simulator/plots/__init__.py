# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of runs for papers and talks, with matplotlib.

    figure = draw("completion", [load("results/a"), load("results/b")], labels=["linear", "random"])
    save(figure, "completion", "plots", ["png", "pdf"])

PICTURES lists all of them. Several runs are laid over one another, one colour a run; where that
makes no sense (timelines) they stand below one another. Colours are those of Okabe and Ito, which
colour-blind people can tell apart. The same input gives the same bytes. Names that come from the
input are text: no markup in them is obeyed.
"""

import os
import warnings
from collections import namedtuple

import matplotlib

from ..files import at_once
from . import (
    collectives,
    goodput,
    links,
    messages,
    multiplex,
    plans,
    ports,
    queue_pairs,
    serving,
    steps,
    timeline,
    topology,
    traffic,
    watch,
)
from .looks import Looks, dress
from .style import ALWAYS, COLOURS, DASHES, FORMATS, MARKERS, STYLE, WIDTH, Item, NothingToShow

__all__ = [
    "ALWAYS",
    "FORMATS",
    "Looks",
    "NothingToShow",
    "PICTURES",
    "WIDTH",
    "default_labels",
    "draw",
    "items_of",
    "save",
]

Picture = namedtuple("Picture", "what draw")


def draw(name, runs, labels=None, width=WIDTH, times=ALWAYS, looks=Looks()):
    """One picture of PICTURES as a matplotlib Figure. Raises NothingToShow if the runs have not
    what it needs.

    `times` (us, from and until) is the part that queues, rates, queue-pairs and watch show;
    `looks` what differs from the usual picture.
    """
    labels = list(labels) if labels else default_labels(runs)
    if len(labels) != len(runs):
        raise ValueError(f"{len(labels)} labels for {len(runs)} runs")
    with matplotlib.rc_context(STYLE):
        return dress(PICTURES[name].draw(items_of(runs, labels, times), width), looks)


def items_of(runs, labels, times=ALWAYS):
    """Each run with its label, and a colour, dashes and a marker, by each of which it can be told
    from its neighbours.
    """
    return [
        Item(
            run,
            label + ("" if run.complete else " (incomplete)"),
            COLOURS[i % len(COLOURS)],
            DASHES[i % len(DASHES)],
            MARKERS[i % len(MARKERS)],
            times,
        )
        for i, (run, label) in enumerate(zip(runs, labels))
    ]


def save(figure, name, folder, formats=FORMATS):
    """Write a figure in several formats, without dates, so that the bytes repeat. Returns the
    paths.
    """
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    os.makedirs(folder, exist_ok=True)
    paths = []
    for form in formats:
        path = os.path.join(folder, f"{name}.{form}")
        try:
            # whoever looks meanwhile sees the old picture or the new one
            with at_once(path) as part, matplotlib.rc_context(STYLE), warnings.catch_warnings():
                # a letter that the font has not: a box is drawn
                warnings.filterwarnings("ignore", "Glyph .* missing")
                figure.savefig(part, format=form, metadata=metadata[form])
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), path) from None
        paths.append(path)
    return paths


def default_labels(runs):
    """The folders' names; where they are the same, as much of the path as tells them apart."""
    paths = [os.path.abspath(run.folder).split(os.sep) for run in runs]
    labels = []
    for path in paths:
        count = 1
        while count < len(path) and sum(other[-count:] == path[-count:] for other in paths) > 1:
            count += 1
        labels.append("/".join(path[-count:] if count < len(path) else path[-1:]))
    return labels


PICTURES = {
    "step": Picture("where the time of a training step goes, and in which calls", steps.draw_step),
    "timeline": Picture(
        "what every GPU does over time, and the streams of one of them", timeline.draw_timeline
    ),
    "completion": Picture(
        "completion times and slowdown of messages, cumulative, with p50, p99, p99.9",
        messages.draw_completion,
    ),
    "sizes": Picture(
        "sizes of messages by operation: how many, how many bytes", messages.draw_sizes
    ),
    "by-size": Picture("completion time and slowdown by size of message", messages.draw_by_size),
    "topology": Picture(
        "the network: thickness of a line is traffic, its colour utilization",
        topology.draw_topology,
    ),
    "links": Picture("utilization of links: mean, and over time", links.draw_links),
    "ports": Picture(
        "queue, ECN marks, pauses and losses of the worst ports over time", ports.draw_ports
    ),
    "busbw": Picture("bus bandwidth of collectives over their size", collectives.draw_busbw),
    "slowdown": Picture(
        "slowdown of flows over their size: p50, p95, p99 (traffic)", traffic.draw_slowdown
    ),
    "queues": Picture("the longest queues over time (traffic)", traffic.draw_queues),
    "rates": Picture(
        "throughput of each flow, and Jain's index, over time (traffic)", traffic.draw_rates
    ),
    "queue-pairs": Picture(
        "rate and window of chosen queue pairs over time (--trace-qps)",
        queue_pairs.draw_queue_pairs,
    ),
    "watch": Picture(
        "queue, rate, pauses and marks of watched ports over time (--watch)", watch.draw_watch
    ),
    "goodput": Picture(
        "goodput over the interval between checkpoints, and lost time (dlgoodput)",
        goodput.draw_goodput,
    ),
    "serving-latency": Picture(
        "TTFT, TPOT and end-to-end latency, cumulative (dlserve)", serving.draw_latency
    ),
    "serving-load": Picture(
        "requests that wait and run, and KV in use, over time (dlserve)", serving.draw_load
    ),
    "serving-time": Picture("where the time of GPUs went, by pool (dlserve)", serving.draw_time),
    "serving-rates": Picture(
        "SLO attainment, TTFT and TPOT over the rate of requests (dlserve)", serving.draw_rates
    ),
    "share-curve": Picture(
        "latency against the share of a GPU, and its knee (dlserve --share-curve)",
        multiplex.draw_share_curve,
    ),
    "policies": Picture(
        "many models on a GPU: requests served, in time, use of the GPU (dlserve --multiplex)",
        multiplex.draw_policies,
    ),
    "rates-in-time": Picture(
        "requests within their SLO over the rate (dlserve --sweep-rate)", multiplex.draw_sweep
    ),
    "shares": Picture(
        "which model has which share of the GPU over time (dlserve --multiplex)",
        multiplex.draw_shares,
    ),
    "plans": Picture(
        "step against memory of layouts, with the frontier (dlplan)", plans.draw_plans
    ),
}
