/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/shown-text.h"
#include "none-congestion-ops.h"
#include "rdma-host.h"
#include "rdma-nic-limits.h"
#include "rdma-nic-scan.h"
#include "rdma-queue-pair-verbs.h"
#include "rdma-selective-repeat.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/object-vector.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNic");

NS_OBJECT_ENSURE_REGISTERED(RdmaNic);

namespace
{

/// Of an attribute, as of a link: a frame takes at least some picoseconds (bit/s).
constexpr uint64_t MOST_RATE = 1000000000000000;

constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

constexpr uint32_t HEADER_BYTES = RdmaFrame::DATA_OVERHEAD_BYTES - RdmaFrame::WIRE_ONLY_BYTES;

} // namespace

TypeId
RdmaNic::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaNic")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaNic>()
            .AddAttribute("Mtu",
                          "Payload of a full packet: 256, 512, 1024, 2048 or 4096, or any size "
                          "without ExtensionHeaders (bytes)",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&RdmaNic::m_mtu),
                          MakeUintegerChecker<uint32_t>(16, 9000))
            .AddAttribute("HeaderBytes",
                          "Of a data frame besides payload and extension headers: Ethernet 14, "
                          "IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; HPCC's ns-3 code: 48 (bytes)",
                          UintegerValue(HEADER_BYTES),
                          MakeUintegerAccessor(&RdmaNic::m_headerBytes),
                          MakeUintegerChecker<uint32_t>(0, 1024))
            .AddAttribute("LeastFrameBytes",
                          "Shorter frames are padded to it: 64 of Ethernet, 0 of InfiniBand "
                          "(bytes); not without ExtensionHeaders",
                          UintegerValue(rdma::kMinimumFrameBytes),
                          MakeUintegerAccessor(&RdmaNic::m_leastFrameBytes),
                          MakeUintegerChecker<uint32_t>(0, 256))
            .AddAttribute("ExtensionHeaders",
                          "RETH 16 B in the first packet of a request of at most 2^31 B, immediate "
                          "data 4 B, payloads padded to 4 B; off: none of it",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaNic::m_extensionHeaders),
                          MakeBooleanChecker())
            .AddAttribute("AckFrameBytes",
                          "Of an ACK or NAK: the headers and AETH 4; HPCC's ns-3 code: 60 (bytes)",
                          UintegerValue(rdma::kAckFrameBytes.value),
                          MakeUintegerAccessor(&RdmaNic::m_ackFrameBytes),
                          MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute("CnpFrameBytes",
                          "Of a CNP: the headers and 16 reserved (bytes)",
                          UintegerValue(rdma::kCnpFrameBytes.value),
                          MakeUintegerAccessor(&RdmaNic::m_cnpFrameBytes),
                          MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute(
                "AckEvery",
                "Request an ACK with every n-th packet, besides the last of each message (packets)",
                UintegerValue(16),
                MakeUintegerAccessor(&RdmaNic::m_ackEvery),
                MakeUintegerChecker<uint32_t>(1, 1 << 20))
            .AddAttribute("AckPriority",
                          "Priority of ACKs and NAKs (0 to 7); 8: that of their queue pair, as "
                          "RoCE NICs have it. Not of InfiniBand",
                          UintegerValue(QUEUE_PAIRS),
                          MakeUintegerAccessor(&RdmaNic::m_ackPriority),
                          MakeUintegerChecker<uint8_t>(0, QUEUE_PAIRS))
            .AddAttribute("CnpPriority",
                          "Priority of CNPs (0 to 7). Not of InfiniBand",
                          UintegerValue(6),
                          MakeUintegerAccessor(&RdmaNic::m_cnpPriority),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("TimeoutExponent",
                          "Local ACK time-out 4.096 us x 2^n; 0: none (InfiniBand Architecture 1, "
                          "9.7.6.1.3); 14: a common default "
                          "of drivers",
                          UintegerValue(14),
                          MakeUintegerAccessor(&RdmaNic::m_timeoutExponent),
                          MakeUintegerChecker<uint32_t>(0, 31))
            .AddAttribute("NakInterval",
                          "Go-back-N: a packet out of order is answered by another NAK this long "
                          "after the last one for the same gap (HPCC's ns-3 code: 500 us); 0: by "
                          "one NAK a gap (InfiniBand Architecture 1, 9.7)",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaNic::m_nakInterval),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("RetryCount",
                          "Time-outs in a row without progress before the queue pair fails",
                          UintegerValue(7),
                          MakeUintegerAccessor(&RdmaNic::m_retryCount),
                          MakeUintegerChecker<uint32_t>(0, 7))
            .AddAttribute("Window",
                          "Most unacknowledged payload of a queue pair, whatever its congestion "
                          "control says (bytes); 0: no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_windowBytes),
                          MakeUintegerChecker<uint64_t>(0, 9000000000000000))
            .AddAttribute("VariableWindow",
                          "Window is that at line rate and shrinks with the rate that the "
                          "congestion control sets, to 1 B at least (HPCC's ns-3 code: VAR_WIN)",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaNic::m_variableWindow),
                          MakeBooleanChecker())
            .AddAttribute("MaxRate",
                          "Most that a queue pair sends at (bit/s); 0: the port's rate",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_maxRate),
                          MakeUintegerChecker<uint64_t>(0, MOST_RATE))
            .AddAttribute("BaseRtt",
                          "Round-trip time that congestion controls take for that of an idle "
                          "network; 0: of a full packet and its ACK to the farthest host and back",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaNic::m_baseRtt),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("InitialPsn",
                          "First PSN of every queue pair (24 bits)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_initialPsn),
                          MakeUintegerChecker<uint32_t>(0, 0xffffff))
            .AddAttribute("RnrRetryCount",
                          "RNR NAKs in a row before the queue pair fails; 7: never (InfiniBand "
                          "Architecture 1, 9.7.5.2.8)",
                          UintegerValue(7),
                          MakeUintegerAccessor(&RdmaNic::m_rnrRetryCount),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("MinRnrTimer",
                          "Code of the wait that this NIC's RNR NAKs ask for (0 to 31; 12: 640 us, "
                          "assumed)",
                          UintegerValue(12),
                          MakeUintegerAccessor(&RdmaNic::m_minRnrTimer),
                          MakeUintegerChecker<uint8_t>(0, 31))
            .AddAttribute("MaxReads",
                          "READs of a queue pair under way at a time (16: a common limit of "
                          "adapters, assumed)",
                          UintegerValue(16),
                          MakeUintegerAccessor(&RdmaNic::m_maxReads),
                          MakeUintegerChecker<uint8_t>(1, 255))
            .AddAttribute("ServiceLevels",
                          "Priority of service levels, as a list of level:priority (0 to 15 : 0 to "
                          "7); of those not named the level modulo 8",
                          StringValue(""),
                          MakeStringAccessor(&RdmaNic::m_serviceLevels),
                          MakeStringChecker())
            .AddAttribute("Dscps",
                          "DSCP of priorities, as a list of priority:dscp (0 to 7 : 0 to 63); of "
                          "those not named 8 x priority (class selectors, RFC 2474)",
                          StringValue(""),
                          MakeStringAccessor(&RdmaNic::m_dscps),
                          MakeStringChecker())
            .AddAttribute(
                "LossRecovery",
                "How queue pairs recover from loss; selective repeat as IRN (Mittal et "
                "al., SIGCOMM 2018), or packets in any order, as adaptive routing brings them, and "
                "a time-out for what is lost; of connections whose both ends have it",
                EnumValue(GO_BACK_N),
                MakeEnumAccessor(&RdmaNic::m_lossRecovery),
                MakeEnumChecker(GO_BACK_N,
                                "go-back-n",
                                SELECTIVE_REPEAT,
                                "selective-repeat",
                                OUT_OF_ORDER,
                                "out-of-order"))
            .AddAttribute(
                "Scheduling",
                "How queue pairs take turns: round-robin, or scan, which does what HPCC's "
                "ns-3 code does (see RdmaNicScan)",
                EnumValue(ROUND_ROBIN),
                MakeEnumAccessor(&RdmaNic::m_scheduling),
                MakeEnumChecker(ROUND_ROBIN, "round-robin", SCAN, "scan"))
            .AddAttribute("BdpCap",
                          "Selective repeat: most packets in flight of a queue pair (IRN's "
                          "BDP-FC); 0: line rate times the base round-trip time to the farthest "
                          "host, over a full packet",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_bdpCap),
                          MakeUintegerChecker<uint64_t>(0, RdmaQueuePair::MAX_OUTSTANDING))
            .AddAttribute("RtoLow",
                          "Selective repeat: time-out while at most RtoLowPackets are in flight "
                          "(IRN, 4.1: 100 us)",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaNic::m_rtoLow),
                          MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute("RtoHigh",
                          "Selective repeat: time-out otherwise (IRN, 4.1: 320 us, its longest "
                          "round trip with one full switch buffer on the way)",
                          TimeValue(MicroSeconds(320)),
                          MakeTimeAccessor(&RdmaNic::m_rtoHigh),
                          MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute("RtoLowPackets",
                          "Selective repeat: most packets in flight for RtoLow (IRN, 4.1: N = 3)",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaNic::m_rtoLowPackets),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("QpCacheEntries",
                          "Queue pairs whose contexts the NIC holds, the most recently used ones; "
                          "a packet of another waits QpCacheMissLatency; 0: no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_qpCacheEntries),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("QpCacheMissLatency",
                          "What it takes to get a queue pair's context from host memory (assumed "
                          "500 ns: a PCIe read, of the order that Neugebauer et al., SIGCOMM 2018, "
                          "measure)",
                          TimeValue(NanoSeconds(500)),
                          MakeTimeAccessor(&RdmaNic::m_qpCacheMissLatency),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("PcieBandwidth",
                          "Rate at which payload crosses the host's bus, each direction (bit/s, or "
                          "with a unit: 100Gbps); 0: no limit",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&RdmaNic::m_pcieBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("PcieReceiveBuffer",
                          "What the NIC holds while the bus is slower than the line (bytes of "
                          "frames); it pauses its peer before it is full, or drops without PFC; 0: "
                          "no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_pcieReceiveBuffer),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000))
            .AddAttribute("MessageRate",
                          "Most messages started a second; 0: no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_messageRate),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000))
            .AddAttribute(
                "CongestionOpsList",
                "Congestion controls of the queue pairs, in the order they were made",
                ObjectVectorValue(),
                MakeObjectVectorAccessor(&RdmaNic::GetCongestionOps, &RdmaNic::GetNQueuePairs),
                MakeObjectVectorChecker<RdmaCongestionOps>())
            .AddTraceSource("Post",
                            "A work request is posted",
                            MakeTraceSourceAccessor(&RdmaNic::m_postTrace),
                            "ns3::RdmaNic::PostTracedCallback")
            .AddTraceSource("Completion",
                            "A work request is acknowledged whole, or failed",
                            MakeTraceSourceAccessor(&RdmaNic::m_completionTrace),
                            "ns3::RdmaNic::CompletionTracedCallback")
            .AddTraceSource("Message",
                            "A message has arrived whole, at the receiver",
                            MakeTraceSourceAccessor(&RdmaNic::m_messageTrace),
                            "ns3::RdmaNic::MessageTracedCallback")
            .AddTraceSource("Journey",
                            "A message has arrived whole with its last packet: where its time went "
                            "(NoteJourneys)",
                            MakeTraceSourceAccessor(&RdmaNic::m_journeyTrace),
                            "ns3::RdmaNic::JourneyTracedCallback")
            .AddTraceSource(
                "GoBack",
                "The sender goes back to this PSN after a NAK or a time-out: all behind "
                "it goes again, or under selective repeat what is lost",
                MakeTraceSourceAccessor(&RdmaNic::m_goBackTrace),
                "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Timeout",
                            "The oldest unacknowledged packet, this PSN, timed out",
                            MakeTraceSourceAccessor(&RdmaNic::m_timeoutTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Error",
                            "The queue pair fails: the packet of this PSN was retried in vain",
                            MakeTraceSourceAccessor(&RdmaNic::m_errorTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("CnpReceived",
                            "A CNP arrived at the sender of data; its next PSN",
                            MakeTraceSourceAccessor(&RdmaNic::m_cnpTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Rate",
                            "The congestion control's sending rate changed (bit/s on the wire)",
                            MakeTraceSourceAccessor(&RdmaNic::m_rateTrace),
                            "ns3::RdmaNic::RateTracedCallback")
            .AddTraceSource("Window",
                            "The congestion control's window changed (bytes of payload; 2^64 - 1: "
                            "no limit)",
                            MakeTraceSourceAccessor(&RdmaNic::m_windowTrace),
                            "ns3::RdmaNic::RateTracedCallback")
            .AddTraceSource(
                "ReceiveDrop",
                "A data packet does not fit into the receive buffer (PcieReceiveBuffer)",
                MakeTraceSourceAccessor(&RdmaNic::m_receiveDropTrace),
                "ns3::RdmaNic::ReceiveDropTracedCallback");
    return tid;
}

RdmaNic::RdmaNic()
    : m_wakeDue(NEVER),
      m_wakeEvent(this)
{
}

RdmaNic::~RdmaNic() = default;

void
RdmaNic::DoDispose()
{
    m_limits.reset();
    m_scan.reset();
    m_qps.clear();
    m_restingSenders.clear();
    m_profiles.clear();
    m_throttled.clear();
    m_port = nullptr;
    m_prototype = nullptr;
    Object::DoDispose();
}

void
RdmaNic::Attach(Ptr<RdmaPort> port, uint32_t endpoint)
{
    NS_ABORT_MSG_IF(m_extensionHeaders && (m_mtu < 256 || m_mtu > 4096 || (m_mtu & (m_mtu - 1))),
                    "RdmaNic::Mtu is not 256, 512, 1024, 2048 or 4096");
    m_port = port;
    if (!m_prototype)
    {
        m_prototype = CreateObject<NoneCongestionOps>();
    }
    const RdmaHeaderBytes more = m_prototype->GetHeaderBytes();
    m_sizes = rdma::FrameSizes::Make(port->GetLineOverhead(),
                                     m_headerBytes + more.data,
                                     m_extensionHeaders,
                                     m_ackFrameBytes + more.ack,
                                     m_cnpFrameBytes);
    m_sizes.leastWire = m_extensionHeaders ? m_leastFrameBytes + port->GetLineOverhead() : 0;
    m_timeUnit = port->GetTransmitTimeUnitPs();
    if (m_scheduling == SCAN)
    {
        m_scan = std::make_unique<RdmaNicScan>(this);
    }
    m_nakIntervalPs = m_nakInterval.GetPicoSeconds();
    m_endpoint = endpoint;
    port->SetUser(this, 0);
    if (port->GetNode())
    {
        RdmaHost::Of(port->GetNode())->Add(this);
    }
    m_timeoutPs = m_timeoutExponent ? 4096000LL << m_timeoutExponent : 0;
    const std::string error = ReadPriorityMaps();
    NS_ABORT_MSG_IF(!error.empty(), error);
}

std::string
RdmaNic::ReadPriorityMaps()
{
    for (uint8_t level = 0; level < m_priorityOfServiceLevel.size(); ++level)
    {
        m_priorityOfServiceLevel[level] = level % RdmaPort::PRIORITIES;
    }
    for (uint8_t priority = 0; priority < m_dscpOfPriority.size(); ++priority)
    {
        m_dscpOfPriority[priority] = 8 * priority;
    }
    const std::string error = ParseMap(m_serviceLevels,
                                       "ServiceLevels",
                                       m_priorityOfServiceLevel.data(),
                                       m_priorityOfServiceLevel.size(),
                                       RdmaPort::PRIORITIES);
    return error.empty()
               ? ParseMap(m_dscps, "Dscps", m_dscpOfPriority.data(), m_dscpOfPriority.size(), 64)
               : error;
}

std::string
RdmaNic::StartLimits(uint8_t losslessMask, uint32_t largestFrameBytes)
{
    RdmaNicLimits::Config config;
    config.qpCacheEntries = m_qpCacheEntries;
    config.qpCacheMissPs = m_qpCacheMissLatency.GetPicoSeconds();
    config.pcieBps = m_pcieBandwidth.GetBitRate();
    config.receiveBufferBytes = m_pcieReceiveBuffer;
    config.messagesPerSecond = m_messageRate;
    m_limits.reset();
    if (config.IsOff())
    {
        return {};
    }
    if (m_scan)
    {
        return "ns3::RdmaNic::Scheduling: 'scan' has no QpCacheEntries, PcieBandwidth or "
               "MessageRate; allowed with these: round-robin";
    }
    uint64_t xoff = m_pcieReceiveBuffer;
    uint64_t xon = 0;
    if (m_pcieReceiveBuffer)
    {
        // What still arrives after XOFF, and two frames between XOFF and XON, as in a switch.
        const uint64_t headroom =
            losslessMask
                ? rdma::HeadroomBytes(rdma::BitRate(m_port->GetRate()),
                                      rdma::Duration(m_port->GetDelayPs()),
                                      rdma::Duration(0),
                                      rdma::Duration(m_port->GetPeer()->GetPauseResponsePs()),
                                      rdma::Bytes(largestFrameBytes),
                                      rdma::Duration(m_timeUnit))
                      .value
                : 0;
        const uint64_t least = headroom + 2 * uint64_t{largestFrameBytes};
        if (m_pcieReceiveBuffer < least)
        {
            return "ns3::RdmaNic::PcieReceiveBuffer: " + std::to_string(m_pcieReceiveBuffer) +
                   " B do not hold " +
                   (losslessMask ? "what still arrives after a pause, " + std::to_string(headroom) +
                                       " B, and two frames"
                                 : std::string("two frames")) +
                   "; allowed: at least " + std::to_string(least) + ", or 0 for no limit";
        }
        xoff = m_pcieReceiveBuffer - headroom;
        xon = xoff - 2 * uint64_t{largestFrameBytes};
    }
    m_limits = std::make_unique<RdmaNicLimits>(this, config, losslessMask, xoff, xon);
    return {};
}

Ptr<RdmaCongestionOps>
RdmaNic::GetCongestionOps(uint32_t index) const
{
    return GetQueuePair(index)->GetCongestionOps();
}

void
RdmaNic::SetUser(RdmaNicUser* user)
{
    m_user = user;
}

void
RdmaNic::SetMarking(rdma::Bytes threshold, rdma::BitRate at)
{
    m_marking = threshold;
    m_markingAt = at;
}

void
RdmaNic::SetPaths(const RdmaPathSource* paths)
{
    m_paths = paths;
}

void
RdmaNic::NoteJourneys(const RdmaJourney::Resolver& resolver)
{
    m_journeys = &resolver;
}

void
RdmaNic::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    NS_ABORT_MSG_IF(m_port, "a NIC's congestion control is set before Attach");
    m_prototype = prototype;
}

std::string
RdmaNic::ParseMap(const std::string& text,
                  const std::string& attribute,
                  uint8_t* table,
                  uint32_t keys,
                  uint32_t values)
{
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
            return "ns3::RdmaNic::" + attribute + ": '" + rdma::Shown(text, 60) +
                   "'; allowed: a list as 0:1,3:5, with 0 to " + std::to_string(keys - 1) +
                   " before the colon and 0 to " + std::to_string(values - 1) + " behind it";
        }
        table[key] = static_cast<uint8_t>(value);
        at = *end ? end + 1 : end;
    }
    return {};
}

RdmaQueuePair*
RdmaNic::CreateQueuePair(const RdmaQueuePairInit& init)
{
    NS_ABORT_MSG_IF(init.serviceLevel >= m_priorityOfServiceLevel.size(), "no such service level");
    RdmaQueuePair* qp = CreateQueuePair(m_priorityOfServiceLevel[init.serviceLevel]);
    qp->m_serviceLevel = init.serviceLevel;
    RdmaQueuePairVerbs& verbs = qp->Verbs();
    verbs.transport = init.transport;
    verbs.sendQueue = init.sendQueue;
    verbs.receiveQueue = init.receiveQueue;
    verbs.signalAll = init.signalAll;
    verbs.maxSendRequests = init.maxSendRequests;
    verbs.maxReceiveRequests = init.maxReceiveRequests;
    verbs.needsReceives = true;
    return qp;
}

RdmaQueuePair*
RdmaNic::CreateQueuePair(uint8_t priority)
{
    NS_ABORT_MSG_IF(priority >= RdmaPort::PRIORITIES, "no such priority");
    // QP 0 and 1 are special (InfiniBand Architecture 1, 3.9); ours start at 2.
    const uint32_t number = static_cast<uint32_t>(m_qps.size()) + 2;
    NS_ABORT_MSG_IF(number > 0xffffff, "a NIC has at most 2^24 queue pairs");
    Ptr<RdmaQueuePair> qp(new RdmaQueuePair(this, number), false);
    qp->m_serviceLevel = priority;
    qp->m_priority =
        m_paths ? 0 : priority; // every InfiniBand port has VL 0; a path may tell another
    qp->m_dscp = m_dscpOfPriority[priority];
    qp->m_timeoutPs = m_timeoutPs;
    qp->m_retryCount = m_retryCount;
    qp->m_endPsn = qp->m_expectedPsn = m_initialPsn;
    StartCongestionControl(PeekPointer(qp));
    m_qps.push_back(qp);
    if (m_limits)
    {
        m_limits->Grow(GetNQueuePairs());
    }
    return PeekPointer(qp);
}

RdmaQueuePairProfile*
RdmaNic::GetProfile(uint64_t staticRate)
{
    RdmaCongestionState before;
    before.port = rdma::BitRate(m_port->GetRate());
    before.line = rdma::BitRate(staticRate ? std::min(staticRate, GetMaxRate()) : GetMaxRate());
    before.mtu = m_mtu;
    before.fullWireBytes = m_sizes.dataOverhead + m_mtu;
    before.windowAtLine = m_windowBytes;
    before.markedFrom =
        (m_markingAt.bps ? rdma::ScaleToRate(m_marking, m_markingAt, before.line) : m_marking)
            .value;
    if (m_prototype->GetNeeds() & RdmaCongestionOps::BASE_RTT)
    {
        before.baseRtt = GetBaseRtt();
    }
    for (auto it = m_profiles.rbegin(); it != m_profiles.rend(); ++it)
    {
        const RdmaCongestionState& other = (*it)->before;
        if (other.line.bps == before.line.bps && other.port.bps == before.port.bps &&
            other.mtu == before.mtu && other.fullWireBytes == before.fullWireBytes &&
            other.windowAtLine == before.windowAtLine && other.markedFrom == before.markedFrom &&
            other.baseRtt == before.baseRtt && (*it)->variableWindow == m_variableWindow)
        {
            return it->get();
        }
    }
    auto profile = std::make_unique<RdmaQueuePairProfile>();
    profile->before = profile->after = before;
    profile->variableWindow = m_variableWindow;
    profile->ops = m_prototype->Fork();
    RdmaCongestionState& cc = profile->after;
    profile->ops->Init(cc);
    if (m_windowBytes)
    {
        cc.windowBytes = std::min(cc.windowBytes, GetWindowAt(cc.rateBps));
    }
    profile->quiet = (profile->ops->GetNeeds() & RdmaCongestionOps::QUIET) &&
                     cc.nextUpdate == RdmaCongestionState::NEVER &&
                     cc.nextUpdateBytes == RdmaCongestionState::UNLIMITED;
    // As UpdateRate leaves a queue pair: the first packet is paced too.
    RdmaQueuePair::Sender& idle = profile->idle;
    idle.cc = cc;
    idle.ratePaced = cc.rateBps;
    idle.psPerByte = RdmaQueuePair::GetPace(*this, cc);
    if (m_variableWindow && m_windowBytes && cc.rateBps)
    {
        idle.cc.windowBytes = GetWindowAt(cc.rateBps);
    }
    idle.windowTold = idle.cc.windowBytes;
    m_profiles.push_back(std::move(profile));
    return m_profiles.back().get();
}

void
RdmaNic::StartCongestionControl(RdmaQueuePair* qp)
{
    RdmaQueuePairProfile* profile = GetProfile(qp->m_staticRate);
    const RdmaQueuePairProfile* before = std::exchange(qp->m_profile, profile);
    const bool sending = before && qp->m_sender != &before->idle;
    const int64_t now = RdmaClock::Now();
    qp->m_ops = profile->ops;
    qp->m_needs = profile->ops->GetNeeds();
    if (sending)
    {
        if (!profile->quiet)
        {
            qp->OwnCongestionOps();
        }
        qp->m_sender->cc = profile->after;
        qp->m_sender->nextSend = 0;
        qp->UpdateRate(now);
        return;
    }
    qp->m_sender = &profile->idle;
    const RdmaQueuePair::Sender& idle = profile->idle;
    if (idle.ratePaced != (before ? before->idle.ratePaced : 0))
    {
        if (m_scan && idle.cc.repace == RdmaCongestionState::Repace::SHIFT)
        {
            m_scan->OnShift(0, now);
        }
        m_rateTrace(qp, idle.ratePaced, now);
    }
    if (idle.windowTold != (before ? before->idle.windowTold : RdmaCongestionState::UNLIMITED))
    {
        m_windowTrace(qp, idle.windowTold, now);
    }
}

void
RdmaNic::Connect(RdmaQueuePair* a, RdmaQueuePair* b)
{
    const bool selective = a->m_nic->m_lossRecovery != GO_BACK_N &&
                           b->m_nic->m_lossRecovery == a->m_nic->m_lossRecovery;
    const auto describe = [selective](const RdmaQueuePair* qp) {
        RdmaNic* nic = qp->m_nic;
        return RdmaRemoteQueuePair{nic->m_endpoint,
                                   qp->m_number,
                                   static_cast<uint32_t>(qp->m_endPsn),
                                   selective,
                                   selective ? nic->GetBdpCap() : 0};
    };
    ConnectRemote(a, describe(b));
    ConnectRemote(b, describe(a));
}

void
RdmaNic::UseSelectiveRepeat(RdmaQueuePair* qp, uint64_t peerBdpCap)
{
    qp->m_maxOutstanding =
        static_cast<uint32_t>(std::min(GetBdpCap(), RdmaQueuePair::MAX_OUTSTANDING));
    qp->m_needs |= RdmaCongestionOps::ACK_PER_PACKET; // the cap has no room for waiting ACKs
    qp->m_selective = std::make_unique<RdmaSelectiveRepeat>(
        qp->m_endPsn,
        GetBdpCap(),
        qp->m_expectedPsn,
        peerBdpCap,
        m_lossRecovery == OUT_OF_ORDER
            ? RdmaSelectiveRepeat::Timeouts{qp->m_timeoutPs, qp->m_timeoutPs, 0}
            : RdmaSelectiveRepeat::Timeouts{m_rtoLow.GetPicoSeconds(),
                                            m_rtoHigh.GetPicoSeconds(),
                                            m_rtoLowPackets});
}

uint64_t
RdmaNic::GetMaxRate() const
{
    return m_maxRate ? std::min(m_maxRate, m_port->GetRate()) : m_port->GetRate();
}

uint64_t
RdmaNic::GetWindowAt(uint64_t rateBps) const
{
    const uint64_t line = GetMaxRate();
    if (!m_variableWindow || rateBps == line || rateBps == 0)
    {
        return m_windowBytes;
    }
    const auto window = static_cast<unsigned __int128>(m_windowBytes) * rateBps / line;
    return std::max<uint64_t>(m_windowBytes ? 1 : 0, static_cast<uint64_t>(window));
}

void
RdmaNic::ConnectRemote(RdmaQueuePair* qp, const RdmaRemoteQueuePair& peer)
{
    NS_ABORT_MSG_IF(qp->GetTransport() != RdmaTransport::RC,
                    "datagrams have no connection: see RdmaQueuePair::Modify");
    NS_ABORT_MSG_IF(qp->m_state > RdmaQueuePair::State::INIT, "connected already: see RESET");
    qp->SetPeer(peer.endpoint, peer.number, peer.initialPsn);
    qp->m_state = RdmaQueuePair::State::READY_TO_SEND;
    RdmaNic* nic = qp->m_nic;
    if (nic->m_lossRecovery != GO_BACK_N && peer.selectiveRepeat)
    {
        nic->UseSelectiveRepeat(qp, peer.bdpCap);
    }
}

uint64_t
RdmaNic::GetBdpCap()
{
    if (!m_bdpCap)
    {
        // Out of order: what a receiver can keep track of, not a window that fits the idle network
        // (assumed).
        const uint64_t factor = m_lossRecovery == OUT_OF_ORDER ? 8 : 1;
        m_bdpCap = std::min(
            factor * RdmaSelectiveRepeat::ComputeBdpCap(PeekPointer(m_port), m_mtu, m_sizes),
            RdmaQueuePair::MAX_OUTSTANDING);
    }
    return m_bdpCap;
}

int64_t
RdmaNic::GetBaseRtt()
{
    if (!m_baseRttPs)
    {
        m_baseRttPs = m_baseRtt.IsZero()
                          ? RdmaSelectiveRepeat::ComputeBaseRtt(PeekPointer(m_port), m_mtu, m_sizes)
                          : m_baseRtt.GetPicoSeconds();
    }
    return m_baseRttPs;
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaNic::UpdatePullMask()
{
    m_port->SetPullMask(m_readyMask | m_preparedMask);
}

bool
RdmaNic::StartsMessage(const RdmaQueuePair* qp) const
{
    return qp->CanSendRequest() && qp->m_sender->nextPsn == qp->m_sender->highestPsn &&
           (qp->GetTransport() == RdmaTransport::UD ||
            qp->m_sender->nextPsn == qp->m_sender->requests[qp->m_sender->cursor].firstPsn);
}

void
RdmaNic::PushReady(RdmaQueuePair* qp)
{
    Ready& ready = m_ready[qp->m_priority];
    qp->m_schedule = RdmaQueuePair::Schedule::READY;
    qp->m_nextReady = nullptr;
    if (ready.head)
    {
        ready.tail->m_nextReady = qp;
    }
    else
    {
        ready.head = qp;
        m_readyMask |= 1U << qp->m_priority;
        UpdatePullMask();
    }
    ready.tail = qp;
}

RdmaQueuePair*
RdmaNic::PopReady(uint8_t priority)
{
    Ready& ready = m_ready[priority];
    RdmaQueuePair* qp = ready.head;
    ready.head = qp->m_nextReady;
    if (!ready.head)
    {
        m_readyMask &= ~(1U << priority);
        UpdatePullMask();
    }
    return qp;
}

namespace
{

/// The earliest on top; ties by number, so that runs repeat.
constexpr auto LATER = [](const auto& a, const auto& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
};

} // namespace

void
RdmaNic::Throttle(RdmaQueuePair* qp, int64_t now)
{
    qp->m_schedule = RdmaQueuePair::Schedule::THROTTLED;
    // Its rate may rise by itself before: then the rest of the wait is shorter.
    const int64_t update =
        qp->m_sender->cc.nextUpdate > now ? qp->m_sender->cc.nextUpdate : qp->m_sender->nextSend;
    m_throttled.push_back(
        {std::min(qp->m_sender->nextSend, update), qp->m_number, ++qp->m_throttleGeneration, qp});
    std::push_heap(m_throttled.begin(), m_throttled.end(), LATER);
}

void
RdmaNic::Rethrottle(RdmaQueuePair* qp, int64_t now)
{
    m_throttled.push_back(
        {std::max(qp->m_sender->nextSend, now), qp->m_number, ++qp->m_throttleGeneration, qp});
    std::push_heap(m_throttled.begin(), m_throttled.end(), LATER);
    WakeForThrottled();
}

void
RdmaNic::ReleaseThrottled(int64_t now)
{
    while (!m_throttled.empty() && m_throttled.front().at <= now)
    {
        RdmaQueuePair* qp = m_throttled.front().qp;
        const bool valid = m_throttled.front().generation == qp->m_throttleGeneration;
        std::pop_heap(m_throttled.begin(), m_throttled.end(), LATER);
        m_throttled.pop_back();
        if (valid)
        {
            PushReady(qp);
        }
    }
}

void
RdmaNic::WakeForThrottled()
{
    if (!m_throttled.empty() && m_throttled.front().at < m_wakeDue)
    {
        m_wakeDue = m_throttled.front().at;
        m_wakeEvent.ScheduleAt(m_wakeDue, m_port->GetNode()->GetId());
    }
}

void
RdmaNic::OnWake()
{
    const int64_t due = m_wakeDue;
    if (due > RdmaClock::Now())
    {
        return; // an event for a later wake-up than the one that overtook it
    }
    m_wakeDue = NEVER;
    if (m_scan)
    {
        m_port->Kick(due);
        return;
    }
    // Released here and not left to Pull: the port may be busy, and what stays in the heap would
    // wake us again at once.
    ReleaseThrottled(due);
    if (m_limits)
    {
        m_limits->Prepare(m_port->GetPausedMask(), due);
    }
    m_port->Kick(due);
    WakeForThrottled();
}

void
RdmaNic::Activate(RdmaQueuePair* qp, int64_t now)
{
    if (m_scan)
    {
        m_scan->Activate(qp, now);
        return;
    }
    if (qp->m_schedule == RdmaQueuePair::Schedule::IDLE && qp->CanSend())
    {
        if (qp->m_sender->clock)
        {
            qp->NoteWindow(now);
        }
        PushReady(qp);
        if (m_limits)
        {
            m_limits->Prepare(m_port->GetPausedMask(), now);
        }
        m_port->Kick(now);
    }
}

RdmaFrame*
RdmaNic::Pull(RdmaPort*, uint8_t pausedMask, int64_t now)
{
    return m_limits ? m_limits->Pull(pausedMask, now)
           : m_scan ? m_scan->Pull(pausedMask, now)
                    : Choose<false>(pausedMask, now);
}

template <bool Limited>
RdmaFrame*
RdmaNic::Choose(uint8_t pausedMask, int64_t now)
{
    if (!m_throttled.empty())
    {
        ReleaseThrottled(now);
    }
    for (;;)
    {
        const uint8_t mask = m_readyMask & ~pausedMask;
        if (!mask)
        {
            WakeForThrottled();
            return nullptr;
        }
        RdmaQueuePair* qp = PopReady(31 - __builtin_clz(mask));
        qp->m_schedule = RdmaQueuePair::Schedule::IDLE;
        if (!qp->CanSend())
        {
            continue;
        }
        if (qp->m_sender->nextSend > now)
        {
            qp->UpdateIfDue(now);
            if (qp->m_sender->nextSend > now)
            {
                Throttle(qp, now);
                continue;
            }
        }
        if constexpr (Limited)
        {
            const int64_t slot =
                StartsMessage(qp)
                    ? m_limits->MessageSlot(qp->m_number - 2, qp->m_sender->nextPsn, now)
                    : now;
            if (slot > now && qp->m_respond)
            {
                qp->m_verbs->responseNext = true; // READ responses do not wait for it
            }
            else if (slot > now)
            {
                qp->m_sender->nextSend = slot;
                Throttle(qp, now);
                continue;
            }
        }
        RdmaFrame* frame = qp->MakeFrame(now);
        if constexpr (Limited)
        {
            frame->time = m_limits->PreparedAt(qp->m_number - 2, frame->payload, now);
        }
        if (qp->CanSend())
        {
            if (qp->m_sender->nextSend > now + m_port->GetSerialization(frame->wireBytes))
            {
                Throttle(qp, now);
            }
            else
            {
                PushReady(qp);
            }
        }
        else if (qp->m_sender->clock)
        {
            qp->NoteWindow(now + m_port->GetSerialization(frame->wireBytes));
        }
        if (!(m_readyMask & ~pausedMask))
        {
            WakeForThrottled();
        }
        return frame;
    }
}

template RdmaFrame* RdmaNic::Choose<true>(uint8_t pausedMask, int64_t now);

void
RdmaNic::SendControl(RdmaQueuePair* qp,
                     RdmaOpcode opcode,
                     uint8_t flags,
                     uint32_t psn,
                     uint32_t msn,
                     uint32_t syndrome,
                     int64_t now,
                     RdmaFrame* data)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = opcode == RdmaOpcode::CNP ? m_sizes.cnpWire : m_sizes.ackWire;
    frame->src = m_endpoint;
    frame->dst = qp->m_peerEndpoint;
    frame->flowHash = qp->m_flowHash;
    frame->destQp = qp->m_peerNumber;
    frame->psn = psn;
    frame->aux = msn;
    frame->dmaLength = syndrome;
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = opcode;
    frame->flags = flags;
    if (m_paths) // a response takes the service level of its request (9.6.1.1)
    {
        frame->priority = qp->m_priority;
        frame->serviceLevel = qp->m_dscp;
    }
    else
    {
        const uint8_t own = opcode == RdmaOpcode::CNP ? m_cnpPriority : m_ackPriority;
        frame->priority = own == QUEUE_PAIRS ? qp->m_priority : own;
        frame->dscp = m_dscpOfPriority[frame->priority];
    }
    if (data && (qp->m_needs & RdmaQueuePair::ECHOES))
    {
        Echo(qp, data, frame);
    }
    m_port->Enqueue(frame, now);
}

void
RdmaNic::Echo(const RdmaQueuePair* qp, RdmaFrame* data, RdmaFrame* ack)
{
    if ((qp->m_needs & RdmaCongestionOps::ECN_ECHO) && (data->flags & RdmaFrame::CE))
    {
        ack->flags |= RdmaFrame::ECN_ECHO;
    }
    if (!data->extra || !data->extra->hasTelemetry)
    {
        return;
    }
    if (data->extra->journey) // stays with the message
    {
        ack->extra = RdmaFramePool::Get().AllocateExtra();
        ack->extra->hasTelemetry = true;
        ack->extra->telemetry = data->extra->telemetry;
    }
    else
    {
        ack->extra = data->extra;
        data->extra = nullptr;
    }
    ack->extra->telemetry.collects = false;
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaNic::OnFrame(RdmaPort*, RdmaFrame* frame, int64_t now)
{
    // READ requests too, which have no payload: they must not overtake what was sent before them.
    if (m_limits && (IsData(frame->opcode) || IsRequest(frame->opcode)))
    {
        const uint32_t index = frame->destQp - 2;
        if (index < m_qps.size())
        {
            m_limits->Receive(index, frame, now);
            return;
        }
    }
    Deliver(frame, now);
}

void
RdmaNic::Deliver(RdmaFrame* frame, int64_t now)
{
    if (m_limits && m_paths) // it has been in the buffer of its VL until now
    {
        m_port->ReturnCredits(frame->priority, m_port->GetBlocks(frame), now, now);
    }
    const uint32_t index = frame->destQp - 2;
    // Anybody may send a datagram to any number; to oneself, it needs a switch that sends it back.
    if (index >= m_qps.size() || frame->dst != m_endpoint)
    {
        ++m_counters.notReadyDropped;
        RdmaFramePool::Get().Free(frame);
        return;
    }
    RdmaQueuePair* qp = PeekPointer(m_qps[index]);
    if (IsRequest(frame->opcode))
    {
        qp->OnData(frame, now);
    }
    else if (frame->opcode == RdmaOpcode::ACKNOWLEDGE)
    {
        qp->OnAcknowledge(frame, now);
        if (qp->m_sender->ackedPsn == qp->m_endPsn)
        {
            qp->RestIfDone();
        }
    }
    else if (frame->opcode == RdmaOpcode::CNP)
    {
        qp->OnCnp(now);
    }
    else if (IsReadResponse(frame->opcode))
    {
        qp->OnReadResponse(*frame, now);
    }
    else
    {
        qp->OnDatagram(*frame, now);
    }
    RdmaFramePool::Get().Free(frame);
}

uint8_t
RdmaNic::GetPausing(const RdmaPort*) const
{
    return m_limits ? m_limits->GetPausing() : 0;
}

void
RdmaNic::OnDequeue(RdmaPort*, RdmaFrame* frame, uint64_t, int64_t now)
{
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
