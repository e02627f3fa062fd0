/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a queue pair does besides WRITEs: states, receive requests, READs, datagrams, completion
 * queues.
 */
#include "rdma-queue-pair-verbs.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/rnr-timer.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-selective-repeat.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaQueuePairVerbs");

RdmaQueuePairVerbs&
RdmaQueuePair::Verbs()
{
    if (!m_verbs)
    {
        m_verbs = std::make_unique<RdmaQueuePairVerbs>(this);
        m_verbs->minRnrTimer = m_nic->m_minRnrTimer;
        m_verbs->rnrRetryCount = m_nic->m_rnrRetryCount;
        m_verbs->maxReads = m_nic->m_maxReads;
        m_verbs->cumulative = IsSending() ? m_sender->ackedPsn : m_endPsn;
    }
    return *m_verbs;
}

RdmaTransport
RdmaQueuePair::GetTransport() const
{
    return m_verbs ? m_verbs->transport : RdmaTransport::RC;
}

uint64_t
RdmaQueuePair::GetBytesRead() const
{
    return m_verbs ? m_verbs->bytesRead : 0;
}

uint32_t
RdmaQueuePair::GetNReceives() const
{
    return m_verbs ? static_cast<uint32_t>(m_verbs->receives.size()) : 0;
}

uint32_t
RdmaQueuePair::GetMtu() const
{
    return m_nic->m_mtu;
}

// States -----------------------------------------------------------------------------------------

