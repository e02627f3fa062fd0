/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-priority-queue-disc.h"

#include <utility>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaPriorityQueueDisc);

TypeId
RdmaPriorityQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaPriorityQueueDisc").SetParent<RdmaQueueDisc>().SetGroupName("Rdma");
    return tid;
}

std::string
RdmaPriorityQueueDisc::Attach(const RdmaPort& port, uint64_t)
{
    m_port = &port;
    return {};
}

void
RdmaPriorityQueueDisc::Push(RdmaFrame* frame, int64_t)
{
    m_queues[frame->priority].PushBack(frame);
}

RdmaFrame*
RdmaPriorityQueueDisc::Pop(uint8_t eligible, int64_t now)
{
    return m_queues[Pick(eligible, now)].PopFront();
}

RdmaFrameList
RdmaPriorityQueueDisc::Take(uint8_t priority)
{
    return std::exchange(m_queues[priority], {});
}

void
RdmaPriorityQueueDisc::ForEach(uint8_t priority, const Visitor& visit) const
{
    for (const RdmaFrame* frame = m_queues[priority].Front(); frame; frame = frame->next)
    {
        visit(*frame);
    }
}

} // namespace ns3
