/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/served.h"

#include "scenarios/workload/backup-workers.h"
#include "scenarios/workload/downpour.h"
#include "scenarios/workload/sandblaster.h"

#include <stdexcept>

namespace workload
{

using training::Strategy;

Served::Served(const training::TrainingPlan& plan,
               const training::ServedPlan& served,
               uint32_t warmup,
               uint32_t measured)
    : m_plan(plan),
      m_served(served),
      m_warmup(warmup),
      m_steps(warmup + measured)
{
    m_statistics.roundsOf.resize(served.Replicas());
    m_statistics.received.resize(served.Shards());
    m_statistics.sent.resize(served.Shards());
}

Notice
Served::OnEnded(coll::Rank runner, const Round& round)
{
    Notice notice;
    if (!IsDone())
    {
        Join(m_served.WhoIs(runner), round, notice);
    }
    return notice;
}

bool
Served::EndStep(Notice& notice)
{
    ++m_ended;
    notice.step = true;
    notice.measure = m_ended == m_warmup;
    notice.end = IsDone();
    return !notice.end;
}

void
Served::CountReceived(uint32_t shard)
{
    m_statistics.received[shard] += IsMeasured() ? m_served.ShardBytes(shard) : 0;
}

void
Served::CountSent(uint32_t shard)
{
    m_statistics.sent[shard] += IsMeasured() ? m_served.ShardBytes(shard) : 0;
}

uint64_t
Served::CountTasks() const
{
    // As if all replicas were equally fast, and sent and fetched in each step.
    uint64_t tasks = uint64_t{3} * m_served.Replicas() * m_served.Shards();
    for (const uint32_t role : m_plan.roleOf)
    {
        tasks += m_plan.roles[role].tasks.size();
    }
    return tasks * m_steps;
}

std::unique_ptr<Workload>
MakeServed(const training::TrainingPlan& plan,
           const training::ServedPlan& served,
           uint32_t warmup,
           uint32_t measured)
{
    switch (served.Options().strategy)
    {
    case Strategy::kDownpour:
        return std::make_unique<Downpour>(plan, served, warmup, measured);
    case Strategy::kBackupWorkers:
        return std::make_unique<BackupWorkers>(plan, served, warmup, measured);
    case Strategy::kSandblaster:
        return std::make_unique<Sandblaster>(plan, served, warmup, measured);
    default:
        throw std::logic_error("no parameter servers with this strategy");
    }
}

} // namespace workload