std::string
RdmaQueuePair::Modify(State to, const RdmaQueuePairAttributes& attributes)
{
    static const char* const names[] = {"RESET",
                                        "INIT",
                                        "READY_TO_RECEIVE",
                                        "READY_TO_SEND",
                                        "SEND_QUEUE_DRAINED",
                                        "SEND_QUEUE_ERROR",
                                        "ERROR"};
    Send();
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
        error = GetTransport() == RdmaTransport::RC ? ConnectTo(attributes) : "";
        m_state = error.empty() ? to : from;
    }
    else if (is(State::READY_TO_RECEIVE, State::READY_TO_SEND))
    {
        if (attributes.sendPsn > rdma::kPsnMask || attributes.timeoutExponent > 31 ||
            attributes.retryCount > 7 || attributes.rnrRetryCount > 7 || attributes.maxReads == 0)
        {
            return "allowed: sendPsn to 2^24 - 1, timeoutExponent to 31, retryCount and "
                   "rnrRetryCount to 7, maxReads 1 or more";
        }
        m_state = to;
        StartSending(attributes);
    }
    else if (is(State::READY_TO_SEND, State::SEND_QUEUE_DRAINED))
    {
        // What has begun is finished: the request that the last new packet was of.
        uint64_t end = m_sender->highestPsn;
        for (const RdmaWorkRequest& request : m_sender->requests)
        {
            if (request.firstPsn < m_sender->highestPsn)
            {
                end = std::max(m_sender->highestPsn, request.firstPsn + request.packets);
            }
        }
        Verbs().drainEnd = end;
        m_state = to;
        UpdateSendEnd();
    }
    else if (is(State::SEND_QUEUE_DRAINED, State::READY_TO_SEND) ||
             is(State::SEND_QUEUE_ERROR, State::READY_TO_SEND))
    {
        m_state = to;
        UpdateSendEnd();
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
RdmaQueuePair::SetPeer(uint32_t endpoint, uint32_t number, uint64_t firstPsn)
{
    m_peerEndpoint = endpoint;
    m_peerNumber = number;
    // The same addresses and ports as in captures; see rdma-pcap-helper.
    m_flowHash = rdma::FlowHash(
        {m_nic->m_endpoint, m_peerEndpoint, rdma::RoceSourcePort(m_number, m_peerNumber)});
    m_expectedPsn = firstPsn;
    if (const RdmaPathSource* paths = m_nic->m_paths)
    {
        const RdmaPathSource::Path path =
            paths->GetPath(m_nic->m_endpoint, endpoint, m_serviceLevel, m_flowHash);
        m_flowHash = path.address;
        m_priority = path.lane;
        m_dscp = path.serviceLevel;
        if (path.rateBps != m_staticRate)
        {
            m_staticRate = path.rateBps;
            m_nic->StartCongestionControl(this); // its line is that rate now
        }
    }
}

std::string
RdmaQueuePair::ConnectTo(const RdmaQueuePairAttributes& attributes)
{
    if (attributes.peerNumber < 2 || attributes.peerNumber > 0xffffff ||
        attributes.receivePsn > rdma::kPsnMask || attributes.minRnrTimer >= rdma::kRnrTimerCodes ||
        (attributes.selectiveRepeat &&
         (attributes.peerBdpCap == 0 || attributes.peerBdpCap > MAX_OUTSTANDING)))
    {
        return "allowed: peerNumber 2 to 2^24 - 1, receivePsn to 2^24 - 1, minRnrTimer to 31, "
               "peerBdpCap for selectiveRepeat 1 to 2^23 - 1";
    }
    SetPeer(attributes.peerEndpoint, attributes.peerNumber, attributes.receivePsn);
    RdmaQueuePairVerbs& verbs = Verbs();
    verbs.minRnrTimer = attributes.minRnrTimer;
    if (attributes.selectiveRepeat && m_nic->m_lossRecovery != RdmaNic::GO_BACK_N)
    {
        m_nic->UseSelectiveRepeat(this, attributes.peerBdpCap); // an end may never send
    }
    return {};
}

void
RdmaQueuePair::StartSending(const RdmaQueuePairAttributes& attributes)
{
    RdmaQueuePairVerbs& verbs = Verbs();
    m_sender->nextPsn = m_endPsn = m_sender->ackedPsn = m_sender->highestPsn = attributes.sendPsn;
    verbs.cumulative = m_sender->ackedPsn;
    m_timeoutPs = attributes.timeoutExponent ? 4096000LL << attributes.timeoutExponent : 0;
    m_retryCount = attributes.retryCount;
    verbs.rnrRetryCount = attributes.rnrRetryCount;
    verbs.maxReads = attributes.maxReads;
    UpdateSendEnd();
    if (m_selective)
    {
        m_selective->SendFrom(m_sender->nextPsn);
    }
}

void
RdmaQueuePair::Reset()
{
    m_state = State::RESET;
    ++m_resets;
    m_sender->requests.clear();
    m_sender->first = m_sender->told = m_sender->cursor = 0;
    m_sender->nextPsn = m_sender->sendEnd = m_endPsn = m_sender->ackedPsn = m_sender->highestPsn =
        m_nic->m_initialPsn;
    m_sender->sentBytes = m_sender->ackedBytes = m_postedBytes = 0;
    m_maxOutstanding = MAX_OUTSTANDING;
    m_sender->readBarrier = NO_READ;
    m_respond = false;
    m_selective.reset();
    m_sender->retries = 0;
    m_expectedPsn = m_messages = m_messageBytes = m_receivedBytes = 0;
    m_msn = 0;
    m_nakSent = false;
    m_duplicate = NO_DUPLICATE;
    m_nic->StartCongestionControl(this);
    if (m_verbs)
    {
        RdmaQueuePairVerbs& verbs = *m_verbs;
        verbs.reads.clear();
        verbs.readGap = verbs.hasCurrent = verbs.rnrSent = false;
        verbs.bytesRead = verbs.highestResponse = verbs.rnrRetries = 0;
        verbs.cumulative = m_sender->ackedPsn;
        verbs.holdUntil = 0;
        verbs.responses.clear();
        verbs.receives.clear();
        verbs.datagrams.clear();
        verbs.sent.clear();
    }
    RestIfDone();
}

void
RdmaQueuePair::UpdateSendEnd()
{
    m_sender->sendEnd = m_endPsn;
    if (m_state != State::READY_TO_SEND && m_state != State::SEND_QUEUE_DRAINED)
    {
        m_sender->sendEnd = 0;
    }
    else if (m_verbs)
    {
        if (m_verbs->holdUntil)
        {
            m_sender->sendEnd = 0;
            return;
        }
        if (m_verbs->reads.size() > m_verbs->maxReads)
        {
            m_sender->sendEnd = m_verbs->reads[m_verbs->maxReads].first;
        }
        if (m_state == State::SEND_QUEUE_DRAINED)
        {
            m_sender->sendEnd = std::min(m_sender->sendEnd, m_verbs->drainEnd);
        }
    }
}

// Posting ----------------------------------------------------------------------------------------

RdmaPostResult
RdmaQueuePair::CheckPost(const RdmaSendRequest& request) const
{
    if (m_state < State::READY_TO_SEND)
    {
        return RdmaPostResult::WRONG_STATE;
    }
    const bool datagram = GetTransport() == RdmaTransport::UD;
    if (request.operation == RdmaOperation::RECEIVE ||
        (request.operation == RdmaOperation::READ && request.hasImmediate) ||
        (request.operation != RdmaOperation::SEND && datagram))
    {
        return RdmaPostResult::NOT_SUPPORTED;
    }
    if (request.operation == RdmaOperation::SEND && request.bytes > MAX_REQUEST_BYTES)
    {
        return RdmaPostResult::TOO_LONG;
    }
    if (m_verbs && m_verbs->maxSendRequests)
    {
        const size_t outstanding = datagram ? m_verbs->datagrams.size() + m_verbs->sent.size()
                                            : m_sender->requests.size() - m_sender->first;
        if (outstanding >= m_verbs->maxSendRequests)
        {
            return RdmaPostResult::QUEUE_FULL;
        }
    }
    return RdmaPostResult::POSTED;
}

RdmaPostResult
RdmaQueuePair::PostReceive(uint64_t bytes, uint64_t id)
{
    if (m_state == State::RESET)
    {
        return RdmaPostResult::WRONG_STATE;
    }
    RdmaQueuePairVerbs& verbs = Verbs();
    if (verbs.maxReceiveRequests && verbs.receives.size() >= verbs.maxReceiveRequests)
    {
        return RdmaPostResult::QUEUE_FULL;
    }
    verbs.needsReceives = true;
    verbs.receives.push_back({id, bytes});
    if (m_state == State::ERROR)
    {
        FlushReceives(RdmaClock::Now());
    }
    return RdmaPostResult::POSTED;
}

// Completions ------------------------------------------------------------------------------------

void
RdmaQueuePair::Report(const RdmaWorkRequest& request, RdmaStatus status, int64_t now)
{
    if (!m_verbs->sendQueue ||
        (status == RdmaStatus::SUCCESS && !request.signaled && !m_verbs->signalAll))
    {
        return;
    }
    RdmaWorkCompletion completion;
    completion.id = request.id;
    completion.status = status;
    completion.operation = request.operation;
    completion.bytes = status == RdmaStatus::SUCCESS ? request.bytes : 0;
    completion.queuePair = m_number;
    completion.peerEndpoint = m_peerEndpoint;
    completion.peerQueuePair = m_peerNumber;
    completion.time = now;
    if (!m_verbs->sendQueue->Push(completion) && m_state != State::ERROR)
    {
        Fail(RdmaStatus::FLUSHED, now);
    }
}

void
RdmaQueuePair::CompleteReceive(const RdmaWorkCompletion& completion)
{
    if (m_verbs->receiveQueue && !m_verbs->receiveQueue->Push(completion) &&
        m_state != State::ERROR)
    {
        Fail(RdmaStatus::FLUSHED, completion.time);
    }
}

bool
RdmaQueuePair::FlushReceives(int64_t now)
{
    const uint32_t resets = m_resets;
    RdmaWorkCompletion completion;
    completion.status = RdmaStatus::FLUSHED;
    completion.operation = RdmaOperation::RECEIVE;
    completion.queuePair = m_number;
    completion.time = now;
    if (m_verbs->hasCurrent) // of a message that will not get whole
    {
        m_verbs->hasCurrent = false;
        completion.id = m_verbs->current.id;
        CompleteReceive(completion);
    }
    while (m_resets == resets && !m_verbs->receives.empty())
    {
        completion.id = m_verbs->receives.front().id;
        m_verbs->receives.pop_front();
        CompleteReceive(completion);
    }
    return m_resets == resets;
}

void
RdmaQueuePair::ReportMessage(const RdmaMessage& message, int64_t now)
{
    if (!m_verbs->hasCurrent)
    {
        return; // a WRITE without immediate, or receive requests do not matter
    }
    m_verbs->hasCurrent = false;
    RdmaWorkCompletion completion;
    completion.id = m_verbs->current.id;
    completion.operation = RdmaOperation::RECEIVE;
    completion.hasImmediate = message.hasImmediate;
    completion.immediate = message.immediate;
    completion.bytes = message.bytes;
    completion.queuePair = m_number;
    completion.peerEndpoint = m_peerEndpoint;
    completion.peerQueuePair = m_peerNumber;
    completion.time = now;
    CompleteReceive(completion);
}

void
RdmaQueuePair::OnVerbsTimer()
{
    const int64_t now = RdmaClock::Now();
    RdmaQueuePairVerbs& verbs = *m_verbs;
    if (verbs.holdUntil && verbs.holdUntil <= now)
    {
        verbs.holdUntil = 0;
        UpdateSendEnd();
        m_nic->Activate(this, now);
    }
    while (!verbs.sent.empty() && verbs.sent.front().gone <= now)
    {
        const RdmaQueuePairVerbs::Datagram datagram = verbs.sent.front();
        verbs.sent.pop_front();
        if (datagram.status == RdmaStatus::SUCCESS)
        {
            m_sender->ackedPsn += 1;
            m_sender->ackedBytes += datagram.request.bytes;
        }
        CompleteDatagram(datagram.request, datagram.posted, datagram.status, now);
    }
    m_nic->Activate(this, now); // a window may have opened
}

// READ, requester --------------------------------------------------------------------------------

void
RdmaQueuePair::AddRead(const RdmaWorkRequest& request)
{
    if (request.operation != RdmaOperation::READ)
    {
        return;
    }
    RdmaQueuePairVerbs& verbs = Verbs();
    if (verbs.reads.empty())
    {
        verbs.cumulative = m_sender->ackedPsn;
        m_sender->readBarrier = request.firstPsn;
    }
    verbs.reads.push_back({request.firstPsn, request.firstPsn + request.packets});
}

bool
RdmaQueuePair::IsOfRead(uint64_t psn) const
{
    for (const RdmaQueuePairVerbs::Read& read : m_verbs->reads)
    {
        if (psn < read.end)
        {
            return psn >= read.first;
        }
    }
    return false;
}

RdmaFrame*
RdmaQueuePair::MakeReadRequest(const RdmaWorkRequest& request, int64_t now)
{
    // As much of the response as may be outstanding; the rest is asked for when some has come.
    const uint32_t mtu = m_nic->m_mtu;
    const uint64_t requestEnd = request.firstPsn + request.packets;
    uint64_t end = std::min({requestEnd,
                             m_sender->ackedPsn + m_maxOutstanding,
                             m_sender->nextPsn + MAX_REQUEST_BYTES / mtu});
    const bool again = m_sender->nextPsn < m_sender->highestPsn;
    if (again && m_selective)
    {
        // Up to what has arrived; what has never been asked for waits for its turn.
        end = m_selective->NextArrived(m_sender->nextPsn, std::min(end, m_sender->highestPsn));
    }
    const uint64_t offset = (m_sender->nextPsn - request.firstPsn) * mtu;
    RdmaFrame* frame = NewFrame(RdmaOpcode::READ_REQUEST,
                                m_sender->nextPsn,
                                m_nic->m_sizes.DataWire(rdma::RoceOpcode::kReadRequest, 0),
                                0);
    frame->dmaLength =
        static_cast<uint32_t>(std::min((end - m_sender->nextPsn) * mtu, request.bytes - offset));

    RdmaNicCounters& counters = m_nic->m_counters;
    ++counters.readRequests;
    if (again)
    {
        frame->flags |= RdmaFrame::RETRANSMITTED;
        ++counters.retransmittedPackets;
        if (m_selective)
        {
            m_selective->OnRetransmitted(end - 1);
        }
    }
    if (m_sender->nextPsn == m_sender->ackedPsn)
    {
        ArmTimer(now);
    }
    m_sender->nextPsn = end;
    m_sender->highestPsn = std::max(m_sender->highestPsn, m_sender->nextPsn);
    if (end == requestEnd)
    {
        ++m_sender->cursor;
    }
    if (m_sender->nextPsn < m_sender->highestPsn && m_selective)
    {
        SeekToLost();
    }
    Sent(0, frame->wireBytes, now);
    return frame;
}

uint64_t
RdmaQueuePair::HoldBack(uint64_t upTo)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    if (m_selective)
    {
        // What is not a response needs not be sent again.
        uint64_t psn = std::max(verbs.cumulative, m_sender->readBarrier);
        for (const RdmaQueuePairVerbs::Read& read : verbs.reads)
        {
            for (; psn < std::min(read.first, upTo); ++psn)
            {
                m_selective->Mark(psn);
            }
            psn = std::max(psn, read.end);
        }
        for (; psn < upTo; ++psn)
        {
            m_selective->Mark(psn);
        }
    }
    verbs.cumulative = std::max(verbs.cumulative, upTo);
    return m_sender->readBarrier;
}

