/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows of --flows: a file of HPCC's ns-3 code, a connection matrix of htsim, or CSV.
 */
#include "scenarios/asked/traffic.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/traffic-flows.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/network/wiring-check.h"
#include "scenarios/traffic/flow-csv.h"
#include "scenarios/traffic/hpcc-flows.h"
#include "scenarios/traffic/htsim-matrix.h"
#include "topologies/family.h"
#include "topologies/source-paths.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace scenario
{

namespace
{

/// An error of a file, and the kind of file that it was taken for.
std::string
ReadAs(const std::string& error, const char* kind)
{
    return error + "; read as " + kind;
}

/// The class of a flow with these columns.
std::optional<ChannelClass>
ClassOf(const std::vector<std::string>& columns,
        const std::vector<std::string>& fields,
        FabricSpec* fabric,
        ClassProblem* problem)
{
    ClassWish wish;
    for (std::size_t i = 0; i < columns.size(); ++i)
    {
        *wish.Find(columns[i]) = fields[i];
    }
    return FindTrafficClass(fabric, wish, problem);
}

/// \return why flows of a class name no priority; nothing: they may
std::string
WhyNoPriority(const Validation& v, const FabricSpec& fabric, uint8_t trafficClass)
{
    const std::string& transport =
        trafficClass ? fabric.classes[trafficClass - 1].transport : fabric.transport.name;
    return v.values.Get(&asked::Traffic::protocol) == "rdma" ? RefusalOfPriorities(transport) : "";
}

/// The path that a flow names, if it names one. \return what is wrong
std::string
AddPath(const Validation& v,
        const topo::Topology& topology,
        const Flow& flow,
        const std::vector<std::string>& path,
        FabricSpec* fabric)
{
    if (path.empty())
    {
        return "";
    }
    const std::string refused = WhyNoPaths(v);
    return refused.empty() ? topo::AddSourcePath(topology, flow.src, flow.dst, path, &fabric->paths)
                           : refused;
}

/// Hosts of a CSV file: numbers from 0 in every network, or names.
void
ReadCsvFlows(Validation* v,
             const Network& network,
             const std::string& text,
             const std::string& file,
             TrafficScenario* s)
{
    const auto& topology = network.topology;
    const auto& hosts = topology.Hosts();
    // Name, and name with port, to the endpoint; the former, and numbers, stand for the host, whose
    // ports take turns.
    std::unordered_map<std::string, uint32_t> hostOf;
    std::unordered_map<std::string, topo::EndpointId> endpointOf;
    const uint32_t byPort = static_cast<uint32_t>(hosts.size()); // added to an endpoint
    std::vector<PortTurns::Side> sides(hosts.size() + topology.Endpoints().size());
    for (uint32_t h = 0; h < hosts.size(); ++h)
    {
        const topo::Node& node = topology.Nodes()[hosts[h]];
        sides[h] = {h, {}};
        hostOf.emplace(std::to_string(h), h);
        hostOf[node.name] = h;
        for (uint32_t p = 0; p < node.ports.size(); ++p)
        {
            const auto port = static_cast<topo::PortId>(p);
            sides[byPort + topology.EndpointOf(h, port)] = {h, port};
            endpointOf.emplace(node.name + ":" + std::to_string(p), topology.EndpointOf(h, port));
        }
    }
    const CsvFlows read = ReadFlowCsv(
        text,
        file,
        [&](const std::string& name, uint32_t* number, std::string* allowed) {
            if (const auto host = hostOf.find(name); host != hostOf.end())
            {
                *number = host->second;
                return true;
            }
            if (const auto endpoint = endpointOf.find(name); endpoint != endpointOf.end())
            {
                *number = byPort + endpoint->second;
                return true;
            }
            *allowed = "the network has hosts 0 to " + std::to_string(hosts.size() - 1) + ", " +
                       topology.Nodes()[hosts.front()].name + " to " +
                       topology.Nodes()[hosts.back()].name;
            return false;
        });
    if (!read.error.empty())
    {
        v->errors.push_back({"", "", ReadAs(read.error, "CSV"), ""});
        return;
    }
    if (!read.note.empty())
    {
        v->notes.push_back(read.note);
    }
    if (read.flows.size() > kMostFlows)
    {
        v->Fail(&asked::Traffic::flows,
                "has " + std::to_string(read.flows.size()) + " flows; allowed: at most " +
                    std::to_string(kMostFlows));
        return;
    }
    PortTurns turns(topology);
    std::map<std::pair<topo::EndpointId, topo::EndpointId>, std::vector<std::string>> paths;
    const uint8_t usual = UsualPriority(*v);
    std::map<std::vector<std::string>, ChannelClass> classes; // by wish
    s->flows.reserve(read.flows.size());
    for (const auto& c : read.flows)
    {
        const auto column = [&](const std::string& name) {
            return file + ":" + std::to_string(c.line) + ": column " + name;
        };
        Flow f;
        std::tie(f.src, f.dst) = turns.Next(sides[c.src], sides[c.dst]);
        if (topology.Endpoints()[f.src].host == topology.Endpoints()[f.dst].host)
        {
            v->errors.push_back({"",
                                 "",
                                 file + ":" + std::to_string(c.line) +
                                     ": a flow from a host to itself: " +
                                     topology.Nodes()[topology.Endpoints()[f.src].host].name,
                                 ""});
            return;
        }
        const auto [path, isNew] = paths.emplace(std::pair(f.src, f.dst), c.path);
        const std::string wrong = isNew ? AddPath(*v, topology, f, c.path, &s->fabric)
                                  : path->second == c.path
                                      ? ""
                                      : "is another one than that of an earlier flow of these "
                                        "hosts; allowed: one path from a host to another";
        if (!wrong.empty())
        {
            v->errors.push_back({column("path"), Join(c.path, ">"), wrong, ""});
            return;
        }
        f.bytes = c.bytes;
        f.start = c.start;
        auto known = classes.find(c.wish);
        if (known == classes.end())
        {
            ClassProblem problem;
            const auto found = ClassOf(read.wishes, c.wish, &s->fabric, &problem);
            if (!found)
            {
                v->errors.push_back(
                    {column(problem.key), problem.value, problem.problem, problem.nearest});
                return;
            }
            known = classes.emplace(c.wish, *found).first;
        }
        f.trafficClass = known->second.trafficClass;
        const std::string refusal = c.priority ? WhyNoPriority(*v, s->fabric, f.trafficClass) : "";
        if (!refusal.empty())
        {
            v->errors.push_back({column("priority"),
                                 std::to_string(*c.priority),
                                 refusal + "; allowed: without",
                                 ""});
            return;
        }
        f.priority = c.priority ? *c.priority : known->second.priority.value_or(usual);
        f.tag = c.tag.empty() ? "flow-file" : c.tag;
        s->flows.push_back(std::move(f));
    }
}

/// Hosts of a matrix: numbers from 0.
void
ReadMatrixFlows(Validation* v,
                const Network& network,
                const std::string& text,
                const std::string& file,
                TrafficScenario* s)
{
    const auto& topology = network.topology;
    HtsimMatrix read = ReadHtsimMatrix(text, file);
    const auto fail = [&](const std::string& problem) {
        v->errors.push_back({"", "", problem, ""});
    };
    if (!read.error.empty())
    {
        return fail(ReadAs(read.error, "an htsim connection matrix"));
    }
    if (read.nodes > topology.Hosts().size())
    {
        return fail(file + " has " + std::to_string(read.nodes) +
                    " nodes; allowed: at most as many as the network has hosts, " +
                    std::to_string(topology.Hosts().size()));
    }
    std::stable_sort(read.flows.begin(),
                     read.flows.end(),
                     [](const HtsimFlow& a, const HtsimFlow& b) { return a.start < b.start; });
    PortTurns turns(topology);
    std::unordered_map<uint64_t, Flow> connections; // by id: the first message
    s->flows.reserve(read.flows.size());
    for (const auto& h : read.flows)
    {
        if (h.trigger > 0)
        {
            s->flows.clear();
            return fail(file + ":" + std::to_string(h.line) +
                        ": a flow that waits for others (trigger) has no start; allowed: start, or "
                        "dltrain --trace=" +
                        file + ", where flows wait for each other");
        }
        Flow f;
        const auto known = h.message ? connections.find(h.id) : connections.end();
        if (known != connections.end())
        {
            f = known->second;
        }
        else
        {
            std::tie(f.src, f.dst) = turns.Next({h.src, {}}, {h.dst, {}});
        }
        f.bytes = h.bytes;
        f.start = h.start;
        f.priority = UsualPriority(*v);
        f.tag = "flow-file";
        if (h.message && known == connections.end())
        {
            f.connection = static_cast<uint32_t>(connections.size() + 1);
            connections.emplace(h.id, f);
        }
        s->flows.push_back(std::move(f));
    }
    if (read.hasPriorities)
    {
        v->notes.push_back(file + ": prio is ignored");
    }
}

} // namespace

void
CheckConnections(Validation* v, const TrafficScenario& s, const ProtocolSpec& protocol)
{
    if (std::none_of(s.flows.begin(), s.flows.end(), [](const Flow& flow) {
            return flow.connection > 0;
        }))
    {
        return;
    }
    const std::string& file = v->values.Get(&asked::Traffic::flows);
    if (protocol.IsUdp() || s.operation == FlowOperation::kRead)
    {
        v->Fail(protocol.IsUdp() ? "protocol" : "operation",
                "does not tell messages of one connection apart, which " + file +
                    " has (msg); allowed: " + (protocol.IsUdp() ? "rdma, tcp" : "write, send"));
    }
    if (s.queuePairs == QueuePairUse::kReused)
    {
        v->Fail(&asked::Traffic::queuePairs,
                "takes a queue pair away when a flow has ended, and " + file +
                    " has several messages of a connection (msg); allowed: per-flow, per-pair");
    }
}

void
ReadFlowFile(Validation* v, const Network& network, TrafficScenario* s)
{
    s->pattern = "flow file";
    const size_t before = v->errors.size();
    v->Settle(&asked::Traffic::flows);
    if (v->errors.size() != before)
    {
        return;
    }
    std::vector<topo::Error> errors;
    const std::string& file = v->values.Get(&asked::Traffic::flows);
    const auto text = topo::ReadWholeFile(file, errors);
    if (!text)
    {
        v->FailFile(&asked::Traffic::flows, errors);
        return;
    }
    if (IsFlowCsv(*text))
    {
        ReadCsvFlows(v, network, *text, file, s);
        return;
    }
    if (IsHtsimMatrix(*text))
    {
        ReadMatrixFlows(v, network, *text, file, s);
        return;
    }
    if (!IsHpccFlows(*text))
    {
        v->errors.push_back(
            {"",
             "",
             file + " is no file of flows of a known kind; allowed: CSV whose first line names "
                    "start_ns, src, dst and bytes; HPCC's flow format, whose first line is the "
                    "number of flows; an htsim connection matrix, which begins with Nodes",
             ""});
        return;
    }
    const auto& topology = network.topology;
    const auto& hosts = topology.Hosts();

    // In a network whose file numbers its nodes, flows name them so; in any other, hosts from 0.
    std::vector<uint32_t> hostOfNode(topology.Nodes().size(), UINT32_MAX);
    for (uint32_t h = 0; h < hosts.size(); ++h)
    {
        hostOfNode[hosts[h]] = h;
    }
    const std::vector<topo::NodeId>& nodeOf = topology.About().nodeOfNumber;
    const bool numbered = !nodeOf.empty();
    const auto notAHost = [&](uint64_t id) -> std::string {
        if (!numbered)
        {
            return id < hosts.size()
                       ? ""
                       : "the network has hosts 0 to " + std::to_string(hosts.size() - 1);
        }
        if (id >= nodeOf.size())
        {
            return "the topology has nodes 0 to " + std::to_string(nodeOf.size() - 1);
        }
        return nodeOf[id] == topo::kNoNode            ? "it has no link"
               : hostOfNode[nodeOf[id]] == UINT32_MAX ? "it is a switch"
                                                      : "";
    };
    HpccFlows read = ReadHpccFlows(*text, file, notAHost);
    if (!read.error.empty())
    {
        v->errors.push_back({"", "", ReadAs(read.error, "HPCC's flow format"), ""});
        return;
    }
    if (!read.note.empty())
    {
        v->notes.push_back(read.note);
    }
    // That code has RDMA alone, so pg is a priority of RDMA.
    const std::string& protocol = v->values.Get(&asked::Traffic::protocol);
    const bool isRdma = protocol == "rdma";
    const uint8_t usual = UsualPriority(*v);
    if (!isRdma && std::any_of(read.flows.begin(), read.flows.end(), [usual](const HpccFlow& f) {
            return f.priority != usual;
        }))
    {
        v->notes.push_back(file + ": pg is ignored: with --protocol=" + protocol +
                           " flows have priority " + std::to_string(usual) +
                           "; the column priority of a CSV file sets another");
    }
    if (isRdma && !WhyNoPriority(*v, s->fabric, 0).empty())
    {
        v->notes.push_back(file + ": pg is ignored: it " + WhyNoPriority(*v, s->fabric, 0));
    }
    PortTurns turns(topology);
    s->flows.reserve(read.flows.size());
    for (const auto& h : read.flows)
    {
        const uint32_t src = numbered ? hostOfNode[nodeOf[h.src]] : h.src;
        const uint32_t dst = numbered ? hostOfNode[nodeOf[h.dst]] : h.dst;
        Flow f;
        std::tie(f.src, f.dst) = turns.Next({src, {}}, {dst, {}});
        f.bytes = h.bytes;
        f.start = h.start;
        f.priority = isRdma ? h.priority : usual;
        f.dport = h.dport;
        f.tag = "flow-file";
        s->flows.push_back(std::move(f));
    }
}

} // namespace scenario
