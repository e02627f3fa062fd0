/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/chakra/chakra-json.h"
#include "scenarios/formats/chakra/chakra-tables.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/input-file.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace formats
{

using coll::Op;
using coll::Rank;
using training::TaskKind;

namespace
{

// Threads of the host that are none of a trace's: memory, storage and so on.
constexpr uint32_t kMemoryThread = 1u << 20;
constexpr uint32_t kStoreThread = kMemoryThread + 1;
constexpr uint32_t kStorageThread = kMemoryThread + 2;

class StepReader
{
  public:
    StepReader(const std::vector<std::string>& files,
               const KernelTime& time,
               std::vector<topo::Error>& errors)
        : m_files(files),
          m_time(time),
          m_errors(errors)
    {
    }

    std::optional<Recording> Read(const std::vector<std::vector<ChakraNode>>& ranks,
                                  const std::string& groups);

  private:
    /// At the node that is being read.
    bool Fail(const std::string& problem)
    {
        const std::string name = m_node->name.empty() ? "" : " " + topo::Quoted(m_node->name);
        AddError(m_errors,
                 m_files[m_rank],
                 m_node->place,
                 "node " + std::to_string(m_node->id) + name + ": " + problem);
        return false;
    }

    bool ReadGroups(const std::string& text);
    bool ReadProcessGroups();
    bool ReadRank(const std::vector<ChakraNode>& nodes);
    bool ReadNode(Event* event);
    bool ReadCollective(Event* event);
    bool ReadMessage(Event* event);
    bool ReadTime(Event* event);
    bool ReadGroup(uint32_t* communicator);
    uint32_t CommunicatorOf(const std::string& name, std::vector<Rank> ranks);
    /// A whole number of an attribute, `otherwise` if there is none.
    bool Whole(const char* name, uint64_t most, uint64_t otherwise, uint64_t* value);
    /// Ranks of a list in JSON; empty: all. Nothing: it is none.
    std::optional<std::vector<Rank>> RanksOf(const nlohmann::json& list) const;

    const std::vector<std::string>& m_files;
    const KernelTime& m_time;
    std::vector<topo::Error>& m_errors;
    Recording m_recording;
    std::map<std::pair<std::string, std::vector<Rank>>, uint32_t> m_communicators;
    std::map<std::string, std::vector<Rank>> m_groups; ///< groups of the file
    // State of the rank:
    Rank m_rank = 0;
    const ChakraNode* m_node = nullptr;
    std::map<std::string, std::vector<Rank>> m_ownGroups;
    std::map<int64_t, uint32_t> m_threads;
    // For notes:
    bool m_anyKernel = false;
    bool m_anyMemory = false;
    bool m_anyDimension = false;
    bool m_anyRoot = false;
};

bool
StepReader::Whole(const char* name, uint64_t most, uint64_t otherwise, uint64_t* value)
{
    const ChakraValue* found = m_node->Find(name);
    *value = otherwise;
    if (!found)
    {
        return true;
    }
    // Some tools write whole numbers as reals, or as texts.
    int64_t whole = found->whole;
    bool fine = found->kind == ChakraValue::Kind::kWhole && !found->huge;
    if (found->kind == ChakraValue::Kind::kReal)
    {
        fine = found->real >= 0 && found->real <= static_cast<double>(kMostBytes) &&
               found->real == static_cast<double>(static_cast<int64_t>(found->real));
        whole = fine ? static_cast<int64_t>(found->real) : 0;
    }
    else if (found->kind == ChakraValue::Kind::kText)
    {
        const char* const end = found->text.data() + found->text.size();
        const auto [rest, bad] = std::from_chars(found->text.data(), end, whole);
        fine = bad == std::errc() && rest == end;
    }
    if (!fine || whole < 0 || static_cast<uint64_t>(whole) > most)
    {
        return Fail(std::string(name) + " is " +
                    (found->kind == ChakraValue::Kind::kText   ? topo::Quoted(found->text)
                     : found->kind == ChakraValue::Kind::kList ? std::string("a list")
                     : found->huge                             ? std::string("above 2^63")
                     : fine                                    ? std::to_string(whole)
                                                               : std::string("not whole")) +
                    "; allowed: 0 to " + std::to_string(most));
    }
    *value = static_cast<uint64_t>(whole);
    return true;
}

std::optional<std::vector<Rank>>
StepReader::RanksOf(const nlohmann::json& list) const
{
    std::vector<Rank> ranks;
    if (!list.is_array())
    {
        return std::nullopt;
    }
    for (const auto& one : list)
    {
        if (!one.is_number_unsigned() || one.get<uint64_t>() >= m_recording.ranks.size())
        {
            return std::nullopt;
        }
        ranks.push_back(one.get<Rank>());
    }
    auto sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    {
        return std::nullopt;
    }
    if (ranks.empty())
    {
        ranks.resize(m_recording.ranks.size());
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    return ranks;
}

bool
StepReader::ReadGroups(const std::string& text)
{
    if (text.empty())
    {
        return true;
    }
    const std::string& file = m_files.back();
    topo::JsonText parsed = topo::ParseJsonText(text, file);
    if (!parsed.error.problem.empty())
    {
        m_errors.push_back(std::move(parsed.error));
        return false;
    }
    const nlohmann::json json = std::move(parsed.value);
    if (!json.is_object())
    {
        AddError(m_errors, file, "", "is no object of groups: {\"0\": [0, 1]}");
        return false;
    }
    for (const auto& [name, list] : json.items())
    {
        const auto ranks = RanksOf(list);
        if (!ranks || list.empty())
        {
            AddError(m_errors,
                     file,
                     "/" + rdma::Shown(name, 60),
                     "is no list of different ranks; allowed: 0 to " +
                         std::to_string(m_recording.ranks.size() - 1));
            return false;
        }
        m_groups[name] = *ranks;
    }
    return true;
}

bool
StepReader::ReadProcessGroups()
{
    // A text in a text: the list stands between the outermost "[{" and "}]".
    const std::string& text = m_node->inputs;
    const std::size_t begin = text.find("[{");
    const std::size_t end = text.rfind("}]");
    if (begin == std::string::npos || end == std::string::npos || end < begin)
    {
        return true;
    }
    std::string list = text.substr(begin, end + 2 - begin);
    nlohmann::json json = topo::JsonOrDiscarded(list);
    if (json.is_discarded())
    {
        list.erase(std::remove(list.begin(), list.end(), '\\'), list.end());
        json = topo::JsonOrDiscarded(list);
    }
    if (json.is_discarded() || !json.is_array())
    {
        return Fail("its inputs have a list that is no JSON");
    }
    for (const auto& group : json)
    {
        if (!group.is_object() || !group.contains("pg_name") || !group.contains("ranks"))
        {
            continue; // a list of something else
        }
        const auto& name = group["pg_name"];
        const auto ranks = RanksOf(group["ranks"]);
        if (!(name.is_string() || name.is_number_integer()) || !ranks)
        {
            return Fail("a process group without a name, or whose ranks are no list of different "
                        "ranks, 0 to " +
                        std::to_string(m_recording.ranks.size() - 1));
        }
        m_ownGroups[name.is_string() ? name.get<std::string>() : name.dump()] = *ranks;
    }
    return true;
}

uint32_t
StepReader::CommunicatorOf(const std::string& name, std::vector<Rank> ranks)
{
    const auto number = static_cast<uint32_t>(m_recording.communicators.size());
    const auto [found, isNew] = m_communicators.try_emplace({name, ranks}, number);
    if (isNew)
    {
        m_recording.communicators.push_back({name, std::move(ranks)});
    }
    return found->second;
}

bool
StepReader::ReadGroup(uint32_t* communicator)
{
    const ChakraValue* group = m_node->Find("pg_name");
    std::string name;
    if (group)
    {
        name = group->kind == ChakraValue::Kind::kText    ? group->text
               : group->kind == ChakraValue::Kind::kWhole ? std::to_string(group->whole)
                                                          : "";
    }
    if (name.empty())
    {
        std::vector<Rank> all(m_recording.ranks.size());
        std::iota(all.begin(), all.end(), 0);
        *communicator = CommunicatorOf("all", std::move(all));
        return true;
    }
    for (const auto* groups : {&m_ownGroups, &m_groups})
    {
        const auto found = groups->find(name);
        if (found != groups->end())
        {
            *communicator = CommunicatorOf(name, found->second);
            return true;
        }
    }
    return Fail("pg_name is " + topo::Quoted(name) + ", which is no group of " +
                (m_groups.empty() ? "a metadata node; a file of groups as ASTRA-sim has it, "
                                    "{\"0\": [0, 1]}, may stand beside the trace"
                                  : "the file of groups or a metadata node"));
}

bool
StepReader::ReadCollective(Event* event)
{
    uint64_t type = 0;
    uint64_t size = 0;
    // In the format 0 is an all-reduce: without the attribute the type is not known.
    if (!m_node->Find("comm_type"))
    {
        return Fail("comm_type is missing: the collective that it is, 0 to " +
                    std::to_string(kMostChakraCollective) + " (0: all-reduce)");
    }
    if (!Whole("comm_type", kMostChakraCollective, 0, &type) ||
        !Whole("comm_size", kMostBytes, 0, &size) || !ReadGroup(&event->communicator))
    {
        return false;
    }
    event->kind = TaskKind::kCollective;
    event->op = kChakraOps[type];
    if (event->op != Op::kBarrier && !m_node->Find("comm_size") && !m_node->Find("dltrain_bytes"))
    {
        return Fail("comm_size is missing: its bytes, 0 to " + std::to_string(kMostBytes));
    }
    const auto ranks = m_recording.communicators[event->communicator].ranks.size();
    event->bytes = IsChakraPart(event->op) ? size * ranks : event->op == Op::kBarrier ? 0 : size;
    if (!Whole("dltrain_bytes", kMostBytes, event->bytes, &event->bytes))
    {
        return false;
    }
    if (event->bytes > kMostBytes)
    {
        return Fail("comm_size is " + std::to_string(size) + " of " + std::to_string(ranks) +
                    " ranks; allowed: 2^50 B of all together");
    }
    m_anyRoot = m_anyRoot || coll::HasRoot(event->op);
    m_anyDimension = m_anyDimension || m_node->Find("involved_dim");
    if (const ChakraValue* sends = m_node->Find("dltrain_sends"))
    {
        if (event->op != Op::kAllToAll || sends->kind != ChakraValue::Kind::kList ||
            std::any_of(sends->list.begin(), sends->list.end(), [](int64_t bytes) {
                return bytes < 0 || static_cast<uint64_t>(bytes) > kMostBytes;
            }))
        {
            return Fail("dltrain_sends is no list of sizes of an all-to-all; allowed: 0 to 2^50 B");
        }
        event->op = Op::kAllToAllV;
        event->sends.assign(sends->list.begin(), sends->list.end());
    }
    return true;
}

bool
StepReader::ReadMessage(Event* event)
{
    const bool sends = m_node->type == ChakraType::kSend;
    const uint64_t last = m_recording.ranks.size() - 1;
    uint64_t from = 0;
    uint64_t to = 0;
    if (!m_node->Find(sends ? "comm_dst" : "comm_src"))
    {
        return Fail(std::string(sends ? "comm_dst" : "comm_src") + " is missing");
    }
    if (!m_node->Find("comm_size"))
    {
        return Fail("comm_size is missing: its bytes, 0 to " + std::to_string(kMostBytes));
    }
    if (!Whole("comm_src", last, m_rank, &from) || !Whole("comm_dst", last, m_rank, &to) ||
        !Whole("comm_size", kMostBytes, 0, &event->bytes) ||
        !Whole("comm_tag", INT32_MAX, 0, &event->tag))
    {
        return false;
    }
    const uint64_t own = sends ? from : to;
    if (own != m_rank || from == to)
    {
        return Fail("a message of rank " + std::to_string(from) + " to rank " + std::to_string(to) +
                    " in the trace of rank " + std::to_string(m_rank));
    }
    event->kind = sends ? TaskKind::kSend : TaskKind::kRecv;
    event->peer = static_cast<Rank>(sends ? to : from);
    return true;
}

bool
StepReader::ReadTime(Event* event)
{
    uint64_t ps = 0;
    uint64_t flops = 0;
    uint64_t bytes = 0;
    if (!Whole("num_ops", uint64_t{1} << 62, 0, &flops) ||
        !Whole("tensor_size", kMostBytes, 0, &bytes) ||
        !Whole("dltrain_ps", static_cast<uint64_t>(kLongestPs), 0, &ps))
    {
        return false;
    }
    if (m_node->durationMicros > static_cast<uint64_t>(kLongestPs) / 1000000)
    {
        return Fail("takes " + std::to_string(m_node->durationMicros) +
                    " us; allowed: at most 1e9");
    }
    if (m_node->Find("dltrain_ps"))
    {
        event->duration = rdma::Duration(static_cast<int64_t>(ps));
    }
    else if (m_node->durationMicros > 0)
    {
        event->duration = rdma::Microseconds(static_cast<int64_t>(m_node->durationMicros));
    }
    else if (flops > 0 || bytes > 0)
    {
        m_anyKernel = true;
        event->duration = m_time(static_cast<double>(flops), static_cast<double>(bytes));
        if (event->duration.ps > kLongestPs)
        {
            return Fail("takes more than 1000 s by its num_ops and tensor_size");
        }
    }
    return true;
}

bool
StepReader::ReadNode(Event* event)
{
    event->name = m_node->name.empty() ? "node " + std::to_string(m_node->id) : m_node->name;
    if (const ChakraValue* phase = m_node->Find("dltrain_phase"))
    {
        for (const auto& [which, name] : kChakraPhases)
        {
            event->phase = phase->text == name ? which : event->phase;
        }
    }
    switch (m_node->type)
    {
    case ChakraType::kInvalid:
        event->nothing = true;
        return true;
    case ChakraType::kMetadata:
        event->nothing = true;
        return ReadProcessGroups();
    case ChakraType::kSend:
    case ChakraType::kReceive:
        return ReadMessage(event);
    case ChakraType::kCollective:
        return ReadCollective(event);
    default:
        break;
    }
    uint64_t host = 0;
    if (!Whole("is_cpu_op", 1, 0, &host) || !ReadTime(event))
    {
        return false;
    }
    const ChakraValue* kind = m_node->Find("dltrain_kind");
    event->kind = kind && kind->text == "memory" ? TaskKind::kMemory : TaskKind::kCompute;
    if (m_node->type != ChakraType::kCompute)
    {
        event->kind = TaskKind::kHost;
        const bool loads = m_node->type == ChakraType::kMemoryLoad;
        const bool stores = m_node->type == ChakraType::kMemoryStore;
        event->thread = loads ? kMemoryThread : stores ? kStoreThread : kStorageThread;
        uint64_t bytes = 0;
        if ((loads || stores) && !Whole("tensor_size", kMostBytes, 0, &bytes))
        {
            return false;
        }
        event->bytes = bytes;
        event->loads = loads && bytes > 0;
        event->stores = stores && bytes > 0;
        m_anyMemory |= !event->loads && !event->stores;
    }
    else if (host != 0)
    {
        event->kind = TaskKind::kHost;
        const ChakraValue* thread = m_node->Find("dltrain_thread");
        thread = thread ? thread : m_node->Find("tid");
        const int64_t which = thread ? thread->whole : 0;
        event->thread =
            m_threads.try_emplace(which, static_cast<uint32_t>(m_threads.size())).first->second;
    }
    return true;
}

bool
StepReader::ReadRank(const std::vector<ChakraNode>& nodes)
{
    m_ownGroups.clear();
    m_threads.clear();
    std::unordered_map<uint64_t, uint32_t> indexOf;
    indexOf.reserve(nodes.size());
    for (const ChakraNode& node : nodes)
    {
        m_node = &node;
        if (!indexOf.emplace(node.id, static_cast<uint32_t>(indexOf.size())).second)
        {
            return Fail("another node above has this number");
        }
        // Groups are known to all nodes, wherever their list stands.
        if (node.type == ChakraType::kMetadata && !ReadProcessGroups())
        {
            return false;
        }
    }
    auto& events = m_recording.ranks[m_rank];
    events.reserve(nodes.size());
    for (const ChakraNode& node : nodes)
    {
        m_node = &node;
        Event event;
        if (!ReadNode(&event))
        {
            return false;
        }
        for (const uint64_t before : node.after)
        {
            const auto found = indexOf.find(before);
            if (found == indexOf.end())
            {
                return Fail("waits for node " + std::to_string(before) + ", which is not there");
            }
            event.after.push_back(found->second);
        }
        events.push_back(std::move(event));
    }
    return true;
}

std::optional<Recording>
StepReader::Read(const std::vector<std::vector<ChakraNode>>& ranks, const std::string& groups)
{
    m_recording.format = "Chakra";
    m_recording.ranks.resize(ranks.size());
    if (!ReadGroups(groups))
    {
        return std::nullopt;
    }
    for (m_rank = 0; m_rank < ranks.size(); ++m_rank)
    {
        if (!ReadRank(ranks[m_rank]))
        {
            return std::nullopt;
        }
    }
    auto& notes = m_recording.notes;
    if (m_anyKernel)
    {
        notes.push_back("nodes without a time take what the GPU needs for their num_ops and "
                        "tensor_size");
    }
    if (m_anyMemory)
    {
        notes.push_back("storage, batch and checkpoint nodes take their recorded time on the host, "
                        "beside the GPU");
    }
    if (m_anyDimension)
    {
        notes.push_back("involved_dim is ignored: a collective is among all ranks of its "
                        "group");
    }
    if (m_anyRoot)
    {
        notes.push_back("Chakra does not tell the root of a collective: it is the group's first "
                        "rank");
    }
    return std::move(m_recording);
}

} // namespace

std::optional<Recording>
RecordingOfNodes(const std::vector<std::vector<ChakraNode>>& ranks,
                 const std::vector<std::string>& files,
                 const std::string& groups,
                 const KernelTime& time,
                 std::vector<topo::Error>& errors)
{
    return StepReader(files, time, errors).Read(ranks, groups);
}

std::optional<Recording>
ReadChakra(const ChakraFiles& files, const KernelTime& time, std::vector<topo::Error>& errors)
{
    std::vector<std::vector<ChakraNode>> ranks(files.ofRank.size());
    for (std::size_t rank = 0; rank < files.ofRank.size(); ++rank)
    {
        const std::string& file = files.ofRank[rank];
        const auto bytes = ReadInput(file, errors);
        if (!bytes)
        {
            return std::nullopt;
        }
        if (bytes->empty())
        {
            AddError(errors, file, "", "is empty");
            return std::nullopt;
        }
        const std::string name = file.substr(file.rfind('/') + 1);
        const bool isJson = name.find(".json") != std::string::npos;
        if (!(isJson ? ReadChakraJson : ReadChakraWire)(*bytes, file, &ranks[rank], errors))
        {
            return std::nullopt;
        }
    }
    std::string groups;
    std::vector<std::string> names = files.ofRank;
    if (!files.groups.empty())
    {
        const auto text = ReadInput(files.groups, errors);
        if (!text)
        {
            return std::nullopt;
        }
        groups = *text;
        names.push_back(files.groups);
    }
    return RecordingOfNodes(ranks, names, groups, time, errors);
}

} // namespace formats
