/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ADAPTIVE_LOAD_BALANCER_H
#define ADAPTIVE_LOAD_BALANCER_H

#include "contrib/rdma/core/flowlet-table.h"
#include "ecmp-load-balancer.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * Adaptive routing: a frame leaves by the port that it always takes, or, if more than a threshold
 * waits there, by the one with the shortest queue. It always takes the port that InfiniBand's
 * forwarding table names, on Ethernet the one that ECMP gives its flow.
 *
 * With Sticky a flow that left its port stays where it went until more than the threshold waits
 * there too: it takes another way seldom, and fewer packets overtake each other.
 *
 * Packets of a flow overtake each other, so NICs should take them in any order
 * (RdmaNic::LossRecovery).
 */
class RdmaAdaptiveLoadBalancer : public RdmaEcmpLoadBalancer
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "adaptive";
    }

    bool KeepsFlows() const override
    {
        return false;
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    void OnRoutes(uint32_t sets) override;

  private:
    uint64_t m_threshold;
    bool m_sticky;
    std::unique_ptr<rdma::FlowletTable> m_table; //!< with stickiness: where flows are
};

} // namespace ns3

#endif /* ADAPTIVE_LOAD_BALANCER_H */
