/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CREDIT_RETURNS_H
#define RDMA_CREDIT_RETURNS_H

#include "contrib/rdma/core/queue-limit.h"
#include "contrib/rdma/core/shared-buffer.h"

#include "ns3/rdma-port.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What leaves the shared buffer of a switch gives its credits back (RdmaCellCredits). It is a limit
 * of queues because the buffer tells those of every frame; it limits nothing.
 */
class RdmaCreditReturns : public rdma::QueueLimit
{
  public:
    /// \param others limits queues; null: alpha (B - Q) does
    RdmaCreditReturns(std::vector<RdmaPort*> ports, rdma::QueueLimit* others)
        : m_ports(std::move(ports)),
          m_others(others)
    {
    }

    /// Of memory that does not suffice. \return what receive buffers may have, where an attribute
    /// says how much that is and less of it would do: "ns3::RdmaPort::CreditBuffer: 100000000:
    /// allowed: at most 995904, as 4 are in this memory: "; else nothing
    static std::string WhyTooLarge(const std::vector<Ptr<RdmaPort>>& ports,
                                   const rdma::SharedBufferConfig& config);

    uint64_t Limit(rdma::QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        return m_others ? m_others->Limit(side, port, priority, alphaFree, now) : alphaFree;
    }

    void OnChange(rdma::QueueSide side,
                  uint32_t port,
                  uint8_t priority,
                  int64_t bytes,
                  int64_t now) override
    {
        if (m_others)
        {
            m_others->OnChange(side, port, priority, bytes, now);
        }
        if (side == rdma::QueueSide::kIngress && bytes < 0)
        {
            m_ports[port]->ReturnCells(priority, static_cast<uint64_t>(-bytes), now);
        }
    }

  private:
    std::vector<RdmaPort*> m_ports;
    rdma::QueueLimit* m_others;
};

} // namespace ns3

#endif /* RDMA_CREDIT_RETURNS_H */
