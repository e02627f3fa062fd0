/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/number-table.h"
#include "rdma-nic-attributes.h"
#include "rdma-nic-counters.h"
#include "rdma-nic-turns.h"
#include "rdma-nic-user.h"
#include "rdma-nic-watcher.h"
#include "rdma-path-source.h"
#include "rdma-queue-pair.h"
#include "rdma-remote-queue-pair.h"
#include "rdma-traffic-class.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/rdma-port.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class RdmaNicLimits;
class RdmaNicScan;
class RdmaPackets;
class RdmaLateCnps;
class RdmaPullQueue;

/**
 * \ingroup rdma
 * An RDMA network interface: queue pairs over one port.
 *
 * Arbitration: ACKs, NAKs and CNPs first (they have queues of their own in the port); then queue
 * pairs, the highest priority first, round robin packet by packet among those of one priority whose
 * rate and window let them. With the attribute Ets priorities take turns (RdmaNicTurns).
 */
class RdmaNic : public RdmaNicAttributes, public RdmaPortUser
{
  public:
    static TypeId GetTypeId();

    RdmaNic();
    ~RdmaNic() override;

    // Set-up -------------------------------------------------------------------------------------

    /// Reads the attributes ServiceLevels and Dscps, as Attach() does. \return what is wrong
    std::string ReadPriorityMaps();

    /// \param endpoint this interface's number in the fabric: what routes lead to
    void Attach(Ptr<RdmaPort> port, uint32_t endpoint);

    /// \return whether it is attached: attributes that are read then are refused from then on, and
    /// those of queue pairs hold for later ones
    bool IsRunning() const
    {
        return m_port != nullptr;
    }

    /// The user of queue pairs that have none of their own. \param user null: nobody
    void SetUser(RdmaNicUser* user);
    /// Is told of all messages. \param watcher kept; null: nobody \pre one of the two is: a NIC has
    /// one watcher, others connect to its trace sources
    void SetWatcher(RdmaNicWatcher* watcher);
    /// The prototype that every new queue pair's congestion control is forked from: before the
    /// first queue pair. Once the fabric is built, only one that adds the same header bytes
    /// (RdmaCongestionOps::GetHeaderBytes), and switches go on marking as they do; else it aborts.
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /// Before Attach. \return its number, from 1. \pre fewer than MOST_CLASSES
    uint8_t AddClass(const RdmaTrafficClass& trafficClass);

    static constexpr uint8_t MOST_CLASSES = 100; //!< besides class 0

    /// \return classes, class 0 among them
    uint8_t GetNClasses() const
    {
        return static_cast<uint8_t>(m_classes.size() + 1);
    }

    /// From which queue on switches mark, for RdmaCongestionState::markedFrom of queue pairs made
    /// from now on. \param at rate of the port that has this threshold; others' are in proportion.
    /// 0: all ports have this one
    void SetMarking(rdma::Bytes threshold, rdma::BitRate at);

    /// Queue pairs that are connected from now on ask for their path. \param paths kept; null:
    /// packets find their way by their flow's hash
    void SetPaths(const RdmaPathSource* paths);

    /**
     * Put the limits of the attributes into force (QpCacheEntries, PcieBandwidth, MessageRate and
     * what belongs to them): once the port is attached to its channel and before anything is
     * posted. \param losslessMask bit p: PFC covers priority p, so the NIC pauses rather than drops
     * \param largestFrameBytes Ethernet header to FCS
     * \return an error, or nothing
     */
    std::string StartLimits(uint8_t losslessMask, uint32_t largestFrameBytes);

    /// Put changed attributes of the limits into force. Aborts once the NIC has a queue pair, whose
    /// packets may be held by the limits there are.
    void RestartLimits();

    /// Ordinary packets share the port from now on. \param packets kept \return what is wrong, or
    /// nothing
    std::string SetPackets(Ptr<RdmaPackets> packets);

    /// \return null: its port is no NetDevice of the fabric
    Ptr<RdmaPackets> GetPackets() const;

    // For RdmaPackets:

    /// \param mask bit p: ordinary packets of priority p wait
    void SetPacketMask(uint8_t mask)
    {
        m_packetMask = mask;
        m_takesTurns = mask || m_turns;
        UpdatePullMask();
    }

    /// \return mask: bit p: queue pairs of priority p may have something to send
    uint8_t GetReadyPairs(int64_t now);
    /// What Pull does without ordinary packets.
    RdmaFrame* PullPairs(uint8_t pausedMask, int64_t now);
    /// The port is another's until it is idle again: for queue pairs whose rate lets them send
    /// before anything else asks.
    void WakePairs(int64_t now);

