/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_H
#define RDMA_QUEUE_PAIR_H

#include "rdma-congestion-ops.h"
#include "rdma-event.h"
#include "rdma-frame.h"
#include "rdma-verbs.h"

#include "ns3/simple-ref-count.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class RdmaNic;
class RdmaNicUser;
class RdmaSelectiveRepeat;
struct RdmaQueuePairProfile;
struct RdmaQueuePairVerbs;

/**
 * \ingroup rdma
 * A posted request. A WRITE has any 64-bit length: it is cut into requests of at most 2^31 B (the
 * RETH's length has 32 bits), and these into packets of the path MTU; a length of 0 is one packet.
 */
struct RdmaWorkRequest
{
    uint64_t id{0}; //!< the poster's own
    uint64_t bytes{0};
    uint32_t immediate{0};
    bool hasImmediate{false};
    RdmaOperation operation{RdmaOperation::WRITE};
    bool signaled{true};
    int64_t posted{0};     //!< ps
    uint64_t firstPsn{0};  //!< not cut to 24 bits
    uint64_t packets{0};   //!< PSNs: of a READ, packets of its response
    uint64_t firstByte{0}; //!< position in the stream of all bytes that the queue pair sends

    RdmaWorkRequest() = default;

    /// What the poster says; where it stands among the others is to be filled in.
    RdmaWorkRequest(const RdmaSendRequest& request, int64_t now)
        : id(request.id),
          bytes(request.bytes),
          immediate(request.immediate),
          hasImmediate(request.hasImmediate),
          operation(request.operation),
          signaled(request.signaled),
          posted(now)
    {
    }

    /// \return bytes of the stream in the first n packets; a READ sends none
    uint64_t BytesIn(uint64_t n, uint32_t mtu) const
    {
        return operation == RdmaOperation::READ ? 0 : (n * mtu < bytes ? n * mtu : bytes);
    }
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
 * A queue pair: one end of a reliable connection, requester and responder (InfiniBand Architecture
 * 1, 9.7), or an end of unreliable datagrams (9.8).
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
 * SEND and WRITE with immediate take a receive request. Where there is none, the responder answers
 * with an RNR NAK; the requester waits for the time it names, then goes back to the refused packet
 * (9.7.5.2.8); after RnrRetryCount refusals in a row the queue pair fails (7: never). Both ends
 * forget what came behind the refused packet, under selective repeat too.
 *
 * READ takes a PSN for each packet of its response (9.7.4.1.2). Responses come in the responder's
 * turn among its NIC's queue pairs, at the rate of its congestion control; each acknowledges all
 * before it. What is missing of them is asked for again by a READ of just that: under go-back-N
 * from the first gap on, under selective repeat gap by gap. A responder executes such a repeated
 * READ again (9.7.5.1.2).
 *
 * Law (asserted in tests): bytes posted = acknowledged + outstanding (sent) + not yet sent; bytes
 * of READs stand beside, in GetBytesRead().
 *
 * Simplifications: an RDMA WRITE resumed in the middle carries no new RETH (a real requester sends
 * one in a new FIRST packet). ACKs travel with a priority of their own and may overtake READ
 * responses; a requester remembers what such an ACK says, and does not take it for a lost response
 * (9.7.5.1.1 does). ACKs bear no end-to-end credits. Windows of the congestion control do not
 * bound responses, which nothing acknowledges.
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

    /// InfiniBand Architecture 1, 10.3.1.
    enum class State : uint8_t
    {
        RESET,              //!< frames that come are dropped, nothing may be posted
        INIT,               //!< receive requests may be posted
        READY_TO_RECEIVE,   //!< the responder works
        READY_TO_SEND,      //!< the requester works too
        SEND_QUEUE_DRAINED, //!< what has begun to be sent is finished, nothing else begins
        SEND_QUEUE_ERROR,   //!< UD: a send request failed, those behind it are flushed
        ERROR               //!< everything is flushed, frames that come are dropped
    };

