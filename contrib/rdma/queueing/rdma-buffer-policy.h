/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_BUFFER_POLICY_H
#define RDMA_BUFFER_POLICY_H

#include "contrib/rdma/core/queue-limit.h"
#include "contrib/rdma/core/shared-buffer.h"

#include "ns3/object.h"

#include <cstdint>
#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * How much of a switch's shared pool a queue may hold, with attributes: one of these a switch,
 * chosen by name (attribute RdmaSwitch::BufferPolicy). "dynamic" and "static" are no classes:
 * rdma::SharedBuffer has them inline.
 *
 * A class is found by its TypeId: derive it, give it a name, register it, and a line
 * rdma::RegisteredBufferPolicy makes it an option (core/registered-part.h).
 */
class RdmaBufferPolicy : public Object, public rdma::QueueLimit
{
  public:
    static TypeId GetTypeId();
    ~RdmaBufferPolicy() override;

    /// \return what it is called in the attribute BufferPolicy
    virtual std::string GetName() const = 0;

    /**
     * Once, before the first frame: allocates everything. \param config rates, headroom and alphas
     * of the ports, which it may change (headroom in pools); the size of the shared pool follows
     * from it: GetPool \return what is wrong with its attributes, or nothing
     */
    virtual std::string Attach(rdma::SharedBufferConfig& config) = 0;

    /// \return whether Limit and OnChange are to be called; asked once, after Attach
    virtual bool LimitsQueues() const
    {
        return true;
    }

    /// By default what alone the pool allows.
    uint64_t Limit(rdma::QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override;

  protected:
    /// \return bytes of the shared pool, B; 0: none is left, which is an error of its own
    static uint64_t GetPool(const rdma::SharedBufferConfig& config);
};

} // namespace ns3

#endif /* RDMA_BUFFER_POLICY_H */
