/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_REORDER_BUFFER_H
#define RDMA_REORDER_BUFFER_H

#include "contrib/rdma/core/receive-bitmap.h"

#include <cstdint>
#include <vector>

namespace ns3
{

struct RdmaFrame;
enum class RdmaOpcode : uint8_t;

/// \ingroup rdma
/// A packet that has come out of order: what its message still has to be told.
struct RdmaArrival
{
    uint32_t immediate; //!< for a READ its length
    uint32_t label;     //!< RdmaFrame::GetLabel
    uint16_t payload;
    RdmaOpcode opcode;
    uint8_t flags;
};

/**
 * \ingroup rdma
 * Packets that a responder keeps until those before them have come: a bit and a few bytes each.
 * PSNs are not cut to 24 bits.
 */
class RdmaReorderBuffer
{
  public:
    enum class Hold : uint8_t
    {
        KEPT,
        DUPLICATE, //!< it was kept before
        NO_ROOM    //!< the sender has more outstanding than agreed
    };

    /// \param capacity most PSNs from the first that has not arrived on
    RdmaReorderBuffer(uint64_t firstExpected, uint64_t capacity);

    /// \param expected the first PSN that has not arrived \param count PSNs that the frame takes:
    /// those of a READ behind the first are kept as if they were empty MIDDLEs
    Hold Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame, uint32_t count);

    /// \return whether this packet is kept
    bool IsKept(uint64_t psn) const
    {
        return m_received.Test(psn);
    }

    bool IsEmpty() const
    {
        return m_received.IsEmpty();
    }

    /// \return packets that are kept
    uint64_t GetCount() const
    {
        return m_received.Count();
    }

    /// \return payload that is kept
    uint64_t GetBytes() const
    {
        return m_bytes;
    }

    /// What has arrived from `expected` on without a gap is no longer kept. \return the first PSN
    /// that has not arrived
    uint64_t Release(uint64_t expected);
    /// Nothing has arrived from this PSN on.
    void Forget(uint64_t psn);

    /// \return what has been released of a packet, until something else is kept
    const RdmaArrival& Get(uint64_t psn) const
    {
        return m_kept[psn & (m_kept.size() - 1)];
    }

  private:
    RdmaArrival& At(uint64_t psn)
    {
        return m_kept[psn & (m_kept.size() - 1)];
    }

    rdma::ReceiveBitmap m_received;
    uint64_t m_bytes{0};
    std::vector<RdmaArrival> m_kept; //!< a ring, made when something first comes out of order
};

} // namespace ns3

#endif /* RDMA_REORDER_BUFFER_H */
