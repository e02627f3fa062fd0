/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of an Ethernet switch that is done before the first frame: what its attributes are, and
 * the sizes that follow from them.
 */
#include "contrib/rdma/core/buffer-policy.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/switch-chips.h"
#include "rdma-switch.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/ns3-compat.h"
#include "ns3/rdma-fixed-attribute.h"
#include "ns3/rdma-named-class.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdlib>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitchSetup");

NS_OBJECT_ENSURE_REGISTERED(RdmaSwitch);

namespace
{

/// Largest buffer or threshold (bytes): sums over all ports and priorities fit 64 bits.
constexpr uint64_t MOST_BUFFER = 1000000000000;

} // namespace

TypeId
RdmaSwitch::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaSwitch")
            .SetParent<RdmaSwitchBase>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaSwitch>()
            .AddAttribute(
                "LoadBalancer",
                "By which of several shortest ways a frame goes: ecmp, adaptive, conga, drill, "
                "flowlet, spray or another RdmaLoadBalancer",
                StringValue("ecmp"),
                RdmaFixed<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::SetLoadBalancer,
                                                         &RdmaSwitch::GetLoadBalancerName)),
                MakeStringChecker())
            .AddAttribute("PipelineLatency",
                          "From a frame's last bit in to its admission to the buffer (assumed 500 "
                          "ns); while it "
                          "runs it may grow, and the headroom stays as it was",
                          TimeValue(NanoSeconds(500)),
                          RdmaLive<RdmaSwitch>(MakeTimeAccessor(&RdmaSwitch::m_pipelineLatency),
                                               &RdmaSwitch::ApplyLatency),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute(
                "CutThrough",
                "Frames are passed on while they still come in, where the egress is idle, "
                "not paused and not faster; else they are stored",
                BooleanValue(false),
                RdmaFixed<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_cutThrough)),
                MakeBooleanChecker())
            .AddAttribute("BufferPer100G",
                          "Shared buffer for each 100 Gb/s of port rate (bytes); HPCC artifact: 32 "
                          "MB over 3.2 Tb/s",
                          UintegerValue(1000000),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_bufferPer100G)),
                          MakeUintegerChecker<uint64_t>(1, MOST_BUFFER))
            .AddAttribute("BufferBytes",
                          "Shared buffer of the whole switch (bytes); 0: by Chip, or else by "
                          "BufferPer100G",
                          UintegerValue(0),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_bufferBytes)),
                          MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("Chip",
                          "Shared buffer of a well-known chip: trident2, trident3, tomahawk, "
                          "tomahawk2, tomahawk3, tomahawk4, spectrum, spectrum2 (their sources: "
                          "core/switch-chips.h); empty: none",
                          StringValue(""),
                          RdmaFixed<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_chip)),
                          MakeStringChecker())
            .AddAttribute(
                "BufferPolicy",
                "Threshold of a queue: dynamic (alpha x free), static (alpha x pool), or an "
                "RdmaBufferPolicy: abm (alpha x free, by drain rate and congested queues), fair, "
                "headroom-pools",
                StringValue(rdma::kDynamicPolicy.name),
                RdmaFixed<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_policy)),
                MakeStringChecker())
            .AddAttribute(
                "Pfc",
                "Priority flow control on the lossless priorities; off: all priorities are lossy",
                BooleanValue(true),
                RdmaFixed<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_pfc)),
                MakeBooleanChecker())
            .AddAttribute("LosslessPriorities",
                          "Bit p set: priority p is lossless (mask)",
                          UintegerValue(0x08),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_losslessMask)),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("Alpha",
                          "Share of the free pool that a lossless (port, priority) may hold before "
                          "XOFF; HPCC artifact",
                          DoubleValue(1.0 / 8),
                          RdmaLive<RdmaSwitch>(MakeDoubleAccessor(&RdmaSwitch::m_alpha),
                                               &RdmaSwitch::ApplyAlphas),
                          MakeDoubleChecker<double>(0.0001, 64))
            .AddAttribute(
                "AlphaLossy",
                "Share of the free pool up to which a lossy egress queue may grow (assumed)",
                DoubleValue(1),
                RdmaLive<RdmaSwitch>(MakeDoubleAccessor(&RdmaSwitch::m_alphaLossy),
                                     &RdmaSwitch::ApplyAlphas),
                MakeDoubleChecker<double>(0.0001, 64))
            .AddAttribute("AlphaOfPriority",
                          "Alpha of some priorities instead of Alpha or AlphaLossy: 3:0.25,4:1",
                          StringValue(""),
                          RdmaLive<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_alphaOfPriority),
                                               &RdmaSwitch::ApplyAlphas),
                          MakeStringChecker())
            .AddAttribute(
                "GuaranteedBytes",
                "Guaranteed minimum of each lossless (port, priority) (bytes); HPCC artifact",
                UintegerValue(4096),
                RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_guaranteedBytes)),
                MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("XonOffset",
                          "XON this far below the XOFF threshold, but at least two of the largest "
                          "frames (bytes); HPCC artifact",
                          UintegerValue(3072),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_xonOffset)),
                          MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("StaticXoff",
                          "Bytes of the shared pool from which on a lossless (port, priority) is "
                          "paused, whatever is free; 0: by Alpha",
                          UintegerValue(0),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_staticXoff)),
                          MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("Shaper",
                          "Rates that priorities of its ports may not exceed, by token buckets, "
                          "with the bytes that may go at once (8192): 3:25Gbps,4:10Gbps:64KB",
                          StringValue(""),
                          RdmaFixed<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_shaper)),
                          MakeStringChecker())
            .AddAttribute("PauseQuanta",
                          "Length of a pause (512 bit times); refreshed after half of it while the "
                          "cause lasts",
                          UintegerValue(65535),
                          MakeUintegerAccessor(&RdmaSwitch::m_pauseQuanta),
                          MakeUintegerChecker<uint16_t>(64))
            .AddAttribute(
                "Arrivals",
                "Which of the lossy frames that come to a full queue within a frame time are lost: "
                "by lottery, or fixed, those that come last",
                EnumValue(RdmaSwitch::LOTTERY),
                RdmaFixed<RdmaSwitch>(MakeEnumMemberAccessor(&RdmaSwitch::m_arrivals)),
                MakeEnumChecker(RdmaSwitch::LOTTERY, "lottery", RdmaSwitch::FIXED, "fixed"))
            .AddAttribute(
                "PfcWatchdogDetection",
                "A queue whose frames a pause holds for this long has a pause storm; 0: no "
                "watchdog. SONiC: 200 ms",
                TimeValue(Time(0)),
                RdmaFixed<RdmaSwitch>(MakeTimeAccessor(&RdmaSwitch::m_watchdogDetection)),
                MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute(
                "PfcWatchdogRestoration",
                "A storm is over this long after its last pause ended; 0: twice the "
                "detection time, as SONiC has it",
                TimeValue(Time(0)),
                RdmaFixed<RdmaSwitch>(MakeTimeAccessor(&RdmaSwitch::m_watchdogRestoration)),
                MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute(
                "PfcWatchdogAction",
                "What becomes of a stormy queue's frames: drop, or forward in spite of "
                "the pause; SONiC: drop",
                EnumValue(RdmaPfcWatchdog::DROP),
                RdmaFixed<RdmaSwitch>(MakeEnumMemberAccessor(&RdmaSwitch::m_watchdogAction)),
                MakeEnumChecker(RdmaPfcWatchdog::DROP, "drop", RdmaPfcWatchdog::FORWARD, "forward"))
            .AddAttribute("Marker",
                          "Which ECN-capable frames are marked: codel, phantom, pie, red-average, "
                          "step, tcn or another RdmaMarker; empty: by RED on the egress queue, as "
                          "EcnKmin says",
                          StringValue(""),
                          RdmaFixed<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_marker)),
                          MakeStringChecker())
            .AddAttribute("Ecn",
                          "Mark ECN-capable frames by RED on the egress queue, or by Marker",
                          BooleanValue(true),
                          RdmaLive<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_ecn),
                                               &RdmaSwitch::ApplyEcn),
                          MakeBooleanChecker())
            .AddAttribute("EcnMarkOnEnqueue",
                          "Look at the queue when a frame joins it instead of when it leaves",
                          BooleanValue(false),
                          RdmaLive<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_markOnEnqueue),
                                               &RdmaSwitch::ApplyEcn),
                          MakeBooleanChecker())
            .AddAttribute("EcnBehind",
                          "At dequeue, look at the queue behind the frame: without its own bytes, "
                          "as HPCC's ns-3 code does",
                          BooleanValue(false),
                          RdmaLive<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_markBehind),
                                               &RdmaSwitch::ApplyEcn),
                          MakeBooleanChecker())
            .AddAttribute("EcnBySojourn",
                          "Mark by a frame's time in the queue instead of the queue's bytes; "
                          "EcnKmin and EcnKmax are their times at 100 Gb/s",
                          BooleanValue(false),
                          RdmaLive<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_markBySojourn),
                                               &RdmaSwitch::ApplyEcn),
                          MakeBooleanChecker())
            .AddAttribute("EcnKmin",
                          "Queue from which frames are marked, per 100 Gb/s (bytes); HPCC paper",
                          UintegerValue(rdma::EcnParameters().kmin.value),
                          RdmaLive<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_ecnKmin),
                                               &RdmaSwitch::ApplyEcn),
                          MakeUintegerChecker<uint64_t>(0, MAX_THRESHOLD))
            .AddAttribute(
                "EcnKmax",
                "Queue from which all frames are marked, per 100 Gb/s (bytes); HPCC paper",
                UintegerValue(rdma::EcnParameters().kmax.value),
                RdmaLive<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_ecnKmax),
                                     &RdmaSwitch::ApplyEcn),
                MakeUintegerChecker<uint64_t>(0, MAX_THRESHOLD))
            .AddAttribute("EcnPmax",
                          "Probability of a mark just below EcnKmax; HPCC artifact",
                          DoubleValue(rdma::EcnParameters().pmax),
                          RdmaLive<RdmaSwitch>(MakeDoubleAccessor(&RdmaSwitch::m_ecnPmax),
                                               &RdmaSwitch::ApplyEcn),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("EcnOfPriority",
                          "Kmin-Kmax or Kmin-Kmax-Pmax of some priorities instead of EcnKmin, "
                          "EcnKmax and EcnPmax, or off: 3:400KB-1.6MB,4:off",
                          StringValue(""),
                          RdmaLive<RdmaSwitch>(MakeStringAccessor(&RdmaSwitch::m_ecnOfPriority),
                                               &RdmaSwitch::ApplyEcn),
                          MakeStringChecker())
            .AddAttribute(
                "TelemetryOfQueue",
                "Telemetry of switches (HPCC, PowerTCP) is of a frame's priority: its "
                "queue, what frames with telemetry have sent in it, and the rate that "
                "others leave, at least its share by weights; off: of the port",
                BooleanValue(false),
                RdmaFixed<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_telemetryOfQueue)),
                MakeBooleanChecker())
            .AddAttribute("EcnPer100G",
                          "EcnKmin and EcnKmax are for 100 Gb/s and scaled to a port's rate; off: "
                          "they are bytes of every port, as in SONiC's WRED_PROFILE",
                          BooleanValue(true),
                          RdmaLive<RdmaSwitch>(MakeBooleanAccessor(&RdmaSwitch::m_ecnPer100G),
                                               &RdmaSwitch::ApplyEcn),
                          MakeBooleanChecker())
            .AddAttribute("TrimPackets",
                          "Full packets in an egress queue from which on payload is cut off; 0: "
                          "never. NDP: 8",
                          UintegerValue(0),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_trimPackets)),
                          MakeUintegerChecker<uint32_t>(0, 1000000))
            .AddAttribute("TrimRate",
                          "Port rate that TrimPackets is meant for (bit/s, or with a unit); other "
                          "ports in proportion, at least 1 packet; 0: the same for all",
                          DataRateValue(DataRate(0)),
                          RdmaFixed<RdmaSwitch>(MakeDataRateAccessor(&RdmaSwitch::m_trimRate)),
                          MakeDataRateChecker())
            .AddAttribute(
                "TrimHeaderBytes",
                "Queue of headers of a port (bytes); 0: twice TrimPackets' (NDP's "
                "simulator)",
                UintegerValue(0),
                RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_trimHeaderBytes)),
                MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("TrimPriority",
                          "Priority of the queue of headers; answers have to have it too "
                          "(RdmaNic::AckPriority)",
                          UintegerValue(5),
                          RdmaFixed<RdmaSwitch>(MakeUintegerAccessor(&RdmaSwitch::m_trimPriority)),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("TrimDscp",
                          "DSCP of what has been trimmed (0 to 63; 5, no class of its own: "
                          "assumed)",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaSwitch::m_trimDscp),
                          MakeUintegerChecker<uint8_t>(0, 63))
            .AddAttribute("TrimReturn",
                          "A header that the queue of headers has no room for goes back to its "
                          "sender; off: it is dropped",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaSwitch::m_trimReturn),
                          MakeBooleanChecker())
            .AddTraceSource("Trim",
                            "A packet has lost its payload",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_trimTrace),
                            "ns3::RdmaSwitch::TrimTracedCallback")
            .AddTraceSource("Pfc",
                            "A pause or resume is sent upstream",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_pfcTrace),
                            "ns3::RdmaSwitch::PfcTracedCallback")
            .AddTraceSource("PfcStorm",
                            "The PFC watchdog finds a pause storm, or its end",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_stormTrace),
                            "ns3::RdmaSwitch::StormTracedCallback");
    return tid;
}

