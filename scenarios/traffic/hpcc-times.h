/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Two numbers that HPCC's ns-3 code (alibaba-edu/High-Precision-Congestion-Control,
 * simulation/scratch/third.cc) derives from the paths of a network, in its arithmetic: whole
 * nanoseconds and bytes, every division cut.
 *
 *   rtt    = 2 x sum of delays + sum over the links of payload x 8 / rate      (no headers, and
 *                                                                              nothing for the ACK)
 *   window = the largest rtt x bottleneck rate / 8 of any two hosts            (HAS_WIN 1, GLOBAL_T
 *                                                                              1)
 *   alone  = rtt + (bytes + 48 x packets) x 8 / bottleneck rate                (the last column of
 *                                                                              its fct file)
 */
#ifndef SCENARIOS_TRAFFIC_HPCC_TIMES_H
#define SCENARIOS_TRAFFIC_HPCC_TIMES_H

#include "contrib/rdma/core/ideal-completion.h"
#include "topologies/topology.h"

#include <cstdint>
#include <vector>

namespace scenario
{

/// The window of every queue pair, bytes. Among paths with the same number of links the first one
/// found counts, as in HPCC's code. Costs O(hosts x links).
uint64_t HpccWindow(const topo::Topology& topology, uint32_t payload);

/// Completion time of a flow alone as its fct file has it, ns. It is somewhat more than the flow
/// would really need up to the last byte, and usually less than up to the last ACK. Precondition:
/// the path has links.
uint64_t HpccStandaloneNs(const std::vector<rdma::PathLink>& path,
                          uint64_t bytes,
                          uint32_t payload);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_HPCC_TIMES_H
