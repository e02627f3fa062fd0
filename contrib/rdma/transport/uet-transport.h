/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UET_TRANSPORT_H
#define UET_TRANSPORT_H

#include "contrib/rdma/core/nscc-window.h"
#include "credit-exchange.h"
#include "trimming-transport.h"

#include "ns3/nstime.h"
#include "ns3/object.h"

#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * \ingroup rdma
 * What is to be chosen of Ultra Ethernet's transport: attributes of all connections of a NIC.
 */
class RdmaUetParameters : public Object
{
  public:
    static TypeId GetTypeId();

    /// \return the law's constants for a connection
    rdma::NsccParameters GetNscc(const RdmaTransportScheme::Setting& setting) const;

    bool HasSenderWindow() const
    {
        return m_senderWindow;
    }

    bool HasReceiverCredits() const
    {
        return m_receiverCredits;
    }

    uint32_t GetCreditsPerPull() const
    {
        return m_creditsPerPull;
    }

  private:
    bool m_senderWindow;
    bool m_receiverCredits;
    uint32_t m_creditsPerPull;
    Time m_targetDelay;
    uint32_t m_gate;
    double m_gamma;
    double m_alpha;
    double m_fairIncrease;
    double m_eta;
    double m_fastIncrease;
    double m_delayWeight;
    uint64_t m_initialWindow;
    double m_largestWindow;
};

/**
 * \ingroup rdma
 * Ultra Ethernet's transport (UET) in outline: reliable, messages in order, packets in any. What
 * was opened: the consortium's simulator (ultraethernet/uet-htsim, sim/uec.cpp: UecSrc, UecSink,
 * UecPullPacer) and its README; the UE specification itself was not.
 *
 *     sender                                        receiver
 *       packets, as many as the window allows ---->
 *       (NSCC), each with an entropy of its own
 *                        <------------------------- ACK of each (its time stamp, mark and entropy),
 *                                                   NACK of a packet that was trimmed
 *       with ReceiverCredits (RCCC): as many as credits allow, too
 *                        <------------------------- pulls of CreditsPerPull, as EQDS gives them
 *
 * NSCC: rdma::NsccWindow. In flight is what nothing has been heard of, packets counted as full
 * ones. Entropy: RdmaNic::PathSelector (the programs take REPS), which hears of a trimmed packet as
 * of a marked one.
 *
 * Differences, assumed: each packet is acknowledged for itself (the simulator: once 16 KB, by a
 * bitmap of 64 packets); a NACK does not say whether its packet was trimmed at the last hop; no
 * window penalty by the receiver (rcv_cwnd_pen), no probes (SLEEK): what is lost without a trace a
 * time-out finds. READs are refused. Headers are those of RoCEv2, with the answers of
 * RdmaNdpTransport.
 */
class RdmaUetTransport : public RdmaTrimmingTransport
{
  public:
    explicit RdmaUetTransport(const RdmaTransportScheme::Setting& setting);

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
    void ChooseNext(RdmaRequester& requester) override;
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;

    bool OnArrival(RdmaResponder& responder,
                   uint64_t psn,
                   RdmaFrame& frame,
                   rdma::TimePoint now) override;
    void OnRequestToSend(RdmaResponder& responder,
                         const RdmaFrame& frame,
                         rdma::TimePoint now) override;
    Pull GivePull(RdmaResponder& responder, bool urgent, rdma::TimePoint now) override;

  protected:
    bool MaySend(const RdmaRequester& requester) const override;
    void AnswerArrival(RdmaResponder& responder,
                       bool whole,
                       uint32_t psn,
                       RdmaFrame* data,
                       rdma::TimePoint now) override;

  private:
    double GetInFlight(const RdmaRequester& requester) const;
    /// \return packets that it would send if it had the credits
    uint64_t GetDemand(const RdmaRequester& requester) const;

    double m_packet;                             //!< bytes
    std::optional<RdmaCreditExchange> m_credits; //!< none without ReceiverCredits
    std::optional<rdma::NsccWindow> m_window;    //!< none without SenderWindow
};

} // namespace ns3

#endif /* UET_TRANSPORT_H */
