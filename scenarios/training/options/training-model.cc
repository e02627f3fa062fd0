/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: from values of options to a model's training step.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/memory/memory-options.h"
#include "scenarios/network/compute-options.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/options/data-parallel-options.h"
#include "scenarios/training/options/idle-options.h"
#include "scenarios/training/options/micro-batch.h"
#include "scenarios/training/options/order-options.h"
#include "scenarios/training/options/parallel-options.h"
#include "scenarios/training/options/pipeline-options.h"
#include "scenarios/training/options/slow-gpus.h"
#include "scenarios/training/options/software-options.h"
#include "scenarios/training/options/strategy-options.h"
#include "scenarios/training/options/training-inputs.h"
#include "scenarios/training/options/training-reader.h"
#include "scenarios/training/options/used-collectives.h"
#include "scenarios/training/spec/profile-shape.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <utility>

namespace scenario
{

namespace
{

/// Models that are extended to longer texts are trained on shorter ones first. At most so many
/// tokens is assumed (Llama 3's config.json has 8,192).
constexpr uint32_t kLongestDefault = 8192;

/// FlashAttention 2 needs Ampere or later, fp16 or bf16 (README of Dao-AILab/flash-attention);
/// GPUs have bf16 from Ampere on.
bool
IsUsuallyFused(const training::ModelSpec& model,
               const training::GpuSpec& gpu,
               training::Dtype dtype)
{
    return gpu.peakBf16 > 0 && training::DtypeBytes(dtype) == 2 && !model.biasedScores;
}

bool
IsFittedToTriton(const training::KernelRates& rates)
{
    return rates.triton > 0 && rates.triton == rates.attention &&
           rates.tritonBackward == rates.attentionBackward;
}

/// Problems of options.
void
TakeProblems(Validation* v, const std::vector<training::Problem>& problems)
{
    for (const auto& p : problems)
    {
        if (!p.error)
        {
            const std::string where = p.member ? Spell(*p.member) : rdma::Shown(p.path, 300);
            v->notes.push_back("warning: " + (where.empty() ? "" : where + ": ") + p.text);
        }
        else if (p.member && *p.member == Member(&asked::Training::accumulation) &&
                 !v->values.Given(*p.member) && v->values.Given(&asked::Training::globalBatch))
        {
            v->Fail(&asked::Training::globalBatch, "makes an accumulation that " + p.text);
        }
        else if (p.member && v->table.Find(*p.member))
        {
            v->Fail(*p.member, p.text);
        }
        else
        {
            v->errors.push_back({p.path, "", p.text, ""});
        }
    }
}

} // namespace

void
TrainingReader::SetSequence(training::TrainingOptions* o)
{
    if (!m_model->hasSequence)
    {
        m_v.Settle(when::Sequences(), false);
        o->sequence = 1;
        return;
    }
    m_v.DecideUnlessGiven(&asked::Training::seq, std::min(kLongestDefault, m_model->sequence));
    o->sequence = m_v.values.Get(&asked::Training::seq);
}

/// Options that are values, each by itself.
void
TrainingReader::SetModelOptions(training::TrainingOptions* o)
{
    const Values& values = m_v.values;
    o->sharding = training::ZeroStage(values.Get(&asked::Training::zero));
    m_v.DecideUnlessGiven(&asked::Training::collectiveSms,
                          static_cast<uint32_t>(m_gpu->rates.collectiveSms));
    const training::Dtype dtype = *training::ParseDtype(m_s.dtype);
    // Attention of eager PyTorch is not fused, nor is that with Megatron-LM's own softmax.
    bool fused =
        IsUsuallyFused(*m_model, *m_gpu, dtype) && values.Get(&asked::Training::kernels) == "fused";
    for (const training::GpuKind& kind : o->kinds)
    {
        fused = fused && IsUsuallyFused(*m_model, kind.gpu, dtype);
    }
    m_v.DecideUnlessGiven(&asked::Training::fusedAttention, fused);
    m_v.Fill(o);
    o->dtype = dtype;
    // FSDP is PyTorch's own, and so is its attention. A100's rates were fitted to steps with
    // Triton's.
    m_v.DecideUnlessGiven(&asked::Training::attentionKernel,
                          !o->sharding.parameters          ? "vendor"
                          : IsFittedToTriton(o->gpu.rates) ? "triton"
                                                           : "flash2");
    const auto asAsked = [&values](training::GpuSpec gpu) {
        const auto kernel =
            training::ParseAttentionKernel(values.Get(&asked::Training::attentionKernel));
        gpu = training::WithAttention(std::move(gpu), *kernel);
        gpu.rates.launch += static_cast<double>(values.Get(&asked::Training::launchGap).ps) * 1e-12;
        return gpu;
    };
    o->gpu = asAsked(o->gpu);
    for (training::GpuKind& kind : o->kinds)
    {
        kind.gpu = asAsked(kind.gpu);
    }
    o->ignoreMemory = values.Get(&asked::Training::ignoreMemory);
    SetSequence(o);
    for (const auto& [option, isUsual] :
         {std::pair{Member(&asked::Training::zeroHpzPartitionSize), o->secondary == 1},
          std::pair{Member(&asked::Training::persistenceThreshold),
                    o->persistElements.value_or(0) == 0},
          std::pair{Member(&asked::Training::gradientCompression),
                    values.Get(&asked::Training::gradientCompression) == "none"}})
    {
        if (isUsual)
        {
            m_v.IsUsual(option);
        }
    }
    m_v.Settle(&asked::Training::zero);
    o->profile = std::move(m_profile);
}

/// Samples of backup workers do not count.
void
TrainingReader::SetBatch(uint32_t backupWorkers, training::TrainingOptions* o)
{
    const uint32_t gpus = o->ranks;
    if (IsFine())
    {
        o->ranks -= backupWorkers;
        MakeBatch(&m_v, o);
        *o = training::Partitioned(std::move(*o));
    }
    m_s.microBatch = o->microBatch;
    m_s.accumulation = o->accumulation;
    m_s.globalBatch = static_cast<uint32_t>(o->GlobalBatch());
    o->ranks = gpus;
}

/// With --auto-parallel a pass is of all GPUs together.
void
TrainingReader::SetShardedBatch(training::TrainingOptions* o)
{
    m_batch = MakeShardedBatch(&m_v, o);
    m_s.microBatch = static_cast<uint32_t>(m_batch.samples);
    m_s.accumulation = m_batch.passes;
    m_s.globalBatch = static_cast<uint32_t>(m_batch.samples * m_batch.passes);
}

void
TrainingReader::MakeShardedPlan()
{
    // The search asks for collectives' times, before it is known which ones there are.
    Validation before = m_v;
    TrainingScenario on = m_s;
    on.cluster = m_cluster.spec;
    on.collectives = MakeCollectives(&before,
                                     &on.cluster,
                                     m_s.fabric,
                                     m_nccl,
                                     {{}, false, training::DtypeBytes(m_s.options.dtype)});
    m_s.sharded = MakeSharding(&m_v, m_s.options, m_batch, on, &m_s.plan);
    m_s.explainSharding = m_v.values.Get(&asked::Training::explainSharding);
}

/// The shape of a profile's own run must be that of this job.
void
TrainingReader::CheckProfile(const training::TrainingOptions& o)
{
    TakeFileErrors(
        &m_v,
        training::CheckProfileShape(m_shape, m_v.values.Get(&asked::Training::profile), o));
    const std::string note = training::NoteOfProfileShape(m_shape, o);
    if (!note.empty())
    {
        m_v.notes.push_back("--profile: " + note);
    }
}

/// Where steps do not begin together a few of them tell little.
void
TrainingReader::NoteFewSteps(training::Strategy strategy)
{
    const uint32_t few = 20; // for a run that begins with all GPUs at once: assumed
    const uint32_t steps = m_v.values.Get(&asked::Training::steps);
    const bool ownPace = strategy == training::Strategy::kDownpour;
    if ((ownPace || !HasFlush(m_v)) && steps < few)
    {
        m_v.notes.push_back("--steps=" + std::to_string(steps) +
                            (ownPace ? ": replicas go at their own pace, and a few steps from a "
                                       "common start hardly show a slow one"
                                     : ": steps of different stages overlap, so the time between "
                                       "the ends of a few of them is rough") +
                            "; --steps=" + std::to_string(few) + " or more tell better");
    }
}

/// \param period steps after which chances are the same again
void
TrainingReader::SetJitter(uint32_t period)
{
    m_s.plan.jitter.sigma = m_v.values.Get(&asked::Training::jitter);
    m_s.plan.jitter.seed = DrawSeed(m_v);
    m_s.plan.jitter.period = period;
}

void
TrainingReader::MakeModelPlan(const training::TrainingOptions& o,
                              const training::ServedOptions& served)
{
    const bool isServed = served.strategy != training::Strategy::kSync;
    m_s.options = training::ResolvedOptions(o);
    if (IsSharded(m_v.values))
    {
        MakeShardedPlan();
        if (!IsFine())
        {
            return;
        }
    }
    else if (isServed)
    {
        const auto plan = std::make_shared<training::ServedPlan>(m_s.options, served);
        m_s.plan = plan->TakePlan();
        m_s.served = plan;
    }
    else
    {
        m_s.plan = training::MakePlan(o);
        CheckMemoryRoom(&m_v, m_cluster.spec, m_s.options, m_s.plan);
    }
    SetServiceLevels(&m_v, &m_s.plan);
    NoteIdleOptions(&m_v, m_s.options, m_s.plan, m_nccl, isServed);
    m_used = CollectivesOf(m_s.plan, m_cluster.spec.server.gpus);
    SlowDown(&m_v, &m_s.plan);
    MakeGpuFaults(&m_v, m_cluster.spec, &m_s.plan);
    // The same of each size, or their differences would be those of chance.
    SetJitter(isServed ? UINT32_MAX : m_s.warmupSteps + m_s.steps);
    if (m_s.options.bucketBytes && !isServed)
    {
        m_v.Decide(&asked::Training::buckets, rdma::Bytes(*m_s.options.bucketBytes));
        DecideDataParallel(&m_v, m_s.options);
    }
    if (m_s.options.overlap && (!isServed || served.strategy == training::Strategy::kDownpour))
    {
        m_v.Decide(&asked::Training::overlap, *m_s.options.overlap);
    }
}

void
TrainingReader::TrainModel()
{
    training::TrainingOptions o;
    o.model = *m_model;
    o.gpu = *m_gpu;
    o.ranks = m_cluster.spec.servers * m_cluster.spec.server.gpus;
    o.kinds = m_gpusOfKinds;
    for (std::size_t i = 0; i < o.kinds.size(); ++i)
    {
        o.kinds[i].ranks = m_kinds[i].servers * m_cluster.spec.server.gpus;
    }
    const training::ServedOptions served = MakeStrategy(&m_v, o.ranks, m_cluster.spec.servers);
    SetModelOptions(&o);
    if (IsFine())
    {
        MakeParallel(&m_v, LinksOf(m_cluster.spec, m_s.fabric), &o);
    }
    if (IsFine())
    {
        MakeDataParallel(&m_v, &o, m_cluster.spec.server.gpus);
        MakeOrder(&m_v, &o);
        m_s.study = MakeStudy(&m_v, o);
        if (Study sweep = MakeMemorySweep(&m_v); !sweep.runs.empty())
        {
            m_s.study = std::move(sweep);
        }
        MakeSoftware(&m_v, &o);
        MakeCompute(&m_v, m_cluster.spec.server, &o);
        MakeMemory(&m_v, m_cluster.spec, m_s.fabric, &o);
    }
    CheckGraphModel(&m_v, o.model);
    const bool sharded = IsSharded(m_v.values);
    if (IsFine() && sharded)
    {
        SetShardedBatch(&o);
    }
    else
    {
        SetBatch(served.backupWorkers, &o);
    }
    if (IsFine())
    {
        TakeProblems(&m_v, sharded ? ProblemsOfSharded(o) : training::Check(o));
    }
    if (IsFine() && o.profile)
    {
        CheckProfile(o);
    }
    if (IsFine())
    {
        NoteFewSteps(served.strategy);
        if (m_planned)
        {
            MakeModelPlan(o, served);
        }
        else
        {
            m_s.options = training::ResolvedOptions(o);
        }
    }
    m_s.recipe =
        m_v.values.Given(&asked::Training::recipe) ? m_v.values.Get(&asked::Training::recipe) : "";
    m_s.model = m_model->name;
    m_s.parameters = m_model->parameters;
    m_s.activeParameters = m_model->ActiveParameters();
    m_s.predictors = m_model->predictors;
    m_s.sequence = o.sequence;
    m_s.gpu = training::GpuNames(o);
}

} // namespace scenario
