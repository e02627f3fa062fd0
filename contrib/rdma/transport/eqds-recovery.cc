/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "eqds-recovery.h"

#include "ns3/rdma-frame.h"
#include "ns3/rdma-recovery-schemes.h"
#include "ns3/rdma-requester.h"

#include <algorithm>

namespace ns3
{

namespace
{

const RdmaRecoverySchemes::Registered g_eqds{
    {"eqds",
     [](const RdmaRecoveryScheme::Setting& setting) -> Ptr<RdmaLossRecovery> {
         return Create<EqdsRecovery>(setting);
     },
     EqdsRecovery::ROUND_TRIPS,
     true,
     true,
     true,
     0,
     nullptr,
     [](const Object*) { return "waiting for the receiver's credits"; }}};

/// Where a packet says its sender's target: in what its kind has no other use for. (Immediate data
/// stands in `aux`, the RETH's length, which nobody looks at here, in `dmaLength`.)
uint32_t&
TargetOf(RdmaFrame& frame)
{
    return HasImmediate(frame.opcode) ? frame.dmaLength : frame.aux;
}

} // namespace

EqdsRecovery::EqdsRecovery(const RdmaRecoveryScheme::Setting& setting)
    : EqdsRecovery(setting, 1, true)
{
}

EqdsRecovery::EqdsRecovery(const RdmaRecoveryScheme::Setting& setting,
                           uint32_t perPull,
                           bool inAnswers)
    : TrimmingRecovery(setting),
      m_perPull(perPull),
      m_inAnswers(inAnswers),
      m_asker(static_cast<uint32_t>(FirstWindow(setting)),
              static_cast<uint32_t>((setting.sendCap + ROUND_TRIPS - 1) / ROUND_TRIPS))
{
}

std::string
EqdsRecovery::GetName() const
{
    return "eqds";
}

// Requester --------------------------------------------------------------------------------------

bool
EqdsRecovery::MaySend(const RdmaRequester&) const
{
    return m_asker.Credits() > 0;
}

uint64_t
EqdsRecovery::GetDemand(const RdmaRequester& requester) const
{
    return GetBacklog(requester);
}

void
EqdsRecovery::Ask(RdmaRequester& requester)
{
    const uint32_t target = m_asker.Target(GetDemand(requester));
    requester.RequestToSend(target, static_cast<uint32_t>(m_again.Count()));
}

void
EqdsRecovery::ChooseNext(RdmaRequester& requester)
{
    TrimmingRecovery::ChooseNext(requester);
    // Packets that could tell are no more: what they said last has been given.
    if (m_asker.Credits() == 0 && !m_asker.Expects() && GetBacklog(requester) > 0)
    {
        Ask(requester);
    }
}

void
EqdsRecovery::OnPosted(RdmaRequester& requester, int64_t)
{
    ChooseNext(requester);
}

void
EqdsRecovery::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, int64_t)
{
    NoteSent(requester, psn, frame);
    if (frame.flags & RdmaFrame::NOTHING_BEHIND)
    {
        m_saidAll = psn + 1;
    }
    m_asker.Spend();
    TargetOf(frame) = m_asker.Target(GetDemand(requester));
    ChooseNext(requester);
}

void
EqdsRecovery::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, int64_t now)
{
    if (m_inAnswers || frame.opcode == RdmaOpcode::NDP_PULL)
    {
        m_asker.Hear(frame.dmaLength);
    }
    m_asker.StopUnsolicited();
    NoteAnswer(requester, frame, now);
}

void
EqdsRecovery::OnAcknowledged(RdmaRequester& requester, int64_t now)
{
    NoteAcknowledged(requester, now);
    if (requester.GetAckedPsn() == requester.GetEndPsn())
    {
        m_asker.Begin();
    }
    else if (requester.GetAckedPsn() >= m_saidAll)
    {
        m_asker.Forget();
        m_saidAll = UINT64_MAX;
    }
    TrimmingRecovery::ChooseNext(requester); // whoever has called asks, if that is to be
}

void
EqdsRecovery::OnTimeout(RdmaRequester& requester, int64_t now)
{
    if (LoseUnheard(requester))
    {
        requester.RepeatFrom(m_again.FirstSet(), now);
    }
    TrimmingRecovery::ChooseNext(requester);
    if (m_asker.Credits() == 0)
    {
        Ask(requester);
    }
    requester.ArmTimer(now);
}

void
EqdsRecovery::OnRefused(RdmaRequester& requester, uint64_t psn, int64_t until, int64_t now)
{
    LoseFrom(requester, psn, until);
    m_asker.Begin();
    requester.RepeatFrom(psn, now);
    ChooseNext(requester);
}

int64_t
EqdsRecovery::GetTimeout(const RdmaRequester& requester) const
{
    if (GetUnheard(requester))
    {
        return m_patience;
    }
    // While each packet has been heard of, the turn may take its time: it asks ever more seldom.
    const int64_t quiet = std::max<int64_t>(0, m_heard - requester.GetTimerStart());
    return quiet + (m_patience << std::min(requester.GetTimeoutsInRow(), 3U));
}

// Responder --------------------------------------------------------------------------------------

bool
EqdsRecovery::OnArrival(RdmaResponder& responder, uint64_t psn, RdmaFrame& frame, int64_t now)
{
    m_giver.Hear(TargetOf(frame));
    TargetOf(frame) = 0;
    return TrimmingRecovery::OnArrival(responder, psn, frame, now);
}

void
EqdsRecovery::OnRequestToSend(RdmaResponder& responder, const RdmaFrame& frame, int64_t now)
{
    m_giver.Hear(frame.aux);
    m_giver.UrgeAsked(frame.dmaLength);
    responder.SendAnswer(RdmaOpcode::NDP_PULL, 0, m_giver.Given(), nullptr, now);
    Queue(responder, now);
}

void
EqdsRecovery::AnswerArrival(RdmaResponder& responder,
                            bool whole,
                            uint32_t psn,
                            RdmaFrame* data,
                            int64_t now)
{
    if (!whole)
    {
        m_giver.Urge(1);
    }
    else if (IsAllHere(responder))
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
EqdsRecovery::Queue(RdmaResponder& responder, int64_t now)
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

RdmaLossRecovery::Pull
EqdsRecovery::GivePull(RdmaResponder& responder, bool urgent, int64_t now)
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
