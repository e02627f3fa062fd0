/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRACE_COLLECTOR_H
#define TRACE_COLLECTOR_H

#include "event-collector.h"
#include "fabric-baseline.h"
#include "journey-collector.h"
#include "link-sampler.h"
#include "pending-messages.h"
#include "queue-pair-log.h"
#include "reports/attribution/link-notes.h"
#include "reports/tables/flow-table.h"
#include "scale-up-tally.h"
#include "scenarios/job/scenario.h"
#include "scenarios/job/traffic-class.h"

#include "ns3/rdma-fabric-helper.h"

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

class RankNotes;

/**
 * Listens to a fabric's trace sources and writes flows.csv. Its members LinkSampler, QueuePairLog,
 * EventCollector and JourneyCollector write links.csv, queue_pairs.csv, network_events.log,
 * attribution.csv and paths.csv. It never touches the simulation, and nothing in it runs per
 * packet.
 *
 * RdmaWorkRequest::id is a reports::MessageId, with a number that Tag gave.
 *
 * FCT of a message = it arrived whole at the receiver, or was acknowledged whole at the sender,
 * minus it was posted; for a READ, its last byte has come to the poster, and its source is the
 * other end. PendingMessages match them to their posts.
 */
class TraceCollector : public ns3::RdmaNicWatcher
{
  public:
    struct Options
    {
        std::string out;                 //!< folder; empty: no files
        std::vector<std::string> inputs; //!< what the run reads: it stays, if it is in that folder
        uint64_t seed{1};                //!< seed of the sample in flows.csv
        bool warmup{false};              //!< nothing is measured before StartMeasuring
        bool attribution{false};         //!< note where the time of messages goes (TailAttribution)
        std::vector<std::string> queuePairs; //!< patterns, for queue_pairs.csv; none: no file
        std::vector<std::string> paths;      //!< the same for paths.csv; needs `attribution`
        bool atSender{false}; //!< a message is complete when its last ACK is at the sender
        /// The law by which messages move, in words. Empty: by packets. With a law nothing is known
        /// of links and devices, and there are no files about them.
        std::string law;
        bool links{true}; //!< something may travel, so that there is a links.csv
        //! With several Ranks: notes that report all messages to the first one alone. Null: each
        //! rank knows the messages that come to it.
        RankNotes* notes{nullptr};
        std::vector<scenario::TrafficClass> classes; //!< by number; none: there is no other than 0
        std::size_t flowRows{1000000};
        int64_t linkIntervalPs{100000000};
        std::size_t linkRows{200000};
        scenario::WatchSpec watch; //!< ports of watch.csv
        uint64_t eventLinesPerKind{20000};
    };

    /// Old results go: make it before other outputs are opened.
    TraceCollector(ns3::RdmaFabric& fabric, const Options& options);
    ~TraceCollector() override;

    /// \return the index of a tag, a new one if need be
    uint32_t Tag(const std::string& name);

    /// The same of messages that are summed up apart. \param owner reports::FlowTable's
    uint32_t Tag(const std::string& name, uint32_t owner);

    /// Messages with this tag are a collective's: its chunks follow one another.
    void MarkCollective(uint32_t tag)
    {
        m_collectiveTags.resize(
            std::max<std::size_t>(m_collectiveTags.size(), tag + std::size_t{1}));
        m_collectiveTags[tag] = true;
    }

    /// Before the first message. \param name of a job, or of traffic beside one \param aside
    /// reports::FlowTable::AddOwner \return its number
    uint32_t AddOwner(const std::string& name, bool aside);

    /// Flows from now on do not meet earlier ones: flows on one link at different times are no
    /// collision.
    void Next();

    /// \return null if messages are not attributed
    const reports::FlowWays* GetFlowWays() const
    {
        return m_journeys ? &m_journeys->GetFlowWays() : nullptr;
    }

    /// Notes on links for the results: to be filled at the end.
    reports::LinkNotes& GetLinkNotes()
    {
        return m_linkNotes;
    }

    const reports::LinkNotes& GetLinkNotes() const
    {
        return m_linkNotes;
    }

