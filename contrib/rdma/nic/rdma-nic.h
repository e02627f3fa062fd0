/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/number-table.h"
#include "rdma-nic-watcher.h"
#include "rdma-path-selector.h"
#include "rdma-queue-pair.h"

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
class RdmaPullQueue;

/**
 * \ingroup rdma
 * Where the subnet decides how packets go: InfiniBand's path records (InfiniBand Architecture 1,
 * 15.2.5.16), as the communication manager asks the subnet's administration for them.
 */
class RdmaPathSource
{
  public:
    struct Path
    {
        RdmaRoute route{RdmaRoute::None()};
        uint8_t serviceLevel{0};
        uint8_t lane{0};     //!< VL at the sender's port
        uint64_t rateBps{0}; //!< static rate: most that a queue pair sends at; 0: as its port
    };

    virtual ~RdmaPathSource() = default;
    /// \param serviceLevel asked for \param entropy chooses among several paths: the same one gives
    /// the same path
    virtual Path GetPath(uint32_t from,
                         uint32_t to,
                         uint8_t serviceLevel,
                         uint32_t entropy) const = 0;
};

/**
 * \ingroup rdma
 * Whoever posts to queue pairs and wants to hear how it went. Several may share a NIC, each with
 * queue pairs of its own (RdmaQueuePair::SetUser).
 */
class RdmaNicUser
{
  public:
    virtual ~RdmaNicUser() = default;
    /// At the sender: a work request is acknowledged whole, or failed. \param now ps
    virtual void OnCompletion(RdmaQueuePair* qp,
                              const RdmaWorkRequest& request,
                              RdmaStatus status,
                              int64_t now) = 0;
    /// At the receiver: a message has arrived whole. \param now ps
    virtual void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) = 0;

    /// How often Prefetch is called for one queue pair.
    static constexpr uint32_t DEPTHS = RdmaPortUser::DEPTHS - 2;

    /// One of the calls above may soon come: PrefetchLine what it will need, in turns of growing
    /// depth, each a while before the next, which looks at what the one before has fetched.
    /// \param depth 0 to DEPTHS - 1
    virtual void Prefetch(const RdmaQueuePair* /* qp */, uint32_t /* depth */) const
    {
    }
};

/**
 * \ingroup rdma
 * Counters of a NIC; they only grow.
 */
struct RdmaNicCounters
{
    // What most packets count stands together:
    uint64_t dataPackets{0}; //!< sent, retransmissions included
    uint64_t dataBytes{0};   //!< payload sent, retransmissions included
    uint64_t acksSent{0};
    uint64_t messagesReceived{0};
    uint64_t ecnMarkedReceived{0};
    uint64_t cnpsSent{0};
    uint64_t cnpsReceived{0};
    uint64_t retransmittedPackets{0};
    uint64_t naksSent{0};
    uint64_t timeouts{0};
    uint64_t failedQps{0};
    uint64_t outOfOrderReceived{0}; //!< data packets behind one that had not come
    uint64_t outOfOrderDropped{0};  //!< of these: not kept
    uint64_t largestReorder{0};     //!< PSNs that one of them was ahead; not a sum
    uint64_t largestHeldBytes{0};   //!< payload that a queue pair kept at a time; not a sum
    uint64_t pathChanges{0};        //!< with a path selector: packets with another entropy than the
                                    //!< one before
    uint64_t duplicatesReceived{0};
    uint64_t readRequests{0}; //!< sent, repeated ones included
    uint64_t rnrNaksSent{0};  //!< among naksSent
    uint64_t rnrNaksReceived{0};
    uint64_t datagramsDropped{0}; //!< UD: no receive request, or too short a one
    uint64_t notReadyDropped{0};  //!< to a queue pair in no state to receive
    // With switches that trim only:
    uint64_t pullsSent{0};
    uint64_t trimmedReceived{0};  //!< packets that have come without their payload
    uint64_t returnedReceived{0}; //!< own packets that a switch has sent back
    uint64_t requestsToSend{0};   //!< sent
    // With limits (RdmaNicLimits) only:
    uint64_t qpCacheMisses{0};
    uint64_t receiveBufferDrops{0}; //!< data packets
    uint64_t nicPauses{0};          //!< times the NIC paused its peer, refreshes not counted
};

/**
 * \ingroup rdma
 * What a queue pair must know of the other end, which may be in another process. All of it follows
 * from the fabric and from the order in which queue pairs are made, so the processes need not talk.
 */
