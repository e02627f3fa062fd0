/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NO_RECOVERY_H
#define NO_RECOVERY_H

#include "ns3/rdma-loss-recovery.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Nothing is sent again. Datagrams have this one: what is lost is lost, and nobody is told
 * (InfiniBand Architecture 1, 9.8.3). A reliable connection that is set to it fails at the first
 * loss that its requester hears of, by a NAK or a time-out, with status RETRY_EXCEEDED: for fabrics
 * that are meant to lose nothing. A receiver that is not ready is no loss: the refused message goes
 * again, and what has been sent behind it.
 */
class RdmaNoRecovery : public RdmaLossRecovery
{
  public:
    std::string GetName() const override;
    void OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;
    bool GivesUp(const RdmaRequester& requester, rdma::TimePoint now) const override;
    void OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now) override;
};

} // namespace ns3

#endif /* NO_RECOVERY_H */
