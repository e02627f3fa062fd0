/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One step, m micro-batches, psi parameters. What a GPU sends with bandwidth-optimal collectives,
 * in units of psi (n-1)/n:
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
 *     backward;
 *   - zero/partitioned_param_coordinator.py (00a31c99): prefetch until stage3_prefetch_bucket_size
 *     is reached, within one forward and backward; __params_to_release keeps what is used again
 *     within stage3_max_reuse_distance elements. So layers near the turn from forward to backward
 *     are not gathered again, and a model of less than half of 1e9 parameters is gathered once.
 *   Not modelled: stage3_param_persistence_threshold (tensors up to 1e5 elements stay),
 *   stage3_max_live_parameters, and that without overlap DeepSpeed reduces full buckets during
 *   backward with the GPU idle (here: after backward, which takes the same time).
 *
 * Gradient buckets. Order: last layer first, and a layer's tensors in reverse. Stage 0 keeps
 * tensors whole, as PyTorch's DDP: a bucket is closed by the tensor that fills it, so a large
 * embedding is one large bucket. The paper's stages 1 to 3 flatten, so buckets are cut at
 * bucketBytes exactly (rounded down to a multiple of the ranks); so is DeepSpeed's stage 3. A
 * bucket is ready when the backward of all its layers is done. With tied embeddings the shared
 * matrix belongs to the embedding and gets its last contribution there: it is reduced last. A
 * gradient buffer exists once: where every micro-batch is reduced, backward waits for the reduction
 * of the one before.
 *
 * Stage 3 gathers layer by layer. The gather for the next layer runs while a layer computes;
 * prefetchBytes allows more. A tied matrix is gathered for the embedding and held for the head, and
 * gathered again for the head's backward and held to the embedding's.
 */
#include "scenarios/training/training-plan.h"

#include "scenarios/models/zoo-json.h"

#include <algorithm>
#include <cstdio>

