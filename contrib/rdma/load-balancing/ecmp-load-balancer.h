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
 *
 * Switches draw a seed each, so that one's choice says nothing of the next one's. With one
 * HashSeed for all, a flow's hash is the same at every switch: all flows that a switch gets from
 * the tier below have made the same choice there and make it again (polarization). A HashOffset of
 * its own ends that: such a switch picks by other bits of the hash.
 */
class RdmaEcmpLoadBalancer : public RdmaLoadBalancer
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "ecmp";
    }

    bool KeepsFlows() const override
    {
        return true;
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    uint32_t PickOfFlow(uint32_t flowHash, const uint16_t* ports, uint32_t n) const override;

  protected:
    /// \return the port of the frame's flow
    uint16_t PortOfFlow(const Candidates& candidates, const RdmaFrame& frame) const
    {
        const uint32_t key = frame.route.GetKey();
        return candidates.ports[__builtin_expect(m_special, 0)
                                    ? PickOfFlow(key, candidates.ports, candidates.size)
                                    : rdma::EcmpPick(key, GetSeed(), candidates.size)];
    }

    /// \return one of n entries of a table, by the flow's hash, HashSeed and HashOffset
    uint32_t PickEntry(uint32_t flowHash, uint32_t n) const
    {
        return rdma::RotatedPick(flowHash, GetSeed(), n, m_hashOffset);
    }

    uint32_t ChooseSeed(uint32_t drawn) const override
    {
        return m_hashSeed ? m_hashSeed : drawn;
    }

  private:
    void SetResilient(bool resilient);
    bool IsResilient() const;
    void SetHashOffset(uint8_t bits);
    uint8_t GetHashOffset() const;

    bool m_special{false}; //!< it does not pick by rdma::EcmpPick
    bool m_resilient{false};
    uint8_t m_hashOffset{0};
    uint32_t m_hashSeed{0};
};

} // namespace ns3

#endif /* ECMP_LOAD_BALANCER_H */
