/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a cut graph exchanges in one pass, for tables and files. The same rules make the step graph
 * (sharded-plan.cc).
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_EXCHANGES_H
#define SCENARIOS_OPERATOR_SEARCH_EXCHANGES_H

#include "scenarios/operator-search/scatter.h"
#include "scenarios/operator-search/simulator-cost.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sharding
{

struct ExchangeOf
{
    const char* when = "forward"; ///< "forward", "backward", "gradients"
    std::string of;               ///< tensor
    MoveCollective collective;
};

/// "all-reduce".
const char* OpWord(coll::Op op);

/// Partial sums, gradients of inputs, and those of parameters (once a step).
std::vector<ExchangeOf> ExchangesOfOperator(const Graph& graph,
                                            uint32_t op,
                                            const std::vector<Strategy>& strategies,
                                            const Scatters& scatters,
                                            uint32_t devices,
                                            uint32_t gradientBytes);

/// Redistribution forward and back; of a parameter's second user its reduction, if the two have
/// other layouts.
std::vector<ExchangeOf> ExchangesOfEdge(const Graph& graph,
                                        const Edge& edge,
                                        const std::vector<Strategy>& strategies,
                                        uint32_t devices,
                                        uint32_t gradientBytes);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_EXCHANGES_H
