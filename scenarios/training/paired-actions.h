/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The way to the experts and back, beside the computing of another micro-batch (--moe-overlap): a
 * backward pass and the forward pass that follows it go through their layers in turns, and while
 * the all-to-all of one is on its way, the other computes:
 *
 *   computing   loss    attention F  experts B         experts F   attention B ...
 *   experts' stream     combine' B   dispatch F        dispatch' B combine F   ...
 *
 * DeepSeek-V3 pairs chunks of its DualPipe so (arXiv 2412.19437, section 3.2.1, figure 4), and
 * Megatron-LM the actions of 1F1B without a pipeline, and with one those of its interleaved
 * schedule, whose stages run one forward pass further ahead then (--overlap-moe-expert-parallel-
 * comm; combined_1f1b_schedule_for_no_pipelining and .._for_interleaved_pipelining of
 * megatron/core/pipeline_parallel/combined_1f1b.py). That a backward pass is paired with the
 * forward pass behind it, not with the one ahead of it, is the same.
 *
 * With plain 1F1B in a pipeline a pair would wait for the pair of the next stage, which waits for
 * this one's: stages would compute one after the other. So it is not there.
 *
 * What is in one action stays in its order; the gradients of weights stay in their place behind
 * those of the inputs, and computing is not slowed down but by --collective-sms.
 */
#ifndef SCENARIOS_TRAINING_PAIRED_ACTIONS_H
#define SCENARIOS_TRAINING_PAIRED_ACTIONS_H

#include "scenarios/training/rank-work.h"

#include <optional>
#include <string>

namespace training
{

/// The schedule has pairs to make, and what they are made of; nothing if so.
/// \param options with a schedule that is there
std::optional<std::string> WhyNotPaired(const TrainingOptions& options);

/// Puts the computations of pairs in turns, and with them all positions. Pairs without exchanges
/// among experts stay as they are.
void PairActions(RankWork& work);

} // namespace training

#endif // SCENARIOS_TRAINING_PAIRED_ACTIONS_H
