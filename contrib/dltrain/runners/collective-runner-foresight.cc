/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner-foresight.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace dltrain
{

namespace
{

/// What lanes that meet inside servers are known to, at best, as a share: 64 MB over 16 servers of
/// 8 H100 and 8 NICs took from 905.46 to 906.39 us in packets, by launches that differed by some
/// ns.
constexpr double kLanes = 5e-4;

/// Hops that are alike have equal keys.
std::string
KeyOf(const Transport::Way& way)
{
    std::string key;
    for (const rdma::PathLink& link : way.links)
    {
        key += std::to_string(link.rate.bps) + '/' + std::to_string(link.delay.ps) + '/' +
               std::to_string(link.pipeline.ps) + ' ';
    }
    return key;
}

/// \return ps that so many bytes take on the slowest link
int64_t
TimeOf(const Transport::Way& way, uint64_t bytes)
{
    uint64_t least = UINT64_MAX;
    for (const rdma::PathLink& link : way.links)
    {
        least = std::min<uint64_t>(least, link.rate.bps);
    }
    return static_cast<int64_t>(8e12 * static_cast<double>(bytes) / static_cast<double>(least));
}

} // namespace

std::optional<coll::RingShape>
CollectiveRunner::Foresight::ShapeOf(uint32_t communicator,
                                     const Plan& plan,
                                     const std::vector<Rank>& order,
                                     coll::Lane lane,
                                     const std::map<Rank, const Path*>& paths) const
{
    const std::vector<Member>& members = m_runner.m_communicators[communicator].members;
    ns3::RdmaFabric& fabric = m_runner.m_interconnect.Fabric();
    coll::RingShape shape;
    std::map<uint64_t, uint8_t> sizes;
    std::map<std::string, uint32_t> kinds;
    std::vector<const Path*> of; // by kind; null: inside a server
    for (const Rank rank : order)
    {
        const uint64_t bytes = plan.schedule->At(rank, lane, 0).sendBytes;
        const auto number = static_cast<uint8_t>(sizes.size());
        shape.sizes.push_back(sizes.try_emplace(bytes, number).first->second);
        if (sizes.size() > kSizes)
        {
            return std::nullopt;
        }
        const auto path = paths.find(rank);
        const std::string key = path == paths.end()
                                    ? std::to_string(reinterpret_cast<uintptr_t>(
                                          m_runner.m_cluster.KindOf(members[rank].server)))
                                    : KeyOf(path->second->way);
        const auto kind = static_cast<uint32_t>(kinds.size());
        shape.kinds.push_back(kinds.try_emplace(key, kind).first->second);
        if (shape.kinds.back() == of.size())
        {
            of.push_back(path == paths.end() ? nullptr : path->second);
        }
    }
    shape.sizeCount = static_cast<uint32_t>(sizes.size());
    shape.gaps.assign(of.size() * sizes.size(), 0);
    shape.acks = shape.idle = shape.gaps;
    shape.ack.assign(of.size(), 0);
    for (const auto& [bytes, number] : sizes)
    {
        const uint64_t onWire = plan.times.wire.BytesOnWire(bytes);
        const auto load = fabric.GetLoadOfMessage(onWire, true);
        for (uint32_t kind = 0; kind < of.size(); ++kind)
        {
            if (!of[kind])
            {
                continue;
            }
            const Path& path = *of[kind];
            const Transport::Way& way = path.way;
            const std::size_t at = kind * sizes.size() + number;
            shape.idle[at] =
                plan.times.outside +
                fabric.GetIdealCompletion(path.fromEndpoint, path.toEndpoint, onWire, true);
            shape.gaps[at] = std::max(TimeOf(way, load.wireBytes), plan.times.post);
            shape.acks[at] = TimeOf(way, load.ackWireBytes);
            shape.ack[kind] = TimeOf(way, load.ackWireBytes / std::max<uint64_t>(load.acks, 1));
        }
    }
    return shape;
}

std::optional<CollectiveRunner::Foresight::Ring>
CollectiveRunner::Foresight::MakeRing(uint32_t communicator,
                                      const Plan& plan,
                                      const std::vector<Path>& paths) const
{
    const coll::Schedule& schedule = *plan.schedule;
    const Rank ranks = schedule.What().ranks;
    Ring ring{communicator, 0, 0, {}, {}};
    if (schedule.PassesOn())
    {
        ring.steps = schedule.Steps(0, 0);
    }
    for (uint32_t steps = kFirst; steps <= kMost && 2 * steps <= ring.steps; steps *= 2)
    {
        ring.noted = steps;
    }
    if (ring.noted == 0)
    {
        return std::nullopt;
    }
    // Messages of two hops that share a port come at rates that no hop of its own explains.
    std::map<uint32_t, std::pair<Rank, Rank>> users; // by end
    std::vector<std::map<Rank, const Path*>> pathsOf(schedule.Lanes(0));
    for (const Path& path : paths)
    {
        pathsOf[path.lane][path.from] = &path;
        for (const uint32_t end : path.way.ends)
        {
            const std::pair<Rank, Rank> hop{path.from, path.to};
            if (users.try_emplace(end, hop).first->second != hop)
            {
                return std::nullopt;
            }
        }
    }
    for (coll::Lane lane = 0; lane < schedule.Lanes(0); ++lane)
    {
        std::vector<Rank> order{0};
        while (order.size() < ranks)
        {
            order.push_back(schedule.At(order.back(), lane, 0).sendPeer);
        }
        const auto shape = ShapeOf(communicator, plan, order, lane, pathsOf[lane]);
        if (!shape)
        {
            return std::nullopt;
        }
        ring.lanes.push_back({std::move(order), coll::RingRecurrence(*shape)});
    }
    return ring;
}

void
CollectiveRunner::Foresight::Add(uint32_t track,
                                 uint32_t communicator,
                                 const Plan& plan,
                                 const std::vector<Path>& paths)
{
    m_rings.resize(std::max<std::size_t>(m_rings.size(), track + 1));
    m_rings[track] = MakeRing(communicator, plan, paths);
}

void
CollectiveRunner::Foresight::Begin(Part& part, int64_t now) const
{
    const std::optional<Ring>& ring = m_rings[part.plan->track];
    if (!ring || m_runner.m_speeds) // GPUs that stand still are no constants
    {
        return;
    }
    const std::size_t lanes = part.lanes.size();
    part.log = std::make_unique<StepLog>();
    part.log->steps = ring->noted;
    part.log->times.assign(lanes * ring->noted, now);
    for (const LaneState& lane : part.lanes)
    {
        // Messages that have come before are taken now.
        part.log->done.push_back(std::min(1 + lane.arrivals.Count(), ring->noted));
    }
}

coll::RingTimes
CollectiveRunner::Foresight::TimesOf(const Ring& ring,
                                     coll::Lane lane,
                                     uint32_t sequence,
                                     uint32_t steps) const
{
    const std::vector<Member>& members = m_runner.m_communicators[ring.communicator].members;
    coll::RingTimes times;
    times.steps = steps;
    times.at.reserve(ring.lanes[lane].order.size() * steps);
    for (const Rank position : ring.lanes[lane].order)
    {
        const StepLog& log = *FindPart(members[position], sequence)->log;
        const auto begin = log.times.begin() + lane * log.steps;
        times.at.insert(times.at.end(), begin, begin + steps);
    }
    return times;
}

void
CollectiveRunner::Foresight::AddDelay(const Ring& ring,
                                      coll::Lane lane,
                                      uint32_t sequence,
                                      const coll::RingTimes& times,
                                      std::vector<int64_t>* ends) const
{
    const auto group = m_groups.find(ring.communicator);
    if (group == m_groups.end() || sequence == 0)
    {
        return;
    }
    const std::vector<Rank>& order = ring.lanes[lane].order;
    const auto gone = group->second.gone.find(sequence - 1);
    if (gone == group->second.gone.end() || gone->second.left < order.size())
    {
        return;
    }
    const std::optional<Ring>& other = m_rings[gone->second.track];
    if (!other || other->lanes.size() != ring.lanes.size() || other->lanes[lane].order != order)
    {
        return;
    }
    std::vector<int64_t> launches;
    std::vector<int64_t> before;
    for (std::size_t p = 0; p < order.size(); ++p)
    {
        launches.push_back(times.At(static_cast<uint32_t>(p), 0));
        before.push_back(gone->second.ends[order[p]] -
                         (other->early.empty() ? 0 : other->early[lane][order[p]]));
    }
    const std::vector<int64_t> delay =
        ring.lanes[lane].recurrence.Delay(launches, before, ring.steps - 1);
    for (std::size_t p = 0; p < order.size(); ++p)
    {
        (*ends)[p] += delay[p];
    }
}

std::optional<CollectiveRunner::Foresight::Ends>
CollectiveRunner::Foresight::Try(uint32_t track, uint32_t sequence, uint32_t steps)
{
    Ring& ring = *m_rings[track];
    Group& group = m_groups[ring.communicator];
    const auto ranks = static_cast<uint32_t>(ring.lanes[0].order.size());
    if (++group.ranks[{sequence, steps}] < ranks)
    {
        return std::nullopt;
    }
    group.ranks.erase(group.ranks.begin(), group.ranks.upper_bound({sequence, steps}));
    const std::vector<Member>& members = m_runner.m_communicators[ring.communicator].members;
    for (const Member& member : members)
    {
        // Notes of one window: some rank may have left, or may not note any more.
        const Part* part = member.kind == Kind::RANK ? FindPart(member, sequence) : nullptr;
        if (member.kind == Kind::RANK && (!part || !part->log || part->log->steps < steps))
        {
            return std::nullopt;
        }
    }
    Ends ends{std::vector<int64_t>(ranks, 0), std::vector<int64_t>(ranks, 0), 0};
    std::vector<std::vector<int64_t>> ofLanes;
    for (coll::Lane lane = 0; lane < ring.lanes.size(); ++lane)
    {
        Lane& its = ring.lanes[lane];
        const coll::RingTimes times = TimesOf(ring, lane, sequence, steps);
        if (!its.recurrence.Learn(times))
        {
            if (steps == ring.noted)
            {
                StopNoting(ring, sequence, {});
            }
            return std::nullopt;
        }
        const std::vector<int64_t> inPackets = its.recurrence.Foresee(times, ring.steps - 1);
        std::vector<int64_t> along = inPackets;
        AddDelay(ring, lane, sequence, times, &along);
        std::vector<int64_t>& byPosition = ofLanes.emplace_back(ranks);
        for (uint32_t p = 0; p < ranks; ++p)
        {
            const Rank position = its.order[p];
            byPosition[position] = along[p];
            ends.at[position] = std::max(ends.at[position], along[p]);
            ends.late[position] = std::max(ends.late[position], inPackets[p]);
        }
        ends.miss = std::max(ends.miss, its.recurrence.GetMiss());
    }
    ends.miss = ring.lanes.size() > 1 ? std::max(ends.miss, kLanes) : ends.miss;
    for (Rank position = 0; position < ranks; ++position)
    {
        ends.late[position] = ends.at[position] - ends.late[position];
    }
    ring.early = std::move(ofLanes);
    for (std::vector<int64_t>& lane : ring.early)
    {
        for (Rank position = 0; position < ranks; ++position)
        {
            lane[position] = ends.at[position] - lane[position];
        }
    }
    return ends;
}

void
CollectiveRunner::Foresight::StopNoting(const Ring& ring,
                                        uint32_t sequence,
                                        const std::vector<int64_t>& late) const
{
    std::vector<Member>& members = m_runner.m_communicators[ring.communicator].members;
    for (const Rank position : ring.lanes[0].order)
    {
        StepLog& log = *GetPart(members[position], sequence).log;
        log = {0, late.empty() ? 0 : late[position], {}, {}};
    }
}

void
CollectiveRunner::Foresight::Stay(uint32_t track,
                                  uint32_t sequence,
                                  const std::vector<int64_t>& late) const
{
    StopNoting(*m_rings[track], sequence, late);
}

void
CollectiveRunner::Foresight::NoteEnd(uint32_t communicator,
                                     uint32_t track,
                                     uint32_t sequence,
                                     Rank position,
                                     int64_t at)
{
    std::map<uint32_t, Gone>& gone = m_groups[communicator].gone;
    Gone& its = gone[sequence];
    its.track = track;
    its.ends.resize(m_runner.m_communicators[communicator].ranks.size(), -1);
    its.left += its.ends[position] < 0;
    its.ends[position] = at;
    constexpr uint32_t kKept = 4; // the next one is all that asks
    gone.erase(gone.begin(), gone.lower_bound(sequence - std::min(sequence, kKept)));
}

} // namespace dltrain