std::string
RdmaSwitch::ConfigureBuffer(rdma::SharedBufferConfig& config) const
{
    config.losslessMask = m_pfc ? m_losslessMask : 0;
    config.guaranteedBytes = m_guaranteedBytes;
    config.alpha = m_alpha;
    config.alphaLossy = m_alphaLossy;
    config.countUsed = m_policy != rdma::kStaticPolicy.name;
    config.totalBytes = m_bufferBytes;
    if (m_bufferBytes == 0 && !m_chip.empty())
    {
        const rdma::SwitchChip* chip = rdma::FindSwitchChip(m_chip);
        if (!chip)
        {
            std::string names;
            for (const rdma::SwitchChip& known : rdma::SwitchChips())
            {
                names += std::string(names.empty() ? "" : ", ") + known.name;
            }
            return "ns3::RdmaSwitch::Chip: '" + rdma::Shown(m_chip, 60) +
                   "' is unknown; allowed: " + names;
        }
        config.totalBytes = chip->bufferBytes;
    }
    const char* at = m_alphaOfPriority.c_str();
    while (*at)
    {
        char* end;
        const unsigned long priority = std::strtoul(at, &end, 10);
        const bool colon = end == at + 1 && priority < RdmaPort::PRIORITIES && *end == ':';
        at = end + 1;
        const double alpha = colon ? std::strtod(at, &end) : 0;
        if (!(alpha >= 0.0001 && alpha <= 64) || end == at || (*end && *end != ','))
        {
            return "ns3::RdmaSwitch::AlphaOfPriority: '" + rdma::Shown(m_alphaOfPriority, 60) +
                   "'; allowed: a list of priority:alpha as 3:0.25,4:1, priorities 0 to 7, alphas "
                   "0.0001 to 64";
        }
        config.alphaOf[priority] = alpha;
        at = *end ? end + 1 : end;
    }
    config.alphaOfPort.resize(m_ports.size());
    for (std::size_t i = 0; i < m_ports.size(); ++i)
    {
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            config.alphaOfPort[i][p] = m_ports[i]->GetAlpha(config.losslessMask >> p & 1);
        }
    }
    return {};
}

