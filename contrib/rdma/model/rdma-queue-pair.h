/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_H
#define RDMA_QUEUE_PAIR_H

#include "rdma-congestion-ops.h"
#include "rdma-event.h"
#include "rdma-frame.h"

#include "ns3/simple-ref-count.h"

#include <memory>
#include <vector>

namespace ns3
{

class RdmaNic;
class RdmaSelectiveRepeat;

/// \ingroup rdma
/// How a work request ended.
enum class RdmaStatus : uint8_t
{
    SUCCESS,
    RETRY_EXCEEDED, //!< the request that was not acknowledged
    FLUSHED,        //!< posted behind it, or to a queue pair in the error state
};

/**
 * \ingroup rdma
 * A posted RDMA WRITE of any 64-bit length. It is cut into requests of at most 2^31 B (the RETH's
 * length has 32 bits), and these into packets of the path MTU; a length of 0 is one packet.
 */
struct RdmaWorkRequest
{
    uint64_t id{0}; //!< the poster's own
    uint64_t bytes{0};
    uint32_t immediate{0};
    bool hasImmediate{false};
    int64_t posted{0};    //!< ps
    uint64_t firstPsn{0}; //!< not cut to 24 bits
    uint64_t packets{0};
    uint64_t firstByte{0}; //!< position in the stream of all bytes posted to the queue pair
};

/// \ingroup rdma
/// A message that has arrived whole and in order.
struct RdmaMessage
{
    uint64_t sequence{0}; //!< counts the messages of the queue pair from 0 (one per post)
    uint64_t bytes{0};
    uint32_t immediate{0};
    bool hasImmediate{false};
};

/**
 * \ingroup rdma
 * One end of a reliable connection (InfiniBand Architecture 1, 9.7): requester and responder.
 *
 * Requester: go-back-N. PSNs have 24 bits on the wire and 64 here; at most 2^23 - 1 are
 * outstanding. A NAK (PSN sequence error) or the local ACK time-out goes back to the oldest
 * unacknowledged packet; after RetryCount time-outs without progress the queue pair is in the error
 * state and what is posted is flushed. Responder: takes packets in order only; the first gap is
 * answered by one NAK, until the expected PSN comes; the first of a row of duplicates by an ACK
 * whether it asks for one or not.
 *
 * Or selective repeat, if both NICs have it (RdmaNic::LossRecovery): see RdmaSelectiveRepeat for
 * the rules. Sending again moves m_nextPsn back to what is lost, then on to the next lost or to
 * where new packets begin; each packet asks for an ACK, at most the BDP cap is outstanding,
 * time-outs are RtoLow and RtoHigh, and the queue pair fails once nothing has moved for RetryCount
 * + 1 local ACK time-outs.
 *
 * Law (asserted in tests): bytes posted = acknowledged + outstanding (sent) + not yet sent.
 *
 * Simplification: an RDMA WRITE resumed in the middle carries no new RETH (a real requester sends
 * one in a new FIRST packet).
 */
class RdmaQueuePair : public SimpleRefCount<RdmaQueuePair>
{
  public:
    /// Largest request, bytes.
    static constexpr uint64_t MAX_REQUEST_BYTES = 1ULL << 31;
    /// Most PSNs outstanding (InfiniBand Architecture 1, 9.7.1: half of the 24-bit space, less
    /// one).
    static constexpr uint64_t MAX_OUTSTANDING = (1ULL << 23) - 1;

    ~RdmaQueuePair();

    enum class State : uint8_t
    {
        READY_TO_SEND,
        ERROR
    };

    /// Post an RDMA WRITE. \param id comes back at completion
    void PostWrite(uint64_t bytes, uint64_t id);
    /// Post an RDMA WRITE with immediate data, which the receiver is told.
    void PostWriteWithImmediate(uint64_t bytes, uint64_t id, uint32_t immediate);

    State GetState() const
    {
        return m_state;
    }

    uint32_t GetNumber() const
    {
        return m_number;
    }

    uint32_t GetPeerNumber() const
    {
        return m_peerNumber;
    }

    RdmaNic* GetNic() const
    {
        return m_nic;
    }

    uint32_t GetPeerEndpoint() const
    {
        return m_peerEndpoint;
    }

    uint32_t GetFlowHash() const
    {
        return m_flowHash;
    }

    uint8_t GetPriority() const
    {
        return m_priority;
    }

    const RdmaCongestionState& GetCongestionState() const
    {
        return m_cc;
    }

    Ptr<RdmaCongestionOps> GetCongestionOps() const
    {
        return m_ops;
    }

    uint64_t GetBytesPosted() const
    {
        return m_postedBytes;
    }

    uint64_t GetBytesAcknowledged() const
    {
        return m_ackedBytes;
    }

    /// \return bytes delivered in order at this end
    uint64_t GetBytesReceived() const
    {
        return m_receivedBytes;
    }

