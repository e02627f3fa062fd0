/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requester: its state, which it has while it works, and the rate and window that the congestion
 * control sets.
 */
#include "rdma-nic-scan.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include <algorithm>
#include <utility>

namespace ns3
{

// Rest -------------------------------------------------------------------------------------------

void
RdmaRequester::Sender::Begin(const SenderNumbers& idle)
{
    static_cast<SenderNumbers&>(*this) = idle;
    requests.clear();
    if (clock) // its sums count from anywhere
    {
        std::vector<RdmaRequestTimes> times = std::move(clock->times); // for its memory
        *clock = {};
        clock->times = std::move(times);
    }
}

void
RdmaRequester::StartAt(uint64_t psn)
{
    Sender& s = *m_sender;
    s.nextPsn = s.sendEnd = s.ackedPsn = s.highestPsn = m_endPsn = psn;
}

void
RdmaRequester::BeginSending()
{
    const RdmaQueuePairProfile* profile = m_sender->profile;
    auto& resting = m_qp->m_nic->m_restingSenders;
    if (resting.empty())
    {
        resting.push_back(std::make_unique<Sender>());
    }
    m_sender = resting.back().release();
    resting.pop_back();
    Sender& s = *m_sender;
    s.Begin(profile->idle);
    StartAt(m_endPsn); // all that was ever posted is acknowledged
    s.sentBytes = s.ackedBytes = m_postedBytes;
    s.cc.bytesSent = s.cc.sentPosition = s.cc.ackedPosition = m_postedBytes;
    if (!profile->quiet)
    {
        OwnCongestionOps();
    }
}

void
RdmaRequester::RestIfDone()
{
    const Sender& s = *m_sender;
    const Sender& idle = s.profile->idle;
    if (s.ackedPsn != m_endPsn || &s == &idle || m_ops != s.profile->ops || m_qp->m_verbs ||
        m_qp->m_respond || m_qp->m_state == RdmaQueuePair::State::ERROR ||
        m_schedule != Schedule::IDLE || m_qp->m_nic->m_scan)
    {
        return;
    }
    // Nothing but what has been posted may have to be remembered.
    if (s.nextPsn != m_endPsn || s.highestPsn != m_endPsn || s.first != s.requests.size() ||
        s.nextSend || s.lastWire || s.ratePaced != idle.ratePaced ||
        s.windowTold != idle.windowTold || s.cc.rateBps != idle.cc.rateBps ||
        s.cc.windowBytes != idle.cc.windowBytes || s.cc.bytesSent != m_postedBytes)
    {
        return;
    }
    if (s.clock && s.clock->windowSince >= 0)
    {
        return;
    }
    m_qp->m_nic->m_restingSenders.emplace_back(m_sender);
    m_sender = &m_sender->profile->idle;
}

void
RdmaRequester::Reset(uint64_t psn)
{
    Sender& s = *m_sender;
    s.requests.clear();
    s.first = s.told = s.cursor = 0;
    StartAt(psn);
    s.sentBytes = s.ackedBytes = m_postedBytes = 0;
    m_maxOutstanding = RdmaQueuePair::MAX_OUTSTANDING;
    s.readBarrier = NO_READ;
    s.retries = 0;
    m_selector = nullptr;
    if (m_qp->m_verbs)
    {
        Verbs& verbs = m_qp->m_verbs->requester;
        verbs.reads.clear();
        verbs.readGap = false;
        verbs.bytesRead = verbs.rnrRetries = 0;
        verbs.cumulative = psn;
        verbs.holdUntil = 0;
    }
}

// Congestion control and pace --------------------------------------------------------------------

void
RdmaRequester::SetProfile(RdmaQueuePairProfile* profile, int64_t now)
{
    const RdmaQueuePairProfile* before = m_sender ? m_sender->profile : nullptr;
    const bool sending = before && IsSending();
    m_ops = profile->ops;
    m_qp->m_needs = profile->ops->GetNeeds();
    if (m_qp->m_nic->m_pathSelector)
    {
        m_qp->m_needs |= RdmaQueuePair::ENTROPY | RdmaCongestionOps::ACK_PER_PACKET;
    }
    m_qp->m_needs |= m_qp->m_nic->m_ranks ? RdmaQueuePair::RANK : 0;
    if (sending)
    {
        m_sender->profile = profile;
        if (!profile->quiet)
        {
            OwnCongestionOps();
        }
        m_sender->cc = profile->after;
        m_sender->nextSend = 0;
        UpdateRate(now);
        return;
    }
    m_sender = &profile->idle;
    const Sender& idle = profile->idle;
    RdmaNic* nic = m_qp->m_nic;
    if (idle.ratePaced != (before ? before->idle.ratePaced : 0))
    {
        if (nic->m_scan && idle.cc.repace == RdmaCongestionState::Repace::SHIFT)
        {
            nic->m_scan->OnShift(0, now);
        }
        nic->TellRate(m_qp, idle.ratePaced, now);
    }
    if (idle.windowTold != (before ? before->idle.windowTold : RdmaCongestionState::UNLIMITED))
    {
        nic->m_windowTrace(m_qp, idle.windowTold, now);
    }
}

void
RdmaRequester::OwnCongestionOps()
{
    const RdmaQueuePairProfile* profile = m_sender->profile;
    if (m_ops == profile->ops)
    {
        m_ops = profile->prototype->Fork();
        RdmaCongestionState state = profile->before;
        m_ops->Init(state); // what it sets of the state is in the sender
    }
}

int64_t
RdmaRequester::GetGap(uint32_t wireBytes, uint64_t rateBps) const
{
    return rdma::SerializationTime(rdma::Bytes(wireBytes),
                                   rdma::BitRate(rateBps),
                                   rdma::Duration(m_qp->m_nic->m_timeUnit))
        .ps;
}

double
RdmaRequester::GetPace(const RdmaNic& nic, const RdmaCongestionState& cc)
{
    return cc.rateBps == 0 || (cc.rateBps >= cc.port.bps && !nic.m_scan)
               ? 0
               : 8e12 / static_cast<double>(cc.rateBps);
}

void
RdmaRequester::ChangeRate(int64_t now)
{
    Sender& own = *m_sender;
    RdmaNic* nic = m_qp->m_nic;
    const uint64_t rateBefore = own.ratePaced;
    own.ratePaced = own.cc.rateBps;
    const double before = own.psPerByte;
    own.psPerByte = GetPace(*nic, own.cc);
    int64_t next = own.nextSend;
    switch (own.cc.repace)
    {
    case RdmaCongestionState::Repace::SHORTEN:
        // Not lengthened by a cut: the packet before went at the rate that held then.
        if (own.nextSend > now && own.psPerByte < before)
        {
            next = now + static_cast<int64_t>(static_cast<double>(own.nextSend - now) *
                                              (own.psPerByte / before));
        }
        break;
    case RdmaCongestionState::Repace::KEEP:
        break;
    case RdmaCongestionState::Repace::SHIFT:
        if (own.lastWire)
        {
            next += GetGap(own.lastWire, own.ratePaced) - GetGap(own.lastWire, rateBefore);
        }
        break;
    }
    const bool sooner = next < own.nextSend;
    own.nextSend = next;
    if (nic->m_scan && own.cc.repace == RdmaCongestionState::Repace::SHIFT)
    {
        nic->m_scan->OnShift(next, now);
    }
    else if (sooner && m_schedule == Schedule::THROTTLED)
    {
        nic->Rethrottle(m_qp, now);
    }
    if (nic->m_variableWindow && nic->m_windowBytes)
    {
        own.cc.windowBytes = nic->GetWindowAt(own.cc.rateBps);
    }
    nic->TellRate(m_qp, own.cc.rateBps, now);
}

void
RdmaRequester::SelectPath(RdmaFrame& frame, int64_t now)
{
    RdmaNic* nic = m_qp->m_nic;
    if (!m_selector)
    {
        m_selector = nic->m_pathSelector->Fork();
        m_lastKey = m_qp->m_route.GetKey();
        m_selector->Begin(rdma::Mix64(nic->m_chance ^ m_qp->m_route.GetKey()));
    }
    const bool idle = m_sender->nextPsn == m_sender->ackedPsn;
    const RdmaRoute route =
        m_qp->m_route.WithEntropy(m_selector->Choose(idle, rdma::TimePoint(now)));
    nic->m_counters.pathChanges += route.GetKey() != m_lastKey;
    m_lastKey = route.GetKey();
    frame.route = route;
}

void
RdmaRequester::TellPathSelector(const RdmaFrame& answer, uint64_t expected, int64_t now)
{
    if (m_selector && (answer.dmaLength & RdmaFrame::ECHOES_ENTROPY))
    {
        const uint32_t came = answer.dmaLength >> RdmaFrame::ENTROPY_SHIFT;
        const auto entropy =
            static_cast<uint16_t>((came ^ m_qp->m_route.GetKey()) & RdmaRoute::ENTROPY_MASK);
        m_selector->OnAck({entropy,
                           (answer.flags & RdmaFrame::ECN_ECHO) != 0 ||
                               answer.opcode == RdmaOpcode::NDP_NACK, // it has been trimmed
                           std::max(expected, m_sender->ackedPsn),
                           m_sender->highestPsn},
                          rdma::TimePoint(now));
    }
}

void
RdmaRequester::TellWindow(int64_t now)
{
    m_sender->windowTold = m_sender->cc.windowBytes;
    m_qp->m_nic->m_windowTrace(m_qp, m_sender->windowTold, now);
}

void
RdmaRequester::TellCongestionOfNak(rdma::TimePoint now)
{
    OwnCongestionOps();
    m_ops->OnNack(m_sender->cc, now);
}

void
RdmaRequester::OnCnp(int64_t now)
{
    ++m_qp->m_nic->m_counters.cnpsReceived;
    Send();
    m_qp->m_nic->m_cnpTrace(m_qp, m_sender->nextPsn, now);
    if (!m_qp->CanReceive())
    {
        return;
    }
    OwnCongestionOps();
    m_ops->OnCnp(m_sender->cc, rdma::TimePoint(now));
    UpdateRate(now);
}

} // namespace ns3
