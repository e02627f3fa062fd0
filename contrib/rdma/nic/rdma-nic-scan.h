/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_SCAN_H
#define RDMA_NIC_SCAN_H

#include "ns3/rdma-frame.h"

#include <vector>

namespace ns3
{

class RdmaNic;
class RdmaQueuePair;

/**
 * \ingroup rdma
 * How queue pairs take turns in HPCC's ns-3 code, for those who replay its results: facts of
 * alibaba-edu/High-Precision-Congestion-Control, simulation/src/point-to-point/model/
 * qbb-net-device.cc (GetNextQindex, DequeueAndTransmit, UpdateNextAvail), quirks included.
 *
 * - Queue pairs stand in a list in the order in which they got something to send. The search starts
 *   behind the place of the one served last; the first that may send does. Queue pairs that have
 *   everything acknowledged leave the list when a search comes by, which moves the others but not
 *   the place remembered.
 * - Every packet is paced, at line rate too.
 * - If none may send, the NIC looks again at the earliest time at which the pace of any with
 *   something left allows it, whether its window does or not: if that time is past, or a later one
 *   was set before, it just waits for the next ACK, packet or end of transmission.
 *
 * A search costs O(queue pairs in the list).
 */
class RdmaNicScan
{
  public:
    explicit RdmaNicScan(RdmaNic* nic);

    /// A queue pair has something new to send, or an ACK has come. \param now ps
    void Activate(RdmaQueuePair* qp, int64_t now);
    RdmaFrame* Pull(uint8_t pausedMask, int64_t now);
    /// A queue pair may send at `next` now, which was another time.
    void OnShift(int64_t next, int64_t now);

  private:
    void WakeAt(int64_t at);

    RdmaNic* m_nic;
    std::vector<RdmaQueuePair*> m_list;
    size_t m_last{0}; //!< place of the one served last
};

} // namespace ns3

#endif /* RDMA_NIC_SCAN_H */
