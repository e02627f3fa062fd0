/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/registered-part.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "rdma-buffer-policy.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

/**
 * \ingroup rdma
 * A queue of credits holds a few of them, so that the others are lost and receivers hear of it;
 * other queues as with the policy dynamic. Eight as ExpressPass's authors have it
 * (kaist-ina/ns2-xpass@01dcb958, scripts/large-scale-fattree.tcl: creditBuffer).
 */
class CreditBufferPolicy : public RdmaBufferPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::CreditBufferPolicy")
                                .SetParent<RdmaBufferPolicy>()
                                .SetGroupName("Rdma")
                                .AddConstructor<CreditBufferPolicy>()
                                .AddAttribute("Priority",
                                              "Of credits (ns3::RdmaNic::PullPriority)",
                                              UintegerValue(7),
                                              MakeUintegerAccessor(&CreditBufferPolicy::m_priority),
                                              MakeUintegerChecker<uint8_t>(0, 7))
                                .AddAttribute("Credits",
                                              "Most that wait in a queue",
                                              UintegerValue(8),
                                              MakeUintegerAccessor(&CreditBufferPolicy::m_credits),
                                              MakeUintegerChecker<uint32_t>(1, 100000));
        return tid;
    }

    std::string GetName() const override
    {
        return "credit";
    }

    std::string Attach(rdma::SharedBufferConfig&) override
    {
        m_bytes = m_credits * rdma::FrameBytes(rdma::RoceOpcode::kNdpPull).value;
        return {};
    }

    uint64_t Limit(rdma::QueueSide side,
                   uint32_t,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t) override
    {
        return side == rdma::QueueSide::kEgress && priority == m_priority
                   ? std::min(alphaFree, m_bytes)
                   : alphaFree;
    }

  private:
    uint8_t m_priority;
    uint32_t m_credits;
    uint64_t m_bytes{0};
};

NS_OBJECT_ENSURE_REGISTERED(CreditBufferPolicy);

namespace
{

const rdma::RegisteredBufferPolicy g_creditPolicy{rdma::BufferPolicyName{
    {"credit", "as dynamic, but a queue of credits holds eight (ExpressPass, SIGCOMM 2017)"}}};

} // namespace

} // namespace ns3
