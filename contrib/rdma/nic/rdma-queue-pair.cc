/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-pair.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/rnr-timer.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"
#include "rdma-transport-schemes.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaQueuePair");

RdmaQueuePair::RdmaQueuePair(RdmaNic* nic, uint32_t number, uint32_t index)
    : m_number(number),
      m_nic(nic),
      m_requester(this),
      m_responder(this),
      m_index(index)
{
    SetTransport(nic->m_goBackN);
}

RdmaQueuePair::~RdmaQueuePair() = default;

RdmaNicUser*
RdmaQueuePair::GetUser() const
{
    return m_user ? m_user : m_nic->m_user;
}

RdmaQueuePairVerbs&
RdmaQueuePair::GetVerbs()
{
    if (!m_verbs)
    {
        m_verbs = std::make_unique<RdmaQueuePairVerbs>(&m_requester);
        m_verbs->responder.minRnrTimer = m_nic->m_minRnrTimer;
        RdmaRequester::Verbs& verbs = m_verbs->requester;
        verbs.rnrRetryCount = m_nic->m_rnrRetryCount;
        verbs.maxReads = m_nic->m_maxReads;
        verbs.cumulative =
            m_requester.IsSending() ? m_requester.m_sender->ackedPsn : m_requester.m_endPsn;
    }
    return *m_verbs;
}

Ptr<RdmaCongestionOps>
RdmaQueuePair::GetCongestionOps()
{
    m_requester.OwnCongestionOps();
    return m_requester.m_ops;
}

RdmaService
RdmaQueuePair::GetService() const
{
    return m_verbs && m_verbs->datagrams ? RdmaService::UD : RdmaService::RC;
}

uint64_t
RdmaQueuePair::GetBytesRead() const
{
    return m_verbs ? m_verbs->requester.bytesRead : 0;
}

uint32_t
RdmaQueuePair::GetNReceives() const
{
    return m_verbs ? static_cast<uint32_t>(m_verbs->responder.receives.size()) : 0;
}

// States -----------------------------------------------------------------------------------------

std::string
RdmaQueuePair::Modify(State to, const RdmaQueuePairAttributes& attributes)
{
    NS_LOG_FUNCTION(this);
    static const char* const names[] = {"RESET",
                                        "INIT",
                                        "READY_TO_RECEIVE",
                                        "READY_TO_SEND",
                                        "SEND_QUEUE_DRAINED",
                                        "SEND_QUEUE_ERROR",
                                        "ERROR"};
    m_requester.Send();
    const State from = m_state;
    const auto is = [&](State a, State b) { return from == a && to == b; };
    std::string error;
    if (to == State::RESET)
    {
        Reset();
    }
    else if (to == State::ERROR)
    {
        if (from != State::ERROR)
        {
            Fail(RdmaStatus::FLUSHED, RdmaClock::Now());
        }
    }
    else if (is(State::RESET, State::INIT))
    {
        m_state = State::INIT;
    }
    else if (is(State::INIT, State::READY_TO_RECEIVE))
    {
        error = GetService() == RdmaService::RC ? ConnectTo(attributes) : "";
        m_state = error.empty() ? to : from;
    }
    else if (is(State::READY_TO_RECEIVE, State::READY_TO_SEND))
    {
        error = StartSending(attributes);
    }
    else if (is(State::READY_TO_SEND, State::SEND_QUEUE_DRAINED))
    {
        m_requester.Drain();
        m_state = to;
        m_requester.UpdateSendEnd();
    }
    else if (is(State::SEND_QUEUE_DRAINED, State::READY_TO_SEND) ||
             is(State::SEND_QUEUE_ERROR, State::READY_TO_SEND))
    {
        m_state = to;
        m_requester.UpdateSendEnd();
        m_nic->Activate(this, RdmaClock::Now());
    }
    else
    {
        error = std::string("no way from ") + names[static_cast<uint8_t>(from)] + " to " +
                names[static_cast<uint8_t>(to)] +
                "; allowed: RESET - INIT - READY_TO_RECEIVE - READY_TO_SEND one by one, "
                "READY_TO_SEND - SEND_QUEUE_DRAINED and back, SEND_QUEUE_ERROR - READY_TO_SEND, "
                "and any - ERROR or RESET";
    }
    return error;
}

