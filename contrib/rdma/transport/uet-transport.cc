/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uet-transport.h"

#include "contrib/rdma/core/psn.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaUetParameters);

namespace
{

const RdmaTransportSchemes::Registered g_uet{
    {"uet",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaUetTransport>(setting);
     },
     RdmaUetTransport::ROUND_TRIPS,
     true,
     false,
     true,
     RdmaCongestionOps::ECN_ECHO | RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::BASE_RTT,
     []() -> Ptr<Object> { return CreateObject<RdmaUetParameters>(); },
     [](const Object* of) -> const char* {
         const auto* parameters = static_cast<const RdmaUetParameters*>(of);
         return !parameters->HasReceiverCredits() ? nullptr
                : parameters->HasSenderWindow()
                    ? "waiting for the receiver's credits, or for acknowledgements"
                    : "waiting for the receiver's credits";
     },
     [](const Object* of) -> std::string {
         const auto* parameters = static_cast<const RdmaUetParameters*>(of);
         return parameters->HasSenderWindow() || parameters->HasReceiverCredits()
                    ? ""
                    : "ns3::UetParameters::SenderWindow: 0 without ReceiverCredits leaves nothing "
                      "that slows a sender down; allowed: 1, or "
                      "ns3::UetParameters::ReceiverCredits=1";
     }}};

} // namespace

TypeId
RdmaUetParameters::GetTypeId()
{
    // Numbers without another source are those of initNsccParams in uec.cpp.
    static TypeId tid =
        TypeId("ns3::UetParameters")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaUetParameters>()
            .AddAttribute("SenderWindow",
                          "The sender has a window (NSCC)",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaUetParameters::m_senderWindow),
                          MakeBooleanChecker())
            .AddAttribute("ReceiverCredits",
                          "The receiver gives credits (RCCC)",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaUetParameters::m_receiverCredits),
                          MakeBooleanChecker())
            .AddAttribute("CreditsPerPull",
                          "RCCC: packets of a pull (uec.cpp: 4, as the specification's default)",
                          UintegerValue(4),
                          MakeUintegerAccessor(&RdmaUetParameters::m_creditsPerPull),
                          MakeUintegerChecker<uint32_t>(1, 1000000))
            .AddAttribute("TargetDelay",
                          "NSCC: time in queues that it aims at (uec.cpp: with trimming 0.75 of "
                          "the network's round trip, of 12 us in its README)",
                          TimeValue(MicroSeconds(9)),
                          MakeTimeAccessor(&RdmaUetParameters::m_targetDelay),
                          MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute("QuickAdaptGate",
                          "NSCC: quick adapt if less than the largest window / 2^gate has arrived",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaUetParameters::m_gate),
                          MakeUintegerChecker<uint32_t>(0, 62))
            .AddAttribute("Gamma",
                          "NSCC: of the multiplicative decrease",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&RdmaUetParameters::m_gamma),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("Alpha",
                          "NSCC: proportional increase (packets in the reference network, 100 Gb/s "
                          "and 12 us)",
                          DoubleValue(4),
                          MakeDoubleAccessor(&RdmaUetParameters::m_alpha),
                          MakeDoubleChecker<double>(0, RdmaCongestionOps::MAX_PACKETS))
            .AddAttribute("FairIncrease",
                          "NSCC: fair increase (packets, the same)",
                          DoubleValue(5),
                          MakeDoubleAccessor(&RdmaUetParameters::m_fairIncrease),
                          MakeDoubleChecker<double>(0, RdmaCongestionOps::MAX_PACKETS))
            .AddAttribute("Eta",
                          "NSCC: increase of each round trip (packets, the same)",
                          DoubleValue(0.15),
                          MakeDoubleAccessor(&RdmaUetParameters::m_eta),
                          MakeDoubleChecker<double>(0, RdmaCongestionOps::MAX_PACKETS))
            .AddAttribute("FastIncrease",
                          "NSCC: part of what is acknowledged that the window grows by while "
                          "nothing waits in queues (the same)",
                          DoubleValue(0.25),
                          MakeDoubleAccessor(&RdmaUetParameters::m_fastIncrease),
                          MakeDoubleChecker<double>(0, 1000))
            .AddAttribute("DelayWeight",
                          "NSCC: weight of a packet in the mean of delays (0 to 1)",
                          DoubleValue(0.0125),
                          MakeDoubleAccessor(&RdmaUetParameters::m_delayWeight),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("InitialWindow",
                          "NSCC: window of a new connection (bytes); 0: the largest",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaUetParameters::m_initialWindow),
                          MakeUintegerChecker<uint64_t>(0, RdmaCongestionOps::MAX_BYTES))
            .AddAttribute("LargestWindow",
                          "NSCC: largest window (bandwidth-delay products)",
                          DoubleValue(1.5),
                          MakeDoubleAccessor(&RdmaUetParameters::m_largestWindow),
                          MakeDoubleChecker<double>(0.01, 16));
    return tid;
}

