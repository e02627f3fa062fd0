/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/abm-limit.h"
#include "rdma-buffer-policy.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * Active buffer management: core/abm-limit.h.
 */
class AbmBufferPolicy : public RdmaBufferPolicy
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

    uint64_t Limit(rdma::QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        return m_law->Limit(side, port, priority, alphaFree, now);
    }

    void OnChange(rdma::QueueSide side,
                  uint32_t port,
                  uint8_t priority,
                  int64_t bytes,
                  int64_t now) override
    {
        m_law->OnChange(side, port, priority, bytes, now);
    }

  private:
    std::unique_ptr<rdma::AbmLimit> m_law;
};

NS_OBJECT_ENSURE_REGISTERED(AbmBufferPolicy);

} // namespace ns3
