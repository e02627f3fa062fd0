/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How ports share their time among priorities, as asked for.
 */
#ifndef SCENARIOS_JOB_ETS_H
#define SCENARIOS_JOB_ETS_H

#include <array>
#include <cstdint>

namespace scenario
{

/// Enhanced transmission selection (IEEE 802.1Qaz): of --ets.
struct EtsSpec
{
    bool given = false;                ///< else ports are as their attributes say
    std::array<uint32_t, 8> weights{}; ///< bytes of a round, of each priority
    uint8_t strict = 0;                ///< bit p: priority p is strict
};

} // namespace scenario

#endif // SCENARIOS_JOB_ETS_H
