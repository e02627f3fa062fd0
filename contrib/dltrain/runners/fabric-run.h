/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FABRIC_RUN_H
#define DLTRAIN_FABRIC_RUN_H

#include "contrib/dltrain/base/decision.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/dltrain/ranks/rank-notes.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/dltrain/transports/interconnect.h"
#include "fault-run.h"
#include "ordinary-setup.h"
#include "reports/stats/run-stats.h"
#include "run-control.h"

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace dltrain
{

class BackgroundTraffic;
class SocketStack;

/**
 * What a program simulates on the fabric of a FabricRun, which calls this in the order in which it
 * stands here; of several Ranks only in those that have hosts, unless something else is said.
 * Populate and MergeRanks may be collective among these (Ranks::OfHosts), OnEnd among all.
 */
class FabricSimulation
{
  public:
    virtual ~FabricSimulation() = default;

    /// The network and its collector exist, and there are no events yet: for observers whose events
    /// must be the first of their time. On all Ranks, as OnEnd.
    virtual void Listen();
    /// Makes hosts, queue pairs, files of its own, the first events. \return why that cannot be, or
    /// nothing. Failures to write may be known to OutputErrors alone
    virtual std::string Populate() = 0;
    /// The set-up is done, of all Ranks: what the terminal is told before the events.
    virtual void OnBegin();

    /// The share of the work that is done, 0 to 1. Called a few times a second.
    virtual double GetShareDone() const = 0;
    /// With several Ranks: at the end of the events, to sum up what they did, before IsDone.
    virtual void MergeRanks();
    /// Called when no event is left, or the run was ended: is the work done?
    virtual bool IsDone() const = 0;
    /// The text for unfinished work.
    virtual std::string DescribeUnfinished() const = 0;
    /// Does it have events of its own that are still to come, as the end of a computation? The
    /// default is yes.
    virtual bool GoesOnByItself() const;

    /// The run is over: files of its own are completed. \param outcome when it ended may be put
    /// right
    virtual void OnEnd(reports::RunOutcome& outcome);
    /// Keys of stats.json, before the network's and after them. On the first rank alone, as all
    /// functions below.
    virtual nlohmann::ordered_json GetStatistics() const = 0;
    virtual nlohmann::ordered_json GetMoreStatistics() const;

    /// Writes tables that are complete at the end.
    virtual void WriteTables() const
    {
    }

    /// Writes timeline.json, and says so: of the run's files.
    virtual void WriteTimeline(const scenario::RunOptions& run, std::ostream& os) const;

    /// The summary; the rest of the terminal's text follows.
    virtual void PrintSummary(std::ostream& os, const reports::RunStats& network) const = 0;
    /// Files of its own: ", a.txt, b.txt".
    virtual std::string GetFiles() const;
};

/**
 * The frame of a simulation, the same for all programs: the fabric, its collector and captures, run
 * control, results, and the two ways out (a report; one clear error and status 2).
 *
 *     FabricRun run("traffic", scenario.run, scenario.fabric, {topology, name}, {});
 *     return run.Run(simulation);
 *
 * Members of a simulation that refer to the fabric stand behind its FabricRun, so that they go
 * before it.
 */
class FabricRun
{
  public:
    struct Network
    {
        const topo::Topology& topology;
        const std::string& name;
        std::vector<uint32_t> hostOfServer = {}; //!< indices into Hosts(); empty: no ranks of jobs
    };

    struct Options
    {
        bool warmup = false;             //!< nothing is measured before Collector().StartMeasuring
        bool completionAtSender = false; //!< messages are complete when they are acknowledged
        uint32_t gpus = 0;               //!< for simulated_gpu_s_per_core_s; 0: no GPUs
        std::ostream& os = std::cout;    //!< the summary and where the files are
        bool firstHears = false; //!< where several Ranks have hosts, the first one hears of all
                                 //!< that they do: Notes
        uint32_t lossless = 0;   //!< bits of priorities that are lossless beside 3
    };

    FabricRun(std::string program,
              const scenario::RunOptions& run,
              const scenario::FabricSpec& fabric,
              Network network,
              Options options);
    ~FabricRun();

    /// Builds, simulates and reports, once. With several Ranks collective. \return the exit status
    int Run(FabricSimulation& simulation);

    /// From Listen on, as the collector.
    ns3::RdmaFabric& Fabric() const
    {
        return *m_fabric;
    }

    TraceCollector& Collector() const
    {
        return *m_collector;
    }

    /// \return TCP on all hosts; null: nothing has asked for it
    SocketStack* Stack() const
    {
        return m_stack.get();
    }

    /// The interconnect for the messages of a job on this network. \param cluster cluster with this
    /// topology
    /// \param share see NetworkParts
    std::unique_ptr<Interconnect> Connect(const scenario::ClusterSpec& cluster,
                                          const Places::NicsInUse& nicsInUse = {},
                                          NetworkShare* share = nullptr) const;

    /// \return null if there are no faults
    FaultRun* Faults()
    {
        return m_faults.get();
    }

    RunControl& Control()
    {
        return m_control;
    }

    /**
     * Decides a consequence of one host's event for others (the end of a run or of a warm-up, the
     * next size, the next round). It takes effect in an event without context, later by the delay
     * of the fabric's shortest cable. No host hears of another sooner, so hosts can be simulated
     * separately until then. Decisions of one time take effect in the order of the calls.
     */
    void Decide(std::function<void()> what);

    /// An event without context. In every rank alike. \param delay ps from now
    void ActIn(int64_t delay, std::function<void()> what);

    /// Applies what DecideForAll decides, in every rank that has hosts. Before the first event.
    void SetApply(std::function<void(const Decision& decision)> apply)
    {
        m_apply = std::move(apply);
    }

    /**
     * The same, where several Ranks have hosts: all of them act at the same time, each for its own
     * hosts, in an event without context. With Options::firstHears the first rank calls it, when it
     * hears a note.
     */
    void DecideForAll(const Decision& decision);

    /// From Listen on. \return what tells the first rank of other ranks' hosts; null: one process
    /// has all hosts, or each rank keeps to itself what its own do
    RankNotes* Notes() const
    {
        return m_options.firstHears && Ranks::OfHosts().Several() ? m_notes.get() : nullptr;
    }

    /// The warm-up is over, for all Ranks. Between the nodes' events.
    void StartMeasuring(int64_t now);

    /// The work of this rank's hosts is done: the run ends when all Ranks that have hosts have said
    /// so. Between the nodes' events.
    void End();

    /// Wall time of the set-up.
    double GetSetUpS() const
    {
        return m_setUpS;
    }

  private:
    /// Another rank's words, and this one's own.
    void OnWord(const std::string& word);
    /// This rank's part. \return why it cannot be built, or nothing
    std::string Build(FabricSimulation& simulation);
    /// Completes the files, prints the summary. \return the exit status
    int Report(FabricSimulation& simulation, reports::RunOutcome outcome);
    /// Whether something may travel: of one server nothing does.
    bool HasLinkTable() const;
    /// Before the results are told.
    void NoteLinks();
    /// \return the head of stats.json
    nlohmann::ordered_json Head(const reports::RunOutcome& outcome,
                                const reports::RunStats& network) const;
    /// \return stats.json
    nlohmann::ordered_json WriteStatistics(const FabricSimulation& simulation,
                                           const reports::RunOutcome& outcome,
                                           const reports::RunStats& network) const;

    std::string m_program;
    const scenario::RunOptions& m_run;
    const scenario::FabricSpec& m_spec;
    Network m_network;
    Options m_options;
    RunControl m_control;
    std::unique_ptr<ns3::RdmaFabric> m_fabric;
    std::unique_ptr<SocketStack> m_stack; //!< null: no TCP
    OrdinaryLosses m_lossesBefore;        //!< when measuring started
    std::unique_ptr<RankNotes> m_notes;
    std::unique_ptr<TraceCollector> m_collector;
    std::unique_ptr<BackgroundTraffic> m_background; //!< null: no background traffic
    std::unique_ptr<FaultRun> m_faults;              //!< null: no faults
    std::function<void(const Decision& decision)> m_apply;
    double m_setUpS{0};
    uint32_t m_ranksDone{0};
};

} // namespace dltrain

#endif // DLTRAIN_FABRIC_RUN_H
