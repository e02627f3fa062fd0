/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/protocol-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/load-balancing.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/network-kinds.h"
#include "topologies/limits.h"

namespace scenario
{

namespace
{

struct Control
{
    const char* name;
    const char* type; ///< in ns-3
    const char* description;
};

/// ns-3's own, with its constants. Not BBR, whose random numbers follow from the order in which
/// sockets are made.
constexpr Control kControls[] = {
    {"cubic", "ns3::TcpCubic", "CUBIC"},
    {"newreno", "ns3::TcpNewReno", "NewReno (RFC 6582)"},
    {"dctcp", "ns3::TcpDctcp", "DCTCP (RFC 8257), by the switches' marks"},
    {"vegas", "ns3::TcpVegas", "Vegas"},
};

std::vector<NamedItem>
ControlItems()
{
    std::vector<NamedItem> items;
    for (const Control& control : kControls)
    {
        items.push_back({control.name, control.description});
    }
    return items;
}

} // namespace

std::vector<Option>
ProtocolOptionRows(const Section& section)
{
    return {
        section.Name("protocol", "what carries flows")
            .As(&asked::Traffic::protocol)
            .Names("protocol",
                   {{"rdma", "RDMA"},
                    {"tcp",
                     "TCP of ns-3 over the same ports, priorities and buffers; Ethernet, one "
                     "thread and one process"},
                    {"udp", "UDP of ns-3, the same: at a constant rate, and what is lost is lost"}})
            .Default("rdma")
            .Example("tcp"),
        section.Name("tcp-control", "congestion control of TCP")
            .As(&asked::Traffic::tcpControl)
            .Names("congestion control of TCP", ControlItems)
            .Otherwise("cubic")
            .Example("dctcp")
            .Only(when::Is("protocol", {"tcp"})),
        section
            .Integer("packet-mtu",
                     "largest IP packet, its headers included (bytes); buffers are "
                     "prepared for it")
            .As(&asked::Traffic::packetMtu)
            .Otherwise("1500")
            .Range(576, 9000)
            .Example("9000")
            .Only(when::Is("protocol", {"tcp", "udp"})),
        section
            .Rate("rate",
                  "at which each flow sends its bytes, headers not counted, until it has "
                  "sent all of them")
            .As(&asked::Traffic::rate)
            .Otherwise("what its NIC's port carries")
            .Range(1000, topo::kFastestLink.bps)
            .Example("30Gbps")
            .Only(when::Is("protocol", {"udp"})),
    };
}

ProtocolSpec
ApplyProtocol(Validation* v, const FabricSpec& fabric)
{
    Values& values = v->values;
    ProtocolSpec spec;
    const std::string protocol = values.Get(&asked::Traffic::protocol);
    spec.carrier = protocol == "tcp"   ? Carrier::kTcp
                   : protocol == "udp" ? Carrier::kUdp
                                       : Carrier::kRdma;
    const std::string with = "--protocol=" + protocol;
    if (values.Get(&asked::Fabric::transport) != "rc")
    {
        v->usual.insert("loss-recovery"); // the transport has decided on it
    }
    v->Settle(&asked::Traffic::protocol);
    if (!spec.IsOrdinary())
    {
        return spec;
    }
    if (spec.IsTcp())
    {
        v->DecideUnlessGiven(&asked::Traffic::tcpControl, "cubic");
    }
    else
    {
        spec.control = values.Given(&asked::Traffic::rate)
                           ? CanonicalRate(values.Get(&asked::Traffic::rate).bps)
                           : "";
    }
    v->DecideUnlessGiven(&asked::Traffic::packetMtu, 1500);
    // A lossy priority: switches drop packets that they have no room for, and do not pause.
    v->DecideUnlessGiven(&asked::Traffic::priority, 0);
    if (fabric.infiniBand)
    {
        v->Fail(&asked::Traffic::protocol,
                "is " + spec.Text() +
                    " on Ethernet, and InfiniBand's IPoIB is not modelled; allowed with "
                    "--fabric=ib: rdma");
    }
    if (!HasPackets(fabric))
    {
        v->Fail(&asked::Traffic::protocol,
                "sends packets; allowed with --network=" + fabric.network + ": rdma");
    }
    if (values.Get(&asked::Traffic::operation) != "write")
    {
        v->Fail(&asked::Traffic::operation, "is a verb of RDMA; allowed with " + with + ": write");
    }
    for (const auto of : {&asked::Run::traceQps, &asked::Run::tracePaths})
    {
        if (!values.Get(of).empty())
        {
            v->Fail(of, "follows queue pairs; allowed with " + with + ": none");
        }
    }
    const std::string& balancer = values.Get(&asked::Fabric::loadBalancer);
    if (balancer == "reps" || balancer == "plb")
    {
        v->Fail(
            &asked::Fabric::loadBalancer,
            "is of RDMA's senders; allowed with " + with +
                ": ecmp, wcmp, spray, flowlet, drill, conga, conweave, adaptive, valiant, ugal");
    }
    const LoadBalancer* scheme = FindLoadBalancer(balancer);
    if (spec.IsTcp() && scheme && scheme->where == LoadBalancer::Where::kSwitches &&
        scheme->order == LoadBalancer::Order::kLost)
    {
        v->notes.push_back("warning: --load-balancer=" + balancer +
                           " with --protocol=tcp: packets overtake each other, and TCP takes "
                           "those that are overtaken by three for lost");
    }
    spec.control = spec.IsTcp() ? values.Get(&asked::Traffic::tcpControl) : spec.control;
    for (const Control& control : kControls)
    {
        spec.controlType = spec.control == control.name ? control.type : spec.controlType;
    }
    spec.packetMtu = values.Get(&asked::Traffic::packetMtu);
    return spec;
}

void
SettleThreads(Validation* v, const ProtocolSpec& protocol, RunOptions* run)
{
    if (!protocol.IsOrdinary())
    {
        return;
    }
    if (run->processes.Several())
    {
        v->Fail(&asked::Traffic::protocol,
                "is of one process with " + protocol.Name() + "; allowed without " +
                    run->processes.by);
    }
    if (run->threads > 1)
    {
        v->Fail(&asked::Run::threads,
                "ns-3's " + protocol.Text() + " is made for one thread; allowed: 1, or without " +
                    protocol.Text());
    }
    run->threads = 1;
}

} // namespace scenario
