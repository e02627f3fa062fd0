/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/gradient-reduction.h"

#include "collectives/core/registry.h"
#include "scenarios/training/framework.h"
#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>
#include <cmath>

namespace training
{

uint64_t
TopKBytes(const TrainingOptions& o, uint64_t elements)
{
    const double top = std::ceil(o.topRatio * static_cast<double>(elements));
    constexpr uint64_t kIndex = 4; // bytes of an index in its bucket: assumed
    return std::max<uint64_t>(static_cast<uint64_t>(top), 1) * (o.GradientBytes() + kIndex);
}

namespace
{

/// The gradients of a micro-batch on their way, in the buckets of a group of ranks.
class Reduction
{
  public:
    Reduction(const TrainingOptions& options,
              const RankWork& work,
              const std::vector<RankLayer>& layers,
              const Shared& shared,
              std::vector<Transfer>& transfers)
        : m_options(options),
          m_work(work),
          m_shared(shared),
          m_transfers(transfers)
    {
        double tensors = 0;
        for (const RankLayer& layer : layers)
        {
            tensors += static_cast<double>(layer.tensors.size());
        }
        m_tensorsPerElement = tensors / static_cast<double>(ParametersOf(layers));
    }

    void Reduce(const Bucket& bucket, std::size_t index, uint32_t microBatch)
    {
        const TrainingOptions& o = m_options;
        m_made = m_work.Gradient(microBatch, bucket.last);
        // The buffer is free for the next micro-batch once this has read it; the optimizer
        // waits for all gradients, as it clips their norm.
        m_user = microBatch + 1 < o.accumulation
                     ? m_work.Backward(microBatch + 1, bucket.first).first
                     : m_work.Optimizer();
        // Chunks of a stage take turns, so the next micro-batch may already have begun.
        m_user = m_user <= m_made ? m_work.Optimizer() : m_user;
        m_name = std::string(m_shared.of) + "bucket " + std::to_string(index) +
                 OfMicroBatch(o, microBatch);
        m_elements = bucket.elements;
        m_layer = LayerNumber(bucket.last);
        m_fused = ReductionsOf(m_options).inCycles && bucket.tensors > 1;
        // Batches of BATCHED_D2D_CAPACITY tensors by a kernel (horovod/horovod horovod/common/ops/
        // cuda/cuda_kernels.h; HOROVOD_BATCH_D2D_MEMCOPIES is on).
        m_copies = std::ceil(bucket.tensors / 160.0);
        m_behind.clear();
        if (m_shared.local > 0)
        {
            InTwoLevels();
        }
        else if (o.compression != Compression::kNone)
        {
            Compressed();
        }
        else
        {
            Plain(microBatch);
        }
    }

    /// Converts compressed data back to gradients, ahead of the optimizer.
    void End()
    {
        if (m_compressed.empty())
        {
            return;
        }
        Transfer t;
        t.task = MemoryTask(m_options,
                            Phase::kGradient,
                            m_unpacked,
                            "decompress " + std::string(m_shared.of) + "gradients");
        t.users = {m_work.Optimizer()};
        t.inLine = true;
        t.behind = std::move(m_compressed);
        m_transfers.push_back(std::move(t));
    }

  private:
    void Plain(uint32_t microBatch)
    {
        const TrainingOptions& o = m_options;
        const ReduceSchedule schedule = ReductionsOf(o);
        const uint64_t bytes = m_elements * o.GradientBytes();
        if (schedule.whole)
        {
            AllReduce(bytes);
            return;
        }
        if (o.tensorLists)
        {
            Transfer t;
            // A tensor's kernels are shared out over its buckets.
            t.task = CopyTask(o,
                              Phase::kGradient,
                              bytes,
                              m_tensorsPerElement * static_cast<double>(m_elements),
                              m_shared.ranks,
                              m_name);
            Ahead(std::move(t));
        }
        Add(coll::Op::kReduceScatter, bytes, m_shared.gradients, m_shared.gradientStream);
        if (m_shared.copies > 1 && (!schedule.copiesOnce || microBatch + 1 == o.accumulation))
        {
            Add(coll::Op::kAllReduce, bytes / m_shared.ranks, m_shared.across, m_shared.copyStream);
        }
    }

    /// all_to_all_quant_reduce of deepspeed/runtime/comm/coalesced_collectives.py: quantize, swap
    /// within the server, add up and quantize again, swap between servers, add up. What its three
    /// kernels take is taken at once here, before the first swap.
    void InTwoLevels()
    {
        const double e = static_cast<double>(m_elements);
        const double wide = m_options.GradientBytes();
        const double local = m_shared.local;
        const uint32_t servers = m_shared.ranks / m_shared.local;
        Pack(e * (wide + 0.5) + e * (0.5 + 0.5 / local) + e * (0.5 / local + wide / m_shared.ranks),
             "quantize ");
        Add(coll::Op::kAllToAll,
            m_shared.local * FourBitBytes(m_elements / m_shared.local),
            m_shared.gradients,
            m_shared.gradientStream);
        Add(coll::Op::kAllToAll,
            servers * FourBitBytes(m_elements / m_shared.ranks),
            m_shared.across,
            m_shared.gradientStream,
            " between servers");
    }

