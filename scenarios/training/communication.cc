/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/communication.h"

#include "collectives/registry.h"
#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/kernel-time.h"
#include "scenarios/training/parameter-gathers.h"
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

Task
Collective(Phase phase,
           uint8_t stream,
           GroupOf group,
           coll::Op op,
           uint64_t bytes,
           std::string name)
{
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = phase;
    task.stream = stream;
    task.group = static_cast<uint32_t>(group);
    task.op = op;
    task.bytes = bytes;
    task.name = std::move(name);
    return task;
}

/// Memory is read and written, on the computing stream as all that computes.
Task
MemoryTask(const TrainingOptions& o, Phase phase, double bytes, std::string name)
{
    Kernel kernel;
    kernel.kind = KernelClass::kPointwise;
    kernel.launches = 1;
    kernel.bytes = bytes;
    Task task;
    task.kind = TaskKind::kMemory;
    task.phase = phase;
    task.stream = kComputeStream;
    task.duration = rdma::FromSeconds(Seconds(kernel, o.gpu, o.dtype));
    task.name = std::move(name);
    return task;
}

/// The ranks that reduce and gather, and on which streams.
struct Shared
{
    uint32_t ranks = 1;  ///< that share a copy out
    uint32_t copies = 1; ///< of what they share out
    uint32_t local = 0;  ///< of them, that reduce among themselves first; 0: all at once
    GroupOf gradients = GroupOf::kGradient;
    GroupOf gathers = GroupOf::kGather;
    GroupOf across = GroupOf::kCopies;
    GroupOf secondary = GroupOf::kSecondary;
    uint8_t gradientStream = kGradientStream;
    uint8_t parameterStream = kParameterStream;
    uint8_t copyStream = kCopyStream;
    const char* of = ""; ///< for names
};

/// What is gathered in 8 bits is put into the datatype ahead of its first use. A rank's own share
/// is quantized before that, which is a part of it.
Transfer
Dequantize(const TrainingOptions& o,
           const Shared& shared,
           uint64_t elements,
           Position use,
           const std::string& what)
{
    const double one = 1.0 + DtypeBytes(o.dtype);
    const double all = static_cast<double>(elements);
    Transfer t;
    t.task =
        MemoryTask(o, Phase::kParameter, one * (all + all / shared.ranks), "dequantize " + what);
    t.users = {use};
    t.inLine = true;
    return t;
}

void
GatherParameters(const TrainingOptions& o,
                 const RankWork& work,
                 const std::vector<RankLayer>& layers,
                 const Shared& shared,
                 std::vector<Transfer>& transfers)
{
    const auto gathers = ParameterGathers(o, layers);
    const auto count = static_cast<uint32_t>(layers.size());
    std::vector<Transfer> sorted;
    for (uint32_t m = 0; m < o.accumulation; ++m)
    {
        for (uint32_t g = 0; g < gathers.size(); ++g)
        {
            const RankLayer& layer = layers[gathers[g].layer];
            const bool forward = gathers[g].use < count;
            // The second partition is filled by a forward's gather and serves its backward; in
            // DeepSpeed it is filled once, and serves to the end of the step.
            const bool filled = !forward || (m > 0 && o.zeroImpl == ZeroImpl::kDeepSpeed);
            const bool second = o.secondary > 1 && filled;
            Transfer t;
            t.task = Collective(Phase::kParameter,
                                shared.parameterStream,
                                second ? shared.secondary : shared.gathers,
                                coll::Op::kAllGather,
                                GatheredBytes(o,
                                              GatheredElements(o, layer),
                                              shared.ranks,
                                              second ? o.secondary : shared.ranks),
                                std::string("all-gather ") + (forward ? "forward " : "backward ") +
                                    shared.of + layer.name + OfMicroBatch(o, m));
            t.users = {PositionOfUse(work, m, gathers[g].use)};
            t.gather = g;
            sorted.push_back(std::move(t));
        }
    }
    // A pipeline does not go through its micro-batches one by one.
    std::stable_sort(sorted.begin(), sorted.end(), [](const Transfer& a, const Transfer& b) {
        return a.users.front() < b.users.front();
    });
    for (Transfer& t : sorted)
    {
        const Position use = t.users.front();
        const uint64_t elements = GatheredElements(o, layers[gathers[t.gather].layer]);
        const std::string what = t.task.name.substr(t.task.name.find(' ') + 1);
        transfers.push_back(std::move(t));
        if (o.quantizedWeights)
        {
            Transfer after = Dequantize(o, shared, elements, use, what);
            after.behind = {static_cast<uint32_t>(transfers.size() - 1)};
            transfers.push_back(std::move(after));
        }
    }
}

