/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/recorded-plan.h"

#include "collectives/block-sizes.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recorded-lanes.h"
#include "scenarios/training/message-match.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace formats
{

using coll::Rank;
using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

/// Task::stream
constexpr uint32_t kMostStreams = UINT16_MAX;
constexpr uint32_t kNone = UINT32_MAX;

class Builder
{
  public:
    Builder(const Recording& recording,
            std::string file,
            uint32_t ranks,
            std::vector<topo::Error>& errors)
        : m_recording(recording),
          m_file(std::move(file)),
          m_ranks(std::max<uint32_t>(ranks, static_cast<uint32_t>(recording.ranks.size()))),
          m_errors(errors)
    {
    }

    std::optional<training::TrainingPlan> Make();

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, "", problem);
        return false;
    }

    const Event& EventAt(const At& at) const
    {
        return m_recording.ranks[at.rank][at.event];
    }

    std::string Named(const At& at) const
    {
        return "\"" + rdma::Shown(EventAt(at).name, 60) + "\" of rank " + std::to_string(at.rank);
    }

    /// Of all ranks' events.
    std::size_t Number(const At& at) const
    {
        return m_first[at.rank] + at.event;
    }

    bool CheckEvents();
    bool LeaveOutNothings();
    bool MatchMessages();
    bool CheckCollectives();
    /// One order of all events, m_place. \param keeps the order of the lists on each resource.
    /// \return whether there is one; else events that are left over
    bool Order(bool keeps, std::vector<At>* left);
    void MakeGroups();
    bool MakeRoles();
    std::vector<uint32_t> OrderOf(Rank rank) const;
    bool MakeGraph(Rank rank, StepGraph* graph) const;
    uint32_t AddRole(StepGraph graph);

    const Recording& m_recording;
    const std::string m_file;
    const uint32_t m_ranks;
    std::vector<topo::Error>& m_errors;
    std::vector<std::size_t> m_first;                  ///< per rank; and the end
    OfEvents<std::vector<uint32_t>> m_after;           ///< [rank][event], no nothings
    std::vector<std::vector<std::vector<At>>> m_calls; ///< [communicator][k]: members' events
    std::vector<std::shared_ptr<const coll::BlockSizes>> m_blocks; ///< by number of event
    Messages m_messages;
    OfEvents<Lane> m_laneOf;
    std::vector<std::vector<uint32_t>> m_sendOf; ///< [rank][receive]: event of its peer
    std::vector<std::vector<uint32_t>> m_callOf; ///< [rank][event]: k of m_calls
    OfEvents<std::size_t> m_place;
    bool m_kept = true;             ///< the order of the lists
    std::vector<uint32_t> m_kindOf; ///< of communicators
    uint32_t m_messageKind = kNone;
    training::TrainingPlan m_plan;
    std::unordered_map<std::size_t, std::vector<uint32_t>> m_rolesOf; ///< by hash
};

bool
Builder::CheckEvents()
{
    m_first.push_back(0);
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        m_first.push_back(m_first.back() + events.size());
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            const bool message = event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv;
            if (event.nothing || !message)
            {
                continue;
            }
            if (event.peer >= m_recording.ranks.size())
            {
                return Fail(Named({rank, i}) + ": its peer is rank " + std::to_string(event.peer) +
                            "; allowed: 0 to " + std::to_string(m_recording.ranks.size() - 1));
            }
            if (event.peer == rank)
            {
                return Fail(Named({rank, i}) +
                            ": a message of a rank to itself; allowed: to others");
            }
        }
    }
    return true;
}

