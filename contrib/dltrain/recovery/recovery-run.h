/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECOVERY_RUN_H
#define DLTRAIN_RECOVERY_RUN_H

#include "checkpoint-traffic.h"
#include "contrib/dltrain/run/fabric-run.h"
#include "contrib/dltrain/run/training-job.h"
#include "results/recovery-record.h"
#include "scenarios/options/cluster/recovery-options.h"

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
 * What a job does about failures, and what its checkpoints cost:
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
 * but where the state of who failed is lost: that is a restart. A failure that becomes known
 * meanwhile begins this anew. Who has failed is what faults say at that time: servers of which a
 * NIC's cable is cut (kRebuild: those of all NICs are), GPUs that stand still. Steps that were lost
 * are simulated again.
 *
 * A checkpoint that is written behind the next steps (RecoverySpec::writesBehind) is one when it is
 * written; until then the one before is the last:
 *
 *     step | wait for the one before | copy |  step  |  step  |
 *                                           |  written  |
 *
 * Each picosecond from the beginning to the end is useful, writing, lost or recovering. Of a step
 * in which communication began anew, lost is what passed from when the first rank was in what was
 * under way until the failure was known, recovering what passed from then until it began anew; the
 * rest of the step is useful.
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

    const results::RecoveryResults& GetResults() const
    {
        return m_results;
    }

    /// \param fault of a GPU that begins now: its place in FaultPlan::faults \return why it hits
    /// nobody, in words; empty: it does
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

    /// What has failed by now.
    struct Failed
    {
        std::set<coll::Rank> stopped; ///< whose GPU stands still
        std::set<coll::Rank> ranks;   ///< these, and those of servers that are cut off
        std::set<uint32_t> servers;   ///< of these ranks
        std::set<uint32_t> cutOff;    ///< those of them that are cut off
        std::set<uint32_t> lame;      ///< servers that are not cut off, and have lost NICs
    };

    Failed FindFailed() const;
    /// \return why collectives cannot be repeated without them, or nothing
    std::string WhyNotRebuilt(const Failed& failed) const;
    /// \return why the algorithms that were asked for cannot do without more ranks, or nothing
    std::string WhyNoCollectives(const std::set<coll::Rank>& without) const;
    /// Of the job's servers, what is to be used from now on. \return empty: all
    Places::NicsInUse FindNics() const;
    /// \return why rings over the NICs that are left do not reach from server to server, or nothing
    std::string WhyNoRails() const;
    /// What passed since all was put down last is recovering.
    void Settle(int64_t now);
    /// What was done since then is lost, and the ranks end. \return ps
    int64_t Lose(int64_t now, bool restarts);
    void Rebuild();
    /// \param late a collective took too long \return when what is known now began: the earliest
    /// fault that explains it, ps; -1: none does
    int64_t FindBegin(const Failed& failed, bool late);
    /// \return whether it makes messages of the job fail that go over hosts in use or switches, now
    /// or until a queue pair's patience ago
    bool StillFailsMessages(const scenario::Fault& fault) const;
    /// Whoever has failed is replaced. \return why that cannot be, or nothing
    std::string Replace(const std::set<uint32_t>& servers, results::RecoveryRecord* record);
    /// Their replicas leave. \return the same
    std::string Leave(const std::set<coll::Rank>& ranks, results::RecoveryRecord* record);
    /// All but reading what a checkpoint has is over.
    void Read(uint32_t generation);
    void Resume(uint32_t generation);
    /// The ranks go on, or begin again. \return why they cannot, or nothing
    std::string GoOn(results::RecoveryRecord& last);
    /// Of a checkpoint, one after the other; unless it is given up.
    void After(const rdma::Duration& time, std::function<void()> what);
    /// The states of the ranks begin to be written. \param then when they are
    void Write(std::function<void()> then);
    /// What is to be written is, from its beginning.
    void WriteAll();
    /// The ranks that wait for a checkpoint do.
    void GoOn();
    /// Ranks have waited for a checkpoint until now.
    void NoteHeld(int64_t now);
    /// The ranks' states are copied, to be written from there.
    void Copy();
    /// What was copied last is written.
    void OnWrittenBehind();
    struct Copied;
    /// There is a checkpoint. \param copied what it has
    void TakeForWritten(const Copied& copied);
    /// What is read or written over the network ends where it is.
    void EndTraffic(int64_t now);
    /// Where ranks are, and with what.
    Places::NicsInUse NicsNow() const;
    void GiveUp(const std::string& why);

    /// Ranks of the job whose GPU stands still, and that stood still so much sooner, ps.
    std::set<coll::Rank> StoppedRanks(int64_t sooner) const;
    /// \return whether a fault that is there now cuts a cable of a host
    bool CutsOff(const scenario::Fault& fault, uint32_t host) const;
    /// \return those of a host whose cables are cut now
    std::vector<uint32_t> CutPorts(uint32_t host) const;
    /// A NIC is lost with any of its cables.
    bool HasLostNic(uint32_t host) const;
    /// \return of a host, ascending
    std::vector<uint32_t> LostNics(uint32_t host) const;
    /// By policy: by one NIC, or by all of them.
    bool IsCutOff(uint32_t host) const;
    /// \return whether a GPU of a spare stands still
    bool HasStopped(uint32_t spare) const;
    /// \return "server-3:1", as --pcap names ports: what servers that are not cut off go on without
    std::vector<std::string> LostPorts() const;
    /// \return whether a fault of a GPU is there now, at one that stands still
    bool Stops(std::size_t fault, const std::set<coll::Rank>& stopped) const;
    /// \return whether it makes collectives take longer, as it has done since the watchdog's time
    bool SlowsDown(std::size_t fault) const;
    /// \return whether a rank of the job is at a server
    bool IsInUse(uint32_t server) const;
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
    std::vector<coll::Rank> m_leaving; //!< when the job is rebuilt
    bool m_suspended = false;          //!< ranks compute on, and are to be rebuilt
    int64_t m_since = 0;               //!< ps: what was done since then would be lost (restart)
    int64_t m_stepEnd = 0;             //!< of the last step of this attempt, or its checkpoint; ps
    int64_t m_settled = 0;             //!< ps: until then it is put down what was recovering
    int64_t m_rebuilt = 0;             //!< ps: communication began anew
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

    std::optional<Copied> m_copied; //!< what is written behind the steps
    std::function<void()> m_goOn;   //!< of ranks that wait for a checkpoint
    int64_t m_heldSince = 0;        //!< ps: they do
    int64_t m_writingSince = 0;     //!< ps
    uint64_t m_phase = 0;           //!< counts what takes a time of checkpoints
    int64_t m_readingSince = -1;    //!< ps; -1: nothing is read
    uint32_t m_ended = 0;           //!< steps
    uint32_t m_checkpoint = 0;      //!< steps that the last checkpoint has
    int64_t m_useful = 0;           //!< of steps since m_since
};

} // namespace dltrain

#endif // DLTRAIN_RECOVERY_RUN_H