namespace training
{

namespace
{

constexpr uint8_t kComputeStream = 0;
constexpr uint8_t kGradientStream = 1;
constexpr uint8_t kParameterStream = 2;
constexpr uint64_t kDeepSpeedBucket = 500'000'000;  // elements: zero/config.py of DeepSpeed@1b88ac3
constexpr uint64_t kDeepSpeedPrefetch = 50'000'000; // elements
constexpr uint64_t kDeepSpeedReuse = 1'000'000'000; // elements
constexpr uint64_t kPaperBucketBytes = 25ULL << 20;

uint64_t
RoundUp(uint64_t x, uint64_t n)
{
    return (x + n - 1) / n * n;
}

uint64_t
RoundDownToAtLeast(uint64_t x, uint64_t n)
{
    return std::max(x / n * n, n);
}

/// Recomputed before its backward: all that computes, but for the last layer, whose backward
/// follows its forward at once.
bool
IsRecomputed(const TrainingOptions& o, size_t layer)
{
    return o.recompute && layer + 1 < o.model.layers.size() &&
           o.model.layers[layer].flops.At(1, 1) > 0;
}

ComputeOptions
ComputeOf(const TrainingOptions& o)
{
    return {o.gpu, o.dtype, o.microBatch, o.model.hasSequence ? o.sequence : 1, o.fusedAttention};
}

/// Gradients reduced together.
struct Bucket
{
    uint64_t elements = 0;
    uint32_t first =
        0; ///< the layer with the highest index in it: the first whose backward writes to it
    uint32_t last = 0; ///< the lowest index: ready when its backward is done
};

/// Whole tensors. DDP's rule (`fill`): the tensor that reaches the size closes the bucket.
/// DeepSpeed's: the one that would exceed it opens the next.
std::vector<Bucket>
TensorBuckets(const ModelSpec& model, uint64_t limit, bool fill)
{
    std::vector<Bucket> buckets;
    Bucket open;
    const auto close = [&] {
        if (open.elements > 0)
        {
            buckets.push_back(open);
            open = Bucket{};
        }
    };
    for (uint32_t i = static_cast<uint32_t>(model.layers.size()); i-- > 0;)
    {
        const auto& tensors = model.layers[i].tensors;
        for (auto t = tensors.rbegin(); t != tensors.rend(); ++t)
        {
            if (*t == 0)
            {
                continue;
            }
            if (!fill && open.elements + *t > limit)
            {
                close();
            }
            open.first = open.elements == 0 ? i : open.first;
            open.elements += *t;
            open.last = i;
            if (fill && open.elements >= limit)
            {
                close();
            }
        }
    }
    close();
    return buckets;
}

/// The flat gradient (`sizes` by layer, padding included) in pieces of `limit` elements.
std::vector<Bucket>
FlatBuckets(const std::vector<uint64_t>& sizes, uint64_t limit)
{
    std::vector<Bucket> buckets;
    Bucket open;
    for (uint32_t i = static_cast<uint32_t>(sizes.size()); i-- > 0;)
    {
        for (uint64_t left = sizes[i]; left > 0;)
        {
            open.first = open.elements == 0 ? i : open.first;
            open.last = i;
            const uint64_t take = std::min(left, limit - open.elements);
            open.elements += take;
            left -= take;
            if (open.elements == limit)
            {
                buckets.push_back(open);
                open = Bucket{};
            }
        }
    }
    if (open.elements > 0)
    {
        buckets.push_back(open);
    }
    return buckets;
}

/// Elements of each layer as stage 3 partitions them.
std::vector<uint64_t>
Stage3Sizes(const TrainingOptions& o)
{
    std::vector<uint64_t> sizes;
    for (const auto& layer : o.model.layers)
    {
        sizes.push_back(RoundUp(layer.parameters, o.ranks));
    }
    return sizes;
}

std::vector<Bucket>
GradientBuckets(const TrainingOptions& o)
{
    const uint64_t limit = std::max<uint64_t>(*o.bucketBytes / DtypeBytes(o.dtype), 1);
    if (o.zero == 3)
    {
        return FlatBuckets(Stage3Sizes(o), RoundDownToAtLeast(limit, o.ranks));
    }
    if (o.zeroImpl == ZeroImpl::kDeepSpeed)
    {
        return TensorBuckets(o.model, limit, false);
    }
    if (o.zero == 0)
    {
        return TensorBuckets(o.model, limit, true);
    }
    std::vector<uint64_t> sizes;
    uint64_t sum = 0;
    for (const auto& layer : o.model.layers)
    {
        sizes.push_back(layer.parameters);
        sum += layer.parameters;
    }
    sizes.front() += RoundUp(sum, o.ranks) - sum; // the end of the flat gradient
    return FlatBuckets(sizes, RoundDownToAtLeast(limit, o.ranks));
}

/// One all-gather of stage 3: a layer's parameters for one or more computations of a micro-batch.
struct Gather
{
    uint32_t layer = 0;
    uint32_t use =
        0; ///< the computation that needs it first: forward of layer i is i, backward 2 L - 1 - i
};

/// In order of need, within one micro-batch.
std::vector<Gather>
Stage3Gathers(const TrainingOptions& o)
{
    const auto& layers = o.model.layers;
    const uint32_t count = static_cast<uint32_t>(layers.size());
    std::vector<uint32_t> backwardUse(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        backwardUse[i] = 2 * count - 1 - i;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (layers[i].tiedTo != kNotTied)
        {
            // The head's backward comes first and holds the matrix until the embedding's.
            auto& use = backwardUse[layers[i].tiedTo];
            use = std::min(use, 2 * count - 1 - i);
        }
    }
    std::vector<Gather> gathers;
    std::vector<uint64_t> above(count + 1, 0); // elements of the layers above i
    for (uint32_t i = count; i-- > 0;)
    {
        above[i] = above[i + 1] + layers[i].parameters;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (layers[i].parameters == 0)
        {
            continue;
        }
        gathers.push_back({i, i});
        // Between a tied matrix's uses at the head lies nothing.
        const bool tied = backwardUse[i] != 2 * count - 1 - i;
        const uint64_t between = tied ? 0 : 2 * above[i + 1];
        if (between >= *o.reuseElements)
        {
            gathers.push_back({i, backwardUse[i]});
        }
    }
    std::stable_sort(gathers.begin(), gathers.end(), [](const Gather& a, const Gather& b) {
        return a.use < b.use;
    });
    return gathers;
}

/// The earliest computation beside which gather g may run: the one before the one that needs it, or
/// earlier while fewer than prefetchBytes are gathered in between. Equal to g's own use if there is
/// none before it in this micro-batch.
uint32_t
EarliestBeside(const TrainingOptions& o, const std::vector<Gather>& gathers, size_t g)
{
    const uint32_t use = gathers[g].use;
    if (!*o.overlap || use == 0)
    {
        return use;
    }
    uint32_t beside = use - 1;
    uint64_t between = 0;
    size_t k = g;
    while (beside > 0)
    {
        // Going back by one puts the gathers needed by `beside` in between.
        while (k > 0 && gathers[k - 1].use >= beside)
        {
            --k;
            between += o.model.layers[gathers[k].layer].parameters * DtypeBytes(o.dtype);
        }
        if (between >= *o.prefetchBytes)
        {
            break;
        }
        --beside;
    }
    return beside;
}

std::string
OfMicroBatch(const TrainingOptions& o, uint32_t index)
{
    return o.accumulation > 1 ? " micro-batch " + std::to_string(index) : "";
}

/// Builds the one role of data parallelism.
class GraphBuilder
{
  public:
    explicit GraphBuilder(const TrainingOptions& options)
        : m_o(options),
          m_compute(ComputeOf(options)),
          m_buckets(GradientBuckets(options)),
          m_count(static_cast<uint32_t>(options.model.layers.size()))
    {
        m_graph.streams = {"compute", "gradients"};
        if (m_o.zero >= 1)
        {
            m_graph.streams.emplace_back("parameters");
        }
        if (m_o.zero == 3 && m_o.ranks > 1)
        {
            m_gathers = Stage3Gathers(m_o);
        }
        m_reduced.assign(m_buckets.size(), kNone);
    }

