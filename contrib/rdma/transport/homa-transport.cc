/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "homa-transport.h"

#include "contrib/rdma/core/shown-text.h"

#include "ns3/log.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("HomaTransport");

NS_OBJECT_ENSURE_REGISTERED(RdmaHomaHost);

namespace
{

const RdmaTransportSchemes::Registered g_homa{
    {"homa",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaHomaTransport>(setting);
     },
     RdmaHomaTransport::ROUND_TRIPS,
     false,
     true,
     false,
     0,
     []() -> Ptr<Object> { return CreateObject<RdmaHomaHost>(); },
     [](const Object*) { return "waiting for the receiver's grants"; },
     [](const Object* of) { return static_cast<const RdmaHomaHost*>(of)->Check(); }}};

/// How far a packet's message goes, and how far of that its sender may send: packets from itself
/// on, 24 and 8 bits (RdmaGrantedTransport::SpareOf).
uint32_t
MakeOutlook(uint64_t behind, uint64_t allowed)
{
    return static_cast<uint32_t>(std::min<uint64_t>(behind, 0xffffff) << 8 |
                                 std::min<uint64_t>(allowed, 0xff));
}

} // namespace

TypeId
RdmaHomaHost::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::HomaParameters")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaHomaHost>()
            .AddAttribute("UnscheduledCutoffs",
                          "Sizes up to which a message's unscheduled packets have a priority of "
                          "their own (bytes, ascending, at most six), the highest first; longer "
                          "ones have the next, and grants what is left of eight (HomaModule)",
                          StringValue("200,2800,15000"),
                          MakeStringAccessor(&RdmaHomaHost::SetCutoffs, &RdmaHomaHost::GetCutoffs),
                          MakeStringChecker())
            .AddAttribute("Overcommitment",
                          "Messages of different senders that a receiver grants at once; 0: as "
                          "many as there are priorities for granted packets, as the paper has it",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaHomaHost::m_overcommitment),
                          MakeUintegerChecker<uint32_t>(0, rdma::HomaGrants::kMost));
    return tid;
}

void
RdmaHomaHost::SetCutoffs(std::string text)
{
    m_readable = rdma::HomaPriorities::Parse(text, &m_priorities);
    m_cutoffs = std::move(text);
}

std::string
RdmaHomaHost::GetCutoffs() const
{
    return m_cutoffs;
}

std::string
RdmaHomaHost::Check() const
{
    return m_readable ? ""
                      : "ns3::HomaParameters::UnscheduledCutoffs: '" + rdma::Shown(m_cutoffs, 60) +
                            "'; allowed: at most six sizes in bytes, ascending, as 200,2800,15000";
}

rdma::HomaGrants&
RdmaHomaHost::GetGrants(uint64_t window)
{
    if (!m_grants)
    {
        m_grants.emplace(window, m_overcommitment ? m_overcommitment : m_priorities.Scheduled());
    }
    return *m_grants;
}

void
RdmaHomaTransport::Inbound::SendGrant(rdma::TimePoint now) const
{
    responder->SendAnswer(RdmaOpcode::NDP_PULL,
                          priority,
                          static_cast<uint32_t>(first + granted),
                          nullptr,
                          now);
}

RdmaHomaTransport::RdmaHomaTransport(const RdmaTransportScheme::Setting& setting)
    : RdmaGrantedTransport(setting),
      m_host(static_cast<RdmaHomaHost*>(setting.parameters)),
      m_window(std::min(setting.firstWindow ? setting.firstWindow : RoundTrip(setting), m_cap)),
      m_packetBytes(setting.packetBytes),
      m_mayGoTo(setting.firstSent),
      m_posted(setting.firstSent),
      m_unscheduledTo(setting.firstSent),
      m_highest(setting.firstExpected)
{
    m_grants = &m_host->GetGrants(m_window);
    m_inbound.first = setting.firstExpected;
}

RdmaHomaTransport::~RdmaHomaTransport()
{
    m_grants->Forget(&m_inbound);
}

std::string
RdmaHomaTransport::GetName() const
{
    return "homa";
}

// Requester --------------------------------------------------------------------------------------

void
RdmaHomaTransport::SendFrom(uint64_t psn)
{
    RdmaGrantedTransport::SendFrom(psn);
    m_mayGoTo = m_posted = m_unscheduledTo = psn;
}

bool
RdmaHomaTransport::MaySend(const RdmaRequester& requester) const
{
    return !m_again.IsEmpty() || requester.GetHighestPsn() < m_mayGoTo;
}