std::string
RdmaSwitch::MakePolicy()
{
    m_bufferPolicy = nullptr;
    if (m_policy == rdma::kDynamicPolicy.name || m_policy == rdma::kStaticPolicy.name)
    {
        return {};
    }
    ObjectFactory factory;
    const std::string error =
        RdmaFindClass<RdmaBufferPolicy>("ns3::RdmaSwitch::BufferPolicy",
                                        m_policy,
                                        {rdma::kDynamicPolicy.name, rdma::kStaticPolicy.name},
                                        factory);
    if (error.empty())
    {
        m_bufferPolicy = factory.Create<RdmaBufferPolicy>();
    }
    return error;
}

bool
RdmaSwitch::HasCells() const
{
    return std::any_of(m_ports.begin(), m_ports.end(), [](const auto& port) {
        return port->GetCreditMask() != 0;
    });
}

rdma::QueueLimit*
RdmaSwitch::MakeLimit()
{
    rdma::QueueLimit* limit =
        m_bufferPolicy && m_bufferPolicy->LimitsQueues() ? PeekPointer(m_bufferPolicy) : nullptr;
    std::vector<uint64_t> bytes;
    for (const auto& port : m_ports)
    {
        bytes.push_back(port->GetStaticXoff() ? port->GetStaticXoff() : m_staticXoff);
    }
    if (std::any_of(bytes.begin(), bytes.end(), [](uint64_t b) { return b > 0; }))
    {
        m_xoffLimit = std::make_unique<rdma::StaticXoffLimit>(std::move(bytes), limit);
        limit = m_xoffLimit.get();
    }
    std::vector<RdmaPort*> ports;
    for (const auto& port : m_ports)
    {
        ports.push_back(PeekPointer(port));
    }
    if (HasCells())
    {
        m_creditReturns = std::make_unique<RdmaCreditReturns>(std::move(ports), limit);
        limit = m_creditReturns.get();
    }
    return limit;
}

