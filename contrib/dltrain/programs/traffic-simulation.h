/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_SIMULATION_H
#define TRAFFIC_SIMULATION_H

#include "contrib/dltrain/base/transport.h"
#include "contrib/dltrain/observers/traffic-statistics.h"
#include "contrib/dltrain/runners/completion-file.h"
#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/runners/flow-runner.h"
#include "reports/schema/object.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

class NetworkTransport;

/**
 * Flows over a fabric (FlowRunner), measured: their counts, slowdown, rates and fct.txt. The run
 * ends when the last measured flow is acknowledged, which is a decision about all hosts
 * (FabricRun::Decide), or after --stop-after.
 *
 * With several Ranks each simulates its part of the network, and the first one prints and writes
 * the results of all. Hosts are divided among ranks unless the run needs common knowledge of them;
 * then all are in the first rank. The reported end is that of one process, even where ns-3's engine
 * has to simulate a little more.
 */
class TrafficSimulation : public FabricSimulation, public FlowListener
{
  public:
    explicit TrafficSimulation(const scenario::TrafficScenario& scenario);
    ~TrafficSimulation() override;

    /// Simulate, write the files, print the summary. \return the exit status
    int Run();

    // FlowListener
    void OnFlowBegin(uint32_t flow, ChannelId channel, int64_t now) override;
    void OnFlowArrived(uint32_t flow, ChannelId channel, int64_t now) override;
    void OnFlowEnded(uint32_t flow, ChannelId channel, bool failed, int64_t now) override;
    void OnFlowsDone() override;

  private:
    struct Told;
    static const reports::Object<Told>& Keys();
    static const reports::RegisteredKeys g_keys;

    // FabricSimulation
    void Listen() override;
    std::string Populate() override;
    void OnBegin() override;
    double GetShareDone() const override;
    void MergeRanks() override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    nlohmann::ordered_json GetMoreStatistics() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    std::string GetFiles() const override;

    /// \return whether ranks tell each other by notes, with ns-3's engine, when they are done
    bool TellsByNotes() const;
    void MakeFlows();
    FlowCounts GetCounts() const;
    void OnMeasuringStarts();

    /// News of a flow, for NodeWindows::Note.
    struct FlowNews
    {
        uint32_t flow;
        uint16_t sourcePort; //!< UDP source port of its packets
        bool complete;       //!< its bytes are where they are wanted, or acknowledged: as measured
        bool gone;           //!< it is no longer under way
        bool failed;
        int64_t time; //!< ps
    };

    void Tell(const FlowNews& news);
    uint16_t SourcePortOf(ChannelId channel) const;
    /// \return of a flow that begins now, a function that says how many of its bytes have arrived
    std::function<uint64_t()> ArrivalsOf(uint32_t flow, ChannelId channel) const;

    /// The measured flows' share of the rates of all hosts, over the time in which they start.
    struct OfferedLoad
    {
        double payload;
        double wire; ///< with headers
    };

    /// \pre a load was asked for
    OfferedLoad GetOfferedLoad() const;

    const scenario::TrafficScenario& m_scenario;
    FabricRun m_run;

    std::unique_ptr<Places> m_places;
    std::unique_ptr<Transport> m_transport;
    NetworkTransport* m_packets{nullptr}; //!< m_transport, if it moves packets
    std::unique_ptr<FlowRunner> m_runner;
    std::unique_ptr<CompletionFile> m_completions;
    std::unique_ptr<TrafficStatistics> m_statistics;
    ns3::RdmaTimer<TrafficSimulation, &TrafficSimulation::OnMeasuringStarts> m_measuringTimer;
    /// With --outstanding: when each flow began, ps; written by its poster, read between windows.
    std::vector<int64_t> m_began;
    uint64_t m_measured{0}; //!< flows of the list
    uint64_t m_measuredBytes{0};
    uint64_t m_totalBytes{0};
    std::optional<FlowCounts> m_merged; //!< counts of several Ranks, when the events are over
    uint64_t m_queuePairs{0};           //!< the same
};

} // namespace dltrain

#endif /* TRAFFIC_SIMULATION_H */
