/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pifo-queue-disc.h"

#include "contrib/rdma/core/queue-disc-names.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(PifoQueueDisc);

namespace
{

const rdma::RegisteredQueueDisc g_pifo{
    "pifo",
    "least bytes of the message left first, packet by packet: a flow's packets overtake each "
    "other",
    true};

} // namespace

TypeId
PifoQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::PifoQueueDisc")
                            .SetParent<RdmaQueueDisc>()
                            .SetGroupName("Rdma")
                            .AddConstructor<PifoQueueDisc>();
    return tid;
}

std::string
PifoQueueDisc::GetName() const
{
    return "pifo";
}

std::string
PifoQueueDisc::Attach(const RdmaPort& port, uint64_t)
{
    m_port = &port;
    return {};
}

uint16_t
PifoQueueDisc::GetNeeds() const
{
    return RANK;
}

int64_t
PifoQueueDisc::GetRank(const RdmaFrame& frame, int64_t)
{
    return RankOf(frame);
}

void
PifoQueueDisc::Push(RdmaFrame* frame, int64_t now)
{
    auto& heap = m_heaps[frame->priority]; // its memory grows with the longest queue, and stays
    heap.push_back({GetRank(*frame, now), m_joined++, frame});
    std::push_heap(heap.begin(), heap.end(), IsLater);
}

RdmaFrame*
PifoQueueDisc::Pop(uint8_t eligible, int64_t)
{
    const uint8_t priority = m_turns.Pick(eligible, *m_port);
    auto& heap = m_heaps[priority];
    std::pop_heap(heap.begin(), heap.end(), IsLater);
    RdmaFrame* frame = heap.back().frame;
    heap.pop_back();
    m_turns.Charge(priority, m_port->GetFrameBytes(frame), *m_port);
    return frame;
}

RdmaFrameList
PifoQueueDisc::Take(uint8_t priority)
{
    auto& heap = m_heaps[priority];
    std::sort(heap.begin(), heap.end(), [](const Entry& a, const Entry& b) {
        return a.number < b.number;
    });
    RdmaFrameList frames;
    for (const Entry& entry : heap)
    {
        frames.PushBack(entry.frame);
    }
    heap.clear();
    return frames;
}

void
PifoQueueDisc::ForEach(uint8_t priority, const Visitor& visit) const
{
    for (const Entry& entry : m_heaps[priority])
    {
        visit(*entry.frame);
    }
}

} // namespace ns3