    /// Data packets of queue pairs that are made from now on tell what is left of their message:
    /// RdmaQueueDisc::RankOf.
    void TellRanks()
    {
        m_ranks = true;
    }

    /// \return null: none
    const RdmaNicLimits* GetLimits() const
    {
        return m_limits.get();
    }

    /**
     * Make a queue pair here; it cannot be used before Connect.
     * \param priority of its data packets, 0 to 7 \param number 2 to 2^24 - 1, that no other has
     * here; 0: the first that is free, from 2 + GetNQueuePairs() on \param trafficClass as AddClass
     * said, the same at both ends
     */
    RdmaQueuePair* CreateQueuePair(uint8_t priority, uint32_t number = 0, uint8_t trafficClass = 0);
    /// Give a queue pair another number, as if it were made anew. \pre it is in state RESET, and no
    /// other has the number here
    void Renumber(RdmaQueuePair* qp, uint32_t number);

    /// \return the queue pair of this number; null: there is none
    RdmaQueuePair* FindQueuePair(uint32_t number) const
    {
        RdmaQueuePair* const* qp = m_numbers.Find(number);
        return qp ? *qp : nullptr;
    }

    /// \param listener kept; null: what comes for queue pairs that do not exist is dropped
    void SetListener(RdmaNicListener* listener)
    {
        m_listener = listener;
    }

    /// The same with completion queues, as ibv_create_qp does: SENDs and WRITEs with immediate need
    /// receive requests from the beginning. In state RESET: see Connect or RdmaQueuePair::Modify.
    RdmaQueuePair* CreateQueuePair(const RdmaQueuePairInit& init);

    /// Connect two queue pairs of two NICs, as the connection manager would (no packets are
    /// exchanged): both are ready to send then. They recover from loss as their NICs do, if both do
    /// alike, else by go-back-N. Both NICs have the same Mtu.
    static void Connect(RdmaQueuePair* a, RdmaQueuePair* b);
    /// The same for one whose other end is in another process, which does it there with this end.
    static void ConnectRemote(RdmaQueuePair* qp, const RdmaRemoteQueuePair& peer);

    /// \return what the peer of a new queue pair of this number has to know of it
    RdmaRemoteQueuePair Describe(uint32_t number, uint8_t trafficClass = 0);

    /// \return by which it sends
    Ptr<RdmaPort> GetPort() const
    {
        return m_port;
    }

    /// For RdmaBond: send by this port of the node from now on. \param shared others send by it,
    /// too: whoever pulls asks all of them. \param spread ports over which a hash spreads the
    /// queue pairs, each of which pulls what is its own; empty: all are at `port`
    void SendBy(Ptr<RdmaPort> port, bool shared, std::vector<RdmaPort*> spread = {});

    /// Pull, of a NIC that may be spread.
    RdmaFrame* PullBy(RdmaPort* port, uint8_t pausedMask, int64_t now)
    {
        m_pulling = port;
        return Pull(port, pausedMask, now);
    }

    /// \return whether its Scheduling is scan
    bool IsScanning() const
    {
        return m_scan != nullptr;
    }

    uint32_t GetEndpoint() const
    {
        return m_endpoint;
    }

    /// \return of pulls, grants and credits; QUEUE_PAIRS: that of their queue pair
    uint8_t GetPullPriority() const
    {
        return m_pullPriority == QUEUE_PAIRS ? m_ackPriority : m_pullPriority;
    }

    uint32_t GetMtu() const
    {
        return m_mtu;
    }

    /// \return sizes of a class's frames, as of Attach
    const rdma::FrameSizes& GetFrameSizes(uint8_t trafficClass = 0) const
    {
        return trafficClass ? m_classes[trafficClass - 1]->sizes : m_sizes;
    }

    /// \return how a class's queue pairs recover, where both ends have it
    const RdmaTransportScheme& GetTransportScheme(uint8_t trafficClass) const;
    using RdmaNicAttributes::GetTransportScheme;

    /// \return what the congestion control of a class's queue pairs is forked from. After Attach
    const RdmaCongestionOps& GetPrototype(uint8_t trafficClass) const
    {
        const bool own = trafficClass && m_classes[trafficClass - 1]->prototype;
        return own ? *m_classes[trafficClass - 1]->prototype : *m_prototype;
    }

    uint32_t GetAckEvery() const
    {
        return m_ackEvery;
    }

    uint32_t GetNQueuePairs() const
    {
        return static_cast<uint32_t>(m_qps.size());
    }

    RdmaQueuePair* GetQueuePair(uint32_t index) const
    {
        return PeekPointer(m_qps[index]);
    }

