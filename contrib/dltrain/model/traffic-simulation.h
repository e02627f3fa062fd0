/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_SIMULATION_H
#define TRAFFIC_SIMULATION_H

#include "fabric-run.h"
#include "line-log.h"
#include "scenarios/spec/scenario.h"
#include "traffic-statistics.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Flows over a fabric: every flow is one RDMA WRITE (or SEND, or READ), posted at its start by its
 * source host. The run ends when the last measured flow is acknowledged, or after --stop-after.
 *
 * The queue pair of a flow (scenario::QueuePairUse) is one of its own, made before the run; or the
 * one of its source and destination; or one whose last flow was done REUSE_AFTER_PS ago, reset and
 * connected anew, which is a new queue pair in all but its number: it starts at line rate, with a
 * congestion control that remembers nothing. The wait is for what may still be under way to the old
 * connection, a CNP above all. A host then needs as many as it has flows under way at most, and
 * those of the last REUSE_AFTER_PS.
 *
 * With several Ranks each simulates its part of the network, and the first one prints and writes
 * what all did. A rank cannot know when the last flow of another one ends, so each simulates until
 * nothing is left to happen anywhere; the end that is reported is that of the last flow all the
 * same.
 */
class TrafficSimulation : public FabricSimulation
{
  public:
    explicit TrafficSimulation(const scenario::TrafficScenario& scenario);
    ~TrafficSimulation() override;

    /// Simulate, write the files, print the summary. \return the exit status
    int Run();

    /// A queue pair rests so long between two flows.
    static constexpr int64_t REUSE_AFTER_PS = 2000000000;

  private:
    class Host;

    // FabricSimulation
    void Listen() override;
    std::string Populate() override;
    void OnBegin() override;
    double GetShareDone() const override;
    void MergeRanks() override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    nlohmann::ordered_json GetMoreStatistics() const override;
    void PrintSummary(std::ostream& os, const RunStats& network) const override;
    std::string GetFiles() const override;

    /// \return what several processes cannot do, or nothing
    std::string Refused() const;
    /// With several ranks: writes those of all.
    void CloseCompletionTimes();
    void MakeFlows();
    /// The queue pairs of a flow that begins, with QueuePairUse::kReused. \return who posts it
    ns3::RdmaQueuePair* Take(uint32_t flow, int64_t now);
    /// One end of a flow that begins: rested, or new.
    ns3::RdmaQueuePair* TakeEnd(uint32_t endpoint, uint8_t priority, int64_t now);
    /// A flow is done, and so are its queue pairs.
    void GiveBack(ns3::RdmaQueuePair* poster, int64_t now);
    /// A flow begins on this queue pair. \return what to post
    ns3::RdmaSendRequest OnBegin(uint32_t flow, ns3::RdmaQueuePair* poster, int64_t now);
    void OnMeasuringStarts();
    void OpenCompletionTimes();
    void OnArrived(uint32_t flow, int64_t now);
    void OnEnded(uint32_t flow, ns3::RdmaQueuePair* poster, bool failed, int64_t now);
    void WriteCompletionTime(uint32_t flow, int64_t now);
    ns3::RdmaOperation GetOperation() const;
    int64_t GetIdealPs(const scenario::Flow& flow) const;
    nlohmann::ordered_json OfferedLoad() const;
    double LastArrivalUs() const;
    double GoodputGbps() const;

    const scenario::TrafficScenario& m_scenario;
    FabricRun m_run;

    /// A line of fct.txt, with several ranks: until they are merged.
    struct CompletionLine
    {
        int64_t time;
        uint32_t endpoint; //!< where it is complete
        char text[160];
    };

    std::vector<std::unique_ptr<Host>> m_hosts;         //!< by endpoint; null: another rank's
    std::vector<const ns3::RdmaQueuePair*> m_receivers; //!< of this rank
    LineLog m_completionTimes;                          //!< fct.txt
    bool m_writeCompletionTimes{false};
    std::vector<CompletionLine> m_completionLines;
    std::vector<uint16_t> m_sourcePorts; //!< in fct.txt, by flow; 0: of other ranks only
    std::unique_ptr<TrafficStatistics> m_statistics;
    std::vector<uint32_t> m_nextOfPair; //!< with kPerPair: by flow, the next on its queue pair

    /// With kReused: what rests, by endpoint * 8 + priority, the longest first.
    struct Resting
    {
        ns3::RdmaQueuePair* queuePair;
        int64_t since;
    };

    std::vector<std::deque<Resting>> m_resting;
    ns3::RdmaTimer<TrafficSimulation, &TrafficSimulation::OnMeasuringStarts> m_measuringTimer;
    uint64_t m_queuePairs{0}; //!< made
    uint64_t m_measured{0};   //!< flows
    uint64_t m_measuredBytes{0};
    uint64_t m_measuredArrived{0};
    uint64_t m_measuredEnded{0};
    uint64_t m_deliveredBytes{0}; //!< of all flows that arrived
    uint64_t m_arrivedBytes{0};
    uint64_t m_totalBytes{0};
    uint64_t m_posted{0};
    uint64_t m_arrived{0};
    uint64_t m_failed{0};
    uint64_t m_ended{0};
    int64_t m_lastArrival{0};
    int64_t m_lastEnd{0}; //!< of the last flow that was acknowledged or failed
};

} // namespace dltrain

#endif /* TRAFFIC_SIMULATION_H */
