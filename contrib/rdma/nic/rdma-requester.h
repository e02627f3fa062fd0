/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_REQUESTER_H
#define RDMA_REQUESTER_H

#include "rdma-verbs.h"

#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-event.h"
#include "ns3/rdma-frame.h"

#include <memory>
#include <vector>

namespace ns3
{

class RdmaDatagrams;
class RdmaNic;
class RdmaNicScan;
class RdmaPathSelector;
class RdmaQueuePair;
class RdmaResponder;
struct RdmaQueuePairProfile;

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

/**
 * \ingroup rdma
 * The sending side of a queue pair: what is posted, and what of it has been sent and acknowledged.
 * PSNs have 24 bits on the wire and 64 here; at most 2^23 - 1 are outstanding.
 *
 *     acked <= next <= highest <= end:   next < highest while packets go again
 *
 * A packet goes while the window of the congestion control is open, fewer packets than the
 * recovery's cap are outstanding, and the pace allows it. The time-out runs from the last progress,
 * or from when the oldest packet was sent, again or first; it is a lazy timer, which sleeps while
 * nothing is outstanding. What goes again, its RdmaTransport decides.
 *
 * READ takes a PSN for each packet of its response (InfiniBand Architecture 1, 9.7.4.1.2). Each
 * response acknowledges all before it. What is missing of them is asked for again by a READ of just
 * that.
 *
 * An RNR NAK stops the requester for the time that it names, then the refused packet goes again
 * (9.7.5.2.8); after RnrRetryCount refusals in a row the queue pair fails (7: never).
 *
 * A requester that is at work has a Sender of its own, and one that rests has none: see
 * RdmaQueuePairProfile.
 */
class RdmaRequester
{
  public:
    explicit RdmaRequester(RdmaQueuePair* qp);
    ~RdmaRequester();

    RdmaRequester(const RdmaRequester&) = delete;
    RdmaRequester& operator=(const RdmaRequester&) = delete;

    // What a transport may look at and do ---------------------------------------------------------

    /// \return the PSN of the next packet
    uint64_t GetNextPsn() const
    {
        return m_sender->nextPsn;
    }

    /// \return the first PSN that is not acknowledged
    uint64_t GetAckedPsn() const
    {
        return m_sender->ackedPsn;
    }

    /// \return the first PSN that has never been sent
    uint64_t GetHighestPsn() const
    {
        return m_sender->highestPsn;
    }

    /// \return the first PSN behind all that is posted
    uint64_t GetEndPsn() const
    {
        return m_endPsn;
    }

    /// \return the time-out runs from here
    rdma::TimePoint GetTimerStart() const
    {
        return rdma::TimePoint(m_sender->timerStart);
    }

    /// \param packets from the first that is not acknowledged on; 0: nothing may be sent
    void SetMaxOutstanding(uint32_t packets)
    {
        m_maxOutstanding = packets;
    }

    /// \return local ACK time-out; 0: none (9.7.6.1.3: 4.096 us x 2^n)
    rdma::Duration GetAckTimeout() const
    {
        return rdma::Duration(m_timeoutExponent ? 4096000LL << m_timeoutExponent : 0);
    }

    /// \return time-outs that it may retry after
    uint32_t GetRetryCount() const
    {
        return m_retryCount;
    }

    /// \return time-outs without progress since
    uint32_t GetTimeoutsInRow() const
    {
        return m_sender->retries;
    }

    /// \return whether this PSN is of a response to a READ that has not arrived whole
    bool IsResponse(uint64_t psn) const;

    /// \return of what has been posted last and is not acknowledged, bytes; 0: there is nothing
    uint64_t GetLastPostBytes() const
    {
        return m_sender->requests.empty() ? 0 : m_sender->requests.back().bytes;
    }

    /// How soon the queue pair has its turn at its NIC: as one of this priority, from the next turn
    /// on that it does not wait for yet. Its packets have it too, but for SetPriorityOf.
    void SetTurn(uint8_t priority);
    /// A packet that is made goes on with this priority.
    void SetPriorityOf(RdmaFrame& frame, uint8_t priority) const;

