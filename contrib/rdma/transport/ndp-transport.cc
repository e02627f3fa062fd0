/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ndp-transport.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("NdpTransport");

namespace
{

const RdmaTransportSchemes::Registered g_ndp{
    {"ndp",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaNdpTransport>(setting);
     },
     RdmaNdpTransport::ROUND_TRIPS,
     true,
     true,
     true,
     0,
     nullptr,
     [](const Object*) { return "waiting for the receiver's pulls"; }}};

} // namespace

RdmaNdpTransport::RdmaNdpTransport(const RdmaTransportScheme::Setting& setting)
    : RdmaTrimmingTransport(setting),
      m_window(FirstWindow(setting)),
      m_pullPatience(setting.pullTimeout),
      m_credit(m_window)
{
}

std::string
RdmaNdpTransport::GetName() const
{
    return "ndp";
}

// Requester --------------------------------------------------------------------------------------

bool
RdmaNdpTransport::MaySend(const RdmaRequester&) const
{
    return m_credit > 0;
}

void
RdmaNdpTransport::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, rdma::TimePoint)
{
    NoteSent(requester, psn, frame);
    m_credit -= m_credit > 0;
    ++m_expected;
    ChooseNext(requester);
}

void
RdmaNdpTransport::ExpectLess(uint64_t pulls)
{
    m_expected -= std::min(m_expected, pulls);
}

void
RdmaNdpTransport::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now)
{
    const auto fresh = static_cast<int32_t>(frame.dmaLength - m_pullsHeard);
    if (fresh > 0)
    {
        m_pullsHeard = frame.dmaLength;
        ExpectLess(static_cast<uint32_t>(fresh));
        m_credit = std::min(m_window, m_credit + static_cast<uint32_t>(fresh));
    }
    NoteAnswer(requester, frame, now);
}

void
RdmaNdpTransport::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    NoteAcknowledged(requester, now);
    if (requester.GetAckedPsn() == requester.GetEndPsn())
    {
        m_credit = m_window;
        m_expected = 0;
    }
    ChooseNext(requester);
}

void
RdmaNdpTransport::OnReturned(RdmaRequester& requester, uint64_t psn, rdma::TimePoint now)
{
    NS_LOG_LOGIC("PSN " << psn << " was returned at " << now.ps << " ps and goes again");
    m_heard = now;
    if (m_acked.Covers(psn) && psn < requester.GetHighestPsn() && !m_acked.Test(psn))
    {
        m_again.Set(psn);
    }
    ExpectLess(1);
    if (m_expected == 0)
    {
        m_credit = std::max<uint64_t>(m_credit, 1);
    }
    ChooseNext(requester);
}

void
RdmaNdpTransport::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    const uint64_t lost = LoseUnheard(requester);
    ExpectLess(lost);
    m_credit = std::min(m_window, m_credit + lost);
    if (m_credit == 0) // pulls have been lost
    {
        m_credit = 1;
        ExpectLess(1);
    }
    if (lost)
    {
        requester.RepeatFrom(m_again.FirstSet(), now);
    }
    ChooseNext(requester);
    requester.ArmTimer(now);
}

void
RdmaNdpTransport::OnRefused(RdmaRequester& requester,
                            uint64_t psn,
                            rdma::TimePoint until,
                            rdma::TimePoint now)
{
    m_expected = 0; // the receiver owes nothing for what it has thrown away
    m_credit = m_window;
    RdmaTrimmingTransport::OnRefused(requester, psn, until, now);
}

rdma::Duration
RdmaNdpTransport::GetTimeout(const RdmaRequester& requester) const
{
    if (GetUnheard(requester))
    {
        return m_patience;
    }
    // While each packet has been heard of, pulls may take their time.
    return std::max(m_patience, m_pullPatience) + GetQuiet(requester);
}

// Responder --------------------------------------------------------------------------------------

void
RdmaNdpTransport::AnswerArrival(RdmaResponder& responder,
                                bool whole,
                                uint32_t psn,
                                RdmaFrame* data,
                                rdma::TimePoint now)
{
    ++m_owed;
    if (IsAllHere(responder))
    {
        m_pulls += static_cast<uint32_t>(m_owed);
        m_owed = 0;
    }
    else if (!m_queued && responder.TakePull(now))
    {
        ++m_pulls;
        --m_owed;
    }
    responder.SendAnswer(whole ? RdmaOpcode::NDP_ACK : RdmaOpcode::NDP_NACK,
                         psn,
                         m_pulls,
                         data,
                         now);
    if (m_owed && !m_queued)
    {
        m_queued = true;
        responder.QueuePull(false, now);
    }
}

RdmaPullTransport::Pull
RdmaNdpTransport::GivePull(RdmaResponder& responder, bool, rdma::TimePoint now)
{
    if (m_owed == 0)
    {
        m_queued = false;
        return {0, false};
    }
    --m_owed;
    ++m_pulls;
    m_queued = m_owed > 0;
    responder.SendAnswer(RdmaOpcode::NDP_PULL, 0, m_pulls, nullptr, now);
    return {1, m_queued};
}

} // namespace ns3