    StepGraph Build()
    {
        for (uint32_t i = 0; i < m_o.accumulation; ++i)
        {
            MicroBatch(i);
        }
        Optimizer();
        return std::move(m_graph);
    }

  private:
    static constexpr TaskId kNone = UINT32_MAX;

    TaskId Add(Task task)
    {
        task.after.erase(std::remove(task.after.begin(), task.after.end(), kNone),
                         task.after.end());
        std::sort(task.after.begin(), task.after.end());
        task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
        m_graph.tasks.push_back(std::move(task));
        return static_cast<TaskId>(m_graph.tasks.size() - 1);
    }

    TaskId Compute(Phase phase,
                   TaskKind kind,
                   rdma::Duration duration,
                   std::string name,
                   std::vector<TaskId> after)
    {
        Task task;
        task.kind = kind;
        task.phase = phase;
        task.stream = kComputeStream;
        task.duration = duration;
        task.name = std::move(name);
        task.after = std::move(after);
        return Add(std::move(task));
    }

    TaskId Collective(Phase phase,
                      uint8_t stream,
                      coll::Op op,
                      uint64_t elements,
                      std::string name,
                      std::vector<TaskId> after)
    {
        Task task;
        task.kind = TaskKind::kCollective;
        task.phase = phase;
        task.stream = stream;
        task.op = op;
        task.bytes = elements * DtypeBytes(m_o.dtype);
        task.group = m_o.zero == 3 && stream == kParameterStream ? 1 : 0;
        task.name = std::move(name);
        task.after = std::move(after);
        return Add(std::move(task));
    }

