/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECOVERY_RUN_H
#define DLTRAIN_RECOVERY_RUN_H

#include "checkpoint-traffic.h"
#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/runners/training-job.h"
#include "reports/stats/recovery-record.h"
#include "scenarios/network/recovery-options.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * The reaction of a job to failures, and the cost of its checkpoints:
 *
 *     a queue pair fails, a collective does not end,    known      all ranks end where they are
 *     the launcher misses a process            ------>  + abort
 *                                                       + restart  on other servers, or fewer ranks
 *                                                       + read     the last checkpoint
 *                                                       resumed    TrainingJob::Resume
 *
 * With kRebuild ranks compute on, and nothing is read:
 *
 *                                                       known      TrainingJob::Suspend
 *                                                       + abort
 *                                                       + restart  of NCCL
 *                                                       resumed    TrainingJob::Rebuild
 *
 * If the state of a failed rank is lost, the job restarts instead. A failure that becomes known
 * meanwhile begins this anew. Failed are, at that time, every server with a cut NIC cable
 * (kRebuild: with all NIC cables cut), and every stopped GPU. Lost steps are simulated again.
 *
 * A checkpoint that is written during the next steps (RecoverySpec::writesBehind) counts once it is
 * written; until then the one before is the last:
 *
 *     step | wait for the one before | copy |  step  |  step  |
 *                                           |  written  |
 *
 * Each picosecond from the beginning to the end is useful, writing, lost or recovering. In a step
 * whose communication began anew, two spans are not useful. Lost is the time from the first rank's
 * entry into the interrupted communication until the failure was known. Recovering is the time from
 * then until it began anew. The rest of the step is useful.
 *
 * One process. Events have no context, except OnMessageFails.
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

    /// Whether the ranks wait for a time that a checkpoint takes, so that nothing else is to be
    /// seen.
    bool IsWriting() const
    {
        const bool copies = m_spec.writesBehind && !m_copied;
        return m_goOn && (copies || !m_traffic);
    }

    /// The run is over, at this time.
    void End(int64_t now);

    /// \return lines on a checkpoint that stands still; empty: none does
    std::vector<std::string> DescribeUnfinished() const
    {
        return m_traffic ? m_traffic->DescribeUnfinished() : std::vector<std::string>();
    }

    const reports::RecoveryResults& GetResults() const
    {
        return m_results;
    }

    /// \param fault fault of a GPU that begins now: its index in FaultPlan::faults
    /// \return why it has no target, in words; empty: it has one
    std::string WhyMissed(std::size_t fault) const;

    // TrainingJobWatcher
    void OnMessageFails(const std::string& what) override;
    void OnStepEnd(uint32_t step, int64_t begin, int64_t end) override;
    void OnCheckpointBegin(std::function<void()> goOn) override;
    void OnCheckpointEnd() override;

  private:
    void At(int64_t time, std::function<void()> what);
    /// The watchdog looks, and says when it does again.
    void Watch();
    /// \param generation when it failed: m_generation
    void OnFailed(uint32_t generation, const std::string& what);
    void OnProcessGone();
    void Know(const std::string& by, const std::string& what);

    /// The failures up to now.
    struct Failed
    {
        std::set<coll::Rank> stopped; ///< ranks whose GPU stands still
        std::set<coll::Rank> ranks;   ///< these ranks, and those of servers that are cut off
        std::set<uint32_t> servers;   ///< servers of these ranks
        std::set<uint32_t> cutOff;    ///< servers among them that are cut off
        std::set<uint32_t> lame;      ///< servers that are not cut off, and have lost NICs
    };

    Failed FindFailed() const;
    /// \return why collectives cannot be repeated without them, or nothing
    std::string WhyNotRebuilt(const Failed& failed) const;
    /// \return why the algorithms that were asked for cannot do without more ranks, or nothing
    std::string WhyNoCollectives(const std::set<coll::Rank>& without) const;
    /// The NICs of the job's servers to be used from now on. \return empty: all
    Places::NicsInUse FindNics() const;
    /// \return why rings over the NICs that are left do not reach from server to server, or nothing
    std::string WhyNoRails() const;
    /// Counts the time since the last accounting as recovering.
    void Settle(int64_t now);
    /// Counts the time since then as lost, and ends the ranks. \return ps
    int64_t Lose(int64_t now, bool restarts);
    void Rebuild();
    /// Finds when the failure that is known now began: the earliest fault that explains it.
    /// \param late a collective took too long
    /// \return ps; -1: no fault explains it
    int64_t FindBegin(const Failed& failed, bool late);
    /// \return whether it makes messages of the job fail that go over hosts in use or switches, now
    /// or until a queue pair's patience ago
    bool StillFailsMessages(const scenario::Fault& fault) const;
    /// Whoever has failed is replaced. \return why that cannot be, or nothing
    std::string Replace(const std::set<uint32_t>& servers, reports::RecoveryRecord* record);
    /// Their replicas leave. \return the same
    std::string Leave(const std::set<coll::Rank>& ranks, reports::RecoveryRecord* record);
    /// All but reading what a checkpoint has is over.
    void Read(uint32_t generation);
    void Resume(uint32_t generation);
    /// The ranks go on, or begin again. \return why they cannot, or nothing
    std::string GoOn(reports::RecoveryRecord& last);
    /// Schedules a step of a checkpoint, one after the other; unless the checkpoint is given up.
    void After(const rdma::Duration& time, std::function<void()> what);
    /// Begins to write the states of the ranks. \param then called when they are written
    void Write(std::function<void()> then);
    /// Writes, from its beginning, the copy or the checkpoint that ranks wait for, if there is one.
    void WriteAll();
    /// The ranks that wait for a checkpoint go on.
    void GoOn();
    /// Ranks have waited for a checkpoint until now.
    void NoteHeld(int64_t now);
    /// The ranks' states are copied, to be written from there.
    void Copy();
    /// The last copy is written.
    void OnWrittenBehind();
    struct Copied;
    /// A checkpoint exists. \param copied its content
    void TakeForWritten(const Copied& copied);
    /// Ends reads and writes over the network where they are.
    void EndTraffic(int64_t now);
    /// The NICs that ranks use now.
    Places::NicsInUse NicsNow() const;
    void GiveUp(const std::string& why);

    /// Ranks of the job whose GPU stands still, and that stood still so much sooner, ps.
    std::set<coll::Rank> StoppedRanks(int64_t sooner) const;
    /// \return whether a fault in effect now cuts a cable of a host
    bool CutsOff(const scenario::Fault& fault, uint32_t host) const;
    /// \return the ports of a host whose cables are cut now
    std::vector<uint32_t> CutPorts(uint32_t host) const;
    /// A NIC is lost with any of its cables.
    bool HasLostNic(uint32_t host) const;
    /// \return of a host, ascending
    std::vector<uint32_t> LostNics(uint32_t host) const;
    /// Whether a host is cut off, by policy: at one NIC, or at all of them.
    bool IsCutOff(uint32_t host) const;
    /// \return whether a GPU of a spare stands still
    bool HasStopped(uint32_t spare) const;
    /// \return "server-3:1", as --pcap names ports: what servers that are not cut off go on without
    std::vector<std::string> LostPorts() const;
    /// \return whether a fault in effect now has stopped one of these GPUs
    bool Stops(std::size_t fault, const std::set<coll::Rank>& stopped) const;
    /// \return whether it slows collectives down, and has done so for the watchdog's time
    bool SlowsDown(std::size_t fault) const;
    /// \return whether a rank of the job is at a server
    bool IsInUse(uint32_t server) const;
    std::string NameOf(uint32_t host) const;
    void Log(const std::string& text);

    const scenario::TrainingScenario& m_scenario;
    const scenario::RecoverySpec& m_spec;
    FabricRun& m_run;
    TrainingJob& m_job;
    reports::RecoveryResults m_results;
    JobStart m_start;
    std::vector<uint32_t> m_hosts;  //!< current hosts of servers
    std::vector<uint32_t> m_spares; //!< spares that are left
    std::set<std::size_t> m_seen;   //!< faults that a failure was put down to
    uint32_t m_generation = 0;      //!< counts failures
    uint32_t m_recoveries = 0;
    bool m_recovering = false;
    bool m_over = false;
    std::vector<coll::Rank> m_leaving; //!< when the job is rebuilt
    bool m_suspended = false;          //!< ranks go on computing, and are to be rebuilt
    int64_t m_since = 0;               //!< ps: what was done since then would be lost (restart)
    int64_t m_stepEnd = 0; //!< end of the last step of this attempt, or of its checkpoint; ps
    int64_t m_settled = 0; //!< ps: until then it is put down what was recovering
    int64_t m_rebuilt = 0; //!< ps: communication began anew
    // Put down as lost or recovering already, ps:
    int64_t m_takenSince = 0;                     //!< since m_since
    int64_t m_takenOfStep = 0;                    //!< since m_stepEnd
    std::unique_ptr<CheckpointTraffic> m_traffic; //!< null: checkpoints take a time

    /// The states of all ranks, and what was put down until they were copied.
    struct Copied
    {
        uint32_t steps;
        int64_t at;     //!< ps
        int64_t useful; //!< ps, as m_useful
        int64_t taken;  //!< ps, as m_takenSince
    };

    std::optional<Copied> m_copied; //!< the copy that is written during the steps
    std::function<void()> m_goOn;   //!< continuation of ranks that wait for a checkpoint
    int64_t m_heldSince = 0;        //!< ps: they do
    int64_t m_writingSince = 0;     //!< ps
    uint64_t m_phase = 0;           //!< counts what takes a time of checkpoints
    int64_t m_readingSince = -1;    //!< ps; -1: nothing is read
    uint32_t m_ended = 0;           //!< steps
    uint32_t m_checkpoint = 0;      //!< steps that the last checkpoint has
    int64_t m_useful = 0;           //!< ps of steps since m_since
};

} // namespace dltrain

#endif // DLTRAIN_RECOVERY_RUN_H