void
RdmaQueuePair::OnReadResponse(const RdmaFrame& frame, int64_t now)
{
    if (m_state < State::READY_TO_SEND || m_state == State::ERROR)
    {
        ++m_nic->m_counters.notReadyDropped;
        return;
    }
    Notice(frame, now);
    const uint64_t psn = rdma::ExtendPsn(frame.psn, m_sender->ackedPsn);
    if (m_sender->readBarrier == NO_READ || psn < m_sender->readBarrier ||
        psn >= m_sender->highestPsn || !IsOfRead(psn))
    {
        ++m_nic->m_counters.duplicatesReceived;
        return;
    }
    RdmaQueuePairVerbs& verbs = *m_verbs;
    const uint64_t missing = m_sender->readBarrier;
    // Its request has been executed: the responder has all before that.
    const auto read = std::find_if(verbs.reads.begin(), verbs.reads.end(), [psn](const auto& r) {
        return psn < r.end;
    });
    HoldBack(read->first);
    if (m_selective)
    {
        if (m_selective->NextMissing(psn, psn + 1) != psn)
        {
            ++m_nic->m_counters.duplicatesReceived;
            return;
        }
        m_selective->OnSack(psn);
    }
    else if (psn != missing)
    {
        ++m_nic->m_counters.outOfOrderDropped;
        if (Acknowledge(missing, now) && !verbs.readGap && m_sender->nextPsn > m_sender->ackedPsn)
        {
            verbs.readGap = true;
            GoBack(now);
            m_nic->Activate(this, now);
        }
        return;
    }
    verbs.bytesRead += frame.payload;
    if (psn == missing)
    {
        verbs.readGap = false;
        AdvanceReads(psn + 1);
    }
    if (!Acknowledge(std::min(verbs.cumulative, m_sender->readBarrier), now))
    {
        return;
    }
    if (m_selective && psn != missing && m_sender->highestPsn > m_sender->ackedPsn)
    {
        if (m_selective->IsRecovering())
        {
            SeekToLost();
        }
        else
        {
            Recover(false, m_sender->ackedPsn, now);
        }
    }
    UpdateRate(now);
    m_nic->Activate(this, now);
}

