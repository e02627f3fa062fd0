/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/formats/chakra/chakra-tables.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace formats
{

using coll::Op;
using coll::Rank;
using training::Task;
using training::TaskId;
using training::TaskKind;

std::string
WhyNoChakra(const training::TrainingPlan& plan)
{
    for (const training::StepGraph& graph : plan.roles)
    {
        for (const Task& task : graph.tasks)
        {
            if (task.kind == TaskKind::kCollective && task.op == Op::kSendRecv)
            {
                return "\"" + task.name + "\" is a collective that Chakra does not have";
            }
        }
    }
    return {};
}

std::string
GroupsText(const training::TrainingPlan& plan)
{
    nlohmann::ordered_json groups = nlohmann::ordered_json::object();
    std::size_t number = 0;
    for (const training::GroupKind& kind : plan.groupKinds)
    {
        for (const auto& ranks : kind.groups)
        {
            groups[std::to_string(number++)] = ranks;
        }
    }
    return groups.dump() + "\n";
}

namespace
{

ChakraValue
WholeValue(uint64_t whole)
{
    ChakraValue value;
    value.whole = static_cast<int64_t>(whole);
    return value;
}

ChakraValue
TextValue(std::string text)
{
    ChakraValue value;
    value.kind = ChakraValue::Kind::kText;
    value.text = std::move(text);
    return value;
}

/// The place of a rank's group among all groups of the plan.
struct Place
{
    std::size_t group = 0;
    std::size_t position = 0;
};

std::vector<Place>
PlacesOf(const training::TrainingPlan& plan, Rank rank)
{
    std::vector<Place> places(plan.groupKinds.size());
    std::size_t number = 0;
    for (std::size_t kind = 0; kind < plan.groupKinds.size(); ++kind)
    {
        for (const auto& ranks : plan.groupKinds[kind].groups)
        {
            const auto found = std::find(ranks.begin(), ranks.end(), rank);
            if (found != ranks.end())
            {
                places[kind] = {number, static_cast<std::size_t>(found - ranks.begin())};
            }
            ++number;
        }
    }
    return places;
}

const std::vector<Rank>&
GroupAt(const training::TrainingPlan& plan, uint32_t kind, std::size_t number)
{
    for (uint32_t before = 0; before < kind; ++before)
    {
        number -= plan.groupKinds[before].groups.size();
    }
    return plan.groupKinds[kind].groups[number];
}

void
SetCollective(const training::TrainingPlan& plan,
              const Place& place,
              const Task& task,
              ChakraNode* node)
{
    node->type = ChakraType::kCollective;
    const Op op = task.op == Op::kAllToAllV ? Op::kAllToAll : task.op;
    const auto type = static_cast<uint64_t>(
        std::find(std::begin(kChakraOps), std::end(kChakraOps), op) - std::begin(kChakraOps));
    const std::vector<Rank>& ranks = GroupAt(plan, task.group, place.group);
    auto& attributes = node->attributes;
    attributes["is_cpu_op"] = WholeValue(0);
    attributes["comm_type"] = WholeValue(type);
    attributes["pg_name"] = TextValue(std::to_string(place.group));
    uint64_t size = IsChakraPart(op) ? task.bytes / ranks.size() : task.bytes;
    attributes["dltrain_bytes"] = WholeValue(task.bytes);
    if (task.blocks)
    {
        ChakraValue sends;
        sends.kind = ChakraValue::Kind::kList;
        const auto own = static_cast<Rank>(place.position);
        for (Rank to = 0; to < ranks.size(); ++to)
        {
            sends.list.push_back(static_cast<int64_t>(task.blocks->Bytes(own, to)));
        }
        attributes["dltrain_sends"] = std::move(sends);
        size = task.blocks->InputBytes(own);
    }
    attributes["comm_size"] = WholeValue(size);
}

} // namespace

std::vector<ChakraNode>
ChakraNodes(const training::TrainingPlan& plan, Rank rank)
{
    const training::StepGraph& graph = plan.roles[plan.roleOf[rank]];
    const std::vector<Place> places = PlacesOf(plan, rank);
    const double slowness = plan.SlownessOf(rank);
    std::vector<ChakraNode> nodes;
    nodes.reserve(graph.tasks.size());
    std::vector<TaskId> last(graph.streams.size(), UINT32_MAX);
    for (TaskId id = 0; id < graph.tasks.size(); ++id)
    {
        const Task& task = graph.tasks[id];
        ChakraNode& node = nodes.emplace_back();
        node.id = id + 1;
        node.name = task.name;
        for (const TaskId before : task.after)
        {
            node.after.push_back(before + 1);
        }
        const TaskId previous = std::exchange(last[task.stream], id);
        if (previous != UINT32_MAX &&
            std::find(task.after.begin(), task.after.end(), previous) == task.after.end())
        {
            node.after.push_back(previous + 1);
        }
        auto& attributes = node.attributes;
        for (const auto& [phase, name] : kChakraPhases)
        {
            if (phase == task.phase)
            {
                attributes["dltrain_phase"] = TextValue(name);
            }
        }
        switch (task.kind)
        {
        case TaskKind::kCollective:
            SetCollective(plan, places[task.group], task, &node);
            break;
        case TaskKind::kSend:
        case TaskKind::kRecv: {
            const bool sends = task.kind == TaskKind::kSend;
            const Rank peer = training::PeerOf(plan, rank, task);
            node.type = sends ? ChakraType::kSend : ChakraType::kReceive;
            attributes["is_cpu_op"] = WholeValue(0);
            attributes["comm_src"] = WholeValue(sends ? rank : peer);
            attributes["comm_dst"] = WholeValue(sends ? peer : rank);
            attributes["comm_size"] = WholeValue(task.bytes);
            // Messages of different kinds of groups have tags of their own.
            attributes["comm_tag"] =
                WholeValue(uint64_t{task.group} * (training::kMostTag + 1) + task.tag);
            break;
        }
        default: {
            const bool host = task.kind == TaskKind::kHost;
            if (training::AccessesMemory(task))
            {
                node.type = task.stores ? ChakraType::kMemoryStore : ChakraType::kMemoryLoad;
                attributes["tensor_size"] = WholeValue(task.bytes);
                if (task.duration.ps > 0) // else a network's, which nobody knows before
                {
                    node.durationMicros =
                        static_cast<uint64_t>(std::llround(task.duration.Seconds() * 1e6));
                    attributes["dltrain_ps"] = WholeValue(static_cast<uint64_t>(task.duration.ps));
                }
                break;
            }
            const double ps = static_cast<double>(task.duration.ps) * (host ? 1 : slowness) + 0.5;
            node.type = ChakraType::kCompute;
            node.durationMicros = static_cast<uint64_t>(ps * 1e-6 + 0.5);
            attributes["is_cpu_op"] = WholeValue(host ? 1 : 0);
            attributes["dltrain_ps"] = WholeValue(static_cast<uint64_t>(ps));
            if (host)
            {
                attributes["dltrain_thread"] = WholeValue(task.stream);
            }
            if (task.kind == TaskKind::kMemory)
            {
                attributes["dltrain_kind"] = TextValue("memory");
            }
        }
        }
    }
    return nodes;
}

} // namespace formats
