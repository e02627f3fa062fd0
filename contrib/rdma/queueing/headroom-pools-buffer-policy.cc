/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/headroom-pools.h"
#include "rdma-buffer-policy.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Dynamic thresholds, and headroom that ports share: core/headroom-pools.h.
 */
class HeadroomPoolsBufferPolicy : public RdmaBufferPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::HeadroomPoolsBufferPolicy")
                .SetParent<RdmaBufferPolicy>()
                .SetGroupName("Rdma")
                .AddConstructor<HeadroomPoolsBufferPolicy>()
                .AddAttribute("Pools",
                              "Pools of a switch, of neighbouring ports each",
                              UintegerValue(1),
                              MakeUintegerAccessor(&HeadroomPoolsBufferPolicy::m_pools),
                              MakeUintegerChecker<uint32_t>(1, 65535))
                .AddAttribute("Ratio",
                              "Headroom of the ports over that of their pool (SONiC's "
                              "over_subscribe_ratio: 2)",
                              DoubleValue(2),
                              MakeDoubleAccessor(&HeadroomPoolsBufferPolicy::m_ratio),
                              MakeDoubleChecker<double>(1, 65535));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kHeadroomPoolsPolicy.name;
    }

    std::string Attach(rdma::SharedBufferConfig& config) override
    {
        const std::string error = rdma::PoolHeadroom(config, m_pools, m_ratio);
        return error.empty() ? error : "ns3::HeadroomPoolsBufferPolicy::Pools: " + error;
    }

    bool LimitsQueues() const override
    {
        return false;
    }

  private:
    uint32_t m_pools;
    double m_ratio;
};

NS_OBJECT_ENSURE_REGISTERED(HeadroomPoolsBufferPolicy);

} // namespace ns3
