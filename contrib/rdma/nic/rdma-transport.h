/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_TRANSPORT_H
#define RDMA_TRANSPORT_H

#include "contrib/rdma/core/units.h"
#include "rdma-reorder-buffer.h"

#include "ns3/object.h"
#include "ns3/ptr.h"
#include "ns3/simple-ref-count.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ns3
{

class RdmaNic;
class RdmaRequester;
class RdmaResponder;
class RdmaTransport;

/**
 * \ingroup rdma
 * A transport, as users select it: RdmaNic::LossRecovery. Connections use it whose both NICs have
 * it; all others are reliable connections that recover by go-back-N.
 */
struct RdmaTransportScheme
{
    /// The beginning of one connection.
    struct Setting
    {
        uint64_t firstSent{0};        //!< PSN
        uint64_t sendCap{0};          //!< most packets outstanding; only with bdpFactor
        uint64_t firstExpected{0};    //!< PSN
        uint64_t receiveCap{0};       //!< most that the other end has outstanding
        rdma::Duration timeout;       //!< local ACK time-out; 0: none
        rdma::Duration rtoLow;        //!< RdmaNic::RtoLow
        rdma::Duration rtoHigh;       //!< RdmaNic::RtoHigh
        uint32_t rtoLowPackets{0};    //!< RdmaNic::RtoLowPackets
        uint64_t firstWindow{0};      //!< RdmaNic::FirstWindow, packets; 0: the transport's own
        rdma::Duration creditTimeout; //!< RdmaNic::CreditTimeout
        rdma::Duration pullTimeout;   //!< RdmaNic::PullTimeout
        uint32_t packetBytes{0};      //!< payload of a full packet
        uint64_t lineBps{0};          //!< most that the queue pair may send at
        rdma::Duration baseRtt;       //!< RdmaNic::GetBaseRtt; only with BASE_RTT among `needs`
        RdmaNic* nic{nullptr};        //!< whose connection it is; outlives the transport
        Object* parameters{nullptr};  //!< what `makeParameters` has made for the NIC: all of its
                                      //!< connections may keep there what they share
    };

    std::string name;
    Ptr<RdmaTransport> (*make)(const Setting&);
    /// Most packets outstanding, in packets of a round trip at line rate (RdmaNic::BdpCap); 0: as
    /// many as there are PSNs for.
    uint32_t bdpFactor{0};
    bool ackPerPacket{false};     //!< every packet asks for an ACK, whatever RdmaNic::AckEvery says
    bool creditsInAnswers{false}; //!< so these have no room for an entropy (RdmaPathSelector)
    bool needsTrimming{false};    //!< switches have to trim (RdmaSwitch::TrimPackets)
    /// RdmaCongestionOps::Needs that it has besides those of the congestion control: ECN_ECHO,
    /// TIME_STAMP, BASE_RTT.
    uint16_t needs{0};
    Ptr<Object> (*makeParameters)(){nullptr}; //!< its own attributes; null: it has none
    /// What a sender that may not send waits for, in words; null: for acknowledgements, as its
    /// window is closed. \param parameters what makeParameters has made
    const char* (*waitsFor)(const Object* parameters){nullptr};
    /// With makeParameters: whether they go together. \return what is wrong and allowed; empty:
    /// nothing
    std::string (*check)(const Object* parameters){nullptr};
};

/**
 * \ingroup rdma
 * How the two ends of a connection see to it that each packet arrives. A queue pair calls it, with
 * its requester and responder passed in. There are two kinds:
 *
 *     RdmaLossRecovery   reliable connection (InfiniBand Architecture 1, 9.7): ACKs and NAKs; the
 *                        sender decides when a packet goes, the recovery what goes again
 *     RdmaPullTransport  the receiver decides: it answers each packet and gives credits
 *
 * One object a connection, or one for all of a NIC if it keeps nothing of a connection.
 *
 * PSNs are not cut to 24 bits.
 */
class RdmaTransport : public SimpleRefCount<RdmaTransport>
{
  public:
    virtual ~RdmaTransport() = default;

    /// \return as registered (RdmaTransportSchemes); for messages and tests
    virtual std::string GetName() const = 0;

    // Requester ----------------------------------------------------------------------------------

    /// Asked once, when a queue pair takes the transport. \return whether OnFirstSent and
    /// OnAcknowledged are to be called
    virtual bool HearsAcks() const = 0;

    /// RdmaQueuePair::Modify has set another first PSN; nothing has been sent.
    virtual void SendFrom(uint64_t psn) = 0;

    /// With HearsAcks: the requester sends a packet, and nothing was outstanding.
    virtual void OnFirstSent(rdma::TimePoint now) = 0;

    /// With HearsAcks: requester.GetAckedPsn() has moved, before completions are told.
    virtual void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) = 0;

    /// An RNR NAK has come: the receiver was not ready for this PSN, and has thrown away what came
    /// behind it. \param until nothing is sent before
    virtual void OnRefused(RdmaRequester& requester,
                           uint64_t psn,
                           rdma::TimePoint until,
                           rdma::TimePoint now) = 0;

    /// The requester has sent a packet again, or (RdmaPullTransport) has heard an answer: the
    /// transport may choose the next packet (RdmaRequester::SeekTo).
    virtual void ChooseNext(RdmaRequester& requester) = 0;

    /// When the requester's timer ends: \return the time-out from GetTimerStart() on, as things
    /// are; 0: none
    virtual rdma::Duration GetTimeout(const RdmaRequester& requester) const = 0;

    /// When the timer is set. \return the least that GetTimeout may become: to look this often is
    /// often enough
    virtual rdma::Duration GetLeastTimeout(const RdmaRequester& requester) const = 0;

    /// A time-out is over, of requester.GetTimeoutsInRow(). \return whether the connection fails
    virtual bool GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const = 0;

    /// The time-out is over, and the requester does not give up.
    virtual void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) = 0;

    // Responder ----------------------------------------------------------------------------------

    /// A packet has come while one before it is missing, and has been kept if there is a reorder
    /// buffer: the transport answers it. \param psn its own \param fresh it had not been kept
    /// before
    virtual void OnOutOfOrder(RdmaResponder& responder,
                              uint64_t psn,
                              RdmaFrame& frame,
                              bool fresh,
                              rdma::TimePoint now) = 0;

    /// \return the packets that the responder keeps; null: it takes packets in order only
    RdmaReorderBuffer* GetReorderBuffer()
    {
        return m_kept ? &*m_kept : nullptr;
    }

  protected:
    std::optional<RdmaReorderBuffer> m_kept; //!< made by a transport that takes any order
};

} // namespace ns3

#endif /* RDMA_TRANSPORT_H */