struct RdmaRemoteQueuePair
{
    uint32_t endpoint{0};
    uint32_t number{0};                          //!< RdmaQueuePair::GetNumber
    uint32_t initialPsn{0};                      //!< RdmaNic::InitialPsn of its NIC
    const RdmaRecoveryScheme* recovery{nullptr}; //!< of its NIC; null: go-back-N
    uint64_t bdpCap{0};                          //!< of its NIC; only with a recovery that has one
    // UDP source ports of packets from here, and of those from there; 0: they follow from the
    // numbers.
    uint16_t sourcePort{0};
    uint16_t peerSourcePort{0};
    uint64_t maxRateBps{
        0}; //!< most that this end sends at, on the wire; 0: as NIC and path have it
};

/**
 * \ingroup rdma
 * Is asked when a request comes for a queue pair that does not exist: the passive side of a
 * connection that the other end has opened without a word (RdmaConnections).
 */
class RdmaNicListener
{
  public:
    virtual ~RdmaNicListener() = default;
    /// \param from endpoint \param number that the request is for. \return the queue pair, made
    /// now and connected; null: nobody wants it, and the request is dropped
    virtual RdmaQueuePair* OnRequest(RdmaNic* nic, uint32_t from, uint32_t number, int64_t now) = 0;
};

/**
 * \ingroup rdma
 * An RDMA network interface: queue pairs over one port.
 *
 * Arbitration: ACKs, NAKs and CNPs first (they have queues of their own in the port); then queue
 * pairs, the highest priority first, round robin packet by packet among those of one priority whose
 * rate and window let them.
 */
class RdmaNic : public Object, public RdmaPortUser
{
  public:
    static TypeId GetTypeId();

    /// How queue pairs take turns.
    enum Scheduling
    {
        ROUND_ROBIN,
        SCAN //!< RdmaNicScan: HPCC's ns-3 code
    };

    static constexpr uint8_t QUEUE_PAIRS = RdmaPort::PRIORITIES; //!< of AckPriority

    RdmaNic();
    ~RdmaNic() override;

    // Set-up -------------------------------------------------------------------------------------

    /// Reads the attributes ServiceLevels and Dscps, as Attach() does. \return what is wrong
    std::string ReadPriorityMaps();

