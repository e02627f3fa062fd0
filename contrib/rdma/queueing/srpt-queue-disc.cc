/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shortest remaining processing time.
 */
#include "contrib/rdma/core/queue-disc-names.h"
#include "rdma-flow-queue-disc.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// Ranks of the frames of a queue.
struct SrptRanks
{
    uint32_t least{UINT32_MAX};
    uint32_t most{0}; //!< at least: its frame may have left

    bool operator<(const SrptRanks& other) const
    {
        return least < other.least;
    }

    void Add(uint32_t rank)
    {
        least = std::min(least, rank);
        most = std::max(most, rank);
    }
};

} // namespace

/**
 * \ingroup rdma
 * What pFabric's switches do (Alizadeh et al.: pFabric, SIGCOMM 2013, section 4.2). Each packet
 * says how many bytes of its message are left (RdmaQueueDisc::RankOf). Next is the flow that has
 * the packet of the least rank, and of that flow the packet that came first, so that flows keep
 * their order. Where there is no room, the packet of the largest rank leaves; the arriving one, if
 * none is larger.
 *
 * Frames without a rank (ACKs, CNPs, ordinary packets) have rank 0. To find the largest rank takes
 * the time of a look at each flow.
 */
class SrptQueueDisc : public RdmaFlowQueueDisc<SrptRanks>
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "srpt";
    }

    uint16_t GetNeeds() const override
    {
        return RANK;
    }

    RdmaFrame* Evict(const RdmaFrame& arriving, int64_t) override
    {
        Flows& flows = m_flows[arriving.priority];
        for (;;)
        {
            Queue* worst = nullptr;
            flows.ForEachQueue([&worst](Queue& queue) {
                worst = !worst || worst->tag.most < queue.tag.most ? &queue : worst;
            });
            if (!worst || worst->tag.most <= RankOf(arriving))
            {
                return nullptr;
            }
            if (RdmaFrame* evicted = RemoveMost(flows, *worst))
            {
                return evicted;
            }
        }
    }

  protected:
    void Join(Flows& flows, RdmaFrame* frame, int64_t) override
    {
        Queue& queue = flows.Find(*frame);
        const bool first = queue.list.IsEmpty();
        if (first)
        {
            queue.tag = {};
        }
        queue.list.PushBack(frame);
        queue.tag.Add(RankOf(*frame));
        if (first)
        {
            flows.Insert(queue);
        }
        else
        {
            flows.Move(queue);
        }
    }

    RdmaFrame* Leave(Flows& flows, int64_t) override
    {
        Queue& queue = flows.Least();
        RdmaFrame* frame = queue.list.PopFront();
        const uint32_t rank = RankOf(*frame);
        // Ranks fall along a message, so that the least is the last: seldom the first.
        if (rank == queue.tag.least)
        {
            queue.tag = {};
            for (const RdmaFrame* left = queue.list.Front(); left; left = left->next)
            {
                queue.tag.Add(RankOf(*left));
            }
        }
        Settle(flows, queue);
        return frame;
    }

  private:
    /// Removes the frame whose rank is the queue's `most`. \return null: it has left before, and
    /// `most` is right now
    RdmaFrame* RemoveMost(Flows& flows, Queue& queue)
    {
        RdmaFrameList kept;
        RdmaFrame* evicted = nullptr;
        const uint32_t most = queue.tag.most;
        queue.tag = {};
        while (!queue.list.IsEmpty())
        {
            RdmaFrame* frame = queue.list.PopFront();
            if (!evicted && RankOf(*frame) == most)
            {
                evicted = frame;
                continue;
            }
            queue.tag.Add(RankOf(*frame));
            kept.PushBack(frame);
        }
        queue.list = kept;
        Settle(flows, queue);
        return evicted;
    }

    void Settle(Flows& flows, Queue& queue)
    {
        if (queue.list.IsEmpty())
        {
            flows.Remove(queue);
        }
        else
        {
            flows.Move(queue);
        }
    }
};

NS_OBJECT_ENSURE_REGISTERED(SrptQueueDisc);

TypeId
SrptQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SrptQueueDisc")
            .SetParent<RdmaQueueDisc>()
            .SetGroupName("Rdma")
            .AddConstructor<SrptQueueDisc>()
            .AddAttribute("Queues",
                          "Queues of each priority of a port that has frames; in sets of 8; "
                          "more flows of a set than 8 share queues, and count as one",
                          UintegerValue(128),
                          MakeUintegerAccessor(&SrptQueueDisc::m_queues),
                          MakeUintegerChecker<uint32_t>(1, MOST_QUEUES));
    return tid;
}

namespace
{

const rdma::RegisteredQueueDisc g_srpt{
    "srpt",
    "least bytes of the message left first (pFabric, SIGCOMM 2013), and dropped last"};

} // namespace

} // namespace ns3
