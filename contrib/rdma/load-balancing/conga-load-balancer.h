/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONGA_LOAD_BALANCER_H
#define CONGA_LOAD_BALANCER_H

#include "contrib/rdma/core/conga-state.h"
#include "contrib/rdma/core/flowlet-table.h"
#include "ecmp-load-balancer.h"

#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"

#include <memory>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * CONGA (Alizadeh et al.: CONGA: Distributed Congestion-Aware Load Balancing for Datacenters,
 * SIGCOMM 2014): a flowlet leaves by the port whose way to the other leaf is the least congested,
 * of its first link as this leaf measures it, of the rest as the other leaf has told.
 *
 *     frame         source leaf              spine              destination leaf
 *     ------------> port, congestion 0 ----> max(congestion) -> table "from": by port
 *                   and what is told back                       table "to": what was told
 *
 * Each switch measures what it sends by every port (rdma::CongaRate) and puts the most of what a
 * frame meets into its tag (RdmaFrameTag). Of equal ways a flow keeps the one it had, else one by
 * chance.
 *
 * As published it is for two tiers. Here two leaves with one other switch between them do so,
 * wherever they are: in a fat-tree of three tiers the edges of a pod. All other frames go as ECMP
 * sends them (assumed). Overlay headers, which bear the tag, cost no bytes.
 */
class RdmaCongaLoadBalancer : public RdmaEcmpLoadBalancer
{
  public:
    static TypeId GetTypeId();
    RdmaCongaLoadBalancer();

    std::string GetName() const override
    {
        return "conga";
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
    bool NeedsFrames() const override;
    void OnPlace(RdmaPlace place) override;
    void OnArrival(RdmaFrame& frame, uint16_t inPort, rdma::TimePoint now) override;
    void OnLeaving(RdmaFrame& frame, const RdmaPort& port, rdma::TimePoint now) override;
    int64_t AssignStreams(int64_t stream) override;

  private:
    /// \return number of the edge that an endpoint hangs on; NONE: of no endpoint, or unknown
    uint32_t EdgeOf(uint32_t endpoint) const;
    rdma::CongaRate& RateOf(uint16_t port);

    Time m_gap;
    uint32_t m_entries;
    Time m_period;
    double m_alpha;
    uint32_t m_bits;
    Time m_age;
    Ptr<UniformRandomVariable> m_random;

    rdma::CongaParameters m_parameters;
    int64_t m_gapPs{0};
    std::unique_ptr<rdma::FlowletTable> m_table;
    std::vector<rdma::CongaRate> m_rates; //!< by port
    std::shared_ptr<const RdmaEdges> m_edges;
    uint32_t m_own{RdmaEdges::NONE};
    std::vector<bool> m_near;             //!< by edge
    std::vector<rdma::CongaPair> m_pairs; //!< by edge
    std::vector<uint16_t> m_best;         //!< best ports for the packet under way
};

} // namespace ns3

#endif /* CONGA_LOAD_BALANCER_H */
