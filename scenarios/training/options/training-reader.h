/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From values of options to training steps: training-scenario.cc has the order, training-model.cc
 * the step of a model.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_TRAINING_READER_H
#define SCENARIOS_TRAINING_OPTIONS_TRAINING_READER_H

#include "scenarios/asked/cluster.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/validate.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/training/spec/profile-shape.h"

#include <optional>
#include <vector>

namespace scenario
{

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

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_TRAINING_READER_H