void
RdmaQueuePair::SetPeer(uint32_t endpoint,
                       uint32_t number,
                       uint64_t firstPsn,
                       uint16_t sourcePort,
                       uint16_t peerSourcePort,
                       uint64_t maxRateBps)
{
    m_peerEndpoint = endpoint;
    m_peerNumber = number;
    m_sourcePort = sourcePort ? sourcePort : rdma::RoceSourcePort(m_number, m_peerNumber);
    m_peerSourcePort =
        peerSourcePort ? peerSourcePort : rdma::RoceSourcePort(m_peerNumber, m_number);
    // The same addresses and ports as in captures; see rdma-pcap-helper.
    const uint32_t hash = rdma::FlowHash({m_nic->m_endpoint, m_peerEndpoint, m_sourcePort});
    m_route = RdmaRoute::OfFlow(hash);
    m_responder.m_expectedPsn = firstPsn;
    uint64_t rateBps = maxRateBps;
    if (const RdmaPathSource* paths = m_nic->m_paths)
    {
        const RdmaPathSource::Path path =
            paths->GetPath(m_nic->m_endpoint, endpoint, m_serviceLevel, hash);
        m_route = path.route;
        m_priority = path.lane;
        m_dscp = path.serviceLevel;
        if (path.rateBps && (rateBps == 0 || path.rateBps < rateBps))
        {
            rateBps = path.rateBps;
        }
    }
    if (rateBps != m_requester.m_sender->profile->staticRate)
    {
        // Its line is that rate now.
        m_requester.SetProfile(m_nic->GetProfile(rateBps, m_class), RdmaClock::Now());
    }
}

void
RdmaQueuePair::SetTransport(const RdmaTransportScheme& scheme, uint64_t peerBdpCap)
{
    RdmaTransportScheme::Setting setting;
    setting.firstSent = m_requester.m_endPsn;
    setting.firstExpected = m_responder.m_expectedPsn;
    setting.receiveCap = peerBdpCap;
    setting.timeout = m_requester.GetAckTimeout();
    setting.rtoLow = rdma::Picoseconds(m_nic->m_rtoLow.GetPicoSeconds());
    setting.rtoHigh = rdma::Picoseconds(m_nic->m_rtoHigh.GetPicoSeconds());
    setting.rtoLowPackets = m_nic->m_rtoLowPackets;
    setting.firstWindow = m_nic->m_firstWindow;
    setting.creditTimeout = rdma::Picoseconds(m_nic->m_creditTimeout.GetPicoSeconds());
    setting.pullTimeout = rdma::Picoseconds(m_nic->m_pullTimeout.GetPicoSeconds());
    setting.packetBytes = m_nic->m_mtu;
    setting.lineBps = m_requester.m_sender->cc.line.bps;
    setting.nic = m_nic;
    setting.parameters = m_nic->GetTransportParameters(scheme);
    if (scheme.needs & RdmaCongestionOps::BASE_RTT)
    {
        setting.baseRtt = rdma::Picoseconds(m_nic->GetBaseRtt(m_class));
    }
    m_needs |= scheme.needs & ECHOES;
    if (scheme.bdpFactor)
    {
        setting.sendCap = m_nic->GetBdpCap(m_class);
        m_requester.m_maxOutstanding = static_cast<uint32_t>(setting.sendCap);
    }
    if (scheme.ackPerPacket)
    {
        m_needs |= RdmaCongestionOps::ACK_PER_PACKET;
    }
    SetTransport(scheme.make(setting));
}

void
RdmaQueuePair::SetTransport(Ptr<RdmaTransport> transport)
{
    m_transport = transport;
    m_requester.m_hearsAcks = transport->HearsAcks();
    m_requester.m_pulls = m_responder.m_pulls =
        dynamic_cast<RdmaPullTransport*>(PeekPointer(transport)) != nullptr;
}

