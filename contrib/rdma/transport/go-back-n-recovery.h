/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GO_BACK_N_RECOVERY_H
#define GO_BACK_N_RECOVERY_H

#include "ns3/rdma-loss-recovery.h"

namespace ns3
{

/**
 * \ingroup rdma
 * InfiniBand's and RoCEv2's own recovery (InfiniBand Architecture 1, 9.7): the responder takes
 * packets in order only; the first behind a gap is answered by one NAK, and those behind it by none
 * until the expected PSN comes (or NakInterval is over). A NAK or a time-out goes back to the
 * oldest unacknowledged packet; after RetryCount time-outs without progress the queue pair fails.
 *
 * It keeps nothing of a connection: what it looks at, requester and responder count anyway.
 */
class RdmaGoBackNRecovery : public RdmaLossRecovery
{
  public:
    std::string GetName() const override;
    void OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now) override;
    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override;
    void OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now) override;
};

} // namespace ns3

#endif /* GO_BACK_N_RECOVERY_H */
