/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "expresspass-transport.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-sizes.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("ExpressPassTransport");

NS_OBJECT_ENSURE_REGISTERED(RdmaExpressPassHost);

namespace
{

const RdmaTransportSchemes::Registered g_expressPass{
    {"expresspass",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaExpressPassTransport>(setting);
     },
     RdmaExpressPassTransport::ROUND_TRIPS,
     false,
     true,
     false,
     0,
     []() -> Ptr<Object> { return CreateObject<RdmaExpressPassHost>(); },
     [](const Object*) { return "waiting for the receiver's credits"; },
     [](const Object* of) { return static_cast<const RdmaExpressPassHost*>(of)->Check(); }}};

/// Credits that a sender keeps while it must not send (an RNR NAK): the burst behind is no longer
/// than a queue of credits (assumed).
constexpr uint32_t MOST_KEPT = 8;

} // namespace

TypeId
RdmaExpressPassHost::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::ExpressPassParameters")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaExpressPassHost>()
            .AddAttribute(
                "TargetLoss",
                "Part of a flow's credits that may be lost before it slows down, times what its "
                "rate lacks to the line's (ns2-xpass)",
                DoubleValue(0.125),
                MakeDoubleAccessor(&RdmaExpressPassHost::m_targetLoss),
                MakeDoubleChecker<double>(0, 0.9))
            .AddAttribute("LeastWeight",
                          "Least weight of the line's rate in a flow's next one (ns2-xpass)",
                          DoubleValue(0.01),
                          MakeDoubleAccessor(&RdmaExpressPassHost::m_leastWeight),
                          MakeDoubleChecker<double>(0.0001, 1))
            .AddAttribute("MostWeight",
                          "Most (ns2-xpass)",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaExpressPassHost::m_mostWeight),
                          MakeDoubleChecker<double>(0.0001, 1))
            .AddAttribute("FirstWeight",
                          "When a flow begins (ns2-xpass: 1/2, or 1/16 for many short flows)",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaExpressPassHost::m_firstWeight),
                          MakeDoubleChecker<double>(0.0001, 1))
            .AddAttribute("FirstRate",
                          "Part of the line's rate of credits with which a flow begins (ns2-xpass: "
                          "1/2, or 1/16 for many short flows)",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaExpressPassHost::m_firstRate),
                          MakeDoubleChecker<double>(0.0001, 1))
            .AddAttribute("Jitter",
                          "Part by which the time between a flow's credits varies, either way "
                          "(ns2-xpass)",
                          DoubleValue(0.1),
                          MakeDoubleAccessor(&RdmaExpressPassHost::m_jitter),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("QueueCredits",
                          "Most credits that wait in a NIC's port (ns2-xpass)",
                          UintegerValue(8),
                          MakeUintegerAccessor(&RdmaExpressPassHost::m_queueCredits),
                          MakeUintegerChecker<uint32_t>(1, 100000));
    return tid;
}

std::string
RdmaExpressPassHost::Check() const
{
    if (m_leastWeight > m_mostWeight)
    {
        return "ns3::ExpressPassParameters::LeastWeight: " + std::to_string(m_leastWeight) +
               "; allowed: at most MostWeight, " + std::to_string(m_mostWeight);
    }
    return {};
}

RdmaExpressPassTransport::RdmaExpressPassTransport(const RdmaTransportScheme::Setting& setting)
    : RdmaGrantedTransport(setting),
      m_nic(setting.nic),
      m_host(static_cast<const RdmaExpressPassHost*>(setting.parameters)),
      m_creditBytes(m_nic->GetFrameSizes().ackWire + rdma::kNdpAnswerBytes - rdma::kAethBytes),
      m_dataBytes(m_nic->GetFrameSizes().FullWire(m_nic->GetMtu())),
      m_feedback(m_host->GetFeedback()),
      m_end(setting.firstExpected),
      m_highest(setting.firstExpected),
      m_turn(this)
{
}

std::string
RdmaExpressPassTransport::GetName() const
{
    return "expresspass";
}

// Requester --------------------------------------------------------------------------------------

bool
RdmaExpressPassTransport::MaySend(const RdmaRequester&) const
{
    return m_credits > 0;
}

void
RdmaExpressPassTransport::Ask(RdmaRequester& requester, uint64_t sent, rdma::TimePoint now)
{
    m_asks = true;
    requester.RequestToSend(static_cast<uint32_t>(requester.GetEndPsn()),
                            static_cast<uint32_t>(sent));
    requester.ArmTimer(now);
}

void
RdmaExpressPassTransport::OnPosted(RdmaRequester& requester, rdma::TimePoint now)
{
    if (!m_asks)
    {
        m_heard = now;
        Ask(requester, requester.GetAckedPsn(), now);
    }
    ChooseNext(requester);
}

void
RdmaExpressPassTransport::OnSent(RdmaRequester& requester,
                                 uint64_t psn,
                                 RdmaFrame& frame,
                                 rdma::TimePoint)
{
    NoteSent(requester, psn, frame);
    frame.flags &= static_cast<uint8_t>(~RdmaFrame::TRIMMABLE);
    m_credits -= m_credits > 0;
    SpareOf(frame) = m_echo.Pack();
    m_asks = m_asks && !(frame.flags & RdmaFrame::NOTHING_BEHIND);
    ChooseNext(requester);
}

void
RdmaExpressPassTransport::OnAnswer(RdmaRequester& requester,
                                   const RdmaFrame& frame,
                                   rdma::TimePoint now)
{
    NoteAnswer(requester, frame, now);
    requester.ShareRoute(frame);
    if (frame.opcode == RdmaOpcode::NDP_PULL)
    {
        m_echo.number = frame.dmaLength;
        ++m_echo.heard;
        m_credits += m_credits < std::min<uint64_t>(GetBacklog(requester), MOST_KEPT);
    }
}

