/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_RESPONDER_H
#define RDMA_RESPONDER_H

#include "rdma-verbs.h"

#include "ns3/rdma-early-journeys.h"
#include "ns3/rdma-frame.h"

#include <cstdint>
#include <memory>

namespace ns3
{

class RdmaDatagrams;
class RdmaNic;
class RdmaQueuePair;
struct RdmaWorkCompletion;

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
 * The receiving side of a queue pair: it takes packets in order, acknowledges them, delivers
 * messages and answers READs. A packet behind a gap it keeps if the RdmaTransport has an
 * RdmaReorderBuffer, which answers it. The first of a row of duplicates is answered by an ACK
 * whether it asks for one or not.
 *
 * SEND and WRITE with immediate take a receive request. Where there is none, the responder answers
 * with an RNR NAK and forgets what comes behind the refused packet until that comes again
 * (InfiniBand Architecture 1, 9.7.5.2.8).
 *
 * Responses to READs come in the responder's turn among its NIC's queue pairs, at the rate of its
 * congestion control. It executes a repeated READ again (9.7.5.1.2).
 */
class RdmaResponder
{
  public:
    explicit RdmaResponder(RdmaQueuePair* qp);

    RdmaResponder(const RdmaResponder&) = delete;
    RdmaResponder& operator=(const RdmaResponder&) = delete;

    // What a transport may look at and do ---------------------------------------------------------

    /// \return the first PSN that has not come in order
    uint64_t GetExpectedPsn() const
    {
        return m_expectedPsn;
    }

    /// \return whether any packet has come, in order or not
    bool HasHeard() const
    {
        return m_receivedBytes || m_messages || m_msn || m_holds || m_nakSent;
    }

    /// \return whether the expected packet has been refused by an RNR NAK
    bool HasRefused() const;

    /// \return whether every packet is answered, also out of order: a path selector wants to hear
    /// of each
    bool AnswersAll() const;
    void CountTrimmed();
    /// A packet out of order is not kept.
    void CountDropped();
    /// A packet out of order is not kept: a NAK says so, once a gap (and every NakInterval).
    void DropOutOfOrder(RdmaFrame& frame, rdma::TimePoint now);
    /// How far this end is. \param data what is answered; or null
    void SendAck(RdmaFrame* data, rdma::TimePoint now);
    /// PSN sequence error. \param aux where an ACK has the MSN \param data what is answered
    void SendSequenceNak(uint32_t aux, RdmaFrame& data, rdma::TimePoint now);
    /// An answer of an RdmaPullTransport. \param psn that is answered \param pulls given so far
    /// \param data what is answered; or null
    void SendAnswer(RdmaOpcode opcode,
                    uint32_t psn,
                    uint32_t pulls,
                    RdmaFrame* data,
                    rdma::TimePoint now);
    /// RdmaRequester::ShareRoute
    void ShareRoute(const RdmaFrame& frame);
    /// \return whether a pull may go at once, with an answer (RdmaPullQueue::Take)
    bool TakePull(rdma::TimePoint now);
    /// A pull is owed: the transport is asked for it in its turn (RdmaPullTransport::GivePull).
    /// \param urgent before those that are not
    void QueuePull(bool urgent, rdma::TimePoint now);

  private:
    friend class RdmaDatagrams;
    friend class RdmaNic;
    friend class RdmaQueuePair;
    friend class RdmaRequester;
    friend struct RdmaQueuePairVerbs;

    struct Verbs;

    static constexpr uint64_t NO_DUPLICATE = UINT64_MAX;
    static constexpr int64_t NO_NAK = INT64_MAX;

    /// \return PSNs that a request takes: one, or of a READ one a packet of its response
    uint32_t GetPsnCount(RdmaOpcode opcode, uint32_t dmaLength) const;
    void CountDuplicate();
    /// Nothing has arrived; this PSN is the first.
    void Reset(uint64_t expected);

    void OnData(RdmaFrame* frame, int64_t now);
    void OnRequestToSend(const RdmaFrame& frame, int64_t now);
    /// A packet has come while one before it is missing.
    void OnOutOfOrder(uint64_t psn, RdmaFrame& frame, int64_t now);
    void NoteReorder(uint64_t psn);
    /// It has seen a mark, or wants to see every packet: is a CNP due?
    void Notice(const RdmaFrame& frame, int64_t now);
    /// \param journey of its last packet; null: there is none
    void DeliverMessage(bool hasImmediate,
                        uint32_t immediate,
                        int64_t now,
                        const RdmaJourney* journey);
    /// The last packet of a message comes before another one: what it notes is kept.
    void KeepJourney(uint64_t psn, RdmaFrame& frame, int64_t now);
    /// What has been kept is in order now. \param data what has come last; or null
    void ReleaseHeld(RdmaFrame* data, int64_t now);
    void SendNak(uint8_t flags, uint8_t syndrome, int64_t now);

    // Receive requests

    Verbs& GetVerbs();
    RdmaPostResult PostReceive(uint64_t bytes, uint64_t id);
    /// A packet that is not of a plain WRITE is next. \return whether it is taken as a packet of a
    /// message
    bool Admit(const RdmaFrame& frame, int64_t now);
    bool TakeReceive(RdmaOpcode opcode, uint32_t payload, int64_t now);
    void RefuseReceive(int64_t now);
    void CompleteReceive(const RdmaWorkCompletion& completion);
    void ReportMessage(const RdmaMessage& message, int64_t now);
    /// \return whether the queue pair was not reset meanwhile
    bool FlushReceives(int64_t now);

    // READs

    void OnReadRequest(uint64_t psn, uint32_t bytes, uint32_t label, int64_t now);
    /// \param label of its request
    void AddResponse(uint64_t psn, uint64_t end, uint64_t bytes, uint32_t label);
    RdmaFrame* MakeResponse(int64_t now);

    RdmaQueuePair* m_qp;
    uint64_t m_expectedPsn{0};
    uint64_t m_messageBytes{0}; //!< bytes so far of the message under way
    uint64_t m_receivedBytes{0};
    uint64_t m_duplicate{NO_DUPLICATE}; //!< last of a row of packets received before
    uint32_t m_msn{0};                  //!< requests received whole, 24 bits in the AETH
    bool m_nakSent{false};              //!< for the gap, or the refused packet
    bool m_holds{false};                //!< packets behind the gap are kept
    bool m_pulls{false};                //!< its transport is an RdmaPullTransport
    uint64_t m_messages{0};             //!< posts received whole
    int64_t m_nakAgain{NO_NAK};         //!< another NAK for the same gap is due from then on, ps
    std::unique_ptr<RdmaEarlyJourneys> m_early; //!< null: there were none
};

} // namespace ns3

#endif /* RDMA_RESPONDER_H */
