/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of RdmaFabric that is about several processes: gateways, queue pairs whose other end is
 * elsewhere (ns-3's MPI: mpi/rdma-mpi.h).
 */
#include "contrib/rdma/core/look-ahead.h"
#include "rdma-connections.h"
#include "rdma-fabric.h"

#include "ns3/node-windows.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

std::string
RdmaFabric::MakeGateways()
{
    const uint32_t ranks = m_partition.ranks;
    if (ranks < 2)
    {
        return {};
    }
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        m_gatewayNodes.Create(1, rank);
    }
    const int64_t tick = std::max<int64_t>(1, RdmaClock::TicksToPs(1));
    // Checked of all links, so that every rank says the same.
    constexpr int64_t NO_LINK = 1000000000; // of processes without a link between them: 1 ms
    int64_t leastOfAll = NO_LINK;
    std::vector<int64_t> least(ranks, -1); // by rank, of its links to this one
    const auto rankOf = [this](uint32_t end) { return m_partition.rankOfNode[GetNodeOfEnd(end)]; };
    for (uint32_t link = 0; link < m_links.size(); ++link)
    {
        const uint32_t a = rankOf(2 * link);
        const uint32_t b = rankOf(2 * link + 1);
        if (a == b)
        {
            continue;
        }
        const int64_t delay = m_links[link].delayPs;
        if (!rdma::SplitDelay(delay, tick))
        {
            return "link " + GetLinkName(2 * link) + " is cut between ranks " + std::to_string(a) +
                   " and " + std::to_string(b) + ", and has a delay of " + std::to_string(delay) +
                   " ps; allowed between ranks: " + std::to_string(tick > 1 ? 2 * tick : 1) +
                   " ps or more";
        }
        leastOfAll = std::min(leastOfAll, delay);
        if (a == GetRank() || b == GetRank())
        {
            int64_t& ofPair = least[a == GetRank() ? b : a];
            ofPair = ofPair < 0 ? delay : std::min(ofPair, delay);
        }
    }
    std::vector<RdmaGateway*> gatewayTo(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        if (rank != GetRank())
        {
            const int64_t delay = least[rank] < 0 ? leastOfAll : least[rank];
            m_gateways.push_back(
                std::make_unique<RdmaGateway>(rank,
                                              m_gatewayNodes.Get(GetRank())->GetId(),
                                              *rdma::SplitDelay(delay, tick)));
            gatewayTo[rank] = m_gateways.back().get();
        }
    }
    for (uint32_t end = 0; end < GetNEnds(); ++end)
    {
        RdmaPort* port = m_portOfEnd[end];
        if (port && rankOf(end ^ 1) != GetRank())
        {
            RdmaGateway* gateway = gatewayTo[rankOf(end ^ 1)];
            port->GetPeer()->SetRemote(gateway, gateway->AddLink(port));
        }
    }
    return {};
}

std::pair<RdmaQueuePair*, RdmaQueuePair*>
RdmaFabric::ConnectQueuePairs(uint32_t from, uint32_t to, uint8_t priority)
{
    const uint32_t endpoints[2] = {from, to};
    RdmaQueuePair* ends[2] = {nullptr, nullptr};
    uint32_t numbers[2];
    for (int side = 0; side < 2; ++side)
    {
        const uint32_t endpoint = endpoints[side];
        const uint32_t before = m_queuePairsOf[endpoint]++;
        numbers[side] = before + 2; // as RdmaNic counts them
        if (m_nics[endpoint])
        {
            ends[side] = m_nics[endpoint]->CreateQueuePair(priority);
            NS_ABORT_MSG_IF(GetNRanks() > 1 && ends[side]->GetNumber() != numbers[side],
                            "across ranks all queue pairs must be made by ConnectQueuePairs");
        }
    }
    for (int side = 0; side < 2; ++side)
    {
        if (ends[side])
        {
            RdmaNic::ConnectRemote(ends[side], Describe(endpoints[1 - side], numbers[1 - side]));
        }
    }
    return {ends[0], ends[1]};
}

RdmaRemoteQueuePair
RdmaFabric::Describe(uint32_t endpoint, uint32_t number, uint8_t trafficClass)
{
    if (m_nics[endpoint])
    {
        return m_nics[endpoint]->Describe(number, trafficClass);
    }
    RdmaRemoteQueuePair there = m_nicDefaults;
    there.endpoint = endpoint;
    there.number = number;
    if (trafficClass)
    {
        there.recovery = m_classes[trafficClass - 1].recovery;
    }
    if (there.recovery->bdpFactor && !there.bdpCap)
    {
        there.bdpCap = GetBdpCap(endpoint, trafficClass);
    }
    return there;
}

RdmaQueuePair*
RdmaFabric::FindQueuePair(uint32_t endpoint, uint32_t number) const
{
    return endpoint < m_nics.size() && m_nics[endpoint] ? m_nics[endpoint]->FindQueuePair(number)
                                                        : nullptr;
}

RdmaQueuePair*
RdmaFabric::FindSender(uint32_t from, uint32_t to, uint32_t number) const
{
    if (m_connections)
    {
        return FindQueuePair(from, m_connections->GetNumbers().Other(to, number));
    }
    const RdmaQueuePair* receiver = FindQueuePair(to, number);
    return receiver ? FindQueuePair(from, receiver->GetPeerNumber()) : nullptr;
}

RdmaConnections&
RdmaFabric::GetConnections()
{
    if (!m_connections)
    {
        m_connections = std::make_unique<RdmaConnections>(*this);
    }
    return *m_connections;
}

void
RdmaFabric::ConnectRanks(NodeWindowRanks::Transport transport)
{
    if (GetNRanks() < 2)
    {
        return;
    }
    auto ranks = std::make_unique<NodeWindowRanks>(GetRank(), GetNRanks(), std::move(transport));
    for (const auto& gateway : m_gateways)
    {
        ranks->AddGateway(*gateway);
    }
    for (uint32_t end = 0; end < GetNEnds(); end += 2)
    {
        ranks->AddLink(m_nodes.Get(GetNodeOfEnd(end))->GetId(),
                       m_nodes.Get(GetNodeOfEnd(end + 1))->GetId());
    }
    NodeWindows::Active()->SetRanks(std::move(ranks));
}

} // namespace ns3
