/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_LOAD_SPREAD_H
#define REPORTS_STATS_LOAD_SPREAD_H

#include "reports/schema/object.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reports
{

/// How evenly a set of links was used that packets could choose from. For n links with the loads
/// x_i:
struct LoadSpread
{
    double maxOverMean{1}; //!< 1 (even) to n (one has all)
    double cov{0};         //!< standard deviation (of all n, not of a sample) over mean
    double jain{1}; //!< (sum x)^2 / (n sum x^2), 1 to 1/n: Jain, Chiu, Hawe, DEC-TR-301 (1984);
                    //!< 1 / (1 + cov^2)
};

/// \param loads bytes over rate, or any unit. Without any load: even
LoadSpread SpreadOf(const std::vector<double>& loads);

/// A set of links of one switch, each on a shortest way to the same places.
struct LinkSetLoad
{
    //! Tier of the switch: links to the nearest host, so 1 at the edge; 0: there is none
    uint32_t tier{0};
    uint32_t node{0};
    uint32_t links{0};
    double bytes{0}; //!< on the wire, of all links
    LoadSpread spread;
};

/// The sets of a tier, each weighted by its bytes.
struct TierLoad
{
    uint32_t tier{0};
    uint32_t sets{0}; //!< sets that carried anything
    uint32_t links{0};
    LoadSpread mean;
    //! Largest max over mean, among sets that carried at least half as much as the busiest set
    double worst{1};
    std::string where; //!< the switch of the worst set
};

/// \param sets any order \param names by node
std::vector<TierLoad> TiersOf(std::vector<LinkSetLoad> sets, const std::vector<std::string>& names);

/// The effect of load balancing.
struct BalanceStats
{
    /// `balancer` of switches whose forwarding tables have one port for each LID.
    static constexpr const char* TABLES = "tables";

    std::string balancer;       //!< name; the senders' scheme, if they choose
    bool usual{true};           //!< hashed, or as tables say: every flow keeps its way
    uint64_t outOfOrder{0};     //!< data packets that came behind a missing one
    uint64_t notKept{0};        //!< out-of-order packets that were dropped
    uint64_t largestReorder{0}; //!< largest number of packets that an out-of-order packet was ahead
    uint64_t largestHeldBytes{0}; //!< most bytes of a queue pair that a receiver kept
    uint64_t pathChanges{0};      //!< by senders
    /// Pairs of flows that shared one of several links while another of these had none (FlowWays).
    /// nullopt: not known, or flows have no fixed paths
    std::optional<uint64_t> hashCollisions;
    std::vector<TierLoad> tiers; //!< empty: no links to choose from

    bool ByTables() const
    {
        return balancer == TABLES;
    }
};

const Object<BalanceStats>& BalanceKeys();

} // namespace reports

#endif // REPORTS_STATS_LOAD_SPREAD_H
