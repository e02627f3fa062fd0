/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The second pass: the communication for a rank's computation. Each transfer names the computation
 * that makes its data and the computations that wait for it. The third pass (overlap.h) decides
 * when it runs in between.
 *
 * One step, m micro-batches, psi parameters. The amount that a GPU sends with bandwidth-optimal
 * collectives, in units of psi (n-1)/n:
 *
 *   stage  paper                                                            DeepSpeed
 *   0      2      all-reduce of each bucket, last micro-batch (no_sync)     2
 *   1      2      reduce-scatter, last micro-batch; all-gather after Adam   3       bucket average
 *   2      m + 1  reduce-scatter every micro-batch; all-gather after Adam   2 m + 1 by all-reduce
 *   3      3 m    all-gather forward and backward; reduce-scatter           3 m     less reuse
 *
 * Paper: Rajbhandari et al., SC'20, section 7 (volumes at m = 1). Stage 1 may keep whole gradients
 * until the last micro-batch, stage 2 has no room for them. DeepSpeed, deepspeedai/DeepSpeed
 * deepspeed/runtime/:
 *   - zero/stage_1_and_2.py (7dee2e06): average_tensor -> allreduce_and_scatter ->
 *     allreduce_and_copy_with_multiple_ranks, an all-reduce of the bucket of which every rank keeps
 *     its part; a bucket is reduced before the tensor that would overfill it, and a tensor larger
 *     than a bucket alone (reduce_independent_p_g_buckets_and_remove_grads);
 *   - engine.py, allreduce_gradients: stage 2 reduces "during non gradient accumulation boundaries
 *     as well", stage 1 and 0 at the boundary only; stage 0 in buffers of 5e8 elements after
 *     backward.
 *
 * Hybrid sharding: the same among the g ranks that share a copy out, and behind each reduce-scatter
 * an all-reduce of a rank's psi/g among the r copies, 2 psi/g (r-1)/r (HYBRID_SHARD of pytorch/
 * pytorch torch/distributed/fsdp/api.py). ZeRO++ (Wang et al. 2023, arXiv 2306.10209):
 * gathers in 8 bits; the gathers of backward among fewer ranks (in DeepSpeed all of a step but the
 * first: ds_secondary_tensor of zero/partition_parameters.py, freed by _post_step of
 * zero/stage3.py); gradients by all-to-all, first within servers. Stage 0 may compress gradients.
 *
 * DeepSpeed of 2021 (tensorLists) gave stage 3's collectives lists of tensors, a rank's share each
 * (_allgather_param and _reduce_scatter_gradient of samyam/DeepSpeed@67f957a zero/
 * partition_parameters.py). PyTorch gives NCCL a flat buffer and copies all shares out of it behind
 * an all-gather and into it ahead of a reduce-scatter, by a kernel each
 * (ProcessGroupNCCL::allgather and reduce_scatter of pytorch/pytorch@00f5dfd
 * torch/lib/c10d/ProcessGroupNCCL.cpp). Tensors that persist are gathered as one and each is put
 * together of its shares by as many (_allgather_params). The kernels are on the stream of the
 * collective. They take the memory and the multiprocessors from what computes, and the host, which
 * has waited for the GPU before (torch.cuda.synchronize in fetch_sub_module of
 * microsoft/DeepSpeed@70adb32 zero/stage3.py), launches them one by one ahead of the layer's: so
 * they take the computing stream's time here, which is assumed.
 *
 * A bucket is ready when the backward of all its layers is done. A gradient buffer exists once:
 * where every micro-batch is reduced, backward waits for the reduction of the one before.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_COMMUNICATION_H
#define SCENARIOS_TRAINING_GRAPHS_COMMUNICATION_H

#include "scenarios/training/rank-work.h"

#include <cstdint>
#include <vector>

namespace training
{

/// Streams of a rank, before unused ones are left out.
enum Stream : uint8_t
{
    kComputeStream,
    kGradientStream,
    kParameterStream,
    kTensorStream,
    kContextStream,
    kExpertStream,
    kExpertGradientStream,
    kExpertParameterStream,
    kEmbeddingStream,
    kSendForwardStream,
    kReceiveForwardStream,
    kSendBackwardStream,
    kReceiveBackwardStream,
    kCopyStream,
    kExpertCopyStream,
    kHostStream,     ///< the server's CPU
    kToHostStream,   ///< over PCIe
    kFromHostStream, ///< the other way
    kLoadingStream,
    kForwardingStream, ///< tokens inside servers, beside those between them
    kLoadStream,       ///< from memory beyond the GPU (memory-pass.h)
    kStoreStream,
};

constexpr uint8_t kStreams = 22;

/// "gradients".
std::string StreamName(uint8_t stream);

constexpr uint32_t kGradientGroup = static_cast<uint32_t>(GroupOf::kGradient);
/// Stage 3: the same ranks in a second communicator, since gathers and reductions run beside each
/// other.
constexpr uint32_t kGatherGroup = static_cast<uint32_t>(GroupOf::kGather);

struct Transfer
{
    Task task; ///< all but `after`; its group is a GroupOf, its stream a Stream
    /// The computation whose end makes its data, or kStart: they are there.
    Position made = kStart;
    /// Computations that wait for it, ascending; of one whose data are there, at least one.
    std::vector<Position> users;
    uint32_t gather = 0; ///< for data that are already present: index into ParameterGathers()
    /// Begins as soon as it can, whether communication overlaps or not: computing waits for it
    /// anyway, or it waits for another rank's.
    bool inLine = false;
    /// For transfers ahead of computing: the computation that it goes ahead of; kStart: its first
    /// user.
    Position ahead = kStart;
    /// For data of the step before: the transfer goes ahead of everything, and only its users wait.
    bool carried = false;

    // The third pass: it begins no sooner than this computation has ended, and these transfers.
    Position begin = kStart;
    std::vector<uint32_t> behind; ///< their indices
};

/// Bytes that a rank sends of the gradients of a bucket with Compression::kTopK: values and
/// indices.
uint64_t TopKBytes(const TrainingOptions& options, uint64_t elements);

/// Where use `use` of a Gather of a micro-batch is computed (parameter-gathers.h).
Position PositionOfUse(const RankWork& work, uint32_t microBatch, uint32_t use);

/// The transfers of data parallelism with any ZeRO stage. On a stream they run in this order.
/// Transfers whose data are already present are ordered by their first users, the others by `made`.
/// \param options resolved
std::vector<Transfer> DataParallelTransfers(const TrainingOptions& options, const RankWork& work);

/// The exchanges of a rank within its layers, and with the stages before and after it. They go
/// ahead of the other transfers.
/// \param options resolved
std::vector<Transfer> ModelParallelTransfers(const TrainingOptions& options,
                                             const RankWork& work,
                                             uint32_t stage);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_COMMUNICATION_H
