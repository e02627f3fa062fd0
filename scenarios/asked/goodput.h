/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Failures and checkpoints of a long training, as asked for. A row of the option table is bound to
 * each member (Option::As) and describes it. Without a default in every program a member is
 * optional: nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_GOODPUT_H
#define SCENARIOS_ASKED_GOODPUT_H

#include <cstdint>
#include <optional>
#include <string>

namespace scenario::asked
{

struct Goodput
{
    std::string duration;
    std::optional<std::string> mtbf;
    std::optional<std::string> gpuMtbf;
    std::optional<std::string> nicMtbf;
    std::optional<std::string> switchMtbf;
    std::optional<std::string> serverMtbf;
    std::optional<std::string> softwareMtbf;
    double weibullShape = 0;
    std::string checkpoint;
    std::optional<std::string> detectionTime;
    std::string replaceTime;
    std::string repairTime;
    std::optional<std::string> stepTime;
    std::string stepFrom;
    std::optional<std::string> checkpointTime;
    std::optional<std::string> readTime;
    std::optional<std::string> copyTime;
    uint32_t replications = 0;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_GOODPUT_H