void
RdmaSwitch::ApplyAlphas()
{
    NS_LOG_FUNCTION(this);
    rdma::SharedBufferConfig config;
    const std::string error = ConfigureBuffer(config);
    NS_ABORT_MSG_IF(!error.empty(), GetName() << ": " << error);
    m_buffer.SetAlphas(config);
}

void
RdmaSwitch::ApplyLatency()
{
    NS_LOG_FUNCTION(this);
    const int64_t latency = m_pipelineLatency.GetPicoSeconds();
    NS_ABORT_MSG_IF(latency < m_startedLatency,
                    GetName() << ": ns3::RdmaSwitch::PipelineLatency: " << latency
                              << " ps is less than the " << m_startedLatency
                              << " ps so far, so frames would overtake those in the pipeline; "
                                 "allowed: the same, or more");
    m_startedLatency = latency;
    for (const auto& port : m_ports)
    {
        port->SetReceiveLatency(latency);
    }
}

std::string
RdmaSwitch::Start(uint32_t largestFrameBytes)
{
    NS_LOG_FUNCTION(this << largestFrameBytes);
    const int64_t pipeline = m_pipelineLatency.GetPicoSeconds();
    m_startedLatency = pipeline;
    rdma::SharedBufferConfig config;
    std::string error = ConfigureBuffer(config);
    if (!error.empty())
    {
        return GetName() + ": " + error;
    }
    error = MakePolicy();
    error = error.empty() ? MakeMarkers() : error;
    error = error.empty() ? CheckEcn() : error;
    error = error.empty() ? CheckLoadBalancer(true) : error;
    if (error.empty() && m_cutThrough && GetLoadBalancer() && GetLoadBalancer()->TakesFrames())
    {
        error = "ns3::RdmaSwitch::CutThrough: load balancer '" + GetLoadBalancerName() +
                "' keeps frames for a while, which takes whole ones; allowed with it: false";
    }
    if (error.empty() && HasCells() && (m_cutThrough || m_watchdogDetection.IsStrictlyPositive()))
    {
        error = std::string("ns3::RdmaPort::FlowControl=cbfc: ") +
                (m_cutThrough ? "what cuts through is in no buffer; allowed with it: "
                                "ns3::RdmaSwitch::CutThrough=false"
                              : "the PFC watchdog is for pauses; allowed with it: "
                                "ns3::RdmaSwitch::PfcWatchdogDetection=0");
    }
    if (!error.empty())
    {
        return GetName() + ": " + error;
    }
    config.xonOffset = std::max<uint64_t>(m_xonOffset, 2 * largestFrameBytes);
    double total = 0;
    uint64_t ofUnits = 0;
    m_lineOverhead = m_ports.front()->GetLineOverhead();
    m_drawSeed = uint64_t{m_random->GetInteger(0, UINT32_MAX)} << 32;
    for (const auto& port : m_ports)
    {
        if (port->GetLineOverhead() != m_lineOverhead)
        {
            return GetName() + ": ns3::RdmaPort::LineOverhead is not the same at all ports";
        }
        port->SetReceiveLatency(pipeline);
        const bool ofUnit = m_isOfUnit[config.headroomBytes.size()];
        const double scale = static_cast<double>(port->GetRate()) / 100e9;
        total += ofUnit ? 0 : scale * static_cast<double>(m_bufferPer100G);
        config.headroomBytes.push_back(
            port->GetCreditMask()
                ? port->GetCreditBytes() *
                      static_cast<uint64_t>(__builtin_popcount(port->GetCreditMask()))
            : m_pfc ? rdma::HeadroomBytes(rdma::BitRate(port->GetRate()),
                                          rdma::Duration(port->GetDelayPs()),
                                          rdma::Duration(pipeline),
                                          rdma::Duration(port->GetPeer()->GetPauseResponsePs()),
                                          rdma::Bytes(largestFrameBytes),
                                          rdma::Duration(port->GetTransmitTimeUnitPs()))
                              .value *
                          static_cast<uint64_t>(__builtin_popcount(m_losslessMask))
                    : 0);
        if (ofUnit)
        {
            ofUnits += config.headroomBytes.back() +
                       config.guaranteedBytes *
                           static_cast<uint64_t>(__builtin_popcount(config.losslessMask));
        }
        config.portRates.push_back(port->GetRate());
        m_draws.push_back(rdma::Mix64(m_drawSeed | m_draws.size()));
    }
    m_toldQueues.assign(m_telemetryOfQueue ? m_ports.size() * RdmaPort::PRIORITIES : 0, {});
    if (config.totalBytes == 0)
    {
        config.totalBytes = static_cast<uint64_t>(total);
    }
    config.totalBytes += ofUnits;
    error = StartMarkers();
    if (error.empty() && m_bufferPolicy)
    {
        error = m_bufferPolicy->Attach(config);
    }
    if (!error.empty())
    {
        return GetName() + ": " + error;
    }
    ApplyEcn();
    error = rdma::SharedBuffer::WhyNot(config);
    if (!error.empty())
    {
        return GetName() + ": " + RdmaCreditReturns::WhyTooLarge(m_ports, config) + error +
               "; what decides: ns3::RdmaSwitch::BufferBytes, BufferPer100G, Chip, "
               "GuaranteedBytes, PipelineLatency, ns3::RdmaPort::PauseResponse, InterfaceDelay "
               "and the delays of its links";
    }
    m_buffer = rdma::SharedBuffer(config, MakeLimit());
    error = StartTrimming(largestFrameBytes);
    if (!error.empty())
    {
        return error;
    }
    if (m_cutThrough)
    {
        m_passing = std::make_unique<RdmaCutThrough>(*this, m_ports, pipeline);
    }
    if (m_watchdogDetection.IsStrictlyPositive())
    {
        const int64_t detection = m_watchdogDetection.GetPicoSeconds();
        const int64_t restoration = m_watchdogRestoration.GetPicoSeconds();
        m_watchdog = std::make_unique<RdmaPfcWatchdog>(
            m_ports,
            RdmaPfcWatchdog::Config{detection,
                                    restoration ? restoration : 2 * detection,
                                    m_watchdogAction},
            [this](RdmaPort* port, uint8_t priority, bool begins, int64_t now) {
                m_stormTrace(port, priority, begins, now);
            },
            [this](RdmaPort* port, RdmaFrame* frame, int64_t now) {
                DropQueued(port, frame, PFC_WATCHDOG, now);
            });
    }
    return {};
}

} // namespace ns3