    void MicroBatch(uint32_t index)
    {
        const bool lastOne = index + 1 == m_o.accumulation;
        const bool reduces = m_o.ranks > 1 && (lastOne || m_o.zero >= 2);
        const std::string suffix = OfMicroBatch(m_o, index);
        std::vector<TaskId> uses(2 * m_count, kNone);
        size_t gather = 0;
        size_t bucket = 0;  // the next to be reduced
        size_t started = 0; // the next to be written to
        const TaskId before = m_lastCompute;
        for (uint32_t use = 0; use < 2 * m_count; ++use)
        {
            const bool forward = use < m_count;
            const uint32_t i = forward ? use : 2 * m_count - 1 - use;
            const LayerSpec& layer = m_o.model.layers[i];
            // Without overlap the forward of a micro-batch waits for all communication of the one
            // before.
            std::vector<TaskId> after = use == 0 ? m_barrier : std::vector<TaskId>{};
            for (; gather < m_gathers.size() && m_gathers[gather].use == use; ++gather)
            {
                const uint32_t beside = EarliestBeside(m_o, m_gathers, gather);
                std::vector<TaskId> start{beside == 0 ? before : uses[beside - 1]};
                if (use == 0)
                {
                    start.insert(start.end(), m_barrier.begin(), m_barrier.end());
                    if (*m_o.overlap && m_o.zeroImpl == ZeroImpl::kPaper)
                    {
                        start = {m_beforeLastCompute}; // beside the last backward; DeepSpeed's
                                                       // look-ahead ends with the micro-batch
                    }
                }
                const uint32_t g = m_gathers[gather].layer;
                after.push_back(Collective(Phase::kParameter,
                                           kParameterStream,
                                           coll::Op::kAllGather,
                                           RoundUp(m_o.model.layers[g].parameters, m_o.ranks),
                                           std::string("all-gather ") +
                                               (forward ? "forward " : "backward ") +
                                               m_o.model.layers[g].name + suffix,
                                           std::move(start)));
            }
            if (!forward && reduces)
            {
                // The gradient buffer is free once the reduction of the micro-batch before has read
                // it.
                for (; started < m_buckets.size() && m_buckets[started].first >= i; ++started)
                {
                    after.push_back(m_reduced[started]);
                }
            }
            m_beforeLastCompute = m_lastCompute;
            m_lastCompute = uses[use] =
                Compute(forward ? Phase::kForward : Phase::kBackward,
                        TaskKind::kCompute,
                        forward ? Forward(layer) : Backward(i),
                        (forward ? "forward " : "backward ") + layer.name + suffix,
                        std::move(after));
            if (!forward && reduces && *m_o.overlap)
            {
                for (; bucket < m_buckets.size() && m_buckets[bucket].last >= i; ++bucket)
                {
                    Reduce(bucket, uses[use], suffix);
                }
            }
        }
        m_barrier.clear();
        if (reduces && !*m_o.overlap)
        {
            for (size_t b = 0; b < m_buckets.size(); ++b)
            {
                Reduce(b, m_lastCompute, suffix);
                m_barrier.push_back(m_reduced[b]);
            }
        }
    }

    void Reduce(size_t bucket, TaskId ready, const std::string& suffix)
    {
        const bool allReduce =
            m_o.zero == 0 || (m_o.zeroImpl == ZeroImpl::kDeepSpeed && m_o.zero < 3);
        m_reduced[bucket] =
            Collective(Phase::kGradient,
                       kGradientStream,
                       allReduce ? coll::Op::kAllReduce : coll::Op::kReduceScatter,
                       m_buckets[bucket].elements,
                       (allReduce ? "all-reduce bucket " : "reduce-scatter bucket ") +
                           std::to_string(bucket) + suffix,
                       {ready});
    }

    rdma::Duration Forward(const LayerSpec& layer) const
    {
        const LayerTime* measured = m_o.profile ? m_o.profile->Find(layer.name) : nullptr;
        return measured != nullptr ? measured->forward : ForwardTime(layer, m_compute);
    }

    rdma::Duration Backward(uint32_t i) const
    {
        const LayerSpec& layer = m_o.model.layers[i];
        const LayerTime* measured = m_o.profile ? m_o.profile->Find(layer.name) : nullptr;
        rdma::Duration time =
            measured != nullptr ? measured->backward : BackwardTime(layer, m_compute);
        if (IsRecomputed(m_o, i))
        {
            time += Forward(layer);
        }
        return time;
    }

    /// Adam on this rank's partition, when all gradients are there (their norm is clipped), then
    /// stages 1 and 2 spread the parameters.
    void Optimizer()
    {
        const uint64_t total = RoundUp(m_o.model.parameters, m_o.ranks);
        const uint64_t mine = m_o.zero == 0   ? m_o.model.parameters
                              : m_o.zero == 3 ? PaddedParameters(m_o) / m_o.ranks
                                              : total / m_o.ranks;
        const TaskId step =
            Compute(Phase::kOptimizer,
                    TaskKind::kMemory,
                    m_o.profile && m_o.profile->optimizer ? *m_o.profile->optimizer
                                                          : OptimizerTime(mine, m_compute),
                    "optimizer",
                    m_reduced);
        if (m_o.ranks == 1 || m_o.zero == 0 || m_o.zero == 3)
        {
            return;
        }
        const uint64_t most =
            RoundDownToAtLeast(*m_o.gatherBytes / DtypeBytes(m_o.dtype), m_o.ranks);
        uint32_t index = 0;
        for (uint64_t done = 0; done < total; done += most)
        {
            Collective(Phase::kParameter,
                       kParameterStream,
                       coll::Op::kAllGather,
                       std::min(most, total - done),
                       "all-gather parameters " + std::to_string(index++),
                       {step});
        }
    }

