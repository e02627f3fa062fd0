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
class OutOfOrderRecovery : public SelectiveRepeatRecovery
{
  public:
    explicit OutOfOrderRecovery(const RdmaRecoveryScheme::Setting& setting);

    std::string GetName() const override;

  protected:
    void Answer(RdmaResponder& responder,
                uint64_t psn,
                RdmaFrame& frame,
                bool fresh,
                int64_t now) const override;
};

} // namespace ns3

#endif /* OUT_OF_ORDER_RECOVERY_H */
