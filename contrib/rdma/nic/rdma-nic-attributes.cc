/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/roce-sizes.h"
#include "rdma-nic.h"
#include "rdma-transport-schemes.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/ns3-compat.h"
#include "ns3/object-vector.h"
#include "ns3/rdma-fixed-attribute.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaNic);

namespace
{

/// Largest rate of an attribute, as of a link: a frame takes at least some picoseconds (bit/s).
constexpr uint64_t MOST_RATE = 1000000000000000;

constexpr uint32_t HEADER_BYTES = RdmaFrame::DATA_OVERHEAD_BYTES - RdmaFrame::WIRE_ONLY_BYTES;

} // namespace

/// Accessor of trace sources of messages, and of rates with ns-3's types. The NIC learns of the
/// first callback and looks at none of their lists before.
class RdmaNic::MessageTraceAccessor : public TraceSourceAccessor
{
  public:
    template <class Class, class Trace>
    static Ptr<const TraceSourceAccessor> Of(Trace Class::*trace)
    {
        return Ptr<const TraceSourceAccessor>(
            new MessageTraceAccessor(MakeTraceSourceAccessor(trace)),
            false);
    }

    bool ConnectWithoutContext(ObjectBase* obj, const CallbackBase& cb) const override
    {
        return m_plain->ConnectWithoutContext(obj, cb) && Note(obj);
    }

    bool Connect(ObjectBase* obj, std::string context, const CallbackBase& cb) const override
    {
        return m_plain->Connect(obj, context, cb) && Note(obj);
    }

    bool DisconnectWithoutContext(ObjectBase* obj, const CallbackBase& cb) const override
    {
        return m_plain->DisconnectWithoutContext(obj, cb);
    }

    bool Disconnect(ObjectBase* obj, std::string context, const CallbackBase& cb) const override
    {
        return m_plain->Disconnect(obj, context, cb);
    }

  private:
    explicit MessageTraceAccessor(Ptr<const TraceSourceAccessor> plain)
        : m_plain(plain)
    {
    }

    static bool Note(ObjectBase* obj)
    {
        dynamic_cast<RdmaNic&>(*obj).m_traced = true;
        return true;
    }

