/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/downpour.h"

namespace workload
{

Downpour::Downpour(const training::TrainingPlan& plan,
                   const training::ServedPlan& served,
                   uint32_t warmup,
                   uint32_t measured)
    : Served(plan, served, warmup, measured),
      m_begun(served.Replicas()),
      m_places(std::size_t{served.Replicas()} * served.Shards()),
      m_pairs(m_places.size()),
      m_shards(served.Shards()),
      m_local(served.Replicas())
{
    for (Rank r = 0; r < served.Replicas(); ++r)
    {
        if (const uint32_t s = served.LocalShard(r); s < served.Shards())
        {
            TakeRead(r, s, 0);
        }
    }
}

Round
Downpour::StepOf(Rank replica)
{
    const uint32_t step = m_begun[replica]++;
    return RoundOf(m_served.Step(replica, Fetches(step), Carries(step)), step);
}

std::optional<Round>
Downpour::Next(coll::Rank runner)
{
    const Who who = m_served.WhoIs(runner);
    switch (who.kind)
    {
    case Kind::kReplica: {
        const uint32_t begun = m_begun[runner];
        const bool waits =
            begun > 0 && Pushes(begun - 1) && m_served.LocalShard(runner) < m_served.Shards();
        return waits ? std::nullopt : std::optional(StepOf(runner));
    }
    case Kind::kConnection: {
        Place& at = m_places[runner - m_served.Connection(0, 0)];
        return m_served.IsLocal(who.replica, who.shard) || at.pushed ? std::nullopt : Go(who, at);
    }
    default:
        return std::nullopt; // an update begins when there is something to apply
    }
}

std::optional<Round>
Downpour::Woken(coll::Rank runner, uint32_t word)
{
    const Who who = m_served.WhoIs(runner);
    switch (who.kind)
    {
    case Kind::kReplica:
        return StepOf(runner);
    case Kind::kConnection: {
        Place& at = m_places[runner - m_served.Connection(0, 0)];
        at.pushed = false;
        return Go(who, at);
    }
    default:
        return RoundOf(m_served.Update(who.shard), word);
    }
}

std::optional<Round>
Downpour::Go(const Who& who, Place& at)
{
    while (true)
    {
        if (at.done == 3)
        {
            ++at.step;
            at.done = 0;
        }
        const uint32_t what = at.done++;
        if (what < 2 && Fetches(at.step))
        {
            return RoundOf(what == 0 ? m_served.Request(who.replica, who.shard)
                                     : m_served.Reply(who.replica, who.shard),
                           at.step);
        }
        if (what == 2 && Carries(at.step))
        {
            at.pushed = true;
            return RoundOf(m_served.Push(who.replica, who.shard), at.step);
        }
    }
}

void
Downpour::Join(const Who& who, const Round& round, Notice& notice)
{
    switch (who.kind)
    {
    case Kind::kReplica:
        JoinReplica(who.replica, round.number, notice);
        return;
    case Kind::kUpdater:
        Applied(who.shard, notice);
        return;
    default:
        if (round.graph == m_served.Request(who.replica, who.shard))
        {
            TakeRead(who.replica, who.shard, round.number);
        }
        else if (round.graph == m_served.Reply(who.replica, who.shard))
        {
            CountSent(who.shard);
        }
        else
        {
            CountReceived(who.shard);
            Apply(who.shard, {who.replica, round.number - Lag()}, notice);
        }
    }
}

void
Downpour::JoinReplica(Rank replica, uint32_t step, Notice& notice)
{
    m_statistics.roundsOf[replica] += IsMeasured();
    if (++m_rounds % m_served.Replicas() == 0 && !EndStep(notice))
    {
        return;
    }
    const uint32_t shard = m_served.LocalShard(replica);
    if (shard == m_served.Shards())
    {
        return;
    }
    Local& local = m_local[replica];
    local.next = step + 1;
    if (Pushes(step))
    {
        ++local.pending;
        local.rests = true;
        Apply(shard, {replica, step}, notice);
        GoOn(replica, notice);
    }
    else if (Fetches(local.next))
    {
        TakeRead(replica, shard, local.next);
    }
}

void
Downpour::GoOn(Rank replica, Notice& notice)
{
    Local& local = m_local[replica];
    if (local.rests && local.pending <= Lag())
    {
        local.rests = false;
        if (Fetches(local.next))
        {
            TakeRead(replica, m_served.LocalShard(replica), local.next);
        }
        notice.wake.emplace_back(replica);
    }
}

void
Downpour::TakeRead(Rank replica, uint32_t shard, uint32_t step)
{
    Pair& pair = PairOf(replica, shard);
    pair.reads.push_back({step, m_shards[shard].applied - pair.applied});
}

void
Downpour::Apply(uint32_t shard, const Push& push, Notice& notice)
{
    auto& queue = m_shards[shard].queue;
    queue.push_back(push);
    if (queue.size() == 1)
    {
        notice.wake.emplace_back(m_served.Updater(shard), push.step);
    }
}

void
Downpour::Applied(uint32_t shard, Notice& notice)
{
    Shard& of = m_shards[shard];
    const Push push = of.queue.front();
    of.queue.pop_front();
    Pair& pair = PairOf(push.replica, shard);
    // Computed from what came no later than this; before the first fetch from what all begin with.
    auto& reads = pair.reads;
    while (reads.size() > 1 && reads[1].step + Lag() <= push.step)
    {
        reads.pop_front();
    }
    const bool fetched = !reads.empty() && reads.front().step + Lag() <= push.step;
    const uint64_t had = fetched ? reads.front().of : 0;
    if (IsMeasured())
    {
        ++m_statistics.staleness[of.applied - pair.applied - had];
        ++m_statistics.applied;
    }
    ++of.applied;
    ++pair.applied;
    if (m_served.IsLocal(push.replica, shard))
    {
        --m_local[push.replica].pending;
        GoOn(push.replica, notice);
    }
    else
    {
        notice.wake.emplace_back(m_served.Connection(push.replica, shard));
    }
    if (!of.queue.empty())
    {
        notice.wake.emplace_back(m_served.Updater(shard), of.queue.front().step);
    }
}

} // namespace workload