    /// \return the congestion control of a queue pair: attribute CongestionOpsList
    Ptr<RdmaCongestionOps> GetCongestionOps(uint32_t index) const;

    /// \return RdmaTransportScheme::waitsFor of it
    const char* GetWaitedFor() const;

    /// \return what is wrong with that attribute, or nothing
    std::string CheckPathSelector() const;

    /// \return most packets in flight of a queue pair whose recovery bounds them: the attribute
    /// BdpCap, or what is computed from the fabric, at the first call
    uint64_t GetBdpCap(uint8_t trafficClass = 0);

    /// \return the attribute BaseRtt, or what is computed from the fabric, at the first call; ps
    int64_t GetBaseRtt(uint8_t trafficClass = 0);

    /// Instead of what the NIC would compute, which of a fabric that several ranks simulate sees a
    /// part only. (The attribute is of ns-3's resolution.) \param ps more than 0
    void SetBaseRtt(int64_t ps, uint8_t trafficClass = 0)
    {
        (trafficClass ? m_classes[trafficClass - 1]->baseRttPs : m_baseRttPs) = ps;
    }

    /// The same of a class's BDP cap. \param trafficClass from 1: class 0 has the attribute
    void SetBdpCap(uint64_t packets, uint8_t trafficClass)
    {
        m_classes[trafficClass - 1]->bdpCap = packets;
    }

    const RdmaNicCounters& GetCounters() const
    {
        return m_counters;
    }

    /// Note where the time of each message goes, and tell of it at the receiver: trace source
    /// Journey.
    void NoteJourneys();

    /// Record the path of each packet of messages posted from now on. The receiver's trace source
    /// Way tells it. Not of READs. \pre NoteJourneys \param wanted whose packets; kept by
    /// reference
    void NoteWays(const RdmaJourney::Wanted& wanted);

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;
    uint8_t GetPausing(const RdmaPort* port) const override;
    void Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const override;

    uint32_t GetDepths() const override
    {
        return DEPTHS;
    }

    /// A work request will soon be posted to a queue pair: what that needs. \param depth 0: of the
    /// queue pair; 1: of what it points to
    static void PrefetchPost(const RdmaQueuePair* qp, uint32_t depth);

  protected:
    void DoDispose() override;

  private:
    friend class RdmaDatagrams;
    friend class RdmaLateCnps;
    friend class RdmaNicLimits;
    friend class RdmaNicScan;
    friend class RdmaNicTurns;
    friend class RdmaQueuePair;
    friend class RdmaRequester;
    friend class RdmaResponder;

    class MessageTraceAccessor;

    static constexpr int64_t NEVER = INT64_MAX;

    struct Throttled
    {
        int64_t at;
        uint32_t index;
        uint32_t generation; //!< not the queue pair's any more: there is a newer one, or none
        RdmaQueuePair* qp;
    };

    /// Round robin of one priority.
    struct Ready
    {
        RdmaQueuePair* head{nullptr};
        RdmaQueuePair* tail{nullptr};
    };

    /// What Pull does without limits, and how a packet is chosen with them: its `time` is then when
    /// it is prepared.
    template <bool Limited, bool Spread = false>
    RdmaFrame* Choose(uint8_t pausedMask, int64_t now);
    /// \return the port of m_spread that a queue pair sends by
    RdmaPort* PortOf(const RdmaQueuePair& qp) const;
    /// Puts the first ready queue pair of m_pulling in front of its priority's. \param mask
    /// priorities \return those that have one
    uint8_t BringForward(uint8_t mask);
    /// Activate with m_scan, or with m_spread.
    void ActivateOther(RdmaQueuePair* qp, int64_t now);
    /// \param place among the sender's requests
    static void PrefetchRequest(const RdmaRequester::Sender& sender, std::size_t place);
    /// Queue pairs that send in turn find their state cold. Fetches what the next one will read,
    /// less of the second and still less of the third. \param next was fetched so before
    static void PrefetchTurns(const RdmaQueuePair* next);

    // The NIC's watcher and trace sources hear of a message before the queue pair's user does.

    void TellPost(RdmaQueuePair* qp, const RdmaWorkRequest& request)
    {
        if (m_watcher)
        {
            m_watcher->OnPost(qp, request);
        }
        if (m_traced)
        {
            m_postTrace(qp, request);
        }
    }

    void TellCompletion(RdmaQueuePair* qp,
                        const RdmaWorkRequest& request,
                        RdmaStatus status,
                        int64_t now)
    {
        if (m_watcher)
        {
            m_watcher->OnCompletion(qp, request, status, now);
        }
        if (m_traced)
        {
            m_completionTrace(qp, request, status, now);
            TraceDone(qp, request, status, now);
        }
    }