void
RdmaQueuePair::AdvanceReads(uint64_t arrived)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    verbs.cumulative = std::max(verbs.cumulative, arrived);
    m_sender->readBarrier = arrived;
    while (!verbs.reads.empty())
    {
        const RdmaQueuePairVerbs::Read& read = verbs.reads.front();
        m_sender->readBarrier = std::max(m_sender->readBarrier, read.first);
        if (m_selective)
        {
            m_sender->readBarrier = m_selective->NextMissing(m_sender->readBarrier, read.end);
            verbs.cumulative =
                std::max(verbs.cumulative,
                         m_sender->readBarrier > read.first ? m_sender->readBarrier : 0);
        }
        if (m_sender->readBarrier < read.end)
        {
            return;
        }
        verbs.reads.pop_front();
        UpdateSendEnd(); // one READ more may begin
    }
    m_sender->readBarrier = NO_READ;
}

// RNR NAK and others -----------------------------------------------------------------------------

void
RdmaQueuePair::OnRareNak(const RdmaFrame& frame, int64_t now)
{
    const uint64_t named = rdma::ExtendPsn(frame.psn, m_sender->ackedPsn);
    if (named > m_sender->highestPsn || named < m_sender->ackedPsn)
    {
        return;
    }
    if (!Acknowledge(named > m_sender->readBarrier ? HoldBack(named) : named, now))
    {
        return;
    }
    if (frame.flags & RdmaFrame::FATAL_NAK)
    {
        Fail(RdmaStatus::REMOTE_INVALID_REQUEST, now);
        return;
    }
    OnReceiverNotReady(std::max(named, m_sender->ackedPsn), frame.dmaLength & 0x1f, now);
}

