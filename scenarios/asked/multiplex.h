/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Many models on a GPU, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_MULTIPLEX_H
#define SCENARIOS_ASKED_MULTIPLEX_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Multiplex
{
    uint32_t seq = 0;
    std::optional<std::string> compare;
    std::optional<std::string> multiplex;
    std::vector<std::string> policy;
    rdma::Duration switchTime;
    bool interference = false;
    bool shareCurve = false;
    bool slices = false;
    std::optional<std::string> processes;
    rdma::Duration operatorTime;
    std::string curve;
    std::optional<std::string> curves;
    std::optional<std::string> model;
    std::optional<std::string> batch;
    std::string gpu;
    std::string gpus;
    std::string duration;
    std::optional<std::string> dtype;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_MULTIPLEX_H
