/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_EVENT_COLLECTOR_H
#define DLTRAIN_EVENT_COLLECTOR_H

#include "results/event-log.h"

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/**
 * Listens to what goes wrong in a fabric and to its congestion, for network_events.log: losses,
 * retransmissions, pauses, and the marks of a port in a millisecond as one event.
 */
class EventCollector
{
  public:
    /// End of the fabric of each of its ports.
    using PortIndex = std::unordered_map<const ns3::RdmaPort*, uint32_t>;

    /// \param fabric, endpointNames, portNames (by RdmaFabric end), portIndex kept by reference
    /// \param log where it writes
    EventCollector(const ns3::RdmaFabric& fabric,
                   const std::vector<std::string>& endpointNames,
                   const std::vector<std::string>& portNames,
                   const PortIndex& portIndex,
                   std::unique_ptr<results::EventLog> log);
    ~EventCollector();

    void StartMeasuring(int64_t now);
    /// The file complete. With several Ranks collective: the first one's has the events of all.
    void Finish(int64_t now);

    results::EventLog& GetLog()
    {
        return *m_log;
    }

    /// \return how often PFC stopped a priority of some transmitter, since measuring started
    uint64_t GetPauses() const
    {
        return m_pauses - m_pausesBefore;
    }

  private:
    /// Marks of one egress port in the current millisecond.
    struct Burst
    {
        uint64_t marks{0};
        uint64_t queueBytes{0};
    };

    class SwitchProbe;

    void OnGoBack(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnTimeout(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnDrop(const ns3::RdmaSwitchBase* device,
                const ns3::RdmaPort* port,
                const ns3::RdmaFrame* frame,
                ns3::RdmaSwitchBase::DropReason reason,
                int64_t now);
    void OnCorrupt(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnNicDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnMark(uint32_t port, uint64_t queueBytes, int64_t now);
    void OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now);
    void FlushBursts();
    std::string QueuePairName(const ns3::RdmaQueuePair* qp) const;
    /// An event of a queue pair, told by a PSN. \param before, behind it
    void WriteOf(results::EventLog::Kind kind,
                 const ns3::RdmaQueuePair* qp,
                 int64_t now,
                 const char* before,
                 uint64_t psn,
                 const char* behind);

    const ns3::RdmaFabric& m_fabric;
    const std::vector<std::string>& m_endpointNames;
    const std::vector<std::string>& m_portNames;
    const PortIndex& m_portIndex;
    std::unique_ptr<results::EventLog> m_log;
    std::vector<std::unique_ptr<SwitchProbe>> m_switchProbes;
    int64_t m_measuredFrom{0};
    uint64_t m_pauses{0};
    uint64_t m_pausesBefore{0};
    std::vector<Burst> m_bursts;      //!< by end
    std::vector<uint32_t> m_bursting; //!< ends with marks in the current millisecond
    int64_t m_burstEnd{0};
};

} // namespace dltrain

#endif // DLTRAIN_EVENT_COLLECTOR_H