    void TellMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now)
    {
        if (m_watcher)
        {
            m_watcher->OnMessage(qp, message, now);
        }
        if (m_traced)
        {
            m_messageTrace(qp, message, now);
            TraceArrived(qp, message, now);
        }
    }

    void TellJourney(RdmaQueuePair* qp,
                     const RdmaMessage& message,
                     const RdmaJourney& journey,
                     int64_t now)
    {
        if (m_watcher)
        {
            m_watcher->OnJourney(qp, message, journey, now);
        }
        if (m_traced)
        {
            m_journeyTrace(qp, message, journey, now);
        }
    }

    void TellRate(RdmaQueuePair* qp, uint64_t bps, int64_t now)
    {
        m_rateTrace(qp, bps, now);
        if (m_traced)
        {
            TraceRate(qp, bps, now);
        }
    }

    /// A data packet is this host's now.
    void Deliver(RdmaFrame* frame, int64_t now);

    /// \return the queue pair that a frame is for, made now if somebody listens; null: none
    RdmaQueuePair* FindReceiver(const RdmaFrame& frame, int64_t now)
    {
        RdmaQueuePair* qp = FindQueuePair(frame.destQp);
        return __builtin_expect(qp != nullptr, 1) ? qp : AskListener(frame, now);
    }

    RdmaQueuePair* AskListener(const RdmaFrame& frame, int64_t now);
    void UpdatePullMask();
    void PushReady(RdmaQueuePair* qp);
    RdmaQueuePair* PopReady(uint8_t priority);
    void Throttle(RdmaQueuePair* qp, int64_t now);
    /// A throttled queue pair may send sooner than it was to.
    void Rethrottle(RdmaQueuePair* qp, int64_t now);
    void ReleaseThrottled(int64_t now);
    void WakeForThrottled(int64_t now);
    /// A queue pair may have something to send again.
    void Activate(RdmaQueuePair* qp, int64_t now);
    /// \return what a queue pair may send at, at most
    uint64_t GetMaxRate(uint8_t trafficClass = 0) const;
    rdma::FrameSizes MakeSizes(const RdmaCongestionOps& prototype) const;
    /// \return most unacknowledged payload at a rate, or 0: no limit (bytes)
    uint64_t GetWindowAt(uint64_t rateBps) const;

    /// What an ACK, NAK or CNP says.
    struct Answer
    {
        RdmaOpcode opcode;
        uint8_t flags;
        uint32_t psn;
        uint32_t msn;
        uint32_t syndrome;
        uint32_t label; //!< label of the frame that it answers
    };

    /// \param data what it answers: gives away what congestion control needs
    void SendControl(RdmaQueuePair* qp, Answer answer, int64_t now, RdmaFrame* data = nullptr);
    /// A CNP to the other end, CnpDelay from now. \param label of the packet that was marked
    void SendCnp(RdmaQueuePair* qp, uint32_t label, int64_t now);
    /// \return how much later than its rate says a packet starts, drawn anew, ps
    int64_t DrawJitter();
    /// \return what it owes those who send to it; made when first asked for
    RdmaPullQueue& GetPulls();
    /// \return attributes of a way to recover from loss, made when first asked for; null: it has
    /// none
    Object* GetTransportParameters(const RdmaTransportScheme& scheme);
    /// \return the queue pair whose other end is this; null: there is none
    RdmaQueuePair* FindByPeer(uint32_t endpoint, uint32_t number);
    /// A switch has sent a packet back.
    void OnReturned(const RdmaFrame& frame, int64_t now);
    /// What a data frame has collected goes into its ACK.
    void Echo(const RdmaQueuePair* qp, RdmaFrame* data, RdmaFrame* ack);
    /// \param staticRate of the path (RdmaPathSource::Path::rateBps) or of the connection. \return
    /// of a queue pair made now
    RdmaQueuePairProfile* GetProfile(uint64_t staticRate, uint8_t trafficClass);
    /// A connection recovers as both ends do; else it goes on with go-back-N.
    void Agree(RdmaQueuePair* qp, const RdmaTransportScheme& theirs, uint64_t peerBdpCap);
    void OnWake();

    // What a packet touches, by cache line from the RdmaPortUser on; all of it is fetched with the
    // NIC (NodeWindowUnit::PrefetchPorts and Prefetch).
    Ptr<RdmaPort> m_port;
    uint32_t m_endpoint{0};
    uint8_t m_readyMask{0};
    uint8_t m_preparedMask{0}; //!< with limits: priorities of which a packet is prepared
    uint8_t m_packetMask{0};   //!< priorities of which ordinary packets wait
    uint8_t m_ackPriority;     //!< QUEUE_PAIRS: each its queue pair's
    uint8_t m_cnpPriority;
    uint8_t m_pullPriority; //!< QUEUE_PAIRS: as ACKs
    bool m_traced{false}; //!< somebody has connected to a trace source of messages, or SendingRate
    bool m_takesTurns{false}; //!< m_packetMask is not 0, or m_turns not null
    uint32_t m_mtu;
    uint32_t m_ackEvery;
    const RdmaPathSource* m_paths{nullptr};
    std::unique_ptr<RdmaNicLimits> m_limits; //!< null: none
    uint8_t m_limitsLossless = 0;            //!< StartLimits()
    uint8_t m_sharedMask{0};                 //!< 0xff: the port is always to ask (SendBy)
    uint32_t m_limitsLargest = 0;            //!< the same; 0: not started
    bool m_isOther{false};                   //!< m_scan is not null, or m_spread not empty
    std::unique_ptr<RdmaNicScan> m_scan;     //!< null: round robin
    std::vector<RdmaPort*> m_spread;         //!< SendBy
    RdmaPort* m_pulling{nullptr};            //!< of m_spread
    rdma::FrameSizes m_sizes;
    int64_t m_timeUnit{1};                       //!< the port's
    bool m_plainPace{true};                      //!< m_timeUnit is 1, and PaceJitter 0
    rdma::NumberTable<RdmaQueuePair*> m_numbers; //!< m_qps by number
    RdmaNicWatcher* m_watcher{nullptr};          //!< null: nobody
    RdmaNicUser* m_user{nullptr};
    bool m_journeys{false};                                               //!< journeys are noted
    std::vector<std::unique_ptr<RdmaRequester::Sender>> m_restingSenders; //!< whose work is done
    std::vector<Throttled> m_throttled;                                   //!< min-heap
    int64_t m_wakeDue{NEVER};
    RdmaTimer<RdmaNic, &RdmaNic::OnWake> m_wakeEvent;
    std::array<Ready, RdmaPort::PRIORITIES> m_ready;
    RdmaNicCounters m_counters;

    // What messages seldom and packets never touch.
    std::vector<std::unique_ptr<RdmaQueuePairProfile>>
        m_profiles; //!< one a class; more if paths have rates
    std::vector<Ptr<RdmaQueuePair>> m_qps;
    RdmaNicListener* m_listener{nullptr};
    const RdmaJourney::Wanted* m_ways{nullptr}; //!< null: of no packets
    std::unique_ptr<RdmaPullQueue> m_pulls;     //!< null: none has been owed
    std::unique_ptr<RdmaNicTurns> m_turns;      //!< null: the highest priority first
    bool m_ranks{false};                        //!< TellRanks
    std::unique_ptr<RdmaLateCnps> m_lateCnps;   //!< null: CNPs go at once
    uint64_t m_jitterDraws{0};                  //!< where the draws of PaceJitter stand
    Ptr<RdmaPackets> m_packets;                 //!< null: none

    int64_t m_nakIntervalPs{0};
    int64_t m_baseRttPs{0};       //!< 0: not computed yet
    Ptr<RdmaTransport> m_goBackN; //!< of all queue pairs that have no other
    Ptr<Object>
        m_transportParameters; //!< those of m_lossRecovery; null: none, or not asked for yet
    rdma::NumberTable<RdmaQueuePair*> m_returnedOf; //!< by what a returned packet says of its flow
    std::array<uint8_t, 16> m_priorityOfServiceLevel{};
    std::array<uint8_t, RdmaPort::PRIORITIES> m_dscpOfPriority{};
    Ptr<RdmaCongestionOps> m_prototype;

    /// What a NIC has of a class, besides class 0.
    struct Class : RdmaTrafficClass
    {
        rdma::FrameSizes sizes;
        int64_t baseRttPs{0}; //!< 0: not computed yet
        uint64_t bdpCap{0};   //!< the same
    };

    std::vector<std::unique_ptr<Class>> m_classes; //!< from class 1 on; they stay where they are
    uint64_t m_bdpCapGiven{0};                     //!< attribute BdpCap, as of Attach
    uint64_t m_chance{0};                          //!< seed of its queue pairs' path selectors
    rdma::Bytes m_marking{0};                      //!< 0: none is known
    rdma::BitRate m_markingAt{0};
};

} // namespace ns3

#endif /* RDMA_NIC_H */
