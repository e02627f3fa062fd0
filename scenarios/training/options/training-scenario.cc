/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: from values of its options to training steps of a neural network.
 */
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/collective/collective-checks.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/memory/memory-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/server-kinds.h"
#include "scenarios/network/validate.h"
#include "scenarios/operator-search/options/pipeline-search.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/options/jobs.h"
#include "scenarios/training/options/launch-options.h"
#include "scenarios/training/options/order-options.h"
#include "scenarios/training/options/parallel-options.h"
#include "scenarios/training/options/pipeline-options.h"
#include "scenarios/training/options/recipes.h"
#include "scenarios/training/options/slow-gpus.h"
#include "scenarios/training/options/trace-options.h"
#include "scenarios/training/options/training-inputs.h"
#include "scenarios/training/options/training-options.h"
#include "scenarios/training/options/training-reader.h"
#include "scenarios/training/options/used-collectives.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/workload/registry.h"

#include <utility>

namespace scenario
{

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
                              whole || !HasFlush(m_v) || OverlapsNextForward(values) ? "0"
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
        if (m_cluster.valid)
        {
            TakeMemoryHosts(&m_v, &m_cluster.spec);
        }
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
TrainingReader::PlayTrace()
{
    if (m_trace && m_cluster.valid && IsFine())
    {
        MakeTraced(&m_v, *m_trace, *m_gpu, m_cluster.spec, &m_s);
    }
    if (m_s.trace)
    {
        TakeRemoteMemory(&m_v, &m_s.plan);
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
    if (m_used.empty() && m_model && m_cluster.valid && IsFine() &&
        m_s.workload == workload::kDefaultWorkload)
    {
        NoteIdleKnobs(&m_v);
    }
    const std::string on = values.Where(&asked::Run::on);
    const uint32_t verified =
        values.Has(&asked::Training::shardVerify) ? values.Get(&asked::Training::shardVerify) : 0;
    if (values.Given(&asked::Run::on) && on.rfind("--", 0) == 0 && m_s.study.runs.empty() &&
        verified == 0)
    {
        m_v.notes.push_back(on + " has no effect: this run starts no others");
    }
    m_v.Settle(&asked::Run::on);
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
