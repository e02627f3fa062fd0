/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_DATAGRAMS_H
#define RDMA_DATAGRAMS_H

#include "rdma-verbs.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-frame.h"

#include <cstdint>
#include <deque>

namespace ns3
{

class RdmaQueuePair;

/**
 * \ingroup rdma
 * What an end of unreliable datagrams has instead of a connection (InfiniBand Architecture 1, 9.8):
 * SENDs of at most the MTU, each to an address of its own. One completes when its last bit has left
 * the NIC; one that finds no receive request, or too short a one, is dropped silently.
 *
 * Law (asserted in tests): datagrams posted = completed + to be sent + on their way out of the NIC.
 */
class RdmaDatagrams
{
  public:
    explicit RdmaDatagrams(RdmaQueuePair* qp);

    RdmaDatagrams(const RdmaDatagrams&) = delete;
    RdmaDatagrams& operator=(const RdmaDatagrams&) = delete;

    /// \return posted and not complete
    size_t GetOutstanding() const
    {
        return m_waiting.size() + m_leaving.size();
    }

    /// One that is too long takes the queue pair to SEND_QUEUE_ERROR.
    void Post(const RdmaSendRequest& request, int64_t now);
    /// \pre one waits
    RdmaFrame* MakeFrame(int64_t now);
    void OnFrame(const RdmaFrame& frame, int64_t now);
    /// The queue pair has failed.
    void Flush(int64_t now);
    /// Forget all.
    void Reset();

  private:
    struct Datagram
    {
        RdmaSendRequest request;
        uint32_t flowHash;
        int64_t posted;    //!< ps
        int64_t gone;      //!< its last bit leaves, ps
        RdmaStatus status; //!< other than SUCCESS: is not sent, and completes behind those before
    };

    /// One that will not be sent completes once those before it have.
    void Refuse(const RdmaSendRequest& request, RdmaStatus status, int64_t now);
    void Complete(const RdmaSendRequest& request, int64_t posted, RdmaStatus status, int64_t now);
    void OnGone();

    RdmaQueuePair* m_qp;
    std::deque<Datagram> m_waiting; //!< to be sent
    std::deque<Datagram> m_leaving; //!< their last bits are still to leave
    RdmaTimer<RdmaDatagrams, &RdmaDatagrams::OnGone> m_timer;
};

} // namespace ns3

#endif /* RDMA_DATAGRAMS_H */
