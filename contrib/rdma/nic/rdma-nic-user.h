/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_USER_H
#define RDMA_NIC_USER_H

#include "rdma-verbs.h"

#include "ns3/rdma-port-user.h"

#include <cstdint>

namespace ns3
{

class RdmaNic;
class RdmaQueuePair;
struct RdmaMessage;
struct RdmaWorkRequest;

/**
 * \ingroup rdma
 * Whoever posts to queue pairs and wants to hear how it went. Several may share a NIC, each with
 * queue pairs of its own (RdmaQueuePair::SetUser).
 */
class RdmaNicUser
{
  public:
    virtual ~RdmaNicUser() = default;
    /// At the sender: a work request is acknowledged whole, or failed. \param now ps
    virtual void OnCompletion(RdmaQueuePair* qp,
                              const RdmaWorkRequest& request,
                              RdmaStatus status,
                              int64_t now) = 0;
    /// At the receiver: a message has arrived whole. \param now ps
    virtual void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) = 0;

    /// How often Prefetch is called for one queue pair.
    static constexpr uint32_t DEPTHS = RdmaPortUser::DEPTHS - 2;

    /// One of the calls above may soon come: PrefetchLine what it will need, in turns of growing
    /// depth, each a while before the next, which looks at what the one before has fetched.
    /// \param depth 0 to DEPTHS - 1
    virtual void Prefetch(const RdmaQueuePair* /* qp */, uint32_t /* depth */) const
    {
    }
};

/**
 * \ingroup rdma
 * Is asked when a request comes for a queue pair that does not exist: the passive side of a
 * connection that the other end has opened without a word (RdmaConnections).
 */
class RdmaNicListener
{
  public:
    virtual ~RdmaNicListener() = default;
    /// \param from endpoint \param number that the request is for. \return the queue pair, made
    /// now and connected; null: nobody wants it, and the request is dropped
    virtual RdmaQueuePair* OnRequest(RdmaNic* nic, uint32_t from, uint32_t number, int64_t now) = 0;
};

} // namespace ns3

#endif /* RDMA_NIC_USER_H */
