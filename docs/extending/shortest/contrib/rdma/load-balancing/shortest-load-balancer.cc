/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/flow-hash.h"

#include "ns3/rdma-load-balancer.h"
#include "ns3/uinteger.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Each packet leaves by the shortest of all queues, and where several are about as short, by the
 * one of them that its flow's hash picks: flows that nobody disturbs keep their way. Packets
 * overtake each other.
 */
class ShortestLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::ShortestLoadBalancer")
                                .SetParent<RdmaLoadBalancer>()
                                .SetGroupName("Rdma")
                                .AddConstructor<ShortestLoadBalancer>()
                                .AddAttribute("Step",
                                              "Queues are compared in steps of so much (bytes)",
                                              UintegerValue(4096),
                                              MakeUintegerAccessor(&ShortestLoadBalancer::m_step),
                                              MakeUintegerChecker<uint64_t>(1));
        return tid;
    }

    std::string GetName() const override
    {
        return "shortest";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint /* now */) override
    {
        uint64_t least = UINT64_MAX;
        uint32_t equal = 0;
        for (const uint16_t port : candidates)
        {
            const uint64_t steps = queues.GetBytes(port) / m_step;
            equal = steps < least ? 1 : equal + (steps == least);
            least = steps < least ? steps : least;
        }
        uint32_t skip = rdma::EcmpPick(frame.route.GetKey(), GetSeed(), equal);
        uint16_t chosen = NO_PORT;
        for (const uint16_t port : candidates)
        {
            if (queues.GetBytes(port) / m_step == least && skip-- == 0)
            {
                chosen = port;
                break;
            }
        }
        return chosen;
    }

  private:
    uint64_t m_step;
};

NS_OBJECT_ENSURE_REGISTERED(ShortestLoadBalancer);

} // namespace ns3