/// The gradients of a micro-batch on their way, in the buckets of a group of ranks.
class Reduction
{
  public:
    Reduction(const TrainingOptions& options,
              const RankWork& work,
              const Shared& shared,
              std::vector<Transfer>& transfers)
        : m_options(options),
          m_work(work),
          m_shared(shared),
          m_transfers(transfers)
    {
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

    /// What was compressed is made gradients again, ahead of the optimizer.
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
        const bool deepSpeed = o.zeroImpl == ZeroImpl::kDeepSpeed;
        const uint64_t bytes = m_elements * o.GradientBytes();
        if (o.zero == 0 || (deepSpeed && o.zero < 3))
        {
            Add(coll::Op::kAllReduce, bytes, m_shared.gradients, m_shared.gradientStream);
            return;
        }
        Add(coll::Op::kReduceScatter, bytes, m_shared.gradients, m_shared.gradientStream);
        // DeepSpeed's MiCS adds copies up once a step (allreduce_mics_shard_grads of
        // deepspeed/runtime/zero/mics.py), FSDP whenever gradients are reduced.
        if (m_shared.copies > 1 && (!deepSpeed || microBatch + 1 == o.accumulation))
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
            Add(coll::Op::kAllReduce, 2 * m_elements, m_shared.gradients, m_shared.gradientStream);
            m_unpacked += e * (2 + wide);
        }
        else
        {
            // Gradient and what was left of the last ones are read, their sum is written, read to
            // find the threshold, and read to take what is above it: assumed.
            Pack(5 * e * wide, "compress ");
            const uint64_t bytes = m_shared.ranks * TopKBytes(m_options, m_elements);
            Add(coll::Op::kAllGather, bytes, m_shared.gradients, m_shared.gradientStream);
            // All are added into zeros.
            m_unpacked += e * wide + static_cast<double>(bytes);
        }
        m_compressed.push_back(static_cast<uint32_t>(m_transfers.size() - 1));
    }

    void Pack(double bytes, const char* what)
    {
        Transfer t;
        t.task = MemoryTask(m_options, Phase::kGradient, bytes, what + m_name);
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
        t.behind = m_behind;
        m_behind = {static_cast<uint32_t>(m_transfers.size())};
        m_transfers.push_back(std::move(t));
    }

    const TrainingOptions& m_options;
    const RankWork& m_work;
    const Shared& m_shared;
    std::vector<Transfer>& m_transfers;
    std::vector<uint32_t> m_compressed; ///< collectives of what was compressed
    double m_unpacked = 0;              ///< bytes of memory that making gradients of it takes
    // Of the bucket:
    Position m_made = 0;
    Position m_user = 0;
    uint64_t m_elements = 0;
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

void
ReduceGradients(const TrainingOptions& o,
                const RankWork& work,
                const std::vector<RankLayer>& layers,
                const Shared& shared,
                std::vector<Transfer>& transfers)
{
    const auto buckets = o.zeroImpl == ZeroImpl::kHorovod
                             ? CycleBuckets(o, layers, GradientTimes(o, work))
                             : GradientBuckets(o, layers, shared.ranks);
    Reduction reduction(o, work, shared, transfers);
    for (uint32_t m = o.zero >= 2 ? 0 : o.accumulation - 1; m < o.accumulation; ++m)
    {
        for (std::size_t b = 0; b < buckets.size(); ++b)
        {
            reduction.Reduce(buckets[b], b, m);
        }
    }
    reduction.End();
}

