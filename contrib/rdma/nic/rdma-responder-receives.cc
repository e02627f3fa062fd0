/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a responder that takes receive requests and reports messages.
 */
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RdmaResponder::Verbs&
RdmaResponder::GetVerbs()
{
    return m_qp->GetVerbs().responder;
}

RdmaPostResult
RdmaResponder::PostReceive(uint64_t bytes, uint64_t id)
{
    if (m_qp->m_state == RdmaQueuePair::State::RESET)
    {
        return RdmaPostResult::WRONG_STATE;
    }
    Verbs& verbs = GetVerbs();
    if (verbs.maxRequests && verbs.receives.size() >= verbs.maxRequests)
    {
        return RdmaPostResult::QUEUE_FULL;
    }
    verbs.needsReceives = true;
    verbs.receives.push_back({id, bytes});
    if (m_qp->m_state == RdmaQueuePair::State::ERROR)
    {
        FlushReceives(RdmaClock::Now());
    }
    return RdmaPostResult::POSTED;
}

bool
RdmaResponder::Admit(const RdmaFrame& frame, int64_t now)
{
    if (frame.opcode == RdmaOpcode::READ_REQUEST)
    {
        OnReadRequest(m_expectedPsn, frame.dmaLength, frame.GetLabel(), now);
        return false;
    }
    return TakeReceive(frame.opcode, frame.payload, now);
}

bool
RdmaResponder::TakeReceive(RdmaOpcode opcode, uint32_t payload, int64_t now)
{
    if (!m_qp->m_verbs || !m_qp->m_verbs->responder.needsReceives)
    {
        return true;
    }
    Verbs& verbs = m_qp->m_verbs->responder;
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
        RdmaWorkCompletion completion =
            m_qp->MakeCompletion(verbs.current.id, RdmaOperation::RECEIVE, now);
        completion.status = RdmaStatus::LOCAL_LENGTH_ERROR;
        verbs.hasCurrent = false;
        const uint32_t resets = m_qp->m_resets;
        CompleteReceive(completion);
        if (m_qp->m_resets == resets && m_qp->m_state != RdmaQueuePair::State::ERROR)
        {
            m_qp->Fail(RdmaStatus::FLUSHED, now);
        }
        return false;
    }
    return true;
}

void
RdmaResponder::RefuseReceive(int64_t now)
{
    // Whatever comes behind is dropped silently until the refused packet comes again.
    m_nakSent = true;
    m_nakAgain = NO_NAK;
    Verbs& verbs = m_qp->m_verbs->responder;
    verbs.rnrSent = true;
    m_duplicate = NO_DUPLICATE;
    ++m_qp->m_nic->m_counters.rnrNaksSent;
    SendNak(RdmaFrame::RNR_NAK, rdma::RnrNakSyndrome(verbs.minRnrTimer), now);
}

void
RdmaResponder::CompleteReceive(const RdmaWorkCompletion& completion)
{
    const Ptr<RdmaCompletionQueue>& queue = m_qp->m_verbs->responder.queue;
    if (queue && !queue->Push(completion) && m_qp->m_state != RdmaQueuePair::State::ERROR)
    {
        m_qp->Fail(RdmaStatus::FLUSHED, completion.time);
    }
}

void
RdmaResponder::ReportMessage(const RdmaMessage& message, int64_t now)
{
    Verbs& verbs = m_qp->m_verbs->responder;
    if (!verbs.hasCurrent)
    {
        return; // a WRITE without immediate, or receive requests do not matter
    }
    verbs.hasCurrent = false;
    RdmaWorkCompletion completion =
        m_qp->MakeCompletion(verbs.current.id, RdmaOperation::RECEIVE, now);
    completion.hasImmediate = message.hasImmediate;
    completion.immediate = message.immediate;
    completion.bytes = message.bytes;
    CompleteReceive(completion);
}

bool
RdmaResponder::FlushReceives(int64_t now)
{
    Verbs& verbs = m_qp->m_verbs->responder;
    const uint32_t resets = m_qp->m_resets;
    RdmaWorkCompletion completion = m_qp->MakeCompletion(0, RdmaOperation::RECEIVE, now);
    completion.peerEndpoint = completion.peerQueuePair = 0; // nobody has sent anything
    completion.status = RdmaStatus::FLUSHED;
    if (verbs.hasCurrent) // of a message that will not get whole
    {
        verbs.hasCurrent = false;
        completion.id = verbs.current.id;
        CompleteReceive(completion);
    }
    while (m_qp->m_resets == resets && !verbs.receives.empty())
    {
        completion.id = verbs.receives.front().id;
        verbs.receives.pop_front();
        CompleteReceive(completion);
    }
    return m_qp->m_resets == resets;
}

} // namespace ns3
