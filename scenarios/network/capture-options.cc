/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/capture-options.h"

#include "contrib/rdma/core/added-bytes.h"
#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "topologies/names.h"

#include <map>
#include <set>
#include <tuple>

namespace scenario
{

namespace
{

/// A meaning of a selector: the kind, the node, and the number of its port or its peer.
using Meaning = std::tuple<rdma::Selection, topo::NodeId, uint32_t>;

/// In order, and none twice. \param links whether links are meant too, and `all`
std::set<Meaning>
MeaningsOf(const topo::Topology& topology, const std::string& selector, bool links)
{
    std::set<Meaning> meanings;
    for (topo::NodeId n = 0; n < topology.Nodes().size(); ++n)
    {
        const topo::Node& node = topology.Nodes()[n];
        if (selector.compare(0, node.name.size(), node.name) != 0 && selector != "all")
        {
            continue; // in large networks, skips all but a few
        }
        for (uint32_t port = 0; port < node.ports.size(); ++port)
        {
            const topo::NodeId peer = topology.Peer(n, static_cast<topo::PortId>(port));
            const rdma::Selection how =
                links ? rdma::SelectsPort(selector, node.name, port, topology.Nodes()[peer].name)
                      : rdma::SelectsByNode(selector, node.name, port);
            switch (how)
            {
            case rdma::Selection::kNo:
                break;
            case rdma::Selection::kAll:
                return {{how, 0, 0}};
            case rdma::Selection::kNode:
                meanings.insert({how, n, 0});
                break;
            case rdma::Selection::kPort:
                meanings.insert({how, n, port});
                break;
            case rdma::Selection::kLink:
                meanings.insert({how, n, peer});
                break;
            }
        }
    }
    return meanings;
}

/// "node a:0 or port 0 of a".
std::string
InWords(const topo::Topology& topology, const std::set<Meaning>& meanings)
{
    std::string text;
    for (const auto& [how, node, other] : meanings)
    {
        const std::string name = rdma::Shown(topology.Nodes()[node].name, 60);
        text += text.empty() ? "" : " or ";
        text += how == rdma::Selection::kNode   ? "node " + name
                : how == rdma::Selection::kPort ? "port " + std::to_string(other) + " of " + name
                                                : "the link from " + name + " to " +
                                                      rdma::Shown(topology.Nodes()[other].name, 60);
    }
    return text;
}

/// "server-0:0", or "server-0:0 to :3".
std::string
PortsOf(const topo::Node& node)
{
    return node.name + ":0" +
           (node.ports.size() > 1 ? " to :" + std::to_string(node.ports.size() - 1) : "");
}

/// The node of "node:port", if the node exists and the port does not.
std::optional<topo::NodeId>
NodeBeforeColon(const topo::Topology& topology, const std::string& name)
{
    // Names may hold ':' themselves, so the last one counts.
    const auto colon = name.rfind(':');
    return colon == std::string::npos ? std::nullopt : topology.FindNode(name.substr(0, colon));
}

/// Checks "host" or "host:port"; for a host with one port, both mean the host. Empty if it exists,
/// else the problem.
std::string
CheckHostName(const topo::Topology& topology,
              const std::string& name,
              Meaning* host,
              std::string* nearest)
{
    const std::set<Meaning> meanings = MeaningsOf(topology, name, false);
    if (meanings.size() > 1)
    {
        return "'" + rdma::Shown(name, 60) + "' may mean " + InWords(topology, meanings) +
               "; allowed: a name that means one of them, or another name for the node";
    }
    const auto before = NodeBeforeColon(topology, name);
    if (meanings.empty() && !before)
    {
        std::vector<std::string> names;
        for (size_t i = 0; i < topology.Hosts().size() && i < 5000; ++i)
        {
            names.push_back(topology.Nodes()[topology.Hosts()[i]].name);
        }
        *nearest = rdma::NearestName(name, names);
        const std::string& example = topology.Nodes()[topology.Hosts().front()].name;
        return "'" + rdma::Shown(name, 60) + "' is no host of this network; allowed: a host (" +
               example + ") or its port (" + example + ":0)";
    }
    const topo::Node& found =
        topology.Nodes()[meanings.empty() ? *before : std::get<1>(*meanings.begin())];
    if (found.kind != topo::NodeKind::kHost)
    {
        return "'" + rdma::Shown(found.name, 60) +
               "' is a switch; allowed: hosts and their ports, where flows begin and end";
    }
    if (meanings.empty())
    {
        return "'" + rdma::Shown(name, 60) + "' is no port; allowed: " + PortsOf(found);
    }
    *host = *meanings.begin();
    if (found.ports.size() == 1)
    {
        *host = {rdma::Selection::kNode, std::get<1>(*host), 0};
    }
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
CaptureOptionRows(const Section& section)
{
    const Section captures = section.Only(when::With("pcap"));
    return {
        captures
            .Name("pcap-format",
                  "pcap: a file for each port; pcapng: one file, an interface for each port")
            .As(&asked::Run::pcapFormat)
            .Names("capture format",
                   {{"pcap", "a file for each port"},
                    {"pcapng", "one file, an interface for each port, with directions"}})
            .Otherwise("pcap")
            .Example("pcapng"),
        captures
            .Bytes(
                "pcap-snaplen",
                "bytes kept of each frame; 96 takes all headers, but tshark calls cut data packets "
                "malformed")
            .As(&asked::Run::pcapSnaplen)
            .Shows("BYTES")
            .Otherwise("all")
            .Range(14, 262144)
            .Example("96")
            .To(&CaptureOptions::snapLength),
        captures
            .Bytes("pcap-size",
                   "most of one capture file, which then is not continued, but see --pcap-files")
            .As(&asked::Run::pcapSize)
            .Otherwise("no limit")
            .Range(10000, 1e15)
            .Example("100MB")
            .To(&CaptureOptions::fileBytes),
        captures.Integer("pcap-files", "with --pcap-size: ring of files, the oldest overwritten")
            .As(&asked::Run::pcapFiles)
            .Otherwise("no ring")
            .Range(2, 1000)
            .Example("4")
            .To(&CaptureOptions::files),
        captures
            .List("pcap-flow",
                  "capture only data from SRC to DST (host or host:port) with its ACKs, NAKs and "
                  "CNPs; "
                  "the words pfc and credits add those frames")
            .As(&asked::Run::pcapFlow)
            .Shows("SRC->DST,...")
            .Distinct()
            .Otherwise("everything")
            .Example("server-1->server-0")
            .To(&CaptureOptions::flows),
    };
}

namespace
{

/// As CheckFlowName; of "a->b" also its ends.
std::string
FlowEnds(const topo::Topology& topology,
         bool infiniBand,
         const std::string& flow,
         std::pair<Meaning, Meaning>* ends,
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
        const std::string allowed = "allowed: SRC->DST (" + topology.Nodes()[hosts.back()].name +
                                    "->" + topology.Nodes()[hosts.front()].name + "), " + control;
        if (flow == LinkControl(!infiniBand))
        {
            return infiniBand
                       ? "means PFC frames, but the links of --fabric=ib have credits; " + allowed
                       : "means flow-control packets, but only the links of --fabric=ib "
                         "have credits; " +
                             allowed;
        }
        *nearest = rdma::NearestName(flow, {control});
        return "is no flow; " + allowed;
    }
    const std::string names[] = {flow.substr(0, arrow), flow.substr(arrow + 2)};
    Meaning hosts[2];
    for (int side = 0; side < 2; ++side)
    {
        const std::string wrong = CheckHostName(topology, names[side], &hosts[side], nearest);
        if (!wrong.empty())
        {
            return wrong;
        }
    }
    if (std::get<1>(hosts[0]) == std::get<1>(hosts[1]))
    {
        return "is from a host to itself; allowed: SRC->DST of two hosts";
    }
    *ends = {hosts[0], hosts[1]};
    return "";
}

} // namespace

std::string
CheckFlowName(const topo::Topology& topology,
              bool infiniBand,
              const std::string& flow,
              std::string* nearest)
{
    std::pair<Meaning, Meaning> ends;
    return FlowEnds(topology, infiniBand, flow, &ends, nearest);
}

std::string
CheckCaptureName(const topo::Topology& topology, const std::string& name, std::string* nearest)
{
    if (name == "all" && topology.FindNode(name))
    {
        return "means every port, and this network has a node of that name; allowed: its ports, "
               "all:0 and on, or another name for the node";
    }
    const std::set<Meaning> meanings = MeaningsOf(topology, name, true);
    if (meanings.size() > 1)
    {
        return "may mean " + InWords(topology, meanings) +
               "; allowed: a name that means one of them, or other names for the nodes";
    }
    if (!meanings.empty())
    {
        return "";
    }
    const std::string circuits = topo::WhyNoCircuitSwitch(topology, name);
    if (!circuits.empty())
    {
        return circuits;
    }
    if (const auto node = NodeBeforeColon(topology, name))
    {
        return "has no such port; allowed: " + PortsOf(topology.Nodes()[*node]);
    }
    // "a-b", where a and b have '-' of their own.
    for (size_t dash = name.find('-'); dash != std::string::npos; dash = name.find('-', dash + 1))
    {
        const std::string first = name.substr(0, dash);
        const std::string second = name.substr(dash + (name.compare(dash, 2, "->") == 0 ? 2 : 1));
        if (topology.FindNode(first) && topology.FindNode(second))
        {
            return first + " and " + second + " are no neighbours: there is no link " + first +
                   "->" + second;
        }
    }
    std::vector<std::string> names{"all"};
    for (const auto& node : topology.Nodes())
    {
        names.push_back(node.name);
        if (names.size() > 5000)
        {
            break;
        }
    }
    *nearest = rdma::NearestName(name, names);
    return "is no node, port or link of this network; allowed: all, a node (" +
           topology.Nodes().front().name + "), a port (" + topology.Nodes().back().name +
           ":0) or a link (" + topology.LinkName(0, true) + ")";
}

void
CheckCaptureNames(Validation* v, const topo::Topology& topology)
{
    const std::vector<std::string>& names = v->values.Get(&asked::Run::pcap);
    const std::string where = v->values.Where(&asked::Run::pcap);
    std::map<std::set<Meaning>, std::string> known;
    for (const std::string& name : names)
    {
        std::string nearest;
        std::string wrong = CheckCaptureName(topology, name, &nearest);
        if (wrong.empty() && name == "all" && names.size() > 1)
        {
            wrong = "is every port, so nothing can stand beside it; allowed: all alone, or names "
                    "of nodes, ports and links";
        }
        if (wrong.empty())
        {
            const auto [same, isNew] = known.emplace(MeaningsOf(topology, name, true), name);
            wrong = isNew ? ""
                          : "means the same as " + rdma::Shown(same->second, 60) +
                                "; allowed: each node, port and link once";
        }
        if (!wrong.empty())
        {
            v->errors.push_back({where, name, wrong, nearest});
        }
    }
}

CaptureOptions
MakeCapture(Validation* v, const topo::Topology* topology)
{
    CaptureOptions capture;
    if (v->values.Get(&asked::Run::pcap).empty())
    {
        v->Settle(&asked::Run::pcap);
        return capture;
    }
    if (v->values.Given(&asked::Run::pcapFiles) && !v->values.Given(&asked::Run::pcapSize))
    {
        v->Fail(&asked::Run::pcapFiles,
                "needs --pcap-size, the size of each file; allowed: --pcap-size=10MB, say");
    }
    const bool infiniBand = v->values.Get(&asked::Fabric::fabric) == "ib";
    if (v->values.Given(&asked::Run::pcapFlow) && v->values.Get(&asked::Run::pcapFlow).empty())
    {
        v->Fail(&asked::Run::pcapFlow,
                std::string("needs a value; allowed: SRC->DST,..., ") + LinkControl(infiniBand));
    }
    capture.pcapng = v->values.Get(&asked::Run::pcapFormat) == "pcapng";
    v->Fill(&capture);
    const uint32_t largest =
        v->values.Get(&asked::Fabric::mtu) +
        (infiniBand ? rdma::IbHeaderBytes()
                    : rdma::kEthernetHeaderBytes + rdma::kIpv4HeaderBytes + rdma::kUdpHeaderBytes +
                          rdma::kBthBytes + rdma::kIcrcBytes) +
        rdma::kRethBytes + rdma::kImmDtBytes +
        rdma::AddsToData::Of(v->values.Get(&asked::Fabric::cc),
                             v->values.Get(&asked::Fabric::ccPreset));
    if (capture.snapLength && capture.snapLength < largest)
    {
        v->notes.push_back(
            "--pcap-snaplen=" + std::to_string(capture.snapLength) +
            ": tshark and Wireshark show data packets that are cut as \"Invalid Packet "
            "Length from LRH! [Malformed Packet]\", because their InfiniBand dissector "
            "wants the whole payload; headers, lengths and sequence numbers are right. "
            "Packets of up to " +
            std::to_string(largest) +
            " B are whole from --pcap-snaplen=" + std::to_string(largest) + " on");
    }
    std::map<std::pair<Meaning, Meaning>, std::string> known;
    for (const auto& flow : capture.flows)
    {
        std::string nearest;
        std::pair<Meaning, Meaning> ends;
        std::string wrong = topology ? FlowEnds(*topology, infiniBand, flow, &ends, &nearest) : "";
        if (topology && wrong.empty())
        {
            const auto [same, isNew] = known.emplace(ends, flow);
            wrong = isNew ? ""
                          : "means the same as " + rdma::Shown(same->second, 60) +
                                "; allowed: each flow once";
        }
        if (!wrong.empty())
        {
            v->errors.push_back({v->values.Where(&asked::Run::pcapFlow), flow, wrong, nearest});
        }
    }
    return capture;
}

} // namespace scenario
