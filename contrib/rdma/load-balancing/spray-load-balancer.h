/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SPRAY_LOAD_BALANCER_H
#define SPRAY_LOAD_BALANCER_H

#include "ns3/random-variable-stream.h"
#include "ns3/rdma-load-balancer.h"

#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Packet spraying: every packet takes a port of its own, whatever its flow (Dixit, Prakash, Hu,
 * Kompella: On the Impact of Packet Spraying in Data Center Networks, INFOCOM 2013), by chance,
 * in turns, or where the least waits (of equal queues one by chance). It splits evenly what is
 * equal; links that differ or fail upstream it does not see.
 *
 * PERMUTED is what a sender does that knows all ways and takes each once before it takes one again,
 * in an order by chance (NDP's: Handley et al., SIGCOMM 2017). Here switches do it for the sender,
 * by the packet's PSN and without state: the edge takes PSN modulo its n ports, turned by chance
 * every n packets; so each switch above gets one packet of the flow in n, and takes PSN / n in the
 * same way. What is sent again, and all that is no request, goes by chance. With more tiers of
 * choices than two only the mean is even.
 *
 * Packets of a flow overtake each other: RdmaNic::LossRecovery should be out-of-order. Go-back-N
 * goes back at each packet that is overtaken, and selective repeat sends it again. Of InfiniBand
 * the shortest ways may wait for each other in a circle, where its routing had others for that
 * (tori).
 */
class RdmaSprayLoadBalancer : public RdmaLoadBalancer
{
  public:
    enum Order
    {
        RANDOM,
        ROUND_ROBIN,
        LEAST_QUEUE,
        PERMUTED
    };

    static TypeId GetTypeId();
    RdmaSprayLoadBalancer();

    std::string GetName() const override
    {
        return "spray";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    void OnRoutes(uint32_t sets) override;
    bool NeedsFrames() const override;
    void OnPlace(RdmaPlace place) override;
    int64_t AssignStreams(int64_t stream) override;

  private:
    /// Where packet number PSN of its flow goes.
    uint16_t InFlowsTurn(const Candidates& candidates, const RdmaFrame& frame) const;
    uint16_t LeastQueue(const Candidates& candidates, const RdmaQueues& queues);

    Order m_order;
    Ptr<UniformRandomVariable> m_random;
    std::vector<uint32_t> m_next; //!< by set: whose turn it is
    std::shared_ptr<const RdmaEdges> m_edges;
    uint32_t m_own{RdmaEdges::NONE}; //!< its number among the edges
};

} // namespace ns3

#endif /* SPRAY_LOAD_BALANCER_H */
