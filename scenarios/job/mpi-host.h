/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_JOB_MPI_HOST_H
#define SCENARIOS_JOB_MPI_HOST_H

#include <cstdint>
#include <string>

namespace scenario
{

/// A host of a run of several processes. Ranks 0 to ranks-1 are of the first host, and so on:
/// neighbours in the network share a host.
struct MpiHost
{
    std::string name;   ///< as ssh takes it: "node1", "user@node1"
    uint32_t ranks = 0; ///< 0: not said

    bool operator==(const MpiHost& other) const
    {
        return name == other.name && ranks == other.ranks;
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_MPI_HOST_H
