/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is wrong with options of training, one group of them at a time: Check (plan-check.h) and
 * what proposes others that fit a GPU's memory (memory-check.h) ask.
 */
#ifndef SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H
#define SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H

#include "scenarios/training/plan-options.h"

#include <functional>
#include <string>

namespace training
{

/// Takes an option, and what is wrong with it.
using Refuse = std::function<void(const char* option, const std::string& text)>;

/// Who shares out what, and what is sent of gradients.
void CheckDataParallel(const TrainingOptions& o, const Refuse& error);

/// What tensor, context and expert groups divide, and how a pipeline is cut; with
/// CheckDataParallel.
void CheckParallel(const TrainingOptions& o, const Refuse& error);
/// Of these what an expert group divides: whatever is computed of experts needs that it does.
void CheckExpert(const TrainingOptions& o, const Refuse& error);

/// A matrix that several stages hold has its gradient added up by the first and the last of them.
/// \param o resolved, without other errors
void CheckCopies(const TrainingOptions& o, const Refuse& error);

/// What computes, and from which data.
void CheckCompute(const TrainingOptions& o, const Refuse& error);

void CheckOffload(const TrainingOptions& o, const Refuse& error);

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H
