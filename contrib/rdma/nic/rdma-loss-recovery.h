/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LOSS_RECOVERY_H
#define RDMA_LOSS_RECOVERY_H

#include "ns3/object.h"
#include "ns3/ptr.h"
#include "ns3/simple-ref-count.h"

#include <cstdint>
#include <string>

namespace ns3
{

class RdmaLossRecovery;
class RdmaRequester;
class RdmaResponder;
struct RdmaArrival;
struct RdmaFrame;
enum class RdmaOpcode : uint8_t;

/**
 * \ingroup rdma
 * A way to recover from loss, as users select it: RdmaNic::LossRecovery. It is used by connections
 * whose both NICs have it; all others, and who has no connection, recover by go-back-N.
 */
struct RdmaRecoveryScheme
{
    /// What the recovery of one connection begins with.
    struct Setting
    {
        uint64_t firstSent{0};     //!< PSN
        uint64_t sendCap{0};       //!< most packets outstanding; only with bdpFactor
        uint64_t firstExpected{0}; //!< PSN
        uint64_t receiveCap{0};    //!< most that the other end has outstanding
        int64_t timeout{0};        //!< local ACK time-out, ps; 0: none
        int64_t rtoLow{0};         //!< RdmaNic::RtoLow, ps
        int64_t rtoHigh{0};        //!< RdmaNic::RtoHigh, ps
        uint32_t rtoLowPackets{0}; //!< RdmaNic::RtoLowPackets
        uint64_t firstWindow{0};   //!< RdmaNic::FirstWindow, packets; 0: the recovery's own
        int64_t creditTimeout{0};  //!< RdmaNic::CreditTimeout, ps
        int64_t pullTimeout{0};    //!< RdmaNic::PullTimeout, ps
        uint32_t packetBytes{0};   //!< payload of a full packet
        uint64_t lineBps{0};       //!< most that the queue pair may send at
        int64_t baseRtt{0};        //!< RdmaNic::GetBaseRtt, ps; only with BASE_RTT among `needs`
        const Object* parameters{nullptr}; //!< what `makeParameters` has made for the NIC
    };

    std::string name;
    Ptr<RdmaLossRecovery> (*make)(const Setting&);
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
 * What a queue pair does about loss: an interface with requester and responder passed in. It
 * decides what goes again after a NAK and after a time-out, what a NAK says, when to give up, and
 * whether packets that come out of order are kept. A packet that comes in order, and an ACK of one,
 * do not ask it (but for HearsAcks()).
 *
 * One object a connection, or one for all of a NIC if it keeps nothing of a connection.
 *
 * A new recovery is one file: a class derived from this one and
 *
 *     static const RdmaRecoverySchemes::Registered g_mine{{"mine", [](const auto& setting) ...}};
 *
 * All times are in ps; PSNs are not cut to 24 bits.
 */
class RdmaLossRecovery : public SimpleRefCount<RdmaLossRecovery>
{
  public:
    virtual ~RdmaLossRecovery();

    /// \return as registered
    virtual std::string GetName() const = 0;

    // Requester ----------------------------------------------------------------------------------

    /// \return whether OnFirstSent and OnAcknowledged are to be called
    virtual bool HearsAcks() const;
    /// The first PSN is another (RdmaQueuePair::Modify); nothing has been sent.
    virtual void SendFrom(uint64_t psn);
    /// A packet is sent now, and nothing was outstanding.
    virtual void OnFirstSent(int64_t now);
    /// All before the requester's acknowledged PSN has arrived, which it had not heard before.
    virtual void OnAcknowledged(RdmaRequester& requester, int64_t now);
    /// A NAK has come. What it says besides how far the responder is: before that is taken.
    /// \param aux where an ACK has the MSN
    virtual void OnNakAux(RdmaRequester& requester, uint32_t aux);
    /// The same, after. \param expected by the responder
    virtual void OnNak(RdmaRequester& requester, uint64_t expected, int64_t now) = 0;
    /// The time-out is over; the requester does not give up.
    virtual void OnTimeout(RdmaRequester& requester, int64_t now) = 0;
    /// The receiver was not ready for this PSN, and has thrown away what came behind it: by default
    /// all that goes again. \param until nothing is sent before
    virtual void OnRefused(RdmaRequester& requester, uint64_t psn, int64_t until, int64_t now);
    /// This PSN has been sent again.
    virtual void OnSentAgain(uint64_t psn);
    /// Another packet than a new one would be next: the recovery may choose (SeekTo).
    virtual void ChooseNext(RdmaRequester& requester);
    /// \return time-out as things are; 0: none
    virtual int64_t GetTimeout(const RdmaRequester& requester) const;
    /// \return the least that it may become: to look this often is often enough
    virtual int64_t GetLeastTimeout(const RdmaRequester& requester) const;
    /// A time-out is over, of requester.GetTimeoutsInRow(). \return whether the connection fails
    virtual bool GivesUp(const RdmaRequester& requester, int64_t now) const;

