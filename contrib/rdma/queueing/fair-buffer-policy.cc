/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/fair-limit.h"
#include "rdma-law-buffer-policy.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * Equal parts of the pool for all congested queues: core/fair-limit.h.
 */
class FairBufferPolicy : public RdmaLawBufferPolicy<rdma::FairLimit>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::FairBufferPolicy")
                .SetParent<RdmaBufferPolicy>()
                .SetGroupName("Rdma")
                .AddConstructor<FairBufferPolicy>()
                .AddAttribute("Reserve",
                              "Share of the pool that is kept for newcomers (assumed)",
                              DoubleValue(rdma::FairLimit::kReserve),
                              MakeDoubleAccessor(&FairBufferPolicy::m_reserve),
                              MakeDoubleChecker<double>(0, 0.9))
                .AddAttribute("CongestedBytes",
                              "A queue counts as congested from here on (bytes); ABM's code",
                              UintegerValue(rdma::FairLimit::kCongestedBytes),
                              MakeUintegerAccessor(&FairBufferPolicy::m_congestedBytes),
                              MakeUintegerChecker<uint64_t>(1, 1000000000000));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kFairPolicy.name;
    }

    std::string Attach(rdma::SharedBufferConfig& config) override
    {
        m_law = std::make_unique<rdma::FairLimit>(config.headroomBytes.size(),
                                                  GetPool(config),
                                                  m_reserve,
                                                  m_congestedBytes);
        return {};
    }

  private:
    double m_reserve;
    uint64_t m_congestedBytes;
};

NS_OBJECT_ENSURE_REGISTERED(FairBufferPolicy);

} // namespace ns3
