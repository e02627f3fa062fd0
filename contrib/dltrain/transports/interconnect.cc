/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "interconnect.h"

#include "bundled-transport.h"
#include "collectives/aggregation/aggregators.h"
#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "scale-up-transport.h"
#include "scenarios/asked/collective.h"
#include "scenarios/options/member.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dltrain
{

Interconnect::Interconnect(const scenario::ClusterSpec& cluster,
                           const std::string& network,
                           ns3::RdmaFabric& fabric,
                           TraceCollector& collector,
                           Places::NicsInUse nicsInUse,
                           NetworkShare* share)
    : m_fabric(fabric),
      m_collector(collector),
      m_places(cluster, fabric, std::move(nicsInUse)),
      m_leaves(m_places),
      m_inside(std::make_unique<ScaleUpTransport>(m_places, cluster, collector.GetScaleUpTally())),
      m_between(
          NetworkKind::Make(network, {fabric, collector, m_places, share, cluster.channelClass})),
      m_groups(m_places.GetNHosts() - m_places.GetNServers(), 0),
      m_mostGroups(cluster.aggregationGroups),
      m_aggregators(cluster.aggregators.get()),
      m_topology(cluster.topology)
{
    if (cluster.connections.queuePairs > 1)
    {
        m_between =
            std::make_unique<BundledTransport>(std::move(m_between), m_places, cluster.connections);
    }
}

Interconnect::~Interconnect() = default;

bool
Interconnect::TakeAggregation(const std::vector<uint32_t>& units)
{
    const auto full = std::find_if(units.begin(), units.end(), [this](uint32_t unit) {
        return m_groups[unit] >= m_mostGroups;
    });
    if (full != units.end())
    {
        if (m_refused++ == 0)
        {
            SayNote("warning: switch " + m_topology.Nodes()[m_aggregators->Units()[*full].at].name +

                    " adds up for as many groups of ranks as it can (" +
                    scenario::Spell(&scenario::asked::Collective::aggregationGroups) + "=" +
                    std::to_string(m_mostGroups) +

                    "): this group, and others it has no room for, take what " +
                    scenario::Spell(&scenario::asked::Collective::algorithm) +
                    "=auto "
                    "would");
        }
        return false;
    }
    for (const uint32_t unit : units)
    {
        ++m_groups[unit];
    }
    return true;
}

RecalledLoads&
Interconnect::GetRecalledLoads(const coll::RecallSettings& settings) const
{
    return m_collector.GetRecalledLoads(m_places.PlaceOfSwitch(0), settings); // behind all GPUs
}

} // namespace dltrain
