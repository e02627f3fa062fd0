/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ECMP_LOAD_BALANCER_H
#define ECMP_LOAD_BALANCER_H

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/rdma-load-balancer.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Equal-cost multi-path: the port by a hash of the flow and of the switch's seed, so that a flow
 * keeps its way and its packets their order (core/flow-hash.h). Of InfiniBand a flow is a pair of
 * LIDs.
 *
 * With Resilient a port that goes moves only the flows it had (rdma::ResilientPick); else, as the
 * hash's range is divided anew, others move too.
 */
class RdmaEcmpLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "ecmp";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;

  protected:
    /// \return the port of the frame's flow
    uint16_t PortOfFlow(const Candidates& candidates, const RdmaFrame& frame) const
    {
        const uint32_t key = frame.route.GetKey();
        return candidates
            .ports[__builtin_expect(m_resilient, 0)
                       ? rdma::ResilientPick(key, GetSeed(), candidates.ports, candidates.size)
                       : rdma::EcmpPick(key, GetSeed(), candidates.size)];
    }

  private:
    bool m_resilient;
};

} // namespace ns3

#endif /* ECMP_LOAD_BALANCER_H */
