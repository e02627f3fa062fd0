/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/shown-text.h"
#include "rdma-host.h"
#include "rdma-late-cnps.h"
#include "rdma-nic-limits.h"
#include "rdma-nic-scan.h"
#include "rdma-packets.h"
#include "rdma-pull-queue.h"
#include "rdma-transport-schemes.h"

#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/none-congestion-ops.h"
#include "ns3/rng-seed-manager.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNic");

RdmaNic::RdmaNic()
    : m_wakeEvent(this),
      m_goBackN(RdmaTransportSchemes::GoBackN().make({}))
{
}

RdmaNic::~RdmaNic() = default;

void
RdmaNic::DoDispose()
{
    m_limits.reset();
    m_scan.reset();
    m_isOther = false;
    m_spread.clear();
    m_pulls.reset();
    m_turns.reset();
    m_lateCnps.reset();
    m_packets = nullptr;
    m_transportParameters = nullptr;
    m_numbers = {};
    m_listener = nullptr;
    m_qps.clear();
    m_restingSenders.clear();
    m_profiles.clear();
    m_classes.clear();
    m_throttled.clear();
    m_port = nullptr;
    m_prototype = nullptr;
    Object::DoDispose();
}

void
RdmaNic::Attach(Ptr<RdmaPort> port, uint32_t endpoint)
{
    NS_LOG_FUNCTION(this << port << endpoint);
    NS_ABORT_MSG_IF(m_extensionHeaders && (m_mtu < 256 || m_mtu > 4096 || (m_mtu & (m_mtu - 1))),
                    "RdmaNic::Mtu is not 256, 512, 1024, 2048 or 4096");
    m_port = port;
    if (!m_prototype)
    {
        m_prototype = CreateObject<RdmaNoneCongestionOps>();
    }
    m_sizes = MakeSizes(*m_prototype);
    for (uint8_t c = 1; c < GetNClasses(); ++c)
    {
        m_classes[c - 1]->sizes = MakeSizes(GetPrototype(c));
    }
    m_bdpCapGiven = m_bdpCap;
    m_timeUnit = port->GetTransmitTimeUnitPs();
    m_plainPace = m_timeUnit == 1 && m_paceJitter.IsZero();
    if (m_cnpDelay.IsStrictlyPositive())
    {
        m_lateCnps = std::make_unique<RdmaLateCnps>(this, m_cnpDelay.GetPicoSeconds());
    }
    if (m_scheduling == SCAN)
    {
        m_scan = std::make_unique<RdmaNicScan>(this);
        m_isOther = true;
    }
    m_nakIntervalPs = m_nakInterval.GetPicoSeconds();
    m_endpoint = endpoint;
    port->SetUser(this, 0);
    if (port->GetNode())
    {
        RdmaHost::Of(port->GetNode())->Add(this);
    }
    const std::string error = ReadPriorityMaps();
    NS_ABORT_MSG_IF(!error.empty(), error);
    if (m_pathSelector)
    {
        m_chance =
            rdma::Mix64(uint64_t{RngSeedManager::GetSeed()} << 32 ^ RngSeedManager::GetRun());
    }
}

void
RdmaNicAttributes::SetPathSelector(std::string name)
{
    NS_LOG_FUNCTION(this << name);
    m_pathSelector = name.empty() ? nullptr : RdmaPathSelector::Make(name);
    m_unknownSelector = m_pathSelector ? "" : std::move(name);
}

std::string
RdmaNicAttributes::GetPathSelectorName() const
{
    return m_pathSelector ? m_pathSelector->GetName() : m_unknownSelector;
}