    /// \param endpoint this interface's number in the fabric: what routes lead to
    void Attach(Ptr<RdmaPort> port, uint32_t endpoint);
    /// Of the queue pairs that have no user of their own. \param user null: nobody
    void SetUser(RdmaNicUser* user);
    /// Is told of all messages. \param watcher kept; null: nobody \pre one of the two is: a NIC has
    /// one watcher, others connect to its trace sources
    void SetWatcher(RdmaNicWatcher* watcher);
    /// The prototype that every new queue pair's congestion control is forked from.
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

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
        UpdatePullMask();
    }

    /// \return mask: bit p: queue pairs of priority p may have something to send
    uint8_t GetReadyPairs(int64_t now);
    /// What Pull does without ordinary packets.
    RdmaFrame* PullPairs(uint8_t pausedMask, int64_t now);
    /// The port is another's until it is idle again: for queue pairs whose rate lets them send
    /// before anything else asks.
    void WakePairs(int64_t now);

    /// Reads "a:b,c:d" into a table. \param attribute its full name \return what is wrong
    static std::string ParseMap(const std::string& text,
                                const std::string& attribute,
                                uint8_t* table,
                                uint32_t keys,
                                uint32_t values);

    /// \return null: none
    const RdmaNicLimits* GetLimits() const
    {
        return m_limits.get();
    }

    /**
     * Make a queue pair here; it cannot be used before Connect.
     * \param priority of its data packets, 0 to 7 \param number 2 to 2^24 - 1, that no other has
     * here; 0: the first that is free, from 2 + GetNQueuePairs() on
     */
    RdmaQueuePair* CreateQueuePair(uint8_t priority, uint32_t number = 0);
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
    RdmaRemoteQueuePair Describe(uint32_t number);

    Ptr<RdmaPort> GetPort() const
    {
        return m_port;
    }

    uint32_t GetEndpoint() const
    {
        return m_endpoint;
    }

    uint32_t GetMtu() const
    {
        return m_mtu;
    }

    /// \return sizes of its frames, as of Attach
    const rdma::FrameSizes& GetFrameSizes() const
    {
        return m_sizes;
    }

    uint32_t GetAckEvery() const
    {
        return m_ackEvery;
    }

    /// \return the attribute PullRate
    double GetPullRate() const
    {
        return m_pullRate;
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

    /// \return the attribute LossRecovery
    const RdmaRecoveryScheme& GetLossRecovery() const;
    /// \return RdmaRecoveryScheme::waitsFor of it
    const char* GetWaitedFor() const;

    /// The attribute PathSelector. \param name "": none
    void SetPathSelector(std::string name);
    std::string GetPathSelectorName() const;

    /// \return what is wrong with that attribute, or nothing
    std::string CheckPathSelector() const;

    /// \return most packets in flight of a queue pair whose recovery bounds them: the attribute
    /// BdpCap, or what is computed from the fabric, at the first call
    uint64_t GetBdpCap();

    /// \return the attribute BaseRtt, or what is computed from the fabric, at the first call; ps
    int64_t GetBaseRtt();

    /// Instead of what the NIC would compute, which of a fabric that several ranks simulate sees a
    /// part only. (The attribute is of ns-3's resolution.) \param ps more than 0
    void SetBaseRtt(int64_t ps)
    {
        m_baseRttPs = ps;
    }

    const RdmaNicCounters& GetCounters() const
    {
        return m_counters;
    }

    /// Note where the time of each message goes, and tell of it at the receiver: trace source
    /// Journey.
    void NoteJourneys();

    /// Of messages posted from now on, note the way of each packet, and tell of it at the receiver:
    /// trace source Way. Not of READs. \pre NoteJourneys \param wanted whose packets; kept by
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

    typedef void (*PostTracedCallback)(RdmaQueuePair* qp, const RdmaWorkRequest& request);
    typedef void (*CompletionTracedCallback)(RdmaQueuePair* qp,
                                             const RdmaWorkRequest& request,
                                             RdmaStatus status,
                                             int64_t now);
    typedef void (*MessageTracedCallback)(RdmaQueuePair* qp,
                                          const RdmaMessage& message,
                                          int64_t now);
    typedef void (*JourneyTracedCallback)(RdmaQueuePair* qp,
                                          const RdmaMessage& message,
                                          const RdmaJourney& journey,
                                          int64_t now);
    /// (queue pair that has a packet, where it came along; of RdmaJourney::wayOnly or not, ps)
    typedef void (*WayTracedCallback)(RdmaQueuePair* qp, const RdmaJourney& journey, int64_t now);
    typedef void (*PsnTracedCallback)(RdmaQueuePair* qp, uint64_t psn, int64_t now);
    /// Of MessageDone: (queue pair that posted, bytes of payload, posted, acknowledged whole or, of
    /// a READ, here whole). Times as RdmaClock::At has them
    typedef void (*MessageDoneTracedCallback)(Ptr<const RdmaQueuePair> qp,
                                              uint64_t bytes,
                                              Time start,
                                              Time end);
    /// Of MessageArrived: (receiving queue pair, bytes of payload, last packet's arrival)
    typedef void (*MessageArrivedTracedCallback)(Ptr<const RdmaQueuePair> qp,
                                                 uint64_t bytes,
                                                 Time end);
    /// Of SendingRate: (queue pair, rate on the wire, from when)
    typedef void (*SendingRateTracedCallback)(Ptr<const RdmaQueuePair> qp, DataRate rate, Time at);
    /// Of Rate (bit/s) and Window (bytes).
    typedef void (*RateTracedCallback)(RdmaQueuePair* qp, uint64_t bps, int64_t now);
    /// (the NIC's port, frame, ps)
    typedef void (*ReceiveDropTracedCallback)(const RdmaPort* port,
                                              const RdmaFrame* frame,
                                              int64_t now);

  protected:
    void DoDispose() override;

  private:
    friend class RdmaDatagrams;
    friend class RdmaNicLimits;
    friend class RdmaNicScan;
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
    template <bool Limited>
    RdmaFrame* Choose(uint8_t pausedMask, int64_t now);
    /// \param place among the sender's requests
    static void PrefetchRequest(const RdmaRequester::Sender& sender, std::size_t place);
    /// Of queue pairs that send in turn each finds its state cold: fetches what the next will read,
    /// of the one behind it less, of the third less still. \param next was fetched like that
    static void PrefetchTurns(const RdmaQueuePair* next);

    // Of messages, what watches the NIC hears before the queue pair's user does.

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

    // The trace sources with ns-3's types, for whoever has connected.
    void TraceDone(RdmaQueuePair* qp,
                   const RdmaWorkRequest& request,
                   RdmaStatus status,
                   int64_t now);
    void TraceArrived(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now);
    void TraceRate(RdmaQueuePair* qp, uint64_t bps, int64_t now);

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
    uint64_t GetMaxRate() const;
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
        uint32_t label; //!< of what it answers
    };

    /// \param data what it answers: gives away what congestion control needs
    void SendControl(RdmaQueuePair* qp, Answer answer, int64_t now, RdmaFrame* data = nullptr);
    /// \return what it owes those who send to it; made when first asked for
    RdmaPullQueue& GetPulls();
    /// \return attributes of a way to recover from loss, made when first asked for; null: it has
    /// none
    const Object* GetRecoveryParameters(const RdmaRecoveryScheme& scheme);
    /// \return the queue pair whose other end is this; null: there is none
    RdmaQueuePair* FindByPeer(uint32_t endpoint, uint32_t number);
    /// A switch has sent a packet back.
    void OnReturned(const RdmaFrame& frame, int64_t now);
    /// What a data frame has collected goes into its ACK.
    void Echo(const RdmaQueuePair* qp, RdmaFrame* data, RdmaFrame* ack);
    /// \param staticRate of the path (RdmaPathSource::Path::rateBps) or of the connection. \return
    /// of a queue pair made now
    RdmaQueuePairProfile* GetProfile(uint64_t staticRate);
    /// A connection recovers as both ends do; else it goes on with go-back-N.
    void Agree(RdmaQueuePair* qp, const RdmaRecoveryScheme& theirs, uint64_t peerBdpCap);
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
    bool m_traced{false}; //!< somebody has connected to a trace source of messages, or SendingRate
    uint32_t m_mtu;
    uint32_t m_ackEvery;
    const RdmaPathSource* m_paths{nullptr};
    std::unique_ptr<RdmaNicLimits> m_limits; //!< null: none
    std::unique_ptr<RdmaNicScan> m_scan;     //!< null: round robin
    rdma::FrameSizes m_sizes;
    int64_t m_timeUnit{1};                       //!< the port's
    rdma::NumberTable<RdmaQueuePair*> m_numbers; //!< of m_qps
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
        m_profiles; //!< one; more if paths have rates
    std::vector<Ptr<RdmaQueuePair>> m_qps;
    RdmaNicListener* m_listener{nullptr};
    const RdmaJourney::Wanted* m_ways{nullptr}; //!< null: of no packets
    std::unique_ptr<RdmaPullQueue> m_pulls;     //!< null: none has been owed
    Ptr<RdmaPackets> m_packets;                 //!< null: none

    uint32_t m_timeoutExponent;
    uint32_t m_retryCount;
    Time m_nakInterval;
    int64_t m_nakIntervalPs{0};
    uint64_t m_windowBytes;
    uint64_t m_maxRate;
    Time m_baseRtt;
    int64_t m_baseRttPs{0}; //!< 0: not computed yet
    bool m_variableWindow;
    uint32_t m_headerBytes;
    uint32_t m_leastFrameBytes;
    bool m_extensionHeaders;
    uint32_t m_ackFrameBytes;
    uint32_t m_cnpFrameBytes;
    int m_lossRecovery;              //!< RdmaRecoverySchemes::At
    Ptr<RdmaLossRecovery> m_goBackN; //!< of all queue pairs that have no other
    Scheduling m_scheduling;
    uint64_t m_bdpCap; //!< packets; 0: not computed yet
    Time m_rtoLow;
    Time m_rtoHigh;
    uint32_t m_rtoLowPackets;
    uint64_t m_firstWindow; //!< packets; 0: the recovery's own
    Time m_creditTimeout;
    Time m_pullTimeout;
    double m_pullRate;                //!< of the line's
    Ptr<Object> m_recoveryParameters; //!< of m_lossRecovery; null: none, or not asked for yet
    rdma::NumberTable<RdmaQueuePair*> m_returnedOf; //!< by what a returned packet says of its flow
    uint32_t m_initialPsn;
    uint8_t m_minRnrTimer;
    uint8_t m_rnrRetryCount;
    uint8_t m_maxReads;
    std::string m_serviceLevels;
    std::string m_dscps;
    std::array<uint8_t, 16> m_priorityOfServiceLevel{};
    std::array<uint8_t, RdmaPort::PRIORITIES> m_dscpOfPriority{};
    uint32_t m_qpCacheEntries;
    Time m_qpCacheMissLatency;
    DataRate m_pcieBandwidth;
    uint64_t m_pcieReceiveBuffer;
    uint64_t m_messageRate;
    Ptr<RdmaCongestionOps> m_prototype;
    Ptr<RdmaPathSelector> m_pathSelector; //!< null: queue pairs keep their ways
    std::string m_unknownSelector;        //!< name of one that there is not
    uint64_t m_chance{0};                 //!< seed of its queue pairs' path selectors
    rdma::Bytes m_marking{0};             //!< 0: none is known
    rdma::BitRate m_markingAt{0};

    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&> m_postTrace;
    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t> m_completionTrace;
    TracedCallback<RdmaQueuePair*, const RdmaMessage&, int64_t> m_messageTrace;
    TracedCallback<RdmaQueuePair*, const RdmaMessage&, const RdmaJourney&, int64_t> m_journeyTrace;
    TracedCallback<RdmaQueuePair*, const RdmaJourney&, int64_t> m_wayTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_goBackTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_timeoutTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_errorTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_cnpTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_rateTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_windowTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_receiveDropTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, uint64_t, Time, Time> m_doneTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, uint64_t, Time> m_arrivedTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, DataRate, Time> m_sendingRateTrace;
};

} // namespace ns3

#endif /* RDMA_NIC_H */
