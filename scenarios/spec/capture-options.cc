/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/capture-options.h"

#include "contrib/rdma/core/ib-sizes.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"

#include <charconv>

namespace scenario
{

namespace
{

/// The node of "host" or "host:port". Empty if it is one, else what is wrong.
std::string
CheckHostName(const topo::Topology& topology,
              const std::string& name,
              topo::NodeId* host,
              std::string* nearest)
{
    std::string port;
    auto node = topology.FindNode(name);
    // Names may hold ':' themselves, so the last one counts.
    if (const auto colon = name.rfind(':'); !node && colon != std::string::npos)
    {
        node = topology.FindNode(name.substr(0, colon));
        port = name.substr(colon + 1);
    }
    if (!node)
    {
        std::vector<std::string> names;
        for (size_t i = 0; i < topology.Hosts().size() && i < 5000; ++i)
        {
            names.push_back(topology.Nodes()[topology.Hosts()[i]].name);
        }
        *nearest = topo::NearestName(name, names);
        const std::string& example = topology.Nodes()[topology.Hosts().front()].name;
        return "'" + rdma::Shown(name, 60) + "' is no host of this network; allowed: a host (" + example +
               ") or its port (" + example + ":0)";
    }
    const topo::Node& found = topology.Nodes()[*node];
    if (found.kind != topo::NodeKind::kHost)
    {
        return "'" + rdma::Shown(found.name, 60) +
               "' is a switch; allowed: hosts and their ports, where flows begin and end";
    }
    if (!port.empty() || name.back() == ':')
    {
        uint32_t number = 0;
        const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), number);
        if (bad != std::errc() || end != port.data() + port.size() || number >= found.ports.size())
        {
            return "'" + rdma::Shown(name, 60) + "' is no port; allowed: " + found.name +
                   ":0 to :" + std::to_string(found.ports.size() - 1);
        }
    }
    *host = *node;
    return "";
}

/// The word for what links say to each other, which belongs to no flow.
const char*
LinkControl(bool infiniBand)
{
    return infiniBand ? "credits" : "pfc";
}

} // namespace

std::vector<Option>
CaptureOptionRows(const std::string& group, const std::string& json)
{
    return {
        Opt("pcap-format", Kind::kName, json, group, "pcap: a file for each port; pcapng: one file, an interface for each port")
            .Names("capture format",
                   {{"pcap", "a file for each port"},
                    {"pcapng", "one file, an interface for each port, with directions"}})
            .Otherwise("pcap")
            .Example("pcapng"),
        Opt("pcap-snaplen",
            Kind::kBytes,
            json,
            group,
            "bytes kept of each frame; 96 takes all headers, but tshark calls cut data packets malformed")
            .Shows("BYTES")
            .Otherwise("all")
            .Range(14, 262144)
            .Example("96"),
        Opt("pcap-size",
            Kind::kBytes,
            json,
            group,
            "most of one capture file, which then is not continued, but see --pcap-files")
            .Otherwise("no limit")
            .Range(10000, 1e15)
            .Example("100MB"),
        Opt("pcap-files",
            Kind::kInteger,
            json,
            group,
            "with --pcap-size: ring of files, the oldest overwritten")
            .Otherwise("no ring")
            .Range(2, 1000)
            .Example("4"),
        Opt("pcap-flow",
            Kind::kList,
            json,
            group,
            "capture these only: data from host (or host:port) SRC to DST, their ACKs, NAKs and "
            "CNPs; with the word pfc PFC frames too, with credits InfiniBand's flow-control packets")
            .Shows("SRC->DST,...")
            .Distinct()
            .Otherwise("everything")
            .Example("server-1->server-0"),
    };
}

std::string
CheckFlowName(const topo::Topology& topology,
              bool infiniBand,
              const std::string& flow,
              std::string* nearest)
{
    const std::string control = LinkControl(infiniBand);
    if (flow == control)
    {
        return "";
    }
    const auto arrow = flow.find("->");
    if (arrow == std::string::npos)
    {
        const auto& hosts = topology.Hosts();
        const std::string allowed = "allowed: SRC->DST (" +
                                    topology.Nodes()[hosts.back()].name + "->" +
                                    topology.Nodes()[hosts.front()].name + "), " + control;
        if (flow == LinkControl(!infiniBand))
        {
            return infiniBand ? "means PFC frames, but the links of --fabric=ib have credits; " +
                                    allowed
                              : "means flow-control packets, but only the links of --fabric=ib "
                                "have credits; " +
                                    allowed;
        }
        *nearest = topo::NearestName(flow, {control});
        return "is no flow; " + allowed;
    }
    const std::string names[] = {flow.substr(0, arrow), flow.substr(arrow + 2)};
    topo::NodeId hosts[2] = {};
    for (int side = 0; side < 2; ++side)
    {
        const std::string wrong = CheckHostName(topology, names[side], &hosts[side], nearest);
        if (!wrong.empty())
        {
            return wrong;
        }
    }
    return hosts[0] == hosts[1] ? "is from a host to itself; allowed: SRC->DST of two hosts" : "";
}

CaptureOptions
MakeCapture(Validation* v, const topo::Topology* topology)
{
    CaptureOptions capture;
    if (v->values.List("pcap").empty())
    {
        v->MustNotBeGiven({"pcap-format", "pcap-snaplen", "pcap-size", "pcap-files", "pcap-flow"},
                          "has no meaning without --pcap, which says where to capture; allowed: "
                          "--pcap=all, a host, a port or a link");
        return capture;
    }
    if (v->values.Given("pcap-files") && !v->values.Given("pcap-size"))
    {
        v->Fail("pcap-files",
                "needs --pcap-size, the size of each file; allowed: --pcap-size=10MB, say");
    }
    const bool infiniBand = v->values.Text("fabric") == "ib";
    if (v->values.Given("pcap-flow") && v->values.List("pcap-flow").empty())
    {
        v->Fail("pcap-flow",
                std::string("needs a value; allowed: SRC->DST,..., ") + LinkControl(infiniBand));
    }
    capture.pcapng = v->values.Text("pcap-format") == "pcapng";
    capture.snapLength = v->values.U32("pcap-snaplen");
    const uint32_t largest =
        v->values.U32("mtu") +
        (infiniBand ? rdma::IbHeaderBytes()
                    : rdma::kEthernetHeaderBytes + rdma::kIpv4HeaderBytes + rdma::kUdpHeaderBytes +
                          rdma::kBthBytes + rdma::kIcrcBytes) +
        rdma::kRethBytes + rdma::kImmDtBytes;
    if (capture.snapLength && capture.snapLength < largest)
    {
        v->notes.push_back("--pcap-snaplen=" + std::to_string(capture.snapLength) +
                           ": tshark and Wireshark show data packets that are cut as \"Invalid Packet "
                           "Length from LRH! [Malformed Packet]\", because their InfiniBand dissector "
                           "wants the whole payload; headers, lengths and sequence numbers are right. "
                           "Packets of up to " +
                           std::to_string(largest) + " B are whole from --pcap-snaplen=" +
                           std::to_string(largest) + " on");
    }
    capture.fileBytes = v->values.Integer("pcap-size");
    capture.files = v->values.U32("pcap-files");
    capture.flows = v->values.List("pcap-flow");
    for (const auto& flow : capture.flows)
    {
        std::string nearest;
        const std::string wrong =
            topology ? CheckFlowName(*topology, infiniBand, flow, &nearest) : "";
        if (!wrong.empty())
        {
            v->errors.push_back({v->values.Where("pcap-flow"), flow, wrong, nearest});
        }
    }
    return capture;
}

} // namespace scenario
