/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOWLET_LOAD_BALANCER_H
#define FLOWLET_LOAD_BALANCER_H

#include "contrib/rdma/core/flowlet-table.h"

#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-load-balancer.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * LetFlow (Vanini, Pan, Alizadeh, Taheri, Edsall: Let It Flow: Resilient Asymmetric Load Balancing
 * with Flowlet Switching, NSDI 2017): each flowlet takes a port by chance, whatever waits there.
 * Flowlets are longer on ways with room, as congestion makes gaps, and that balances.
 *
 * A sender that paces its packets, as an RDMA NIC does, makes few gaps: a message at a steady rate
 * is one flowlet. Packets keep their order if the gap is longer than what ways differ by in delay.
 */
class RdmaFlowletLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId();
    RdmaFlowletLoadBalancer();

    std::string GetName() const override
    {
        return "flowlet";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    void OnRoutes(uint32_t sets) override;
    int64_t AssignStreams(int64_t stream) override;

  private:
    Time m_gap;
    int64_t m_gapPs{0};
    uint32_t m_entries;
    Ptr<UniformRandomVariable> m_random;
    std::unique_ptr<rdma::FlowletTable> m_table;
};

} // namespace ns3

#endif /* FLOWLET_LOAD_BALANCER_H */
