/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: from values of its options to training steps of a neural network.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/compute-options.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/server-kinds.h"
#include "scenarios/network/validate.h"
#include "scenarios/operator-search/options/pipeline-search.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/options/data-parallel-options.h"
#include "scenarios/training/options/idle-options.h"
#include "scenarios/training/options/jobs.h"
#include "scenarios/training/options/launch-options.h"
#include "scenarios/training/options/micro-batch.h"
#include "scenarios/training/options/parallel-options.h"
#include "scenarios/training/options/pipeline-options.h"
#include "scenarios/training/options/recipes.h"
#include "scenarios/training/options/slow-gpus.h"
#include "scenarios/training/options/strategy-options.h"
#include "scenarios/training/options/trace-options.h"
#include "scenarios/training/options/training-inputs.h"
#include "scenarios/training/options/training-options.h"
#include "scenarios/training/options/used-collectives.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/training/spec/profile-shape.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/workload/registry.h"

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

/// Reads the options one after another: what each decides, those behind it may read.
class TrainingReader
{
  public:
    explicit TrainingReader(const ReadResult& read)
        : m_read(read),
          m_v{TrainingOptionTable(), read.values, {}, {}, read.seat}
    {
    }

    ParseResult<TrainingScenario> Read();
    ParseResult<TrainingScenario> ReadCluster();
    LayoutResult ReadLayout(const TrainingScenario& on);

  private:
    void BeginReading();
    void CheckAlone();
    void DecideZero();
    void ChooseInputs();
    void ChooseKinds();
    void OpenTrace();
    void MakeNetwork();
    void TrainModel();
    void SetSequence(training::TrainingOptions* o);
    void SetModelOptions(training::TrainingOptions* o);
    void SetBatch(uint32_t backupWorkers, training::TrainingOptions* o);
    void SetShardedBatch(training::TrainingOptions* o);
    void MakeShardedPlan();
    void CheckProfile(const training::TrainingOptions& o);
    void NoteFewSteps(training::Strategy strategy);
    void MakeModelPlan(const training::TrainingOptions& o, const training::ServedOptions& served);
    void SetJitter(uint32_t period);
    void PlayTrace();
    void ChooseCollectives();

    bool IsFine() const
    {
        return m_v.errors.empty();
    }

    const ReadResult& m_read;
    Validation m_v;
    TrainingScenario m_s;
    bool m_traced = false;
    bool m_planned = true; ///< a plan is wanted
    training::ProfileShape m_shape;
    std::optional<training::LayerProfile> m_profile;
    std::optional<training::ModelSpec> m_model;
    std::optional<topo::ServerSpec> m_server;
    std::optional<training::GpuSpec> m_gpu;
    std::vector<ServerKind> m_kinds;              ///< of unequal servers
    std::vector<training::GpuKind> m_gpusOfKinds; ///< one for each; without ranks
    std::optional<formats::Trace> m_trace;
    NcclLimits m_nccl;
    Cluster m_cluster;
    std::vector<UsedBy> m_used; ///< the collectives
    ShardedBatch m_batch;       ///< with --auto-parallel
};

void
TrainingReader::CheckAlone()
{
    // In a configuration as run it stands as it is without being given.
    if (m_v.values.Given(&asked::Run::alone) &&
        m_v.values.Where(&asked::Run::alone).rfind("--", 0) == 0)
    {
        m_v.Fail(&asked::Run::alone, m_v.Refusal(when::With("jobs")));
    }
    else if (!m_v.seat)
    {
        m_v.Settle(&asked::Run::jobs);
    }
}

void
TrainingReader::DecideZero()
{
    if (m_traced)
    {
        return;
    }
    // DeepSpeed refuses stages 2 and 3 in a pipeline; Megatron-LM's distributed optimizer is 1.
    const Values& values = m_v.values;
    if (IsSharded(values))
    {
        m_v.Decide(&asked::Training::zero, 0); // a parameter is cut as its operator is
        return;
    }
    const bool whole = training::NeedsWholeTensors(
        *training::ParseOptimizer(values.Get(&asked::Training::optimizer)));
    m_v.DecideTextUnlessGiven(&asked::Training::zero,
                              whole || !HasFlush(m_v) ? "0"
                              : static_cast<uint32_t>(values.Get(&asked::Degrees::pp).number) > 1
                                  ? "1"
                                  : "2");
}

