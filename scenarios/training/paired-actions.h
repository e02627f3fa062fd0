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
 * megatron/core/pipeline_parallel/combined_1f1b.py). Pairing a backward pass with the forward pass
 * after it, or with the one before it, is the same.
 *
 * dualpipev has them next to each other (pipeline/dual-pipe-v.cc).
 *
 * With plain 1F1B in a pipeline a pair would wait for the pair of the next stage, which waits for
 * this one's: stages would compute one after the other. So that combination does not exist.
 *
 * The work within one action stays in its order. The gradients of weights stay in their place after
 * those of the inputs. Only --collective-sms slows computing down.
 */
#ifndef SCENARIOS_TRAINING_PAIRED_ACTIONS_H
#define SCENARIOS_TRAINING_PAIRED_ACTIONS_H

#include "scenarios/training/rank-work.h"

#include <optional>
#include <string>

namespace training
{

/// Why passes cannot be paired with these options; nothing if they can.
/// \param options with a schedule that exists
std::optional<std::string> WhyNotPaired(const TrainingOptions& options);

/// Puts the computations of pairs in turns, and with them all positions. Pairs without exchanges
/// among experts stay as they are.
void PairActions(RankWork& work);

} // namespace training

#endif // SCENARIOS_TRAINING_PAIRED_ACTIONS_H
