/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A layer's parts on a rank, with what the rank exchanges around them.
 */
#ifndef SCENARIOS_TRAINING_RANK_PARTS_H
#define SCENARIOS_TRAINING_RANK_PARTS_H

#include "scenarios/training/rank-layers.h"
#include "scenarios/training/recomputation.h"

#include <vector>

namespace training
{

/// What a rank does for a part of a layer.
RankPart PartOf(const Part& part, const TrainingOptions& o, Again again);

/// Attention whose keys are those of all ranks of a context group: what stands before its core, the
/// core, and what stands behind it, with what the group exchanges in between.
///
///   ring, cp 3    core 1 | core 2 | core 3      forward: keys and values move on beside 1 and 2;
///                 shift    shift                backward: they and their gradients, which come
///                                               home behind the last
std::vector<RankPart> ContextParts(const Part& part,
                                   const Operator& core,
                                   const TrainingOptions& o,
                                   Again again);

/// Experts whose all-to-alls run beside the experts for all tokens: the first product of these and
/// their activation beside the way there, the last product beside the way back, and in backward the
/// other way round (forward_shared_experts and SharedExpertMLP of NVIDIA/Megatron-LM@022bcb5
/// megatron/core/transformer/moe/).
///
///   router | shared experts | experts | shared output | rest
///            dispatch                   combine
std::vector<RankPart> SharedParts(const Part& part, const TrainingOptions& o, Again again);

} // namespace training

#endif // SCENARIOS_TRAINING_RANK_PARTS_H
