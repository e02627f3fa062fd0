/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRIMMING_TRANSPORT_H
#define TRIMMING_TRANSPORT_H

#include "contrib/rdma/core/receive-bitmap.h"

#include "ns3/rdma-pull-transport.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * What transports have in common whose switches cut the payload off packets that they have no room
 * for (RdmaSwitch::TrimPackets): NDP, EQDS, Ultra Ethernet's.
 *
 * Requester. Of each packet it knows whether it has arrived, is to be sent again, or has not been
 * heard of. What is to be sent again goes first, from the lowest PSN on.
 *
 *     [acked, highest) = arrived (m_acked) + to be sent again (m_again) + unheard
 *
 * Responder. Packets are taken in any order, messages delivered in order. Each packet or header
 * that comes is answered at once, by ACK or NACK: AnswerArrival.
 */
class RdmaTrimmingTransport : public RdmaPullTransport
{
  public:
    /// What a receiver keeps track of: packets of 16 round trips (assumed), as one that is trimmed
    /// again and again may be missing while others come.
    static constexpr uint32_t ROUND_TRIPS = 16;

    void SendFrom(uint64_t psn) override;
    void OnFirstSent(rdma::TimePoint now) override;
    void OnPosted(RdmaRequester& requester, rdma::TimePoint now) override;
    /// Is nothing to it by default.
    void OnReturned(RdmaRequester& requester, uint64_t psn, rdma::TimePoint now) override;
    void OnRefused(RdmaRequester& requester,
                   uint64_t psn,
                   rdma::TimePoint until,
                   rdma::TimePoint now) override;
    void ChooseNext(RdmaRequester& requester) override;
    rdma::Duration GetLeastTimeout(const RdmaRequester& requester) const override;
    bool GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const override;

    bool OnArrival(RdmaResponder& responder,
                   uint64_t psn,
                   RdmaFrame& frame,
                   rdma::TimePoint now) override;
    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      bool fresh,
                      rdma::TimePoint now) override;
    void Acknowledge(RdmaResponder& responder, RdmaFrame* data, rdma::TimePoint now) override;
    /// Is nothing to it by default.
    void OnRequestToSend(RdmaResponder& responder,
                         const RdmaFrame& frame,
                         rdma::TimePoint now) override;

  protected:
    explicit RdmaTrimmingTransport(const RdmaTransportScheme::Setting& setting);

    /// \return RdmaNic::FirstWindow, or packets of a round trip at line rate and two queues of
    /// eight on the way to a host, which a window has to fill besides the wire (assumed; the
    /// example of NDP's authors for a permutation on a 432-node fat-tree has 23 packets of 9 KB at
    /// 10 Gb/s, sim/EXAMPLES/permutation/run.sh)
    static uint64_t FirstWindow(const RdmaTransportScheme::Setting& setting);

    /// \return packets of a round trip at line rate
    static uint64_t RoundTrip(const RdmaTransportScheme::Setting& setting);

    // Requester

    /// \return whether a packet may be sent now
    virtual bool MaySend(const RdmaRequester& requester) const = 0;
    /// A packet is sent.
    void NoteSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame);
    /// What an ACK or NACK says of the packet that it answers.
    void NoteAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now);
    /// Marks all before `expected` as arrived. \return those that were not
    uint64_t NoteArrivedBefore(RdmaRequester& requester, uint64_t expected);
    void NoteAcknowledged(RdmaRequester& requester, rdma::TimePoint now);
    /// What had been sent when the time-out began and has not been heard of is lost: it goes again.
    /// \return packets
    uint64_t LoseUnheard(RdmaRequester& requester);
    /// \return PSN behind what had been sent when the time-out began; the next one begins now
    uint64_t TakeSentFirst(const RdmaRequester& requester);
    /// \return packets sent of which nothing is known
    uint64_t GetUnheard(const RdmaRequester& requester) const;
    /// \return time from the start of the time-out to when something was last heard
    rdma::Duration GetQuiet(const RdmaRequester& requester) const;
    /// \return packets that have never been sent or are to be sent again
    uint64_t GetBacklog(const RdmaRequester& requester) const;

    // Responder

    /// What has come is answered. \param whole it has its payload, or had come with it before
    virtual void AnswerArrival(RdmaResponder& responder,
                               bool whole,
                               uint32_t psn,
                               RdmaFrame* data,
                               rdma::TimePoint now) = 0;

    /// \return whether all is there that the sender had to send, as it said last
    bool IsAllHere(const RdmaResponder& responder) const;

    rdma::Duration m_patience; //!< CreditTimeout
    uint64_t m_cap;            //!< of PSNs from the first that is not acknowledged on
    rdma::ReceiveBitmap m_acked;
    rdma::ReceiveBitmap m_again; //!< to be sent again
    rdma::TimePoint m_heard;     //!< the last answer came, or the first packet went

  private:
    uint64_t m_sentFirst{0}; //!< PSNs before had been sent when the time-out began

    uint64_t m_highest;  //!< responder: no packet from this PSN on has come
    bool m_isAll{false}; //!< the last one before m_highest said that nothing is behind it
};

} // namespace ns3

#endif /* TRIMMING_TRANSPORT_H */
