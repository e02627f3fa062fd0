/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "rdma-port.h"
#include "rdma-queue-pair.h"

#include "ns3/nstime.h"
#include "ns3/object.h"

#include <array>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Whoever posts to a NIC's queue pairs and wants to hear how it went.
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
};

/**
 * \ingroup rdma
 * Counters of a NIC; they only grow.
 */
struct RdmaNicCounters
{
    uint64_t dataPackets{0}; //!< sent, retransmissions included
    uint64_t dataBytes{0};   //!< payload sent, retransmissions included
    uint64_t retransmittedPackets{0};
    uint64_t acksSent{0};
    uint64_t naksSent{0};
    uint64_t cnpsSent{0};
    uint64_t cnpsReceived{0};
    uint64_t timeouts{0};
    uint64_t failedQps{0};
    uint64_t ecnMarkedReceived{0};
    uint64_t outOfOrderDropped{0};
    uint64_t duplicatesReceived{0};
    uint64_t messagesReceived{0};
};

/**
 * \ingroup rdma
 * What a queue pair must know of the other end when that is in another process. All of it follows
 * from the fabric and from the order in which queue pairs are made, so the processes need not talk.
 */
struct RdmaRemoteQueuePair
{
    uint32_t endpoint{0};
    uint32_t number{0};     //!< RdmaQueuePair::GetNumber
    uint32_t initialPsn{0}; //!< RdmaNic::InitialPsn of its NIC
    bool selectiveRepeat{false};
    uint64_t bdpCap{0}; //!< of its NIC; only if selectiveRepeat
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

    /// How queue pairs recover from loss.
    enum LossRecovery
    {
        GO_BACK_N,
        SELECTIVE_REPEAT
    };

    RdmaNic();
    ~RdmaNic() override;

    // Set-up -------------------------------------------------------------------------------------

    /// \param endpoint this interface's number in the fabric: what routes lead to
    void Attach(Ptr<RdmaPort> port, uint32_t endpoint);
    void SetUser(RdmaNicUser* user);
    /// The prototype that every new queue pair's congestion control is forked from.
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /**
     * Make a queue pair here; it cannot be used before Connect.
     * \param priority of its data packets, 0 to 7
     */
    RdmaQueuePair* CreateQueuePair(uint8_t priority);

    /// Connect two queue pairs of two NICs, as the connection manager would (no packets are
    /// exchanged). Selective repeat is used if both NICs have it, else go-back-N.
    static void Connect(RdmaQueuePair* a, RdmaQueuePair* b);
    /// The same for one whose other end is in another process, which does it there with this end.
    static void ConnectRemote(RdmaQueuePair* qp, const RdmaRemoteQueuePair& peer);

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

    /// \return most packets in flight of a queue pair under selective repeat: the attribute BdpCap,
    /// or what is computed from the fabric, at the first call
    uint64_t GetBdpCap();

    const RdmaNicCounters& GetCounters() const
    {
        return m_counters;
    }

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;

    typedef void (*PostTracedCallback)(RdmaQueuePair* qp, const RdmaWorkRequest& request);
    typedef void (*CompletionTracedCallback)(RdmaQueuePair* qp,
                                             const RdmaWorkRequest& request,
                                             RdmaStatus status,
                                             int64_t now);
    typedef void (*MessageTracedCallback)(RdmaQueuePair* qp,
                                          const RdmaMessage& message,
                                          int64_t now);
    typedef void (*PsnTracedCallback)(RdmaQueuePair* qp, uint64_t psn, int64_t now);
    typedef void (*RateTracedCallback)(RdmaQueuePair* qp, uint64_t bps, int64_t now);

  protected:
    void DoDispose() override;

  private:
    friend class RdmaQueuePair;

    struct Throttled
    {
        int64_t at;
        uint32_t number;
        RdmaQueuePair* qp;
    };

    /// Round robin of one priority.
    struct Ready
    {
        RdmaQueuePair* head{nullptr};
        RdmaQueuePair* tail{nullptr};
    };

    void PushReady(RdmaQueuePair* qp);
    RdmaQueuePair* PopReady(uint8_t priority);
    void Throttle(RdmaQueuePair* qp, int64_t now);
    void ReleaseThrottled(int64_t now);
    void WakeForThrottled();
    /// A queue pair may have something to send again.
    void Activate(RdmaQueuePair* qp, int64_t now);
    /// An ACK, NAK or CNP.
    void SendControl(RdmaQueuePair* qp,
                     RdmaOpcode opcode,
                     uint8_t flags,
                     uint32_t psn,
                     uint32_t msn,
                     int64_t now);
    void OnWake();

    // hot
    Ptr<RdmaPort> m_port;
    uint32_t m_endpoint{0};
    uint8_t m_readyMask{0};
    uint8_t m_controlPriority;
    uint32_t m_mtu;
    uint32_t m_ackEvery;
    std::array<Ready, RdmaPort::PRIORITIES> m_ready;
    std::vector<Ptr<RdmaQueuePair>> m_qps;
    std::vector<Throttled> m_throttled; //!< min-heap
    int64_t m_wakeDue;
    RdmaNicCounters m_counters;
    RdmaNicUser* m_user{nullptr};

    uint32_t m_timeoutExponent;
    uint32_t m_retryCount;
    int64_t m_timeoutPs{0};
    uint64_t m_windowBytes;
    LossRecovery m_lossRecovery;
    uint64_t m_bdpCap; //!< packets; 0: not computed yet
    Time m_rtoLow;
    Time m_rtoHigh;
    uint32_t m_rtoLowPackets;
    uint32_t m_initialPsn;
    Ptr<RdmaCongestionOps> m_prototype;
    RdmaTimer<RdmaNic, &RdmaNic::OnWake> m_wakeEvent;

    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&> m_postTrace;
    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t> m_completionTrace;
    TracedCallback<RdmaQueuePair*, const RdmaMessage&, int64_t> m_messageTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_goBackTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_timeoutTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_errorTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_cnpTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_rateTrace;
};

} // namespace ns3

#endif /* RDMA_NIC_H */
