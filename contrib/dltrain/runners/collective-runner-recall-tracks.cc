/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recall: which collectives are alike, and what they send where.
 */
#include "collective-runner-recall.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace dltrain
{

namespace
{

/// What two that use a GPU's links inside its server share.
coll::RecallLoad
InsideOf(Rank rank)
{
    constexpr uint32_t kBehindPorts = 1U << 31U;
    return {kBehindPorts + rank, 1, false};
}

/// \param holds of (rank, lane, receiver), in this order; of a lane that passes on one step is all.
/// \return whether it does for all that ranks send, up to the first for which it does not
template <class Holds>
bool
AllSends(const coll::Schedule& schedule, const Holds& holds)
{
    for (Rank rank = 0; rank < schedule.What().ranks; ++rank)
    {
        for (coll::Lane lane = 0; lane < schedule.Lanes(rank); ++lane)
        {
            const coll::StepIndex all = schedule.Steps(rank, lane);
            const coll::StepIndex steps = schedule.PassesOn() ? std::min(1U, all) : all;
            for (coll::StepIndex i = 0; i < steps; ++i)
            {
                const Rank to = schedule.At(rank, lane, i).sendPeer;
                if (to != coll::kNoRank && !holds(rank, lane, to))
                {
                    return false;
                }
            }
        }
    }
    return true;
}

} // namespace

bool
CollectiveRunner::Recall::FindPaths(uint32_t communicator,
                                    const Plan& plan,
                                    std::vector<Path>* paths) const
{
    const std::vector<Member>& members = m_runner.m_communicators[communicator].members;
    std::set<std::tuple<Rank, Rank, coll::Lane>> known;
    return AllSends(*plan.schedule, [&](Rank rank, coll::Lane lane, Rank to) {
        if (members[to].server == members[rank].server || !known.emplace(rank, to, lane).second)
        {
            return true;
        }
        const uint16_t rail = m_runner.RailOf(members[rank], plan, to, lane);
        const ChannelName name = m_runner.NameOf(members[rank], plan, to, lane, rail);
        const auto way = m_runner.m_interconnect.Serving(name.from, name.to).FindWay(name);
        if (way)
        {
            const Places& places = m_runner.m_interconnect.GetPlaces();
            paths->push_back({rank, to, lane, places.FromOf(name), places.ToOf(name), *way});
        }
        return way.has_value();
    });
}

std::string
CollectiveRunner::Recall::ShapeOf(uint32_t communicator,
                                  const Plan& plan,
                                  const std::vector<Path>& paths) const
{
    const coll::Collective& what = plan.schedule->What();
    const std::vector<Member>& members = m_runner.m_communicators[communicator].members;
    std::string shape = std::to_string(static_cast<int>(what.op)) + ' ' +
                        std::to_string(what.bytes) + ' ' +
                        std::to_string(reinterpret_cast<uintptr_t>(plan.algorithm)) + ' ' +
                        std::to_string(plan.protocol ? static_cast<int>(*plan.protocol) : -1);
    // Servers by number of their first rank, so that groups in other servers are alike.
    std::map<uint32_t, uint32_t> numbers;
    for (Rank rank = 0; rank < what.ranks; ++rank)
    {
        const uint32_t server = members[rank].server;
        const auto number = static_cast<uint32_t>(numbers.size());
        shape += ' ' + std::to_string(numbers.try_emplace(server, number).first->second) + '/' +
                 std::to_string(reinterpret_cast<uintptr_t>(m_runner.m_cluster.KindOf(server)));
    }
    // Which channels share a port of the network matters, whichever port it is.
    std::map<uint32_t, uint32_t> ends;
    for (const Path& path : paths)
    {
        shape += '\n' + std::to_string(path.from) + '>' + std::to_string(path.to) + '.' +
                 std::to_string(path.lane);
        for (std::size_t i = 0; i < path.way.links.size(); ++i)
        {
            const rdma::PathLink& link = path.way.links[i];
            const auto number = static_cast<uint32_t>(ends.size());
            shape += ' ' + std::to_string(ends.try_emplace(path.way.ends[i], number).first->second);
            shape += ':' + std::to_string(link.rate.bps) + '/' + std::to_string(link.delay.ps) +
                     '/' + std::to_string(link.pipeline.ps);
        }
    }
    return shape;
}

uint64_t
CollectiveRunner::Recall::AddLoads(const Plan& plan,
                                   const Path& path,
                                   coll::StepIndex steps,
                                   std::map<uint32_t, Load>* byEnd) const
{
    const coll::Schedule& schedule = *plan.schedule;
    const ns3::RdmaFabric& fabric = m_runner.m_interconnect.Fabric();
    ns3::RdmaFabric::MessageLoad sum{};
    ns3::RdmaFabric::MessageLoad load{};
    uint64_t bytes = 0;
    uint64_t known = UINT64_MAX; // bytes of that load: sizes seldom change
    for (coll::StepIndex i = 0; i < steps; ++i)
    {
        const coll::Step step = schedule.At(path.from, path.lane, i);
        if (step.sendPeer != path.to)
        {
            continue;
        }
        if (const uint64_t its = plan.times.wire.BytesOnWire(step.sendBytes); its != known)
        {
            load = fabric.GetLoadOfMessage(its, true);
            known = its;
        }
        bytes += known;
        sum.frames += load.frames;
        sum.wireBytes += load.wireBytes;
        sum.acks += load.acks;
        sum.ackWireBytes += load.ackWireBytes;
    }
    const auto add = [byEnd](uint32_t end, uint64_t bytes, uint64_t frames) -> Load& {
        Load& its = byEnd->try_emplace(end, Load{end, 0, 0, 0, false}).first->second;
        its.wireBytes += bytes;
        its.frames += frames;
        return its;
    };
    for (std::size_t i = 0; i < path.way.ends.size(); ++i)
    {
        Load& its = add(path.way.ends[i], sum.wireBytes, sum.frames);
        its.busy += coll::BusyOf(sum.wireBytes, path.way.links[i].rate.bps);
        its.inner = i > 0 && i + 1 < path.way.ends.size();
    }
    for (const uint32_t end : path.way.back)
    {
        add(end, sum.ackWireBytes, sum.acks);
    }
    return bytes;
}

void
CollectiveRunner::Recall::Add(uint32_t communicator, Plan* plan)
{
    if (plan->formula >= 0 || plan->schedule->What().bytes == 0)
    {
        return; // no messages
    }
    if (!plan->between)
    {
        AddInside(communicator, plan);
        return;
    }
    std::vector<Path> paths;
    if (!coll::NeedsAll(plan->schedule->What()) || !plan->positions.empty() ||
        !FindPaths(communicator, *plan, &paths))
    {
        Distrust();
        return;
    }
    std::map<uint32_t, Load> loads;
    uint64_t bytes = 0;
    for (const Path& path : paths)
    {
        bytes += AddLoads(*plan, path, plan->schedule->Steps(path.from, path.lane), &loads);
    }
    std::vector<coll::RecallLoad> shared;
    for (const auto& [end, load] : loads)
    {
        if (load.busy > 0)
        {
            shared.push_back({load.end, load.busy, load.inner});
        }
    }
    std::vector<std::vector<coll::RecallLoad>> first(plan->schedule->What().ranks);
    for (const Path& path : paths)
    {
        std::map<uint32_t, Load> its;
        AddLoads(*plan, path, 1, &its);
        for (const auto& [end, load] : its)
        {
            if (load.busy > 0)
            {
                first[path.from].push_back({load.end, load.busy, load.inner});
            }
        }
    }
    Communicator& comm = m_runner.m_communicators[communicator];
    for (const Rank position : FindPassing(communicator, *plan))
    {
        m_passing.insert(comm.ranks[position]);
        shared.push_back(InsideOf(comm.ranks[position]));
    }
    plan->track = m_book.AddTrack(communicator,
                                  ShapeOf(communicator, *plan, paths),
                                  static_cast<uint32_t>(comm.ranks.size()),
                                  std::move(shared),
                                  std::move(first));
    plan->trackOfGroup = comm.tracks++;
    m_foresight.Add(plan->track, communicator, *plan, paths);
    Track& track = m_tracks.emplace_back(Track{communicator, plan, std::move(paths), {}, bytes});
    for (const auto& [end, load] : loads)
    {
        track.loads.push_back(load);
    }
    if (plan->bytesOf.empty())
    {
        CountBytes(plan);
    }
    std::vector<std::pair<uint32_t, Plan*>> inside;
    inside.swap(m_inside);
    for (const auto& [group, its] : inside)
    {
        AddInside(group, its);
    }
}

std::set<Rank>
CollectiveRunner::Recall::FindPassing(uint32_t communicator, const Plan& plan) const
{
    const std::vector<Member>& members = m_runner.m_communicators[communicator].members;
    std::set<Rank> passing;
    AllSends(*plan.schedule, [&](Rank rank, coll::Lane, Rank to) {
        if (members[to].server == members[rank].server)
        {
            passing.insert({rank, to});
        }
        return true;
    });
    return passing;
}

void
CollectiveRunner::Recall::AddInside(uint32_t communicator, Plan* plan)
{
    Communicator& comm = m_runner.m_communicators[communicator];
    if (std::none_of(comm.ranks.begin(), comm.ranks.end(), [this](Rank rank) {
            return m_passing.count(rank);
        }))
    {
        m_inside.emplace_back(communicator, plan);
        return;
    }
    if (!coll::NeedsAll(plan->schedule->What()) || !plan->positions.empty() ||
        ns3::RdmaClock::Now() > 0) // some ranks may be in it
    {
        Distrust();
        return;
    }
    std::vector<coll::RecallLoad> shared;
    for (const Rank rank : comm.ranks)
    {
        shared.push_back(InsideOf(rank));
    }
    plan->track = m_book.AddTrack(communicator,
                                  "inside " + std::to_string(plan->id),
                                  static_cast<uint32_t>(comm.ranks.size()),
                                  std::move(shared),
                                  {},
                                  false);
    plan->trackOfGroup = comm.tracks++;
    plan->atOnce = false; // it may be cut
    m_tracks.push_back(Track{communicator, plan, {}, {}, 0});
    m_foresight.Skip(plan->track);
    if (plan->bytesOf.empty())
    {
        CountBytes(plan);
    }
}

} // namespace dltrain