    /// \return whether this connection recovers from loss by selective repeat
    bool UsesSelectiveRepeat() const
    {
        return m_selective != nullptr;
    }

    /// \return most packets outstanding, whatever their size: under selective repeat the BDP cap
    uint64_t GetMaxOutstanding() const
    {
        return m_maxOutstanding;
    }

    /// A place for whoever uses the queue pair; the module does not touch it.
    uint64_t cookie{0};

  private:
    friend class RdmaNic;

    enum class Schedule : uint8_t
    {
        IDLE,      //!< nothing to send, or the window is closed
        READY,     //!< in the NIC's round robin
        THROTTLED, //!< waits for its rate
    };

    RdmaQueuePair(RdmaNic* nic, uint32_t number, Ptr<RdmaCongestionOps> ops);

    void Post(uint64_t bytes, uint64_t id, bool hasImmediate, uint32_t immediate);

    bool CanSend() const
    {
        return m_nextPsn < m_endPsn && m_sentBytes - m_ackedBytes < m_cc.windowBytes &&
               m_nextPsn - m_ackedPsn < m_maxOutstanding;
    }

    /// \pre CanSend()
    RdmaFrame* MakeFrame(int64_t now);
    /// Pacing follows the rate that the congestion control has set.
    void UpdateRate(int64_t now);

    /// Lets the congestion control change the rate if it said that it would by now.
    void UpdateIfDue(int64_t now)
    {
        if (now >= m_cc.nextUpdate || m_cc.bytesSent >= m_cc.nextUpdateBytes)
        {
            m_ops->OnUpdate(m_cc, now);
            UpdateRate(now);
        }
    }

    void OnData(RdmaFrame* frame, int64_t now);
    void OnAcknowledge(RdmaFrame* frame, int64_t now);
    void OnCnp(int64_t now);
    void OnTimer();

    void Acknowledge(uint64_t upTo, int64_t now);
    void GoBack(int64_t now);
    void Fail(int64_t now);
    void SendAck(bool nak, int64_t now);
    void DeliverMessage(bool hasImmediate, uint32_t immediate, int64_t now);
    /// Something is outstanding from now on, or has moved.
    void ArmTimer(int64_t now);
    bool RetriesExceeded(int64_t now);

    // selective repeat
    void Recover(bool afterTimeout, int64_t now);
    /// The next packet to send is this one.
    void SeekTo(uint64_t psn);
    void SeekToLost();
    void OnOutOfOrder(uint64_t psn, const RdmaFrame& frame, int64_t now);
    void FillGap(const RdmaFrame& frame, int64_t now);

    // requester, hot
    RdmaNic* m_nic;
    RdmaQueuePair* m_nextReady{nullptr};
    uint64_t m_nextPsn{0};
    uint64_t m_endPsn{0};
    uint64_t m_ackedPsn{0};   //!< all before are acknowledged
    uint64_t m_highestPsn{0}; //!< all before have been sent once
    uint64_t m_sentBytes{0};  //!< position in the byte stream of m_nextPsn
    uint64_t m_ackedBytes{0};
    uint64_t m_maxOutstanding{MAX_OUTSTANDING}; //!< packets
    int64_t m_nextSend{0};   //!< the rate allows the next packet at this time, ps
    double m_psPerByte{0};   //!< 0: line rate, not paced
    uint64_t m_ratePaced{0}; //!< rate m_psPerByte is for
    RdmaCongestionState m_cc;
    Ptr<RdmaCongestionOps> m_ops;
    std::vector<RdmaWorkRequest> m_requests; //!< from m_first on: not fully acknowledged
    size_t m_first{0};
    size_t m_cursor{0}; //!< the request that holds m_nextPsn
    Schedule m_schedule{Schedule::IDLE};
    uint8_t m_needs{0};
    uint8_t m_priority{3};
    State m_state{State::READY_TO_SEND};
    uint32_t m_number;
    uint32_t m_peerNumber{0};
    uint32_t m_peerEndpoint{0};
    uint32_t m_flowHash{0};
    uint64_t m_postedBytes{0};

    // retransmission
    std::unique_ptr<RdmaSelectiveRepeat> m_selective; //!< null: go-back-N
    int64_t m_timerStart{0};                          //!< the time-out runs from here, ps
    bool m_timerPending{false};
    uint32_t m_retries{0};
    RdmaTimer<RdmaQueuePair, &RdmaQueuePair::OnTimer> m_timer;

    // responder
    static constexpr uint64_t NO_DUPLICATE = UINT64_MAX;
    uint64_t m_expectedPsn{0};
    uint64_t m_messages{0};     //!< posts received whole
    uint32_t m_msn{0};          //!< requests received whole, 24 bits in the AETH
    uint64_t m_messageBytes{0}; //!< of the message under way
    uint64_t m_receivedBytes{0};
    bool m_nakSent{false};
    uint64_t m_duplicate{NO_DUPLICATE}; //!< last of a row of packets received before
};

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_H */
