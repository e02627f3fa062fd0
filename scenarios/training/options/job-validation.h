/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One job of --jobs: what is validated for it alone, and which options are its own.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_JOB_VALIDATION_H
#define SCENARIOS_TRAINING_OPTIONS_JOB_VALIDATION_H

#include "scenarios/job/parse-result.h"
#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/network/validate.h"
#include "scenarios/training/options/jobs-reader.h"

#include <memory>
#include <nlohmann/json.hpp>

namespace scenario
{

/// Servers on the network, as all jobs have them: what ValidateTraining does for those of a model,
/// without the model.
ParseResult<TrainingScenario> ValidateServers(const JobText& text);

/// Servers, with a model that is served on them.
ParseResult<TrainingScenario> ValidateServed(const ReadResult& read,
                                             std::shared_ptr<ServingScenario>* serving);

/// Leaves options to each job that the user has not given for all: for example /training/dtype
/// depends on the job's GPU, and so on its servers.
/// \param asked loses the options that the user has not given
void LeaveToJobs(const Validation& v, nlohmann::json* asked);

/// The configuration as run, for --scenario.
/// \param asked options of all jobs
/// \param first configuration of the first job's scenario, in which servers and network were
/// settled
nlohmann::json AsRunTogether(nlohmann::json asked, const nlohmann::json& first);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_JOB_VALIDATION_H
