/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "trimming-transport.h"

#include "contrib/rdma/core/psn.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TrimmingTransport");

namespace
{

constexpr uint64_t QUEUED = 16; //!< see FirstWindow

} // namespace

RdmaTrimmingTransport::RdmaTrimmingTransport(const RdmaTransportScheme::Setting& setting)
    : m_patience(setting.creditTimeout),
      m_cap(setting.sendCap),
      m_acked(setting.firstSent, setting.sendCap),
      m_again(setting.firstSent, setting.sendCap),
      m_highest(setting.firstExpected)
{
    m_kept.emplace(setting.firstExpected, setting.receiveCap);
}

uint64_t
RdmaTrimmingTransport::RoundTrip(const RdmaTransportScheme::Setting& setting)
{
    return (setting.sendCap + ROUND_TRIPS - 1) / ROUND_TRIPS;
}

uint64_t
RdmaTrimmingTransport::FirstWindow(const RdmaTransportScheme::Setting& setting)
{
    return std::min(setting.firstWindow ? setting.firstWindow : RoundTrip(setting) + QUEUED,
                    setting.sendCap);
}

// Requester --------------------------------------------------------------------------------------

void
RdmaTrimmingTransport::SendFrom(uint64_t psn)
{
    m_acked = rdma::ReceiveBitmap(psn, m_cap);
    m_again = rdma::ReceiveBitmap(psn, m_cap);
}

void
RdmaTrimmingTransport::OnFirstSent(rdma::TimePoint now)
{
    m_heard = now;
    m_sentFirst = 0;
}

void
RdmaTrimmingTransport::NoteSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame)
{
    frame.flags |= RdmaFrame::TRIMMABLE;
    if (psn + 1 == requester.GetEndPsn())
    {
        frame.flags |= RdmaFrame::NOTHING_BEHIND;
    }
    m_again.Clear(psn);
    m_sentFirst = std::max(m_sentFirst, requester.GetAckedPsn() + 1);
}

void
RdmaTrimmingTransport::NoteAnswer(RdmaRequester& requester,
                                  const RdmaFrame& frame,
                                  rdma::TimePoint now)
{
    m_heard = now;
    const uint64_t psn = rdma::ExtendPsn(frame.aux, requester.GetAckedPsn());
    if (frame.opcode == RdmaOpcode::NDP_PULL || !m_acked.Covers(psn) ||
        psn >= requester.GetHighestPsn())
    {
        return;
    }
    if (frame.opcode == RdmaOpcode::NDP_ACK)
    {
        m_acked.Set(psn);
        m_again.Clear(psn);
    }
    else if (!m_acked.Test(psn))
    {
        m_again.Set(psn);
    }
}

uint64_t
RdmaTrimmingTransport::NoteArrivedBefore(RdmaRequester& requester, uint64_t expected)
{
    uint64_t fresh = 0;
    for (uint64_t psn = requester.GetAckedPsn(); psn < expected && m_acked.Covers(psn); ++psn)
    {
        if (m_acked.Set(psn))
        {
            m_again.Clear(psn);
            ++fresh;
        }
    }
    return fresh;
}

void
RdmaTrimmingTransport::NoteAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    const uint64_t acked = requester.GetAckedPsn();
    m_acked.AdvanceTo(acked);
    m_again.AdvanceTo(acked);
    m_heard = now;
    m_sentFirst = requester.GetHighestPsn();
    if (acked != requester.GetEndPsn())
    {
        requester.ArmTimer(now);
    }
}

void
RdmaTrimmingTransport::OnPosted(RdmaRequester& requester, rdma::TimePoint)
{
    ChooseNext(requester);
}

void
RdmaTrimmingTransport::OnReturned(RdmaRequester&, uint64_t, rdma::TimePoint)
{
}

uint64_t
RdmaTrimmingTransport::GetUnheard(const RdmaRequester& requester) const
{
    return requester.GetHighestPsn() - requester.GetAckedPsn() - m_acked.Count() - m_again.Count();
}

