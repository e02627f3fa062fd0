/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HOMA_TRANSPORT_H
#define HOMA_TRANSPORT_H

#include "contrib/rdma/core/homa-grants.h"
#include "granted-transport.h"

#include "ns3/object.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * What Homa's connections of a NIC have in common: attributes, and the messages that come in.
 */
class RdmaHomaHost : public Object
{
  public:
    static TypeId GetTypeId();

    /// \return what is wrong with the attributes, or nothing
    std::string Check() const;

    const rdma::HomaPriorities& GetPriorities() const
    {
        return m_priorities;
    }

    /// \param window packets of a round trip, the same for all \return the messages that come in
    rdma::HomaGrants& GetGrants(uint64_t window);

  private:
    void SetCutoffs(std::string text);
    std::string GetCutoffs() const;

    std::string m_cutoffs;
    bool m_readable{true};
    uint32_t m_overcommitment;
    rdma::HomaPriorities m_priorities;
    std::optional<rdma::HomaGrants> m_grants;
};

/**
 * \ingroup rdma
 * Homa: Montazeri et al., "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network
 * Priorities", SIGCOMM 2018. What was opened: see rdma::HomaGrants; constants: PlatformLab/
 * HomaModule, homa_utils.c.
 *
 *     sender                                       receiver
 *       a round trip's packets, unscheduled: ---->
 *       priority by the message's size
 *                        <------------------------ grants for the messages with the fewest packets
 *                                                  left, with a priority, one a packet
 *       granted packets, at that priority ------->
 *                        <------------------------ ACK, once all of a message is there
 *       nothing heard for CreditTimeout: RTS ---->
 *                        <------------------------ NACK of each packet that is missing, or a grant
 *
 * Requester. A message is what a queue pair has posted: those posted while another one waits for
 * grants count with it. Each packet says how far its message goes, and how far its sender may go
 * (the draft's "Message Length" and "Incoming"). Its NIC serves messages with
 * fewer packets left first (rdma::HomaTurn).
 *
 * Responder. It answers packets by grants only, which acknowledge what has come in order.
 *
 * Differences, assumed: a message's sender asks after lost packets, not its receiver (RESEND after
 * a time without progress); cutoffs are fixed, not from recent traffic; at senders, messages that
 * have about as much left take turns; sizes count in full packets for messages
 * of several; headers are RoCEv2's, with the answers of RdmaNdpTransport.
 */
class RdmaHomaTransport : public RdmaGrantedTransport
{
  public:
    explicit RdmaHomaTransport(const RdmaTransportScheme::Setting& setting);
    ~RdmaHomaTransport() override;

    std::string GetName() const override;

    void SendFrom(uint64_t psn) override;
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
    /// A message that comes in, and who answers it.
    struct Inbound : rdma::HomaInbound
    {
        RdmaResponder* responder{nullptr};
        uint64_t first; //!< PSN of the connection's first packet
        uint8_t priority{0};

        void SendGrant(rdma::TimePoint now) const;
    };

    /// The requester's next turn at its NIC depends on what it has left.
    void TakeTurn(RdmaRequester& requester) const;
    /// Grants what there is to grant, to whichever messages.
    void GiveGrants(rdma::TimePoint now);

    Ptr<RdmaHomaHost> m_host;
    rdma::HomaGrants* m_grants; //!< the host's
    uint64_t m_window;          //!< packets of a round trip
    uint32_t m_packetBytes;

    // Requester
    uint64_t m_mayGoTo;       //!< PSNs before it may be sent
    uint64_t m_posted;        //!< GetEndPsn() when something was posted last
    uint64_t m_unscheduledTo; //!< packets before have m_unscheduled
    uint8_t m_unscheduled{0}; //!< priority of the message under way
    uint8_t m_scheduled{0};   //!< the same, from the last grant

    // Responder
    Inbound m_inbound;
    uint64_t m_highest;     //!< behind all that has come
    bool m_endsPost{false}; //!< the packet before m_highest ends a message
};

} // namespace ns3

#endif /* HOMA_TRANSPORT_H */
