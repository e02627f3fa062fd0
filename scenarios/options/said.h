/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Values as the user said them: --no-pfc is no --no-pfc=0 in a message.
 */
#ifndef SCENARIOS_OPTIONS_SAID_H
#define SCENARIOS_OPTIONS_SAID_H

#include "scenarios/options/options.h"

#include <string>

namespace scenario
{

/// The value as it was given: "4096" for --mtu=4096; "" for --no-pfc and for an option without a
/// value.
std::string SaidValue(const OptionTable& table, const Values& values, const std::string& option);

/// "--mtu=4096", "--no-pfc", "job.json: /fabric/pfc=false".
std::string SaidText(const OptionTable& table, const Values& values, const std::string& option);

/// The same of a member's option.
inline std::string
SaidText(const OptionTable& table, const Values& values, Member member)
{
    return SaidText(table, values, values.NameOf(member));
}

} // namespace scenario

#endif // SCENARIOS_OPTIONS_SAID_H
