/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Degrees of parallelism, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_DEGREES_H
#define SCENARIOS_ASKED_DEGREES_H

#include "scenarios/options/member.h"

#include <cstdint>
#include <optional>

namespace scenario::asked
{

struct Degrees
{
    uint32_t tp = 0;
    NumberOrWord pp;
    std::optional<uint32_t> dp;
    uint32_t cp = 0;
    std::optional<uint32_t> ep;
    std::optional<uint32_t> etp;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_DEGREES_H