rdma::NsccParameters
RdmaUetParameters::GetNscc(const RdmaTransportScheme::Setting& setting) const
{
    rdma::NsccParameters p;
    p.packet = setting.packetBytes;
    p.networkRtt = setting.baseRtt.ps;
    p.lineBps = setting.lineBps;
    p.targetDelay = m_targetDelay.GetPicoSeconds();
    p.gate = m_gate;
    p.gamma = m_gamma;
    p.alpha = m_alpha;
    p.fairIncrease = m_fairIncrease;
    p.eta = m_eta;
    p.fastIncrease = m_fastIncrease;
    p.delayWeight = m_delayWeight;
    p.initialWindow = static_cast<double>(m_initialWindow);
    p.windowOfProducts = m_largestWindow;
    return p;
}

RdmaUetTransport::RdmaUetTransport(const RdmaTransportScheme::Setting& setting)
    : RdmaTrimmingTransport(setting),
      m_packet(setting.packetBytes)
{
    const auto* parameters = static_cast<const RdmaUetParameters*>(setting.parameters);
    if (parameters->HasReceiverCredits())
    {
        m_credits.emplace(FirstWindow(setting),
                          RoundTrip(setting),
                          parameters->GetCreditsPerPull(),
                          false);
    }
    if (parameters->HasSenderWindow())
    {
        m_window.emplace(parameters->GetNscc(setting));
    }
}

std::string
RdmaUetTransport::GetName() const
{
    return "uet";
}

// Requester --------------------------------------------------------------------------------------

double
RdmaUetTransport::GetInFlight(const RdmaRequester& requester) const
{
    return m_packet * static_cast<double>(GetUnheard(requester));
}

bool
RdmaUetTransport::MaySend(const RdmaRequester& requester) const
{
    return (!m_window || GetInFlight(requester) + m_packet <= m_window->Window()) &&
           (!m_credits || m_credits->HasCredit());
}

uint64_t
RdmaUetTransport::GetDemand(const RdmaRequester& requester) const
{
    const uint64_t backlog = GetBacklog(requester);
    return m_window ? std::min(backlog, static_cast<uint64_t>(m_window->Window() / m_packet) + 1)
                    : backlog;
}

void
RdmaUetTransport::ChooseNext(RdmaRequester& requester)
{
    RdmaTrimmingTransport::ChooseNext(requester);
    // Packets that could tell are no more: what they said last has been given.
    if (m_credits && m_credits->IsStuck() && GetBacklog(requester) > 0)
    {
        m_credits->Ask(requester, GetDemand(requester), m_again.Count());
    }
}

void
RdmaUetTransport::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, rdma::TimePoint)
{
    NoteSent(requester, psn, frame);
    if (m_credits)
    {
        m_credits->OnSent(psn, frame, GetDemand(requester));
    }
    ChooseNext(requester);
}

