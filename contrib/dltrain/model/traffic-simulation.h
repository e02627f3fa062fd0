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
    std::vector<std::unique_ptr<Host>> m_hosts;         //!< by endpoint
    std::vector<const ns3::RdmaQueuePair*> m_receivers; //!< by flow
    LineLog m_completionTimes;                          //!< fct.txt
    std::vector<uint16_t> m_sourcePorts;                //!< in fct.txt, by flow
    double m_setUpS{0};
    uint64_t m_totalBytes{0};
    uint64_t m_posted{0};
    uint64_t m_arrived{0};
    uint64_t m_failed{0};
    uint64_t m_ended{0};
    int64_t m_lastArrival{0};
};

} // namespace dltrain

#endif /* TRAFFIC_SIMULATION_H */
