/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the ranks of a tensor group and of an expert group exchange around a part of a layer.
 */
#ifndef SCENARIOS_TRAINING_PART_EXCHANGES_H
#define SCENARIOS_TRAINING_PART_EXCHANGES_H

#include "scenarios/training/rank-layers.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>

namespace training
{

/// Bytes of so many elements of activations.
uint64_t ActivationBytes(const TrainingOptions& options, double elements);

/// A product whose weights a tensor group shares.
bool IsShared(const Operator& op);

/// Megatron's f and g, or what sequence parallelism makes of them.
void AddTensorExchanges(const Part& part, const TrainingOptions& options, RankPart& rank);

/// All-to-alls that take tokens to their experts and bring back what these make of them, outside of
/// what a tensor group exchanges.
///
/// Where each of its ranks has sent its share, the group gathers all that it got, and shares out
/// what comes of it ahead of the way back, each token as often as it has been sent. So does a group
/// that shares experts with --etp
/// (NVIDIA/Megatron-LM@0014f13 megatron/core/transformer/moe/token_dispatcher.py,
/// MoEAlltoAllTokenDispatcher: A2A(EP) -> AG(TP) -> RS(TP) -> A2A(EP)). It is kept for backward as
/// it was gathered, in the experts' order. Where all ranks have sent all tokens, the group's
/// all-reduce adds what has come back, weighted: once a token, however often it was sent (assumed;
/// Megatron-LM has it with sequence parallelism only).
void AddExpertExchanges(const Part& part, const TrainingOptions& options, RankPart& rank);

} // namespace training

#endif // SCENARIOS_TRAINING_PART_EXCHANGES_H
