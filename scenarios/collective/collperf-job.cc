/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/collperf-job.h"

#include "collectives/core/registry.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/network/recovery-options.h"

#include <numeric>

namespace scenario
{

namespace
{

/// Why the table cannot be of a job, or nothing.
std::string
WhyNoJob(const CollperfScenario& s)
{
    if (s.sizes.size() != 1)
    {
        return "is of one size, whose iterations are a job; allowed: with --minbytes alone";
    }
    if (!s.compare.empty())
    {
        return "is of one algorithm, whose iterations are a job; allowed: without --compare";
    }
    if (coll::HasRoot(s.op))
    {
        return "has no meaning where one rank has all the data, which may be the one that fails; "
               "allowed: an operation without --root";
    }
    if (!s.blockWeights.empty())
    {
        return "does not know what ranks that are left have for each other; allowed: another "
               "--op, or --block-sizes=equal";
    }
    constexpr uint32_t kLargest = 3;
    if (s.average != kLargest)
    {
        return "tells when the last rank has left; allowed: with --average=3";
    }
    return {};
}

} // namespace

std::shared_ptr<TrainingScenario>
MakeCollperfJob(Validation* v, const ClusterSpec& cluster, const CollperfScenario& s)
{
    auto job = std::make_shared<TrainingScenario>();
    job->steps = s.iterations;
    job->warmupSteps = s.warmupIterations;
    job->options.ranks = s.ranks;
    training::TrainingPlan& plan = job->plan;
    plan.ranks = s.ranks;
    plan.roleOf.assign(s.ranks, 0);
    std::vector<coll::Rank> all(s.ranks);
    std::iota(all.begin(), all.end(), 0);
    plan.groupKinds = {{"world", {all}}};
    training::Task task;
    task.kind = training::TaskKind::kCollective;
    task.stream = 1;
    task.op = s.op;
    task.bytes = s.CollectiveOf(s.sizes.front()).bytes;
    task.name = coll::OpName(s.op);
    plan.roles = {{{"compute", "communication"}, {task}}};
    MakeGpuFaults(v, cluster, &plan);
    job->run.recovery = MakeRecovery(v, cluster, *job);
    if (!job->run.recovery && plan.speeds.empty())
    {
        return nullptr;
    }
    const std::string why = WhyNoJob(s);
    if (!why.empty())
    {
        v->Fail(job->run.recovery ? "recovery" : "fault", why);
    }
    return job;
}

} // namespace scenario
