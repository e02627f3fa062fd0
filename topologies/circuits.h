/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Circuits of optical circuit switches: links of a topology that exist from and until given times.
 *
 * A circuit switch forwards nothing. It joins two of its fibres, which so become one cable between
 * the packet switches at their far ends. Each pair of fibres that a plan ever joins is a link of
 * the topology, and at any time at most one link of a fibre has light.
 */
#ifndef TOPOLOGIES_CIRCUITS_H
#define TOPOLOGIES_CIRCUITS_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace topo
{

class Topology;

struct CircuitPlan
{
    struct Change
    {
        rdma::Duration at;        ///< from the beginning of the run
        std::vector<uint32_t> up; ///< links that have light from then on, ascending
    };

    std::vector<std::string> switches; ///< names, in file order
    std::vector<uint32_t> links;       ///< links of the topology that are circuits, ascending
    std::vector<Change> changes;       ///< by time, each later than the one before
    /// Changes from this one on come again each `every`, below `until`; every 0: they do not.
    uint32_t again = 0;
    rdma::Duration every;
    rdma::Duration until;
    rdma::Duration dark;  ///< of circuits that a change makes, from the change on
    rdma::Duration drain; ///< before a change routes avoid the circuits that it ends
};

/// What is wrong with a place (a node, a port "ocs:1", a link "ocs-tor") that is a circuit
/// switch's, which is no node of the topology. \return nothing: it names none
std::string WhyNoCircuitSwitch(const Topology& topology, const std::string& place);

} // namespace topo

#endif // TOPOLOGIES_CIRCUITS_H