    // Transports that have answers of their own and count credits: a recovery that HearsAll() hears
    // of each packet, at both ends, and has no READs.

    /// \return whether the functions below are to be called; asked once
    virtual bool HearsAll() const;
    /// A packet has been made, and is not outstanding any more but sent. Instead of ChooseNext.
    virtual void OnSent(RdmaRequester& requester, uint64_t psn, RdmaFrame& frame, int64_t now);
    /// One of the recovery's own answers has come. What it acknowledges is taken after.
    virtual void OnAnswer(RdmaRequester& requester, const RdmaFrame& frame, int64_t now);
    /// Something has been posted.
    virtual void OnPosted(RdmaRequester& requester, int64_t now);
    /// A switch has returned this packet.
    virtual void OnReturned(RdmaRequester& requester, uint64_t psn, int64_t now);

    /// A packet has come. \return whether that is all that is to be done about it
    virtual bool OnArrival(RdmaResponder& responder, uint64_t psn, RdmaFrame& frame, int64_t now);
    /// An ACK is due. \param data what is answered
    virtual void Acknowledge(RdmaResponder& responder, RdmaFrame* data, int64_t now);

    /// The sender asks for credits: RdmaRequester::RequestToSend.
    virtual void OnRequestToSend(RdmaResponder& responder, const RdmaFrame& frame, int64_t now);

    struct Pull
    {
        uint32_t packets; //!< that it asks for; 0: none was owed, so none has been sent
        bool more;        //!< whether another turn is wanted
    };

    /// It is its turn in the RdmaPullQueue. \param urgent among the urgent
    virtual Pull GivePull(RdmaResponder& responder, bool urgent, int64_t now);

    // READs: of their responses the requester knows itself what has arrived.

    enum class Response : uint8_t
    {
        TAKEN,
        DUPLICATE,
        DROPPED //!< it will come again
    };

    /// The response of this PSN has come. \param missing the first one that has not
    virtual Response OnResponse(uint64_t psn, uint64_t missing);
    /// One has come behind one that has not.
    virtual void OnResponseMissing(RdmaRequester& requester, int64_t now) = 0;
    /// Those in [from, to) need not be sent again.
    virtual void OnArrived(uint64_t from, uint64_t to);
    /// \return the first PSN in [from, limit) that has not arrived, or `limit`
    virtual uint64_t NextMissing(uint64_t from, uint64_t limit) const;
    /// A READ that begins with PSN `from` goes again. \return its end: at most `limit`
    virtual uint64_t RepeatUpTo(uint64_t from, uint64_t limit, uint64_t highest) const;

    // Responder ----------------------------------------------------------------------------------

    /// A packet has come while one before it is missing: by default it is dropped. \param psn its
    /// own
    virtual void OnOutOfOrder(RdmaResponder& responder,
                              uint64_t psn,
                              RdmaFrame& frame,
                              int64_t now);

    // Only of those that keep packets:

    /// \return whether anything is kept
    virtual bool HasHeld() const;
    /// \return payload that is kept
    virtual uint64_t GetHeldBytes() const;
    /// The missing packet has come: it is kept too, until Release(). \param count PSNs of it
    virtual void FillGap(uint64_t psn, const RdmaFrame& frame, uint32_t count);
    /// What has arrived from `expected` on without a gap is no longer kept. \return the first PSN
    /// that has not arrived
    virtual uint64_t Release(uint64_t expected);
    /// Nothing has arrived from this PSN on.
    virtual void Forget(uint64_t psn);
    /// \return what has been released of a packet, until something else is kept
    virtual const RdmaArrival& GetHeld(uint64_t psn) const;
};

} // namespace ns3

#endif /* RDMA_LOSS_RECOVERY_H */
