/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaPort: attributes and trace sources.
 */
#include "rdma-channel.h"
#include "rdma-fixed-attribute.h"
#include "rdma-gateway.h"
#include "rdma-port.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/node.h"
#include "ns3/ns3-compat.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaPort);

TypeId
RdmaPort::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaPort")
            .SetParent<NetDevice>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaPort>()
            .AddAttribute("StrictPriorities",
                          "Bit p set: priority p is served before all lower ones; the others share "
                          "by deficit weighted "
                          "round robin (mask)",
                          UintegerValue(0xc0),
                          MakeUintegerAccessor(&RdmaPort::m_strict),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("QueueDisc",
                          "Which frame that waits is sent next: fq, pifo, srpt, wrr or another "
                          "RdmaQueueDisc; drr or empty: StrictPriorities, then the others by "
                          "deficit weighted round robin; strict: all priorities are strict",
                          StringValue(""),
                          RdmaFixed<RdmaPort>(MakeStringAccessor(&RdmaPort::m_discName)),
                          MakeStringChecker())
            .AddAttribute("Shaper",
                          "Of a switch's port: rates that priorities may not exceed, with the "
                          "bytes that may go at once (8192): 3:25Gbps,4:10Gbps:64KB; none; empty: "
                          "as RdmaSwitch::Shaper",
                          StringValue(""),
                          RdmaFixed<RdmaPort>(MakeStringAccessor(&RdmaPort::m_shaper)),
                          MakeStringChecker())
            .AddAttribute(
                "LineOverhead",
                "What a frame occupies the line for besides its own bytes: preamble, "
                "start delimiter and inter-packet gap, or 0 for other models (bytes)",
                UintegerValue(RdmaFrame::WIRE_ONLY_BYTES),
                RdmaFixed<RdmaPort>(RdmaCommon(MakeUintegerAccessor(&RdmaPort::m_lineOverhead))),
                MakeUintegerChecker<uint8_t>(0, 63))
            .AddAttribute("Alpha",
                          "Share of the free pool of its switch that each of its lossless "
                          "priorities may hold as ingress before XOFF; 0: as RdmaSwitch::Alpha",
                          DoubleValue(0),
                          RdmaFixed<RdmaPort>(MakeDoubleAccessor(&RdmaPort::m_alpha)),
                          MakeDoubleChecker<double>(0, 64))
            .AddAttribute("AlphaLossy",
                          "Share of the free pool of its switch up to which each of its lossy "
                          "egress queues may grow; 0: as RdmaSwitch::AlphaLossy",
                          DoubleValue(0),
                          RdmaFixed<RdmaPort>(MakeDoubleAccessor(&RdmaPort::m_alphaLossy)),
                          MakeDoubleChecker<double>(0, 64))
            .AddAttribute("StaticXoff",
                          "Bytes of the pool that each of its lossless priorities may hold as "
                          "ingress before XOFF, whatever is free; 0: as RdmaSwitch::StaticXoff",
                          UintegerValue(0),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_staticXoff)),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000))
            .AddAttribute("PauseResponse",
                          "Time until an arriving pause or resume holds, in units of 512 bit times "
                          "of the port; the peer's headroom allows for it (IEEE 802.3 annex "
                          "31B.3.7: core/pfc-delays.h)",
                          UintegerValue(0),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_pauseResponse)),
                          MakeUintegerChecker<uint32_t>(0, 65535))
            .AddAttribute(
                "InterfaceDelay",
                "One-way delay that MAC and PHY at both ends add to a link, in bit times of the "
                "port; the peer's headroom allows for it (IEEE 802.3's limits: core/pfc-delays.h)",
                UintegerValue(0),
                RdmaFixed<RdmaPort>(RdmaCommon(MakeUintegerAccessor(&RdmaPort::m_interfaceDelay))),
                MakeUintegerChecker<uint32_t>(0, 100000000))
            .AddAttribute(
                "TransmitTimeUnit",
                "Serialization times are cut to whole multiples of this, as models that "
                "count in ns do; 0: they are exact, rounded to the nearest ps",
                TimeValue(Time(0)),
                RdmaFixed<RdmaPort>(RdmaCommon(MakeTimeAccessor(&RdmaPort::SetTransmitTimeUnit,
                                                                &RdmaPort::GetTransmitTimeUnit))),
                MakeTimeChecker(Time(0), MilliSeconds(1)))
            .AddAttribute("FlowControl",
                          "What keeps the buffers of lossless priorities from overflowing: pfc, or "
                          "cbfc, Ultra Ethernet's credits. At one end of a link cbfc is enough for "
                          "both",
                          EnumValue(RdmaPort::PFC),
                          RdmaFixed<RdmaPort>(MakeEnumMemberAccessor(&RdmaPort::m_flowControl)),
                          MakeEnumChecker(RdmaPort::PFC, "pfc", RdmaPort::CBFC, "cbfc"))
            .AddAttribute("CreditBuffer",
                          "With cbfc: bytes that each lossless priority has here for what arrives; "
                          "0: as many as one priority needs for the whole rate",
                          UintegerValue(0),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_creditBuffer)),
                          MakeUintegerChecker<uint64_t>(0, 268435200))
            .AddAttribute("CreditUpdateSpacing",
                          "With cbfc: bytes that the line takes from one credit update to the "
                          "next, at least",
                          UintegerValue(6400),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_creditSpacing)),
                          MakeUintegerChecker<uint32_t>(8, 1000000))
            .AddAttribute(
                "LinkRetry",
                "Link-level retry (Ultra Ethernet's LLR): a frame with bit errors is sent "
                "again by its link. At one end of a link it is enough for both",
                BooleanValue(false),
                RdmaFixed<RdmaPort>(MakeBooleanAccessor(&RdmaPort::m_wantsRetry)),
                MakeBooleanChecker())
            .AddAttribute("ReplayBuffer",
                          "With LinkRetry: bytes that wait for an ACK of the peer, from which on "
                          "nothing new is sent",
                          UintegerValue(1048576),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_replayBuffer)),
                          MakeUintegerChecker<uint32_t>(1, 1000000000))
            .AddAttribute("ReplayLimit",
                          "With LinkRetry: replays in a row without an ACK, after which nothing is "
                          "sent until the link has been down, or its cable cut; 0: no limit",
                          UintegerValue(255),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_replayLimit)),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("ReplayTimer",
                          "With LinkRetry: time without an ACK after which all that waits for one "
                          "is sent again; 0: twice the longest that an ACK takes",
                          TimeValue(Time(0)),
                          RdmaFixed<RdmaPort>(MakeTimeAccessor(&RdmaPort::m_replayTimer)),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("RetryAckSpacing",
                          "With LinkRetry: bytes that the line takes from one ACK to the next, at "
                          "least",
                          UintegerValue(2048),
                          RdmaFixed<RdmaPort>(MakeUintegerAccessor(&RdmaPort::m_ackSpacing)),
                          MakeUintegerChecker<uint32_t>(8, 1000000))
            .AddAttribute("ClockTolerance",
                          "Its clock is off by up to this much (ppm), drawn once for each port by "
                          "the seed and the port's name; 0: exact. IEEE 802.3 allows 100",
                          DoubleValue(0),
                          RdmaFixed<RdmaPort>(MakeDoubleAccessor(&RdmaPort::SetClockTolerance,
                                                                 &RdmaPort::GetClockTolerance)),
                          MakeDoubleChecker<double>(0, 1000))
            .AddTraceSource("PhyTx",
                            "A frame starts to be sent",
                            MakeTraceSourceAccessor(&RdmaPort::m_txTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("PhyRx",
                            "A frame has been received without error",
                            MakeTraceSourceAccessor(&RdmaPort::m_rxTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("PhyRxDrop",
                            "A frame has been received with bit errors and is dropped; not told "
                            "of where the link sends it again (LinkRetry)",
                            MakeTraceSourceAccessor(&RdmaPort::m_corruptTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("CutSent",
                            "A frame is sent into a cable that is cut, and lost",
                            MakeTraceSourceAccessor(&RdmaPort::m_cutSentTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("SilentDrop",
                            "A frame has been received and is dropped without a word: a fault",
                            MakeTraceSourceAccessor(&RdmaPort::m_silentDropTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("LinkDown",
                            "A frame is lost as the link goes down: on its way here, or in the "
                            "queue of a host",
                            MakeTraceSourceAccessor(&RdmaPort::m_linkDownTrace),
                            "ns3::RdmaPort::FrameTracedCallback")
            .AddTraceSource("Queue",
                            "Bytes in an egress queue, whenever a frame joins or leaves it",
                            MakeTraceSourceAccessor(&RdmaPort::m_queueTrace),
                            "ns3::RdmaPort::QueueTracedCallback")
            .AddTraceSource("Paused",
                            "PFC stops or releases priorities of the transmitter",
                            MakeTraceSourceAccessor(&RdmaPort::m_pauseTrace),
                            "ns3::RdmaPort::PauseTracedCallback");
    return tid;
}

} // namespace ns3
