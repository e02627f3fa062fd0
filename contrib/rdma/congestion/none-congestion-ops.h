/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NONE_CONGESTION_OPS_H
#define NONE_CONGESTION_OPS_H

#include "contrib/rdma/core/no-congestion-control.h"
#include "rdma-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * No congestion control: a fixed rate (the line's, or less) and an optional fixed window.
 */
class RdmaNoneCongestionOps : public RdmaNamedOps<RdmaNoneCongestionOps,
                                                  rdma::kNoCongestionControl,
                                                  RdmaCongestionOps::QUIET>
{
  public:
    static TypeId GetTypeId();

    void Init(RdmaCongestionState& state) override;

  private:
    uint64_t m_rate{0};
    uint64_t m_window{0};
};

} // namespace ns3

#endif /* NONE_CONGESTION_OPS_H */
