/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DRILL_LOAD_BALANCER_H
#define DRILL_LOAD_BALANCER_H

#include "ns3/random-variable-stream.h"
#include "ns3/rdma-load-balancer.h"

#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * DRILL(d, m) (Ghorbani, Yang, Godfrey, Ganjali, Firoozshahian: DRILL: Micro Load Balancing for
 * Low-latency Data Center Networks, SIGCOMM 2017): each packet takes the shortest of d queues by
 * chance and of the m that were the shortest when the packet before it was sent. What it remembers
 * it keeps for each set of ports. The paper's weights for asymmetric networks are left out, as are
 * its engines: a switch has one.
 *
 * Packets of a flow overtake each other, so NICs should take them in any order
 * (RdmaNic::LossRecovery).
 */
class RdmaDrillLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId();
    RdmaDrillLoadBalancer();

    std::string GetName() const override
    {
        return "drill";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    void OnRoutes(uint32_t sets) override;
    int64_t AssignStreams(int64_t stream) override;

  private:
    struct Seen
    {
        uint64_t bytes;
        uint16_t port;
    };

    uint32_t m_samples;
    uint32_t m_memory;
    Ptr<UniformRandomVariable> m_random;
    std::vector<uint16_t> m_best; //!< m_memory of each set: ports, or NO_PORT
    std::vector<Seen> m_seen;     //!< by the packet under way
};

} // namespace ns3

#endif /* DRILL_LOAD_BALANCER_H */
