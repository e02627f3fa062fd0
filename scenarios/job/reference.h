/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What was measured beside what collperf simulates: --reference.
 */
#ifndef SCENARIOS_JOB_REFERENCE_H
#define SCENARIOS_JOB_REFERENCE_H

#include <cstdint>
#include <map>
#include <string>

namespace scenario
{

struct Reference
{
    std::string file;                ///< path as given; empty: no reference
    std::map<uint64_t, double> time; ///< us, by bytes: of sizes of the run, at least one
};

} // namespace scenario

#endif // SCENARIOS_JOB_REFERENCE_H