std::string
RdmaNic::CheckPathSelector() const
{
    NS_LOG_FUNCTION(this);
    if (m_pathSelector && m_paths)
    {
        return "ns3::RdmaNic::PathSelector: '" + GetPathSelectorName() +
               "' changes UDP source ports; allowed with InfiniBand, whose switches look at LIDs: "
               "none";
    }
    if (m_pathSelector && GetTransportScheme().creditsInAnswers)
    {
        return "ns3::RdmaNic::PathSelector: '" + GetPathSelectorName() +
               "' wants to hear of each packet's way, which the answers of ns3::RdmaNic::" +
               "LossRecovery '" + GetTransportScheme().name +
               "' have no room for; allowed with it: none";
    }
    if (m_unknownSelector.empty())
    {
        return {};
    }
    std::string names;
    std::vector<std::string> all;
    for (const auto& [known, type] : RdmaPathSelector::GetNames())
    {
        names += (names.empty() ? "" : ", ") + known;
        all.push_back(known);
    }
    const std::string nearest = rdma::NearestName(m_unknownSelector, all);
    return "ns3::RdmaNic::PathSelector: '" + rdma::Shown(m_unknownSelector, 60) +
           "' is unknown; allowed: " + names +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

std::string
RdmaNic::ReadPriorityMaps()
{
    NS_LOG_FUNCTION(this);
    for (uint8_t level = 0; level < m_priorityOfServiceLevel.size(); ++level)
    {
        m_priorityOfServiceLevel[level] = level % RdmaPort::PRIORITIES;
    }
    for (uint8_t priority = 0; priority < m_dscpOfPriority.size(); ++priority)
    {
        m_dscpOfPriority[priority] = 8 * priority;
    }
    const std::string error = ParseMap(m_serviceLevels,
                                       "ns3::RdmaNic::ServiceLevels",
                                       m_priorityOfServiceLevel.data(),
                                       m_priorityOfServiceLevel.size(),
                                       RdmaPort::PRIORITIES);
    return error.empty() ? ParseMap(m_dscps,
                                    "ns3::RdmaNic::Dscps",
                                    m_dscpOfPriority.data(),
                                    m_dscpOfPriority.size(),
                                    64)
                         : error;
}

std::string
RdmaNic::StartLimits(uint8_t losslessMask, uint32_t largestFrameBytes)
{
    NS_LOG_FUNCTION(this << losslessMask << largestFrameBytes);
    RdmaNicLimits::Config config;
    config.qpCacheEntries = m_qpCacheEntries;
    config.qpCacheMissPs = m_qpCacheMissLatency.GetPicoSeconds();
    config.pcieBps = m_pcieBandwidth.GetBitRate();
    config.receiveBufferBytes = m_pcieReceiveBuffer;
    config.messagesPerSecond = m_messageRate;
    m_limits.reset();
    m_limitsLossless = losslessMask;
    m_limitsLargest = largestFrameBytes;
    if (m_ets && m_scan)
    {
        return "ns3::RdmaNic::Scheduling: 'scan' has no turns of priorities; allowed with "
               "ns3::RdmaNic::Ets: round-robin";
    }
    if (m_ets && !m_turns)
    {
        m_turns = std::make_unique<RdmaNicTurns>(this);
        m_takesTurns = true;
    }
    const std::string selector = CheckPathSelector();
    if (!selector.empty() || config.IsOff())
    {
        return selector;
    }
    if (m_scan)
    {
        return "ns3::RdmaNic::Scheduling: 'scan' has no QpCacheEntries, PcieBandwidth or "
               "MessageRate; allowed with these: round-robin";
    }
    RdmaNicLimits::Thresholds thresholds;
    const std::string error =
        RdmaNicLimits::Find(thresholds, config, *m_port, losslessMask, largestFrameBytes);
    if (!error.empty())
    {
        return error;
    }
    m_limits = std::make_unique<RdmaNicLimits>(this, config, losslessMask, thresholds);
    return {};
}

void
RdmaNic::RestartLimits()
{
    NS_LOG_FUNCTION(this);
    if (m_limitsLargest == 0)
    {
        return;
    }
    NS_ABORT_MSG_IF(GetNQueuePairs() > 0,
                    "ns3::RdmaNic: QpCacheEntries, QpCacheMissLatency, PcieBandwidth, "
                    "PcieReceiveBuffer and MessageRate cannot change once there is a queue pair; "
                    "allowed: before, by the helper or Config::SetDefault");
    const std::string error = StartLimits(m_limitsLossless, m_limitsLargest);
    NS_ABORT_MSG_UNLESS(error.empty(), error);
}

void
RdmaNic::SetUser(RdmaNicUser* user)
{
    NS_LOG_FUNCTION(this << user);
    m_user = user;
}

void
RdmaNic::SetWatcher(RdmaNicWatcher* watcher)
{
    NS_LOG_FUNCTION(this << watcher);
    NS_ABORT_MSG_IF(watcher && m_watcher, "somebody watches this NIC already");
    m_watcher = watcher;
}

void
RdmaNic::SetMarking(rdma::Bytes threshold, rdma::BitRate at)
{
    NS_LOG_FUNCTION(this);
    m_marking = threshold;
    m_markingAt = at;
}

void
RdmaNic::SetPaths(const RdmaPathSource* paths)
{
    NS_LOG_FUNCTION(this << paths);
    m_paths = paths;
}

void
RdmaNic::NoteJourneys()
{
    NS_LOG_FUNCTION(this);
    m_journeys = true;
}

void
RdmaNic::NoteWays(const RdmaJourney::Wanted& wanted)
{
    NS_LOG_FUNCTION(this);
    m_ways = &wanted;
}

void
RdmaNic::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    NS_LOG_FUNCTION(this << prototype);
    NS_ABORT_MSG_UNLESS(prototype, "RdmaNic::SetCongestionOps: no congestion control");
    NS_ABORT_MSG_UNLESS(m_qps.empty(),
                        "RdmaNic::SetCongestionOps: the NIC has queue pairs; allowed: before the "
                        "first one");
    if (m_port)
    {
        // The fabric has computed times with the sizes of frames as they are.
        const RdmaHeaderBytes now = m_prototype->GetHeaderBytes();
        const RdmaHeaderBytes then = prototype->GetHeaderBytes();
        NS_ABORT_MSG_UNLESS(now.data == then.data && now.ack == then.ack,
                            "RdmaNic::SetCongestionOps: '"
                                << prototype->GetName() << "' adds other header bytes than '"
                                << m_prototype->GetName()
                                << "'; allowed: set it at the helper, before the fabric is built");
    }
    m_prototype = prototype;
}

