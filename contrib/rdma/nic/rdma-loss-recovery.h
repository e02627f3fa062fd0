/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LOSS_RECOVERY_H
#define RDMA_LOSS_RECOVERY_H

#include "rdma-transport.h"

#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * \ingroup rdma
 * What a reliable connection does about loss: what goes again after a NAK and after a time-out,
 * what a NAK says, when to give up. A packet that comes in order, and an ACK of one, do not ask it
 * (but for HearsAcks()).
 *
 * The defaults are those of a recovery that keeps nothing of a connection. A new one is one file: a
 * class derived from this one and
 *
 *     static const RdmaTransportSchemes::Registered g_mine{{"mine", [](const auto& setting) ...}};
 *
 * One whose responder keeps packets makes m_kept, and m_sacked if its requester remembers what has
 * arrived out of order.
 */
class RdmaLossRecovery : public RdmaTransport
{
  public:
    /// A NAK has come, and what it acknowledges has been taken. \param expected by the responder
    virtual void OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now) = 0;

    /// A packet behind a missing one has arrived, as its NAK (before the NAK's acknowledgement is
    /// taken) or its own READ response says. \param whole false: it is a READ request's, whose
    /// response is still to come
    virtual void OnArrivedEarly(uint64_t psn, bool whole);

    /// The requester sends this PSN again.
    virtual void OnSentAgain(uint64_t psn);

    /// A response to a READ has come behind one that has not.
    virtual void OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now) = 0;

    bool HearsAcks() const override;
    void SendFrom(uint64_t psn) override;
    void OnFirstSent(rdma::TimePoint now) override;
    void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) override;
    /// All that is not acknowledged goes again.
    void OnRefused(RdmaRequester& requester,
                   uint64_t psn,
                   rdma::TimePoint until,
                   rdma::TimePoint now) override;
    void ChooseNext(RdmaRequester& requester) override;
    /// \return the local ACK time-out, and so does GetLeastTimeout
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;
    rdma::Duration GetLeastTimeout(const RdmaRequester& requester) const override;
    /// \return whether more time-outs in a row are over than RetryCount
    bool GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const override;
    /// Drops it: RdmaResponder::DropOutOfOrder.
    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      bool fresh,
                      rdma::TimePoint now) override;

    // READs, whose responses the requester knows itself ------------------------------------------

    enum class Response : uint8_t
    {
        TAKEN,
        DUPLICATE,
        DROPPED //!< it will come again
    };

    /// The response of this PSN has come. \param missing the first one that has not
    Response TakeResponse(uint64_t psn, uint64_t missing);
    /// Those in [from, to) need not be sent again.
    void NoteArrived(uint64_t from, uint64_t to);
    /// \return the first PSN in [from, limit) that has not arrived, or `limit`
    uint64_t NextMissing(uint64_t from, uint64_t limit) const;
    /// A READ that begins with PSN `from` goes again. \return its end: at most `limit`
    uint64_t RepeatUpTo(uint64_t from, uint64_t limit, uint64_t highest) const;

  protected:
    /// What has arrived out of order; none: only what is acknowledged counts as arrived.
    std::optional<rdma::ReceiveBitmap> m_sacked;
};

} // namespace ns3

#endif /* RDMA_LOSS_RECOVERY_H */
