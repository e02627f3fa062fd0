/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The layers of one rank: its share of each, in numbers. From here on nothing knows of operators:
 *
 *   model --layer-kernels--> kernels --kernel-time--> seconds of each part and pass
 *                        --> what the ranks of a tensor, context or expert group exchange around it
 *                        --> parameters, activations
 */
#ifndef SCENARIOS_TRAINING_RANK_LAYERS_H
#define SCENARIOS_TRAINING_RANK_LAYERS_H

#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/layout.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace training
{

/// A collective between pieces of a layer's computation, within a group.
struct Exchange
{
    coll::Op op = coll::Op::kAllReduce;
    GroupOf group = GroupOf::kTensor;
    uint64_t bytes = 0;                                       ///< as Collective::bytes
    std::shared_ptr<const coll::BlockSizes> blocks = nullptr; ///< blocks of an all-to-all-v
    bool beside = false; ///< begins with the exchange ahead of it
};

using Exchanges = std::vector<Exchange>;

/// The part of a layer between two places where ranks exchange data. Seconds are for one
/// micro-batch.
struct RankPart
{
    std::string name; ///< "attention"; empty: the whole layer
    double forward = 0;
    double again = 0; ///< part of `forward` that is repeated before its backward: recomputation
    double backwardInput = 0;
    double backwardWeights = 0;
    /// Part of backwardWeights for the products at the part's entry. Nothing waits for them, so
    /// they run beside the exchange after the part's backward (Megatron-LM,
    /// tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication). 0: there is no
    /// exchange.
    double entryWeights = 0;
    /// Megatron-LM's tp_comm_overlap: products are cut into `tensor` equal pieces. All but the
    /// first piece (at the exit) or the last (at the entry) run beside the exchange there. In
    /// forward these are the products at the exit and at the entry; in backward, the gradient of
    /// the input of the product at the exit. 0: nothing is overlapped there.
    double entryForward = 0;
    double exitForward = 0;
    double exitBackward = 0;
    double aheadOfEntry = 0;     ///< part of `forward` before the product at the entry
    bool exchangesAgain = false; ///< `again` has the part's exchanges, too
    bool apart = false;          ///< a computation of its own, which exchanges run beside
    Exchanges beforeForward;
    Exchanges besideForward; ///< no later than the next part's begins
    Exchanges afterForward;
    Exchanges beforeBackward;
    Exchanges besideBackward; ///< no later than the next part's backward begins
    Exchanges afterBackward;
};

struct RankLayer
{
    std::string name;
    uint32_t index = 0;            ///< in the model
    uint64_t parameters = 0;       ///< elements of this rank, without experts'
    std::vector<uint64_t> tensors; ///< in forward order, without experts'
    uint64_t expertParameters = 0;
    std::vector<uint64_t> expertTensors;
    uint32_t tiedTo = kNotTied; ///< index into this rank's layers
    uint64_t tiedParameters = 0;
    /// Part of `parameters` in a matrix that another stage has a copy of.
    uint64_t copied = 0;
    SharedList<RankPart> parts;
    bool recomputed = false;    ///< whole: only the checkpoint is kept
    double againBytes = 0;      ///< not kept, and made anew for backward, 16-bit
    double keptBytes = 0;       ///< of a micro-batch, kept for backward, with a 16-bit datatype
    double checkpointBytes = 0; ///< kept instead if recomputed, 16-bit
    double flops = 0;           ///< model FLOPs of forward, of this rank
    /// Seconds to add the gradients of a micro-batch to the sum so far (GradientSumBytes). 0 if the
    /// product that makes them adds them up. From stage 2 on they are reduced at once, and a rank
    /// adds up its share: three times its bytes. That time is in the backward of the next
    /// micro-batch, not after the reduction: the same time in all (_accumulate_sharded_grad of
    /// PyTorch's torch/distributed/fsdp/_runtime_utils.py; averaged_gradients of DeepSpeed's
    /// deepspeed/runtime/zero/stage_1_and_2.py, independent_gradient_partition_epilogue).
    double accumulate = 0;
    /// The first micro-batch's gradients are added as well, to zeros: where the sum has 32 bits and
    /// backward's results 16.
    bool accumulatesFirst = false;
    /// Seconds to bring the gradients of a step into the buckets that are reduced
    /// (CopiesIntoBuckets), behind the backward of the last micro-batch.
    double intoBuckets = 0;

    double Forward() const;  ///< seconds
    double Backward() const; ///< with recomputation
};

/// Bytes of memory that adding up a micro-batch's gradients moves for a parameter, where a kernel
/// of its own does.
///
///   of the same datatype   both are read, one is written (PyTorch, torch/csrc/autograd/functions/
///                          accumulate_grad.h)
///   32 bits of 16          the gradient is read, the sum is read and written: one kernel converts
///                          and adds (param_hook of NVIDIA/Megatron-LM@01d65bd megatron/model/
///                          distributed.py: main_grad.add_ of a gradient of another datatype)
///   the same in DeepSpeed  made 32 bits first, in a copy, and that is added (update_hp_grads of
///                          microsoft/DeepSpeed@06e39a5 deepspeed/runtime/bf16_optimizer.py)
///
/// Setting the 32-bit sum to zeros once a step is not counted.
double GradientSumBytes(const TrainingOptions& options);

/// PyTorch's DDP divides each gradient by the number of ranks into its place in a bucket, or there,
/// where it is a view of the bucket: a kernel for each tensor, which reads and writes it
/// (mark_variable_ready_dense of pytorch/pytorch@0041320 torch/csrc/distributed/c10d/reducer.cpp).
/// Megatron-LM, DeepSpeed and whatever sums gradients in 32 bits have buffers that backward adds
/// to; of Horovod it is not counted.
bool CopiesIntoBuckets(const TrainingOptions& options);

/// All layers of the model, as a rank of any stage would have them. \param options resolved
std::vector<RankLayer> LayersOfModel(const TrainingOptions& options);

/// The layers of a stage, from all layers. It corrects ties: a matrix that is tied to another
/// stage's has both stages as owners.
std::vector<RankLayer> LayersOfStage(const std::vector<RankLayer>& all,
                                     const std::vector<uint32_t>& indices);

/// The same layers with the experts' parameters as the parameters, for reductions among experts'
/// copies.
std::vector<RankLayer> ExpertsOf(const std::vector<RankLayer>& layers);

} // namespace training

#endif // SCENARIOS_TRAINING_RANK_LAYERS_H