std::string
RdmaNicAttributes::ParseMap(const std::string& text,
                            const std::string& attribute,
                            uint8_t* table,
                            uint32_t keys,
                            uint32_t values)
{
    NS_LOG_FUNCTION(text << attribute << keys << values);
    const char* at = text.c_str();
    while (*at)
    {
        char* end;
        const unsigned long key = std::strtoul(at, &end, 10);
        const bool colon = end != at && *end == ':' && key < keys;
        at = colon ? end + 1 : at;
        const unsigned long value = colon ? std::strtoul(at, &end, 10) : values;
        if (!colon || end == at || value >= values || (*end && *end != ','))
        {
            return attribute + ": '" + rdma::Shown(text, 60) +
                   "'; allowed: a list as 0:1,3:5, with 0 to " + std::to_string(keys - 1) +
                   " before the colon and 0 to " + std::to_string(values - 1) + " behind it";
        }
        table[key] = static_cast<uint8_t>(value);
        at = *end ? end + 1 : end;
    }
    return {};
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaNic::OnFrame(RdmaPort*, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    // READ requests too, which have no payload: they must not overtake what was sent before them.
    if (m_limits && (IsData(frame->opcode) || IsRequest(frame->opcode)))
    {
        if (const RdmaQueuePair* qp = FindReceiver(*frame, now))
        {
            m_limits->Receive(qp->m_index, frame, now);
            return;
        }
    }
    Deliver(frame, now);
}

void
RdmaNic::PrefetchRequest(const RdmaRequester::Sender& sender, std::size_t place)
{
    const RdmaWorkRequest* request = sender.requests.data() + place;
    PrefetchLines(request, request + 1); // mostly in two
}

void
RdmaNic::PrefetchTurns(const RdmaQueuePair* next)
{
    const RdmaRequester::Sender& sender = *next->m_requester.m_sender;
    PrefetchRequest(sender, sender.cursor);
    if (const RdmaSenderClock* clock = sender.clock.get())
    {
        PrefetchLines(clock, clock + 1);
    }
    if (const RdmaQueuePair* second = next->m_requester.m_nextReady)
    {
        PrefetchLines(second->m_requester.m_sender, second->m_requester.m_sender + 1);
        if (const RdmaQueuePair* third = second->m_requester.m_nextReady)
        {
            PrefetchLines(third, third + 1);
        }
    }
}

void
RdmaNic::PrefetchPost(const RdmaQueuePair* qp, uint32_t depth)
{
    if (depth == 0)
    {
        PrefetchLines(qp, qp + 1);
        return;
    }
    // A requester that rests takes the sender that was given back last.
    const auto& resting = qp->m_nic->m_restingSenders;
    const RdmaRequester::Sender* sender = qp->m_requester.IsSending() || resting.empty()
                                              ? qp->m_requester.m_sender
                                              : resting.back().get();
    PrefetchLines(sender, sender + 1);
}

namespace
{

/// What the user of a queue pair will need if it is told of a message.
inline void
PrefetchUser(const RdmaQueuePair* qp, bool told, uint32_t depth)
{
    const RdmaNicUser* user = told ? qp->GetUser() : nullptr;
    if (user)
    {
        user->Prefetch(qp, depth);
    }
}

} // namespace

void
RdmaNic::Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const
{
    // First the table entry of a queue pair, then the queue pair, then its sender, and what its
    // user will need if it is told of a message: each points to the next.
    const auto acknowledgesAll = [](const RdmaQueuePair* qp, const RdmaFrame& frame) {
        return rdma::WirePsn(qp->m_requester.m_endPsn) == rdma::WirePsn(uint64_t{frame.psn} + 1);
    };
    for (const NodeWindowArrival& arrival : arrivals)
    {
        const RdmaFrame& frame = static_cast<const RdmaFrame&>(*arrival.frame);
        if (depth == 0)
        {
            PrefetchLine(m_numbers.Where(frame.destQp));
            continue;
        }
        const bool request = IsRequest(frame.opcode);
        if (depth > 2 && request && !(frame.flags & RdmaFrame::END_OF_POST))
        {
            continue; // nobody is told of a message
        }
        if (depth > 3 && !request)
        {
            continue;
        }
        const RdmaQueuePair* qp = FindQueuePair(frame.destQp);
        if (!qp)
        {
            continue;
        }
        if (depth == 1)
        {
            PrefetchLines(qp, qp + 1);
        }
        else if (request)
        {
            PrefetchUser(qp, frame.flags & RdmaFrame::END_OF_POST, depth - 2);
        }
        else if (depth == 2)
        {
            PrefetchLines(qp->m_requester.m_sender, qp->m_requester.m_sender + 1);
            // Who has posted is told of the ACK for all of it; of others seldom.
            PrefetchUser(qp, acknowledgesAll(qp, frame), 0);
        }
        else if (acknowledgesAll(qp, frame))
        {
            const RdmaRequester::Sender& sender = *qp->m_requester.m_sender;
            PrefetchRequest(sender, sender.first);
        }
    }
    if (depth == 0)
    {
        // Behind what every user of a port has fetched already.
        PrefetchLines(&m_counters, &m_counters.retransmittedPackets);
        PrefetchLine(&m_dscpOfPriority);
        PrefetchLine(m_restingSenders.data() + m_restingSenders.size());
    }
    if (!m_readyMask || depth > 3)
    {
        return;
    }
    const RdmaQueuePair* next = m_ready[31 - __builtin_clz(m_readyMask)].head; // to send
    if (depth == 0)
    {
        PrefetchLines(next, next + 1);
    }
    else if (depth == 1)
    {
        PrefetchLines(next->m_requester.m_sender, next->m_requester.m_sender + 1);
        if (const RdmaQueuePair* second = next->m_requester.m_nextReady)
        {
            PrefetchLines(second, second + 1);
        }
    }
    else if (depth == 2)
    {
        PrefetchTurns(next);
    }
    else if (const RdmaSenderClock* clock = next->m_requester.m_sender->clock.get())
    {
        const RdmaRequestTimes* times = clock->times.data() + next->m_requester.m_sender->cursor;
        PrefetchLines(times, times + 1);
    }
}

RdmaQueuePair*
RdmaNic::AskListener(const RdmaFrame& frame, int64_t now)
{
    const bool request = IsRequest(frame.opcode) || frame.opcode == RdmaOpcode::REQUEST_TO_SEND;
    return !m_listener || !request || frame.dst != m_endpoint
               ? nullptr
               : m_listener->OnRequest(this, frame.src, frame.destQp, now);
}

void
RdmaNic::Deliver(RdmaFrame* frame, int64_t now)
{
    if (m_limits && m_paths) // it has been in the buffer of its VL until now
    {
        m_port->ReturnCredits(frame->priority, m_port->GetBlocks(frame), now);
    }
    if (frame->opcode == RdmaOpcode::RETURNED)
    {
        OnReturned(*frame, now);
        RdmaFramePool::Get().Free(frame);
        return;
    }
    RdmaQueuePair* qp = FindReceiver(*frame, now);
    // Anybody may send a datagram to any number; to oneself, it needs a switch that sends it back.
    if (!qp || frame->dst != m_endpoint)
    {
        if (frame->opcode == RdmaOpcode::ETHERNET && m_packets)
        {
            m_packets->Receive(frame);
            return;
        }
        ++m_counters.notReadyDropped;
        RdmaFramePool::Get().Free(frame);
        return;
    }
    if (IsRequest(frame->opcode))
    {
        qp->m_responder.OnData(frame, now);
    }
    else if (frame->opcode == RdmaOpcode::ACKNOWLEDGE)
    {
        RdmaRequester& requester = qp->m_requester;
        requester.OnAcknowledge(frame, now);
        if (requester.GetAckedPsn() == requester.m_endPsn)
        {
            requester.RestIfDone();
        }
    }
    else if (IsNdpAnswer(frame->opcode))
    {
        RdmaRequester& requester = qp->m_requester;
        requester.OnAnswer(frame, now);
        if (requester.GetAckedPsn() == requester.m_endPsn)
        {
            requester.RestIfDone();
        }
    }
    else if (frame->opcode == RdmaOpcode::REQUEST_TO_SEND)
    {
        qp->m_responder.OnRequestToSend(*frame, now);
    }
    else if (frame->opcode == RdmaOpcode::CNP)
    {
        qp->m_requester.OnCnp(now);
    }
    else if (IsReadResponse(frame->opcode))
    {
        qp->m_requester.OnReadResponse(*frame, now);
    }
    else if (frame->opcode != RdmaOpcode::SWITCH_REPORT) // to a switch that knows none
    {
        qp->OnDatagram(*frame, now);
    }
    RdmaFramePool::Get().Free(frame);
}

RdmaQueuePair*
RdmaNic::FindByPeer(uint32_t endpoint, uint32_t number)
{
    const auto is = [&](const RdmaQueuePair* qp) {
        return qp->m_peerEndpoint == endpoint && qp->m_peerNumber == number &&
               qp->m_state >= RdmaQueuePair::State::READY_TO_SEND;
    };
    // Returned packets come many at a time, so the last result is kept. It is a guess, as numbers
    // of two peers may be the same.
    RdmaQueuePair*& known = m_returnedOf[(rdma::Mix32(endpoint) ^ number) | 1];
    if (known && is(known))
    {
        return known;
    }
    const auto found = std::find_if(m_qps.begin(), m_qps.end(), [&](const auto& qp) {
        return is(PeekPointer(qp));
    });
    known = found == m_qps.end() ? nullptr : PeekPointer(*found);
    return known;
}

void
RdmaNic::OnReturned(const RdmaFrame& frame, int64_t now)
{
    RdmaQueuePair* qp = frame.dst == m_endpoint ? FindByPeer(frame.src, frame.destQp) : nullptr;
    if (!qp)
    {
        ++m_counters.notReadyDropped;
        return;
    }
    qp->m_requester.OnReturned(frame, now);
}

uint8_t
RdmaNic::GetPausing(const RdmaPort*) const
{
    return m_limits ? m_limits->GetPausing() : 0;
}

void
RdmaNic::OnDequeue(RdmaPort*, RdmaFrame* frame, uint64_t, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    // Control frames of a NIC wait in host memory: there is no buffer to account for. A packet that
    // waited for credits has been in the sender longer than it thought when it was made.
    if (frame->extra && frame->extra->journey)
    {
        RdmaJourney& journey = *frame->extra->journey;
        journey.nicPaused += now - journey.started;
        journey.started = now;
    }
}

} // namespace ns3