std::string
RdmaQueuePair::ConnectTo(const RdmaQueuePairAttributes& attributes)
{
    const RdmaTransportScheme* theirs = RdmaTransportSchemes::Find(attributes.lossRecovery);
    if (attributes.peerNumber < 2 || attributes.peerNumber > 0xffffff ||
        attributes.receivePsn > rdma::kPsnMask || attributes.minRnrTimer >= rdma::kRnrTimerCodes ||
        !theirs ||
        (theirs->bdpFactor &&
         (attributes.peerBdpCap == 0 || attributes.peerBdpCap > MAX_OUTSTANDING)))
    {
        std::string names;
        for (const std::string& name : RdmaTransportSchemes::GetNames())
        {
            names += (names.empty() ? "" : " or ") + name;
        }
        return "allowed: peerNumber 2 to 2^24 - 1, receivePsn to 2^24 - 1, minRnrTimer to 31, "
               "lossRecovery " +
               names + ", peerBdpCap for one with a BDP cap 1 to 2^23 - 1";
    }
    SetPeer(attributes.peerEndpoint, attributes.peerNumber, attributes.receivePsn);
    GetVerbs().responder.minRnrTimer = attributes.minRnrTimer;
    m_nic->Agree(this, *theirs, attributes.peerBdpCap);
    return {};
}

std::string
RdmaQueuePair::StartSending(const RdmaQueuePairAttributes& attributes)
{
    if (attributes.sendPsn > rdma::kPsnMask || attributes.timeoutExponent > 31 ||
        attributes.retryCount > 7 || attributes.rnrRetryCount > 7 || attributes.maxReads == 0)
    {
        return "allowed: sendPsn to 2^24 - 1, timeoutExponent to 31, retryCount and "
               "rnrRetryCount to 7, maxReads 1 or more";
    }
    m_state = State::READY_TO_SEND;
    RdmaRequester::Verbs& verbs = GetVerbs().requester;
    m_requester.StartAt(attributes.sendPsn);
    verbs.cumulative = attributes.sendPsn;
    m_requester.m_timeoutExponent = attributes.timeoutExponent;
    m_requester.m_retryCount = attributes.retryCount;
    verbs.rnrRetryCount = attributes.rnrRetryCount;
    verbs.maxReads = attributes.maxReads;
    m_requester.UpdateSendEnd();
    m_transport->SendFrom(attributes.sendPsn);
    return {};
}

void
RdmaQueuePair::Reset()
{
    m_state = State::RESET;
    ++m_resets;
    m_respond = false;
    m_requester.Reset(m_nic->m_initialPsn);
    m_responder.Reset(0);
    if (GetService() == RdmaService::UD)
    {
        m_verbs->datagrams->Reset();
    }
    else
    {
        SetTransport(m_nic->m_goBackN);
    }
    m_requester.SetProfile(m_nic->GetProfile(m_requester.m_sender->profile->staticRate, m_class),
                           RdmaClock::Now());
    m_requester.RestIfDone();
}

void
RdmaQueuePair::RestartCongestionControl(int64_t now)
{
    m_requester.m_selector = nullptr;
    m_requester.SetProfile(m_requester.m_sender->profile, now);
}

void
RdmaQueuePair::Fail(RdmaStatus first, int64_t now)
{
    NS_LOG_WARN("queue pair " << m_number << " of endpoint " << m_nic->m_endpoint << " fails");
    m_requester.Send();
    m_state = State::ERROR;
    ++m_nic->m_counters.failedQps;
    m_nic->m_errorTrace(this, m_requester.m_sender->ackedPsn, now);
    m_respond = false;
    const uint32_t resets = m_resets;
    m_requester.Flush(first, now);
    if (m_verbs && m_resets == resets && m_responder.FlushReceives(now) && m_verbs->datagrams)
    {
        m_verbs->datagrams->Flush(now);
    }
}

// Posting ----------------------------------------------------------------------------------------

RdmaPostResult
RdmaQueuePair::PostWrite(uint64_t bytes, uint64_t id)
{
    NS_LOG_FUNCTION(this << bytes << id);
    return Post({RdmaOperation::WRITE, bytes, id});
}

