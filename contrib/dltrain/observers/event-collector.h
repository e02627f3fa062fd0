/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_EVENT_COLLECTOR_H
#define DLTRAIN_EVENT_COLLECTOR_H

#include "reports/tables/event-log.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-grid-timer.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
                   std::unique_ptr<reports::EventLog> log);
    ~EventCollector();

    void StartMeasuring(int64_t now);
    /// The file complete. With several Ranks collective: the first one's has the events of all.
    void Finish(int64_t now);

    reports::EventLog& GetLog()
    {
        return *m_log;
    }

    /// \return how often PFC stopped a priority of some transmitter, since measuring started
    uint64_t GetPauses() const
    {
        return m_pauses - m_pausesBefore;
    }

  private:
    class SwitchProbe;

    // As in TraceCollector: On... notes in the event, Tell... hears it in the order of time.

    /// An event of a queue pair, told by a PSN.
    struct OfQueuePair
    {
        reports::EventLog::Kind kind;
        uint32_t from; //!< endpoints
        uint32_t to;
        uint32_t number;
        uint64_t psn;
        const char* before; //!< the PSN
        const char* behind;
        int64_t time; //!< ps
    };

    struct Drop
    {
        const ns3::RdmaSwitchBase* device; //!< null: a NIC's
        const ns3::RdmaPort* port;         //!< may be null
        ns3::RdmaFrame frame;              //!< nothing hangs off it
        ns3::RdmaSwitchBase::DropReason reason;
        int64_t time; //!< ps
    };

    struct Pause
    {
        const ns3::RdmaPort* port;
        uint8_t paused;
        uint8_t changed;
        int64_t time; //!< ps
        std::array<uint64_t, ns3::RdmaPort::PRIORITIES> queueBytes;
    };

    static Drop DropOf(const ns3::RdmaPort* port, const ns3::RdmaFrame& frame, int64_t now);
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
    void OnLinkDown(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnCutSent(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnSilentDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now);
    void TellQueuePair(const OfQueuePair& event);
    void TellDrop(const Drop& drop);
    void TellCorrupt(const Drop& drop);
    void TellNicDrop(const Drop& drop);
    /// \param end whose directed link the frame was on \param how in words
    void NoteFault(const ns3::RdmaFrame& frame, uint32_t end, const char* how, int64_t now);
    void TellPause(const Pause& pause);
    /// Writes the bursts of the millisecond that ends now.
    void FlushBursts(int64_t now);
    /// The place of a line that is written now.
    reports::EventLog::Order OrderNow() const;
    std::string NameOf(const OfQueuePair& event) const;
    /// \param before text before the PSN, of static storage
    /// \param behind text after the PSN, of static storage
    void NoteOf(reports::EventLog::Kind kind,
                const ns3::RdmaQueuePair* qp,
                int64_t now,
                const char* before,
                uint64_t psn,
                const char* behind);

    const ns3::RdmaFabric& m_fabric;
    const std::vector<std::string>& m_endpointNames;
    const std::vector<std::string>& m_portNames;
    const PortIndex& m_portIndex;
    std::unique_ptr<reports::EventLog> m_log;
    std::vector<std::unique_ptr<SwitchProbe>> m_switchProbes;
    int64_t m_measuredFrom{0};
    uint64_t m_pauses{0};
    uint64_t m_pausesBefore{0};
    std::optional<reports::EventLog::Order> m_order; //!< place of a burst that is flushed
    ns3::RdmaGridTimer m_burstTimer;                 //!< at the end of a millisecond with marks
};

} // namespace dltrain

#endif // DLTRAIN_EVENT_COLLECTOR_H