void
RdmaQueuePair::OnReceiverNotReady(uint64_t refused, uint8_t timer, int64_t now)
{
    RdmaQueuePairVerbs& verbs = Verbs();
    ++m_nic->m_counters.rnrNaksReceived;
    if (verbs.rnrRetryCount != rdma::kRnrRetryInfinite && ++verbs.rnrRetries > verbs.rnrRetryCount)
    {
        Fail(RdmaStatus::RNR_RETRY_EXCEEDED, now);
        return;
    }
    if (m_selective)
    {
        m_nic->m_goBackTrace(this, refused, now);
        m_selective->LoseAll(refused, m_sender->highestPsn);
        SeekTo(refused);
    }
    else
    {
        GoBack(now);
    }
    verbs.holdUntil = now + rdma::RnrDelay(timer).ps;
    if (m_selective)
    {
        m_selective->lastProgress = verbs.holdUntil; // the wait is not the network's fault
    }
    UpdateSendEnd();
    verbs.timer.ScheduleAt(verbs.holdUntil, m_nic->m_port->GetNode()->GetId());
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaQueuePair::Admit(const RdmaFrame& frame, int64_t now)
{
    if (frame.opcode == RdmaOpcode::READ_REQUEST)
    {
        OnReadRequest(m_expectedPsn, frame.dmaLength, now);
        return false;
    }
    return TakeReceive(frame.opcode, frame.payload, now);
}

bool
RdmaQueuePair::TakeReceive(RdmaOpcode opcode, uint32_t payload, int64_t now)
{
    if (!m_verbs || !m_verbs->needsReceives)
    {
        return true;
    }
    RdmaQueuePairVerbs& verbs = *m_verbs;
    if (TakesReceive(opcode))
    {
        if (verbs.receives.empty())
        {
            RefuseReceive(now);
            return false;
        }
        verbs.current = verbs.receives.front();
        verbs.receives.pop_front();
        verbs.hasCurrent = true;
        verbs.rnrSent = false;
    }
    // (Without a current one the message began before receive requests mattered.)
    if (verbs.hasCurrent && IsSend(opcode) && m_messageBytes + payload > verbs.current.bytes)
    {
        // The responder's queue pair fails too (9.9.3: a class C error of the responder, with the
        // receive request completed in error).
        SendNak(RdmaFrame::FATAL_NAK, rdma::NakSyndrome(rdma::kNakInvalidRequest), now);
        RdmaWorkCompletion completion;
        completion.id = verbs.current.id;
        completion.status = RdmaStatus::LOCAL_LENGTH_ERROR;
        completion.operation = RdmaOperation::RECEIVE;
        completion.queuePair = m_number;
        completion.peerEndpoint = m_peerEndpoint;
        completion.peerQueuePair = m_peerNumber;
        completion.time = now;
        verbs.hasCurrent = false;
        const uint32_t resets = m_resets;
        CompleteReceive(completion);
        if (m_resets == resets && m_state != State::ERROR)
        {
            Fail(RdmaStatus::FLUSHED, now);
        }
        return false;
    }
    return true;
}

void
RdmaQueuePair::RefuseReceive(int64_t now)
{
    // Whatever comes behind is dropped silently until the refused packet comes again.
    m_nakSent = true;
    m_nakAgain = NO_NAK;
    m_verbs->rnrSent = true;
    m_duplicate = NO_DUPLICATE;
    ++m_nic->m_counters.rnrNaksSent;
    SendNak(RdmaFrame::RNR_NAK, rdma::RnrNakSyndrome(m_verbs->minRnrTimer), now);
}

void
RdmaQueuePair::OnReadRequest(uint64_t psn, uint32_t bytes, int64_t now)
{
    const uint64_t end = psn + GetPsnCount(RdmaOpcode::READ_REQUEST, bytes);
    AddResponse(psn, end, bytes);
    if (end > m_expectedPsn)
    {
        m_expectedPsn = end;
        m_nakSent = false;
        m_duplicate = NO_DUPLICATE;
        m_msn = (m_msn + 1) & 0xffffff;
        if (m_selective && m_selective->HasHeld())
        {
            ReleaseHeld(nullptr, now);
        }
    }
    m_nic->Activate(this, now);
}

void
RdmaQueuePair::AddResponse(uint64_t psn, uint64_t end, uint64_t bytes)
{
    using Response = RdmaQueuePairVerbs::Response;
    const uint32_t mtu = m_nic->m_mtu;
    std::vector<Response>& responses = Verbs().responses;
    Send(); // with its rate
    // What is still to be sent of it is part of this one now.
    std::vector<Response> kept;
    for (const Response& old : responses)
    {
        if (old.psn < psn)
        {
            Response before = old;
            if (old.end > psn)
            {
                before.end = psn;
                before.bytes = (psn - old.psn) * mtu;
                before.last = false;
            }
            kept.push_back(before);
        }
        if (old.end > end)
        {
            Response behind = old;
            if (old.psn < end)
            {
                behind.psn = end;
                behind.bytes -= (end - old.psn) * mtu;
                behind.first = false;
            }
            kept.push_back(behind);
        }
    }
    kept.push_back({psn, end, bytes, true, true});
    std::sort(kept.begin(), kept.end(), [](const Response& a, const Response& b) {
        return a.psn < b.psn;
    });
    responses.swap(kept);
    m_respond = true;
}

RdmaFrame*
RdmaQueuePair::MakeResponse(int64_t now)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    RdmaQueuePairVerbs::Response& response = verbs.responses.front();
    const uint32_t payload =
        static_cast<uint32_t>(std::min<uint64_t>(m_nic->m_mtu, response.bytes));
    const bool end = response.psn + 1 == response.end;
    const rdma::RoceOpcode opcode = rdma::ReadResponseOpcode(response.first, end && response.last);
    const uint32_t wire = m_nic->m_sizes.DataWire(opcode, payload);
    RdmaFrame* frame =
        NewFrame(static_cast<RdmaOpcode>(opcode), response.psn, wire, RdmaFrame::ECT);
    frame->payload = static_cast<uint16_t>(payload);
    frame->aux = m_msn;
    frame->dmaLength = rdma::AckSyndrome();

    RdmaNicCounters& counters = m_nic->m_counters;
    ++counters.dataPackets;
    counters.dataBytes += payload;
    if (response.psn < verbs.highestResponse)
    {
        frame->flags |= RdmaFrame::RETRANSMITTED;
        ++counters.retransmittedPackets;
    }
    ++response.psn;
    response.bytes -= payload;
    response.first = false;
    verbs.highestResponse = std::max(verbs.highestResponse, response.psn);
    verbs.responseNext = false;
    if (end)
    {
        verbs.responses.erase(verbs.responses.begin());
        m_respond = !verbs.responses.empty();
    }
    m_sender->cc.bytesSent += payload;
    Sent(payload, wire, now);
    return frame;
}