bool
Builder::LeaveOutNothings()
{
    m_after.resize(m_recording.ranks.size());
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        std::vector<std::vector<uint32_t>> next(events.size());
        std::vector<uint32_t> waits(events.size());
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            for (const uint32_t before : events[i].after)
            {
                next[before].push_back(i);
                ++waits[i];
            }
        }
        auto& after = m_after[rank];
        after.resize(events.size());
        std::vector<uint32_t> ready;
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            if (waits[i] == 0)
            {
                ready.push_back(i);
            }
        }
        std::size_t done = 0;
        while (!ready.empty())
        {
            const uint32_t i = ready.back();
            ready.pop_back();
            ++done;
            for (const uint32_t before : events[i].after)
            {
                if (events[before].nothing)
                {
                    after[i].insert(after[i].end(), after[before].begin(), after[before].end());
                }
                else
                {
                    after[i].push_back(before);
                }
            }
            std::sort(after[i].begin(), after[i].end());
            after[i].erase(std::unique(after[i].begin(), after[i].end()), after[i].end());
            if (after[i].size() > kMostAfter)
            {
                return Fail(Named({rank, i}) + " waits for " + std::to_string(after[i].size()) +
                            " others; allowed: at most " + std::to_string(kMostAfter));
            }
            for (const uint32_t behind : next[i])
            {
                if (--waits[behind] == 0)
                {
                    ready.push_back(behind);
                }
            }
        }
        if (done < events.size())
        {
            const auto found =
                std::find_if(waits.begin(), waits.end(), [](uint32_t n) { return n > 0; });
            return Fail(Named({rank, static_cast<uint32_t>(found - waits.begin())}) +
                        " waits for itself: dependencies go round in a circle");
        }
    }
    return true;
}

bool
Builder::MatchMessages()
{
    using Key = std::tuple<Rank, Rank, uint64_t>; // from, to, tag

    struct Ends
    {
        std::vector<uint32_t> sends;
        std::vector<uint32_t> receives;
    };

    std::map<Key, Ends> ends;
    m_sendOf.resize(m_recording.ranks.size());
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        m_sendOf[rank].assign(events.size(), kNone);
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            if (event.nothing)
            {
                continue;
            }
            if (event.kind == TaskKind::kSend)
            {
                ends[{rank, event.peer, event.tag}].sends.push_back(i);
            }
            else if (event.kind == TaskKind::kRecv)
            {
                ends[{event.peer, rank, event.tag}].receives.push_back(i);
            }
        }
    }
    for (const auto& [key, of] : ends)
    {
        const auto& [from, to, tag] = key;
        if (of.sends.size() != of.receives.size())
        {
            return Fail("rank " + std::to_string(from) + " sends " +
                        topo::Counted(of.sends.size(), "message") + " with tag " +
                        std::to_string(tag) + " to rank " + std::to_string(to) +
                        ", which receives " + std::to_string(of.receives.size()));
        }
        for (std::size_t k = 0; k < of.sends.size(); ++k)
        {
            const At send{from, of.sends[k]};
            const At receive{to, of.receives[k]};
            if (EventAt(send).bytes != EventAt(receive).bytes)
            {
                return Fail(Named(receive) + " expects " + std::to_string(EventAt(receive).bytes) +
                            " B, and " + Named(send) + " sends it " +
                            std::to_string(EventAt(send).bytes));
            }
            m_messages[{from, to}].push_back({send, receive});
            m_sendOf[to][receive.event] = send.event;
        }
    }
    return true;
}

