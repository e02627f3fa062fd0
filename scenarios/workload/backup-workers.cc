/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/backup-workers.h"

#include <algorithm>

namespace workload
{

BackupWorkers::BackupWorkers(const training::TrainingPlan& plan,
                             const training::ServedPlan& served,
                             uint32_t warmup,
                             uint32_t measured)
    : Served(plan, served, warmup, measured),
      m_own(plan.Runners()),
      m_workers(served.Replicas()),
      m_arrived(served.Shards())
{
    for (Rank r = 0; r < served.Replicas(); ++r)
    {
        m_workers[r].open = 1 + RemoteShards(r);
    }
}

std::optional<Round>
BackupWorkers::Next(coll::Rank runner)
{
    // All begin with the parameters of step 0.
    Own& own = m_own[runner];
    if (own.stage == Stage::kBegin)
    {
        const Kind kind = m_served.WhoIs(runner).kind;
        return kind == Kind::kUpdater ? std::nullopt : Woken(runner, 0);
    }
    if (own.stage == Stage::kPush)
    {
        own.stage = Stage::kRest;
        const Who who = m_served.WhoIs(runner);
        return RoundOf(m_served.Push(who.replica, who.shard), own.step);
    }
    return std::nullopt;
}

std::optional<Round>
BackupWorkers::Woken(coll::Rank runner, uint32_t word)
{
    const Who who = m_served.WhoIs(runner);
    Own& own = m_own[runner];
    own.step = word;
    own.stage = Stage::kRest;
    switch (who.kind)
    {
    case Kind::kReplica:
        return RoundOf(m_served.Whole(who.replica), word);
    case Kind::kUpdater:
        return RoundOf(m_served.Update(who.shard), word);
    default:
        if (m_served.IsLocal(who.replica, who.shard))
        {
            return std::nullopt;
        }
        own.stage = Stage::kPush;
        return RoundOf(m_served.Reply(who.replica, who.shard), word);
    }
}

void
BackupWorkers::Join(const Who& who, const Round& round, Notice& notice)
{
    switch (who.kind)
    {
    case Kind::kReplica:
        m_statistics.roundsOf[who.replica] += IsMeasured();
        if (const uint32_t s = m_served.LocalShard(who.replica); s < m_served.Shards())
        {
            Arrive(who.replica, s, notice);
        }
        EndPart(who.replica, notice);
        return;
    case Kind::kUpdater:
        if (++m_updated == m_served.Shards())
        {
            NextStep(notice);
        }
        return;
    default:
        if (round.graph == m_served.Reply(who.replica, who.shard))
        {
            CountSent(who.shard);
            return;
        }
        CountReceived(who.shard);
        Arrive(who.replica, who.shard, notice);
        EndPart(who.replica, notice);
    }
}

void
BackupWorkers::NextStep(Notice& notice)
{
    m_updated = 0;
    std::fill(m_arrived.begin(), m_arrived.end(), 0);
    if (!EndStep(notice))
    {
        return;
    }
    for (Rank r = 0; r < m_served.Replicas(); ++r)
    {
        if (m_workers[r].open == 0)
        {
            Release(r, notice);
        }
    }
}

void
BackupWorkers::Arrive(Rank worker, uint32_t shard, Notice& notice)
{
    const bool late = m_workers[worker].step < m_ended || m_arrived[shard] == m_served.Counted();
    m_statistics.dropped += late && IsMeasured();
    m_statistics.applied += !late && IsMeasured();
    if (!late && ++m_arrived[shard] == m_served.Counted())
    {
        notice.wake.emplace_back(m_served.Updater(shard), m_ended);
    }
}

void
BackupWorkers::EndPart(Rank worker, Notice& notice)
{
    Worker& of = m_workers[worker];
    if (--of.open == 0 && of.step < m_ended)
    {
        Release(worker, notice);
    }
}

void
BackupWorkers::Release(Rank worker, Notice& notice)
{
    m_workers[worker] = {m_ended, 1 + RemoteShards(worker)};
    notice.wake.emplace_back(worker, m_ended);
    for (uint32_t s = 0; s < m_served.Shards(); ++s)
    {
        if (!m_served.IsLocal(worker, s))
        {
            notice.wake.emplace_back(m_served.Connection(worker, s), m_ended);
        }
    }
}

} // namespace workload
