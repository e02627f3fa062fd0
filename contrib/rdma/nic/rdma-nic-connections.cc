/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A NIC's queue pairs: how they are made and connected, and what they begin with.
 */
#include "rdma-nic-limits.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"
#include "rdma-transport-schemes.h"

#include "ns3/log.h"
#include "ns3/none-congestion-ops.h"
#include "ns3/rdma-base-rtt.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNicConnections");

RdmaQueuePair*
RdmaNic::CreateQueuePair(const RdmaQueuePairInit& init)
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_IF(init.serviceLevel >= m_priorityOfServiceLevel.size(), "no such service level");
    RdmaQueuePair* qp = CreateQueuePair(m_priorityOfServiceLevel[init.serviceLevel]);
    qp->m_serviceLevel = init.serviceLevel;
    RdmaQueuePairVerbs& verbs = qp->GetVerbs();
    verbs.requester.queue = init.sendQueue;
    verbs.requester.signalAll = init.signalAll;
    verbs.requester.maxRequests = init.maxSendRequests;
    verbs.responder.queue = init.receiveQueue;
    verbs.responder.maxRequests = init.maxReceiveRequests;
    verbs.responder.needsReceives = true;
    if (init.service == RdmaService::UD)
    {
        verbs.datagrams = std::make_unique<RdmaDatagrams>(qp);
        qp->SetTransport(*RdmaTransportSchemes::Find("none"), 0);
    }
    return qp;
}

RdmaQueuePair*
RdmaNic::CreateQueuePair(uint8_t priority, uint32_t number)
{
    NS_LOG_FUNCTION(this << priority << number);
    NS_ABORT_MSG_IF(priority >= RdmaPort::PRIORITIES, "no such priority");
    // QP 0 and 1 are special (InfiniBand Architecture 1, 3.9).
    const auto index = static_cast<uint32_t>(m_qps.size());
    if (number == 0)
    {
        for (number = index + 2; FindQueuePair(number); ++number)
        {
        }
    }
    NS_ABORT_MSG_IF(number < 2 || number > 0xffffff, "queue pairs have numbers 2 to 2^24 - 1");
    NS_ABORT_MSG_IF(FindQueuePair(number), "there is a queue pair " << number << " here");
    Ptr<RdmaQueuePair> qp(new RdmaQueuePair(this, number, index), false);
    m_numbers[number] = PeekPointer(qp);
    qp->m_serviceLevel = priority;
    qp->m_priority =
        m_paths ? 0 : priority; // every InfiniBand port has VL 0; a path may tell another
    qp->m_dscp = m_dscpOfPriority[priority];
    qp->m_requester.m_timeoutExponent = static_cast<uint8_t>(m_timeoutExponent);
    qp->m_requester.m_retryCount = static_cast<uint8_t>(m_retryCount);
    qp->m_requester.m_endPsn = qp->m_responder.m_expectedPsn = m_initialPsn;
    qp->m_requester.SetProfile(GetProfile(0), RdmaClock::Now());
    m_qps.push_back(qp);
    if (m_limits)
    {
        m_limits->Grow(GetNQueuePairs());
    }
    return PeekPointer(qp);
}

void
RdmaNic::Renumber(RdmaQueuePair* qp, uint32_t number)
{
    NS_LOG_FUNCTION(this << qp << number);
    NS_ABORT_MSG_IF(qp->m_state != RdmaQueuePair::State::RESET, "its peer knows its number");
    NS_ABORT_MSG_IF(number < 2 || number > 0xffffff, "queue pairs have numbers 2 to 2^24 - 1");
    NS_ABORT_MSG_IF(FindQueuePair(number), "there is a queue pair " << number << " here");
    m_numbers.Erase(qp->m_number);
    qp->m_number = number;
    m_numbers[number] = qp;
}

RdmaQueuePairProfile*
RdmaNic::GetProfile(uint64_t staticRate)
{
    RdmaCongestionState before;
    before.port = rdma::BitRate(m_port->GetRate());
    before.line = rdma::BitRate(staticRate ? std::min(staticRate, GetMaxRate()) : GetMaxRate());
    before.mtu = m_mtu;
    before.fullWireBytes = m_sizes.dataOverhead + m_mtu;
    before.windowAtLine = m_windowBytes;
    before.markedFrom =
        (m_markingAt.bps ? rdma::ScaleToRate(m_marking, m_markingAt, before.line) : m_marking)
            .value;
    if (m_prototype->GetNeeds() & RdmaCongestionOps::BASE_RTT)
    {
        before.baseRtt = GetBaseRtt();
    }
    for (auto it = m_profiles.rbegin(); it != m_profiles.rend(); ++it)
    {
        const RdmaCongestionState& other = (*it)->before;
        if ((*it)->staticRate == staticRate && other.line.bps == before.line.bps &&
            other.port.bps == before.port.bps && other.mtu == before.mtu &&
            other.fullWireBytes == before.fullWireBytes &&
            other.windowAtLine == before.windowAtLine && other.markedFrom == before.markedFrom &&
            other.baseRtt == before.baseRtt && (*it)->variableWindow == m_variableWindow)
        {
            return it->get();
        }
    }
    auto profile = std::make_unique<RdmaQueuePairProfile>();
    profile->before = profile->after = before;
    profile->staticRate = staticRate;
    profile->variableWindow = m_variableWindow;
    profile->ops = m_prototype->Fork();
    RdmaCongestionState& cc = profile->after;
    profile->ops->Init(cc);
    if (m_windowBytes)
    {
        cc.windowBytes = std::min(cc.windowBytes, GetWindowAt(cc.rateBps));
    }
    profile->quiet = (profile->ops->GetNeeds() & RdmaCongestionOps::QUIET) &&
                     cc.nextUpdate == RdmaCongestionState::NEVER &&
                     cc.nextUpdateBytes == RdmaCongestionState::UNLIMITED;
    // As UpdateRate leaves a queue pair: the first packet is paced too.
    RdmaRequester::Sender& idle = profile->idle;
    idle.profile = profile.get();
    idle.cc = cc;
    idle.ratePaced = cc.rateBps;
    idle.psPerByte = RdmaRequester::GetPace(*this, cc);
    if (m_variableWindow && m_windowBytes && cc.rateBps)
    {
        idle.cc.windowBytes = GetWindowAt(cc.rateBps);
    }
    idle.windowTold = idle.cc.windowBytes;
    m_profiles.push_back(std::move(profile));
    return m_profiles.back().get();
}

