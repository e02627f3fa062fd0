/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --auto-parallel: each operator of the model is cut as a search finds, or the user says
 * (scenarios/operator-search).
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_OPTIONS_SHARDING_OPTIONS_H
#define SCENARIOS_OPERATOR_SEARCH_OPTIONS_SHARDING_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"

#include <memory>
#include <string>
#include <vector>

namespace sharding
{
struct Sharding;
}

namespace scenario
{

std::vector<Option> ShardingOptionRows();

/// Options of training that a search of shardings leaves to the user get no condition; all others
/// are refused with it.
void RefuseWithSharding(std::vector<Option>* options);

/// Whether --auto-parallel is given.
bool IsSharded(const Values& values);

/// An error for a model that only a search can cut.
void CheckGraphModel(Validation* v, const training::ModelSpec& model);

/// The rules of jobs, but for memory, which the search looks at.
std::vector<training::Problem> ProblemsOfSharded(training::TrainingOptions options);

/// Samples of a pass, of all GPUs together, and passes a step; 0: there is an error.
struct ShardedBatch
{
    uint64_t samples = 0;
    uint32_t passes = 1;
};

/// Sets the options' batch, too.
ShardedBatch MakeShardedBatch(Validation* v, training::TrainingOptions* options);

/// Searches, and makes the step. \param options resolved \param on cluster and collectives
/// \return null after an error
std::shared_ptr<const sharding::Sharding> MakeSharding(Validation* v,
                                                       const training::TrainingOptions& options,
                                                       const ShardedBatch& batch,
                                                       const TrainingScenario& on,
                                                       training::TrainingPlan* plan);

/// Takes one of Sharding::ranked in place of the found one, with its plan.
void TakeRanked(std::size_t which, TrainingScenario* scenario);

/// The result in words; with --explain-sharding the search, too. Empty: there is none.
std::string ShardingText(const TrainingScenario& scenario);

/// ", sharding.json, sharding.svg, ..."
std::string ShardingFiles(const TrainingScenario& scenario);

/// Writes these files into the folder of the run. \return why it cannot; else ""
std::string WriteSharding(const TrainingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_OPERATOR_SEARCH_OPTIONS_SHARDING_OPTIONS_H
