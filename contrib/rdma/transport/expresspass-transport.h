/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EXPRESSPASS_TRANSPORT_H
#define EXPRESSPASS_TRANSPORT_H

#include "contrib/rdma/core/credit-feedback.h"
#include "contrib/rdma/core/marker-draws.h"
#include "granted-transport.h"

#include "ns3/object.h"
#include "ns3/rdma-event.h"

#include <cstdint>
#include <string>

namespace ns3
{

class RdmaNic;

/**
 * \ingroup rdma
 * Attributes of ExpressPass's connections of a NIC.
 */
class RdmaExpressPassHost : public Object
{
  public:
    static TypeId GetTypeId();

    /// \return what is wrong with the attributes, or nothing
    std::string Check() const;

    rdma::CreditFeedback::Settings GetFeedback() const
    {
        return {m_targetLoss, m_leastWeight, m_mostWeight, m_firstWeight, m_firstRate};
    }

    /// \return part by which the time between credits varies, either way
    double GetJitter() const
    {
        return m_jitter;
    }

    /// \return most credits that wait in the NIC's port
    uint32_t GetQueueCredits() const
    {
        return m_queueCredits;
    }

  private:
    double m_targetLoss;
    double m_leastWeight;
    double m_mostWeight;
    double m_firstWeight;
    double m_firstRate;
    double m_jitter;
    uint32_t m_queueCredits;
};

/**
 * \ingroup rdma
 * ExpressPass: Cho et al., SIGCOMM 2017. What was opened and what is assumed:
 * core/credit-feedback.h.
 *
 *     sender                                       receiver
 *       request: what it has to send ------------>
 *                        <------------------------ credits, a flow's own rate; ports let through
 *                                                  what data can come back, and drop the rest
 *       one data packet a credit ---------------->
 *                        <------------------------ ACK, once a message is there
 *
 * Nothing is sent without a credit, not even in the first round trip: the request goes ahead. Data
 * packets come back on the links that their credits were counted on, if both ends' packets have the
 * same way: so both use one flow hash, the lower of their two (ShareRoute), and switches of one
 * seed pick by it.
 *
 * Requester. A credit that it has no packet for is wasted, also while credits are still under way
 * when the last packet has gone.
 *
 * Responder. It sends credits from the request on until it has what the sender has announced; the
 * sender's last packet says that it is the last (the authors have a packet for that, CREDIT_STOP).
 * Credits acknowledge what has come in order. Its own port drops credits above eight, as switches
 * do; those have a number all the same, so they count as lost.
 */
class RdmaExpressPassTransport : public RdmaGrantedTransport
{
  public:
    explicit RdmaExpressPassTransport(const RdmaTransportScheme::Setting& setting);

    std::string GetName() const override;

    void OnPosted(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnSent(RdmaRequester& requester,
                uint64_t psn,
                RdmaFrame& frame,
                rdma::TimePoint now) override;
    void OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, rdma::TimePoint now) override;
    void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;

    bool OnArrival(RdmaResponder& responder,
                   uint64_t psn,
                   RdmaFrame& frame,
                   rdma::TimePoint now) override;
    void OnRequestToSend(RdmaResponder& responder,
                         const RdmaFrame& frame,
                         rdma::TimePoint now) override;

  protected:
    bool MaySend(const RdmaRequester& requester) const override;
    bool HasAll(const RdmaResponder& responder) const override;

  private:
    /// The receiver is asked for credits. \param sent all before this PSN went long ago
    void Ask(RdmaRequester& requester, uint64_t sent, rdma::TimePoint now);
    /// Credits are sent from now on. \param frame of the sender
    void Start(RdmaResponder& responder, const RdmaFrame& frame, rdma::TimePoint now);
    void OnTurn();
    void SendCredit(int64_t now);
    /// \return time between credits that the receiver's line allows, ps
    int64_t GetLeastGap() const;

    RdmaNic* m_nic;
    const RdmaExpressPassHost* m_host;
    uint32_t m_creditBytes; //!< on the wire
    uint32_t m_dataBytes;   //!< the same, of a full packet

    // Requester
    uint32_t m_credits{0}; //!< not used yet
    bool m_asks{false};    //!< the receiver knows that there is something to send
    rdma::CreditEcho m_echo;

    // Responder
    RdmaResponder* m_responder{nullptr};
    rdma::CreditFeedback m_feedback;
    rdma::CreditRounds m_rounds;
    rdma::MarkerDraws m_draws;
    bool m_drawn{false};         //!< m_draws has its seed
    bool m_sending{false};       //!< credits
    uint64_t m_end;              //!< PSN behind all that the sender has announced
    uint64_t m_highest;          //!< behind all that has come
    rdma::TimePoint m_heardData; //!< a packet or request has come
    int64_t m_next{0};           //!< the next credit, ps
    RdmaTimer<RdmaExpressPassTransport, &RdmaExpressPassTransport::OnTurn> m_turn;
    bool m_turnPending{false};
};

} // namespace ns3

#endif /* EXPRESSPASS_TRANSPORT_H */
