/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Stage 3 gathers the parameters of a layer for its forward and again for its backward. The gather
 * for the next layer runs while a layer computes; prefetchBytes allows more. A tied matrix is
 * gathered for the embedding and held for the head, and gathered again for the head's backward and
 * held to the embedding's.
 *
 * DeepSpeed, zero/partitioned_param_coordinator.py (00a31c99): prefetch until
 * stage3_prefetch_bucket_size is reached, within one forward and backward; __params_to_release
 * keeps what is used again within stage3_max_reuse_distance elements. So layers near the turn from
 * forward to backward are not gathered again, and a model of less than half of 1e9 parameters is
 * gathered once. Tensors of up to stage3_param_persistence_threshold elements (persistElements) are
 * not released (ds_persist of zero/partition_parameters.py), and gathered after the optimizer,
 * which steps a share of them as of all (_post_step of zero/stage3.py). Not modelled:
 * stage3_max_live_parameters.
 *
 * A layer that is computed again before its backward is three uses of its parameters, since the
 * coordinator follows modules, whoever runs them (PrefetchCoordinator and release_sub_module of
 * microsoft/DeepSpeed@70adb32 deepspeed/runtime/zero/stage3.py; so do later ones):
 *
 *   forward ... recomputation, backward      of a layer of tensors a b c:  a b c | c b a
 *
 * Between both uses of a tensor lie twice the tensors after it. So the tensors of a small layer
 * stay. In a layer of more than half of 1e9 elements all but the last ones are gathered a third
 * time. In GPT-3's blocks (3, 1, 4 and 4 h^2 elements, h = 12,288) these are the first three
 * weights, two thirds. A tensor stands for a module here; a module's bias would go with its weight.
 * FSDP gathers once for both (its unit is the block, around what is computed again), and so does
 * kPaper.
 */
#ifndef SCENARIOS_TRAINING_PARAMETER_GATHERS_H
#define SCENARIOS_TRAINING_PARAMETER_GATHERS_H

#include "scenarios/training/rank-layers.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace training
{

/// One all-gather: a layer's parameters for one or more computations of a micro-batch.
struct Gather
{
    uint32_t layer = 0;
    /// The first use, among those of L layers: forward of layer i is use i, backward L + 2 (L - 1 -
    /// i). Work in a backward after its recomputation has the next number.
    uint32_t use = 0;
    uint64_t elements = 0;
    uint32_t tensors = 0; ///< tensors with these elements
    bool again = false;   ///< behind a recomputation, which held them until it ended
};

/// The elements of a layer that are divided among ranks.
uint64_t GatheredElements(const TrainingOptions& options, const RankLayer& layer);

/// The elements of a layer that are gathered for its recomputation and again for its backward.
uint64_t GatheredTwiceInBackward(const TrainingOptions& options, const RankLayer& layer);

/// \param options resolved
/// \return the gathers of one micro-batch, in order of need
std::vector<Gather> ParameterGathers(const TrainingOptions& options,
                                     const std::vector<RankLayer>& layers);

/// \return the earliest computation that gather g may run beside. It is the one before the
/// computation that needs it, or earlier while fewer than prefetchBytes are gathered in between,
/// but not ahead of the recomputation that holds them. It equals g's own use if there is no earlier
/// computation in this micro-batch, or nothing overlaps.
uint32_t EarliestBeside(const TrainingOptions& options,
                        const std::vector<Gather>& gathers,
                        std::size_t g);

/// Most bytes of gathered parameters at a time, by the rule of EarliestBeside. \param ranks that
/// share them
uint64_t MostGatheredBytes(const TrainingOptions& options,
                           const std::vector<RankLayer>& layers,
                           uint32_t ranks);

} // namespace training

#endif // SCENARIOS_TRAINING_PARAMETER_GATHERS_H
