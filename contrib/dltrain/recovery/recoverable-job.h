/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECOVERABLE_JOB_H
#define DLTRAIN_RECOVERABLE_JOB_H

#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/runners/training-job.h"
#include "recovery-run.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace dltrain
{

/// The one job of a run and, where the scenario asks for one, its recovery: what programs have in
/// common that simulate a job.
class RecoverableJob
{
  public:
    /// \param scenario kept by reference, as the run
    RecoverableJob(const scenario::TrainingScenario& scenario, FabricRun& run);

    /// \param setting its tags, decisions, phases, measured steps and listener for recovery are
    /// filled in here
    /// \return why not, or nothing
    std::string Populate(TrainingJob::Setting setting);

    TrainingJob& Get()
    {
        return m_job;
    }

    const TrainingJob& Get() const
    {
        return m_job;
    }

    // FabricSimulation
    bool GoesOnByItself() const;
    std::string DescribeUnfinished() const;
    void OnEnd(int64_t now);
    /// "recovery" and "cut_off", where they are.
    void AddTo(nlohmann::ordered_json* stats) const;
    void PrintRecovery(std::ostream& os) const;

  private:
    bool IsRecovering() const
    {
        return m_recovery && m_recovery->IsRecovering();
    }

    const scenario::TrainingScenario& m_scenario;
    FabricRun& m_run;
    TrainingJob m_job;
    std::unique_ptr<RecoveryRun> m_recovery; ///< null: not asked for
};

} // namespace dltrain

#endif // DLTRAIN_RECOVERABLE_JOB_H
