/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-connections.h"

#include "contrib/rdma/core/flow-hash.h"
#include "rdma-fabric.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/rdma-owner.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaConnections");

namespace
{

/// The host of an endpoint whose state is about to change.
void
CheckOwner(const RdmaNic& nic, const char* what)
{
    RdmaOwner::Check(nic.GetPort()->GetNode()->GetId(), what);
}

} // namespace

RdmaConnections::RdmaConnections(RdmaFabric& fabric)
    : m_fabric(fabric),
      m_numbers(fabric.GetNEndpoints()),
      m_hosts(fabric.GetNEndpoints())
{
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        if (m_fabric.IsLocal(e))
        {
            m_fabric.GetNic(e)->SetListener(this);
        }
    }
}

RdmaConnections::~RdmaConnections()
{
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        if (m_fabric.IsLocal(e))
        {
            m_fabric.GetNic(e)->SetListener(nullptr);
        }
    }
}

uint32_t
RdmaConnections::TakeSlot(const RdmaConnectionRequest& request)
{
    Host& host = m_hosts[request.from];
    uint32_t& next = host.nextSlot[request.to + 1];
    if (next == m_numbers.MostSlots())
    {
        return next;
    }
    host.requests.emplace(m_numbers.Active(request.to, next), request);
    return next++;
}

RdmaQueuePair*
RdmaConnections::Open(const RdmaConnectionRequest& request)
{
    NS_LOG_FUNCTION(this);
    const std::lock_guard<std::mutex> lock(m_making);
    const Ptr<RdmaNic> nic = m_fabric.GetNic(request.from);
    CheckOwner(*nic, "opens a connection");
    const uint32_t slot = TakeSlot(request);
    if (slot == m_numbers.MostSlots())
    {
        return nullptr;
    }
    RdmaQueuePair* qp =
        TakeEnd(request.from, request, m_numbers.Active(request.to, slot), RdmaClock::Now());
    Connect(qp, request, true, m_numbers.Passive(request.from, slot), 0);
    if (m_onOpen)
    {
        m_onOpen(request, qp->GetNumber());
    }
    return qp;
}

RdmaQueuePair*
RdmaConnections::Expect(const RdmaConnectionRequest& request)
{
    NS_LOG_FUNCTION(this);
    const uint32_t slot = TakeSlot(request);
    if (slot == m_numbers.MostSlots())
    {
        return nullptr;
    }
    RdmaQueuePair* end =
        Accept(request, m_numbers.Passive(request.from, slot), 0, RdmaClock::Now());
    m_expected.push_back(end);
    return end;
}

void
RdmaConnections::Learn(const RdmaConnectionRequest& request, uint32_t number)
{
    NS_LOG_FUNCTION(this << number);
    m_hosts[request.from].requests.emplace(number, request);
}

void
RdmaConnections::SetOpenCallback(
    std::function<void(const RdmaConnectionRequest& request, uint32_t number)> callback)
{
    NS_LOG_FUNCTION(this);
    m_onOpen = std::move(callback);
}

namespace
{

uint64_t
EndKey(uint32_t endpoint, uint32_t number)
{
    return static_cast<uint64_t>(endpoint) << 32 | number;
}

} // namespace

void
RdmaConnections::LearnName(uint32_t from, uint32_t number, uint64_t name)
{
    NS_LOG_FUNCTION(this << from << number << name);
    m_names[EndKey(from, number)] = name;
}

std::optional<uint16_t>
RdmaConnections::GetLearntSourcePort(uint32_t from, uint32_t to, uint32_t number) const
{
    const bool passive = m_numbers.At(number).active; // `to` has opened it, and `from` answers
    const auto name = passive ? m_names.find(EndKey(to, number))
                              : m_names.find(EndKey(from, m_numbers.Other(to, number)));
    return name == m_names.end()
               ? std::nullopt
               : std::optional<uint16_t>(rdma::RoceSourcePortOfName(name->second, passive));
}

RdmaQueuePair*
RdmaConnections::OnRequest(RdmaNic* nic, uint32_t from, uint32_t number, int64_t now)
{
    NS_LOG_FUNCTION(this << nic << from << number << now);
    CheckOwner(*nic, "accepts a connection");
    const uint32_t to = nic->GetEndpoint();
    if (from >= m_hosts.size() || m_numbers.At(number).active || m_numbers.At(number).peer != from)
    {
        return nullptr; // nobody has opened this
    }
    const std::lock_guard<std::mutex> lock(m_making);
    const auto& requests = m_hosts[from].requests;
    const auto request = requests.find(m_numbers.Other(to, number));
    if (request == requests.end())
    {
        return nullptr;
    }
    const uint32_t* done = m_hosts[to].done.Find(number);
    return Accept(request->second, number, done ? *done : 0, now);
}