/// An all-gather behind the optimizer, of what each rank has stepped its part of.
void
Spread(const TrainingOptions& o,
       const RankWork& work,
       const Shared& shared,
       GroupOf group,
       uint64_t elements,
       const std::string& what,
       std::vector<Transfer>& transfers)
{
    Transfer t;
    t.task = Collective(Phase::kParameter,
                        shared.parameterStream,
                        group,
                        coll::Op::kAllGather,
                        elements * DtypeBytes(o.dtype),
                        "all-gather " + std::string(shared.of) + what);
    t.made = work.Optimizer();
    transfers.push_back(std::move(t));
}

/// Stages 1 and 2: each rank has stepped its part of the parameters.
void
SpreadParameters(const TrainingOptions& o,
                 const RankWork& work,
                 const std::vector<RankLayer>& layers,
                 const Shared& shared,
                 std::vector<Transfer>& transfers)
{
    const uint64_t total = PaddedParameters(o, layers, shared.ranks);
    const uint64_t most = RoundDownToAtLeast(*o.gatherBytes / DtypeBytes(o.dtype), shared.ranks);
    uint32_t index = 0;
    for (uint64_t done = 0; done < total; done += most)
    {
        Spread(o,
               work,
               shared,
               shared.gradients,
               std::min(most, total - done),
               "parameters " + std::to_string(index++),
               transfers);
    }
}

void
Share(const TrainingOptions& o,
      const RankWork& work,
      const std::vector<RankLayer>& layers,
      const Shared& shared,
      std::vector<Transfer>& transfers)
{
    // What one rank would reduce or gather alone is copied from or to the host (offload.h).
    if ((shared.ranks == 1 && o.offload == Offload::kNone) || ParametersOf(layers) == 0)
    {
        return;
    }
    if (o.zero == 3)
    {
        GatherParameters(o, work, layers, shared, transfers);
    }
    ReduceGradients(o, work, layers, shared, transfers);
    if (o.zero == 1 || o.zero == 2)
    {
        SpreadParameters(o, work, layers, shared, transfers);
    }
    uint64_t persistent = 0;
    for (const RankLayer& layer : layers)
    {
        persistent += PersistentElements(o, layer);
    }
    if (persistent > 0)
    {
        Spread(o,
               work,
               shared,
               shared.gathers,
               RoundUp(persistent, shared.ranks),
               "persistent parameters",
               transfers);
    }
}

/// Without a flush: the replicas of a stage add up the gradients of each round, one micro-batch of
/// each, and then update their weights; with overlap behind the next round, so that those of the
/// last round of a step are added up in the next.
void
ReduceRounds(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    std::vector<const DoneAction*> rounds;
    for (const DoneAction& done : work.actions)
    {
        if (done.action.kind == PipelineAction::Kind::kBackward)
        {
            rounds.push_back(&done);
        }
    }
    const auto add = [&](const Bucket& bucket, const std::string& name, const DoneAction& update) {
        Transfer t;
        t.task = Collective(Phase::kGradient,
                            kGradientStream,
                            GroupOf::kGradient,
                            coll::Op::kAllReduce,
                            bucket.elements * o.GradientBytes(),
                            "all-reduce bucket " + name);
        t.users = {update.span.last + 1};
        transfers.push_back(std::move(t));
    };
    for (const auto& layers : {work.layers, ExpertsOf(work.layers)})
    {
        if (work.replicas == 1 || ParametersOf(layers) == 0)
        {
            continue;
        }
        const auto buckets = GradientBuckets(o, layers, work.replicas);
        for (std::size_t b = 0; work.updatesLater && !work.fills && b < buckets.size(); ++b)
        {
            add(buckets[b], std::to_string(b) + " of the step before", *rounds.front());
            transfers.back().inLine = true;
            transfers.back().carried = true;
        }
        const std::size_t here = rounds.size() - (work.updatesLater ? 1 : 0);
        for (std::size_t r = 0; r < here; ++r)
        {
            const uint32_t microBatch = rounds[r]->action.microBatch;
            for (std::size_t b = 0; b < buckets.size(); ++b)
            {
                add(buckets[b],
                    std::to_string(b) + OfMicroBatch(o, microBatch),
                    *rounds[r + (work.updatesLater ? 1 : 0)]);
                transfers.back().made = work.Gradient(microBatch, buckets[b].last);
            }
        }
    }
    // On a stream in the order in which they are made, those of the step before first.
    std::stable_sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) {
        return a.made + 1 < b.made + 1;
    });
}

