/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_SIMULATION_H
#define TRAFFIC_SIMULATION_H

#include "fabric-run.h"
#include "results/line-log.h"
#include "scenarios/spec/scenario.h"
#include "traffic-statistics.h"
#include "transport.h"

#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

class NetworkTransport;

/**
 * Flows over a fabric: every flow is one RDMA WRITE (or SEND, or READ), posted at its start by its
 * source host. The run ends when the last measured flow is acknowledged, or after --stop-after.
 *
 * The channel of a flow (scenario::QueuePairUse) is one of its own, opened before the run; or the
 * one of its source and destination; or one that is opened as the flow begins and closed when it is
 * acknowledged, so that its queue pairs are used again.
 *
 * With several Ranks each simulates its part of the network, and the first one prints and writes
 * what all did. A rank cannot know when the last flow of another one ends, so each simulates until
 * nothing is left to happen anywhere; the end that is reported is that of the last flow all the
 * same.
 */
class TrafficSimulation : public FabricSimulation, public TransportUser
{
  public:
    explicit TrafficSimulation(const scenario::TrafficScenario& scenario);
    ~TrafficSimulation() override;

    /// Simulate, write the files, print the summary. \return the exit status
    int Run();

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

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
    void OnEnd(results::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    nlohmann::ordered_json GetMoreStatistics() const override;
    void PrintSummary(std::ostream& os, const results::RunStats& network) const override;
    std::string GetFiles() const override;

    /// \return what several processes cannot do, or nothing
    std::string Refused() const;
    /// With several ranks: writes those of all.
    void CloseCompletionTimes();
    void MakeFlows();
    ChannelName NameOf(uint32_t flow) const;
    /// \return the channel of a flow, which comes back with its messages
    ChannelId Open(uint32_t flow);
    /// A flow begins. \param channel NO_CHANNEL: it gets one now
    void Begin(uint32_t flow, ChannelId channel, int64_t now);
    TransportPost PostOf(uint32_t flow);
    void OnMeasuringStarts();
    void OpenCompletionTimes();
    void OnArrived(uint32_t flow, int64_t now);
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

    static constexpr ChannelId NO_CHANNEL = UINT64_MAX;

    std::unique_ptr<Places> m_places;
    std::unique_ptr<Transport> m_transport;
    NetworkTransport* m_packets{nullptr};       //!< m_transport, if it moves packets
    std::vector<std::unique_ptr<Host>> m_hosts; //!< by endpoint; null: another rank's
    results::LineLog m_completionTimes;         //!< fct.txt
    bool m_writeCompletionTimes{false};
    std::vector<CompletionLine> m_completionLines;
    std::vector<uint16_t> m_sourcePorts; //!< in fct.txt, by flow; 0: of other ranks only
    std::unique_ptr<TrafficStatistics> m_statistics;
    // With kPerPair, by flow: the next of its channel; of the channel's first, which one arrives
    // next.
    std::vector<uint32_t> m_nextOfPair;
    std::vector<uint32_t> m_arriving;
    ns3::RdmaTimer<TrafficSimulation, &TrafficSimulation::OnMeasuringStarts> m_measuringTimer;
    uint64_t m_measured{0}; //!< flows
    uint64_t m_measuredBytes{0};
    uint64_t m_measuredArrived{0};
    uint64_t m_measuredEnded{0};
    uint64_t m_deliveredBytes{0}; //!< of all flows that arrived
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