bool
Builder::CheckCollectives()
{
    const auto& communicators = m_recording.communicators;
    std::vector<std::vector<std::vector<uint32_t>>> lists(communicators.size()); // [c][position]
    std::vector<std::unordered_map<Rank, uint32_t>> positions(communicators.size());
    for (std::size_t c = 0; c < communicators.size(); ++c)
    {
        const auto& ranks = communicators[c].ranks;
        lists[c].resize(ranks.size());
        if (ranks.empty())
        {
            return Fail("group \"" + rdma::Shown(communicators[c].name, 60) + "\" has no ranks");
        }
        for (uint32_t p = 0; p < ranks.size(); ++p)
        {
            if (ranks[p] >= m_recording.ranks.size() || !positions[c].emplace(ranks[p], p).second)
            {
                return Fail("group \"" + rdma::Shown(communicators[c].name, 60) + "\": rank " +
                            std::to_string(ranks[p]) +
                            (ranks[p] >= m_recording.ranks.size()
                                 ? "; allowed: 0 to " + std::to_string(m_recording.ranks.size() - 1)
                                 : " stands there twice; allowed: once"));
            }
        }
    }
    m_callOf.resize(m_recording.ranks.size());
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        m_callOf[rank].assign(events.size(), kNone);
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            if (events[i].nothing || events[i].kind != TaskKind::kCollective)
            {
                continue;
            }
            const uint32_t c = events[i].communicator;
            const auto found = positions[c].find(rank);
            if (found == positions[c].end())
            {
                return Fail(Named({rank, i}) + ": the rank is not in its group \"" +
                            rdma::Shown(communicators[c].name, 60) + "\"");
            }
            auto& list = lists[c][found->second];
            m_callOf[rank][i] = static_cast<uint32_t>(list.size());
            list.push_back(i);
        }
    }
    m_calls.resize(communicators.size());
    m_blocks.resize(m_first.back());
    for (std::size_t c = 0; c < communicators.size(); ++c)
    {
        const auto& ranks = communicators[c].ranks;
        const auto group = [&] {
            return "group \"" + rdma::Shown(communicators[c].name, 60) + "\"";
        };
        for (uint32_t p = 1; p < ranks.size(); ++p)
        {
            if (lists[c][p].size() != lists[c][0].size())
            {
                return Fail(group() + ": rank " + std::to_string(ranks[0]) + " calls " +
                            topo::Counted(lists[c][0].size(), "collective") + ", rank " +
                            std::to_string(ranks[p]) + " " + std::to_string(lists[c][p].size()));
            }
        }
        for (uint32_t k = 0; k < lists[c][0].size(); ++k)
        {
            auto& members = m_calls[c].emplace_back();
            const At first{ranks[0], lists[c][0][k]};
            std::vector<uint64_t> sizes;
            for (uint32_t p = 0; p < ranks.size(); ++p)
            {
                const At at{ranks[p], lists[c][p][k]};
                const Event& event = EventAt(at);
                const Event& other = EventAt(first);
                const bool uneven = event.op == coll::Op::kAllToAllV;
                if (event.op != other.op || (!uneven && event.bytes != other.bytes))
                {
                    return Fail(group() + ", collective " + std::to_string(k) + ": " +
                                Named(first) + " is " + coll::OpName(other.op) + " of " +
                                std::to_string(other.bytes) + " B, " + Named(at) + " " +
                                coll::OpName(event.op) + " of " + std::to_string(event.bytes));
                }
                if (uneven && event.sends.size() != ranks.size())
                {
                    return Fail(Named(at) + " has sizes for " + std::to_string(event.sends.size()) +
                                " ranks; allowed: as many as its group has, " +
                                std::to_string(ranks.size()));
                }
                sizes.insert(sizes.end(), event.sends.begin(), event.sends.end());
                members.push_back(at);
            }
            if (EventAt(first).op == coll::Op::kAllToAllV)
            {
                std::shared_ptr<const coll::BlockSizes> blocks;
                try
                {
                    blocks =
                        std::make_shared<coll::BlockSizes>(static_cast<Rank>(ranks.size()), sizes);
                }
                catch (const std::invalid_argument& e)
                {
                    return Fail(Named(first) + ": " + e.what());
                }
                for (const At& at : members)
                {
                    m_blocks[Number(at)] = blocks;
                }
            }
        }
    }
    return true;
}