    void Compressed()
    {
        const double e = static_cast<double>(m_elements);
        const double wide = m_options.GradientBytes();
        if (m_options.compression == Compression::kFp16)
        {
            // fp16_compress_hook of torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py.
            Pack(e * (wide + 2), "compress ");
            AllReduce(2 * m_elements);
            m_unpacked += e * (2 + wide);
        }
        else
        {
            // The gradient and the rest of earlier ones are read, their sum is written. It is read
            // to find the threshold, and read to take elements above it: assumed.
            Pack(5 * e * wide, "compress ");
            const uint64_t bytes = m_shared.ranks * TopKBytes(m_options, m_elements);
            Add(coll::Op::kAllGather, bytes, m_shared.gradients, m_shared.gradientStream);
            // All are added into zeros.
            m_unpacked += e * wide + static_cast<double>(bytes);
        }
        m_compressed.push_back(static_cast<uint32_t>(m_transfers.size() - 1));
    }

    /// The copies of whole gradients. Horovod copies tensors that it adds up together into its
    /// fusion buffer and out of it; a tensor alone is sent from its place (horovod/horovod
    /// docs/tensor-fusion.rst, NCCLAllreduce::Execute of horovod/common/ops/nccl_operations.cc).
    /// Each byte is read and written twice. Kernels share the memory with computation, and take its
    /// time here.
    void AllReduce(uint64_t bytes)
    {
        const double moved = 2 * static_cast<double>(bytes);
        if (m_fused)
        {
            Transfer in;
            in.task = MemoryTask(m_options, Phase::kGradient, moved, "fuse " + m_name, m_copies);
            Ahead(std::move(in));
        }
        Add(coll::Op::kAllReduce, bytes, m_shared.gradients, m_shared.gradientStream);
        if (m_fused)
        {
            Transfer out;
            out.task = MemoryTask(m_options, Phase::kGradient, moved, "unfuse " + m_name, m_copies);
            out.users = {m_user};
            out.inLine = true;
            Push(std::move(out));
        }
    }

    void Pack(double bytes, const char* what)
    {
        Transfer t;
        t.task = MemoryTask(m_options, Phase::kGradient, bytes, what + m_name);
        Ahead(std::move(t));
    }

    /// As soon as the gradients are made.
    void Ahead(Transfer t)
    {
        t.made = m_made;
        t.begin = m_made;
        t.inLine = true;
        Push(std::move(t));
    }

    /// Behind what this bucket has added before.
    void Add(coll::Op op, uint64_t bytes, GroupOf group, uint8_t stream, const char* how = "")
    {
        std::string name = coll::OpName(op);
        std::replace(name.begin(), name.end(), '_', '-');
        Transfer t;
        t.task = Collective(Phase::kGradient, stream, group, op, bytes, name + " " + m_name + how);
        if (group == m_shared.across && *how == 0)
        {
            t.task.name += " among copies";
        }
        t.made = m_made;
        t.users = {m_user};
        Push(std::move(t));
    }

    void Push(Transfer t)
    {
        t.task.layer = m_layer;
        t.behind = m_behind;
        m_behind = {static_cast<uint32_t>(m_transfers.size())};
        m_transfers.push_back(std::move(t));
    }

    const TrainingOptions& m_options;
    const RankWork& m_work;
    const Shared& m_shared;
    std::vector<Transfer>& m_transfers;
    std::vector<uint32_t> m_compressed; ///< collectives of compressed data
    double m_unpacked = 0;              ///< bytes of memory that making gradients of it takes
    double m_tensorsPerElement = 0;
    // State of the bucket:
    Position m_made = 0;
    Position m_user = 0;
    int16_t m_layer = kNoLayer;
    uint64_t m_elements = 0;
    bool m_fused = false; ///< copied into a buffer and out of it
    double m_copies = 0;  ///< kernels that do so, each way
    std::string m_name;
    std::vector<uint32_t> m_behind;
};

/// When the last micro-batch's gradients of each layer are there, if nothing holds computing up.
std::vector<rdma::Duration>
GradientTimes(const TrainingOptions& o, const RankWork& work)
{
    std::vector<rdma::Duration> ends;
    rdma::Duration now;
    for (const Computation& c : work.order)
    {
        now = now + c.duration;
        ends.push_back(now);
    }
    std::vector<rdma::Duration> times;
    for (uint32_t i = 0; i < work.layers.size(); ++i)
    {
        times.push_back(ends[work.Gradient(o.accumulation - 1, i)]);
    }
    return times;
}

} // namespace

void
ReduceGradients(const TrainingOptions& o,
                const RankWork& work,
                const std::vector<RankLayer>& layers,
                const Shared& shared,
                std::vector<Transfer>& transfers)
{
    const ReduceSchedule schedule = ReductionsOf(o);
    const auto buckets = schedule.inCycles ? CycleBuckets(o, layers, GradientTimes(o, work))
                                           : GradientBuckets(o, layers, shared.ranks);
    Reduction reduction(o, work, layers, shared, transfers);
    for (uint32_t m = schedule.eachMicroBatch ? 0 : o.accumulation - 1; m < o.accumulation; ++m)
    {
        for (std::size_t b = 0; b < buckets.size(); ++b)
        {
            reduction.Reduce(buckets[b], b, m);
        }
    }
    reduction.End();
}

} // namespace training
