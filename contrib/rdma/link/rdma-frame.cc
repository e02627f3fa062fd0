/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-frame.h"

#include <mutex>
#include <vector>

namespace ns3
{

struct RdmaFramePool::All
{
    rdma::ObjectPool<RdmaFrame>::Depot frames;
    rdma::ObjectPool<RdmaFrameExtra>::Depot extras;
    rdma::ObjectPool<JourneyMemory>::Depot journeys;
    std::mutex mutex;
    std::vector<RdmaFramePool*> pools;
    std::vector<RdmaFramePool*> idle; //!< pools of threads that have ended
};

RdmaFramePool::RdmaFramePool(All& all)
    : m_frames(all.frames),
      m_extras(all.extras),
      m_journeys(all.journeys)
{
}

RdmaFramePool::All&
RdmaFramePool::GetAll()
{
    static All& all = *new All; // for the whole process: who frees last is not known
    return all;
}

RdmaFramePool&
RdmaFramePool::EnterThread()
{
    All& all = GetAll();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.idle.empty())
    {
        t_pool = new RdmaFramePool(all);
        all.pools.push_back(t_pool);
    }
    else
    {
        t_pool = all.idle.back();
        all.idle.pop_back();
    }
    return *t_pool;
}

void
RdmaFramePool::LeaveThread()
{
    if (t_pool)
    {
        All& all = GetAll();
        const std::lock_guard<std::mutex> lock(all.mutex);
        all.idle.push_back(t_pool);
        t_pool = nullptr;
    }
}

uint64_t
RdmaFramePool::GetLive()
{
    All& all = GetAll();
    const std::lock_guard<std::mutex> lock(all.mutex);
    uint64_t live = all.frames.GetOut();
    for (const RdmaFramePool* pool : all.pools)
    {
        live -= pool->m_frames.GetIdle();
    }
    return live;
}

} // namespace ns3
