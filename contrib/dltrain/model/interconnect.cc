/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "interconnect.h"

#include "scale-up-transport.h"

namespace dltrain
{

Interconnect::Interconnect(const scenario::ClusterSpec& cluster,
                           const std::string& network,
                           ns3::RdmaFabric& fabric,
                           TraceCollector& collector)
    : m_places(cluster, fabric),
      m_inside(std::make_unique<ScaleUpTransport>(m_places, cluster.server)),
      m_between(NetworkKind::Make(network, {fabric, collector, m_places}))
{
}

Interconnect::~Interconnect() = default;

} // namespace dltrain
