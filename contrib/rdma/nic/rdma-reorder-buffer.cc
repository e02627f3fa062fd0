/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-reorder-buffer.h"

#include "ns3/rdma-frame.h"

#include <algorithm>

namespace ns3
{

RdmaReorderBuffer::RdmaReorderBuffer(uint64_t firstExpected, uint64_t capacity)
    : m_received(firstExpected, capacity)
{
}

RdmaReorderBuffer::Hold
RdmaReorderBuffer::Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame, uint32_t count)
{
    m_received.AdvanceTo(expected); // what came in order did not pass here
    if (!m_received.Covers(psn) || !m_received.Covers(psn + count - 1))
    {
        return Hold::NO_ROOM;
    }
    if (m_kept.empty())
    {
        size_t size = 1;
        while (size < m_received.Capacity())
        {
            size *= 2;
        }
        m_kept.resize(size);
    }
    RdmaArrival& first = At(psn);
    const bool fresh = m_received.Set(psn);
    if (fresh)
    {
        first = {frame.aux, frame.GetLabel(), frame.payload, frame.opcode, frame.flags};
        m_bytes += frame.payload;
    }
    if (frame.opcode == RdmaOpcode::READ_REQUEST)
    {
        // A repeated READ may ask for more than the one that it repeats.
        first.immediate = fresh ? frame.dmaLength : std::max(first.immediate, frame.dmaLength);
        for (uint64_t more = psn + 1; more < psn + count; ++more)
        {
            if (m_received.Set(more))
            {
                At(more) = {0, RdmaFrame::NO_LABEL, 0, RdmaOpcode::WRITE_MIDDLE, 0};
            }
        }
    }
    return fresh ? Hold::KEPT : Hold::DUPLICATE;
}

uint64_t
RdmaReorderBuffer::Release(uint64_t expected)
{
    m_received.AdvanceTo(expected);
    const uint64_t end = m_received.FirstClear(expected, expected + m_received.Capacity());
    m_received.AdvanceTo(end);
    for (uint64_t psn = expected; psn < end; ++psn)
    {
        m_bytes -= Get(psn).payload;
    }
    return end;
}

void
RdmaReorderBuffer::Forget(uint64_t psn)
{
    m_received = rdma::ReceiveBitmap(psn, m_received.Capacity());
    m_bytes = 0;
}

} // namespace ns3
