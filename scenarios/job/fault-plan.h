/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The faults of a run, and how long the network takes to notice them.
 */
#ifndef SCENARIOS_JOB_FAULT_PLAN_H
#define SCENARIOS_JOB_FAULT_PLAN_H

#include "contrib/rdma/core/units.h"
#include "topologies/circuits.h"

#include <cstdint>
#include <memory>
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
    kCircuits, ///< no fault of --fault, but circuits of the topology that come and go
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
    rdma::BitRate rate;    ///< rate that is left, for kRate; then `value` is not used
    rdma::Duration period; ///< period of a flapping link, for kFlap
    double duty = 0;       ///< share of the period in which the link is down, for kFlap
    /// Ends of links of the topology, ascending: 2 * link, + 1 on the side of Link::b. A cable
    /// fault has both ends, bit errors and drops the receiving ends, a pause storm the pausing
    /// ends.
    std::vector<uint32_t> ends;
    std::vector<uint32_t> dead; ///< ends in `ends` that are down themselves, not just their cable
    std::shared_ptr<const topo::CircuitPlan> circuits; ///< of kCircuits, the last of a plan
    uint32_t cables = 0; ///< cables between the two nodes that `where` names, if it names a link

    /// Whether the fault hits the network, not a GPU.
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

#endif // SCENARIOS_JOB_FAULT_PLAN_H
