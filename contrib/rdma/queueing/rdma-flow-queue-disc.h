/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FLOW_QUEUE_DISC_H
#define RDMA_FLOW_QUEUE_DISC_H

#include "rdma-flow-queues.h"

#include "ns3/rdma-port.h"
#include "ns3/rdma-priority-turns.h"
#include "ns3/rdma-queue-disc.h"

#include <array>
#include <cstdint>
#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * Attributes and priorities of disciplines with a queue a flow: priorities take turns by the port's
 * StrictPriorities and weights, in bytes, and each has flows of its own, so that PFC can hold one.
 *
 * \tparam Tag of RdmaFlowQueues
 */
template <class Tag>
class RdmaFlowQueueDisc : public RdmaQueueDisc
{
  public:
    /// Most of the attribute Queues.
    static constexpr uint32_t MOST_QUEUES = 65536;

    std::string Attach(const RdmaPort& port, uint64_t seed) override
    {
        m_port = &port;
        m_seed = seed;
        return {};
    }

    void Push(RdmaFrame* frame, int64_t now) override
    {
        Flows& flows = m_flows[frame->priority];
        if (!flows.IsStarted()) // once a priority: most ports have frames of one or two
        {
            flows.Start(m_queues, m_seed);
        }
        Join(flows, frame, now);
    }

    RdmaFrame* Pop(uint8_t eligible, int64_t now) override
    {
        const uint8_t priority = m_turns.Pick(eligible, *m_port);
        RdmaFrame* frame = Leave(m_flows[priority], now);
        m_turns.Charge(priority, m_port->GetFrameBytes(frame), *m_port);
        return frame;
    }

    RdmaFrameList Take(uint8_t priority) override
    {
        return m_flows[priority].TakeAll();
    }

    void ForEach(uint8_t priority, const Visitor& visit) const override
    {
        m_flows[priority].ForEachQueue([&](const typename Flows::Queue& queue) {
            for (const RdmaFrame* frame = queue.list.Front(); frame; frame = frame->next)
            {
                visit(*frame);
            }
        });
    }

  protected:
    using Flows = RdmaFlowQueues<Tag>;
    using Queue = typename Flows::Queue;

    /// A frame joins a queue of its priority's.
    virtual void Join(Flows& flows, RdmaFrame* frame, int64_t now) = 0;
    /// \pre some queue has frames \return the next frame, out of its queue
    virtual RdmaFrame* Leave(Flows& flows, int64_t now) = 0;

    const RdmaPort* m_port{nullptr};
    std::array<Flows, RdmaPort::PRIORITIES> m_flows;
    uint32_t m_queues{128}; //!< attribute Queues

  private:
    uint64_t m_seed{0};
    RdmaPriorityTurns m_turns;
};

} // namespace ns3

#endif /* RDMA_FLOW_QUEUE_DISC_H */
