/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Actions of a pipeline as messages name them.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_ACTION_TEXT_H
#define SCENARIOS_TRAINING_PIPELINE_ACTION_TEXT_H

#include "scenarios/training/pipeline/schedule.h"

#include <string>

namespace training
{

/// "backward (weights) of micro-batch 3, chunk 1"
std::string ActionText(const PipelineAction& action);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_ACTION_TEXT_H