void
RdmaExpressPassTransport::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    NoteAcknowledged(requester, now);
    m_credits = static_cast<uint32_t>(std::min<uint64_t>(m_credits, GetBacklog(requester)));
    ChooseNext(requester);
}

void
RdmaExpressPassTransport::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    Ask(requester, TakeSentFirst(requester), now);
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaExpressPassTransport::HasAll(const RdmaResponder& responder) const
{
    return responder.GetExpectedPsn() >= m_end;
}

int64_t
RdmaExpressPassTransport::GetLeastGap() const
{
    return m_nic->GetPort()->GetSerialization(m_creditBytes + m_dataBytes);
}

void
RdmaExpressPassTransport::OnRequestToSend(RdmaResponder& responder,
                                          const RdmaFrame& frame,
                                          rdma::TimePoint now)
{
    const uint64_t expected = responder.GetExpectedPsn();
    m_end = std::max(m_end, ExtendCount(frame.aux, expected));
    m_heardData = now;
    NackMissing(responder, ExtendCount(frame.dmaLength, expected), now);
    if (HasAll(responder))
    {
        AnswerArrival(responder, true, rdma::WirePsn(expected - 1), nullptr, now);
    }
    Start(responder, frame, now);
}

void
RdmaExpressPassTransport::Start(RdmaResponder& responder,
                                const RdmaFrame& frame,
                                rdma::TimePoint now)
{
    responder.ShareRoute(frame);
    if (m_sending || HasAll(responder))
    {
        return;
    }
    if (!m_drawn)
    {
        const uint64_t run = uint64_t{RngSeedManager::GetSeed()} << 32 ^ RngSeedManager::GetRun();
        m_draws = rdma::MarkerDraws(rdma::Mix64(run + m_nic->GetEndpoint()) ^
                                    rdma::Mix64(frame.route.GetKey()));
        m_drawn = true;
    }
    m_responder = &responder;
    m_sending = true;
    m_feedback.Begin();
    m_rounds.Begin();
    if (!m_turnPending)
    {
        m_next = now.ps;
        OnTurn();
    }
}

void
RdmaExpressPassTransport::OnTurn()
{
    m_turnPending = false;
    const int64_t now = std::max(m_next, RdmaClock::Now());
    // A sender that is silent asks again by its time-out.
    if (!m_sending || HasAll(*m_responder) || now - m_heardData.ps > m_patience.ps)
    {
        m_sending = false;
        return;
    }
    SendCredit(now);
    const double drawn = 1 + m_host->GetJitter() * (2 * m_draws.Next() - 1);
    const double gap = static_cast<double>(GetLeastGap()) / m_feedback.Rate() * drawn;
    m_next += std::max<int64_t>(1, std::llround(gap));
    m_turnPending = true;
    m_turn.ScheduleAt(m_next, m_nic->GetPort()->GetContext());
}

void
RdmaExpressPassTransport::SendCredit(int64_t now)
{
    const uint32_t number = m_rounds.Send(now);
    const uint8_t priority = m_nic->GetPullPriority();
    const uint64_t bytes = m_creditBytes - m_nic->GetFrameSizes().lineOverhead;
    if (priority < RdmaPort::PRIORITIES &&
        m_nic->GetPort()->GetQueueBytes(priority) + bytes > m_host->GetQueueCredits() * bytes)
    {
        NS_LOG_LOGIC("credit " << number << " is lost in its own port, " << now << " ps");
        return;
    }
    m_responder->SendAnswer(RdmaOpcode::NDP_PULL, 0, number, nullptr, rdma::TimePoint(now));
}

bool
RdmaExpressPassTransport::OnArrival(RdmaResponder& responder,
                                    uint64_t psn,
                                    RdmaFrame& frame,
                                    rdma::TimePoint now)
{
    const uint32_t echo = SpareOf(frame);
    SpareOf(frame) = 0;
    NoteFresh(responder, psn);
    m_heardData = now;
    if (responder.HasRefused())
    {
        return false;
    }
    rdma::CreditRounds::Round round;
    if (m_rounds.Hear(echo, now.ps, &round))
    {
        const auto gap = static_cast<double>(GetLeastGap());
        const auto length = static_cast<double>(std::max<int64_t>(1, round.length));
        const auto roundTrip = static_cast<double>(std::max<int64_t>(1, round.roundTrip));
        m_feedback.OnRound(round.loss, round.heard * gap / length, gap / roundTrip);
        NS_LOG_LOGIC("loss " << round.loss << " in " << round.length << " ps: rate "
                             << m_feedback.Rate() << ", weight " << m_feedback.Weight() << ", "
                             << now.ps << " ps");
    }
    if (psn < responder.GetExpectedPsn() + m_cap) // else of another connection
    {
        const bool last = frame.flags & RdmaFrame::NOTHING_BEHIND;
        m_end = std::max(m_end, psn + (last ? 1 : 2));
        // Packets keep their order, so those between are lost.
        for (; m_highest < psn; ++m_highest)
        {
            AnswerArrival(responder, false, rdma::WirePsn(m_highest), nullptr, now);
        }
        m_highest = std::max(m_highest, psn + 1);
    }
    if (!(frame.flags & RdmaFrame::NOTHING_BEHIND))
    {
        Start(responder, frame, now); // it had stopped, as nothing came for long
    }
    return RdmaGrantedTransport::OnArrival(responder, psn, frame, now);
}

} // namespace ns3