    /// \return what things are called on the fabric's links and by its transport
    const rdma::LinkWords& GetWords() const
    {
        return m_words;
    }

    /// Ordinary packets are this owner's (AddOwner).
    void SetOwnerOfOrdinary(uint32_t owner)
    {
        if (m_journeys)
        {
            m_journeys->SetOwnerOfOrdinary(owner);
        }
    }

    /// The run is over: what interference has to know of ordinary packets.
    void NoteOrdinary(int64_t nowPs)
    {
        if (m_journeys)
        {
            m_journeys->NoteOrdinary(m_baseline, nowPs);
        }
    }

    /// \return null if there are no owners, or attribution is not noted
    const reports::Interference* GetInterference() const
    {
        return m_journeys ? m_journeys->GetInterference() : nullptr;
    }

    /// \return names by index; grows
    const std::vector<std::string>& GetTags() const
    {
        return m_tags;
    }

    /// This queue pair is connected, and nothing was posted to it so far. \param from, to ranks
    /// whose messages they are; FlowRecord::NO_GPU: no GPU's
    void BeginConnection(const ns3::RdmaQueuePair& sender, uint32_t from, uint32_t to);
    /// All that was posted to it is done, and its number will not come again.
    void EndConnection(const ns3::RdmaQueuePair& sender);
    /// Between the nodes' events: messages in flight on this connection never end.
    void AbandonConnection(const ns3::RdmaQueuePair& sender);
    /// The other end of a connection has been made: its first packet is here.
    void OnAccepted(ns3::RdmaQueuePair& qp);

    /// Warm-up is over: all statistics count from here, messages from those posted from here on.
    void StartMeasuring(int64_t nowPs);

    /// With several Ranks: called whenever frames have come from another one.
    void ListenToArrivals(std::function<void()> listener)
    {
        m_onArrival = std::move(listener);
    }

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

    // Messages that move without packets or as TCP's, of which no NIC tells.

