/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UGAL_LOAD_BALANCER_H
#define UGAL_LOAD_BALANCER_H

#include "valiant-load-balancer.h"

namespace ns3
{

/**
 * \ingroup rdma
 * UGAL-L (Kim, Dally, Scott, Abts, ISCA 2008, where it is compared; Abts and Kim: High Performance
 * Datacenter Networks, 5.3.2): the first switch compares a shortest way with one detour of
 * Valiant's and sends the packet where it would wait less, as far as this switch can tell by its
 * own queues:
 *
 *     queue of the way x its links <= queue of the detour x its links + Threshold: the shortest way
 *
 * Links are those between switches; of the detour, by the switch that it heads for (which may be
 * one more than it takes, as it turns where it comes into the group). BookSim's dragonfly has the
 * same rule with 1 and 2 for the links, and a threshold of 0.
 *
 * "L" is for local: a switch that has no link to the other group itself does not see the queue of
 * the one that has. The paper counts on back-pressure to tell it, late; without PFC nothing does.
 */
class RdmaUgalLoadBalancer : public RdmaValiantLoadBalancer
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "ugal";
    }

  protected:
    bool Decide(const RdmaFrame& frame,
                uint32_t via,
                const RdmaWays& ways,
                const RdmaQueues& queues) override;

  private:
    uint64_t m_threshold;
};

} // namespace ns3

#endif /* UGAL_LOAD_BALANCER_H */
