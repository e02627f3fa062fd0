/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "selective-repeat-recovery.h"

#include "contrib/rdma/core/psn.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SelectiveRepeatRecovery");

namespace
{

const RdmaTransportSchemes::Registered g_selectiveRepeat{
    {"selective-repeat",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaSelectiveRepeatRecovery>(
             setting,
             RdmaSelectiveRepeatRecovery::Timeouts{setting.rtoLow,
                                                   setting.rtoHigh,
                                                   setting.rtoLowPackets});
     },
     1,
     true}}; // the cap has no room for waiting ACKs

} // namespace

RdmaSelectiveRepeatRecovery::RdmaSelectiveRepeatRecovery(
    const RdmaTransportScheme::Setting& setting,
    const Timeouts& timeouts)
    : m_timeouts(timeouts)
{
    m_sacked.emplace(setting.firstSent, setting.sendCap);
    m_kept.emplace(setting.firstExpected, setting.receiveCap);
}

std::string
RdmaSelectiveRepeatRecovery::GetName() const
{
    return "selective-repeat";
}

// Requester --------------------------------------------------------------------------------------

bool
RdmaSelectiveRepeatRecovery::HearsAcks() const
{
    return true;
}

void
RdmaSelectiveRepeatRecovery::SendFrom(uint64_t psn)
{
    m_sacked = rdma::ReceiveBitmap(psn, m_sacked->Capacity());
}

void
RdmaSelectiveRepeatRecovery::OnFirstSent(rdma::TimePoint now)
{
    m_lastProgress = now;
}

void
RdmaSelectiveRepeatRecovery::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    const uint64_t acked = requester.GetAckedPsn();
    m_sacked->AdvanceTo(acked);
    m_lastProgress = now;
    if (m_recovering && acked >= m_end)
    {
        m_recovering = false;
    }
    else if (m_recovering && m_afterTimeout)
    {
        m_lostBefore = std::max(m_lostBefore, acked + 1);
    }
    ChooseNext(requester);
    if (requester.GetHighestPsn() > acked)
    {
        requester.ArmTimer(now);
    }
}

void
RdmaSelectiveRepeatRecovery::OnArrivedEarly(uint64_t psn, bool whole)
{
    if (m_sacked->Covers(psn))
    {
        if (whole)
        {
            m_sacked->Set(psn);
        }
        m_lostBefore = std::max(m_lostBefore, psn);
    }
}

void
RdmaSelectiveRepeatRecovery::OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now)
{
    if (requester.GetHighestPsn() <= requester.GetAckedPsn())
    {
        return;
    }
    if (m_recovering)
    {
        ChooseNext(requester);
        return;
    }
    requester.TellCongestionOfNak(now);
    Recover(requester, std::max(requester.GetAckedPsn(), expected), false, now);
}

void
RdmaSelectiveRepeatRecovery::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    Recover(requester, requester.GetAckedPsn(), true, now);
}

void
RdmaSelectiveRepeatRecovery::OnRefused(RdmaRequester& requester,
                                       uint64_t psn,
                                       rdma::TimePoint until,
                                       rdma::TimePoint now)
{
    // The receiver has thrown away all from this PSN on.
    rdma::ReceiveBitmap before(m_sacked->Base(), m_sacked->Capacity());
    for (uint64_t arrived = m_sacked->Base(); arrived < psn; ++arrived)
    {
        if (m_sacked->Test(arrived))
        {
            before.Set(arrived);
        }
    }
    m_sacked = before;
    Recover(requester, psn, false, now);
    m_lostBefore = std::max(m_lostBefore, requester.GetHighestPsn());
    m_lastProgress = until; // the wait is not the network's fault
}

void
RdmaSelectiveRepeatRecovery::Begin(uint64_t from, uint64_t highest, bool afterTimeout)
{
    m_recovering = true;
    m_afterTimeout = afterTimeout;
    m_cursor = from;
    m_end = highest;
    m_lostBefore = std::max(m_lostBefore, from + 1);
}

void
RdmaSelectiveRepeatRecovery::Recover(RdmaRequester& requester,
                                     uint64_t from,
                                     bool afterTimeout,
                                     rdma::TimePoint now)
{
    NS_LOG_LOGIC((afterTimeout ? "time-out" : "loss")
                 << " at " << now.ps << " ps: PSNs from " << from << " to before "
                 << requester.GetHighestPsn() << " go again unless acknowledged");
    Begin(from, requester.GetHighestPsn(), afterTimeout);
    requester.RepeatFrom(from, now);
}

void
RdmaSelectiveRepeatRecovery::OnSentAgain(uint64_t psn)
{
    m_cursor = std::max(m_cursor, psn + 1);
    m_end = std::max(m_end, psn + 1);
}

void
RdmaSelectiveRepeatRecovery::ChooseNext(RdmaRequester& requester)
{
    requester.SeekTo(NextLost(requester.GetHighestPsn()));
}

uint64_t
RdmaSelectiveRepeatRecovery::NextLost(uint64_t highest) const
{
    if (!m_recovering)
    {
        return highest;
    }
    const uint64_t limit = std::min(m_lostBefore, highest);
    const uint64_t lost = m_sacked->FirstClear(std::max(m_cursor, m_sacked->Base()), limit);
    return lost < limit ? lost : highest;
}

rdma::Duration
RdmaSelectiveRepeatRecovery::GetTimeout(const RdmaRequester& requester) const
{
    return requester.GetHighestPsn() - requester.GetAckedPsn() <= m_timeouts.few ? m_timeouts.low
                                                                                 : m_timeouts.high;
}

rdma::Duration
RdmaSelectiveRepeatRecovery::GetLeastTimeout(const RdmaRequester&) const
{
    return std::min(m_timeouts.low, m_timeouts.high);
}

bool
RdmaSelectiveRepeatRecovery::GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const
{
    // RtoLow and RtoHigh are estimates of a round trip, not the local ACK time-out: that one is
    // counted in time, so that both recoveries give up equally late.
    const rdma::Duration patience = requester.GetAckTimeout() * (requester.GetRetryCount() + 1);
    return patience.ps && now - m_lastProgress >= patience;
}

void
RdmaSelectiveRepeatRecovery::OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now)
{
    if (m_recovering)
    {
        ChooseNext(requester);
        return;
    }
    Recover(requester, requester.GetAckedPsn(), false, now);
}

// Responder --------------------------------------------------------------------------------------

void
RdmaSelectiveRepeatRecovery::OnOutOfOrder(RdmaResponder& responder,
                                          uint64_t psn,
                                          RdmaFrame& frame,
                                          bool,
                                          rdma::TimePoint now)
{
    responder.SendSequenceNak(rdma::WirePsn(psn), frame, now);
}

} // namespace ns3