    /// A message is posted. \param id as in a work request
    PendingMessages::Message BeginMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation);
    /// The same as NodeWindows::NoteCall tells it; the link sampler is armed in the event itself.
    PendingMessages::Message CountMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation);
    /// It is complete. \param record what the message does not say itself
    void EndMessage(const PendingMessages::Message& message, reports::FlowRecord record);
    /// It will never be complete.
    void FailMessage();
    // And of UDP's, of which parts may come.

    /// Notes a message that was sent in this time, whether or not it arrives: for interference.
    void NoteSending(int64_t beginPs, int64_t endPs, uint64_t bytes);
    /// A message has come whole: as CountMessage and EndMessage, without interference.
    void AddMessage(uint64_t id, int64_t posted, reports::FlowRecord record);

    bool HasPackets() const
    {
        return m_options.law.empty();
    }

    const std::string& GetLaw() const
    {
        return m_options.law;
    }

    /// For a network without packets that knows its links: counts bytes that have crossed one,
    /// headers included.
    /// \param end end in the fabric: the link out of it
    void CountCarried(uint32_t end, uint64_t wireBytes)
    {
        if (m_carried.empty())
        {
            m_carried.resize(m_fabric.GetNEnds());
        }
        m_carried[end] += wireBytes;
    }

    /// \return by end, since the run began; empty: CountCarried was never called
    const std::vector<uint64_t>& GetCarried() const
    {
        return m_carried;
    }

    bool IsCompleteAtSender() const
    {
        return m_options.atSender;
    }

    ns3::RdmaFabric& GetFabric() const
    {
        return m_fabric;
    }

    /// For collectives that are recalled instead of sent. \param ranks of all jobs
    RecalledLoads& GetRecalledLoads(uint32_t ranks, const coll::RecallSettings& settings);

    /// \return bytes of measured messages that were recalled
    uint64_t GetRecalledBytes() const
    {
        return m_recalled ? m_recalled->GetMessageBytes() - m_baseline.recalledMessages : 0;
    }

    /// \return null: nobody has asked for them
    RecalledLoads* FindRecalledLoads() const
    {
        return m_recalled.get();
    }

    ScaleUpTally& GetScaleUpTally()
    {
        return m_scaleUp;
    }

    const ScaleUpTally& GetScaleUpTally() const
    {
        return m_scaleUp;
    }

    LinkSampler& GetLinkSampler()
    {
        return *m_links;
    }

    /// \return null if no ports are watched
    const PortWatch* GetWatch() const
    {
        return m_watch.get();
    }

    EventCollector& GetEvents()
    {
        return *m_events;
    }

    const EventCollector& GetEvents() const
    {
        return *m_events;
    }

    /// \return classes by number; none: there is no other than 0
    const std::vector<scenario::TrafficClass>& GetClasses() const
    {
        return m_options.classes;
    }

    const reports::FlowTable& GetFlows() const
    {
        return *m_flows;
    }

    /// \return null if no queue pairs are chosen
    const QueuePairLog* GetQueuePairLog() const
    {
        return m_queuePairLog.get();
    }

    /// \return null if no paths are chosen
    const reports::PathTable* GetPaths() const
    {
        return m_journeys ? m_journeys->GetPaths() : nullptr;
    }

    /// \return null if it is not noted
    const reports::TailAttribution* GetAttribution() const
    {
        return m_journeys ? &m_journeys->GetAttribution() : nullptr;
    }

    /// \return the parts of the message that arrives at an endpoint now, to be asked for by
    /// RdmaNicUser::OnMessage; null: not known
    const reports::MessageParts* PartsAt(uint32_t endpoint) const
    {
        return m_arriving.empty() ? nullptr : m_arriving[endpoint].parts;
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

    /// \return false while the warm-up lasts: there are no statistics yet
    bool IsMeasuring() const
    {
        return m_measuring;
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

    /// The counters when measuring started.
    const FabricBaseline& GetBaseline() const
    {
        return m_baseline;
    }

  private:
    void NameAll();
    void Listen();
    void NoteJourneys();
    PendingMessages::Sender& Find(uint32_t endpoint, uint32_t number);

    // Events of hosts have two parts. On... is called in the event and makes a note. Tell... gets
    // the note, in the order of time over all hosts (NodeWindows::Note).

    /// An end of a connection.
    struct End
    {
        uint32_t endpoint;
        uint32_t number;
        uint32_t peer; //!< endpoint
        uint32_t peerNumber;
    };

    struct Post
    {
        End end;
        uint64_t id;
        int64_t posted; //!< ps
        ns3::RdmaOperation operation;
    };

    struct Connection
    {
        End end;
        uint32_t from;
        uint32_t to;
    };

    /// The completion of a message.
    struct Completion
    {
        End end; //!< where it was posted
        uint64_t bytes;
        int64_t time; //!< ps
        bool hasImmediate;
        bool read;
        uint8_t trafficClass;
    };

    static Completion CompletionOf(const ns3::RdmaQueuePair& qp,
                                   const ns3::RdmaMessage& message,
                                   int64_t now);

    /// The message that arrives at an endpoint: of its events alone, and so in a cache line of its
    /// own.
    struct alignas(64) Arriving
    {
        const reports::MessageParts* parts = nullptr;
        bool isNew = false;                         //!< OnMessage has not been called for it
        std::unique_ptr<reports::MessageParts> own; //!< where no note has them
    };

    /// One whose time is divided.
    struct Divided
    {
        Divided(TraceCollector& who, const Completion& what)
            : collector(who),
              completion(what)
        {
        }

        void operator()() const
        {
            collector.HearComplete(completion, &parts);
        }

        void Prefetch(uint32_t depth) const
        {
            collector.Prefetch(completion, depth);
        }

        TraceCollector& collector;
        Completion completion;
        reports::MessageParts parts;
    };

  public:
    /// Prefetch functions for NodeWindows::Note.
    void Prefetch(const Post& post, uint32_t depth) const;
    void Prefetch(const Completion& completion, uint32_t depth) const;

  private:
    struct Status
    {
        End end;
        bool success;
    };

    static End EndOf(const ns3::RdmaQueuePair& qp);
    void OnPost(ns3::RdmaQueuePair* qp, const ns3::RdmaWorkRequest& request) override;
    void TellPost(const Post& post);
    void TellBegin(const Connection& begun);
    void TellEnd(const End& ended);
    void TellAccepted(const QueuePairLog::Sight& accepted);
    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now) override;
    void OnJourney(ns3::RdmaQueuePair* qp,
                   const ns3::RdmaMessage& message,
                   const ns3::RdmaJourney& journey,
                   int64_t now) override;
    void TellPlain(const Completion& completion);
    void OnCompletion(ns3::RdmaQueuePair* qp,
                      const ns3::RdmaWorkRequest& request,
                      ns3::RdmaStatus status,
                      int64_t now) override;
    void TellStatus(const Status& status);
    void OnRetry(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now);
    void TellError(const End& failed);

    // With Options::notes Tell... passes it on, and Hear... is for the first rank.

    void ListenToNotes();
    void HearPost(const Post& post);
    void HearBegin(const Connection& begun);
    void HearEnd(const End& ended);
    /// The oldest message under way of this queue pair, or its oldest READ. \param parts null: not
    /// noted
    void HearComplete(const Completion& completion, const reports::MessageParts* parts);
    void HearPlain(const Completion& completion);
    /// \return ideal completion time, ps, of a message \param state remembers it
    int64_t IdealOf(const Completion& completion,
                    ns3::RdmaOperation operation,
                    PendingMessages::Sender& state) const;
    /// One message less is under way.
    void EndOne();

    /// Whether the other end of a queue pair is in another rank.
    bool IsRemote(const End& end) const
    {
        return !m_fabric.IsLocal(end.peer);
    }

    void MergeRecords();
    /// A message that no NIC tells of, if it counts.
    void AddMeasured(const PendingMessages::Message& message, reports::FlowRecord& record);
    PendingMessages::Message Number(uint64_t id, int64_t posted, ns3::RdmaOperation operation);

    ns3::RdmaFabric& m_fabric;
    Options m_options;
    std::vector<std::string> m_tags;
    std::vector<bool> m_collectiveTags; //!< by tag; later ones are none
    std::unordered_map<std::string, uint32_t> m_tagIndex;
    std::vector<std::string> m_endpointNames;
    std::vector<std::string> m_portNames;
    std::unique_ptr<reports::FlowTable> m_flows;
    reports::LinkNotes m_linkNotes;
    rdma::LinkWords m_words{rdma::kEthernetWords};
    std::unique_ptr<JourneyCollector> m_journeys; //!< null: journeys are not noted
    std::vector<Arriving> m_arriving;             //!< by endpoint; empty: the same
    std::unique_ptr<QueuePairLog> m_queuePairLog;
    std::unique_ptr<RecalledLoads> m_recalled; //!< null: nobody has asked for them
    ScaleUpTally m_scaleUp;
    std::unique_ptr<LinkSampler> m_links;
    std::unique_ptr<PortWatch> m_watch; //!< null: no ports are watched
    std::unique_ptr<EventCollector> m_events;

    bool m_measuring;
    bool m_marked{false}; //!< a tag has carried MessageId::WARMUP
    bool m_finished{false};
    std::function<void()> m_onArrival;
    uint64_t m_posts{0}; //!< measured ones
    uint64_t m_outstanding{0};
    uint64_t m_failed{0};
    FabricBaseline m_baseline;
    std::vector<uint64_t> m_carried; ///< by end
    PendingMessages m_pending;
    std::unordered_map<const ns3::RdmaPort*, uint32_t> m_portIndex; //!< end of RdmaFabric
    std::vector<reports::FlowRecord> m_records; //!< with several ranks: until they are merged

    /// The kinds of notes in RankNotes.
    struct Kinds
    {
        uint16_t post;
        uint16_t begin;
        uint16_t end;
        uint16_t complete;
    };

    Kinds m_kinds{};
};

} // namespace dltrain

#endif /* TRACE_COLLECTOR_H */
