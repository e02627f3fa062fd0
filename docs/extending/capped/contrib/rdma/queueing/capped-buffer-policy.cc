/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/registered-part.h"
#include "rdma-buffer-policy.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

const rdma::RegisteredBufferPolicy g_cappedPolicy{
    rdma::BufferPolicyName{{"capped", "a share of what is free, but never more than a bound"}}};

/// \ingroup rdma
/// Dynamic thresholds with a bound: an empty switch does not let one queue grow for long.
class CappedBufferPolicy : public RdmaBufferPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::CappedBufferPolicy")
                                .SetParent<RdmaBufferPolicy>()
                                .SetGroupName("Rdma")
                                .AddConstructor<CappedBufferPolicy>()
                                .AddAttribute("Most",
                                              "Bytes of the pool that a queue never exceeds",
                                              UintegerValue(100000),
                                              MakeUintegerAccessor(&CappedBufferPolicy::m_most),
                                              MakeUintegerChecker<uint64_t>(1));
        return tid;
    }

    std::string GetName() const override
    {
        return g_cappedPolicy.name;
    }

    std::string Attach(rdma::SharedBufferConfig&) override
    {
        return {};
    }

    uint64_t Limit(rdma::QueueSide, uint32_t, uint8_t, uint64_t alphaFree, int64_t) override
    {
        return std::min(alphaFree, m_most);
    }

  private:
    uint64_t m_most;
};

NS_OBJECT_ENSURE_REGISTERED(CappedBufferPolicy);

} // namespace ns3
