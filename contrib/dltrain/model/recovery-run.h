/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECOVERY_RUN_H
#define DLTRAIN_RECOVERY_RUN_H

#include "fabric-run.h"
#include "results/recovery-record.h"
#include "scenarios/spec/recovery-options.h"
#include "training-job.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * What a job does about failures, and what its checkpoints cost:
 *
 *     a queue pair fails, a collective does not end,    known      all ranks end where they are
 *     the launcher misses a process            ------>  + abort
 *                                                       + restart  on other servers, or fewer ranks
 *                                                       + read     the last checkpoint
 *                                                       resumed    TrainingJob::Resume
 *
 * A failure that becomes known meanwhile begins this anew. Who has failed is what faults say at
 * that time: servers of which a NIC's cable is cut, GPUs that stand still. Steps that were lost are
 * simulated again.
 *
 * One process. All by events without context, but for OnMessageFails.
 */
class RecoveryRun : public TrainingJobWatcher
{
  public:
    /// \param scenario with a RecoverySpec; all are kept by reference
    RecoveryRun(const scenario::TrainingScenario& scenario, FabricRun& run, TrainingJob& job);

    /// Before the first event.
    void Start();

    /// Whether something is to come of itself.
    bool IsRecovering() const
    {
        return m_recovering;
    }

    /// The run is over, at this time.
    void End(int64_t now);

    const results::RecoveryResults& GetResults() const
    {
        return m_results;
    }

    // TrainingJobWatcher
    void OnMessageFails(const std::string& what) override;
    void OnStepEnd(uint32_t step, int64_t begin, int64_t end) override;
    int64_t OnCheckpointBegin() override;
    void OnCheckpointEnd() override;

  private:
    void At(int64_t time, std::function<void()> what);
    /// The watchdog looks, and says when it does again.
    void Watch();
    /// \param generation when it failed: m_generation
    void OnFailed(uint32_t generation, const std::string& what);
    void OnProcessGone();
    void Know(const std::string& by, const std::string& what);
    /// \return when what is known now began: the earliest fault that explains it, ps; -1: none does
    int64_t FindFailed(const std::set<coll::Rank>& stopped, const std::set<uint32_t>& servers);
    /// Whoever has failed is replaced. \return why that cannot be, or nothing
    std::string Replace(const std::set<uint32_t>& servers, results::RecoveryRecord* record);
    /// Their replicas leave. \return the same
    std::string Leave(const std::set<coll::Rank>& ranks, results::RecoveryRecord* record);
    void Resume(uint32_t generation);
    void GiveUp(const std::string& why);

    /// Ranks of the job whose GPU stands still, and that stood still so much sooner, ps.
    std::set<coll::Rank> StoppedRanks(int64_t sooner) const;
    /// \return whether a fault that is there now cuts a cable of a host
    bool CutsOff(const scenario::Fault& fault, uint32_t host) const;
    bool IsCutOff(uint32_t host) const;
    std::string NameOf(uint32_t host) const;
    void Log(const std::string& text);

    const scenario::TrainingScenario& m_scenario;
    const scenario::RecoverySpec& m_spec;
    FabricRun& m_run;
    TrainingJob& m_job;
    results::RecoveryResults m_results;
    JobStart m_start;
    std::vector<uint32_t> m_hosts;  //!< of servers, as they are now
    std::vector<uint32_t> m_spares; //!< that are left
    std::set<std::size_t> m_seen;   //!< faults that a failure was put down to
    uint32_t m_generation = 0;      //!< counts failures
    uint32_t m_recoveries = 0;
    bool m_recovering = false;
    bool m_over = false;
    int64_t m_since = 0;       //!< ps: what was done since then would be lost (restart)
    int64_t m_stepEnd = 0;     //!< of the last step of this attempt, or its checkpoint; ps
    int64_t m_known = 0;       //!< when what is being recovered from was known
    uint32_t m_ended = 0;      //!< steps
    uint32_t m_checkpoint = 0; //!< steps that the last checkpoint has
    int64_t m_useful = 0;      //!< of steps since m_since
};

} // namespace dltrain

#endif // DLTRAIN_RECOVERY_RUN_H
