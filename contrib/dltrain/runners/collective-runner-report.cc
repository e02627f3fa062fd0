/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CollectiveRunner: what it says of collectives that have not ended.
 */
#include "collective-runner.h"
#include "collectives/core/cut-off.h"
#include "collectives/core/registry.h"
#include "contrib/dltrain/ranks/ranks.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace dltrain
{

std::vector<CollectiveRunner::Entered>
CollectiveRunner::GetEntered(uint32_t communicator, Rank position) const
{
    EndRelays();
    const Member& member = m_communicators[communicator].members[position];
    std::map<uint32_t, const Part*> parts;
    if (member.part.used)
    {
        parts.emplace(member.part.sequence, &member.part);
    }
    for (const auto& [sequence, part] : member.others)
    {
        parts.emplace(sequence, &part);
    }
    std::vector<Entered> entered;
    for (const auto& [sequence, part] : parts)
    {
        if (part->plan) // else something has come for it, no more
        {
            entered.push_back({sequence, part->plan->schedule->What(), part->tag, part->cookie});
        }
    }
    return entered;
}

uint32_t
CollectiveRunner::CountEntered(uint32_t communicator, Rank position) const
{
    return m_communicators[communicator].members[position].entered;
}

std::string
CollectiveRunner::DescribeUnfinished(const Communicator& comm, uint32_t sequence) const
{
    uint32_t here = 0;
    uint32_t entered = 0;
    uint32_t left = 0;
    const Plan* plan = nullptr;
    std::string waits;
    for (const Member& member : comm.members)
    {
        const bool isHere =
            member.kind == Kind::RANK && m_interconnect.GetPlaces().IsHere(member.rank);
        here += isHere;
        if (!isHere || member.entered <= sequence)
        {
            continue;
        }
        ++entered;
        const Part* part = FindPart(member, sequence);
        if (!part)
        {
            ++left;
            continue;
        }
        plan = part->plan;
        for (const LaneState& lane : part->lanes)
        {
            if (waits.empty() && lane.index < lane.steps && lane.recvPeer != coll::kNoRank)
            {
                const Member& peer = comm.members[lane.recvPeer];
                waits = "; rank " + std::to_string(member.rank) + " waits for " +
                        (peer.kind == Kind::RANK            ? "rank " + std::to_string(peer.rank)
                         : peer.kind == Kind::SERVER_SWITCH ? "its server's switch"
                                                            : "a switch that adds up") +
                        " at step " + std::to_string(lane.index) + " of " +
                        std::to_string(lane.steps);
            }
        }
    }
    if (left == here)
    {
        return {};
    }
    std::string what = "a collective"; // the ranks that knew it have left
    if (plan)
    {
        const coll::Collective& collective = plan->schedule->What();
        what = coll::OpName(collective.op) + " of " + std::to_string(collective.bytes) + " B";
    }
    return what + ": " + std::to_string(entered) + " of " + std::to_string(here) + " ranks " +
           (here == comm.ranks.size() ? "" : "of this process ") + "entered, " +
           std::to_string(left) + " left" + waits;
}

std::vector<std::string>
CollectiveRunner::DescribeUnfinished() const
{
    EndRelays();
    std::vector<std::string> lines;
    uint64_t failed = 0;
    const Failure* first = nullptr;
    for (const Communicator& comm : m_communicators)
    {
        // Those that some ranks have entered and not all have left.
        uint32_t begin = UINT32_MAX;
        uint32_t end = 0;
        for (const Member& member : comm.members)
        {
            if (!m_interconnect.GetPlaces().IsHere(member.rank))
            {
                continue;
            }
            if (member.failure)
            {
                failed += member.failure->messages;
                first =
                    !first || member.failure->since < first->since ? member.failure.get() : first;
            }
            if (member.kind != Kind::RANK)
            {
                continue;
            }
            begin = std::min(begin, member.entered);
            end = std::max(end, member.entered);
            if (member.part.used)
            {
                begin = std::min(begin, member.part.sequence);
            }
            if (!member.others.empty())
            {
                begin = std::min(begin, member.others.begin()->first);
            }
        }
        for (uint32_t sequence = begin; sequence < end; ++sequence)
        {
            const std::string line = DescribeUnfinished(comm, sequence);
            if (!line.empty())
            {
                lines.push_back(line);
            }
        }
    }
    if (failed)
    {
        lines.push_back("messages that failed: " + std::to_string(failed) + ", the first " +
                        first->first);
        for (const reports::CutOffRecord& record : GetCutOff())
        {
            lines.push_back(record.InWords());
        }
    }
    return lines;
}

std::vector<CollectiveRunner::Standing>
CollectiveRunner::FindStanding() const
{
    EndRelays();
    std::vector<Standing> all;
    for (uint32_t c = 0; c < m_communicators.size(); ++c)
    {
        const Communicator& comm = m_communicators[c];
        for (const Member& member : comm.members)
        {
            // Collectives that add up in switches have members that are no ranks: these are not
            // reported.
            if (member.kind != Kind::RANK || !m_interconnect.GetPlaces().IsHere(member.rank))
            {
                continue;
            }
            for (const Rank to : member.failure ? member.failure->to : std::set<Rank>())
            {
                if (to < comm.ranks.size())
                {
                    all.push_back({c, member.position, to});
                }
            }
            if (member.part.used && member.part.plan)
            {
                const Plan& plan = *member.part.plan;
                const uint64_t bytes = plan.schedule->What().bytes;
                all.push_back({c, member.position, coll::kNoRank, plan.id, bytes});
            }
        }
    }
    return all;
}

void
CollectiveRunner::MergeRanks()
{
    m_standing = Ranks::OfHosts().GatherAll(FindStanding());
    std::stable_sort(m_standing->begin(),
                     m_standing->end(),
                     [](const Standing& a, const Standing& b) {
                         return std::tie(a.communicator, a.position) <
                                std::tie(b.communicator, b.position);
                     });
}

std::vector<reports::CutOffRecord>
CollectiveRunner::GetCutOff() const
{
    std::vector<reports::CutOffRecord> records;
    const std::vector<Standing> all = m_standing ? *m_standing : FindStanding();
    for (auto it = all.begin(); it != all.end();)
    {
        const Communicator& comm = m_communicators[it->communicator];
        std::set<coll::Edge> lost;      // positions, both ways
        std::vector<coll::Edge> failed; // ranks
        std::vector<const Plan*> plans; // plans of collectives in progress
        for (const uint32_t c = it->communicator; it != all.end() && it->communicator == c; ++it)
        {
            if (it->failedTo != coll::kNoRank)
            {
                lost.insert({{it->position, it->failedTo}, {it->failedTo, it->position}});
                failed.emplace_back(comm.ranks[it->position], comm.ranks[it->failedTo]);
                continue;
            }
            const auto [first, last] = comm.plans.equal_range(it->bytes);
            const auto plan = std::find_if(first, last, [&it](const auto& known) {
                return known.second.id == it->plan;
            });
            if (plan != last && std::find(plans.begin(), plans.end(), &plan->second) == plans.end())
            {
                plans.push_back(&plan->second);
            }
        }
        for (const Plan* plan : plans)
        {
            const coll::Collective& what = plan->schedule->What();
            reports::CutOffRecord record{what.op,
                                         what.bytes,
                                         plan->algorithm->Name(),
                                         failed,
                                         coll::SplitWithout(*plan->schedule, lost)};
            for (coll::SplitLanes& split : record.split)
            {
                for (std::vector<Rank>& part : split.parts)
                {
                    for (Rank& rank : part)
                    {
                        rank = comm.ranks[rank];
                    }
                }
            }
            if (!record.split.empty())
            {
                records.push_back(std::move(record));
            }
        }
    }
    return records;
}

} // namespace dltrain
