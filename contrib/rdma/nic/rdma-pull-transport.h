/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PULL_TRANSPORT_H
#define RDMA_PULL_TRANSPORT_H

#include "rdma-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * A transport whose receiver answers each packet itself and pulls the next ones: NDP, EQDS, Ultra
 * Ethernet's. It hears of each packet at both ends, and has no READs.
 */
class RdmaPullTransport : public RdmaTransport
{
  public:
    bool HearsAcks() const override
    {
        return true;
    }

    // Requester ----------------------------------------------------------------------------------

    /// A request has been posted.
    virtual void OnPosted(RdmaRequester& requester, rdma::TimePoint now) = 0;

    /// The requester has made a packet; it counts as sent. The transport chooses the next.
    virtual void OnSent(RdmaRequester& requester,
                        uint64_t psn,
                        RdmaFrame& frame,
                        rdma::TimePoint now) = 0;

    /// One of RdmaResponder::SendAnswer's has come; what it acknowledges is taken after.
    virtual void OnAnswer(RdmaRequester& requester,
                          const RdmaFrame& frame,
                          rdma::TimePoint now) = 0;

    /// A switch has returned this packet: there was no room even for its header.
    virtual void OnReturned(RdmaRequester& requester, uint64_t psn, rdma::TimePoint now) = 0;

    // Responder ----------------------------------------------------------------------------------

    /// A packet has come, before anything else is done about it. \return whether that is all
    virtual bool OnArrival(RdmaResponder& responder,
                           uint64_t psn,
                           RdmaFrame& frame,
                           rdma::TimePoint now) = 0;

    /// A packet that has come whole is to be answered. \param data null: none in particular
    virtual void Acknowledge(RdmaResponder& responder, RdmaFrame* data, rdma::TimePoint now) = 0;

    /// The sender asks for credits: RdmaRequester::RequestToSend.
    virtual void OnRequestToSend(RdmaResponder& responder,
                                 const RdmaFrame& frame,
                                 rdma::TimePoint now) = 0;

    struct Pull
    {
        uint32_t packets; //!< that it asks for; 0: none was owed, so none has been sent
        bool more;        //!< whether another turn is wanted
    };

    /// It is its turn in the NIC's RdmaPullQueue (RdmaResponder::QueuePull). \param urgent among
    /// the urgent
    virtual Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now) = 0;
};

} // namespace ns3

#endif /* RDMA_PULL_TRANSPORT_H */