    /**
     * Change the state, as ibv_modify_qp does. Allowed: RESET -> INIT -> READY_TO_RECEIVE ->
     * READY_TO_SEND <-> SEND_QUEUE_DRAINED, SEND_QUEUE_ERROR -> READY_TO_SEND, and from any state
     * to ERROR and RESET. RdmaNic::Connect goes all the way for both ends of a connection.
     * \return what is wrong; empty if nothing is
     */
    std::string Modify(State to, const RdmaQueuePairAttributes& attributes = {});

    /// Post to the send queue. In an error state the request comes back flushed.
    RdmaPostResult Post(const RdmaSendRequest& request);
    /// Post to the receive queue. \param bytes room for a SEND
    RdmaPostResult PostReceive(uint64_t bytes, uint64_t id);

    /// Post an RDMA WRITE. \param id comes back at completion
    RdmaPostResult PostWrite(uint64_t bytes, uint64_t id);
    /// Post an RDMA WRITE with immediate data, which the receiver is told.
    RdmaPostResult PostWriteWithImmediate(uint64_t bytes, uint64_t id, uint32_t immediate);
    RdmaPostResult PostSend(uint64_t bytes, uint64_t id);
    RdmaPostResult PostRead(uint64_t bytes, uint64_t id);

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
        return m_sender->cc;
    }

    /// \return its own: who asks may change it
    Ptr<RdmaCongestionOps> GetCongestionOps();

    uint64_t GetBytesPosted() const
    {
        return m_postedBytes;
    }

    uint64_t GetBytesAcknowledged() const
    {
        return IsSending() ? m_sender->ackedBytes : m_postedBytes;
    }

    /// \return bytes of the peer's SENDs and WRITEs delivered in order at this end
    uint64_t GetBytesReceived() const
    {
        return m_receivedBytes;
    }

    /// \return bytes of this end's READs that have arrived in order
    uint64_t GetBytesRead() const;

    RdmaTransport GetTransport() const;

    /// \return receive requests that wait for a message
    uint32_t GetNReceives() const;

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

    /// Who hears of what is posted here and of what arrives here. \param user null: the NIC's
    void SetUser(RdmaNicUser* user)
    {
        m_user = user;
    }

    /// \return who hears; null: nobody
    RdmaNicUser* GetUser() const;

    /// A place for its user; the module does not touch it.
    uint64_t cookie{0};

  private:
    friend class RdmaNic;
    friend class RdmaNicScan;
    friend struct RdmaQueuePairProfile;
    friend struct RdmaQueuePairVerbs;

    /// Needs of a congestion control that ACKs bear something for.
    static constexpr uint16_t ECHOES =
        RdmaCongestionOps::ECN_ECHO | RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY;
    static constexpr uint64_t NO_READ = UINT64_MAX;
    static constexpr uint64_t NO_DUPLICATE = UINT64_MAX;

    enum class Schedule : uint8_t
    {
        IDLE,      //!< nothing to send, or the window is closed
        READY,     //!< in the NIC's round robin
        THROTTLED, //!< waits for its rate
    };

    /// The requester's, while it works: see RdmaQueuePairProfile.
    struct SenderNumbers
    {
        uint64_t nextPsn{0};
        uint64_t sendEnd{0};    //!< sending stops here: m_endPsn, or before (UpdateSendEnd)
        uint64_t ackedPsn{0};   //!< all before are acknowledged
        uint64_t highestPsn{0}; //!< all before have been sent once
        uint64_t sentBytes{0};  //!< position in the byte stream of nextPsn
        uint64_t ackedBytes{0};
        uint64_t readBarrier{NO_READ}; //!< first PSN of the responses of READs that is missing
        int64_t nextSend{0};           //!< the rate allows the next packet at this time, ps
        double psPerByte{0};           //!< 0: line rate, not paced
        uint64_t ratePaced{0};         //!< rate psPerByte is for
        uint32_t lastWire{0};          //!< of the packet whose pace nextSend is
        uint32_t retries{0};
        RdmaCongestionState cc;
        uint64_t windowTold{RdmaCongestionState::UNLIMITED}; //!< to the trace source
        size_t first{0};       //!< of the requests: those before are fully acknowledged
        size_t told{0};        //!< all requests before this one have been completed
        size_t cursor{0};      //!< the request that holds nextPsn
        int64_t timerStart{0}; //!< the time-out runs from here, ps
    };

    struct Sender : SenderNumbers
    {
        std::vector<RdmaWorkRequest> requests;
        std::unique_ptr<RdmaSenderClock> clock; //!< null: no journeys are noted

        /// It is another queue pair's now.
        void Begin(const SenderNumbers& idle);
    };

    RdmaQueuePair(RdmaNic* nic, uint32_t number);

    /// \return whether m_sender is its own
    bool IsSending() const;
    /// What changes the requester's state calls this first.
    void Send();
    void BeginSending();
    /// Gives the requester's state back if nothing is lost by it.
    void RestIfDone();
    /// The congestion control hears of something that it has to remember.
    void OwnCongestionOps();

    bool CanSendRequest() const
    {
        const Sender& s = *m_sender;
        return s.nextPsn < s.sendEnd && s.sentBytes - s.ackedBytes < s.cc.windowBytes &&
               s.nextPsn - s.ackedPsn < m_maxOutstanding;
    }

    bool CanSend() const
    {
        return CanSendRequest() || m_respond;
    }

    bool CanReceive() const
    {
        return m_state >= State::READY_TO_RECEIVE && m_state <= State::SEND_QUEUE_ERROR;
    }

    /// \pre CanSend()
    RdmaFrame* MakeFrame(int64_t now);
    /// What all frames of this queue pair to its peer have in common.
    RdmaFrame* NewFrame(RdmaOpcode opcode, uint64_t psn, uint32_t wireBytes, uint8_t flags);
    /// Payload of this size leaves in a frame of this size: tell congestion control and pace.
    void Sent(uint32_t payload, uint32_t wireBytes, int64_t now);
    /// \return between the starts of this packet and the next, ps
    int64_t GetGap(uint32_t wireBytes, uint64_t rateBps) const;

    /// Pacing follows the rate that the congestion control has set.
    void UpdateRate(int64_t now)
    {
        if (m_sender->cc.rateBps != m_sender->ratePaced)
        {
            ChangeRate(now);
        }
        if (m_sender->cc.windowBytes != m_sender->windowTold)
        {
            TellWindow(now);
        }
    }

    /// \return ps a byte; 0: not paced
    static double GetPace(const RdmaNic& nic, const RdmaCongestionState& cc);
    void ChangeRate(int64_t now);
    void TellWindow(int64_t now);

    /// Lets the congestion control change the rate if it said that it would by now.
    void UpdateIfDue(int64_t now)
    {
        RdmaCongestionState& cc = m_sender->cc;
        if (now >= cc.nextUpdate || cc.bytesSent >= cc.nextUpdateBytes)
        {
            m_ops->OnUpdate(cc, now);
            UpdateRate(now);
        }
    }

    // journeys (RdmaJourney)
    void StartClock(int64_t now);
    /// The window may have closed or opened.
    void NoteWindow(int64_t now);
    /// The last packet of a message starts to be sent.
    void StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now);
    RdmaSenderClock::Base ReadClock(int64_t now) const;

    void OnData(RdmaFrame* frame, int64_t now);
    void OnAcknowledge(RdmaFrame* frame, int64_t now);
    void OnCnp(int64_t now);
    void OnTimer();

    /// \param ack what says so, if it is an ACK or NAK
    /// \return whether the connection still works: who is told of completions may end it
    bool Acknowledge(uint64_t upTo, int64_t now, const RdmaFrame* ack = nullptr);
    /// What is acknowledged is complete.
    void TellCompleted(int64_t now);
    void GoBack(int64_t now);
    void Fail(RdmaStatus first, int64_t now);
    void Complete(const RdmaWorkRequest& request, RdmaStatus status, int64_t now);
    /// \param data what is answered
    void SendAck(bool nak, RdmaFrame* data, int64_t now);
    void SendNak(uint8_t flags, uint8_t syndrome, int64_t now, RdmaFrame* data = nullptr);
    /// The responder has seen a mark, or wants to see every packet: is a CNP due?
    void Notice(const RdmaFrame& frame, int64_t now);
    /// \param last its last packet, if the message is complete with it
    void DeliverMessage(bool hasImmediate,
                        uint32_t immediate,
                        int64_t now,
                        const RdmaFrame* last = nullptr);
    /// Something is outstanding from now on, or has moved.
    void ArmTimer(int64_t now);
    bool RetriesExceeded(int64_t now);

    // selective repeat
    /// \param from nothing before it is lost
    void Recover(bool afterTimeout, uint64_t from, int64_t now);
    /// The next packet to send is this one.
    void SeekTo(uint64_t psn);
    void SeekToLost();
    void OnOutOfOrder(uint64_t psn, RdmaFrame& frame, int64_t now);
    void FillGap(RdmaFrame& frame, int64_t now);
    /// \param data what has come last
    void ReleaseHeld(RdmaFrame* data, int64_t now);

    // rdma-queue-pair-verbs.cc: all but WRITEs
    RdmaQueuePairVerbs& Verbs();
    void SetPeer(uint32_t endpoint, uint32_t number, uint64_t firstPsn);
    std::string ConnectTo(const RdmaQueuePairAttributes& attributes);
    void StartSending(const RdmaQueuePairAttributes& attributes);
    void Reset();
    /// Where sending stops: at the end of what is posted, or before, for one of several reasons.
    void UpdateSendEnd();
    RdmaPostResult CheckPost(const RdmaSendRequest& request) const;
    void Report(const RdmaWorkRequest& request, RdmaStatus status, int64_t now);
    /// \return whether the queue pair was not reset meanwhile
    bool FlushReceives(int64_t now);
    void OnVerbsTimer();
    // requester
    void AddRead(const RdmaWorkRequest& request);
    RdmaFrame* MakeReadRequest(const RdmaWorkRequest& request, int64_t now);
    void OnReadResponse(const RdmaFrame& frame, int64_t now);
    void AdvanceReads(uint64_t arrived);
    bool IsOfRead(uint64_t psn) const;
    /// An ACK of what is behind a READ: remembered. \return how far all is acknowledged
    uint64_t HoldBack(uint64_t upTo);
    void OnRareNak(const RdmaFrame& frame, int64_t now);
    void OnReceiverNotReady(uint64_t refused, uint8_t timer, int64_t now);

    // responder
    /// \return PSNs that a request takes: one, or of a READ one a packet of its response
    uint32_t GetPsnCount(RdmaOpcode opcode, uint32_t dmaLength) const
    {
        return opcode != RdmaOpcode::READ_REQUEST || dmaLength == 0
                   ? 1
                   : 1 + (dmaLength - 1) / GetMtu();
    }

    uint32_t GetMtu() const;
    void OnReadRequest(uint64_t psn, uint32_t bytes, int64_t now);
    void AddResponse(uint64_t psn, uint64_t end, uint64_t bytes);
    RdmaFrame* MakeResponse(int64_t now);
    /// A packet that is not of a plain WRITE is next. \return whether it is taken as a packet of a
    /// message
    bool Admit(const RdmaFrame& frame, int64_t now);
    bool TakeReceive(RdmaOpcode opcode, uint32_t payload, int64_t now);
    void RefuseReceive(int64_t now);
    void CompleteReceive(const RdmaWorkCompletion& completion);
    void ReportMessage(const RdmaMessage& message, int64_t now);
    // UD
    RdmaPostResult PostDatagram(const RdmaSendRequest& request);
    /// A datagram that will not be sent completes once those before it have.
    void RefuseDatagram(const RdmaSendRequest& request, RdmaStatus status, int64_t now);
    void FlushDatagrams(int64_t now);
    RdmaFrame* MakeDatagram(int64_t now);
    void OnDatagram(const RdmaFrame& frame, int64_t now);
    void CompleteDatagram(const RdmaSendRequest& request, int64_t posted, RdmaStatus, int64_t now);

    // requester
    Sender* m_sender{nullptr}; //!< its own, or its profile's that nobody changes
    RdmaNic* m_nic;
    RdmaNicUser* m_user{nullptr};
    RdmaQueuePair* m_nextReady{nullptr};
    uint64_t m_endPsn{0};                       //!< of what is posted
    uint32_t m_maxOutstanding{MAX_OUTSTANDING}; //!< packets
    uint32_t m_throttleGeneration{0};
    Ptr<RdmaCongestionOps> m_ops; //!< the profile's, as long as both would be the same
    RdmaQueuePairProfile* m_profile{nullptr};
    Schedule m_schedule{Schedule::IDLE};
    uint8_t m_serviceLevel{3}; //!< as asked for; a path may have another
    uint8_t m_priority{3};
    uint8_t m_dscp{24};
    uint16_t m_needs{0};
    bool m_respond{false}; //!< READ responses wait to be sent
    State m_state{State::RESET};
    uint32_t m_number;
    uint32_t m_peerNumber{0};
    uint32_t m_peerEndpoint{0};
    uint32_t m_flowHash{0};
    uint64_t m_postedBytes{0};
    uint64_t m_staticRate{0}; //!< of its path, bit/s; 0: none

    // retransmission
    int64_t m_timeoutPs{0};                           //!< local ACK time-out; 0: none
    std::unique_ptr<RdmaSelectiveRepeat> m_selective; //!< null: go-back-N
    RdmaTimer<RdmaQueuePair, &RdmaQueuePair::OnTimer> m_timer;
    uint8_t m_retryCount{0};
    bool m_timerPending{false};

    // responder
    bool m_nakSent{false};
    uint32_t m_resets{0}; //!< to see whether who was called back did one
    uint64_t m_expectedPsn{0};
    uint64_t m_messages{0};     //!< posts received whole
    uint64_t m_messageBytes{0}; //!< of the message under way
    uint64_t m_receivedBytes{0};
    static constexpr int64_t NO_NAK = INT64_MAX;
    int64_t m_nakAgain{NO_NAK};         //!< another NAK for the same gap is due from then on, ps
    uint64_t m_duplicate{NO_DUPLICATE}; //!< last of a row of packets received before
    uint32_t m_msn{0};                  //!< requests received whole, 24 bits in the AETH

    std::unique_ptr<RdmaQueuePairVerbs> m_verbs; //!< null: only WRITEs so far
};

