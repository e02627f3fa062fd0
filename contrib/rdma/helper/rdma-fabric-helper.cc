/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric-helper.h"

#include "contrib/rdma/core/set-up-phase.h"

#include "ns3/log.h"
#include "ns3/node.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFabricHelper");

void
RdmaFabricHelper::SetNicAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    m_settings.nic.Set(name, value);
}

void
RdmaFabricHelper::SetSwitchAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    m_settings.SetSwitchAttribute(name, value);
}

void
RdmaFabricHelper::SetPortAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    m_settings.port.Set(name, value);
}

void
RdmaFabricHelper::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    NS_LOG_FUNCTION(this << prototype);
    m_settings.prototype = prototype;
}

uint8_t
RdmaFabricHelper::AddTrafficClass(const RdmaTrafficClass& trafficClass)
{
    NS_LOG_FUNCTION(this);
    m_settings.classes.push_back(trafficClass);
    return static_cast<uint8_t>(m_settings.classes.size());
}

void
RdmaFabricHelper::SetInfiniBand(const IbFabricConfig& config)
{
    NS_LOG_FUNCTION(this);
    m_settings.SetInfiniBand(config);
}

void
RdmaFabricHelper::SetLargestFrame(uint32_t bytes)
{
    NS_LOG_FUNCTION(this << bytes);
    m_settings.largestFrame = bytes;
}

void
RdmaFabricHelper::SetPartition(const RdmaPartition& partition)
{
    NS_LOG_FUNCTION(this);
    m_settings.partition = partition;
}

void
RdmaFabricHelper::SetRoutes(std::vector<rdma::StaticRoute> routes)
{
    NS_LOG_FUNCTION(this << routes.size());
    m_settings.routes = std::move(routes);
}

void
RdmaFabricHelper::SetSourcePaths(std::vector<rdma::SourceHop> hops)
{
    NS_LOG_FUNCTION(this << hops.size());
    m_settings.paths = std::move(hops);
}

void
RdmaFabricHelper::SetBond(uint32_t ports)
{
    NS_LOG_FUNCTION(this << ports);
    m_settings.bond = ports;
}

void
RdmaFabricHelper::KeepMarking()
{
    NS_LOG_FUNCTION(this);
    m_settings.keepsMarking = true;
}

std::unique_ptr<RdmaFabric>
RdmaFabricHelper::Build(const std::vector<RdmaNodeSpec>& nodes,
                        const std::vector<RdmaLinkSpec>& links,
                        std::string& error,
                        int64_t stream)
{
    NS_LOG_FUNCTION(this << error << stream);
    const auto count = static_cast<uint32_t>(nodes.size());
    error = CheckPartition(count);
    if (!error.empty())
    {
        return nullptr;
    }
    RdmaFabricBuilder builder(m_settings);
    const std::vector<uint32_t>& rankOfNode = m_settings.partition.rankOfNode;
    for (uint32_t i = 0; i < count; ++i)
    {
        builder.AddNode(CreateObject<Node>(rankOfNode.empty() ? 0 : rankOfNode[i]), nodes[i]);
    }
    const rdma::SetUpPhase phase("making ports and links", links.size());
    uint64_t done = 0;
    for (const RdmaLinkSpec& link : links)
    {
        phase.Done(done++);
        error = builder.AddLink(link);
        if (!error.empty())
        {
            return nullptr;
        }
    }
    return builder.Finish(error, stream);
}

std::string
RdmaFabricHelper::CheckPartition(uint32_t nodes) const
{
    if (m_settings.partition.rankOfNode.empty())
    {
        return {};
    }
    if (m_settings.partition.rankOfNode.size() != nodes ||
        m_settings.partition.rank >= m_settings.partition.ranks)
    {
        return "the partition has " + std::to_string(m_settings.partition.rankOfNode.size()) +
               " nodes and rank " + std::to_string(m_settings.partition.rank) + " of " +
               std::to_string(m_settings.partition.ranks) + "; the fabric has " +
               std::to_string(nodes) + " nodes";
    }
    for (const uint32_t rank : m_settings.partition.rankOfNode)
    {
        if (rank >= m_settings.partition.ranks)
        {
            return "the partition gives a node to rank " + std::to_string(rank) + " of " +
                   std::to_string(m_settings.partition.ranks);
        }
    }
    return {};
}

} // namespace ns3
