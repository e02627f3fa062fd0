/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto/kineto-collectives.h"

#include "collectives/core/registry.h"
#include "topologies/names.h"

#include <algorithm>
#include <numeric>

namespace formats
{

using coll::Op;
using coll::Rank;
using training::TaskKind;

namespace
{

/// As c10d names its calls (ProcessGroupNCCL.cpp; "_single" since PyTorch 2.14, its
/// test_collective_annotations.py and torchcomms), without '_' in front.
constexpr std::pair<const char*, Op> kCalls[] = {
    {"allreduce", Op::kAllReduce},
    {"all_reduce", Op::kAllReduce},
    {"allreduce_coalesced", Op::kAllReduce},
    {"allgather", Op::kAllGather},
    {"all_gather", Op::kAllGather},
    {"allgather_base", Op::kAllGather},
    {"all_gather_base", Op::kAllGather},
    {"allgather_into_tensor_coalesced", Op::kAllGather},
    {"all_gather_into_tensor_coalesced", Op::kAllGather},
    {"all_gather_single", Op::kAllGather},
    {"all_gather_single_coalesced", Op::kAllGather},
    {"reduce_scatter", Op::kReduceScatter},
    {"reduce_scatter_base", Op::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", Op::kReduceScatter},
    {"reduce_scatter_single", Op::kReduceScatter},
    {"reduce_scatter_single_coalesced", Op::kReduceScatter},
    {"all_to_all", Op::kAllToAll},
    {"all_to_allv", Op::kAllToAll},
    {"all_to_all_single", Op::kAllToAll},
    {"broadcast", Op::kBroadcast},
    {"reduce", Op::kReduce},
    {"gather", Op::kGather},
    {"scatter", Op::kScatter},
    {"barrier", Op::kBarrier}};

/// As c10::ScalarType is written.
constexpr std::pair<const char*, uint64_t> kSizes[] = {{"Byte", 1},
                                                       {"Char", 1},
                                                       {"Bool", 1},
                                                       {"Float8_e4m3fn", 1},
                                                       {"Float8_e5m2", 1},
                                                       {"Short", 2},
                                                       {"Half", 2},
                                                       {"BFloat16", 2},
                                                       {"Int", 4},
                                                       {"Float", 4},
                                                       {"Long", 8},
                                                       {"Double", 8},
                                                       {"ComplexFloat", 8},
                                                       {"ComplexDouble", 16}};

} // namespace

bool
KinetoCollectives::FindGroup(const KinetoEntry& entry, uint32_t* communicator)
{
    const std::string name = TextIn(entry.args, "Process Group Name");
    auto ranks = ListIn(entry.args, "Process Group Ranks");
    const int64_t size = WholeIn(entry.args, "Group size").value_or(-1);
    if (!ranks || (ranks->empty() && size > 0))
    {
        const auto known = m_run.groups.find(name);
        if (known != m_run.groups.end() && !m_run.twoGroups.count(name))
        {
            ranks = known->second;
            if (ranks->empty())
            {
                ranks->resize(m_run.rankOf.size());
                std::iota(ranks->begin(), ranks->end(), 0);
            }
        }
        else if (size == static_cast<int64_t>(m_run.rankOf.size()))
        {
            ranks.emplace(m_run.rankOf.size());
            std::iota(ranks->begin(), ranks->end(), 0);
        }
        else
        {
            return Fail(topo::Quoted(entry.name) + ": the ranks of its group " +
                        topo::Quoted(name) +
                        " are missing: neither \"Process Group Ranks\" nor \"pg_config\" nor an "
                        "execution trace beside it has all of them");
        }
    }
    std::vector<Rank> members;
    for (const uint64_t rank : *ranks)
    {
        if (rank >= m_run.rankOf.size())
        {
            return Fail(topo::Quoted(entry.name) + ": rank " + std::to_string(rank) +
                        " is in its group; allowed: 0 to " +
                        std::to_string(m_run.rankOf.size() - 1));
        }
        members.push_back(m_run.rankOf[rank]);
        m_outside = m_outside || members.back() == kNotSimulated;
    }
    if (m_outside)
    {
        return true;
    }
    const auto number = static_cast<uint32_t>(m_list.size());
    const auto [found, isNew] = m_communicators.try_emplace({name, members}, number);
    if (isNew)
    {
        m_list.push_back({name, std::move(members)});
    }
    *communicator = found->second;
    return true;
}

bool
KinetoCollectives::Make(const KinetoEntry& entry, Rank rank, Event* event)
{
    m_outside = false;
    const std::string who = topo::Quoted(entry.name);
    std::string call = TextIn(entry.args, "Collective name");
    if (call.empty())
    {
        return Fail(who + " has no \"Collective name\" in its args: this PyTorch does not write "
                          "which collective a kernel is, or its CPU activities were not profiled");
    }
    while (!call.empty() && call[0] == '_')
    {
        call.erase(0, 1);
    }
    const std::string dtype = TextIn(entry.args, "dtype");
    const auto size = std::find_if(std::begin(kSizes), std::end(kSizes), [&](const auto& one) {
        return dtype == one.first;
    });
    const bool barrier = call == "barrier";
    const auto in = WholeIn(entry.args, "In msg nelems");
    const auto out = WholeIn(entry.args, "Out msg nelems");
    if (!barrier && (size == std::end(kSizes) || !in || !out || *in < 0 || *out < 0 ||
                     static_cast<uint64_t>(std::max(*in, *out)) > kMostBytes / 16))
    {
        return Fail(who +
                    ": \"In msg nelems\", \"Out msg nelems\" and \"dtype\" do not say its bytes");
    }
    const uint64_t each = barrier ? 0 : size->second;
    if (call == "send" || call == "recv")
    {
        const auto peer = WholeIn(entry.args, call == "send" ? "Dst Rank" : "Src Rank");
        if (!peer || *peer < 0 || *peer >= static_cast<int64_t>(m_run.rankOf.size()) ||
            *peer == rank)
        {
            return Fail(who + ": \"" + (call == "send" ? "Dst" : "Src") +
                        " Rank\" is no other rank, 0 to " +
                        std::to_string(m_run.rankOf.size() - 1));
        }
        event->peer = m_run.rankOf[static_cast<std::size_t>(*peer)];
        m_outside = event->peer == kNotSimulated;
        if (m_outside)
        {
            return true;
        }
        event->kind = call == "send" ? TaskKind::kSend : TaskKind::kRecv;
        event->bytes = static_cast<uint64_t>(call == "send" ? *in : *out) * each;
        const std::string group = TextIn(entry.args, "Process Group Name");
        event->tag = m_tags.try_emplace(group, m_tags.size()).first->second;
        if (m_run.replicates && !FindGroup(entry, &event->communicator))
        {
            event->communicator = kWithoutGroup;
        }
        return true;
    }
    const auto found = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const auto& one) {
        return call == one.first;
    });
    if (found == std::end(kCalls))
    {
        std::string names = "send, recv";
        for (const auto& [name, op] : kCalls)
        {
            names += std::string(", ") + name;
        }
        return Fail(who + " is " + topo::Quoted(call) + "; allowed: " + names);
    }
    event->kind = TaskKind::kCollective;
    event->op = found->second;
    if (!FindGroup(entry, &event->communicator) || m_outside)
    {
        return m_outside;
    }
    const auto ranks = m_list[event->communicator].ranks.size();
    m_anyRoot = m_anyRoot || coll::HasRoot(event->op);
    // The whole vector, of which a rank may have a part only.
    const auto given = static_cast<uint64_t>(in.value_or(0));
    const auto got = static_cast<uint64_t>(out.value_or(0));
    uint64_t whole = given;
    switch (event->op)
    {
    case Op::kAllGather:
    case Op::kGather:
        whole = std::max(given * ranks, got);
        break;
    case Op::kReduceScatter:
    case Op::kScatter:
        whole = std::max(given, got * ranks);
        break;
    default:
        break;
    }
    if (whole > kMostBytes / 16)
    {
        return Fail(who + " has more than 2^50 B of all ranks together");
    }
    event->bytes = whole * each;
    const auto split = ListIn(entry.args, "In split size");
    if (event->op == Op::kAllToAll && split && !split->empty())
    {
        uint64_t rows = 0;
        for (const uint64_t one : *split)
        {
            rows += std::min<uint64_t>(one, kMostBytes);
        }
        const uint64_t elements = given;
        if (split->size() != ranks || rows > kMostBytes ||
            (rows == 0 ? elements > 0 : elements % rows != 0))
        {
            return Fail(who + ": \"In split size\" has no part of its elements for each of " +
                        topo::Counted(ranks, "rank"));
        }
        event->op = Op::kAllToAllV;
        for (const uint64_t one : *split)
        {
            event->sends.push_back(rows == 0 ? 0 : one * (elements / rows) * each);
        }
    }
    return true;
}

} // namespace formats
