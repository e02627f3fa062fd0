/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRACE_COLLECTOR_H
#define TRACE_COLLECTOR_H

#include "link-sampler.h"
#include "queue-pair-log.h"
#include "results/event-log.h"
#include "results/flow-table.h"
#include "tail-attribution.h"

#include "ns3/rdma-fabric-helper.h"

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/**
 * Listens to a fabric's trace sources and writes flows.csv, links.csv and network_events.log. It
 * never touches the simulation, and nothing in it runs per packet.
 *
 * Convention: RdmaWorkRequest::id is made by Id(tag) or Id(tag, flow). The low half is the index of
 * a tag; the high half 0, or one more than the number that flows.csv shows (else posts are numbered
 * in their order).
 *
 * FCT of a message = it arrived whole at the receiver, or was acknowledged whole at the sender,
 * minus it was posted; of a READ, its last byte has come to who posted it, and its source is the
 * other end. A queue pair's messages arrive in the order they were posted in, so a list
 * per queue pair matches them; its entries come from one pool.
 */
class TraceCollector
{
  public:
    struct Options
    {
        std::string out;         //!< folder; empty: no files
        uint64_t seed{1};        //!< of the sample in flows.csv
        bool warmup{false};      //!< nothing is measured before StartMeasuring
        bool attribution{false}; //!< note where the time of messages goes (TailAttribution)
        std::vector<std::string> queuePairs; //!< patterns, for queue_pairs.csv; none: no file
        bool atSender{false}; //!< a message is complete when its last ACK is at the sender
        bool packets{true};   //!< else nothing is known of links and devices, and no file says it
        std::size_t flowRows{1000000};
        int64_t linkIntervalPs{100000000};
        std::size_t linkRows{200000};
        uint64_t eventLinesPerKind{20000};
    };

    /// Old results go: make it before other outputs are opened.
    TraceCollector(ns3::RdmaFabric& fabric, const Options& options);
    ~TraceCollector();

    /// \return the index of a tag, a new one if need be
    uint32_t Tag(const std::string& name);

    /// Or-ed to a tag: the message belongs to the warm-up. Once a tag has carried it, this mark
    /// alone decides which messages are measured, and not when they are posted: ranks do not leave
    /// the warm-up all at once.
    static constexpr uint32_t WARMUP = 1U << 31;

    static uint64_t Id(uint32_t tag)
    {
        return tag;
    }

    static uint64_t Id(uint32_t tag, uint32_t flow)
    {
        return (static_cast<uint64_t>(flow) + 1) << 32 | tag;
    }

    /// The messages of this queue pair are one GPU's for another. \param from rank \param to rank
    void NameGpus(const ns3::RdmaQueuePair& sender, uint32_t from, uint32_t to);

    /// Warm-up is over: all statistics count from here, messages from those posted from here on.
    void StartMeasuring(int64_t nowPs);
    /// Complete all files. The fabric may be destroyed afterwards, the statistics stay. With
    /// several Ranks collective: the first one's files and flow statistics are those of all.
    void Finish(int64_t nowPs);

    /**
     * With several Ranks: a message that another rank will post to this end of a queue pair, which
     * cannot be seen here; not of a READ, which ends where it was posted. In the order in which
     * they are posted. \param id as in the work request
     */
    void ExpectMessage(const ns3::RdmaQueuePair& receiver,
                       int64_t posted,
                       uint64_t id,
                       ns3::RdmaOperation operation);

    // Messages that move without packets, of which no NIC tells.
    struct Numbered
    {
        uint64_t flow{0};
        uint32_t tag{0};
        bool measured{false};
    };

    /// A message is posted. \param id as in a work request
    Numbered BeginMessage(uint64_t id);
    /// It is complete. \param record without flow and tag
    void EndMessage(const Numbered& numbered, results::FlowRecord record);

    bool HasPackets() const
    {
        return m_options.packets;
    }

    bool IsCompleteAtSender() const
    {
        return m_options.atSender;
    }

    ns3::RdmaFabric& GetFabric() const
    {
        return m_fabric;
    }

    LinkSampler& GetLinkSampler()
    {
        return *m_links;
    }

    results::EventLog& GetEventLog()
    {
        return *m_events;
    }

    const results::FlowTable& GetFlows() const
    {
        return *m_flows;
    }

    /// \return null if no queue pairs are chosen
    const QueuePairLog* GetQueuePairLog() const
    {
        return m_queuePairLog.get();
    }

    /// \return null if it is not noted
    const TailAttribution* GetAttribution() const
    {
        return m_attribution.get();
    }

    /// \return of the message that RdmaNicUser::OnMessage is being told of; null if it is not known
    const MessageParts* GetMessageParts() const
    {
        return m_parts;
    }

    /// \return messages posted that are not complete, those of failed queue pairs aside
    uint64_t GetOutstanding() const
    {
        return m_outstanding;
    }

    /// \return work requests that ended in an error or were flushed, warm-up included
    uint64_t GetFailed() const
    {
        return m_failed;
    }

    /// \return false: the warm-up is not over, and there is no statistic of anything
    bool IsMeasuring() const
    {
        return m_measuring;
    }

    int64_t GetMeasuredFrom() const
    {
        return m_measuredFrom;
    }

    /// \return names of all endpoints: the host, with ":port" if it has several
    const std::vector<std::string>& GetEndpointNames() const
    {
        return m_endpointNames;
    }

    /// \return "from->to" of the link out of each end of RdmaFabric, unique
    const std::vector<std::string>& GetPortNames() const
    {
        return m_portNames;
    }

