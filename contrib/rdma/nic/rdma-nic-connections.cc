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

uint8_t
RdmaNic::AddClass(const RdmaTrafficClass& trafficClass)
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_IF(m_port, "a NIC's classes are added before Attach");
    NS_ABORT_MSG_IF(m_classes.size() == MOST_CLASSES,
                    "a NIC has at most " << +MOST_CLASSES << " classes besides class 0");
    m_classes.push_back(std::make_unique<Class>());
    static_cast<RdmaTrafficClass&>(*m_classes.back()) = trafficClass;
    return static_cast<uint8_t>(m_classes.size());
}

rdma::FrameSizes
RdmaNic::MakeSizes(const RdmaCongestionOps& prototype) const
{
    const RdmaHeaderBytes more = prototype.GetHeaderBytes();
    const uint32_t overhead = m_port->GetLineOverhead();
    rdma::FrameSizes sizes = rdma::FrameSizes::Make(overhead,
                                                    m_headerBytes + more.data,
                                                    m_extensionHeaders,
                                                    m_ackFrameBytes + more.ack,
                                                    m_cnpFrameBytes);
    sizes.controlData = more.data;
    sizes.controlAck = more.ack;
    sizes.leastWire = m_extensionHeaders ? m_leastFrameBytes + overhead : 0;
    sizes.SetFlits(m_flitBytes);
    return sizes;
}

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
RdmaNic::CreateQueuePair(uint8_t priority, uint32_t number, uint8_t trafficClass)
{
    NS_LOG_FUNCTION(this << priority << number << trafficClass);
    NS_ABORT_MSG_IF(priority >= RdmaPort::PRIORITIES, "no such priority");
    NS_ABORT_MSG_IF(trafficClass >= GetNClasses(), "no such class");
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
    qp->m_class = trafficClass;
    qp->m_sizes = &GetFrameSizes(trafficClass);
    qp->m_serviceLevel = priority;
    qp->m_priority =
        m_paths ? 0 : priority; // every InfiniBand port has VL 0; a path may tell another
    qp->m_dscp = m_dscpOfPriority[priority];
    qp->m_requester.m_timeoutExponent = static_cast<uint8_t>(m_timeoutExponent);
    qp->m_requester.m_retryCount = static_cast<uint8_t>(m_retryCount);
    qp->m_requester.m_endPsn = qp->m_responder.m_expectedPsn = m_initialPsn;
    qp->m_requester.SetProfile(GetProfile(0, trafficClass), RdmaClock::Now());
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
RdmaNic::GetProfile(uint64_t staticRate, uint8_t trafficClass)
{
    const uint64_t most = GetMaxRate(trafficClass);
    const RdmaCongestionOps& prototype = GetPrototype(trafficClass);
    const Class* own = trafficClass ? m_classes[trafficClass - 1].get() : nullptr;
    const bool ownMarking = own && own->markingAt.bps;
    const rdma::Bytes marking = ownMarking ? own->marking : m_marking;
    const rdma::BitRate markingAt = ownMarking ? own->markingAt : m_markingAt;
    RdmaCongestionState before;
    before.port = rdma::BitRate(m_port->GetRate());
    before.line = rdma::BitRate(staticRate ? std::min(staticRate, most) : most);
    before.mtu = m_mtu;
    before.fullWireBytes = GetFrameSizes(trafficClass).FullWire(m_mtu);
    before.windowAtLine = m_windowBytes;
    before.markedFrom =
        (markingAt.bps ? rdma::ScaleToRate(marking, markingAt, before.line) : marking).value;
    if (prototype.GetNeeds() & RdmaCongestionOps::BASE_RTT)
    {
        before.baseRtt = GetBaseRtt(trafficClass);
    }
    for (auto it = m_profiles.rbegin(); it != m_profiles.rend(); ++it)
    {
        const RdmaCongestionState& other = (*it)->before;
        if ((*it)->staticRate == staticRate && (*it)->prototype == &prototype &&
            other.line.bps == before.line.bps && other.port.bps == before.port.bps &&
            other.mtu == before.mtu && other.fullWireBytes == before.fullWireBytes &&
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
    profile->prototype = &prototype;
    profile->ops = prototype.Fork();
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
    NS_ABORT_MSG_IF(a->m_class != b->m_class, "both ends of a connection are of one class");
    // Each begins where the other expects it to, which need not be where the NIC would.
    RdmaRemoteQueuePair ofA = a->m_nic->Describe(a->m_number, a->m_class);
    RdmaRemoteQueuePair ofB = b->m_nic->Describe(b->m_number, b->m_class);
    ofA.initialPsn = static_cast<uint32_t>(a->m_requester.m_endPsn);
    ofB.initialPsn = static_cast<uint32_t>(b->m_requester.m_endPsn);
    ConnectRemote(a, ofB);
    ConnectRemote(b, ofA);
}

RdmaRemoteQueuePair
RdmaNic::Describe(uint32_t number, uint8_t trafficClass)
{
    NS_LOG_FUNCTION(this << number << trafficClass);
    const RdmaTransportScheme& recovery = GetTransportScheme(trafficClass);
    return {m_endpoint,
            number,
            m_initialPsn,
            &recovery,
            recovery.bdpFactor ? GetBdpCap(trafficClass) : 0};
}

const RdmaTransportScheme&
RdmaNic::GetTransportScheme(uint8_t trafficClass) const
{
    const RdmaTransportScheme* own = trafficClass ? m_classes[trafficClass - 1]->recovery : nullptr;
    return own ? *own : GetTransportScheme();
}

void
RdmaNic::Agree(RdmaQueuePair* qp, const RdmaTransportScheme& theirs, uint64_t peerBdpCap)
{
    const RdmaTransportScheme& ours = GetTransportScheme(qp->m_class);
    if (&ours == &theirs && &ours != &RdmaTransportSchemes::GoBackN())
    {
        qp->SetTransport(ours, peerBdpCap);
    }
}

uint64_t
RdmaNic::GetMaxRate(uint8_t trafficClass) const
{
    const uint64_t most = m_maxRate ? std::min(m_maxRate, m_port->GetRate()) : m_port->GetRate();
    const uint64_t own = trafficClass ? m_classes[trafficClass - 1]->maxRateBps : 0;
    return own ? std::min(own, most) : most;
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
RdmaNic::GetBdpCap(uint8_t trafficClass)
{
    // What is set is of all classes. What is computed follows from a class's frames and recovery.
    if (trafficClass && m_bdpCapGiven)
    {
        return m_bdpCapGiven;
    }
    uint64_t& cap = trafficClass ? m_classes[trafficClass - 1]->bdpCap : m_bdpCap;
    if (!cap)
    {
        const uint64_t factor = std::max(1U, GetTransportScheme(trafficClass).bdpFactor);
        cap = std::min(factor * RdmaBaseRtt::ComputeBdpCap(PeekPointer(m_port),
                                                           m_mtu,
                                                           GetFrameSizes(trafficClass)),
                       RdmaQueuePair::MAX_OUTSTANDING);
    }
    return cap;
}

int64_t
RdmaNic::GetBaseRtt(uint8_t trafficClass)
{
    int64_t& known = trafficClass ? m_classes[trafficClass - 1]->baseRttPs : m_baseRttPs;
    if (!known)
    {
        known = m_baseRtt.IsZero()
                    ? RdmaBaseRtt::Compute(PeekPointer(m_port), m_mtu, GetFrameSizes(trafficClass))
                    : m_baseRtt.GetPicoSeconds();
    }
    return known;
}

Ptr<RdmaCongestionOps>
RdmaNic::GetCongestionOps(uint32_t index) const
{
    return GetQueuePair(index)->GetCongestionOps();
}

} // namespace ns3
