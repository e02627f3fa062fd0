/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ndp-recovery.h"

#include "contrib/rdma/core/psn.h"
#include "rdma-frame.h"
#include "rdma-recovery-schemes.h"
#include "rdma-requester.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// What a receiver keeps track of: packets of 16 round trips (assumed), as one that is trimmed
/// again and again may be missing while others come.
constexpr uint32_t ROUND_TRIPS = 16;

/// Two queues of eight packets on the way to a host, which a window has to fill besides the wire
/// (assumed; the authors' example for a permutation on a 432-node fat-tree has 23 packets of 9 KB
/// at 10 Gb/s, sim/EXAMPLES/permutation/run.sh).
constexpr uint64_t QUEUED = 16;

const RdmaRecoverySchemes::Registered g_ndp{
    {"ndp",
     [](const RdmaRecoveryScheme::Setting& setting) -> Ptr<RdmaLossRecovery> {
         return Create<NdpRecovery>(setting);
     },
     ROUND_TRIPS,
     true}};

uint64_t
FirstWindow(const RdmaRecoveryScheme::Setting& setting)
{
    const uint64_t roundTrip = (setting.sendCap + ROUND_TRIPS - 1) / ROUND_TRIPS;
    return std::min(setting.firstWindow ? setting.firstWindow : roundTrip + QUEUED,
                    setting.sendCap);
}

} // namespace

NdpRecovery::NdpRecovery(const RdmaRecoveryScheme::Setting& setting)
    : SelectiveRepeatRecovery(setting, {setting.creditTimeout, setting.creditTimeout, 0}),
      m_window(FirstWindow(setting)),
      m_patience(setting.creditTimeout),
      m_acked(setting.firstSent, setting.sendCap),
      m_again(setting.firstSent, setting.sendCap),
      m_cap(setting.sendCap),
      m_credit(m_window),
      m_highest(setting.firstExpected)
{
}

std::string
NdpRecovery::GetName() const
{
    return "ndp";
}

// Requester --------------------------------------------------------------------------------------

bool
NdpRecovery::HearsAll() const
{
    return true;
}

void
NdpRecovery::SendFrom(uint64_t psn)
{
    m_acked = rdma::ReceiveBitmap(psn, m_cap);
    m_again = rdma::PacketSet(psn, m_cap);
}

void
NdpRecovery::OnFirstSent(int64_t now)
{
    m_heard = now;
    m_sentFirst = 0;
}

void
NdpRecovery::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, int64_t)
{
    frame.flags |= RdmaFrame::TRIMMABLE;
    if (psn + 1 == requester.GetEndPsn())
    {
        frame.flags |= RdmaFrame::NOTHING_BEHIND;
    }
    m_again.Erase(psn);
    m_credit -= m_credit > 0;
    ++m_expected;
    m_sentFirst = std::max(m_sentFirst, requester.GetAckedPsn() + 1);
    ChooseNext(requester);
}

void
NdpRecovery::ExpectLess(uint64_t pulls)
{
    m_expected -= std::min(m_expected, pulls);
}

void
NdpRecovery::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, int64_t now)
{
    m_heard = now;
    const auto fresh = static_cast<int32_t>(frame.dmaLength - m_pullsHeard);
    if (fresh > 0)
    {
        m_pullsHeard = frame.dmaLength;
        ExpectLess(static_cast<uint32_t>(fresh));
        m_credit = std::min(m_window, m_credit + static_cast<uint32_t>(fresh));
    }
    const uint64_t psn = rdma::ExtendPsn(frame.aux, requester.GetAckedPsn());
    if (frame.opcode == RdmaOpcode::NDP_PULL || !m_acked.Covers(psn) ||
        psn >= requester.GetHighestPsn())
    {
        return;
    }
    if (frame.opcode == RdmaOpcode::NDP_ACK)
    {
        m_acked.Set(psn);
        m_again.Erase(psn);
    }
    else if (!m_acked.Test(psn))
    {
        m_again.Insert(psn);
    }
}

void
NdpRecovery::OnAcknowledged(RdmaRequester& requester, int64_t now)
{
    const uint64_t acked = requester.GetAckedPsn();
    m_acked.AdvanceTo(acked);
    m_again.AdvanceTo(acked);
    m_heard = now;
    m_sentFirst = requester.GetHighestPsn();
    if (acked == requester.GetEndPsn())
    {
        m_credit = m_window;
        m_expected = 0;
    }
    else
    {
        requester.ArmTimer(now);
    }
    ChooseNext(requester);
}

void
NdpRecovery::OnNak(RdmaRequester&, uint64_t, int64_t)
{
    // Its responder sends none but of receive requests, which OnRefused hears of.
}

void
NdpRecovery::OnReturned(RdmaRequester& requester, uint64_t psn, int64_t now)
{
    m_heard = now;
    if (m_acked.Covers(psn) && psn < requester.GetHighestPsn() && !m_acked.Test(psn))
    {
        m_again.Insert(psn);
    }
    ExpectLess(1);
    if (m_expected == 0)
    {
        m_credit = std::max<uint64_t>(m_credit, 1);
    }
    ChooseNext(requester);
}

