/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "trimming-recovery.h"

#include "contrib/rdma/core/psn.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TrimmingRecovery");

namespace
{

constexpr uint64_t QUEUED = 16; //!< see FirstWindow

} // namespace

TrimmingRecovery::TrimmingRecovery(const RdmaRecoveryScheme::Setting& setting)
    : SelectiveRepeatRecovery(setting, {setting.creditTimeout, setting.creditTimeout, 0}),
      m_patience(setting.creditTimeout),
      m_cap(setting.sendCap),
      m_acked(setting.firstSent, setting.sendCap),
      m_again(setting.firstSent, setting.sendCap),
      m_highest(setting.firstExpected)
{
}

uint64_t
TrimmingRecovery::FirstWindow(const RdmaRecoveryScheme::Setting& setting)
{
    const uint64_t roundTrip = (setting.sendCap + ROUND_TRIPS - 1) / ROUND_TRIPS;
    return std::min(setting.firstWindow ? setting.firstWindow : roundTrip + QUEUED,
                    setting.sendCap);
}

// Requester --------------------------------------------------------------------------------------

bool
TrimmingRecovery::HearsAll() const
{
    return true;
}

void
TrimmingRecovery::SendFrom(uint64_t psn)
{
    m_acked = rdma::ReceiveBitmap(psn, m_cap);
    m_again = rdma::ReceiveBitmap(psn, m_cap);
}

void
TrimmingRecovery::OnFirstSent(int64_t now)
{
    m_heard = now;
    m_sentFirst = 0;
}

void
TrimmingRecovery::NoteSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame)
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
TrimmingRecovery::NoteAnswer(RdmaRequester& requester, const RdmaFrame& frame, int64_t now)
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
TrimmingRecovery::NoteArrivedBefore(RdmaRequester& requester, uint64_t expected)
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
TrimmingRecovery::NoteAcknowledged(RdmaRequester& requester, int64_t now)
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
TrimmingRecovery::OnNak(RdmaRequester&, uint64_t, int64_t)
{
    // Its responder sends none but of receive requests, which OnRefused hears of.
}

uint64_t
TrimmingRecovery::GetUnheard(const RdmaRequester& requester) const
{
    return requester.GetHighestPsn() - requester.GetAckedPsn() - m_acked.Count() - m_again.Count();
}

uint64_t
TrimmingRecovery::GetBacklog(const RdmaRequester& requester) const
{
    return requester.GetEndPsn() - requester.GetHighestPsn() + m_again.Count();
}

uint64_t
TrimmingRecovery::LoseUnheard(RdmaRequester& requester)
{
    uint64_t lost = 0;
    const uint64_t end = std::min(m_sentFirst, requester.GetHighestPsn());
    for (uint64_t psn = requester.GetAckedPsn(); psn < end; ++psn)
    {
        lost += !m_acked.Test(psn) && m_again.Set(psn);
    }
    m_sentFirst = requester.GetHighestPsn();
    NS_LOG_LOGIC(lost << " packets below PSN " << end
                      << " count as lost: nothing is heard of them");
    return lost;
}

void
TrimmingRecovery::LoseFrom(RdmaRequester& requester, uint64_t psn, int64_t until)
{
    m_acked = rdma::ReceiveBitmap(requester.GetAckedPsn(), m_cap);
    for (uint64_t lost = psn; lost < requester.GetHighestPsn(); ++lost)
    {
        m_again.Set(lost);
    }
    m_heard = until; // the wait is not the network's fault
}

void
TrimmingRecovery::OnSentAgain(uint64_t)
{
}

void
TrimmingRecovery::ChooseNext(RdmaRequester& requester)
{
    requester.SeekTo(m_again.IsEmpty() ? requester.GetHighestPsn() : m_again.FirstSet());
    requester.SetMaxOutstanding(MaySend(requester) ? static_cast<uint32_t>(m_cap) : 0);
}

int64_t
TrimmingRecovery::GetLeastTimeout(const RdmaRequester&) const
{
    return m_patience;
}

bool
TrimmingRecovery::GivesUp(const RdmaRequester& requester, int64_t now) const
{
    // As late as the other recoveries, if the other end is silent.
    const int64_t patience = requester.GetAckTimeout() * (requester.GetRetryCount() + 1);
    return patience && now - m_heard >= patience;
}

// Responder --------------------------------------------------------------------------------------

bool
TrimmingRecovery::OnArrival(RdmaResponder& responder, uint64_t psn, RdmaFrame& frame, int64_t now)
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
        const bool here = psn < responder.GetExpectedPsn() || IsKept(psn);
        AnswerArrival(responder, here, frame.psn, &frame, now);
    }
    return true;
}

void
TrimmingRecovery::Acknowledge(RdmaResponder& responder, RdmaFrame* data, int64_t now)
{
    AnswerArrival(responder, true, data->psn, data, now);
}

void
TrimmingRecovery::Answer(RdmaResponder& responder, uint64_t, RdmaFrame& frame, bool, int64_t now)
    const
{
    responder.SendAck(&frame, now); // which asks us
}

bool
TrimmingRecovery::IsAllHere(const RdmaResponder& responder) const
{
    return m_isAll && responder.GetExpectedPsn() == m_highest;
}

} // namespace ns3
