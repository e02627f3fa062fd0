/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "eqds-transport.h"

#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-transport-schemes.h"

namespace ns3
{

namespace
{

const RdmaTransportSchemes::Registered g_eqds{
    {"eqds",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaEqdsTransport>(setting);
     },
     RdmaEqdsTransport::ROUND_TRIPS,
     true,
     true,
     true,
     0,
     nullptr,
     [](const Object*) { return "waiting for the receiver's credits"; }}};

} // namespace

RdmaEqdsTransport::RdmaEqdsTransport(const RdmaTransportScheme::Setting& setting)
    : RdmaTrimmingTransport(setting),
      m_credits(FirstWindow(setting), RoundTrip(setting), 1, true)
{
}

std::string
RdmaEqdsTransport::GetName() const
{
    return "eqds";
}

// Requester --------------------------------------------------------------------------------------

bool
RdmaEqdsTransport::MaySend(const RdmaRequester&) const
{
    return m_credits.HasCredit();
}

void
RdmaEqdsTransport::ChooseNext(RdmaRequester& requester)
{
    RdmaTrimmingTransport::ChooseNext(requester);
    // Packets that could tell are no more: what they said last has been given.
    if (m_credits.IsStuck() && GetBacklog(requester) > 0)
    {
        m_credits.Ask(requester, GetBacklog(requester), m_again.Count());
    }
}

void
RdmaEqdsTransport::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, rdma::TimePoint)
{
    NoteSent(requester, psn, frame);
    m_credits.OnSent(psn, frame, GetBacklog(requester));
    ChooseNext(requester);
}

void
RdmaEqdsTransport::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now)
{
    m_credits.OnAnswer(frame);
    NoteAnswer(requester, frame, now);
}

void
RdmaEqdsTransport::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    NoteAcknowledged(requester, now);
    m_credits.OnAcknowledged(requester);
    RdmaTrimmingTransport::ChooseNext(requester); // whoever has called asks, if that is to be
}

void
RdmaEqdsTransport::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    if (LoseUnheard(requester))
    {
        requester.RepeatFrom(m_again.FirstSet(), now);
    }
    RdmaTrimmingTransport::ChooseNext(requester);
    if (!m_credits.HasCredit())
    {
        m_credits.Ask(requester, GetBacklog(requester), m_again.Count());
    }
    requester.ArmTimer(now);
}

void
RdmaEqdsTransport::OnRefused(RdmaRequester& requester,
                             uint64_t psn,
                             rdma::TimePoint until,
                             rdma::TimePoint now)
{
    m_credits.Begin();
    RdmaTrimmingTransport::OnRefused(requester, psn, until, now);
}

rdma::Duration
RdmaEqdsTransport::GetTimeout(const RdmaRequester& requester) const
{
    return GetUnheard(requester)
               ? m_patience
               : GetQuiet(requester) + RdmaCreditExchange::GetTimeout(requester, m_patience);
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaEqdsTransport::OnArrival(RdmaResponder& responder,
                             uint64_t psn,
                             RdmaFrame& frame,
                             rdma::TimePoint now)
{
    m_credits.OnArrival(frame);
    return RdmaTrimmingTransport::OnArrival(responder, psn, frame, now);
}

void
RdmaEqdsTransport::OnRequestToSend(RdmaResponder& responder,
                                   const RdmaFrame& frame,
                                   rdma::TimePoint now)
{
    m_credits.OnRequestToSend(responder, frame, now);
}

void
RdmaEqdsTransport::AnswerArrival(RdmaResponder& responder,
                                 bool whole,
                                 uint32_t psn,
                                 RdmaFrame* data,
                                 rdma::TimePoint now)
{
    m_credits.Answer(responder, whole, IsAllHere(responder), psn, data, now);
}

RdmaPullTransport::Pull
RdmaEqdsTransport::GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now)
{
    return m_credits.GivePull(responder, urgent, now);
}

} // namespace ns3
