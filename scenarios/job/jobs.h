/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The jobs of --jobs, on one network.
 */
#ifndef SCENARIOS_JOB_JOBS_H
#define SCENARIOS_JOB_JOBS_H

#include "scenarios/job/protocol.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace scenario
{

enum class JobKind : uint8_t
{
    kTraining,
    kCollective, ///< one collective of all its GPUs, repeated: a step each
    kFlows,
    kServing, ///< a model that answers requests
};

struct ServingScenario;

struct Job
{
    std::string name;
    JobKind kind = JobKind::kTraining;
    rdma::Duration start;
    /// Its servers with their hosts, and the work they do there unless the job has flows.
    std::shared_ptr<const TrainingScenario> scenario;
    // kCollective
    coll::Op op = coll::Op::kAllReduce;
    uint64_t bytes = 0;
    // kFlows
    std::string pattern;
    std::vector<Flow> flows; ///< by start, from the beginning of the run
    FlowOperation operation = FlowOperation::kWrite;
    ProtocolSpec protocol; ///< protocol of the flows; at most one job has TCP
    // kServing
    std::shared_ptr<const ServingScenario> serving; ///< on the cluster of `scenario`
};

/// All of a file. At least one job; no host has two.
struct JobSet
{
    std::vector<Job> jobs;
    bool alone = true; ///< simulate each job by itself as well
};

} // namespace scenario

#endif // SCENARIOS_JOB_JOBS_H
