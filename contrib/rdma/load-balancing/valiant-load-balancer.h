/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef VALIANT_LOAD_BALANCER_H
#define VALIANT_LOAD_BALANCER_H

#include "ns3/random-variable-stream.h"
#include "ns3/rdma-load-balancer.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * Valiant's routing as the dragonfly has it (Kim, Dally, Scott, Abts: Technology-Driven,
 * Highly-Scalable Dragonfly Topology, ISCA 2008; told again in Abts and Kim: High Performance
 * Datacenter Networks, 5.3.1 and 5.5.3, which was read): each packet goes to a group by chance, on
 * a shortest way, and from there to where it is addressed to, on a shortest way again.
 *
 *     group of the source --> a group by chance --> group of the destination
 *     here it is decided      the detour ends where
 *                             the packet comes in
 *
 * Any pattern of traffic becomes two of uniform traffic: half of the network's capacity, whoever
 * sends to whom. On networks without groups each switch is one (HyperX: Ahn et al., SC 2009; tori).
 *
 * The group is neither the source's nor the destination's, and what stays in its group makes no
 * detour (BookSim's dragonfly has the latter too). In the group the packet heads for a switch by
 * chance that hosts hang on, and turns as soon as it is there, so between groups with several links
 * it takes any of them. Shortest is counted in links: where global, local, global is as short as
 * local, global, local, it may go by another group (the paper's has one global link). Of several
 * shortest ways it takes one by chance, packet by packet.
 *
 * A packet makes one detour, and is decided on once, so nothing goes in circles. On a lossless
 * network buffers can wait for each other in one: the paper has a virtual channel for each part of
 * the way, which PFC's priorities here are not.
 */
class RdmaValiantLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId();
    RdmaValiantLoadBalancer();

    std::string GetName() const override
    {
        return "valiant";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    bool MakesDetours() const override;
    uint32_t GetTarget(RdmaFrame& frame,
                       const RdmaWays& ways,
                       const RdmaQueues& queues,
                       rdma::TimePoint now) override;
    void OnPlace(RdmaPlace place) override;
    int64_t AssignStreams(int64_t stream) override;

  protected:
    /// A packet of a host here, for another group. \param via endpoint that a detour would head
    /// for, which can be reached \return whether it makes the detour
    virtual bool Decide(const RdmaFrame& frame,
                        uint32_t via,
                        const RdmaWays& ways,
                        const RdmaQueues& queues);

    /// \return one of the ports, by chance
    uint16_t PickPort(const Candidates& candidates);

    /// \return links between the switches that two endpoints hang on
    uint32_t GetHops(uint32_t from, uint32_t to) const;

    /// The frame under way takes this port. NO_PORT: one by chance
    void SetPort(uint16_t port)
    {
        m_port = port;
    }

  private:
    /// \return the edge that an endpoint hangs on; NONE: it hangs on none, or there is no such one
    uint32_t EdgeOf(uint32_t endpoint) const;
    /// \return an endpoint of a group by chance but for these two; NONE: there is no other
    uint32_t PickVia(uint32_t group, uint32_t other);

    Ptr<UniformRandomVariable> m_random;
    std::shared_ptr<const RdmaEdges> m_edges;
    uint32_t m_own{RdmaEdges::NONE};
    uint32_t m_group{RdmaEdges::NONE};
    uint16_t m_port{NO_PORT};
};

} // namespace ns3

#endif /* VALIANT_LOAD_BALANCER_H */