/// First and last stage add up the gradients of the matrix that both have.
void
ReduceEmbedding(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    uint64_t elements = 0;
    Position made = 0;
    for (uint32_t i = 0; i < work.layers.size(); ++i)
    {
        elements += work.layers[i].copied;
        made = work.layers[i].copied > 0 ? work.Gradient(o.accumulation - 1, i) : made;
    }
    if (elements == 0)
    {
        return;
    }
    Transfer t;
    t.task = Collective(Phase::kGradient,
                        kEmbeddingStream,
                        GroupOf::kEmbedding,
                        coll::Op::kAllReduce,
                        elements * o.GradientBytes(),
                        "all-reduce embedding");
    t.made = made;
    t.begin = made;
    t.inLine = true;
    t.users = {work.Optimizer()};
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        // Of what the replicas have added up.
        if (transfers[i].task.kind == TaskKind::kCollective &&
            transfers[i].task.phase == Phase::kGradient &&
            transfers[i].users.front() == work.Optimizer())
        {
            t.behind = {i};
            t.made = std::max(t.made, transfers[i].made);
        }
    }
    t.begin = t.made;
    transfers.push_back(std::move(t));
}

} // namespace

std::string
StreamName(uint8_t stream)
{
    constexpr const char* kNames[kStreams] = {"compute",
                                              "gradients",
                                              "parameters",
                                              "tensor",
                                              "context",
                                              "experts",
                                              "expert gradients",
                                              "expert parameters",
                                              "embedding",
                                              "send forward",
                                              "receive forward",
                                              "send backward",
                                              "receive backward",
                                              "gradient copies",
                                              "expert gradient copies",
                                              "host",
                                              "to host",
                                              "from host",
                                              "loading"};
    return kNames[stream];
}

Position
PositionOfUse(const RankWork& work, uint32_t microBatch, uint32_t use)
{
    const auto count = static_cast<uint32_t>(work.layers.size());
    return use < count ? work.Forward(microBatch, use).first
                       : work.Backward(microBatch, 2 * count - 1 - use).first;
}

std::vector<Transfer>
DataParallelTransfers(const TrainingOptions& o, const RankWork& work)
{
    std::vector<Transfer> transfers;
    if (!Flushes(o))
    {
        ReduceRounds(o, work, transfers);
        return transfers;
    }
    Shared shared;
    shared.ranks = o.Sharers();
    shared.copies = o.Replicas() / shared.ranks;
    shared.local = o.quantizedGradients;
    Share(o, work, work.layers, shared, transfers);
    Shared experts{o.ExpertSharers(),
                   o.ExpertReplicas() / o.ExpertSharers(),
                   o.quantizedGradients,
                   GroupOf::kExpertGradient,
                   GroupOf::kExpertGather,
                   GroupOf::kExpertCopies,
                   GroupOf::kExpertSecondary,
                   kExpertGradientStream,
                   kExpertParameterStream,
                   kExpertCopyStream,
                   "experts' "};
    Share(o, work, ExpertsOf(work.layers), experts, transfers);
    ReduceEmbedding(o, work, transfers);
    return transfers;
}

} // namespace training
