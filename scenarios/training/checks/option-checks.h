/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Checks of training options, one group at a time. Check (plan-check.h) uses them, and so do
 * proposals of options that fit a GPU's memory (memory-check.h).
 */
#ifndef SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H
#define SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H

#include "scenarios/training/spec/plan-options.h"

#include <functional>
#include <string>

namespace training
{

/// Takes a field of the options, and the problem with it.
using Refuse = std::function<void(Member field, const std::string& text)>;

/// How data-parallel ranks share their state, and how gradients are sent.
void CheckDataParallel(const TrainingOptions& o, const Refuse& error);

/// The divisions by tensor, context and expert groups, and the cut of a pipeline; with
/// CheckDataParallel.
void CheckParallel(const TrainingOptions& o, const Refuse& error);
/// The part of these checks about expert groups: every computation on experts needs them to hold.
void CheckExpert(const TrainingOptions& o, const Refuse& error);

/// A matrix on several stages has its gradient added up by the first and the last of them.
/// \param o resolved, without other errors
void CheckCopies(const TrainingOptions& o, const Refuse& error);

/// What computes (optimizer, kernels, load of experts), and from which data.
void CheckCompute(const TrainingOptions& o, const Refuse& error);

/// The order of collectives, and the next forward beside them.
void CheckOrder(const TrainingOptions& o, const Refuse& error);

void CheckOffload(const TrainingOptions& o, const Refuse& error);

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKS_OPTION_CHECKS_H