    /// What the statistics were when measuring started.
    struct Baseline
    {
        ns3::RdmaNicCounters nics;
        ns3::RdmaPortCounters ports;
        std::vector<uint64_t> drops;       //!< by reason
        std::vector<uint64_t> txWireBytes; //!< by port of RdmaFabric::GetPorts
        std::vector<uint64_t> pausedPs;    //!< the same
        uint64_t rerouted{0};
        uint64_t pauses{0};
    };

    const Baseline& GetBaseline() const
    {
        return m_baseline;
    }

    /// \return how often PFC stopped a priority of some transmitter, warm-up included
    uint64_t GetPauses() const
    {
        return m_pauses;
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    /// A message under way.
    struct Pending
    {
        int64_t posted{0};
        uint64_t flow{0};
        uint32_t tag{0};
        uint32_t next{NONE};
        bool measured{false};
        ns3::RdmaOperation operation{ns3::RdmaOperation::WRITE};
    };

    struct QueuePair
    {
        uint32_t head{NONE};
        uint32_t tail{NONE};
        uint32_t count{0};
        uint32_t fromGpu{results::FlowRecord::NO_GPU};
        uint32_t toGpu{results::FlowRecord::NO_GPU};
        bool failed{false};
        bool idealImmediate{false};
        ns3::RdmaOperation idealOperation{ns3::RdmaOperation::WRITE};
        uint64_t idealBytes{UINT64_MAX}; //!< the last size and its ideal completion time
        int64_t ideal{0};
        uint32_t idealTo{NONE};
    };

    /// Marks of one egress port in the current millisecond.
    struct Burst
    {
        uint64_t marks{0};
        uint64_t queueBytes{0};
    };

    class SwitchProbe;

    QueuePair& Find(uint32_t endpoint, uint32_t number);
    void OnPost(ns3::RdmaQueuePair* qp, const ns3::RdmaWorkRequest& request);
    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now);
    void OnJourney(ns3::RdmaQueuePair* qp,
                   const ns3::RdmaMessage& message,
                   const ns3::RdmaJourney& journey,
                   int64_t now);
    /// \return the tag of the message that a frame is of
    uint32_t TagOf(uint32_t src, uint32_t dst, uint32_t destQp);
    /// The oldest message under way of this queue pair, or its oldest READ.
    void OnComplete(uint32_t from,
                    uint32_t number,
                    uint32_t to,
                    uint64_t bytes,
                    bool hasImmediate,
                    bool read,
                    int64_t now);
    void OnCompletion(ns3::RdmaQueuePair* qp,
                      const ns3::RdmaWorkRequest& request,
                      ns3::RdmaStatus status,
                      int64_t now);
    void OnGoBack(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnTimeout(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnIbDrop(const ns3::IbSwitch* device, const ns3::RdmaFrame* frame, int64_t now);
    void OnDrop(const ns3::RdmaSwitch* device,
                const ns3::RdmaPort* port,
                const ns3::RdmaFrame* frame,
                ns3::RdmaSwitch::DropReason reason,
                int64_t now);
    void OnCorrupt(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnNicDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now);
    void OnMark(uint32_t port, uint64_t queueBytes, int64_t now);
    void OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now);
    void FlushBursts();
    std::string QueuePairName(const ns3::RdmaQueuePair* qp) const;

    /// Whether the other end of a queue pair is in another rank.
    bool IsRemote(const ns3::RdmaQueuePair* qp) const
    {
        return !m_fabric.IsLocal(qp->GetPeerEndpoint());
    }

    Numbered Number(uint64_t id);
    void AddPending(QueuePair& state, const Pending& pending);
    void TakeBaseline(int64_t now);

    ns3::RdmaFabric& m_fabric;
    Options m_options;
    std::vector<std::string> m_tags;
    std::unordered_map<std::string, uint32_t> m_tagIndex;
    std::vector<std::string> m_endpointNames;
    std::vector<std::string> m_portNames;
    std::unique_ptr<results::FlowTable> m_flows;
    std::unique_ptr<TailAttribution> m_attribution;
    ns3::RdmaJourney::Resolver m_resolver;
    const ns3::RdmaJourney* m_journey{nullptr}; //!< of the message that is told next
    const MessageParts* m_parts{nullptr};       //!< of the message told last
    std::unique_ptr<QueuePairLog> m_queuePairLog;
    std::unique_ptr<LinkSampler> m_links;
    std::unique_ptr<results::EventLog> m_events;

    bool m_measuring;
    bool m_marked{false}; //!< a tag has carried WARMUP
    bool m_finished{false};
    int64_t m_measuredFrom{0};
    uint64_t m_posts{0}; //!< measured ones
    uint64_t m_outstanding{0};
    uint64_t m_failed{0};
    uint64_t m_pauses{0};
    Baseline m_baseline;
    /// By endpoint and number - 2: of m_senders; NONE: no message so far. Half of the ends only
    /// receive.
    std::vector<std::vector<uint32_t>> m_queuePairs;
    std::deque<QueuePair> m_senders; //!< what is found stays where it is
    std::vector<Pending> m_pool;
    uint32_t m_free{NONE};

    std::vector<std::unique_ptr<SwitchProbe>> m_switchProbes;
    std::unordered_map<const ns3::RdmaPort*, uint32_t> m_portIndex; //!< end of RdmaFabric
    std::vector<results::FlowRecord> m_records; //!< with several ranks: until they are merged
    std::vector<Burst> m_bursts;                //!< by end
    std::vector<uint32_t> m_bursting;           //!< ends with marks in the current millisecond
    int64_t m_burstEnd{0};
};

} // namespace dltrain

#endif /* TRACE_COLLECTOR_H */
