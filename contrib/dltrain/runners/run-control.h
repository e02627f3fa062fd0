/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_CONTROL_H
#define RUN_CONTROL_H

#include "contrib/dltrain/observers/link-sampler.h"
#include "reports/base/run-outcome.h"
#include "scenarios/job/scenario.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dltrain
{

class TraceCollector;

/**
 * Runs the event loop such that it is never silent: a progress line, Ctrl-C, a watchdog.
 *
 *     RunControl control(scenario.run);  // before set-up, so that wall time and Ctrl-C include it
 *     control.Watch(collector);
 *     control.SetProgress([&] { return bytesDone / bytesTotal; });
 *     RunOutcome outcome = control.Run([&] { return everythingDone; });
 *
 * Ctrl-C (or SIGTERM, or SIGHUP unless it was ignored, as nohup does) stops the simulator between
 * two events, and Run returns. After one during the set-up Run does not begin. A second one is only
 * answered: results are being written. (While the network is set up there are none, and it ends the
 * process.) If the simulation cannot go on
 * because memory has run out, an exception came up or ns-3 refuses, Run returns too, or what
 * SetFinish has given completes the results, with status 1.
 *
 * A thread prints progress to standard error: one line that is written over on a terminal, else a
 * line about every ten seconds. It reads only atomics, which the simulation sets whenever the link
 * sampler looks.
 *
 * With several Ranks, Run is collective. Only the first one prints progress. A rank that fails or
 * gets a signal tells the others through their gateways, so that all stop with one outcome. mpirun
 * turns Ctrl-C into SIGTERM, and kills remaining processes a second later.
 *
 * The watchdog ends a run when the events run out with work left, and when no data frame has been
 * sent for a second of simulated time although messages are in flight and other frames go on (a PFC
 * deadlock). Both are decided in simulated time, so they are reproducible. (With several ranks,
 * each watches the messages it posted and its own ports.)
 */
class RunControl
{
  public:
    explicit RunControl(const scenario::RunOptions& run);
    ~RunControl();

    RunControl(const RunControl&) = delete;
    RunControl& operator=(const RunControl&) = delete;

    /// The fabric this run is about. \param collector outlives the next Run
    void Watch(TraceCollector& collector);

    /// Nothing may move for so much longer before it is called stuck: what holds it up has an end.
    /// Before Watch. \param ps
    void Endure(int64_t ps)
    {
        m_endures = ps;
    }

    /// \param share of the work that is done, 0 to 1; asked a few times a second of wall time, in
    /// the simulation's thread, and at the end
    void SetProgress(std::function<double()> share);

    /// Where other traffic moves whether or not the job does.
    struct JobSight
    {
        uint64_t moved{0};  //!< another number whenever its queue pairs have sent or received
        bool waits{false};  //!< waits for one of its posts: at least for a time-out
        bool held{false};   //!< its data are in a queue, or may not leave a NIC
        bool failed{false}; //!< one of its queue pairs has given up
        bool goesOn{false}; //!< it has events of its own to come
    };

    /// Sets a source of progress other than data frames. After Watch.
    void SetJobSight(std::function<JobSight()> sight);
    /// With several Ranks: this rank's part of the share of work. For the progress line.
    void SetPortion(double portion);
    /// With several Ranks: called on each at the end of every event loop, before any other
    /// question, to sum up their counts.
    void SetMerge(std::function<void()> merge);
    /// What is done with the outcome after the last Run, up to the exit status: for the case that
    /// ns-3 ends the program in the middle of it.
    void SetFinish(std::function<int(const reports::RunOutcome&)> finish);
    /// A word before the numbers: "warm-up step 1 of 1". In the simulation's thread.
    void SetPhase(const std::string& phase);

    /**
     * Simulator::Run until it ends by itself, by End, by a signal or by the watchdog. May be called
     * again for the next part of a run. \param finished called afterwards: is all the work done?
     * \param unfinished text if not, before the fabric's own; may be empty
     */
    reports::RunOutcome Run(const std::function<bool()>& finished,
                            const std::function<std::string()>& unfinished = nullptr);

    /// The work is done: no further event. From the simulation.
    void End();
    /**
     * With several Ranks: the work of this one is done, now. The run ends on no rank before all
     * have reported this. It ends on all at once, this long after the last report, if all ranks
     * have it by then; else when no event is left.
     */
    void EndWithOthers(int64_t delayPs);
    /// With node windows and several Ranks: one of them has sent a word. \return whether it was for
    /// this object
    bool OnWord(const std::string& word);
    /// End the run at a simulated time, done or not. Before it.
    void EndAt(int64_t ps);
    /// End the run now: it cannot go on. From the simulation. \param why one line or several
    void Fail(const std::string& why);

    /// Simulated time without a data frame that counts as stuck, at least. On slow or long links it
    /// is the time of sixteen frames on the longest one, one after the other, each with its delay.
    /// So a frame in flight, or the acknowledgements of the last one, are not taken for a deadlock.
    /// (A busy transmitter would not tell: in a deadlock transmitters still send pauses.)
    static constexpr int64_t STUCK_PS = 1000000000000;
    static int64_t StuckPs(const ns3::RdmaFabric& fabric);

  private:
    void OnSight(const LinkSampler::Sight& sight);
    /// Where a background moves: does the job?
    void LookAtJob(int64_t now);
    void FailAsStuck();
    /// The simulation cannot go on. \param why what the outcome says
    reports::RunOutcome Broken(const std::string& why);
    /// Another rank has done its work, or stops. \param note the time; or its failure; nothing if
    /// it got a signal
    void OnNote(const std::string& note);
    /// A rank has done its work. \param at when, ps
    void OnRankDone(int64_t at);
    void TellOtherRanks(const std::string& note);
    /// Collective. \return the signal that a rank has got, for all of them; 0: none
    int SignalOfRanks();
    /// After the event loop: all ranks know the same.
    void MergeRanks();
    void ThreadMain();
    void PrintProgress();
    /// What the next progress line adds where senders did nothing but time out since the last one.
    std::string OnlyTimeouts();

    bool m_progress;
    bool m_watched; //!< for signals, by the simulation: no other thread may stop it
    std::chrono::steady_clock::time_point m_start;
    double m_eventLoopS{0};
    TraceCollector* m_collector{nullptr};
    std::function<double()> m_share;
    std::chrono::steady_clock::time_point m_shareAsked;
    double m_portion{1};
    std::function<void()> m_merge;
    std::function<int(const reports::RunOutcome&)> m_finish;
    bool m_told{false};      //!< the other ranks know that the run ends
    int64_t m_wordTakes{0};  //!< until each rank has heard what another one says, ps
    int64_t m_endDelay{0};   //!< EndWithOthers
    uint32_t m_ranksDone{0}; //!< number of ranks that have reported
    int64_t m_lastDone{0};   //!< time of the last report, ps
    int64_t m_lastMove{0};   //!< when this rank saw data frames move last, ps
    int64_t m_askedAt{-1};   //!< when some rank asked whether all are stuck, ps
    int64_t m_lastMoveOfAll{0};
    uint32_t m_answers{0}; //!< to that
    std::string m_failure;
    int64_t m_stuckPs{STUCK_PS};
    int64_t m_endures{0}; //!< ps: Endure
    int64_t m_quietPs{0}; //!< messages under way, and no data frame was sent for so long
    int64_t m_lastSight{0};
    uint64_t m_lastMoved{0};
    std::function<JobSight()> m_jobSight; //!< empty: all that moves is the job
    int64_t m_jobSeen{0};                 //!< ps, when it was asked last
    int64_t m_jobQuietSince{0};           //!< ps
    uint64_t m_jobMoved{0};

    uint64_t m_timeoutsShown{0}; //!< by the last progress line: m_timeouts
    uint64_t m_answersShown{0};  //!< m_answered
    double m_doneShown{0};       //!< m_done

    // shared with the thread
    std::atomic<int64_t> m_now{0};
    std::atomic<uint64_t> m_frames{0};
    std::atomic<double> m_done{0};
    std::atomic<uint64_t> m_timeouts{0}; //!< of senders
    std::atomic<uint64_t> m_answered{0}; //!< packets with which receivers answered data
    std::atomic<bool> m_running{false};
    std::mutex m_mutex; //!< guards the members below
    std::condition_variable m_wake;
    std::string m_phase;
    bool m_quit{false};
    std::chrono::steady_clock::time_point m_runStart;
    std::thread m_thread;
};

} // namespace dltrain

#endif /* RUN_CONTROL_H */
