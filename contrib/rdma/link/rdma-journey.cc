/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-journey.h"

#include "rdma-frame.h"
#include "rdma-port.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ns3
{

namespace
{

/// Frames at the head of a queue that say behind whose a packet waits.
constexpr uint32_t HEADS = 32; // assumed: enough to tell whose queue it is

} // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // g++ and clang++ know it of such classes, too

void
RdmaJourney::CheckLines()
{
    static_assert(sizeof(Hop) == 64);
    // What it has of its own room lies behind this.
    static_assert(offsetof(RdmaJourney, hops) + sizeof(boost::container::vector<Hop>) == 64);
}

#pragma GCC diagnostic pop

void*
RdmaJourney::operator new(std::size_t)
{
    return RdmaFramePool::Get().AllocateJourney();
}

void
RdmaJourney::operator delete(void* memory)
{
    RdmaFramePool::Get().FreeJourney(memory);
}

void
RdmaJourney::Join(const RdmaPort* egress, const RdmaFrame& frame, int64_t now)
{
    Hop& hop = hops.emplace_back();
    frame.extra->joined = static_cast<uint8_t>(std::min<std::size_t>(hops.size(), UINT8_MAX));
    hop.egress = egress;
    hop.end = egress->GetEnd();
    if (wayOnly)
    {
        return;
    }
    m_pausedBefore = egress->GetPausedPs(frame.priority, now);
    // The flow with most bytes among the first of the queue, where they are few kinds.
    std::array<const RdmaFrame*, 8> kinds{};
    std::array<uint64_t, 8> bytes{};
    uint32_t seen = 0;
    const auto look = [&](const RdmaFrame& queued) {
        if (seen++ >= HEADS)
        {
            return;
        }
        for (std::size_t i = 0; i < kinds.size(); ++i)
        {
            if (!kinds[i])
            {
                kinds[i] = &queued;
            }
            const bool ordinary = kinds[i]->opcode == RdmaOpcode::ETHERNET;
            if (ordinary != (queued.opcode == RdmaOpcode::ETHERNET))
            {
                continue;
            }
            if (ordinary || (kinds[i]->src == queued.src && kinds[i]->destQp == queued.destQp &&
                             kinds[i]->dst == queued.dst))
            {
                bytes[i] += queued.wireBytes;
                break;
            }
        }
    };
    const RdmaFrame* queued = egress->GetQueueFront(frame.priority);
    for (; queued && seen < HEADS; queued = queued->next)
    {
        look(*queued);
    }
    if (egress->GetQueueDisc()) // any order: those that wait
    {
        egress->GetQueueDisc()->ForEach(frame.priority, look);
    }
    std::size_t most = 0;
    for (std::size_t i = 1; i < kinds.size(); ++i)
    {
        most = bytes[i] > bytes[most] ? i : most;
    }
    const RdmaFrame* first = kinds[most];
    if (first && first->opcode == RdmaOpcode::ETHERNET) // whose flow nobody knows by a number
    {
        hop.behind.ordinary = true;
    }
    else if (first)
    {
        hop.behind = {first->src, first->dst, first->destQp, first->GetLabel(), true};
    }
}

void
RdmaJourney::Leave(RdmaPort& egress, const RdmaFrame& frame, int64_t joined, int64_t now)
{
    if (wayOnly)
    {
        return;
    }
    Hop& hop = hops.back();
    hop.paused = egress.GetPausedPs(frame.priority, now) - m_pausedBefore;
    hop.queued = now - joined - hop.paused;
    hop.line = egress.GetSerialization(frame.wireBytes);
    hop.reach = egress.GetReachPs();
}

} // namespace ns3