/// Chooses the model, or the trace, and the GPU.
void
TrainingReader::ChooseInputs()
{
    m_profile = ChosenProfile(&m_v, &m_shape);
    m_model = m_traced ? std::nullopt : ChosenModel(&m_v, &m_profile);
    DecideGpus(&m_v);
    if (!m_v.seat)
    {
        DecideServerKinds(&m_v);
    }
    ChooseServerAndGpu(&m_v, &m_server, &m_gpu);
    if (m_gpu && !m_traced)
    {
        ChooseDtype(&m_v, *m_gpu);
    }
    ChooseKinds();
    m_s.dtype = m_v.values.Get(&asked::Model::dtype);
    ApplyServer(&m_v, m_server ? std::optional(ServerOfNics(*m_server, m_kinds)) : std::nullopt);
    if (m_traced && m_server && m_gpu)
    {
        OpenTrace();
    }
}

/// Unequal servers, and their GPUs.
void
TrainingReader::ChooseKinds()
{
    if (!m_server || !m_gpu || !IsFine())
    {
        return;
    }
    m_kinds = ChosenServerKinds(&m_v);
    for (ServerKind& kind : m_kinds)
    {
        const auto gpu =
            m_v.values.Given(&asked::Model::gpu) ? m_gpu : training::FindGpu(kind.server.gpu);
        if (!gpu)
        {
            m_v.Fail(&asked::Cluster::serverKinds,
                     kind.server.name + " has GPUs called " + kind.server.gpu +
                         ", which are not known; give --gpu for all");
            m_kinds.clear();
            m_gpusOfKinds.clear();
            return;
        }
        kind.server.gpu = gpu->name;
        m_gpusOfKinds.push_back({*gpu, 0});
        ChooseDtype(&m_v, *gpu);
    }
}

void
TrainingReader::OpenTrace()
{
    if (IsToLaunch(m_v.values))
    {
        m_s.launch = MakeLaunch(&m_v, *m_gpu, *m_server);
    }
    else
    {
        m_trace = ReadTraceFiles(&m_v, *m_gpu, *m_server, &m_s.capture);
    }
}

void
TrainingReader::MakeNetwork()
{
    m_nccl = ApplyNcclVariables(&m_v);
    m_s.fabric = MakeFabric(&m_v);
    if (!m_s.launch || m_v.values.Given(&asked::Cluster::gpus) ||
        m_v.values.Given(&asked::Cluster::servers))
    {
        m_cluster = MakeCluster(&m_v, TrainingClusterDefaults(), m_server, &m_s.fabric);
        if (m_cluster.valid && !m_kinds.empty())
        {
            SetServerKinds(&m_v, m_kinds, m_s.fabric, m_cluster.fromFile, &m_cluster.spec);
        }
    }
    if (m_s.launch && m_cluster.valid)
    {
        m_s.launch->servers = m_cluster.spec.servers;
        m_s.launch->gpusPerServer = m_cluster.spec.server.gpus;
    }
}

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
    // FSDP is PyTorch's own, and so is its attention.
    m_v.DecideUnlessGiven(&asked::Training::attentionKernel,
                          o->sharding.parameters ? "flash2" : "vendor");
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
    }
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
        MakeCompute(&m_v, m_cluster.spec.server, &o);
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
    m_s.model = m_model->name;
    m_s.parameters = m_model->parameters;
    m_s.activeParameters = m_model->ActiveParameters();
    m_s.predictors = m_model->predictors;
    m_s.sequence = o.sequence;
    m_s.gpu = training::GpuNames(o);
}

void
TrainingReader::PlayTrace()
{
    if (m_trace && m_cluster.valid && IsFine())
    {
        MakeTraced(&m_v, *m_trace, *m_gpu, m_cluster.spec, &m_s);
    }
    if (m_s.trace)
    {
        m_used = CollectivesOf(m_s.plan, m_cluster.spec.server.gpus, true);
        SlowDown(&m_v, &m_s.plan);
        SetJitter(m_s.warmupSteps + m_s.steps);
    }
}

