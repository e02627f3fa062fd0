/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The topology and its cables, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_NETWORK_H
#define SCENARIOS_ASKED_NETWORK_H

#include "contrib/rdma/core/units.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Network
{
    std::string topology;
    std::optional<rdma::BitRate> fabricRate;
    rdma::Duration linkDelay;
    double bitErrorRate = 0;
    std::optional<rdma::Duration> faultDetection;
    std::optional<rdma::Duration> convergence;
    std::optional<std::vector<std::string>> tierRate;
    std::optional<std::vector<std::string>> tierDelay;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_NETWORK_H
