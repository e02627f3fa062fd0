/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What makes one plan better than another (--objective of dlplan).
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_OPTIONS_OBJECTIVE_H
#define SCENARIOS_LAYOUT_SEARCH_OPTIONS_OBJECTIVE_H

#include "topologies/registered.h"

#include <cstdint>
#include <string>

namespace scenario
{

struct Objective
{
    static constexpr const char* kWhat = "objectives";

    std::string name;
    int rank;
    std::string description; ///< of --help
    /// The smaller the better. \param step s
    double (*score)(double step, uint32_t gpus);
    bool needsPrice = false; ///< of a GPU-hour
};

using RegisteredObjective = topo::Registered<Objective>;

} // namespace scenario

#endif // SCENARIOS_LAYOUT_SEARCH_OPTIONS_OBJECTIVE_H
