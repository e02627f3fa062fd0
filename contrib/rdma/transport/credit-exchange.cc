/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "credit-exchange.h"

#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// Where a packet says its sender's target: in what its kind has no other use for. (Immediate data
/// stands in `aux`, the RETH's length, which nobody looks at here, in `dmaLength`.)
uint32_t&
TargetOf(RdmaFrame& frame)
{
    return HasImmediate(frame.opcode) ? frame.dmaLength : frame.aux;
}

} // namespace

RdmaCreditExchange::RdmaCreditExchange(uint64_t window,
                                       uint64_t roundTrip,
                                       uint32_t perPull,
                                       bool inAnswers)
    : m_perPull(perPull),
      m_inAnswers(inAnswers),
      m_asker(static_cast<uint32_t>(window), static_cast<uint32_t>(roundTrip))
{
}

// Requester --------------------------------------------------------------------------------------

void
RdmaCreditExchange::Ask(RdmaRequester& requester, uint64_t demand, uint64_t again)
{
    requester.RequestToSend(m_asker.Target(demand), static_cast<uint32_t>(again));
}

void
RdmaCreditExchange::OnSent(uint64_t psn, RdmaFrame& frame, uint64_t demand)
{
    if (frame.flags & RdmaFrame::NOTHING_BEHIND)
    {
        m_saidAll = psn + 1;
    }
    m_asker.Spend();
    TargetOf(frame) = m_asker.Target(demand);
}

void
RdmaCreditExchange::OnAnswer(const RdmaFrame& frame)
{
    if (m_inAnswers || frame.opcode == RdmaOpcode::NDP_PULL)
    {
        m_asker.Hear(frame.dmaLength);
    }
    m_asker.StopUnsolicited();
}

void
RdmaCreditExchange::OnAcknowledged(const RdmaRequester& requester)
{
    if (requester.GetAckedPsn() == requester.GetEndPsn())
    {
        m_asker.Begin();
    }
    else if (requester.GetAckedPsn() >= m_saidAll)
    {
        m_asker.Forget();
        m_saidAll = UINT64_MAX;
    }
}

rdma::Duration
RdmaCreditExchange::GetTimeout(const RdmaRequester& requester, rdma::Duration patience)
{
    return patience * (1 << std::min(requester.GetTimeoutsInRow(), 3U));
}

// Responder --------------------------------------------------------------------------------------

void
RdmaCreditExchange::OnArrival(RdmaFrame& frame)
{
    m_giver.Hear(TargetOf(frame));
    TargetOf(frame) = 0;
}

void
RdmaCreditExchange::OnRequestToSend(RdmaResponder& responder,
                                    const RdmaFrame& frame,
                                    rdma::TimePoint now)
{
    m_giver.Hear(frame.aux);
    m_giver.UrgeAsked(frame.dmaLength);
    responder.SendAnswer(RdmaOpcode::NDP_PULL, 0, m_giver.Given(), nullptr, now);
    Queue(responder, now);
}

void
RdmaCreditExchange::Answer(RdmaResponder& responder,
                           bool whole,
                           bool all,
                           uint32_t psn,
                           RdmaFrame* data,
                           rdma::TimePoint now)
{
    if (!whole)
    {
        m_giver.Urge(1);
    }
    else if (all)
    {
        m_giver.Settle();
    }
    if (m_inAnswers && !m_queued && !m_queuedUrgent && m_giver.Wants() && responder.TakePull(now))
    {
        m_giver.Give(1);
    }
    responder.SendAnswer(whole ? RdmaOpcode::NDP_ACK : RdmaOpcode::NDP_NACK,
                         psn,
                         m_inAnswers ? m_giver.Given() : 0,
                         data,
                         now);
    Queue(responder, now);
}

void
RdmaCreditExchange::Queue(RdmaResponder& responder, rdma::TimePoint now)
{
    if (m_giver.IsUrgent() && !m_queuedUrgent)
    {
        m_queuedUrgent = true;
        responder.QueuePull(true, now);
    }
    else if (m_giver.Wants() && !m_queued && !m_queuedUrgent)
    {
        m_queued = true;
        responder.QueuePull(false, now);
    }
}

RdmaPullTransport::Pull
RdmaCreditExchange::GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now)
{
    bool& queued = urgent ? m_queuedUrgent : m_queued;
    uint32_t packets = 0;
    if (urgent ? m_giver.IsUrgent() : m_giver.Wants())
    {
        packets = m_giver.Give(m_perPull);
        responder.SendAnswer(RdmaOpcode::NDP_PULL, 0, m_giver.Given(), nullptr, now);
    }
    queued = urgent ? m_giver.IsUrgent() : m_giver.Wants();
    if (urgent && !queued)
    {
        Queue(responder, now);
    }
    return {packets, queued};
}

} // namespace ns3
