/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --shaper: rates that priorities of switches' ports may not exceed.
 */
#ifndef SCENARIOS_NETWORK_SHAPER_OPTIONS_H
#define SCENARIOS_NETWORK_SHAPER_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

std::vector<Option> ShaperOptionRows();

/// \return the shapers in words of the user; empty: none
std::string ApplyShapers(Validation* v);

/// Whether a setting of a place, or an attribute, is of shapers.
bool IsShaper(const std::string& attribute);

/// \param text of the attribute \return what is wrong, or nothing
std::string WhyNoShaper(const std::string& transport, const std::string& text);

/// `pir` of SONiC's SCHEDULER: "3:1250000000", a queue and its bytes per second, and `pbs` bytes
/// behind another colon \return the attribute and its value; none: it is no such text
std::vector<std::pair<std::string, std::string>> ReadPir(const std::string& text);

} // namespace scenario

#endif // SCENARIOS_NETWORK_SHAPER_OPTIONS_H
