/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_STATISTICS_H
#define TRAFFIC_STATISTICS_H

#include "reports/tables/flow-rates.h"
#include "reports/tables/port-use.h"
#include "reports/tables/slowdown-table.h"
#include "scenarios/job/scenario.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-grid-timer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * What studies of congestion control ask of a run of flows: slowdown by flow size
 * (reports::SlowdownTable), queues, utilization and pauses by kind of port (reports::PortUse),
 * throughput of flows and its fairness (reports::FlowRates). Nothing in it runs per packet: it
 * hears when a flow is posted and when it is complete, and looks at queues and at bytes received at
 * fixed intervals while flows are under way.
 */
class TrafficStatistics
{
  public:
    /// \param topology node numbers are the fabric's \param out folder; empty: no files
    TrafficStatistics(ns3::RdmaFabric& fabric,
                      const topo::Topology& topology,
                      const scenario::Measuring& measuring,
                      const std::vector<scenario::Flow>& flows,
                      const std::vector<std::string>& endpointNames,
                      const std::vector<std::string>& portNames,
                      const std::string& out);

    /// A flow begins. \param received asked for how many of its bytes have arrived, its size at
    /// most, whenever throughputs are measured, until it is gone
    void OnPosted(uint32_t flow, std::function<uint64_t()> received, int64_t now);
    /// Frames have come from another rank.
    void OnFramesCome(int64_t now);
    /// All its bytes are there, or it failed: it is no longer under way.
    void OnGone(uint32_t flow, bool failed);
    /// A measured flow is complete. \param ideal its time on an idle network
    /// (RdmaFabric::GetIdealCompletion), ps
    void OnComplete(uint32_t flow, int64_t fct, int64_t ideal);

    /// Complete all files. Collective with several Ranks: the first one gets the flows of all.
    void Finish(int64_t now);

    /// \return the share of their rate that hosts have sent, frames of all kinds, in the measured
    /// time: 0 to 1. Nothing if ports were not looked at, or no host has a switch. After Finish
    std::optional<double> GetSentShare() const;

    /// The keys of stats.json. After Finish.
    void AddTo(nlohmann::ordered_json& stats) const;
    /// Some lines for people.
    void Print(std::ostream& os) const;

  private:
    /// \return false: the run ended in its warm-up
    bool IsMeasured() const
    {
        return m_measuring.begin.ps == 0 || m_ended >= m_measuring.begin.ps;
    }

    reports::PortUse::Counters Look() const;
    void OnFrom();
    void OnUntil();
    void OnQueueTimer(int64_t now);
    void OnRateTimer(int64_t now);
    void ArmTimers(int64_t now);

    ns3::RdmaFabric& m_fabric;
    const scenario::Measuring& m_measuring;
    const std::vector<scenario::Flow>& m_flows;
    std::string m_out;
    int64_t m_ended{0}; //!< when the simulation did
    reports::SlowdownTable m_slowdowns;
    std::unique_ptr<reports::PortUse> m_ports; //!< null: queues are not looked at
    /// Those that m_ports names and this rank has, with their numbers there.
    std::vector<std::pair<uint32_t, const ns3::RdmaPort*>> m_queues;
    std::unique_ptr<reports::FlowRates> m_rates; //!< null: nor are throughputs
    uint64_t m_lastFrames{0};
    int64_t m_quietSince{0};
    uint32_t m_idleIntervals{0};
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnFrom> m_fromTimer;
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnUntil> m_untilTimer;
    std::unique_ptr<ns3::RdmaGridTimer> m_queueTimer; //!< null with m_ports
    std::unique_ptr<ns3::RdmaGridTimer> m_rateTimer;  //!< null with m_rates
};

} // namespace dltrain

#endif /* TRAFFIC_STATISTICS_H */