void
TrainingReader::ChooseCollectives()
{
    m_s.collectives =
        MakeCollectives(&m_v,
                        m_cluster.valid ? &m_cluster.spec : nullptr,
                        m_s.fabric,
                        m_nccl,
                        {m_used,
                         m_s.workload != workload::kDefaultWorkload,
                         m_model && IsFine() ? training::DtypeBytes(m_s.options.dtype) : 1});
    if (m_s.collectives.measured && m_cluster.valid && IsFine())
    {
        m_s.collectives.measured->Plan(m_s.collectives,
                                       m_cluster.spec,
                                       CollectivesOf(m_s.plan, m_cluster.spec.server.gpus, true));
    }
}

void
TrainingReader::BeginReading()
{
    const Values& values = m_v.values;
    CheckAlone();
    m_v.Settle(&asked::Training::autoParallel);
    CheckPipelineSearch(&m_v);
    CheckLaunch(&m_v);
    m_v.Fill(&m_s);
    m_s.workload = values.Given(&asked::Training::workload) ? values.Get(&asked::Training::workload)
                                                            : workload::kDefaultWorkload;
    m_traced = HasTrace(&m_v);
    ApplyRecipe(&m_v);
    DecideStages(&m_v);
    DecideZero();
    ChooseInputs();
}

ParseResult<TrainingScenario>
TrainingReader::ReadCluster()
{
    BeginReading();
    MakeNetwork();
    ChooseCollectives();
    if (m_model && m_gpu)
    {
        m_s.model = m_model->name;
        m_s.options.model = *m_model;
        m_s.options.gpu = *m_gpu;
        m_s.options.kinds = m_gpusOfKinds;
        m_s.gpu = training::GpuNames(m_s.options);
        SetSequence(&m_s.options);
    }
    return FinishedOn(std::move(m_cluster), m_read, std::move(m_v), std::move(m_s));
}

LayoutResult
TrainingReader::ReadLayout(const TrainingScenario& on)
{
    m_planned = false;
    BeginReading();
    m_cluster.spec.servers = on.cluster.servers;
    m_cluster.spec.server = on.cluster.server;
    m_cluster.spec.kinds = on.cluster.kinds;
    m_s.fabric = on.fabric;
    LayoutResult result;
    if (IsFine() && m_model && m_gpu)
    {
        const uint64_t memory = std::exchange(m_gpu->memoryBytes, UINT64_MAX / 4);
        std::vector<uint64_t> memories;
        for (training::GpuKind& kind : m_gpusOfKinds)
        {
            memories.push_back(std::exchange(kind.gpu.memoryBytes, UINT64_MAX / 4));
        }
        TrainModel();
        m_s.options.gpu.memoryBytes = memory;
        for (std::size_t i = 0; i < m_s.options.kinds.size(); ++i)
        {
            m_s.options.kinds[i].gpu.memoryBytes = memories[i];
        }
    }
    result.errors = std::move(m_v.errors);
    if (result.errors.empty())
    {
        result.options = std::move(m_s.options);
    }
    return result;
}

ParseResult<TrainingScenario>
TrainingReader::Read()
{
    const Values& values = m_v.values;
    BeginReading();
    MakeNetwork();
    if (m_model && m_gpu && m_cluster.valid && IsFine())
    {
        TrainModel();
    }
    PlayTrace();
    ChooseCollectives();
    if (m_s.HasSteps())
    {
        CheckExports(&m_v, &m_s, m_cluster.spec);
    }
    else
    {
        m_s.model = NameOfTrace(values);
    }
    const std::shared_ptr<const RecoverySpec> recovery =
        m_cluster.valid && IsFine() ? MakeRecovery(&m_v, m_cluster.spec, m_s) : nullptr;
    ParseResult<TrainingScenario> result =
        FinishedOn(std::move(m_cluster), m_read, std::move(m_v), std::move(m_s));
    if (result.scenario)
    {
        result.scenario->run.recovery = recovery;
    }
    return result;
}

} // namespace

ParseResult<TrainingScenario>
ValidateTraining(const ReadResult& read)
{
    if (!read.seat && read.values.Given(&asked::Run::jobs))
    {
        return ValidateJobs(read);
    }
    return TrainingReader(read).Read();
}

ParseResult<TrainingScenario>
ValidateCluster(const ReadResult& read)
{
    return TrainingReader(read).ReadCluster();
}

LayoutResult
ValidateLayout(const ReadResult& read, const TrainingScenario& on)
{
    return TrainingReader(read).ReadLayout(on);
}

} // namespace scenario
