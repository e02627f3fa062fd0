/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Fair queueing by start times.
 */
#include "contrib/rdma/core/queue-disc-names.h"
#include "rdma-flow-queue-disc.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

/**
 * \ingroup rdma
 * Start-time fair queueing (Goyal, Vin, Cheng: Start-Time Fair Queueing, IEEE/ACM Transactions on
 * Networking 5(5), 1997), all flows of equal weight. The j-th frame of flow f, of l bytes, gets the
 * start tag S = max(v, F of the frame before) when it comes, and the finish tag F = S + l. The
 * least start tag is sent first. v is the start tag of the frame in service, and at the end of a
 * busy period the largest finish tag. In any interval in which two flows always have frames, the
 * bytes that they send differ by at most the sum of their largest frames (the paper's Theorem 1).
 *
 * A flow that has frames gets S = F of the frame before, as that is above v: so a queue keeps one
 * tag, the start tag of its first frame, and when it is empty the last finish tag.
 */
class FqQueueDisc : public RdmaFlowQueueDisc<uint64_t>
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "fq";
    }

  protected:
    void Join(Flows& flows, RdmaFrame* frame, int64_t now) override
    {
        Virtual& time = m_virtual[frame->priority];
        if (flows.IsEmpty() && now >= m_port->GetBusyUntil())
        {
            time.v = time.lastFinish; // its busy period is over
        }
        Queue& queue = flows.Find(*frame);
        const bool first = queue.list.IsEmpty();
        queue.list.PushBack(frame);
        if (first)
        {
            queue.tag = std::max(queue.tag, time.v);
            flows.Insert(queue);
        }
    }

    RdmaFrame* Leave(Flows& flows, int64_t) override
    {
        Queue& queue = flows.Least();
        RdmaFrame* frame = queue.list.PopFront();
        Virtual& time = m_virtual[frame->priority];
        time.v = queue.tag;
        queue.tag += m_port->GetFrameBytes(frame);
        time.lastFinish = std::max(time.lastFinish, queue.tag);
        if (queue.list.IsEmpty())
        {
            flows.Remove(queue);
        }
        else
        {
            flows.Move(queue);
        }
        return frame;
    }

  private:
    /// Of a priority, in bytes.
    struct Virtual
    {
        uint64_t v{0};
        uint64_t lastFinish{0};
    };

    std::array<Virtual, RdmaPort::PRIORITIES> m_virtual{};
};

NS_OBJECT_ENSURE_REGISTERED(FqQueueDisc);

TypeId
FqQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FqQueueDisc")
            .SetParent<RdmaQueueDisc>()
            .SetGroupName("Rdma")
            .AddConstructor<FqQueueDisc>()
            .AddAttribute("Queues",
                          "Queues of each priority of a port that has frames; in sets of 8; "
                          "more flows of a set than 8 share queues",
                          UintegerValue(128),
                          MakeUintegerAccessor(&FqQueueDisc::m_queues),
                          MakeUintegerChecker<uint32_t>(1, MOST_QUEUES));
    return tid;
}

namespace
{

const rdma::RegisteredQueueDisc g_fq{
    "fq",
    "fair queueing by start times (Goyal et al. 1997): flows of a priority share it by bytes"};

} // namespace

} // namespace ns3
