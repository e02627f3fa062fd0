/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --pp=auto: stages and their GPUs are searched over the sharding search.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_OPTIONS_PIPELINE_SEARCH_H
#define SCENARIOS_OPERATOR_SEARCH_OPTIONS_PIPELINE_SEARCH_H

#include "scenarios/operator-search/sharding-search.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace scenario
{

/// The word of --pp that has stages searched.
constexpr const char* kSearchedPipeline = "auto";

/// --pp=auto.
bool IsPipelineSearched(const Values& values);

/// --pp=auto without --auto-parallel, or --auto-parallel with stages that are given.
void CheckPipelineSearch(Validation* v);

/// Options that only some searches have. \return whether there is no error
bool CheckSearches(Validation* v, const sharding::SearchSettings& settings);

/// Collectives' times in groups of the first so many GPUs.
using TimesOnDevices =
    std::function<std::shared_ptr<sharding::CommunicationTimes>(uint32_t devices)>;

/// \return null after an error
std::shared_ptr<const sharding::Sharding> MakeStaged(Validation* v,
                                                     const sharding::Graph& graph,
                                                     const sharding::SearchSettings& settings,
                                                     const sharding::SliceKernels& kernels,
                                                     uint32_t serverGpus,
                                                     const TimesOnDevices& timesOn,
                                                     training::TrainingPlan* plan);

} // namespace scenario

#endif // SCENARIOS_OPERATOR_SEARCH_OPTIONS_PIPELINE_SEARCH_H
