/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPS_PATH_SELECTOR_H
#define REPS_PATH_SELECTOR_H

#include "contrib/rdma/core/reps-entropies.h"

#include "ns3/nstime.h"
#include "ns3/rdma-path-selector.h"

namespace ns3
{

/**
 * \ingroup rdma
 * REPS (Bonato et al.: REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and
 * Failure Mitigation, arXiv 2407.21625): every packet has an entropy of its own, by chance or one
 * whose packet came back unmarked (rdma::RepsEntropies).
 *
 * Packets of a flow overtake each other, so NICs should take them in any order
 * (RdmaNic::LossRecovery).
 */
class RdmaRepsPathSelector : public RdmaPathSelector
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "reps";
    }

    Ptr<RdmaPathSelector> Fork() const override;
    uint16_t Choose(bool idle, rdma::TimePoint now) override;
    void OnAck(const Ack& ack, rdma::TimePoint now) override;
    void OnTimeout(rdma::TimePoint now) override;

  private:
    uint32_t m_explore;
    Time m_freezing;
    rdma::RepsEntropies m_law;
};

} // namespace ns3

#endif /* REPS_PATH_SELECTOR_H */
