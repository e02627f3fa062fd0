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
#include <utility>
#include <vector>

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

/// XOFF of some ports at a fixed number of bytes; lossy queues as without it.
class StaticXoffLimit : public QueueLimit
{
  public:
    /// \param bytes by port: of the pool that each of its lossless priorities may hold; 0: as
    /// without it \param others limits all else; null: alpha (B - Q) does
    StaticXoffLimit(std::vector<uint64_t> bytes, QueueLimit* others)
        : m_bytes(std::move(bytes)),
          m_others(others)
    {
    }

    uint64_t Limit(QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        if (side == QueueSide::kIngress && m_bytes[port])
        {
            return m_bytes[port];
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
    std::vector<uint64_t> m_bytes;
    QueueLimit* m_others;
};

} // namespace rdma

#endif // RDMA_CORE_QUEUE_LIMIT_H
