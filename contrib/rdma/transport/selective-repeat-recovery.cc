/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "selective-repeat-recovery.h"

#include "contrib/rdma/core/psn.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-recovery-schemes.h"
#include "ns3/rdma-requester.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SelectiveRepeatRecovery");

namespace
{

const RdmaRecoverySchemes::Registered g_selectiveRepeat{
    {"selective-repeat",
     [](const RdmaRecoveryScheme::Setting& setting) -> Ptr<RdmaLossRecovery> {
         return Create<SelectiveRepeatRecovery>(
             setting,
             SelectiveRepeatRecovery::Timeouts{setting.rtoLow,
                                               setting.rtoHigh,
                                               setting.rtoLowPackets});
     },
     1,
     true}}; // the cap has no room for waiting ACKs

} // namespace

SelectiveRepeatRecovery::SelectiveRepeatRecovery(const RdmaRecoveryScheme::Setting& setting,
                                                 const Timeouts& timeouts)
    : m_timeouts(timeouts),
      m_sacked(setting.firstSent, setting.sendCap),
      m_received(setting.firstExpected, setting.receiveCap)
{
}

std::string
SelectiveRepeatRecovery::GetName() const
{
    return "selective-repeat";
}

// Requester --------------------------------------------------------------------------------------

bool
SelectiveRepeatRecovery::HearsAcks() const
{
    return true;
}

void
SelectiveRepeatRecovery::SendFrom(uint64_t psn)
{
    m_sacked = rdma::ReceiveBitmap(psn, m_sacked.Capacity());
}

void
SelectiveRepeatRecovery::OnFirstSent(int64_t now)
{
    m_lastProgress = now;
}

