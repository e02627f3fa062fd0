/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-frame.h"

namespace ns3
{

RdmaFramePool RdmaFramePool::g_pool;

void
RdmaFramePool::Grow()
{
    constexpr uint32_t n = 1024;
    m_slabs.push_back(std::make_unique<RdmaFrame[]>(n));
    RdmaFrame* slab = m_slabs.back().get();
    for (uint32_t i = n; i-- > 0;)
    {
        slab[i].next = m_free;
        m_free = &slab[i];
    }
}

void
RdmaFramePool::GrowExtra()
{
    constexpr uint32_t n = 256;
    m_extraSlabs.push_back(std::make_unique<RdmaFrameExtra[]>(n));
    RdmaFrameExtra* slab = m_extraSlabs.back().get();
    for (uint32_t i = n; i-- > 0;)
    {
        slab[i].next = m_freeExtra;
        m_freeExtra = &slab[i];
    }
}

} // namespace ns3