    /// The next packet to be sent is this one.
    void SeekTo(uint64_t psn);
    /// The same, and the trace source GoBack hears of it.
    void RepeatFrom(uint64_t psn, rdma::TimePoint now);
    /// All that is not acknowledged goes again.
    void GoBack(rdma::TimePoint now);
    /// Something is outstanding from now on, or has moved.
    void ArmTimer(rdma::TimePoint now);
    /// The receiver is asked for credits. \param target so many in all, since the beginning
    /// \param again of these for packets that have been sent before
    void RequestToSend(uint32_t target, uint32_t again);
    /// The congestion control hears of a NAK.
    void TellCongestionOfNak(rdma::TimePoint now);
    /// Both ends' packets go by one flow hash, the lower of their two, so that switches which pick
    /// by it alike give both the same way. \param frame of the other end
    void ShareRoute(const RdmaFrame& frame);
    /// The queue pair fails; nothing is sent any more. Whoever is told may reset it, which ends the
    /// transport that has called this.
    void GiveUp(rdma::TimePoint now);

  private:
    friend class RdmaDatagrams;
    friend class RdmaNic;
    friend class RdmaNicScan;
    friend class RdmaQueuePair;
    friend class RdmaResponder;
    friend struct RdmaQueuePairProfile;
    friend struct RdmaQueuePairVerbs;

    struct Verbs;

    static constexpr uint64_t NO_READ = UINT64_MAX;
    static constexpr uint32_t FEW_GONE = 4; //!< requests, for which it is worth moving the others

    enum class Schedule : uint8_t
    {
        IDLE,      //!< nothing to send, or the window is closed
        READY,     //!< in the NIC's round robin
        THROTTLED, //!< waits for its rate
    };

    /// While it works: see RdmaQueuePairProfile. What every packet looks at stands first.
    struct SenderNumbers
    {
        uint64_t nextPsn{0};
        uint64_t sendEnd{0};    //!< sending stops here: m_endPsn, or before (UpdateSendEnd)
        uint64_t ackedPsn{0};   //!< all before are acknowledged
        uint64_t highestPsn{0}; //!< all before have been sent once
        uint64_t sentBytes{0};  //!< position in the byte stream of nextPsn
        uint64_t ackedBytes{0};
        int64_t nextSend{0}; //!< the rate allows the next packet at this time, ps
        double psPerByte{0}; //!< 0: line rate, not paced
        uint32_t cursor{0};  //!< the request that holds nextPsn
        uint32_t first{0};   //!< first request that is not fully acknowledged
        RdmaCongestionState cc;
        uint64_t windowTold{RdmaCongestionState::UNLIMITED}; //!< to the trace source
        uint64_t ratePaced{0};                               //!< rate psPerByte is for
        uint64_t readBarrier{NO_READ}; //!< first PSN of the responses of READs that is missing
        int64_t timerStart{0};         //!< the time-out runs from here, ps
        uint32_t lastWire{0};          //!< wire bytes of the packet that nextSend follows
        uint32_t retries{0};           //!< time-outs since something was acknowledged
        uint32_t told{0};              //!< all requests before this one have been completed
        RdmaQueuePairProfile* profile{nullptr}; //!< whose `idle` this one began as
    };

    struct Sender : SenderNumbers
    {
        std::vector<RdmaWorkRequest> requests;
        std::unique_ptr<RdmaSenderClock> clock; //!< null: no journeys are noted

        /// It is another queue pair's now.
        void Begin(const SenderNumbers& idle);
    };

    // Rest, congestion control and pace: rdma-requester-state.cc

    /// \return whether m_sender is its own
    bool IsSending() const;
    /// What changes the requester's state calls this first.
    void Send();
    void BeginSending();
    /// Gives the requester's state back if nothing is lost by it.
    void RestIfDone();
    /// Every number is of this PSN: nothing is posted, sent or to be acknowledged.
    void StartAt(uint64_t psn);
    /// Nothing has been posted.
    void Reset(uint64_t psn);

