/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Processes that run one batch after another on a part of a GPU, as a closed queueing network:
 *
 *     own delay (a process alone)  ->  link (shared)  ->  GPU (shared)  ->  own delay ...
 *
 * The link and the GPU are shared in equal parts by those that use them at once (processor
 * sharing). Mean value analysis is exact for it, whatever the distribution of the times
 * (M. Reiser, S. S. Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks,
 * J. ACM 27(2), 1980):
 *
 *     R_k(n) = D_k (1 + Q_k(n - 1)),   X(n) = n / (Z + sum R_k(n)),   Q_k(n) = X(n) R_k(n)
 *
 * Kernels are launched ahead of the GPU, so the host's time does not add up with the GPU's: the
 * longer one decides. Near each other both do: the cycle is (host^4 + network^4)^(1/4). The 4 is
 * assumed; 3 and 6 fit measured rows as well.
 */
#ifndef SCENARIOS_MULTIPLEX_CLOSED_LOOP_H
#define SCENARIOS_MULTIPLEX_CLOSED_LOOP_H

#include <cstdint>

namespace multiplex
{

/// What one batch needs, s.
struct LoopTimes
{
    double host = 0; ///< launches of its kernels: the least time of a batch
    double own = 0;  ///< other work of the process, that overlaps with nothing
    double link = 0; ///< copies of inputs, on a link of all processes
    double gpu = 0;  ///< alone on the instance
};

/// Seconds from the start of a batch to the start of the next one of the same process.
/// \param processes at least 1
double CycleSeconds(const LoopTimes& times, uint32_t processes);

/// The own delay with which the network alone has that cycle: `own`, and what the host adds.
double DelaySeconds(const LoopTimes& times, uint32_t processes);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_CLOSED_LOOP_H