    const TrainingOptions& m_o;
    ComputeOptions m_compute;
    std::vector<Bucket> m_buckets;
    std::vector<Gather> m_gathers;
    uint32_t m_count;
    StepGraph m_graph;
    std::vector<TaskId> m_reduced; ///< by bucket: its last reduction
    std::vector<TaskId> m_barrier; ///< without overlap: what the next micro-batch waits for
    TaskId m_lastCompute = kNone;
    TaskId m_beforeLastCompute = kNone;
};

/// Most bytes of gathered parameters at a time, by the rule of EarliestBeside.
uint64_t
GatheredBytes(const TrainingOptions& o)
{
    const auto gathers = Stage3Gathers(o);
    const auto& layers = o.model.layers;
    const uint32_t count = static_cast<uint32_t>(layers.size());
    std::vector<int64_t> change(2 * count + 1, 0);
    std::vector<uint32_t> freed(
        count,
        UINT32_MAX); // by layer: the use after which its newest gather is released
    for (size_t g = gathers.size(); g-- > 0;)
    {
        const uint32_t i = gathers[g].layer;
        const bool again =
            freed[i] != UINT32_MAX; // a later gather exists, so this one is for forward
        uint32_t lastUse = again ? i : 2 * count - 1 - i;
        for (uint32_t j = 0; again && j < count; ++j)
        {
            lastUse = layers[j].tiedTo == i ? j : lastUse;
        }
        freed[i] = lastUse;
        const auto bytes =
            static_cast<int64_t>(RoundUp(layers[i].parameters, o.ranks) * DtypeBytes(o.dtype));
        change[EarliestBeside(o, gathers, g)] += bytes;
        change[lastUse + 1] -= bytes;
    }
    int64_t now = 0;
    int64_t most = 0;
    for (const int64_t c : change)
    {
        now += c;
        most = std::max(most, now);
    }
    return static_cast<uint64_t>(most);
}

} // namespace

std::string
ZeroImplName(ZeroImpl impl)
{
    return impl == ZeroImpl::kPaper ? "paper" : "deepspeed";
}

std::optional<ZeroImpl>
ParseZeroImpl(std::string_view text)
{
    const std::string plain = PlainName(text);
    if (plain == "paper")
    {
        return ZeroImpl::kPaper;
    }
    if (plain == "deepspeed")
    {
        return ZeroImpl::kDeepSpeed;
    }
    return std::nullopt;
}

TrainingOptions
ResolvedOptions(TrainingOptions o)
{
    const bool deepSpeed = o.zeroImpl == ZeroImpl::kDeepSpeed;
    const uint64_t element = DtypeBytes(o.dtype);
    const auto fill = [](auto& field, auto value) { field = field ? *field : value; };
    fill(o.bucketBytes, deepSpeed ? kDeepSpeedBucket * element : kPaperBucketBytes);
    fill(o.gatherBytes, kDeepSpeedBucket * element);
    fill(o.prefetchBytes, deepSpeed ? kDeepSpeedPrefetch * element : 0);
    fill(o.reuseElements, deepSpeed ? kDeepSpeedReuse : 0);
    fill(o.overlap, !deepSpeed || o.zero == 3);
    return o;
}

uint64_t
PaddedParameters(const TrainingOptions& o)
{
    if (o.zero == 3)
    {
        uint64_t sum = 0;
        for (const uint64_t size : Stage3Sizes(o))
        {
            sum += size;
        }
        return sum;
    }
    return o.zero == 0 ? o.model.parameters : RoundUp(o.model.parameters, o.ranks);
}

std::vector<Problem>
Check(const TrainingOptions& options)
{
    std::vector<Problem> problems;
    const auto error = [&](const char* path, const std::string& text) {
        problems.push_back({true, path, text});
    };
    const auto warning = [&](const char* path, const std::string& text) {
        problems.push_back({false, path, text});
    };
    if (options.model.layers.empty() || options.model.parameters == 0)
    {
        error("model", "has no parameters");
    }
    if (options.ranks == 0)
    {
        error("gpus", "is 0; at least one GPU is needed");
    }
    if (options.zero > 3)
    {
        error("zero", "is " + std::to_string(options.zero) + "; the stages are 0, 1, 2 and 3");
    }
    const std::pair<const char*, uint32_t> positive[] = {{"micro-batch", options.microBatch},
                                                         {"accumulation", options.accumulation},
                                                         {"seq", options.sequence}};
    for (const auto& [path, value] : positive)
    {
        if (value == 0)
        {
            error(path, "is 0; must be at least 1");
        }
    }
    const uint64_t element = DtypeBytes(options.dtype);
    if (options.bucketBytes && *options.bucketBytes < element)
    {
        error("buckets", "is smaller than one gradient (" + std::to_string(element) + " bytes)");
    }
    if (options.gatherBytes && *options.gatherBytes < element)
    {
        error("gather-bytes",
              "is smaller than one parameter (" + std::to_string(element) + " bytes)");
    }
    // Every bucket is a task: a size given without its unit would make millions.
    constexpr double kMostTasks = 1e6;
    const uint64_t all = options.model.parameters * element;
    const TrainingOptions resolved = ResolvedOptions(options);
    const auto pieces = [&](uint64_t bytes) {
        const uint64_t piece = std::max<uint64_t>({bytes, options.ranks * element, 1});
        return static_cast<double>(all / piece);
    };
    const double reductions = options.zero >= 2 ? options.accumulation : 1;
    if (pieces(*resolved.bucketBytes) * reductions > kMostTasks)
    {
        error("buckets",
              "is " + std::to_string(*resolved.bucketBytes) + " bytes, which cuts the " +
                  std::to_string(all) + " bytes of gradients into more than a million reductions");
    }
    if (pieces(*resolved.gatherBytes) > kMostTasks)
    {
        error("gather-bytes",
              "is " + std::to_string(*resolved.gatherBytes) +
                  " bytes, which makes more than a million all-gathers");
    }
    if (2.0 * options.accumulation * static_cast<double>(options.model.layers.size()) > kMostTasks)
    {
        error("accumulation",
              "is " + std::to_string(options.accumulation) +
                  ": more than a million computations a step");
    }
    if (options.gpu.Peak(options.dtype) <= 0)
    {
        std::string have;
        for (const auto& name : DtypeNames())
        {
            if (options.gpu.Peak(*ParseDtype(name)) > 0)
            {
                have += (have.empty() ? "" : ", ") + name;
            }
        }
        error("dtype",
              options.gpu.name + " has no " + DtypeName(options.dtype) + "; it has " + have);
    }
    if (!problems.empty())
    {
        return problems;
    }
    if (options.model.hasSequence && options.sequence > options.model.sequence)
    {
        warning("seq",
                std::to_string(options.sequence) + " is longer than the " +
                    std::to_string(options.model.sequence) + " tokens " + options.model.name +
                    " was made for");
    }
    if (options.zero > 0 && options.ranks == 1)
    {
        warning("zero", "stage " + std::to_string(options.zero) + " partitions nothing on one GPU");
    }
    const auto memory = EstimateMemory(options);
    if (memory.Total() > options.gpu.memoryBytes)
    {
        const auto gb = [](uint64_t bytes) {
            char text[32];
            std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1ULL << 30));
            return std::string(text);
        };
        warning("model",
                options.model.name + " needs about " + gb(memory.Total()) +
                    " GiB of GPU memory (parameters " + gb(memory.parameters) + ", gradients " +
                    gb(memory.gradients) + ", optimizer " + gb(memory.optimizer) +
                    ", activations " + gb(memory.activations) + ", buffers " + gb(memory.buffers) +
                    "), and " + options.gpu.name + " has " + gb(options.gpu.memoryBytes) +
                    "; a real run would stop here. A higher ZeRO stage, a smaller micro-batch, "
                    "recomputation or fused attention need less");
    }
    if (options.profile)
    {
        const auto more = CheckProfile(*options.profile, options.model);
        problems.insert(problems.end(), more.begin(), more.end());
    }
    return problems;
}

