/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The most that a queue may hold of a switch's shared pool, where that is neither a share of what
 * is free (dynamic) nor of the whole pool (static), which SharedBuffer has inline.
 *
 * A queue here is whatever the pool is shared by: a (port, priority) as ingress for lossless
 * traffic, as egress for lossy traffic.
 */
#ifndef RDMA_CORE_QUEUE_LIMIT_H
#define RDMA_CORE_QUEUE_LIMIT_H

#include <cstdint>

namespace rdma
{

enum class QueueSide : uint8_t
{
    kIngress,
    kEgress
};

/// Called for each frame: it allocates nothing. Times are ps.
class QueueLimit
{
  public:
    virtual ~QueueLimit() = default;

    /**
     * A frame has come. \param alphaFree bytes: what alone the pool allows, alpha (B - Q) \return
     * bytes that the queue may hold: of a lossless ingress queue above its guaranteed minimum, of a
     * lossy egress queue all it has
     */
    virtual uint64_t Limit(QueueSide side,
                           uint32_t port,
                           uint8_t priority,
                           uint64_t alphaFree,
                           int64_t now) = 0;

    /// Bytes have joined a queue, or (negative) left it: each frame once at either side.
    virtual void OnChange(QueueSide /* side */,
                          uint32_t /* port */,
                          uint8_t /* priority */,
                          int64_t /* bytes */,
                          int64_t /* now */)
    {
    }
};

/// XOFF at a fixed number of bytes; lossy queues as without it.
class StaticXoffLimit : public QueueLimit
{
  public:
    /// \param bytes of the pool that a lossless (port, priority) may hold \param others limits
    /// lossy queues; null: alpha (B - Q) does
    StaticXoffLimit(uint64_t bytes, QueueLimit* others)
        : m_bytes(bytes),
          m_others(others)
    {
    }

    uint64_t Limit(QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        if (side == QueueSide::kIngress)
        {
            return m_bytes;
        }
        return m_others ? m_others->Limit(side, port, priority, alphaFree, now) : alphaFree;
    }

    void OnChange(QueueSide side,
                  uint32_t port,
                  uint8_t priority,
                  int64_t bytes,
                  int64_t now) override
    {
        if (m_others)
        {
            m_others->OnChange(side, port, priority, bytes, now);
        }
    }

  private:
    uint64_t m_bytes;
    QueueLimit* m_others;
};

} // namespace rdma

#endif // RDMA_CORE_QUEUE_LIMIT_H