void
SelectiveRepeatRecovery::OnAcknowledged(RdmaRequester& requester, int64_t now)
{
    const uint64_t acked = requester.GetAckedPsn();
    m_sacked.AdvanceTo(acked);
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
SelectiveRepeatRecovery::Sack(uint64_t psn)
{
    if (m_sacked.Covers(psn))
    {
        m_sacked.Set(psn);
        m_lostBefore = std::max(m_lostBefore, psn);
    }
}

void
SelectiveRepeatRecovery::OnNakAux(RdmaRequester& requester, uint32_t aux)
{
    // The PSN that came out of order.
    const uint64_t came = rdma::ExtendPsn(aux, requester.GetAckedPsn());
    if (came >= requester.GetHighestPsn())
    {
        return; // never sent: a NAK to a former connection of this queue pair
    }
    if (!requester.IsResponse(came))
    {
        Sack(came);
    }
    else if (m_sacked.Covers(came)) // its response may still be to come
    {
        m_lostBefore = std::max(m_lostBefore, came);
    }
}

void
SelectiveRepeatRecovery::OnNak(RdmaRequester& requester, uint64_t expected, int64_t now)
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
SelectiveRepeatRecovery::OnTimeout(RdmaRequester& requester, int64_t now)
{
    Recover(requester, requester.GetAckedPsn(), true, now);
}

void
SelectiveRepeatRecovery::OnRefused(RdmaRequester& requester,
                                   uint64_t psn,
                                   int64_t until,
                                   int64_t now)
{
    // The receiver has thrown away all from this PSN on.
    rdma::ReceiveBitmap before(m_sacked.Base(), m_sacked.Capacity());
    for (uint64_t arrived = m_sacked.Base(); arrived < psn; ++arrived)
    {
        if (m_sacked.Test(arrived))
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
SelectiveRepeatRecovery::Begin(uint64_t from, uint64_t highest, bool afterTimeout)
{
    m_recovering = true;
    m_afterTimeout = afterTimeout;
    m_cursor = from;
    m_end = highest;
    m_lostBefore = std::max(m_lostBefore, from + 1);
}

void
SelectiveRepeatRecovery::Recover(RdmaRequester& requester,
                                 uint64_t from,
                                 bool afterTimeout,
                                 int64_t now)
{
    NS_LOG_LOGIC((afterTimeout ? "time-out" : "loss")
                 << " at " << now << " ps: PSNs from " << from << " to before "
                 << requester.GetHighestPsn() << " go again unless acknowledged");
    Begin(from, requester.GetHighestPsn(), afterTimeout);
    requester.RepeatFrom(from, now);
}

void
SelectiveRepeatRecovery::OnSentAgain(uint64_t psn)
{
    m_cursor = std::max(m_cursor, psn + 1);
    m_end = std::max(m_end, psn + 1);
}

void
SelectiveRepeatRecovery::ChooseNext(RdmaRequester& requester)
{
    requester.SeekTo(NextLost(requester.GetHighestPsn()));
}

uint64_t
SelectiveRepeatRecovery::NextLost(uint64_t highest) const
{
    if (!m_recovering)
    {
        return highest;
    }
    const uint64_t limit = std::min(m_lostBefore, highest);
    const uint64_t lost = m_sacked.FirstClear(std::max(m_cursor, m_sacked.Base()), limit);
    return lost < limit ? lost : highest;
}

int64_t
SelectiveRepeatRecovery::GetTimeout(const RdmaRequester& requester) const
{
    return requester.GetHighestPsn() - requester.GetAckedPsn() <= m_timeouts.few ? m_timeouts.low
                                                                                 : m_timeouts.high;
}

int64_t
SelectiveRepeatRecovery::GetLeastTimeout(const RdmaRequester&) const
{
    return std::min(m_timeouts.low, m_timeouts.high);
}

bool
SelectiveRepeatRecovery::GivesUp(const RdmaRequester& requester, int64_t now) const
{
    // RtoLow and RtoHigh are estimates of a round trip, not the local ACK time-out: that one is
    // counted in time, so that both recoveries give up equally late.
    const int64_t patience = requester.GetAckTimeout() * (requester.GetRetryCount() + 1);
    return patience && now - m_lastProgress >= patience;
}

// READs

RdmaLossRecovery::Response
SelectiveRepeatRecovery::OnResponse(uint64_t psn, uint64_t)
{
    if (NextMissing(psn, psn + 1) != psn)
    {
        return Response::DUPLICATE;
    }
    Sack(psn);
    return Response::TAKEN;
}

void
SelectiveRepeatRecovery::OnResponseMissing(RdmaRequester& requester, int64_t now)
{
    if (m_recovering)
    {
        ChooseNext(requester);
        return;
    }
    Recover(requester, requester.GetAckedPsn(), false, now);
}

void
SelectiveRepeatRecovery::OnArrived(uint64_t from, uint64_t to)
{
    for (uint64_t psn = from; psn < to; ++psn)
    {
        if (m_sacked.Covers(psn))
        {
            m_sacked.Set(psn);
        }
    }
}

uint64_t
SelectiveRepeatRecovery::NextMissing(uint64_t from, uint64_t limit) const
{
    return m_sacked.FirstClear(from, limit);
}

uint64_t
SelectiveRepeatRecovery::RepeatUpTo(uint64_t from, uint64_t limit, uint64_t highest) const
{
    // Up to what has arrived; what has never been asked for waits for its turn.
    limit = std::min(limit, highest);
    while (from < limit && !m_sacked.Test(from))
    {
        ++from;
    }
    return from;
}

// Responder --------------------------------------------------------------------------------------

void
SelectiveRepeatRecovery::OnOutOfOrder(RdmaResponder& responder,
                                      uint64_t psn,
                                      RdmaFrame& frame,
                                      int64_t now)
{
    if (responder.HasRefused())
    {
        return; // all behind the refused packet goes again
    }
    switch (Keep(psn, responder.GetExpectedPsn(), frame, responder.GetPsnCount(frame)))
    {
    case Hold::KEPT:
        Answer(responder, psn, frame, true, now);
        break;
    case Hold::DUPLICATE:
        responder.CountDuplicate();
        Answer(responder, psn, frame, false, now);
        break;
    case Hold::NO_ROOM: // the sender ignores the BDP cap
        responder.CountDropped();
        break;
    }
}

void
SelectiveRepeatRecovery::Answer(RdmaResponder& responder,
                                uint64_t psn,
                                RdmaFrame& frame,
                                bool,
                                int64_t now) const
{
    responder.SendSequenceNak(rdma::WirePsn(psn), frame, now);
}

SelectiveRepeatRecovery::Hold
SelectiveRepeatRecovery::Keep(uint64_t psn,
                              uint64_t expected,
                              const RdmaFrame& frame,
                              uint32_t count)
{
    m_received.AdvanceTo(expected); // what came in order did not pass here
    if (!m_received.Covers(psn) || !m_received.Covers(psn + count - 1))
    {
        return Hold::NO_ROOM;
    }
    if (m_held.empty())
    {
        size_t size = 1;
        while (size < m_received.Capacity())
        {
            size *= 2;
        }
        m_held.resize(size);
    }
    RdmaArrival& first = m_held[psn & (m_held.size() - 1)];
    const bool fresh = m_received.Set(psn);
    if (fresh)
    {
        first = {frame.aux, frame.GetLabel(), frame.payload, frame.opcode, frame.flags};
        m_heldBytes += frame.payload;
    }
    if (frame.opcode == RdmaOpcode::READ_REQUEST)
    {
        // A repeated READ may ask for more than the one that it repeats.
        first.immediate = fresh ? frame.dmaLength : std::max(first.immediate, frame.dmaLength);
        for (uint64_t more = psn + 1; more < psn + count; ++more)
        {
            if (m_received.Set(more))
            {
                m_held[more & (m_held.size() - 1)] = {0,
                                                      RdmaFrame::NO_LABEL,
                                                      0,
                                                      RdmaOpcode::WRITE_MIDDLE,
                                                      0};
            }
        }
    }
    return fresh ? Hold::KEPT : Hold::DUPLICATE;
}

bool
SelectiveRepeatRecovery::HasHeld() const
{
    return m_received.Count() > 0;
}

void
SelectiveRepeatRecovery::FillGap(uint64_t psn, const RdmaFrame& frame, uint32_t count)
{
    Keep(psn, psn, frame, count);
}

uint64_t
SelectiveRepeatRecovery::Release(uint64_t expected)
{
    m_received.AdvanceTo(expected);
    const uint64_t end = m_received.FirstClear(expected, expected + m_received.Capacity());
    m_received.AdvanceTo(end);
    for (uint64_t psn = expected; psn < end; ++psn)
    {
        m_heldBytes -= GetHeld(psn).payload;
    }
    return end;
}

void
SelectiveRepeatRecovery::Forget(uint64_t psn)
{
    m_received = rdma::ReceiveBitmap(psn, m_received.Capacity());
    m_heldBytes = 0;
}

uint64_t
SelectiveRepeatRecovery::GetHeldBytes() const
{
    return m_heldBytes;
}

const RdmaArrival&
SelectiveRepeatRecovery::GetHeld(uint64_t psn) const
{
    return m_held[psn & (m_held.size() - 1)];
}

} // namespace ns3