TrainingPlan
MakeDataParallelPlan(const TrainingOptions& given)
{
    const TrainingOptions o = ResolvedOptions(given);
    TrainingPlan plan;
    plan.ranks = o.ranks;
    plan.roles.push_back(GraphBuilder(o).Build());
    plan.roleOf.assign(o.ranks, 0);
    std::vector<coll::Rank> all(o.ranks);
    for (uint32_t r = 0; r < o.ranks; ++r)
    {
        all[r] = r;
    }
    plan.groupKinds.push_back({"dp", {all}});
    if (o.zero == 3)
    {
        plan.groupKinds.push_back({"dp-parameters", {all}});
    }
    plan.samplesPerStep = static_cast<uint64_t>(o.ranks) * o.microBatch * o.accumulation;
    plan.flopsPerGpuPerStep = StepFlops(o);
    plan.gpuMemoryBytes = EstimateMemory(o).Total();
    return plan;
}

double
ModelStateBytes(double parameters, uint32_t ranks, uint32_t zero, Dtype dtype)
{
    const double element = DtypeBytes(dtype);
    const double optimizer =
        element == 2
            ? 12
            : 8; // fp32 master copy, momentum, variance; fp32 training needs no second copy
    const double n = ranks;
    return parameters * (element / (zero >= 3 ? n : 1) + element / (zero >= 2 ? n : 1) +
                         optimizer / (zero >= 1 ? n : 1));
}

