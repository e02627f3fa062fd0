/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --jobs=FILE.json: several jobs on one network.
 *
 *     {"jobs": [
 *       {"name": "train", "servers": 4, "placement": "packed",
 *        "training": {"model": "gpt2-medium", "zero": 2, "steps": 3}},
 *       {"name": "reduce", "hosts": [8, 10, 12], "start": "1ms",
 *        "collective": {"op": "all_reduce", "bytes": "64MB", "iterations": 10, "warmup": 1}},
 *       {"name": "copy", "servers": 3, "placement": "spread",
 *        "flows": {"pattern": "incast", "fan_in": 2, "bytes": "100MB"}},
 *       {"name": "serve", "servers": 2,
 *        "serving": {"model": "llama3-8b", "split": "prefill:1x(tp=4),decode:1x(tp=4)",
 *                    "rate": 4, "count": 200}}]}
 *
 * A job trains a model, unless it says "collective", "flows" or "serving". Its `training`,
 * `serving` and `collectives` are like a scenario's, of dltrain or of dlserve; the command line and
 * the scenario give the rest. The network, its devices
 * and the servers are the same for all. Jobs are placed in their order, each by its policy. The
 * hosts of earlier jobs, and of jobs with a list, are taken.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_JOBS_H
#define SCENARIOS_TRAINING_OPTIONS_JOBS_H

#include "scenarios/job/jobs.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/validate.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> JobsOptionRows();

/// Validates the jobs of --jobs: their network with all their servers, and TrainingScenario::jobs.
/// \pre read has --jobs
ParseResult<TrainingScenario> ValidateJobs(const ReadResult& read);

/// "training", "collective", "flows", "serving".
std::string JobKindName(JobKind kind);

/// A table of the jobs for people: name, work, servers, hosts, start.
std::string JobsText(const JobSet& jobs);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_JOBS_H
