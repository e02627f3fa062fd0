/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/compat.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/traffic/hpcc-times.h"

namespace scenario
{

namespace
{

struct Default
{
    const char* option;
    const char* value;
};

/// HPCC's ns-3 code, alibaba-edu/High-Precision-Congestion-Control, simulation/. What an option is
/// there: its key in a configuration file (the values are run.py's), or the file that fixes it.
constexpr Default kHpcc[] = {
    {"payload", "1000"},        // PACKET_PAYLOAD_SIZE
    {"header-bytes", "48"},     // custom-header.cc: 14 + 20 + 8 + 6, telemetry not counted
    {"extension-headers", "0"}, // rdma-hw.cc, GetNxtPacket: none, and a flow is one stream of bytes
    {"ack-bytes", "60"},        // rdma-hw.cc, ReceiveUdp: padded to that
    {"line-overhead",
     "0"}, // qbb-net-device.cc, TransmitStart: the packet's bytes alone; InterframeGap 0
    {"time-unit",
     "1ns"},            // the same; ns-3's default resolution, and a double of seconds is cut to it
    {"ack-every", "1"}, // L2_ACK_INTERVAL
    {"ack-priority", "3"}, // switch-node.cc: the priority of the data, as its flow files have it
    {"cnp-priority", "3"}, // the same; marks come back in ACKs there
    {"nak-interval", "500us"}, // rdma-hw.h: NACK Generation Interval
    {"variable-window", "1"},  // VAR_WIN
    {"switch-latency", "0ns"}, // switch-node.cc: forwards at once
    {"ecn-behind", "1"},       // switch-node.cc, SwitchNotifyDequeue: counted out, then looked at
};

} // namespace

std::vector<NamedItem>
CompatItems()
{
    return {{"none", "RoCEv2 as the standards have it"},
            {"hpcc",
             "HPCC's ns-3 code: 1,000 B + 48 B packets, an ACK of 60 B each, no preamble or gap, "
             "times cut to ns, "
             "its window, store-and-forward switches without a pipeline"}};
}

void
ApplyCompat(Validation* v)
{
    if (v->values.Get(&asked::Fabric::compat) != "hpcc")
    {
        return;
    }
    for (const Default& d : kHpcc)
    {
        const bool packetSize = std::string(d.option) == "payload";
        if (!v->values.Given(d.option) && !(packetSize && v->values.Given(&asked::Fabric::mtu)))
        {
            v->Decide(d.option, d.value);
        }
    }
}

void
ApplyCompatToNetwork(Validation* v, const topo::Topology& topology, FabricSpec* fabric)
{
    if (fabric->compat != "hpcc" || v->values.Given(&asked::Fabric::window))
    {
        return;
    }
    fabric->windowBytes = HpccWindow(topology, fabric->mtu); // HAS_WIN, GLOBAL_T
    v->DecideText(&asked::Fabric::window, std::to_string(fabric->windowBytes));
}

std::vector<Option>
FrameOptionRows()
{
    const Section section{"/fabric", "Frames (for --compat)"};
    const Section ethernet = section.Only(when::Ethernet());
    const Section queuePairs = section.Only(when::Packets()).IdleUnless(when::Rdma());
    return {
        ethernet
            .Integer(
                "payload",
                "payload bytes of a packet instead of --mtu, any number; without extension headers")
            .As(&asked::Fabric::payload)
            .Otherwise("hpcc: 1000")
            .Range(16, 9000)
            .Example("1000")
            .SetsForAll("ns3::RdmaNic::Mtu"),
        ethernet
            .Integer("header-bytes",
                     "of a data frame besides payload and extension headers; HPCC's code with "
                     "telemetry: "
                     "90, with TIMELY's time stamp: 56")
            .As(&asked::Fabric::headerBytes)
            .Default("62")
            .Range(0, 1024)
            .Example("90"),
        ethernet
            .Flag("extension-headers",
                  "RETH, immediate data, padding to 4 B, requests of at most 2^31 B")
            .As(&asked::Fabric::extensionHeaders)
            .Default("1"),
        ethernet
            .Integer(
                "ack-bytes",
                "of the frame of an ACK or NAK; a CNP has 12 more; HPCC's code with telemetry: 88")
            .As(&asked::Fabric::ackBytes)
            .Default("66")
            .Range(1, 1012)
            .Example("88"),
        ethernet
            .Integer("line-overhead",
                     "preamble and gap: bytes of line time a frame costs beyond its own")
            .As(&asked::Fabric::lineOverhead)
            .Default("20")
            .Range(0, 63)
            .Example("8"),
        section
            .Duration("time-unit", "serialization times are cut to whole multiples of it; 0: exact")
            .As(&asked::Fabric::timeUnit)
            .Default("0ns")
            .Range(0, 1e9)
            .Example("1ns")
            .SetsForAll("ns3::RdmaPort::TransmitTimeUnit")
            .To(&FabricSpec::timeUnit),
        queuePairs.Integer("ack-priority", "priority of ACKs and NAKs")
            .As(&asked::Fabric::ackPriority)
            .Otherwise("that of their queue pair; hpcc: 3")
            .Range(0, 7)
            .Example("6")
            .Sets("ns3::RdmaNic::AckPriority")
            .Only(when::Ethernet()),
        queuePairs.Integer("cnp-priority", "priority of CNPs")
            .As(&asked::Fabric::cnpPriority)
            .Default("6")
            .Range(0, 7)
            .Example("3")
            .Sets("ns3::RdmaNic::CnpPriority")
            .Only(when::Ethernet()),
        queuePairs
            .Duration(
                "nak-interval",
                "go-back-N: another NAK this long after the last one for the same gap; 0: never")
            .As(&asked::Fabric::nakInterval)
            .Default("0ns")
            .Range(0, 1e12)
            .Example("500us")
            .Sets("ns3::RdmaNic::NakInterval"),
        queuePairs
            .Flag("variable-window",
                  "--window is that at line rate, and shrinks with the congestion control's rate")
            .As(&asked::Fabric::variableWindow)
            .Default("0")
            .Sets("ns3::RdmaNic::VariableWindow")
            .IdleUnless(when::Above("window", 0))
            .To(&FabricSpec::variableWindow),
        ethernet
            .Flag("ecn-behind",
                  "switches mark by the queue behind a frame, without the frame's own bytes")
            .As(&asked::Fabric::ecnBehind)
            .Default("0")
            .Sets("ns3::RdmaSwitch::EcnBehind")
            .Only(when::Packets())
            .To(&FabricSpec::ecnBehind),
    };
}

} // namespace scenario
