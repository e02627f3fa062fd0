/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Gradients that are reduced together.
 *
 * Order: last layer first, and a layer's tensors in reverse. Stage 0 keeps tensors whole, as
 * PyTorch's DDP: a bucket is closed by the tensor that fills it, so a large embedding is one large
 * bucket. The first bucket has a size of its own (firstBucketBytes). DDP makes its buckets anew
 * after the first iteration, in the order in which gradients came (rebuild_buckets of
 * torch/csrc/distributed/c10d/reducer.cpp): every step here is as those behind that. In the very
 * first one all gradients are one bucket. DeepSpeed's stages 0 to 2 keep them whole too, but close
 * a bucket before the tensor that would overfill it
 * (reduce_independent_p_g_buckets_and_remove_grads of zero/stage_1_and_2.py). The paper's stages 1
 * to 3 flatten, so buckets are cut at bucketBytes exactly (rounded down to a multiple of the
 * ranks); so is DeepSpeed's stage 3.
 *
 * With tied embeddings the shared matrix belongs to the embedding and gets its last contribution
 * there: it is reduced last.
 */
#ifndef SCENARIOS_TRAINING_GRADIENT_BUCKETS_H
#define SCENARIOS_TRAINING_GRADIENT_BUCKETS_H

#include "scenarios/training/rank-layers.h"

#include <cstdint>
#include <vector>

namespace training
{

struct Bucket
{
    uint64_t elements = 0;
    /// The layer with the highest index in it: the first whose backward writes to it.
    uint32_t first = 0;
    uint32_t last = 0; ///< the lowest index: ready when its backward is done
    /// Tensors that it has a part of. Tensors that are cut (in the flat gradient) are not counted.
    uint32_t tensors = 0;
};

/// \param options resolved. \param layers of the rank, at least one \param ranks that reduce them
/// \return in the order of reduction
std::vector<Bucket> GradientBuckets(const TrainingOptions& options,
                                    const std::vector<RankLayer>& layers,
                                    uint32_t ranks);

/// Horovod's buckets. Every cycle takes the gradients since the last one, in the order of arrival,
/// in tensors that fit bucketBytes together. A larger one is alone, and with 0 bytes each is
/// (RunLoopOnce of horovod/horovod horovod/common/operations.cc, Controller::FuseResponses of
/// controller.cc; docs/tensor-fusion.rst@31408cc). A collective begins with the last gradient of
/// its bucket. The rest of the cycle, and the ranks' negotiation before, take no time.
/// \param times times since the beginning of the step at which the gradients of each layer are
/// complete
std::vector<Bucket> CycleBuckets(const TrainingOptions& options,
                                 const std::vector<RankLayer>& layers,
                                 const std::vector<rdma::Duration>& times);

} // namespace training

#endif // SCENARIOS_TRAINING_GRADIENT_BUCKETS_H