MemoryEstimate
EstimateMemory(const TrainingOptions& given)
{
    const TrainingOptions o = ResolvedOptions(given);
    const uint64_t element = DtypeBytes(o.dtype);
    const uint64_t whole = PaddedParameters(o);
    const uint64_t part = RoundUp(whole, o.ranks) / o.ranks;
    MemoryEstimate m;
    m.parameters = element * (o.zero >= 3 ? part : whole);
    m.gradients = element * (o.zero >= 2 ? part : whole);
    m.optimizer = (element == 2 ? 12 : 8) * (o.zero >= 1 ? part : whole);
    const uint32_t sequence = o.model.hasSequence ? o.sequence : 1;
    double kept = 0;
    double largest = 0;
    for (size_t i = 0; i < o.model.layers.size(); ++i)
    {
        const auto& layer = o.model.layers[i];
        const Work work =
            o.fusedAttention ? layer.activationBytes.WithoutPairs() : layer.activationBytes;
        const double full = work.At(o.microBatch, sequence);
        const double checkpoint = layer.checkpointBytes.At(o.microBatch, sequence);
        if (IsRecomputed(o, i) && checkpoint < full)
        {
            kept += checkpoint;
            largest = std::max(largest, full); // of the layer that is being recomputed
        }
        else
        {
            kept += full;
        }
    }
    // Of absurd sizes more than 64 bits hold.
    m.activations =
        static_cast<uint64_t>(std::min((kept + largest) * static_cast<double>(element) / 2, 1e18));
    if (o.zero >= 1 && o.ranks > 1)
    {
        m.buffers =
            2 * std::min(*o.bucketBytes, whole * element); // one being filled, one being reduced
    }
    if (o.zero == 3 && o.ranks > 1)
    {
        m.buffers += GatheredBytes(o);
    }
    return m;
}

std::map<std::string, double>
BytesMovedPerGpu(const TrainingPlan& plan)
{
    std::map<std::string, double> moved;
    for (const auto& task : plan.roles.at(0).tasks)
    {
        if (task.kind == TaskKind::kSend)
        {
            moved["send"] += static_cast<double>(task.bytes);
        }
        if (task.kind != TaskKind::kCollective)
        {
            continue;
        }
        const double n = static_cast<double>(plan.groupKinds.at(task.group).groups.at(0).size());
        const double share = static_cast<double>(task.bytes) * (n - 1) / n;
        switch (task.op)
        {
        case coll::Op::kAllReduce:
            moved["all_reduce"] += 2 * share;
            break;
        case coll::Op::kReduceScatter:
            moved["reduce_scatter"] += share;
            break;
        case coll::Op::kAllGather:
            moved["all_gather"] += share;
            break;
        case coll::Op::kBroadcast:
            moved["broadcast"] += share;
            break;
        case coll::Op::kAllToAll:
            moved["all_to_all"] += share;
            break;
        case coll::Op::kBarrier:
            break;
        }
    }
    return moved;
}

double
StepFlops(const TrainingOptions& o)
{
    return 3.0 * o.accumulation *
           o.model.ForwardFlops(o.microBatch, o.model.hasSequence ? o.sequence : 1);
}

} // namespace training