    Ptr<const TraceSourceAccessor> m_plain;
};

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
                          RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_mtu))),
                          MakeUintegerChecker<uint32_t>(16, 9000))
            .AddAttribute(
                "HeaderBytes",
                "Bytes of a data frame besides payload and extensions: Ethernet 14, IPv4 "
                "20, UDP 8, BTH 12, ICRC 4, FCS 4; HPCC's ns-3 code: 48",
                UintegerValue(HEADER_BYTES),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_headerBytes))),
                MakeUintegerChecker<uint32_t>(0, 1024))
            .AddAttribute(
                "FlitBytes",
                "Scale-up links: frames are whole flits of so many bytes, a power of two, with a "
                "flit of header for each further 256 B of payload; 0: no flits (bytes)",
                UintegerValue(0),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_flitBytes))),
                MakeUintegerChecker<uint32_t>(0, 256))
            .AddAttribute(
                "LeastFrameBytes",
                "Shorter frames are padded to it: 64 of Ethernet, 0 of InfiniBand "
                "(bytes); not without ExtensionHeaders",
                UintegerValue(rdma::kMinimumFrameBytes),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_leastFrameBytes))),
                MakeUintegerChecker<uint32_t>(0, 256))
            .AddAttribute(
                "ExtensionHeaders",
                "RETH of 16 B in a request's first packet, immediate data of 4 B, "
                "payloads padded to 4 B; off: none of these",
                BooleanValue(true),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeBooleanAccessor(&RdmaNic::m_extensionHeaders))),
                MakeBooleanChecker())
            .AddAttribute(
                "AckFrameBytes",
                "Of an ACK or NAK: the headers and AETH 4; HPCC's ns-3 code: 60 (bytes)",
                UintegerValue(rdma::kAckFrameBytes.value),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_ackFrameBytes))),
                MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute(
                "CnpFrameBytes",
                "Of a CNP: the headers and 16 reserved (bytes)",
                UintegerValue(rdma::kCnpFrameBytes.value),
                RdmaFixed<RdmaNic>(RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_cnpFrameBytes))),
                MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute(
                "AckEvery",
                "Request an ACK with every n-th packet, besides the last of each message (packets)",
                UintegerValue(16),
                RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_ackEvery)),
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
            .AddAttribute("PullPriority",
                          "Priority of receivers' pulls, grants and credits (0 to 7); 8: as "
                          "AckPriority. Not of InfiniBand",
                          UintegerValue(QUEUE_PAIRS),
                          MakeUintegerAccessor(&RdmaNic::m_pullPriority),
                          MakeUintegerChecker<uint8_t>(0, QUEUE_PAIRS))
            .AddAttribute("TimeoutExponent",
                          "Local ACK time-out 4.096 us x 2^n; 0: none (InfiniBand Architecture 1, "
                          "9.7.6.1.3); 14: a common default "
                          "of drivers",
                          UintegerValue(14),
                          MakeUintegerAccessor(&RdmaNic::m_timeoutExponent),
                          MakeUintegerChecker<uint32_t>(0, 31))
            .AddAttribute("NakInterval",
                          "Go-back-N: time until another NAK for the same gap (HPCC's ns-3 code: "
                          "500 us); 0: one NAK a gap (InfiniBand Architecture 1, 9.7)",
                          TimeValue(Time(0)),
                          RdmaFixed<RdmaNic>(MakeTimeAccessor(&RdmaNic::m_nakInterval)),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("CnpDelay",
                          "From a marked packet that asks for a CNP until the CNP is sent, and so "
                          "what a NIC takes to turn a mark round; 0: at once. Measured NICs: some "
                          "55 us",
                          TimeValue(Time(0)),
                          RdmaFixed<RdmaNic>(MakeTimeAccessor(&RdmaNic::m_cnpDelay)),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("PaceJitter",
                          "A packet of a queue pair below its port's rate starts up to this much "
                          "later than its rate says, drawn for each packet; 0: exact",
                          TimeValue(Time(0)),
                          RdmaFixed<RdmaNic>(MakeTimeAccessor(&RdmaNic::m_paceJitter)),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("RetryCount",
                          "Time-outs in a row without progress before the queue pair fails",
                          UintegerValue(7),
                          MakeUintegerAccessor(&RdmaNic::m_retryCount),
                          MakeUintegerChecker<uint32_t>(0, 7))
            .AddAttribute("Window",
                          "Unacknowledged payload of a queue pair at which no further packet "
                          "starts, whatever its congestion control says (bytes); 0: no limit",
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
                          "Idle round-trip time that congestion controls assume; 0: that of a full "
                          "packet and its ACK to the farthest host",
                          TimeValue(Time(0)),
                          RdmaFixed<RdmaNic>(MakeTimeAccessor(&RdmaNic::m_baseRtt)),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("InitialPsn",
                          "First PSN of every queue pair (24 bits)",
                          UintegerValue(0),
                          RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_initialPsn)),
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
                          RdmaFixed<RdmaNic>(MakeStringAccessor(&RdmaNic::m_serviceLevels)),
                          MakeStringChecker())
            .AddAttribute("Dscps",
                          "DSCP of priorities: a list of priority:dscp (0 to 7 : 0 to 63); others "
                          "have 8 x priority (class selectors, RFC 2474)",
                          StringValue(""),
                          RdmaFixed<RdmaNic>(MakeStringAccessor(&RdmaNic::m_dscps)),
                          MakeStringChecker())
            .AddAttribute(
                "LossRecovery",
                "How queue pairs recover from loss, if both ends have it: selective repeat as IRN "
                "(SIGCOMM 2018), or any order, as adaptive routing brings packets, with a time-out",
                EnumValue(0), // go-back-n
                RdmaCommon(MakeEnumMemberAccessor(&RdmaNic::m_lossRecovery)),
                RdmaTransportSchemes::GetChecker())
            .AddAttribute(
                "PathSelector",
                "How queue pairs choose paths by the UDP source port, at both ends: reps, plb or "
                "another RdmaPathSelector; empty: one path. Ethernet only",
                StringValue(""),
                RdmaFixed<RdmaNic>(RdmaCommon(
                    MakeStringAccessor(&RdmaNic::SetPathSelector, &RdmaNic::GetPathSelectorName))),
                MakeStringChecker())
            .AddAttribute(
                "Scheduling",
                "How queue pairs take turns: round-robin, or scan, which does what HPCC's "
                "ns-3 code does (see RdmaNicScan)",
                EnumValue(ROUND_ROBIN),
                RdmaFixed<RdmaNic>(MakeEnumMemberAccessor(&RdmaNic::m_scheduling)),
                MakeEnumChecker(ROUND_ROBIN, "round-robin", SCAN, "scan"))
            .AddAttribute("Ets",
                          "Queue pairs of several priorities, and ordinary packets, share the line "
                          "by the port's StrictPriorities and weights; off: the queue pairs of the "
                          "highest priority go first",
                          BooleanValue(false),
                          RdmaFixed<RdmaNic>(MakeBooleanAccessor(&RdmaNic::m_ets)),
                          MakeBooleanChecker())
            .AddAttribute("BdpCap",
                          "Selective repeat: most packets in flight of a queue pair (IRN's "
                          "BDP-FC); 0: line rate x base round-trip time, in full packets",
                          UintegerValue(0),
                          RdmaCommon(MakeUintegerAccessor(&RdmaNic::m_bdpCap)),
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
            .AddAttribute("FirstWindow",
                          "NDP, EQDS, Homa: packets sent before any pull or grant; 0: a round trip "
                          "at line rate and, but for Homa, 16 more (assumed; NDP's permutation "
                          "example has 23)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_firstWindow),
                          MakeUintegerChecker<uint64_t>(0, RdmaQueuePair::MAX_OUTSTANDING))
            .AddAttribute("CreditTimeout",
                          "With trimming: a packet of which nothing is heard for this long is sent "
                          "again; Homa: is asked after (assumed 1 ms; NDP's programs have 1 or "
                          "50 ms)",
                          TimeValue(MilliSeconds(1)),
                          MakeTimeAccessor(&RdmaNic::m_creditTimeout),
                          MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute(
                "PullTimeout",
                "NDP: time until a missing pull counts as lost, while no packet is missing (50 ms, "
                "the longer one of the authors' programs; its use is assumed)",
                TimeValue(MilliSeconds(50)),
                MakeTimeAccessor(&RdmaNic::m_pullTimeout),
                MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute("PullRate",
                          "NDP, EQDS, RCCC: packets are asked for at this part of the line's rate "
                          "(0.01 to 1)",
                          DoubleValue(1),
                          MakeDoubleAccessor(&RdmaNic::m_pullRate),
                          MakeDoubleChecker<double>(0.01, 1))
            .AddAttribute("QpCacheEntries",
                          "Queue pairs whose contexts the NIC holds, the most recently used ones; "
                          "a packet of another waits QpCacheMissLatency; 0: no limit",
                          UintegerValue(0),
                          RdmaLive<RdmaNic>(MakeUintegerAccessor(&RdmaNic::m_qpCacheEntries),
                                            &RdmaNic::RestartLimits),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("QpCacheMissLatency",
                          "Time to get a queue pair's context from host memory (assumed 500 ns: a "
                          "PCIe read; order of magnitude of Neugebauer et al., SIGCOMM 2018)",
                          TimeValue(NanoSeconds(500)),
                          RdmaLive<RdmaNic>(MakeTimeAccessor(&RdmaNic::m_qpCacheMissLatency),
                                            &RdmaNic::RestartLimits),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("PcieBandwidth",
                          "Rate at which payload crosses the host's bus, each direction (bit/s, or "
                          "with a unit: 100Gbps); 0: no limit",
                          DataRateValue(DataRate(0)),
                          RdmaLive<RdmaNic>(MakeDataRateAccessor(&RdmaNic::m_pcieBandwidth),
                                            &RdmaNic::RestartLimits),
                          MakeDataRateChecker())
            .AddAttribute("PcieReceiveBuffer",
                          "Bytes of frames that the NIC holds while the bus is slower than the "
                          "line; before it is full, it sends PFC, or drops without; 0: no limit",
                          UintegerValue(0),
                          RdmaLive<RdmaNic>(MakeUintegerAccessor(&RdmaNic::m_pcieReceiveBuffer),
                                            &RdmaNic::RestartLimits),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000))
            .AddAttribute("MessageRate",
                          "Most messages started a second; 0: no limit",
                          UintegerValue(0),
                          RdmaLive<RdmaNic>(MakeUintegerAccessor(&RdmaNic::m_messageRate),
                                            &RdmaNic::RestartLimits),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000))
            .AddAttribute(
                "CongestionOpsList",
                "Congestion controls of the queue pairs, in the order they were made",
                ObjectVectorValue(),
                MakeObjectVectorAccessor(&RdmaNic::GetCongestionOps, &RdmaNic::GetNQueuePairs),
                MakeObjectVectorChecker<RdmaCongestionOps>())
            .AddTraceSource("Post",
                            "A work request is posted",
                            MessageTraceAccessor::Of(&RdmaNic::m_postTrace),
                            "ns3::RdmaNic::PostTracedCallback")
            .AddTraceSource("Completion",
                            "A work request is acknowledged whole, or failed",
                            MessageTraceAccessor::Of(&RdmaNic::m_completionTrace),
                            "ns3::RdmaNic::CompletionTracedCallback")
            .AddTraceSource("Message",
                            "A message has arrived whole, at the receiver",
                            MessageTraceAccessor::Of(&RdmaNic::m_messageTrace),
                            "ns3::RdmaNic::MessageTracedCallback")
            .AddTraceSource("MessageDone",
                            "A work request is acknowledged whole, or a READ is here whole; of "
                            "those that fail: Completion",
                            MessageTraceAccessor::Of(&RdmaNic::m_doneTrace),
                            "ns3::RdmaNic::MessageDoneTracedCallback")
            .AddTraceSource("MessageArrived",
                            "A message has arrived whole, at the receiver",
                            MessageTraceAccessor::Of(&RdmaNic::m_arrivedTrace),
                            "ns3::RdmaNic::MessageArrivedTracedCallback")
            .AddTraceSource("SendingRate",
                            "The congestion control's sending rate changed (on the wire); the "
                            "first one is told when the queue pair is made",
                            MessageTraceAccessor::Of(&RdmaNic::m_sendingRateTrace),
                            "ns3::RdmaNic::SendingRateTracedCallback")
            .AddTraceSource("Journey",
                            "A message has arrived whole with its last packet: where its time went "
                            "(NoteJourneys)",
                            MessageTraceAccessor::Of(&RdmaNic::m_journeyTrace),
                            "ns3::RdmaNic::JourneyTracedCallback")
            .AddTraceSource("Way",
                            "A packet has come of which the way was noted (NoteWays)",
                            MakeTraceSourceAccessor(&RdmaNic::m_wayTrace),
                            "ns3::RdmaNic::WayTracedCallback")
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

void
RdmaNicTraces::TraceDone(RdmaQueuePair* qp,
                         const RdmaWorkRequest& request,
                         RdmaStatus status,
                         int64_t now)
{
    if (!m_doneTrace.IsEmpty() && status == RdmaStatus::SUCCESS)
    {
        m_doneTrace(Ptr<const RdmaQueuePair>(qp),
                    request.bytes,
                    RdmaClock::At(request.posted),
                    RdmaClock::At(now));
    }
}

void
RdmaNicTraces::TraceArrived(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now)
{
    if (!m_arrivedTrace.IsEmpty())
    {
        m_arrivedTrace(Ptr<const RdmaQueuePair>(qp), message.bytes, RdmaClock::At(now));
    }
}

void
RdmaNicTraces::TraceRate(RdmaQueuePair* qp, uint64_t bps, int64_t now)
{
    if (!m_sendingRateTrace.IsEmpty())
    {
        m_sendingRateTrace(Ptr<const RdmaQueuePair>(qp), DataRate(bps), RdmaClock::At(now));
    }
}

} // namespace ns3
