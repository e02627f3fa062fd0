/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLB_PATH_SELECTOR_H
#define PLB_PATH_SELECTOR_H

#include "contrib/rdma/core/plb-rounds.h"

#include "ns3/nstime.h"
#include "ns3/rdma-path-selector.h"

namespace ns3
{

/**
 * \ingroup rdma
 * PLB (Qureshi et al.: PLB: Congestion Signals are Simple and Effective for Network Load Balancing,
 * SIGCOMM 2022): a queue pair keeps its way until it has met congestion for some round trips, then
 * takes another by chance (rdma::PlbRounds). Theirs changes TCP's IPv6 flow label; here it is the
 * UDP source port.
 */
class RdmaPlbPathSelector : public RdmaPathSelector
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "plb";
    }

    Ptr<RdmaPathSelector> Fork() const override;
    uint16_t Choose(bool idle, rdma::TimePoint now) override;
    void OnAck(const Ack& ack, rdma::TimePoint now) override;
    void OnTimeout(rdma::TimePoint now) override;

  private:
    rdma::PlbParameters GetParameters() const;

    uint32_t m_idleRounds;
    uint32_t m_rounds;
    double m_threshold;
    Time m_suspend;
    rdma::PlbRounds m_law;
    uint16_t m_entropy{0}; //!< the flow's own, until it takes another
};

} // namespace ns3

#endif /* PLB_PATH_SELECTOR_H */