const RdmaTransportScheme&
RdmaNicAttributes::GetTransportScheme() const
{
    return RdmaTransportSchemes::At(m_lossRecovery);
}

void
RdmaNic::Connect(RdmaQueuePair* a, RdmaQueuePair* b)
{
    NS_LOG_FUNCTION(a << b);
    // Each begins where the other expects it to, which need not be where the NIC would.
    RdmaRemoteQueuePair ofA = a->m_nic->Describe(a->m_number);
    RdmaRemoteQueuePair ofB = b->m_nic->Describe(b->m_number);
    ofA.initialPsn = static_cast<uint32_t>(a->m_requester.m_endPsn);
    ofB.initialPsn = static_cast<uint32_t>(b->m_requester.m_endPsn);
    ConnectRemote(a, ofB);
    ConnectRemote(b, ofA);
}

RdmaRemoteQueuePair
RdmaNic::Describe(uint32_t number)
{
    NS_LOG_FUNCTION(this << number);
    const RdmaTransportScheme& recovery = GetTransportScheme();
    return {m_endpoint, number, m_initialPsn, &recovery, recovery.bdpFactor ? GetBdpCap() : 0};
}

void
RdmaNic::Agree(RdmaQueuePair* qp, const RdmaTransportScheme& theirs, uint64_t peerBdpCap)
{
    const RdmaTransportScheme& ours = GetTransportScheme();
    if (&ours == &theirs && &ours != &RdmaTransportSchemes::GoBackN())
    {
        qp->SetTransport(ours, peerBdpCap);
    }
}

uint64_t
RdmaNic::GetMaxRate() const
{
    return m_maxRate ? std::min(m_maxRate, m_port->GetRate()) : m_port->GetRate();
}

uint64_t
RdmaNic::GetWindowAt(uint64_t rateBps) const
{
    const uint64_t line = GetMaxRate();
    if (!m_variableWindow || rateBps == line || rateBps == 0)
    {
        return m_windowBytes;
    }
    const auto window = static_cast<unsigned __int128>(m_windowBytes) * rateBps / line;
    return std::max<uint64_t>(m_windowBytes ? 1 : 0, static_cast<uint64_t>(window));
}

void
RdmaNic::ConnectRemote(RdmaQueuePair* qp, const RdmaRemoteQueuePair& peer)
{
    NS_LOG_FUNCTION(qp);
    NS_ABORT_MSG_IF(qp->GetService() != RdmaService::RC,
                    "datagrams have no connection: see RdmaQueuePair::Modify");
    NS_ABORT_MSG_IF(qp->m_state > RdmaQueuePair::State::INIT, "connected already: see RESET");
    qp->SetPeer(peer.endpoint,
                peer.number,
                peer.initialPsn,
                peer.sourcePort,
                peer.peerSourcePort,
                peer.maxRateBps);
    qp->m_state = RdmaQueuePair::State::READY_TO_SEND;
    if (peer.recovery)
    {
        qp->m_nic->Agree(qp, *peer.recovery, peer.bdpCap);
    }
}

uint64_t
RdmaNic::GetBdpCap()
{
    if (!m_bdpCap)
    {
        const uint64_t factor = std::max(1U, GetTransportScheme().bdpFactor);
        m_bdpCap =
            std::min(factor * RdmaBaseRtt::ComputeBdpCap(PeekPointer(m_port), m_mtu, m_sizes),
                     RdmaQueuePair::MAX_OUTSTANDING);
    }
    return m_bdpCap;
}

int64_t
RdmaNic::GetBaseRtt()
{
    if (!m_baseRttPs)
    {
        m_baseRttPs = m_baseRtt.IsZero() ? RdmaBaseRtt::Compute(PeekPointer(m_port), m_mtu, m_sizes)
                                         : m_baseRtt.GetPicoSeconds();
    }
    return m_baseRttPs;
}

Ptr<RdmaCongestionOps>
RdmaNic::GetCongestionOps(uint32_t index) const
{
    return GetQueuePair(index)->GetCongestionOps();
}

} // namespace ns3