RdmaQueuePair*
RdmaConnections::Accept(const RdmaConnectionRequest& request,
                        uint32_t number,
                        uint32_t expected,
                        int64_t now)
{
    RdmaQueuePair* qp = TakeEnd(request.to, request, number, now);
    Connect(qp, request, false, m_numbers.Other(request.to, number), expected);
    if (expected)
    {
        Rest(qp, now); // its message has come already
    }
    else
    {
        request.user->OnAccepted(qp, request.data, now);
    }
    return qp;
}

RdmaQueuePair*
RdmaConnections::TakeEnd(uint32_t endpoint,
                         const RdmaConnectionRequest& request,
                         uint32_t number,
                         int64_t now)
{
    Host& host = m_hosts[endpoint];
    const Ptr<RdmaNic> nic = m_fabric.GetNic(endpoint);
    const std::size_t place = RestOf(request.trafficClass, request.priority);
    const bool rested = host.resting.size() > place && !host.resting[place].empty() &&
                        host.resting[place].front().since + m_rest <= now;
    if (!rested)
    {
        ++host.queuePairs;
        return nic->CreateQueuePair(request.priority, number, request.trafficClass);
    }
    RdmaQueuePair* qp = host.resting[place].front().queuePair;
    host.resting[place].pop_front();
    if (!m_numbers.At(qp->GetNumber()).active)
    {
        host.done[qp->GetNumber()] = static_cast<uint32_t>(qp->GetExpectedPsn());
    }
    qp->Modify(RdmaQueuePair::State::RESET);
    qp->SetUser(nullptr);
    nic->Renumber(qp, number);
    return qp;
}

void
RdmaConnections::Connect(RdmaQueuePair* qp,
                         const RdmaConnectionRequest& request,
                         bool active,
                         uint32_t peerNumber,
                         uint32_t expected)
{
    RdmaRemoteQueuePair peer =
        m_fabric.Describe(active ? request.to : request.from, peerNumber, request.trafficClass);
    peer.initialPsn = expected ? expected : peer.initialPsn;
    peer.sourcePort = rdma::RoceSourcePortOfName(request.name, !active);
    peer.peerSourcePort = rdma::RoceSourcePortOfName(request.name, active);
    peer.maxRateBps = active ? request.maxRateBps : 0;
    RdmaNic::ConnectRemote(qp, peer);
}

void
RdmaConnections::Close(RdmaQueuePair* qp)
{
    NS_LOG_FUNCTION(this << qp);
    CheckOwner(*qp->GetNic(), "closes a connection");
    {
        const std::lock_guard<std::mutex> lock(m_making);
        m_hosts[qp->GetNic()->GetEndpoint()].requests.erase(qp->GetNumber());
    }
    Rest(qp, RdmaClock::Now());
}

void
RdmaConnections::CloseSingle(RdmaQueuePair* qp, int64_t now)
{
    NS_LOG_FUNCTION(this << qp << now);
    CheckOwner(*qp->GetNic(), "ends a connection");
    Rest(qp, now);
}

void
RdmaConnections::Rest(RdmaQueuePair* qp, int64_t now)
{
    Host& host = m_hosts[qp->GetNic()->GetEndpoint()];
    if (host.resting.size() <= RestOf(qp->GetClass(), qp->GetServiceLevel()))
    {
        host.resting.resize(RestOf(qp->GetClass() + 1, 0));
    }
    host.resting[RestOf(qp->GetClass(), qp->GetServiceLevel())].push_back({qp, now});
}

RdmaQueuePair*
RdmaConnections::GetPassive(const RdmaQueuePair* active) const
{
    return m_fabric.FindQueuePair(active->GetPeerEndpoint(), active->GetPeerNumber());
}

uint64_t
RdmaConnections::GetQueuePairs() const
{
    uint64_t sum = 0;
    for (const Host& host : m_hosts)
    {
        sum += host.queuePairs;
    }
    const auto silent = std::count_if(m_expected.begin(), m_expected.end(), [](const auto* end) {
        return !end->HasHeard();
    });
    return sum - static_cast<uint64_t>(silent);
}

} // namespace ns3
