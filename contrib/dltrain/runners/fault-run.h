/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FAULT_RUN_H
#define DLTRAIN_FAULT_RUN_H

#include "contrib/dltrain/observers/event-collector.h"
#include "reports/attribution/link-notes.h"
#include "reports/stats/fault-record.h"
#include "scenarios/job/fault-plan.h"

#include "ns3/rdma-faults.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * The faults of a run: hands those of the network to an RdmaFaults, and notes when those of GPUs
 * begin and end (the plan has their effect: SpeedProfile). It writes events to network_events.log.
 */
class FaultRun
{
  public:
    /// \param plan kept by reference \param events where lines go; kept by reference
    FaultRun(const scenario::FaultPlan& plan, ns3::RdmaFabric& fabric, EventCollector& events);

    /// Before the first event.
    void Start();

    /// \param why returns why a GPU's fault that begins has no target; empty: it has one. Argument:
    /// its index in the plan
    void SetMissed(std::function<std::string(std::size_t fault)> why)
    {
        m_whyMissed = std::move(why);
    }

    /// As of now; of the whole run.
    std::vector<reports::FaultRecord> GetRecords() const;
    /// Which links had which fault, and when.
    void AddTo(reports::LinkNotes& notes) const;

    /// \return a line for each fault in effect now
    std::vector<std::string> DescribeActive() const;

  private:
    /// The record of a GPU's fault.
    struct OfGpu
    {
        int64_t begun{-1};
        int64_t ended{-1};
        std::string missed; ///< why it has no target; empty: it has one
    };

    /// \return as RdmaFaults takes it
    ns3::RdmaFaults::Fault Translate(const scenario::Fault& fault) const;
    /// The rates of a bonded NIC that a fault hits.
    void NoteBond(reports::FaultRecord& record, const scenario::Fault& fault) const;
    static ns3::RdmaFaults::Circuits TranslateCircuits(const topo::CircuitPlan& plan);
    void OnEvent(const ns3::RdmaFaults::Event& event);
    void ScheduleOfGpu(std::size_t index);
    void Write(int64_t now, const std::string& where, const std::string& details);

    const scenario::FaultPlan& m_plan;
    ns3::RdmaFabric& m_fabric;
    EventCollector& m_events;
    ns3::RdmaFaults m_faults;
    std::vector<std::optional<uint32_t>> m_numbers; //!< number in m_faults; nothing: a GPU's fault
    std::vector<std::size_t> m_indices; //!< by number in m_faults: the index in the plan
    std::map<std::size_t, OfGpu> m_ofGpus;
    std::function<std::string(std::size_t fault)> m_whyMissed; //!< empty: all hit somebody
};

/// When queue pairs give up that hear nothing: 4.096 us x 2^exponent, the first time and after each
/// retry (InfiniBand Architecture 1, 9.7.6.1.3).
struct QueuePairPatience
{
    uint32_t exponent = 0;
    uint32_t tries = 0;

    /// \return ps
    int64_t GetPs() const;
};

/// \return that of a NIC, as its attributes have it
QueuePairPatience GetPatience(const ns3::RdmaNic& nic);

/// The time-outs that end a real job that stands still, for people: those of queue pairs as in this
/// fabric, and PyTorch's watchdog.
std::string DescribeTimeOuts(const ns3::RdmaFabric& fabric);

} // namespace dltrain

#endif // DLTRAIN_FAULT_RUN_H
