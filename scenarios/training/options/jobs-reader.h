/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The file of --jobs (jobs.h).
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_JOBS_READER_H
#define SCENARIOS_TRAINING_OPTIONS_JOBS_READER_H

#include "contrib/rdma/core/units.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/training/options/jobs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// The values in a job's text, before the network is known.
struct JobText
{
    Job job;
    std::string where; ///< "jobs.json: /jobs/0"
    uint32_t servers = 0;
    std::vector<uint32_t> hosts; ///< empty: the policy chooses
    ReadResult read;
    // kCollective
    uint32_t iterations = 1;
    uint32_t warmup = 0;
    ClassWish wish; ///< traffic class of its messages
    // kFlows
    std::vector<std::pair<std::string, std::string>> flows;
    std::optional<rdma::Duration> duration; ///< nothing: not said
};

/// All jobs of a file; mistakes are collected with their place in it. \param base what the command
/// line and the scenario say, which a job's own options go over
std::vector<JobText> ReadJobs(const ReadResult& base,
                              const std::string& file,
                              std::vector<Error>* errors);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_JOBS_READER_H