void
RdmaUetTransport::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now)
{
    const uint64_t again = m_again.Count();
    const uint64_t arrived = m_acked.Count();
    if (m_credits)
    {
        m_credits->OnAnswer(frame);
    }
    NoteAnswer(requester, frame, now);
    const uint64_t expected =
        std::max(requester.GetAckedPsn(), rdma::ExtendPsn(frame.psn, requester.GetAckedPsn()));
    NoteArrivedBefore(requester, expected);
    if (!m_window || frame.opcode == RdmaOpcode::NDP_PULL)
    {
        return;
    }
    const double inFlight = GetInFlight(requester);
    if (frame.opcode == RdmaOpcode::NDP_ACK)
    {
        const RdmaFrameExtra* extra = frame.extra;
        m_window->OnAck(m_packet * static_cast<double>(m_acked.Count() - arrived),
                        frame.flags & RdmaFrame::ECN_ECHO,
                        extra && extra->hasTelemetry ? now.ps - extra->telemetry.sent : -1,
                        inFlight,
                        now.ps);
    }
    else if (m_again.Count() > again)
    {
        m_window->OnTrimmed(m_packet, inFlight + m_packet, now.ps);
    }
}

void
RdmaUetTransport::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    NoteAcknowledged(requester, now);
    if (m_credits)
    {
        m_credits->OnAcknowledged(requester);
    }
    RdmaTrimmingTransport::ChooseNext(requester); // whoever has called asks, if that is to be
}

void
RdmaUetTransport::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    const uint64_t lost = LoseUnheard(requester);
    if (lost)
    {
        requester.RepeatFrom(m_again.FirstSet(), now);
        if (m_window)
        {
            m_window->OnLost(m_packet * static_cast<double>(lost));
        }
    }
    // With credits, what has been sent since the time-out began counts as lost, too.
    if (m_credits && LoseUnheard(requester))
    {
        requester.RepeatFrom(m_again.FirstSet(), now);
    }
    RdmaTrimmingTransport::ChooseNext(requester);
    if (m_credits && !m_credits->HasCredit())
    {
        m_credits->Ask(requester, GetDemand(requester), m_again.Count());
    }
    requester.ArmTimer(now);
}

void
RdmaUetTransport::OnRefused(RdmaRequester& requester,
                            uint64_t psn,
                            rdma::TimePoint until,
                            rdma::TimePoint now)
{
    if (m_credits)
    {
        m_credits->Begin();
    }
    RdmaTrimmingTransport::OnRefused(requester, psn, until, now);
}

rdma::Duration
RdmaUetTransport::GetTimeout(const RdmaRequester& requester) const
{
    return !m_credits || GetUnheard(requester)
               ? m_patience
               : GetQuiet(requester) + RdmaCreditExchange::GetTimeout(requester, m_patience);
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaUetTransport::OnArrival(RdmaResponder& responder,
                            uint64_t psn,
                            RdmaFrame& frame,
                            rdma::TimePoint now)
{
    if (m_credits)
    {
        m_credits->OnArrival(frame);
    }
    return RdmaTrimmingTransport::OnArrival(responder, psn, frame, now);
}

void
RdmaUetTransport::OnRequestToSend(RdmaResponder& responder,
                                  const RdmaFrame& frame,
                                  rdma::TimePoint now)
{
    if (m_credits)
    {
        m_credits->OnRequestToSend(responder, frame, now);
    }
}

void
RdmaUetTransport::AnswerArrival(RdmaResponder& responder,
                                bool whole,
                                uint32_t psn,
                                RdmaFrame* data,
                                rdma::TimePoint now)
{
    if (m_credits)
    {
        m_credits->Answer(responder, whole, IsAllHere(responder), psn, data, now);
        return;
    }
    responder.SendAnswer(whole ? RdmaOpcode::NDP_ACK : RdmaOpcode::NDP_NACK, psn, 0, data, now);
}

RdmaPullTransport::Pull
RdmaUetTransport::GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now)
{
    return m_credits ? m_credits->GivePull(responder, urgent, now) : Pull{0, false};
}

} // namespace ns3
