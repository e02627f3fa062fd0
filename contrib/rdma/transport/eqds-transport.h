/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EQDS_TRANSPORT_H
#define EQDS_TRANSPORT_H

#include "credit-exchange.h"
#include "trimming-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * EQDS: Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022:
 * packets wait in the sender's host until the receiver gives credits for them, so that queues in
 * the network stay short. What was opened: the paper's abstract, and its authors' simulator, which
 * this follows (Broadcom/csg-htsim, sim/eqds.cpp: EqdsSrc, EqdsSink, EqdsPullPacer).
 *
 *     sender                                      receiver
 *       unsolicited window, with what more it
 *       could send (its target) ---------------->
 *                        <----------------------- ACK, or NACK of a packet that was trimmed
 *                        <----------------------- pull: a credit, while its target is not reached;
 *                                                 senders take turns, those that have to send
 *                                                 again first; one a packet's time (RdmaPullQueue)
 *       packets to send again, or new ones ----->
 *       no credit, none expected: RTS ---------->
 *
 * Requester. Credits that were given are used before unsolicited ones, and those end with the first
 * answer (EqdsSrc::spendCredit, clearSpeculativeCredit). Each packet says how many credits it could
 * use in all: rdma::CreditAsker (computePullTarget). A time-out without a credit sends an RTS,
 * which asks only (rtxTimerExpired, sendRTS).
 *
 * Responder. rdma::CreditGiver. A trimmed packet asks for one more credit, urgently
 * (EqdsSink::receivePacket, pull).
 *
 * Differences, assumed: of the unsolicited window a sender counts on a round trip's packets, and
 * asks for what is beyond (the simulator counts on all, and is short of what the first answer ends
 * until it has timed out); a receiver that has all forgets what was asked for; credits are of
 * packets and not of bytes; each packet is acknowledged for
 * itself; a credit goes with an answer if nobody waits for one; an RTS has no PSN of its own, and
 * goes also when something is posted while no credit is there or expected; when all that was posted
 * has been acknowledged the unsolicited window is there again, and so nobody who has nothing to
 * send is given credits in advance (the simulator's idle senders). Where in a packet its target
 * stands is assumed, and its bytes are not counted.
 *
 * Laws (asserted in tests): credits given <= those asked for + packets trimmed; what NDP has.
 */
class RdmaEqdsTransport : public RdmaTrimmingTransport
{
  public:
    explicit RdmaEqdsTransport(const RdmaTransportScheme::Setting& setting);

    std::string GetName() const override;

    void OnSent(RdmaRequester& requester,
                uint64_t psn,
                RdmaFrame& frame,
                rdma::TimePoint now) override;
    void OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now) override;
    void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnRefused(RdmaRequester& requester,
                   uint64_t psn,
                   rdma::TimePoint until,
                   rdma::TimePoint now) override;
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;

    bool OnArrival(RdmaResponder& responder,
                   uint64_t psn,
                   RdmaFrame& frame,
                   rdma::TimePoint now) override;
    void OnRequestToSend(RdmaResponder& responder,
                         const RdmaFrame& frame,
                         rdma::TimePoint now) override;
    Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now) override;

    void ChooseNext(RdmaRequester& requester) override;

  protected:
    bool MaySend(const RdmaRequester& requester) const override;
    void AnswerArrival(RdmaResponder& responder,
                       bool whole,
                       uint32_t psn,
                       RdmaFrame* data,
                       rdma::TimePoint now) override;

  private:
    RdmaCreditExchange m_credits;
};

} // namespace ns3

#endif /* EQDS_TRANSPORT_H */