    /// It is this profile's from now on.
    void SetProfile(RdmaQueuePairProfile* profile, int64_t now);
    /// The congestion control hears of something that it has to remember.
    void OwnCongestionOps();
    /// \return between the starts of this packet and the next, ps
    int64_t GetGap(uint32_t wireBytes, uint64_t rateBps) const;
    /// \return ps a byte; 0: not paced
    static double GetPace(const RdmaNic& nic, const RdmaCongestionState& cc);
    void ChangeRate(int64_t now);
    void TellWindow(int64_t now);
    void OnCnp(int64_t now);

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

    /// Lets the congestion control change the rate if it said that it would by now.
    void UpdateIfDue(int64_t now)
    {
        RdmaCongestionState& cc = m_sender->cc;
        if (now >= cc.nextUpdate || cc.bytesSent >= cc.nextUpdateBytes)
        {
            m_ops->OnUpdate(cc, rdma::TimePoint(now));
            UpdateRate(now);
        }
    }

    // Sending

    RdmaPostResult CheckPost(const RdmaSendRequest& request) const;
    void Post(const RdmaSendRequest& posted);

    bool CanSend() const
    {
        const Sender& s = *m_sender;
        return s.nextPsn < s.sendEnd && s.sentBytes - s.ackedBytes < s.cc.windowBytes &&
               s.nextPsn - s.ackedPsn < m_maxOutstanding;
    }

    /// \return whether the next packet begins a message that has not begun before
    bool StartsMessage() const;
    /// \pre CanSend()
    RdmaFrame* MakeFrame(int64_t now);
    /// A packet takes the way that the path selector says.
    void SelectPath(RdmaFrame& frame, int64_t now);
    /// The path selector hears what an answer says. \param expected the first PSN that has not
    /// arrived
    void TellPathSelector(const RdmaFrame& answer, uint64_t expected, int64_t now);
    /// What a data packet carries besides. \pre some of ATTACHMENTS is needed \param left bytes of
    /// its message that are not sent yet, its own included
    void AddNotes(RdmaFrame& frame, uint64_t left, int64_t now);
    /// The packet of this PSN goes again. \param frame its
    void NoteRepeated(RdmaFrame* frame, uint64_t psn);
    /// Nothing was outstanding when the packet of the next PSN is sent.
    void StartTimer(int64_t now);
    /// Payload of this size leaves in a frame of this size: tell congestion control and pace.
    /// \param again it has been sent before
    void Sent(uint32_t payload, uint32_t wireBytes, int64_t now, bool again = false);
    /// Where sending stops: at the end of what is posted, or before, for one of several reasons.
    void UpdateSendEnd();
    /// Where sending stops in SEND_QUEUE_DRAINED: what has begun is finished.
    void Drain();

    // Answers

    void OnAcknowledge(RdmaFrame* frame, int64_t now);
    /// A NAK names this packet, which came out of order.
    void TellArrivedEarly(uint32_t named);
    /// An answer of an RdmaPullTransport.
    void OnAnswer(RdmaFrame* frame, int64_t now);
    void OnReturned(const RdmaFrame& frame, int64_t now);
    /// \param ack what says so, if it is an ACK or NAK
    /// \return whether the connection still works: who is told of completions may end it
    bool Acknowledge(uint64_t upTo, int64_t now, const RdmaFrame* ack = nullptr);
    /// What is acknowledged is complete.
    void TellCompleted(int64_t now);
    void Complete(const RdmaWorkRequest& request, RdmaStatus status, int64_t now);
    void Report(const RdmaWorkRequest& request, RdmaStatus status, int64_t now);
    /// The queue pair has failed: what is posted completes, the first of it with this status.
    void Flush(RdmaStatus first, int64_t now);
    void OnTimer();

    // Receivers that are not ready: rdma-requester-reads.cc

    void OnRareNak(const RdmaFrame& frame, int64_t now);
    void OnReceiverNotReady(uint64_t refused, uint8_t timer, int64_t now);
    void OnHoldOver();

