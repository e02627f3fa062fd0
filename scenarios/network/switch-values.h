/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What each switch of a network has, as far as checks before a run look at it: the fabric's values,
 * and those that its places have instead.
 */
#ifndef SCENARIOS_NETWORK_SWITCH_VALUES_H
#define SCENARIOS_NETWORK_SWITCH_VALUES_H

#include "contrib/rdma/core/units.h"
#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include <cstdint>
#include <map>
#include <vector>

namespace scenario
{

struct SwitchValues
{
    bool known = true; ///< no place has another attribute that the checks would need
    bool pfc = true;
    bool ecn = true;
    uint64_t kmin = 0;     ///< bytes per 100 Gb/s, or of every port
    uint64_t kmax = 0;     ///< the same
    bool per100G = true;   ///< scale of kmin and kmax
    double pmax = 0;       ///< 0 to 1
    uint64_t buffer = 0;   ///< bytes per 100 Gb/s of port rate
    uint64_t ofSwitch = 0; ///< bytes of the whole switch; 0: by `buffer`
    rdma::Duration latency;
    double alpha = 1.0 / 8; ///< of lossless priorities

    /// Bytes of a queue of this port from which on frames are marked.
    double KminAt(rdma::BitRate rate) const
    {
        return static_cast<double>(kmin) * (per100G ? static_cast<double>(rate.bps) / 100e9 : 1);
    }
};

class SwitchesOf
{
  public:
    /// \param fabric outlives this
    SwitchesOf(const FabricSpec& fabric, const topo::Topology& topology);

    const SwitchValues& Of(topo::NodeId node) const
    {
        return m_values[m_numberOf.empty() ? 0 : m_numberOf[node]];
    }

    /// The longest latency of any switch.
    rdma::Duration LongestLatency() const;

  private:
    SwitchValues Make(const FabricSpec& fabric, const std::vector<uint32_t>& settings) const;

    std::vector<SwitchValues> m_values; ///< those that differ; the first has no place's
    std::vector<uint32_t> m_numberOf;   ///< by node, in m_values; empty: all 0
};

} // namespace scenario

#endif // SCENARIOS_NETWORK_SWITCH_VALUES_H