/**
 * \ingroup rdma
 * What the queue pairs of a NIC have in common until they send: how a requester begins, and a
 * congestion control that has heard of nothing yet.
 *
 * A queue pair has a Sender of its own from its first post until all is acknowledged; what it
 * counts goes on where it was. One that only receives, as one end of each connection of a
 * collective, has none, and one that rests has none: a direct all-to-all makes n (n - 1)
 * connections, of which a few work at a time. A requester whose congestion control has heard of
 * congestion, or keeps something of each ACK (all without RdmaCongestionOps::QUIET), keeps all of
 * its state, and so does one that is paced or has done more than WRITEs.
 */
struct RdmaQueuePairProfile
{
    Ptr<RdmaCongestionOps> ops;
    RdmaCongestionState before; //!< what Init saw
    RdmaCongestionState after;  //!< and what it and the NIC's window made of that
    bool quiet{false};          //!< queue pairs may share `ops`
    bool variableWindow{false}; //!< the NIC's
    RdmaQueuePair::Sender idle; //!< nothing can be sent; not changed
};

inline bool
RdmaQueuePair::IsSending() const
{
    return m_sender != &m_profile->idle;
}

inline void
RdmaQueuePair::Send()
{
    if (!IsSending())
    {
        BeginSending();
    }
}

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_H */
