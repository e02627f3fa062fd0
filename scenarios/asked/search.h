/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The search of dlplan, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_SEARCH_H
#define SCENARIOS_ASKED_SEARCH_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Search
{
    std::optional<std::vector<std::string>> gpus;
    std::optional<std::vector<std::string>> fix;
    std::optional<std::vector<std::string>> search;
    std::string objective;
    std::optional<double> price;
    std::optional<std::string> tokens;
    std::optional<rdma::Duration> time;
    uint32_t top = 0;
    uint32_t verify = 0;
    std::string verifyNetwork;
    uint32_t moves = 0;
    std::optional<std::string> resume;
    std::optional<double> memoryMargin;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_SEARCH_H
