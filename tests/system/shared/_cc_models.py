# SPDX-License-Identifier: GPL-2.0-only
"""What theory says of the replicas in scenarios/presets/cc, for tests/system and
tests/bench/tables.py: DCTCP's analysis, and DCQCN's fluid model (Y. Zhu et al., "ECN or Delay",
CoNEXT 2016, 3.1), where it rests and where it does not.
"""

import math
import statistics

from _system_test import HEADERS, quantile

LINE = 20  # preamble and gap: of the wire, in no queue
ACK = HEADERS + 4  # AETH
PACKET = 8 * (1024 + HEADERS)  # bits on the line


def dctcp_bounds(flows):
    """(Q_max, amplitude A) in packets of dctcp-queue.json: Q_max = K + N, A = sqrt(2 N (C RTT + K))
    / 2 if flows are in step (M. Alizadeh et al., SIGCOMM 2010, 3.3). RTT: four times 25 us, two
    pipelines of 500 ns, data and ACK twice each at 0.8 ns a byte.
    """
    rtt = 4 * 25 + 2 * 0.5 + 2 * 0.8e-3 * (1024 + HEADERS + ACK)
    threshold = 60000 / (1024 + HEADERS - LINE)
    return (
        threshold + flows,
        math.sqrt(2 * flows * (rtt / (0.8e-3 * (1024 + HEADERS)) + threshold)) / 2,
    )


def dcqcn_fixed_point(flows):
    """Bytes in the queue where N equal DCQCN flows rest, None if that is beyond Kmax.

    All derivatives zero, each flow at C / N, in packets:
      alpha = 1 - (1 - p)^(tau' R)
      (R_T - R) / tau (1 - (1 - p)^(tau R)) = R_AI R (p (1 - p)^(F B) / ((1 - p)^-B - 1) + p (1 -
          p)^(F T R) / ((1 - p)^(-T R) - 1))
      R alpha / (2 tau) (1 - (1 - p)^(tau R)) = (R_T - R) / 2 R (p / ((1 - p)^-B - 1) + p / ((1 -
          p)^(-T R) - 1))
    solved for p by halving, and p(q) of RED turned round. Constants of the SIGCOMM 2015 paper: CNPs
    50 us apart, alpha 55 us, increase every 55 us and every 10 MB, F = 5, R_AI 40 Mb/s; Kmin 5 kB,
    Kmax 200 kB, Pmax 1% at 40 Gb/s.
    """
    rate, increase, bytes_, timer, tau, tau_alpha, f = (
        40e9 / PACKET / flows,
        40e6 / PACKET,
        10e6 / 1024,
        55e-6,
        50e-6,
        55e-6,
        5,
    )

    def derivative(p):
        x = math.log1p(-p)
        cut = -math.expm1(tau * rate * x)
        events = [
            (n, p / math.expm1(-n * x) if -n * x < 600 else 0.0) for n in (bytes_, timer * rate)
        ]
        above = tau / cut * increase * rate * sum(math.exp(f * n * x) * e for n, e in events)
        return (
            above / 2 * rate * sum(e for _, e in events)
            - rate * -math.expm1(tau_alpha * rate * x) / (2 * tau) * cut
        )

    low, high = 1e-9, 0.5
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if derivative(middle) > 0 else (low, middle)
    return 5e3 + 195e3 * low / 0.01 if low <= 0.01 else None


def dcqcn_integrated(flows, delay, line_goes_on=False, seconds=0.2):
    """Mean, standard deviation, p5 and p95 of the bytes in the queue, second half of the time: the
    equations above as they are,

      d alpha / dt = g / tau' ((1 - (1 - p')^(tau' R')) - alpha)
      d R_T / dt = -(R_T - R) / tau (1 - (1 - p')^(tau R')) + the increases,    d q / dt = N R - C
      d R / dt = -R alpha / (2 tau) (1 - (1 - p')^(tau R')) + the increases

    with N equal flows that begin at line rate, p' and R' of `delay` seconds ago, in steps of 1 us.
    RED marks all above Kmax, unless its line goes on from there.
    """
    g, b, timer, tau, tau_alpha, f, dt = 1 / 256, 10e6 / 1024, 55e-6, 50e-6, 55e-6, 5, 1e-6
    capacity, increase = 40e9 / PACKET, 40e6 / PACKET  # packets a second
    frame = 1024 + HEADERS - LINE
    kmin, kmax, pmax = 5e3 / frame, 200e3 / frame, 0.01
    current = target = capacity
    alpha, queue, queues = 1.0, 0.0, []
    past = [(0.0, current)] * round(delay / dt)
    for i in range(round(seconds / dt)):
        p, rate = past[i % len(past)]
        if p <= 0:  # limits of the terms
            cut = cut_alpha = 0.0
            by_bytes, by_time, after_bytes, after_time = 1 / b, 1 / (timer * rate), 1.0, 1.0
        elif p >= 1:
            cut = cut_alpha = 1.0
            by_bytes = by_time = after_bytes = after_time = 0.0
        else:
            x = math.log1p(-p)
            cut, cut_alpha = -math.expm1(tau * rate * x), -math.expm1(tau_alpha * rate * x)
            by_bytes, by_time = (
                p / math.expm1(-n * x) if -n * x < 600 else 0.0 for n in (b, timer * rate)
            )
            after_bytes, after_time = math.exp(f * b * x), math.exp(f * timer * rate * x)
        line = max(0.0, (queue - kmin) / (kmax - kmin) * pmax)
        past[i % len(past)] = (min(line, 1.0) if line_goes_on or queue <= kmax else 1.0, current)
        above = target - current
        target += dt * (
            increase * rate * (after_bytes * by_bytes + after_time * by_time) - above / tau * cut
        )
        current += dt * (
            above / 2 * rate * (by_bytes + by_time) - current * alpha / (2 * tau) * cut
        )
        alpha += dt * g / tau_alpha * (cut_alpha - alpha)
        target, current = min(target, capacity), min(max(current, capacity / 1000), capacity)
        queue = max(0.0, queue + dt * (flows * current - capacity))
        queues.append(queue * frame)
    late = queues[len(queues) // 2 :]
    return {
        "mean": statistics.fmean(late),
        "deviation": statistics.pstdev(late),
        "p5": quantile(late, 0.05),
        "p95": quantile(late, 0.95),
    }
