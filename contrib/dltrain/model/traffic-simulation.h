/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_SIMULATION_H
#define TRAFFIC_SIMULATION_H

#include "line-log.h"
#include "run-control.h"
#include "run-report.h"
#include "scenarios/spec/scenario.h"
#include "trace-collector.h"

#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Flows over a fabric: every flow is one RDMA WRITE on a queue pair of its own, posted at its start
 * by its source host. The run ends when the last flow is acknowledged, or after --stop-after.
 *
 * With several Ranks each simulates its part of the network, and the first one prints and writes
 * what all did. A rank cannot know when the last flow of another one ends, so each simulates until
 * nothing is left to happen anywhere; the end that is reported is that of the last flow all the
 * same.
 */
class TrafficSimulation
{
  public:
    explicit TrafficSimulation(const scenario::TrafficScenario& scenario);
    ~TrafficSimulation();

    /// Simulate, write the files, print the summary. \return the exit status
    int Run();

  private:
    class Host;

    bool Build(std::string& error);
    /// This rank's part. \return an error, or nothing
    std::string BuildPart();
    /// Sums up what the ranks did.
    void MergeRanks();
    /// With several ranks: writes those of all.
    void CloseCompletionTimes();
    void MakeFlows();
    void OpenCompletionTimes();
    double ShareDone() const;
    void OnArrived(uint32_t flow, int64_t now);
    void OnEnded(uint32_t flow, bool failed, int64_t now);
    void WriteCompletionTime(uint32_t flow, int64_t now);
    ns3::RdmaOperation GetOperation() const;
    int64_t GetIdealPs(const scenario::Flow& flow) const;
    RunOutcome RunEvents();
    void PrintHead() const;
    int Report(const RunOutcome& outcome);

    const scenario::TrafficScenario& m_scenario;
    RunControl m_control;
    std::unique_ptr<ns3::RdmaFabric> m_fabric;
    std::unique_ptr<TraceCollector> m_collector;

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
    double m_setUpS{0};
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