void
RdmaHomaTransport::TakeTurn(RdmaRequester& requester) const
{
    requester.SetTurn(rdma::HomaTurn(GetBacklog(requester)));
}

void
RdmaHomaTransport::OnPosted(RdmaRequester& requester, rdma::TimePoint)
{
    const uint64_t end = requester.GetEndPsn();
    if (m_mayGoTo >= m_posted) // nothing before it waits for a grant
    {
        m_mayGoTo = m_unscheduledTo = std::min(end, m_posted + m_window);
        const uint64_t packets = end - m_posted;
        m_unscheduled = m_host->GetPriorities().OfMessage(
            packets > 1 ? packets * m_packetBytes : requester.GetLastPostBytes());
    }
    m_posted = end;
    TakeTurn(requester);
    ChooseNext(requester);
}

void
RdmaHomaTransport::OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, rdma::TimePoint)
{
    NoteSent(requester, psn, frame);
    frame.flags &= static_cast<uint8_t>(~RdmaFrame::TRIMMABLE);
    requester.SetPriorityOf(frame, psn < m_unscheduledTo ? m_unscheduled : m_scheduled);
    SpareOf(frame) =
        MakeOutlook(m_posted - psn, std::max(m_mayGoTo, requester.GetHighestPsn()) - psn);
    TakeTurn(requester);
    ChooseNext(requester);
}

void
RdmaHomaTransport::OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now)
{
    NoteAnswer(requester, frame, now);
    if (frame.opcode == RdmaOpcode::NDP_PULL)
    {
        const uint64_t limit = ExtendCount(frame.dmaLength, m_mayGoTo);
        if (limit >= m_mayGoTo && limit <= m_posted)
        {
            m_mayGoTo = limit;
            m_scheduled = static_cast<uint8_t>(frame.aux);
        }
    }
    TakeTurn(requester);
}

void
RdmaHomaTransport::OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now)
{
    NoteAcknowledged(requester, now);
    ChooseNext(requester);
}

void
RdmaHomaTransport::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    requester.RequestToSend(static_cast<uint32_t>(TakeSentFirst(requester)), 0);
    requester.ArmTimer(now);
}

// Responder --------------------------------------------------------------------------------------

bool
RdmaHomaTransport::OnArrival(RdmaResponder& responder,
                             uint64_t psn,
                             RdmaFrame& frame,
                             rdma::TimePoint now)
{
    const uint64_t expected = responder.GetExpectedPsn();
    NoteFresh(responder, psn);
    if (psn >= m_highest)
    {
        m_highest = psn + 1;
        m_endsPost = frame.flags & RdmaFrame::END_OF_POST;
    }
    const uint64_t at = psn - m_inbound.first;
    const uint32_t outlook = SpareOf(frame);
    SpareOf(frame) = 0;
    if (!m_fresh || responder.HasRefused())
    {
        return false;
    }
    m_inbound.end = std::max(m_inbound.end, at + (outlook >> 8));
    m_inbound.granted = std::max(m_inbound.granted, at + (outlook & 0xff));
    m_inbound.responder = &responder;
    m_inbound.sender = frame.src;
    m_inbound.received = expected - m_inbound.first + m_kept->GetCount() + 1;
    m_grants->Update(&m_inbound);
    GiveGrants(now);
    return false;
}

void
RdmaHomaTransport::GiveGrants(rdma::TimePoint now)
{
    m_grants->Give(m_host->GetPriorities(),
                   [now](rdma::HomaInbound* message, uint64_t limit, uint8_t priority) {
                       auto* inbound = static_cast<Inbound*>(message);
                       inbound->priority = priority;
                       NS_LOG_LOGIC("grant up to packet " << limit << " at priority "
                                                          << uint32_t{priority} << ", " << now.ps
                                                          << " ps");
                       inbound->SendGrant(now);
                   });
}

bool
RdmaHomaTransport::HasAll(const RdmaResponder& responder) const
{
    return m_endsPost && responder.GetExpectedPsn() == m_highest;
}

void
RdmaHomaTransport::OnRequestToSend(RdmaResponder& responder,
                                   const RdmaFrame& frame,
                                   rdma::TimePoint now)
{
    // Sent long ago.
    if (!NackMissing(responder, ExtendCount(frame.aux, responder.GetExpectedPsn()), now))
    {
        m_inbound.responder = &responder;
        m_inbound.SendGrant(now);
    }
}

} // namespace ns3