// Unreliable datagrams ---------------------------------------------------------------------------

RdmaPostResult
RdmaQueuePair::PostDatagram(const RdmaSendRequest& request)
{
    const int64_t now = RdmaClock::Now();
    RdmaQueuePairVerbs& verbs = *m_verbs;
    RdmaWorkRequest posted(request, now);
    posted.firstPsn = m_endPsn;
    posted.packets = 1;
    posted.firstByte = m_postedBytes;
    m_nic->m_postTrace(this, posted);
    if (m_state == State::ERROR || m_state == State::SEND_QUEUE_ERROR)
    {
        RefuseDatagram(request, RdmaStatus::FLUSHED, now);
        return RdmaPostResult::POSTED;
    }
    if (request.bytes > m_nic->m_mtu)
    {
        // What was posted before still goes; what comes behind is flushed (10.3.1.5).
        m_state = State::SEND_QUEUE_ERROR;
        RefuseDatagram(request, RdmaStatus::LOCAL_LENGTH_ERROR, now);
        return RdmaPostResult::POSTED;
    }
    verbs.datagrams.push_back({request,
                               rdma::FlowHash({m_nic->m_endpoint,
                                               request.peerEndpoint,
                                               rdma::RoceSourcePort(m_number, request.peerNumber)}),
                               now,
                               0,
                               RdmaStatus::SUCCESS});
    Send();
    ++m_endPsn;
    m_postedBytes += request.bytes;
    UpdateSendEnd();
    m_nic->Activate(this, now);
    return RdmaPostResult::POSTED;
}