bool
Builder::Order(bool keeps, std::vector<At>* left)
{
    const auto ranks = static_cast<Rank>(m_recording.ranks.size());
    // Collectives are one for all their members: what waits for one waits until all have begun.
    std::vector<std::vector<uint32_t>> open(m_calls.size());
    for (std::size_t c = 0; c < m_calls.size(); ++c)
    {
        for (const auto& members : m_calls[c])
        {
            open[c].push_back(static_cast<uint32_t>(members.size()));
        }
    }
    std::vector<std::vector<std::vector<uint32_t>>> next(ranks);
    std::vector<std::vector<uint32_t>> waits(ranks);
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        next[rank].resize(events.size());
        waits[rank].assign(events.size(), 0);
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> last; // of each resource
        const auto add = [&](uint32_t before, uint32_t event) {
            next[rank][before].push_back(event);
            ++waits[rank][event];
        };
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            if (event.nothing)
            {
                continue;
            }
            for (const uint32_t before : m_after[rank][i])
            {
                add(before, i);
            }
            const bool host = event.kind == TaskKind::kHost;
            const bool collective = event.kind == TaskKind::kCollective;
            const bool computes =
                event.kind == TaskKind::kCompute || event.kind == TaskKind::kMemory;
            if (collective || (keeps && (host || computes)))
            {
                const std::pair<uint32_t, uint32_t> resource = {collective ? 2 : host,
                                                                collective ? event.communicator
                                                                : host     ? event.thread
                                                                           : 0};
                const auto [place, isNew] = last.try_emplace(resource, i);
                if (!isNew)
                {
                    // Collectives: the next may begin when this one has, as they are posted.
                    add(std::exchange(place->second, i), i);
                }
            }
            waits[rank][i] += event.kind == TaskKind::kRecv; // for its send
        }
    }
    std::map<std::pair<Rank, uint32_t>, At> receiveOf;
    for (const auto& [pair, messages] : m_messages)
    {
        for (const Message& message : messages)
        {
            receiveOf[{message.send.rank, message.send.event}] = message.receive;
        }
    }
    using Ready = std::pair<uint32_t, Rank>; // event, rank: near the order of all lists
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    const auto release = [&](Rank rank, uint32_t event) {
        if (--waits[rank][event] == 0)
        {
            ready.push({event, rank});
        }
    };
    std::size_t all = 0;
    m_place.assign(ranks, {});
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        m_place[rank].assign(waits[rank].size(), SIZE_MAX);
        for (uint32_t i = 0; i < waits[rank].size(); ++i)
        {
            if (m_recording.ranks[rank][i].nothing)
            {
                continue;
            }
            ++all;
            if (waits[rank][i] == 0)
            {
                ready.push({i, rank});
            }
        }
    }
    std::size_t done = 0;
    while (!ready.empty())
    {
        const auto [i, rank] = ready.top();
        ready.pop();
        m_place[rank][i] = done++;
        const Event& event = m_recording.ranks[rank][i];
        if (event.kind == TaskKind::kCollective)
        {
            const uint32_t k = m_callOf[rank][i];
            if (--open[event.communicator][k] == 0)
            {
                for (const At& at : m_calls[event.communicator][k])
                {
                    for (const uint32_t behind : next[at.rank][at.event])
                    {
                        release(at.rank, behind);
                    }
                }
            }
            continue;
        }
        if (event.kind == TaskKind::kSend)
        {
            const At receive = receiveOf.at({rank, i});
            release(receive.rank, receive.event);
        }
        for (const uint32_t behind : next[rank][i])
        {
            release(rank, behind);
        }
    }
    if (done == all)
    {
        return true;
    }
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        for (uint32_t i = 0; i < m_place[rank].size(); ++i)
        {
            if (m_place[rank][i] == SIZE_MAX && !m_recording.ranks[rank][i].nothing)
            {
                left->push_back({rank, i});
                break; // the first of each rank tells most
            }
        }
    }
    return false;
}

void
Builder::MakeGroups()
{
    // Into the first kind of groups of this size that has none of its ranks.
    std::vector<std::vector<bool>> taken;
    for (std::size_t c = 0; c < m_recording.communicators.size(); ++c)
    {
        const Communicator& communicator = m_recording.communicators[c];
        if (m_calls[c].empty())
        {
            m_kindOf.push_back(kNone);
            continue;
        }
        auto& kinds = m_plan.groupKinds;
        uint32_t kind = 0;
        for (; kind < kinds.size(); ++kind)
        {
            if (kinds[kind].groups[0].size() == communicator.ranks.size() &&
                std::none_of(communicator.ranks.begin(), communicator.ranks.end(), [&](Rank r) {
                    return taken[kind][r];
                }))
            {
                break;
            }
        }
        if (kind == kinds.size())
        {
            kinds.push_back({"group " + communicator.name, {}});
            taken.emplace_back(m_ranks);
        }
        kinds[kind].groups.push_back(communicator.ranks);
        for (const Rank rank : communicator.ranks)
        {
            taken[kind][rank] = true;
        }
        m_kindOf.push_back(kind);
    }
    if (!m_messages.empty() || m_plan.groupKinds.empty())
    {
        m_messageKind = static_cast<uint32_t>(m_plan.groupKinds.size());
        std::vector<Rank> all(m_ranks);
        std::iota(all.begin(), all.end(), 0);
        m_plan.groupKinds.push_back({"all", {std::move(all)}});
    }
}