RdmaPostResult
RdmaQueuePair::PostWriteWithImmediate(uint64_t bytes, uint64_t id, uint32_t immediate)
{
    NS_LOG_FUNCTION(this << bytes << id << immediate);
    RdmaSendRequest request(RdmaOperation::WRITE, bytes, id);
    request.hasImmediate = true;
    request.immediate = immediate;
    return Post(request);
}

RdmaPostResult
RdmaQueuePair::PostSend(uint64_t bytes, uint64_t id)
{
    NS_LOG_FUNCTION(this << bytes << id);
    return Post({RdmaOperation::SEND, bytes, id});
}

RdmaPostResult
RdmaQueuePair::PostRead(uint64_t bytes, uint64_t id)
{
    NS_LOG_FUNCTION(this << bytes << id);
    return Post({RdmaOperation::READ, bytes, id});
}

RdmaPostResult
RdmaQueuePair::Post(const RdmaSendRequest& request)
{
    NS_LOG_FUNCTION(this);
    if (m_verbs || request.operation != RdmaOperation::WRITE ||
        m_state < State::READY_TO_SEND) // a plain WRITE has nothing to check
    {
        const RdmaPostResult result = m_requester.CheckPost(request);
        if (result != RdmaPostResult::POSTED)
        {
            return result;
        }
        if (GetService() == RdmaService::UD)
        {
            m_verbs->datagrams->Post(request, RdmaClock::Now());
            return RdmaPostResult::POSTED;
        }
    }
    m_requester.Post(request);
    return RdmaPostResult::POSTED;
}

RdmaPostResult
RdmaQueuePair::PostReceive(uint64_t bytes, uint64_t id)
{
    NS_LOG_FUNCTION(this << bytes << id);
    return m_responder.PostReceive(bytes, id);
}

// Frames -----------------------------------------------------------------------------------------

RdmaFrame*
RdmaQueuePair::NewFrame(RdmaOpcode opcode,
                        uint64_t psn,
                        uint32_t wireBytes,
                        uint8_t flags,
                        uint64_t label) const
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = wireBytes;
    frame->src = m_nic->m_endpoint;
    frame->dst = m_peerEndpoint;
    frame->destQp = m_peerNumber;
    frame->psn = rdma::WirePsn(psn);
    frame->SetLabel(label);
    frame->route = m_route;
    frame->aux = 0;
    frame->dmaLength = 0;
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = opcode;
    frame->priority = m_priority;
    frame->flags = flags;
    frame->dscp = m_dscp;
    return frame;
}

RdmaFrame*
RdmaQueuePair::MakeFrame(int64_t now)
{
    m_requester.UpdateIfDue(now);
    if (m_verbs)
    {
        bool& responseNext = m_verbs->responder.responseNext;
        if (m_respond && (!m_requester.CanSend() || responseNext))
        {
            return m_responder.MakeResponse(now);
        }
        responseNext = true;
        if (m_verbs->datagrams)
        {
            return m_verbs->datagrams->MakeFrame(now);
        }
    }
    return m_requester.MakeFrame(now);
}

void
RdmaQueuePair::OnDatagram(const RdmaFrame& frame, int64_t now)
{
    if (!CanReceive() || GetService() != RdmaService::UD)
    {
        ++m_nic->m_counters.notReadyDropped;
        return;
    }
    m_verbs->datagrams->OnFrame(frame, now);
}

// Who is told ------------------------------------------------------------------------------------

RdmaWorkCompletion
RdmaQueuePair::MakeCompletion(uint64_t id, RdmaOperation operation, int64_t now) const
{
    RdmaWorkCompletion completion(operation, id, now);
    completion.queuePair = m_number;
    completion.peerEndpoint = m_peerEndpoint;
    completion.peerQueuePair = m_peerNumber;
    return completion;
}

void
RdmaQueuePair::TellMessage(const RdmaMessage& message, int64_t now)
{
    m_nic->TellMessage(this, message, now);
    if (RdmaNicUser* user = GetUser())
    {
        user->OnMessage(this, message, now);
    }
}

} // namespace ns3
