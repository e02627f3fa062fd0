/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LAW_BUFFER_POLICY_H
#define RDMA_LAW_BUFFER_POLICY_H

#include "rdma-buffer-policy.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * A policy whose limits are those of a law in core/, which Attach makes.
 *
 * \tparam Law an rdma::QueueLimit
 */
template <class Law>
class RdmaLawBufferPolicy : public RdmaBufferPolicy
{
  public:
    uint64_t Limit(rdma::QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        return m_law->Limit(side, port, priority, alphaFree, now);
    }

    void OnChange(rdma::QueueSide side,
                  uint32_t port,
                  uint8_t priority,
                  int64_t bytes,
                  int64_t now) override
    {
        m_law->OnChange(side, port, priority, bytes, now);
    }

  protected:
    std::unique_ptr<Law> m_law;
};

} // namespace ns3

#endif /* RDMA_LAW_BUFFER_POLICY_H */
