/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GRANTED_TRANSPORT_H
#define GRANTED_TRANSPORT_H

#include "trimming-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * What transports have in common whose receivers say when to send, one connection's messages or
 * packets by themselves, and whose packets no switch trims: Homa's, ExpressPass's.
 *
 * A packet is acknowledged for itself only where that says something: it ends what was posted or
 * all that has been announced, or it had come before. What is missing is named by NACKs, when the
 * sender asks (NackMissing).
 */
class RdmaGrantedTransport : public RdmaTrimmingTransport
{
  public:
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;
    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      bool fresh,
                      rdma::TimePoint now) override;
    void Acknowledge(RdmaResponder& responder, RdmaFrame* data, rdma::TimePoint now) override;
    /// Nothing waits for a turn among its NIC's pulls.
    Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now) override;

  protected:
    using RdmaTrimmingTransport::RdmaTrimmingTransport;

    void AnswerArrival(RdmaResponder& responder,
                       bool whole,
                       uint32_t psn,
                       RdmaFrame* data,
                       rdma::TimePoint now) override;

    /// \return whether all has come in order that the sender has told of
    virtual bool HasAll(const RdmaResponder& responder) const = 0;
    /// A packet has come: before anything else is made of it.
    void NoteFresh(const RdmaResponder& responder, uint64_t psn);
    /// Answers for each packet before `sent` that has not come. \return whether any has not
    bool NackMissing(RdmaResponder& responder, uint64_t sent, rdma::TimePoint now);

    /// Where a packet bears 32 bits of its transport: in what its kind has no other use for.
    /// (Immediate data stands in `aux`, the RETH's length, which nobody looks at here, in
    /// `dmaLength`.)
    static uint32_t& SpareOf(RdmaFrame& frame);
    /// \return the count near `near` that has these low bits
    static uint64_t ExtendCount(uint32_t low, uint64_t near);

    bool m_fresh{true}; //!< responder: the packet that has come last had not come before
};

} // namespace ns3

#endif /* GRANTED_TRANSPORT_H */