std::vector<uint32_t>
Builder::OrderOf(Rank rank) const
{
    const auto& events = m_recording.ranks[rank];
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < events.size(); ++i)
    {
        if (!events[i].nothing)
        {
            order.push_back(i);
        }
    }
    bool kept = m_kept;
    std::map<std::tuple<TaskKind, Rank, uint32_t>, std::size_t> last; // of each lane
    for (auto i = order.begin(); kept && i != order.end(); ++i)
    {
        const Event& event = events[*i];
        kept = m_after[rank][*i].empty() || m_after[rank][*i].back() < *i;
        if (event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv)
        {
            const std::size_t place = m_place[rank][*i];
            const auto [found, isNew] =
                last.try_emplace({event.kind, event.peer, m_laneOf[rank][*i].number}, place);
            kept = kept && (isNew || found->second < place);
            found->second = place;
        }
    }
    if (!kept)
    {
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return m_place[rank][a] < m_place[rank][b];
        });
    }
    return order;
}

bool
Builder::MakeGraph(Rank rank, StepGraph* graph) const
{
    // What stream a resource has: computing; a thread; a kind of groups; a lane to or from a rank.
    std::map<std::tuple<int, int64_t, uint32_t>, uint16_t> streams;
    std::map<std::pair<int, int64_t>, uint32_t> alike; // of one name
    graph->streams = {"compute"};
    const auto streamOf = [&](int what, int64_t which, uint32_t lane, const std::string& name) {
        const auto [found, isNew] = streams.try_emplace({what, which, lane}, 0);
        if (isNew)
        {
            found->second = static_cast<uint16_t>(graph->streams.size());
            const uint32_t before = alike[{what, which}]++;
            graph->streams.push_back(name +
                                     (before > 0 ? " (" + std::to_string(before + 1) + ")" : ""));
        }
        return found->second;
    };
    const auto& events = m_recording.ranks[rank];
    const std::vector<uint32_t> order = OrderOf(rank);
    std::vector<TaskId> idOf(events.size(), kNone);
    for (const uint32_t i : order)
    {
        if (graph->streams.size() >= kMostStreams)
        {
            return false;
        }
        const Event& event = events[i];
        idOf[i] = static_cast<TaskId>(graph->tasks.size());
        Task& task = graph->tasks.emplace_back();
        task.kind = event.kind;
        task.phase = event.phase;
        task.name = event.name;
        task.duration = event.duration;
        task.bytes = event.bytes;
        for (const uint32_t before : m_after[rank][i])
        {
            task.after.push_back(idOf[before]);
        }
        std::sort(task.after.begin(), task.after.end());
        switch (event.kind)
        {
        case TaskKind::kHost:
            task.stream = streamOf(1,
                                   event.thread,
                                   0,
                                   event.thread == 0 ? std::string("host")
                                                     : "host " + std::to_string(event.thread));
            break;
        case TaskKind::kCollective: {
            const uint32_t kind = m_kindOf[event.communicator];
            task.op = event.op;
            task.group = kind;
            task.stream = streamOf(2, kind, 0, m_plan.groupKinds[kind].name);
            if ((task.blocks = m_blocks[m_first[rank] + i]))
            {
                task.bytes = task.blocks->LargestInput();
            }
            break;
        }
        case TaskKind::kSend:
        case TaskKind::kRecv: {
            const bool sends = event.kind == TaskKind::kSend;
            const int64_t offset = static_cast<int64_t>(event.peer) - static_cast<int64_t>(rank);
            const Lane& lane = m_laneOf[rank][i];
            task.group = m_messageKind;
            task.peerOffset = static_cast<int32_t>(offset);
            task.tag = static_cast<uint16_t>(lane.number);
            task.stream = streamOf(sends ? 3 : 4,
                                   offset,
                                   lane.number * kMostUnderWay + lane.slot,
                                   (sends ? "send " : "receive ") +
                                       std::string(offset > 0 ? "+" : "") + std::to_string(offset));
            break;
        }
        default:
            break;
        }
    }
    return true;
}

