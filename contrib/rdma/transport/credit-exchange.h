/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CREDIT_EXCHANGE_H
#define CREDIT_EXCHANGE_H

#include "contrib/rdma/core/pull-credits.h"

#include "ns3/rdma-pull-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * The credits of a connection at both of its ends, as EQDS gives them (RdmaEqdsTransport): the
 * numbers of rdma::CreditAsker and rdma::CreditGiver in packets and answers, and the receiver's
 * turns in its NIC's RdmaPullQueue.
 */
class RdmaCreditExchange
{
  public:
    /// \param window packets, of the beginning \param roundTrip packets until the first answer
    /// \param perPull credits of a pull \param inAnswers whether answers bear credits too
    RdmaCreditExchange(uint64_t window, uint64_t roundTrip, uint32_t perPull, bool inAnswers);

    // Requester ----------------------------------------------------------------------------------

    bool HasCredit() const
    {
        return m_asker.Credits() > 0;
    }

    /// \return whether no credit is there or expected
    bool IsStuck() const
    {
        return !HasCredit() && !m_asker.Expects();
    }

    /// Says what it could use, in a packet of its own. \param demand packets \param again of these
    /// sent before
    void Ask(RdmaRequester& requester, uint64_t demand, uint64_t again);
    /// A packet is sent, which says what could be used besides.
    void OnSent(uint64_t psn, RdmaFrame& frame, uint64_t demand);
    void OnAnswer(const RdmaFrame& frame);
    void OnAcknowledged(const RdmaRequester& requester);

    /// What comes next begins as a new connection does.
    void Begin()
    {
        m_asker.Begin();
    }

    /// \return time-out while each packet has been heard of: the turn may take its time, and it
    /// asks ever more seldom
    static rdma::Duration GetTimeout(const RdmaRequester& requester, rdma::Duration patience);

    // Responder ----------------------------------------------------------------------------------

    /// A packet has come: what it says is taken out of it.
    void OnArrival(RdmaFrame& frame);
    void OnRequestToSend(RdmaResponder& responder, const RdmaFrame& frame, rdma::TimePoint now);
    /// \param whole RdmaTrimmingTransport::AnswerArrival \param all is there
    void Answer(RdmaResponder& responder,
                bool whole,
                bool all,
                uint32_t psn,
                RdmaFrame* data,
                rdma::TimePoint now);
    RdmaPullTransport::Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now);

  private:
    /// Its turn for a credit comes, if it wants one.
    void Queue(RdmaResponder& responder, rdma::TimePoint now);

    uint32_t m_perPull;
    bool m_inAnswers;
    rdma::CreditAsker m_asker;
    uint64_t m_saidAll{
        UINT64_MAX}; //!< requester: behind the last packet that said that nothing is behind
    rdma::CreditGiver m_giver;
    bool m_queued{false};       //!< responder: in the NIC's queue
    bool m_queuedUrgent{false}; //!< responder: in the NIC's queue of urgent pulls
};

} // namespace ns3

#endif /* CREDIT_EXCHANGE_H */
