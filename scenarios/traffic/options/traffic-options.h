/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rows of traffic, as far as their reader needs them.
 */
#ifndef SCENARIOS_TRAFFIC_OPTIONS_TRAFFIC_OPTIONS_H
#define SCENARIOS_TRAFFIC_OPTIONS_TRAFFIC_OPTIONS_H

#include <cstdint>

namespace scenario
{

constexpr uint32_t kDefaultHosts = 16; ///< for networks that have no size of their own

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_OPTIONS_TRAFFIC_OPTIONS_H
