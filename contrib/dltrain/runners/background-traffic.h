/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_BACKGROUND_TRAFFIC_H
#define DLTRAIN_BACKGROUND_TRAFFIC_H

#include "contrib/dltrain/observers/trace-collector.h"
#include "flow-runner.h"
#include "reports/schema/object.h"
#include "run-control.h"
#include "scenarios/network/background.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace dltrain
{

class SocketStack;

/**
 * Flows beside a job, for as long as the simulation lasts (scenario::Background): a FlowRunner for
 * each epoch, made by an event without context when the epoch begins, and kept until all its flows
 * have ended, as a late one goes on into the next epoch.
 *
 * Its messages have tags and totals of their own (TraceCollector::AddOwner), beside those of the
 * job. Flows under way when the job ends are cut off. When requests of the job have failed, no flow
 * begins any more, so that a simulation whose job cannot go on runs out of events.
 */
class BackgroundTraffic : public FlowListener
{
  public:
    /// \param spec and all others outlive this \param network kind of the transport \param stack
    /// for flows by TCP; null: they are RDMA's
    /// \param warmup measuring begins with StartMeasuring, else at once
    BackgroundTraffic(const scenario::Background& spec,
                      const std::string& network,
                      SocketStack* stack,
                      ns3::RdmaFabric& fabric,
                      TraceCollector& collector,
                      bool warmup);
    ~BackgroundTraffic() override;

    /// The first flows begin at the current time. \param lasting whether flows go on after a
    /// failure of other traffic, which recovers from it or ends the run; else they end
    void Start(bool lasting);
    /// Between the nodes' events.
    void StartMeasuring(int64_t now);

    /// \return the state of all traffic except the background's queue pairs
    RunControl::JobSight SeeOthers(const ns3::RdmaFabric& fabric) const;

    /// \param end of the run, ps
    void AddTo(nlohmann::ordered_json& stats, int64_t end) const;
    void Print(std::ostream& os, int64_t end) const;

  private:
    struct Told;
    static const reports::Object<Told>& Keys();
    static const reports::RegisteredKeys g_keys;

    struct Epoch
    {
        std::vector<scenario::Flow> flows;
        std::unique_ptr<FlowRunner> runner;
    };

    /// By an event without context.
    void BeginEpoch();
    FlowCounts GetCounts() const;
    /// The load on the links of its hosts, in the measured time, by flows that began then.
    double GetLoad(int64_t end) const;

    const scenario::Background& m_spec;
    TraceCollector& m_collector;
    Places m_places;
    std::unique_ptr<Transport> m_transport;
    scenario::Measuring m_all; ///< measures everything
    uint32_t m_owner;
    bool m_isWarmup;
    bool m_lasting = false;
    bool m_isOver = false;
    int64_t m_measuredFrom = 0;
    uint32_t m_begun = 0;       ///< epochs
    uint32_t m_nextFlow;        ///< number
    std::deque<Epoch> m_epochs; ///< epochs whose flows may be in flight
    FlowCounts m_past;          ///< counts of epochs that are gone
    FlowCounts m_warmup;        ///< when measuring started
};

} // namespace dltrain

#endif // DLTRAIN_BACKGROUND_TRAFFIC_H