    // READs: the same

    Verbs& GetVerbs();
    void AddRead(const RdmaWorkRequest& request);
    RdmaFrame* MakeReadRequest(const RdmaWorkRequest& request, int64_t now);
    void OnReadResponse(const RdmaFrame& frame, int64_t now);
    void AdvanceReads(uint64_t arrived);
    /// An ACK of what is behind a READ: remembered. \return how far all is acknowledged
    uint64_t HoldBack(uint64_t upTo);

    // Journeys (RdmaJourney): rdma-requester-journeys.cc

    /// The request posted last is noted.
    void StartClock(int64_t now);
    /// The window may have closed or opened.
    void NoteWindow(int64_t now);
    /// The last packet of a message starts to be sent.
    void StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now);
    /// The same of a packet that ends no message: only its way.
    void StartWay(RdmaFrame& frame, const RdmaWorkRequest& request);
    RdmaRequestTimes::Base ReadClock(int64_t now) const;
    /// Where the time of a message has gone whose last packet starts to be sent the first time.
    RdmaRequestTimes::Spent TimeInSender(const RdmaWorkRequest& request,
                                         const RdmaRequestTimes::Base& base,
                                         int64_t now) const;

    Sender* m_sender{nullptr}; //!< its own, or its profile's that nobody changes
    RdmaQueuePair* m_qp;
    RdmaQueuePair* m_nextReady{nullptr}; //!< in the NIC's round robin
    Ptr<RdmaCongestionOps> m_ops;        //!< the profile's, as long as both would be the same
    Ptr<RdmaPathSelector> m_selector;    //!< its own; null: no packet has been sent, or its NIC has
                                         //!< none
    uint32_t m_maxOutstanding;           //!< packets
    Schedule m_schedule{Schedule::IDLE};
    uint8_t m_retryCount{0};
    uint8_t m_timeoutExponent{0};
    bool m_timerPending{false};
    bool m_hearsAcks{false}; //!< RdmaTransport::HearsAcks of its transport
    bool m_pulls{false};     //!< its transport is an RdmaPullTransport
    uint32_t m_throttleGeneration{0};
    uint32_t m_lastKey{0}; //!< with a path selector: of the packet before
    uint64_t m_endPsn{0};  //!< first PSN after all that is posted
    uint64_t m_postedBytes{0};
    RdmaTimer<RdmaRequester, &RdmaRequester::OnTimer> m_timer;
};

/**
 * \ingroup rdma
 * What the queue pairs of a NIC have in common until they send: how a requester begins, and a
 * congestion control that has heard of nothing yet.
 *
 * A requester has a Sender of its own from its first post until all is acknowledged; what it counts
 * goes on where it was. One that only receives, as one end of each connection of a collective, has
 * none, and one that rests has none: a direct all-to-all makes n (n - 1) connections, of which a
 * few work at a time. A requester whose congestion control has heard of congestion, or keeps
 * something of each ACK (all without RdmaCongestionOps::QUIET), keeps all of its state, and so does
 * one that is paced or has done more than WRITEs.
 */
struct RdmaQueuePairProfile
{
    const RdmaCongestionOps* prototype{nullptr}; //!< the NIC's, or its class's
    Ptr<RdmaCongestionOps> ops;
    RdmaCongestionState before; //!< what Init saw
    RdmaCongestionState after;  //!< and what it and the NIC's window made of that
    uint64_t staticRate{0};     //!< static rate of the path or the connection, bit/s; 0: none
    bool quiet{false};          //!< queue pairs may share `ops`
    bool variableWindow{false}; //!< the NIC's
    RdmaRequester::Sender idle; //!< nothing can be sent; not changed
};

inline bool
RdmaRequester::IsSending() const
{
    return m_sender != &m_sender->profile->idle;
}

inline void
RdmaRequester::Send()
{
    if (!IsSending())
    {
        BeginSending();
    }
}

} // namespace ns3

#endif /* RDMA_REQUESTER_H */