void
RdmaQueuePair::RefuseDatagram(const RdmaSendRequest& request, RdmaStatus status, int64_t now)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    if (!verbs.datagrams.empty())
    {
        verbs.datagrams.push_back({request, 0, now, 0, status});
    }
    else if (!verbs.sent.empty())
    {
        verbs.sent.push_back({request, 0, now, verbs.sent.back().gone, status});
    }
    else
    {
        CompleteDatagram(request, now, status, now);
    }
}

void
RdmaQueuePair::FlushDatagrams(int64_t now)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    const uint32_t resets = m_resets;
    while (m_resets == resets && !verbs.datagrams.empty())
    {
        RdmaQueuePairVerbs::Datagram datagram = verbs.datagrams.front();
        verbs.datagrams.pop_front();
        if (datagram.status == RdmaStatus::SUCCESS)
        {
            datagram.status = RdmaStatus::FLUSHED;
        }
        if (verbs.sent.empty())
        {
            CompleteDatagram(datagram.request, datagram.posted, datagram.status, now);
        }
        else
        {
            datagram.gone = verbs.sent.back().gone;
            verbs.sent.push_back(datagram);
        }
    }
}

RdmaFrame*
RdmaQueuePair::MakeDatagram(int64_t now)
{
    RdmaQueuePairVerbs& verbs = *m_verbs;
    RdmaQueuePairVerbs::Datagram datagram = verbs.datagrams.front();
    verbs.datagrams.pop_front();
    const RdmaSendRequest& request = datagram.request;
    const uint32_t payload = static_cast<uint32_t>(request.bytes);
    const auto opcode =
        request.hasImmediate ? RdmaOpcode::UD_SEND_ONLY_IMM : RdmaOpcode::UD_SEND_ONLY;
    const uint32_t wire = m_nic->m_sizes.DataWire(static_cast<rdma::RoceOpcode>(opcode), payload);
    RdmaFrame* frame = NewFrame(opcode, m_sender->nextPsn, wire, RdmaFrame::END_OF_POST);
    frame->dst = request.peerEndpoint;
    frame->destQp = request.peerNumber;
    frame->flowHash = datagram.flowHash;
    if (const RdmaPathSource* paths = m_nic->m_paths)
    {
        const RdmaPathSource::Path path = paths->GetPath(m_nic->m_endpoint,
                                                         request.peerEndpoint,
                                                         m_serviceLevel,
                                                         datagram.flowHash);
        frame->flowHash = path.address;
        frame->priority = path.lane;
        frame->serviceLevel = path.serviceLevel;
    }
    frame->payload = static_cast<uint16_t>(payload);
    frame->aux = request.immediate;
    frame->dmaLength = m_number;

    ++m_nic->m_counters.dataPackets;
    m_nic->m_counters.dataBytes += payload;
    ++m_sender->nextPsn;
    m_sender->highestPsn = m_sender->nextPsn;
    m_sender->sentBytes += payload;
    m_sender->cc.bytesSent += payload;
    // Complete when the last bit has left: a datagram is not acknowledged.
    datagram.gone = now + m_nic->m_port->GetSerialization(wire);
    verbs.sent.push_back(datagram);
    while (!verbs.datagrams.empty() && verbs.datagrams.front().status != RdmaStatus::SUCCESS)
    {
        verbs.sent.push_back(verbs.datagrams.front());
        verbs.sent.back().gone = datagram.gone;
        verbs.datagrams.pop_front();
    }
    verbs.timer.ScheduleAt(datagram.gone, m_nic->m_port->GetNode()->GetId());
    Sent(payload, wire, now);
    return frame;
}

