/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The two halves of ValidateTraining(), for a program that tries many layouts of one model on one
 * cluster: the cluster once, then the training options of each layout. Their rules are dltrain's.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_VALIDATE_LAYOUT_H
#define SCENARIOS_TRAINING_OPTIONS_VALIDATE_LAYOUT_H

#include "scenarios/job/parse-result.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// Model, GPU, cluster, network and collectives, without a plan.
ParseResult<TrainingScenario> ValidateCluster(const ReadResult& read);

/// Exactly one of: options, errors.
struct LayoutResult
{
    std::optional<training::TrainingOptions> options; ///< resolved
    std::vector<Error> errors;
};

/// Whether the layout fits a GPU's memory is not looked at.
/// \param on result of ValidateCluster, for the same model and cluster
LayoutResult ValidateLayout(const ReadResult& read, const TrainingScenario& on);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_VALIDATE_LAYOUT_H
