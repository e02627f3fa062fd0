/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SELECTIVE_REPEAT_RECOVERY_H
#define SELECTIVE_REPEAT_RECOVERY_H

#include "ns3/rdma-loss-recovery.h"

#include <cstdint>

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
class RdmaSelectiveRepeatRecovery : public RdmaLossRecovery
{
  public:
    struct Timeouts
    {
        rdma::Duration low;  //!< while few packets are in flight
        rdma::Duration high; //!< otherwise
        uint32_t few{0};     //!< packets
    };

    RdmaSelectiveRepeatRecovery(const RdmaTransportScheme::Setting& setting,
                                const Timeouts& timeouts);

    std::string GetName() const override;

    bool HearsAcks() const override;
    void SendFrom(uint64_t psn) override;
    void OnFirstSent(rdma::TimePoint now) override;
    void OnAcknowledged(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnArrivedEarly(uint64_t psn, bool whole) override;
    void OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnRefused(RdmaRequester& requester,
                   uint64_t psn,
                   rdma::TimePoint until,
                   rdma::TimePoint now) override;
    void OnSentAgain(uint64_t psn) override;
    void ChooseNext(RdmaRequester& requester) override;
    rdma::Duration GetTimeout(const RdmaRequester& requester) const override;
    rdma::Duration GetLeastTimeout(const RdmaRequester& requester) const override;
    bool GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const override;

    void OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now) override;

    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      bool fresh,
                      rdma::TimePoint now) override;

  private:
    /// A recovery begins. \param from nothing before it is lost \param highest all before has been
    /// sent
    void Begin(uint64_t from, uint64_t highest, bool afterTimeout);
    void Recover(RdmaRequester& requester, uint64_t from, bool afterTimeout, rdma::TimePoint now);
    /// \return the first PSN that this recovery has to send again and has not yet, or `highest`
    uint64_t NextLost(uint64_t highest) const;
    Timeouts m_timeouts;

    uint64_t m_lostBefore{0}; //!< what is not acknowledged and before this is lost
    uint64_t m_cursor{0};     //!< all lost before has been sent again in this recovery
    uint64_t m_end{0};        //!< the recovery ends when all before is acknowledged
    rdma::TimePoint
        m_lastProgress; //!< something was acknowledged, or first sent with nothing in flight
    bool m_recovering{false};
    bool m_afterTimeout{false};
};

} // namespace ns3

#endif /* SELECTIVE_REPEAT_RECOVERY_H */
