/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Scripts that are captured, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_LAUNCH_H
#define SCENARIOS_ASKED_LAUNCH_H

#include <cstdint>
#include <optional>
#include <string>

namespace scenario::asked
{

struct Launch
{
    std::optional<std::string> launch;
    std::optional<std::string> captureRanks;
    std::optional<uint32_t> captureSteps;
    std::optional<std::string> captureStep;
    std::optional<bool> captureNetwork;
    std::optional<uint32_t> capturePatience;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_LAUNCH_H