bool
SameTask(const Task& a, const Task& b)
{
    return a.kind == b.kind && a.phase == b.phase && a.stream == b.stream &&
           a.duration == b.duration && a.op == b.op && a.bytes == b.bytes && a.blocks == b.blocks &&
           a.group == b.group && a.peerOffset == b.peerOffset && a.tag == b.tag &&
           a.name == b.name && a.after == b.after;
}

bool
SameGraph(const StepGraph& a, const StepGraph& b)
{
    return a.streams == b.streams && a.tasks.size() == b.tasks.size() &&
           std::equal(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), SameTask);
}

std::size_t
HashOf(const StepGraph& graph)
{
    std::size_t hash = graph.tasks.size();
    for (const Task& task : graph.tasks)
    {
        for (const std::size_t part : {std::hash<std::string>()(task.name),
                                       static_cast<std::size_t>(task.duration.ps),
                                       static_cast<std::size_t>(task.bytes),
                                       static_cast<std::size_t>(task.peerOffset),
                                       task.after.size()})
        {
            hash = hash * 1099511628211ULL ^ part;
        }
    }
    return hash;
}

uint32_t
Builder::AddRole(StepGraph graph)
{
    auto& same = m_rolesOf[HashOf(graph)];
    for (const uint32_t role : same)
    {
        if (SameGraph(m_plan.roles[role], graph))
        {
            return role;
        }
    }
    same.push_back(static_cast<uint32_t>(m_plan.roles.size()));
    m_plan.roles.push_back(std::move(graph));
    return same.back();
}

bool
Builder::MakeRoles()
{
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        StepGraph graph;
        if (!MakeGraph(rank, &graph))
        {
            return Fail("rank " + std::to_string(rank) + " has more than " +
                        std::to_string(kMostStreams - 1) +
                        " peers, threads and groups, or messages at the same time");
        }
        m_plan.roleOf.push_back(AddRole(std::move(graph)));
    }
    while (m_plan.roleOf.size() < m_ranks)
    {
        m_plan.roleOf.push_back(AddRole({{"compute"}, {}}));
    }
    return true;
}

std::optional<training::TrainingPlan>
Builder::Make()
{
    if (!CheckEvents() || !LeaveOutNothings() || !MatchMessages() || !CheckCollectives())
    {
        return std::nullopt;
    }
    const auto isNothing = [](const Event& event) { return event.nothing; };
    if (std::all_of(m_recording.ranks.begin(), m_recording.ranks.end(), [&](const auto& events) {
            return std::all_of(events.begin(), events.end(), isNothing);
        }))
    {
        Fail("has nothing to run; allowed: at least one operation that takes time");
        return std::nullopt;
    }
    std::vector<At> left;
    m_kept = Order(true, &left);
    left.clear();
    if (!m_kept && !Order(false, &left))
    {
        std::string names;
        for (std::size_t i = 0; i < std::min<std::size_t>(left.size(), 3); ++i)
        {
            names += (i > 0 ? ", " : "") + Named(left[i]);
        }
        Fail("ranks wait for each other in a circle, so none of these can begin: " + names);
        return std::nullopt;
    }
    const std::string crowded = AssignLanes(m_recording, m_place, m_messages, &m_after, &m_laneOf);
    if (!crowded.empty())
    {
        Fail(crowded);
        return std::nullopt;
    }
    m_plan.ranks = m_ranks;
    MakeGroups();
    if (!MakeRoles())
    {
        return std::nullopt;
    }
    return std::move(m_plan);
}

} // namespace

std::optional<training::TrainingPlan>
MakePlan(const Recording& recording,
         const std::string& file,
         uint32_t ranks,
         std::vector<topo::Error>& errors)
{
    return Builder(recording, file, ranks, errors).Make();
}

} // namespace formats