uint64_t
RdmaTrimmingTransport::GetBacklog(const RdmaRequester& requester) const
{
    return requester.GetEndPsn() - requester.GetHighestPsn() + m_again.Count();
}

rdma::Duration
RdmaTrimmingTransport::GetQuiet(const RdmaRequester& requester) const
{
    return std::max(rdma::Duration(), m_heard - requester.GetTimerStart());
}

uint64_t
RdmaTrimmingTransport::TakeSentFirst(const RdmaRequester& requester)
{
    const uint64_t end = std::min(m_sentFirst, requester.GetHighestPsn());
    m_sentFirst = requester.GetHighestPsn();
    return end;
}

uint64_t
RdmaTrimmingTransport::LoseUnheard(RdmaRequester& requester)
{
    uint64_t lost = 0;
    const uint64_t end = TakeSentFirst(requester);
    for (uint64_t psn = requester.GetAckedPsn(); psn < end; ++psn)
    {
        lost += !m_acked.Test(psn) && m_again.Set(psn);
    }
    NS_LOG_LOGIC(lost << " packets below PSN " << end
                      << " count as lost: nothing is heard of them");
    return lost;
}

void
RdmaTrimmingTransport::OnRefused(RdmaRequester& requester,
                                 uint64_t psn,
                                 rdma::TimePoint until,
                                 rdma::TimePoint now)
{
    m_acked = rdma::ReceiveBitmap(requester.GetAckedPsn(), m_cap);
    for (uint64_t lost = psn; lost < requester.GetHighestPsn(); ++lost)
    {
        m_again.Set(lost);
    }
    m_heard = until; // the wait is not the network's fault
    requester.RepeatFrom(psn, now);
    ChooseNext(requester);
}

void
RdmaTrimmingTransport::ChooseNext(RdmaRequester& requester)
{
    requester.SeekTo(m_again.IsEmpty() ? requester.GetHighestPsn() : m_again.FirstSet());
    requester.SetMaxOutstanding(MaySend(requester) ? static_cast<uint32_t>(m_cap) : 0);
}

rdma::Duration
RdmaTrimmingTransport::GetLeastTimeout(const RdmaRequester&) const
{
    return m_patience;
}

bool
RdmaTrimmingTransport::GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const
{
    // As late as the other recoveries, if the other end is silent.
    const rdma::Duration patience = requester.GetAckTimeout() * (requester.GetRetryCount() + 1);
    return patience.ps && now - m_heard >= patience;
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaTrimmingTransport::OnArrival(RdmaResponder& responder,
                                 uint64_t psn,
                                 RdmaFrame& frame,
                                 rdma::TimePoint now)
{
    if (psn + 1 >= m_highest)
    {
        m_highest = psn + 1;
        m_isAll = frame.flags & RdmaFrame::NOTHING_BEHIND;
    }
    if (!(frame.flags & RdmaFrame::TRIMMED))
    {
        return false;
    }
    responder.CountTrimmed();
    if (!responder.HasRefused())
    {
        const bool here = psn < responder.GetExpectedPsn() || m_kept->IsKept(psn);
        AnswerArrival(responder, here, frame.psn, &frame, now);
    }
    return true;
}

void
RdmaTrimmingTransport::Acknowledge(RdmaResponder& responder, RdmaFrame* data, rdma::TimePoint now)
{
    AnswerArrival(responder, true, data->psn, data, now);
}

void
RdmaTrimmingTransport::OnOutOfOrder(RdmaResponder& responder,
                                    uint64_t,
                                    RdmaFrame& frame,
                                    bool,
                                    rdma::TimePoint now)
{
    Acknowledge(responder, &frame, now);
}

void
RdmaTrimmingTransport::OnRequestToSend(RdmaResponder&, const RdmaFrame&, rdma::TimePoint)
{
}

bool
RdmaTrimmingTransport::IsAllHere(const RdmaResponder& responder) const
{
    return m_isAll && responder.GetExpectedPsn() == m_highest;
}

} // namespace ns3
