/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OUT_OF_ORDER_RECOVERY_H
#define OUT_OF_ORDER_RECOVERY_H

#include "selective-repeat-recovery.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Packets may come in any order, as adaptive routing brings them: they are kept and not answered by
 * NAKs, as what is missing took another way. What is lost goes again after the local ACK time-out.
 */
class RdmaOutOfOrderRecovery : public RdmaSelectiveRepeatRecovery
{
  public:
    explicit RdmaOutOfOrderRecovery(const RdmaTransportScheme::Setting& setting);

    std::string GetName() const override;
    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t psn,
                      RdmaFrame& frame,
                      bool fresh,
                      rdma::TimePoint now) override;
};

} // namespace ns3

#endif /* OUT_OF_ORDER_RECOVERY_H */
