/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LATE_CNPS_H
#define RDMA_LATE_CNPS_H

#include "ns3/rdma-event.h"

#include <cstdint>
#include <deque>

namespace ns3
{

class RdmaNic;

/**
 * \ingroup rdma
 * CNPs of a NIC that takes its time to turn a mark round (RdmaNic::CnpDelay): all take equally
 * long, so they leave in the order in which they were decided on.
 */
class RdmaLateCnps
{
  public:
    /// \param delay ps, more than 0
    RdmaLateCnps(RdmaNic* nic, int64_t delay);

    /// \param number of the queue pair that got the marked packet \param label of that packet
    void Add(uint32_t number, uint32_t label, int64_t now);

  private:
    struct Cnp
    {
        int64_t at; //!< ps
        uint32_t number;
        uint32_t label;
    };

    void OnDue();

    RdmaNic* m_nic;
    int64_t m_delay;
    std::deque<Cnp> m_cnps; //!< by time; an event is pending for the first
    RdmaTimer<RdmaLateCnps, &RdmaLateCnps::OnDue> m_timer;
};

} // namespace ns3

#endif /* RDMA_LATE_CNPS_H */
