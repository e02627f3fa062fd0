/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/goal/htsim-trace.h"

#include "scenarios/traffic/htsim-matrix.h"
#include "topologies/names.h"

#include <map>
#include <utility>

namespace formats
{

using scenario::HtsimFlow;
using scenario::HtsimTrigger;
using training::TaskKind;

namespace
{

/// Flows that call a trigger, by index.
using Callers = std::map<uint64_t, std::vector<std::size_t>>;

std::string
NameOf(const HtsimFlow& flow)
{
    return "flow " +
           (flow.id > 0 ? std::to_string(flow.id) : "of line " + std::to_string(flow.line));
}

/// Why a trigger cannot be waited for; empty: it can. \param waiting flows that wait for it
std::string
WhyNot(const HtsimTrigger& trigger, std::size_t callers, std::size_t waiting)
{
    switch (trigger.kind)
    {
    case HtsimTrigger::Kind::kMultiShot:
        // Each call starts the next flow: of several it is not known which call comes first.
        return callers == 1 && waiting == 1
                   ? ""
                   : "a multishot trigger with " + topo::Counted(callers, "caller") + " and " +
                         topo::Counted(waiting, "flow") + " that " +
                         (waiting == 1 ? "waits" : "wait") +
                         ": which flow goes with which call is not known before; allowed: one of "
                         "each, oneshot, barrier";
    case HtsimTrigger::Kind::kOneShot:
        return callers == 1
                   ? ""
                   : "a oneshot trigger with " + topo::Counted(callers, "caller") + "; allowed: 1";
    default:
        return callers == trigger.count
                   ? ""
                   : "a barrier of " + std::to_string(trigger.count) + " with " +
                         topo::Counted(callers, "caller") + "; allowed: as many";
    }
}

} // namespace

std::optional<Recording>
ReadHtsimTrace(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    topo::Error error;
    const auto fail = [&](const std::string& problem, uint64_t line) {
        error.file = line > 0 ? file + ":" + std::to_string(line) : "";
        error.problem = problem;
        errors.push_back(error);
        return std::nullopt;
    };
    const scenario::HtsimMatrix matrix = scenario::ReadHtsimMatrix(text, file);
    if (!matrix.error.empty())
    {
        error.file = matrix.error.substr(0, matrix.error.find(": "));
        error.problem = matrix.error.substr(error.file.size() + 2);
        errors.push_back(error);
        return std::nullopt;
    }
    if (matrix.nodes > kMostRanks)
    {
        return fail("has " + std::to_string(matrix.nodes) + " nodes; allowed: at most " +
                        std::to_string(kMostRanks),
                    1);
    }
    Callers callers;
    std::map<uint64_t, std::size_t> waiting; // flows, by trigger
    for (std::size_t i = 0; i < matrix.flows.size(); ++i)
    {
        const HtsimFlow& flow = matrix.flows[i];
        ++waiting[flow.trigger];
        for (const uint64_t trigger : {flow.sendDone, flow.recvDone})
        {
            if (trigger > 0)
            {
                callers[trigger].push_back(i);
            }
        }
    }
    for (const auto& [id, trigger] : matrix.triggers)
    {
        const std::string why = WhyNot(trigger, callers[id].size(), waiting[id]);
        if (!why.empty())
        {
            return fail(why, trigger.line);
        }
    }

    Recording recording;
    recording.format = kHtsimFormat;
    recording.ranks.resize(matrix.nodes);
    std::vector<std::pair<uint32_t, uint32_t>> eventsOf; // by flow: its send, its receive
    std::vector<std::map<int64_t, uint32_t>> starts(matrix.nodes);
    const auto add = [&](uint32_t rank, Event event) {
        recording.ranks[rank].push_back(std::move(event));
        return static_cast<uint32_t>(recording.ranks[rank].size() - 1);
    };
    for (std::size_t i = 0; i < matrix.flows.size(); ++i)
    {
        const HtsimFlow& flow = matrix.flows[i];
        Event send;
        send.kind = TaskKind::kSend;
        send.bytes = flow.bytes;
        send.peer = flow.dst;
        // Each is a connection of its own, unless it is a message of one.
        send.tag = flow.message ? matrix.flows.size() + flow.id : i;
        send.name = NameOf(flow);
        if (flow.start.ps > kLongestPs)
        {
            return fail("starts behind 1000 s", flow.line);
        }
        if (flow.trigger == 0 && flow.start.ps > 0)
        {
            // Flows that start at the same time wait for one thread of the host.
            const auto [found, isNew] = starts[flow.src].try_emplace(flow.start.ps, 0);
            if (isNew)
            {
                Event wait;
                wait.kind = TaskKind::kHost;
                wait.duration = rdma::Duration(flow.start.ps);
                wait.thread = static_cast<uint32_t>(starts[flow.src].size() - 1);
                wait.name = "until the start";
                found->second = add(flow.src, wait);
            }
            send.after.push_back(found->second);
        }
        Event receive = send;
        receive.kind = TaskKind::kRecv;
        receive.peer = flow.src;
        receive.after.clear();
        const uint32_t sent = add(flow.src, send);
        eventsOf.emplace_back(sent, add(flow.dst, receive));
    }
    for (std::size_t i = 0; i < matrix.flows.size(); ++i)
    {
        const HtsimFlow& flow = matrix.flows[i];
        if (flow.trigger == 0)
        {
            continue;
        }
        for (const std::size_t caller : callers[flow.trigger])
        {
            const HtsimFlow& other = matrix.flows[caller];
            if (other.src != flow.src && other.dst != flow.src)
            {
                return fail(NameOf(flow) + " of node " + std::to_string(flow.src) + " waits for " +
                                NameOf(other) + ", which is between nodes " +
                                std::to_string(other.src) + " and " + std::to_string(other.dst) +
                                ": it does not know when that is done",
                            flow.line);
            }
            recording.ranks[flow.src][eventsOf[i].first].after.push_back(
                other.src == flow.src ? eventsOf[caller].first : eventsOf[caller].second);
        }
    }
    if (matrix.hasPriorities)
    {
        recording.notes.push_back("prio is ignored");
    }
    return recording;
}

} // namespace formats
