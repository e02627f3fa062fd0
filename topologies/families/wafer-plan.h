/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a user says about wafers, read and checked: the mesh, its I/O ports, what is dead in it.
 */
#ifndef TOPOLOGIES_FAMILIES_WAFER_PLAN_H
#define TOPOLOGIES_FAMILIES_WAFER_PLAN_H

#include "topologies/dimensions.h"
#include "topologies/family.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace topo
{

// Parameters of the family.
constexpr const char* kWafer = "wafer";
constexpr const char* kWaferIo = "wafer-io";
constexpr const char* kWafers = "wafers";
constexpr const char* kDead = "dead";
constexpr const char* kDeadLinks = "dead-links";

using DiePair = std::pair<uint32_t, uint32_t>; ///< the smaller number first

/// What is asked for, checked.
struct WaferPlan
{
    Dimension x; ///< lines, with rate and delay
    Dimension y;
    uint32_t wafers = 1;
    uint32_t ioPorts = 0;
    Dimension io; ///< rate and delay
    std::vector<bool> dead;
    std::set<DiePair> deadLinks;
    std::string text;   ///< "5x4@750GBps,20ns"
    std::string ioText; ///< "18@128GBps,100ns"; empty: no ports
    std::vector<std::string> notes;

    uint32_t PerWafer() const
    {
        return x.size * y.size;
    }

    uint32_t Dies() const
    {
        return PerWafer() * wafers;
    }

    uint32_t Living() const;
    /// The next die in a dimension; none at the edge.
    std::optional<uint32_t> Next(uint32_t die, bool alongX) const;

    /// \pre a < b are neighbours
    bool HasLink(uint32_t a, uint32_t b) const
    {
        return !dead[a] && !dead[b] && deadLinks.count({a, b}) == 0;
    }

    /// The die of an I/O port, of the first wafer.
    uint32_t DieOfPort(uint32_t port) const;
    /// I/O ports of the die that has most of them; 0 if they lead nowhere.
    uint32_t PortsOfDie() const;
    /// The living dies as two lines, if they are a box of one wafer with all of its links.
    std::optional<std::vector<Dimension>> Box() const;
    /// NICs of each die.
    uint32_t Nics() const;
};

/// The plan of a request; nothing, with errors, if it is wrong. Living dies that do not reach each
/// other are an error.
std::optional<WaferPlan> ReadWafer(const TopologyRequest& request, std::vector<Error>* errors);

} // namespace topo

#endif // TOPOLOGIES_FAMILIES_WAFER_PLAN_H
