/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The faults of a run, and how long the network takes to notice them.
 */
#ifndef SCENARIOS_RUN_FAULT_PLAN_H
#define SCENARIOS_RUN_FAULT_PLAN_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

enum class FaultKind : uint8_t
{
    kLinkDown,
    kPortDown,
    kSwitchDown,
    kNicDown,
    kFlap,
    kRate,
    kLaneDown,
    kBitErrors,
    kDrop,
    kPauseStorm,
    kGpuSlow,
    kGpuStop,
};

struct Fault
{
    FaultKind kind = FaultKind::kLinkDown;
    std::string what;      ///< "link-down"
    std::string where;     ///< as given
    rdma::Duration at;     ///< from the beginning of the run
    rdma::Duration length; ///< 0: for ever
    /// rate, lane-down: share of the rate that is left, unless `rate` says it; ber: probability of
    /// a bit; drop: of a frame; gpu-slow: factor
    double value = 0;
    rdma::BitRate rate;    ///< of `rate`
    rdma::Duration period; ///< of flap
    double duty = 0;       ///< of flap: share of the period in which the link is down
    /// Ends of links of the topology, ascending: 2 * link, + 1 on the side of Link::b. Of cables
    /// both; of bit errors and drops those that receive; of a pause storm those that pause.
    std::vector<uint32_t> ends;
    std::vector<uint32_t> dead; ///< those of them that are down themselves, not just their cable
    uint32_t cables = 0;        ///< of `where`, if that names a link between two nodes

    /// Of a network, not of a GPU.
    bool IsOfNetwork() const
    {
        return kind != FaultKind::kGpuSlow && kind != FaultKind::kGpuStop;
    }

    /// It cuts cables.
    bool IsCut() const
    {
        return kind <= FaultKind::kFlap;
    }
};

struct FaultPlan
{
    std::vector<Fault> faults;
    rdma::Duration detection;   ///< until a switch knows that a link is dead
    rdma::Duration convergence; ///< from then until all switches have other tables
};

} // namespace scenario

#endif // SCENARIOS_RUN_FAULT_PLAN_H
