/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SELECTIVE_REPEAT_RECOVERY_H
#define SELECTIVE_REPEAT_RECOVERY_H

#include "contrib/rdma/core/receive-bitmap.h"

#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-responder.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Selective repeat, after IRN (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018).
 *
 * Requester (3.1): a bitmap of what has been selectively acknowledged; a NACK or a time-out begins
 * a recovery, which first sends the oldest unacknowledged packet again, then each packet that is
 * not acknowledged although one behind it is; each once. Where nothing is lost any more it sends
 * new packets. A recovery ends once all that was sent before it began is acknowledged. Time-outs
 * are RtoLow and RtoHigh; the queue pair fails once nothing has moved for RetryCount + 1 local ACK
 * time-outs, as late as under go-back-N.
 *
 * BDP-FC (3.2): next PSN - acknowledged PSN < the BDP cap, in packets; so each packet asks for an
 * ACK.
 *
 * Responder (3.1, 5): packets that come out of order are kept, one bit and a few bytes each, and
 * answered by a NACK that carries the expected PSN and the one that has come.
 *
 * Beyond the paper, and why:
 * - A packet sent again in a recovery although it was first sent during it prolongs the recovery
 *   until it is acknowledged too: else the next recovery would begin with it and send it a third
 *   time, for nothing.
 * - In a recovery that a time-out began, an ACK that stops before its end says that the next packet
 *   is lost too (as NewReno's partial ACK, RFC 6582): else a lost tail of n packets would cost n
 *   time-outs.
 */
class SelectiveRepeatRecovery : public RdmaLossRecovery
{
  public:
    struct Timeouts
    {
        int64_t low{0};  //!< ps, while few packets are in flight
        int64_t high{0}; //!< ps, otherwise
        uint32_t few{0}; //!< packets
    };

    SelectiveRepeatRecovery(const RdmaRecoveryScheme::Setting& setting, const Timeouts& timeouts);

    std::string GetName() const override;

    bool HearsAcks() const override;
    void SendFrom(uint64_t psn) override;
    void OnFirstSent(int64_t now) override;
    void OnAcknowledged(RdmaRequester& requester, int64_t now) override;
    void OnNakAux(RdmaRequester& requester, uint32_t aux) override;
    void OnNak(RdmaRequester& requester, uint64_t expected, int64_t now) override;
    void OnTimeout(RdmaRequester& requester, int64_t now) override;
    void OnRefused(RdmaRequester& requester, uint64_t psn, int64_t until, int64_t now) override;
    void OnSentAgain(uint64_t psn) override;
    void ChooseNext(RdmaRequester& requester) override;
    int64_t GetTimeout(const RdmaRequester& requester) const override;
    int64_t GetLeastTimeout(const RdmaRequester& requester) const override;
    bool GivesUp(const RdmaRequester& requester, int64_t now) const override;

    Response OnResponse(uint64_t psn, uint64_t missing) override;
    void OnResponseMissing(RdmaRequester& requester, int64_t now) override;
    void OnArrived(uint64_t from, uint64_t to) override;
    uint64_t NextMissing(uint64_t from, uint64_t limit) const override;
    uint64_t RepeatUpTo(uint64_t from, uint64_t limit, uint64_t highest) const override;

    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      int64_t now) override;
    bool HasHeld() const override;
    uint64_t GetHeldBytes() const override;
    void FillGap(uint64_t psn, const RdmaFrame& frame, uint32_t count) override;
    uint64_t Release(uint64_t expected) override;
    void Forget(uint64_t psn) override;
    const RdmaArrival& GetHeld(uint64_t psn) const override;

  protected:
    /// \return whether this packet came out of order and is kept
    bool IsKept(uint64_t psn) const
    {
        return m_received.Test(psn);
    }

    /// What the responder says to a packet out of order. \param fresh it is kept now; else it was
    /// before
    virtual void Answer(RdmaResponder& responder,
                        uint64_t psn,
                        RdmaFrame& frame,
                        bool fresh,
                        int64_t now) const;

  private:
    enum class Hold : uint8_t
    {
        KEPT,
        DUPLICATE,
        NO_ROOM
    };

    /// This PSN has arrived, and what is before is late.
    void Sack(uint64_t psn);
    /// A recovery begins. \param from nothing before it is lost \param highest all before has been
    /// sent
    void Begin(uint64_t from, uint64_t highest, bool afterTimeout);
    void Recover(RdmaRequester& requester, uint64_t from, bool afterTimeout, int64_t now);
    /// \return the first PSN that this recovery has to send again and has not yet, or `highest`
    uint64_t NextLost(uint64_t highest) const;
    /// \param expected the first PSN that has not arrived \param count PSNs that the frame takes:
    /// those of a READ behind the first are kept as if they were empty MIDDLEs
    Hold Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame, uint32_t count);

    Timeouts m_timeouts;

    // Requester
    rdma::ReceiveBitmap m_sacked;
    uint64_t m_lostBefore{0};  //!< what is not acknowledged and before this is lost
    uint64_t m_cursor{0};      //!< all lost before has been sent again in this recovery
    uint64_t m_end{0};         //!< the recovery ends when all before is acknowledged
    int64_t m_lastProgress{0}; //!< something was acknowledged, or first sent with nothing in flight
    bool m_recovering{false};
    bool m_afterTimeout{false};

    // Responder
    rdma::ReceiveBitmap m_received;
    uint64_t m_heldBytes{0};
    std::vector<RdmaArrival> m_held; //!< a ring, made when something first comes out of order
};

} // namespace ns3

#endif /* SELECTIVE_REPEAT_RECOVERY_H */