uint64_t
NdpRecovery::GetUnheard(const RdmaRequester& requester) const
{
    return requester.GetHighestPsn() - requester.GetAckedPsn() - m_acked.Count() - m_again.Count();
}

void
NdpRecovery::OnTimeout(RdmaRequester& requester, int64_t now)
{
    uint64_t lost = 0;
    const uint64_t end = std::min(m_sentFirst, requester.GetHighestPsn());
    for (uint64_t psn = requester.GetAckedPsn(); psn < end; ++psn)
    {
        lost += !m_acked.Test(psn) && m_again.Insert(psn);
    }
    ExpectLess(lost);
    m_credit = std::min(m_window, m_credit + lost);
    if (m_credit == 0) // pulls have been lost
    {
        m_credit = 1;
        ExpectLess(1);
    }
    m_sentFirst = requester.GetHighestPsn();
    if (lost)
    {
        requester.RepeatFrom(m_again.First(), now);
    }
    ChooseNext(requester);
    requester.ArmTimer(now);
}

void
NdpRecovery::OnRefused(RdmaRequester& requester, uint64_t psn, int64_t until, int64_t now)
{
    // The receiver has thrown away all from this PSN on, and owes nothing for it.
    m_acked = rdma::ReceiveBitmap(requester.GetAckedPsn(), m_cap);
    for (uint64_t lost = psn; lost < requester.GetHighestPsn(); ++lost)
    {
        m_again.Insert(lost);
    }
    m_expected = 0;
    m_credit = m_window;
    m_heard = until; // the wait is not the network's fault
    requester.RepeatFrom(psn, now);
    ChooseNext(requester);
}

void
NdpRecovery::OnSentAgain(uint64_t)
{
}

void
NdpRecovery::ChooseNext(RdmaRequester& requester)
{
    requester.SeekTo(m_again.IsEmpty() ? requester.GetHighestPsn() : m_again.First());
    requester.SetMaxOutstanding(m_credit ? static_cast<uint32_t>(m_cap) : 0);
}

int64_t
NdpRecovery::GetTimeout(const RdmaRequester& requester) const
{
    // While each packet has been heard of, pulls may take their time.
    const int64_t quiet = std::max<int64_t>(0, m_heard - requester.GetTimerStart());
    return m_patience + (GetUnheard(requester) ? 0 : quiet);
}

int64_t
NdpRecovery::GetLeastTimeout(const RdmaRequester&) const
{
    return m_patience;
}

bool
NdpRecovery::GivesUp(const RdmaRequester& requester, int64_t now) const
{
    // As late as the other recoveries, if the other end is silent.
    const int64_t patience = requester.GetAckTimeout() * (requester.GetRetryCount() + 1);
    return patience && now - m_heard >= patience;
}

// Responder --------------------------------------------------------------------------------------

bool
NdpRecovery::OnArrival(RdmaResponder& responder, uint64_t psn, RdmaFrame& frame, int64_t now)
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
        AnswerArrival(responder,
                      here ? RdmaOpcode::NDP_ACK : RdmaOpcode::NDP_NACK,
                      frame.psn,
                      &frame,
                      now);
    }
    return true;
}

void
NdpRecovery::Acknowledge(RdmaResponder& responder, RdmaFrame* data, int64_t now)
{
    AnswerArrival(responder, RdmaOpcode::NDP_ACK, data->psn, data, now);
}

void
NdpRecovery::Answer(RdmaResponder& responder, uint64_t, RdmaFrame& frame, bool, int64_t now) const
{
    responder.SendAck(&frame, now); // which asks us
}

void
NdpRecovery::AnswerArrival(RdmaResponder& responder,
                           RdmaOpcode opcode,
                           uint32_t psn,
                           RdmaFrame* data,
                           int64_t now)
{
    ++m_owed;
    if (m_isAll && responder.GetExpectedPsn() == m_highest)
    {
        m_pulls += static_cast<uint32_t>(m_owed);
        m_owed = 0;
    }
    else if (!m_queued && responder.TakePull(now))
    {
        ++m_pulls;
        --m_owed;
    }
    responder.SendAnswer(opcode, psn, m_pulls, data, now);
    if (m_owed && !m_queued)
    {
        m_queued = true;
        responder.QueuePull(now);
    }
}

RdmaLossRecovery::Pull
NdpRecovery::GivePull(RdmaResponder& responder, int64_t now)
{
    if (m_owed == 0)
    {
        m_queued = false;
        return Pull::NONE;
    }
    --m_owed;
    ++m_pulls;
    m_queued = m_owed > 0;
    responder.SendAnswer(RdmaOpcode::NDP_PULL, 0, m_pulls, nullptr, now);
    return m_queued ? Pull::MORE : Pull::LAST;
}

} // namespace ns3
