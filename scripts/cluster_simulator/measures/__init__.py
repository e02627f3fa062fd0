# SPDX-License-Identifier: GPL-2.0-only
"""The numbers that pictures show, from the tables of a run (results.py): no drawing here."""

from .gpu_time import (
    call_times,
    count_operations,
    group_size,
    measured_from,
    segments,
    some_blocks,
    state_times,
    step_parts,
    stream_order,
    time_in_bins,
)
from .link_use import Links, ecn_marks, marks_per_interval, port_scores, worst_ports
from .message_times import QUANTILES, by_size, marks, quantile, size_groups, slowdown, weights
from .names import (
    drawn_as,
    family,
    is_other,
    main_kinds,
    natural,
    operation,
    operations,
    part,
    tier,
)
from .network_graph import Graph, host_nodes
