/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WCMP_LOAD_BALANCER_H
#define WCMP_LOAD_BALANCER_H

#include "ecmp-load-balancer.h"

#include <memory>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Weighted-cost multipathing (Zhou et al.: WCMP: Weighted Cost Multipathing for Improved Fairness
 * in Data Centers, EuroSys 2014): the port by a hash of the flow, as with EcmpLoadBalancer, but in
 * proportion to the capacity that each port leads to, towards the switch of the destination
 * (rdma::PathCapacity). Where all ways are alike it chooses what EcmpLoadBalancer does, with its
 * HashSeed and HashOffset. Resilient has no effect: weights divide the hash's range anew.
 *
 * Capacities follow the links that work, as routes do: at once when routes change. A cable that
 * has become slower counts with the rate that it was built for.
 */
class RdmaWcmpLoadBalancer : public RdmaEcmpLoadBalancer
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "wcmp";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    bool NeedsCapacity() const override;
    void OnPlace(RdmaPlace place) override;
    void OnCapacity(const std::vector<std::vector<rdma::PathCapacity::Way>>& ways) override;

  private:
    /// A port, and where its part of the group's table ends.
    struct Entry
    {
        uint32_t end;
        uint16_t port;
    };

    /// Where the entries of an edge are; edges with the same ports and weights share them.
    struct Group
    {
        uint32_t first{0};
        uint32_t total{0}; //!< sum of the weights; 0: there is no way
    };

    double m_mostOversubscription;
    std::shared_ptr<const RdmaEdges> m_edges;
    std::vector<Group> m_groupOfEdge;
    std::vector<Entry> m_entries;
};

} // namespace ns3

#endif /* WCMP_LOAD_BALANCER_H */
