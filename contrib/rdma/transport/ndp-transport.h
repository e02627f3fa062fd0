/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NDP_TRANSPORT_H
#define NDP_TRANSPORT_H

#include "trimming-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * NDP: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
 * performance", SIGCOMM 2017, as its authors' simulator has it (Broadcom/csg-htsim, sim/ndp.cpp).
 * Switches cut the payload off packets that they have no room for (RdmaSwitch::TrimPackets), so
 * that the receiver hears of every packet, and asks for each one that it wants.
 *
 *     sender                                  receiver
 *       first window, at line rate ---------->
 *                        <------------------- ACK of a packet, or NACK of one that was trimmed
 *                        <------------------- PULL, one for each that came, paced (RdmaPullQueue)
 *       a packet to send again, or a new one ->
 *
 * Requester. A packet needs a credit. There are FirstWindow at the beginning, and again when all
 * that was posted has been acknowledged: as a new connection has them. Each pull brings one more.
 * Their number is cumulative, so one that is lost or late is made good by the next. What is to be
 * sent again goes first, from the lowest PSN on (NdpSrc::send_packet). A packet that a switch
 * returned, as there was no room even for its header, waits for a pull too, unless none is
 * expected: then it goes at once (NdpSrc::processRTS; without its exception for paths that are
 * worse than others).
 * After CreditTimeout without an acknowledgement, packets of which nothing has been heard go again
 * at once. While all have been heard of, pulls may take PullTimeout: with many senders each one's
 * turn comes seldom; then one packet goes.
 *
 * Responder. Packets are taken in any order and messages delivered in order. Each packet or header
 * that comes is answered at once, and owes a pull, which goes with the answer if it may; once all
 * is there that the sender had to send, it owes none (NdpSink::receivePacket, release_pulls), and
 * its last ACK says how many that were, so that who has posted more meanwhile is not short of them.
 *
 * Laws (asserted in tests): credits <= FirstWindow; packets sent = those acknowledged or trimmed
 * that have been heard of + on their way + lost.
 */
class RdmaNdpTransport : public RdmaTrimmingTransport
{
  public:
    explicit RdmaNdpTransport(const RdmaTransportScheme::Setting& setting);

    std::string GetName() const override;

    void OnSent(RdmaRequester& requester,
                uint64_t psn,
                RdmaFrame& frame,
                rdma::TimePoint now) override;
    void OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now) override;
    void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnReturned(RdmaRequester& requester, uint64_t psn, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnRefused(RdmaRequester& requester,
                   uint64_t psn,
                   rdma::TimePoint until,
                   rdma::TimePoint now) override;
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;

    Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now) override;

  protected:
    bool MaySend(const RdmaRequester& requester) const override;
    void AnswerArrival(RdmaResponder& responder,
                       bool whole,
                       uint32_t psn,
                       RdmaFrame* data,
                       rdma::TimePoint now) override;

  private:
    /// So many pulls will never come.
    void ExpectLess(uint64_t pulls);

    uint64_t m_window;             //!< packets
    rdma::Duration m_pullPatience; //!< PullTimeout

    // Requester
    uint64_t m_credit;
    uint64_t m_expected{0}; //!< pulls
    uint32_t m_pullsHeard{0};

    // Responder
    uint64_t m_owed{0};   //!< pulls
    uint32_t m_pulls{0};  //!< given
    bool m_queued{false}; //!< in the NIC's queue
};

} // namespace ns3

#endif /* NDP_TRANSPORT_H */