void
RdmaQueuePair::CompleteDatagram(const RdmaSendRequest& request,
                                int64_t posted,
                                RdmaStatus status,
                                int64_t now)
{
    RdmaWorkRequest done(request, posted);
    done.packets = 1;
    m_peerEndpoint = request.peerEndpoint; // what the completion tells
    m_peerNumber = request.peerNumber;
    Complete(done, status, now);
}

void
RdmaQueuePair::OnDatagram(const RdmaFrame& frame, int64_t now)
{
    if (!CanReceive() || GetTransport() != RdmaTransport::UD)
    {
        ++m_nic->m_counters.notReadyDropped;
        return;
    }
    RdmaQueuePairVerbs& verbs = *m_verbs;
    if (verbs.receives.empty() || verbs.receives.front().bytes < frame.payload)
    {
        ++m_nic->m_counters.datagramsDropped; // silently (9.8.3: no acknowledgement, no retry)
        return;
    }
    const RdmaReceiveRequest receive = verbs.receives.front();
    verbs.receives.pop_front();
    RdmaMessage message;
    message.sequence = m_messages++;
    message.bytes = frame.payload;
    message.hasImmediate = HasImmediate(frame.opcode);
    message.immediate = frame.aux;
    m_receivedBytes += frame.payload;
    ++m_nic->m_counters.messagesReceived;
    m_nic->m_messageTrace(this, message, now);
    if (RdmaNicUser* user = GetUser())
    {
        user->OnMessage(this, message, now);
    }
    RdmaWorkCompletion completion;
    completion.id = receive.id;
    completion.operation = RdmaOperation::RECEIVE;
    completion.hasImmediate = message.hasImmediate;
    completion.immediate = message.hasImmediate ? message.immediate : 0;
    completion.bytes = message.bytes;
    completion.queuePair = m_number;
    completion.peerEndpoint = frame.src;
    completion.peerQueuePair = frame.dmaLength;
    completion.time = now;
    CompleteReceive(completion);
}

} // namespace ns3
