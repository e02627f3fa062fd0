/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/abm-limit.h"
#include "rdma-law-buffer-policy.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * Active buffer management: core/abm-limit.h.
 */
class AbmBufferPolicy : public RdmaLawBufferPolicy<rdma::AbmLimit>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::AbmBufferPolicy")
                                .SetParent<RdmaBufferPolicy>()
                                .SetGroupName("Rdma")
                                .AddConstructor<AbmBufferPolicy>();
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kAbmPolicy.name;
    }

    std::string Attach(rdma::SharedBufferConfig& config) override
    {
        m_law = std::make_unique<rdma::AbmLimit>(config.portRates);
        return {};
    }
};

NS_OBJECT_ENSURE_REGISTERED(AbmBufferPolicy);

} // namespace ns3
