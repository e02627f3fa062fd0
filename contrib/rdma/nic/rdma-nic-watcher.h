/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_WATCHER_H
#define RDMA_NIC_WATCHER_H

#include "rdma-verbs.h"

#include <cstdint>

namespace ns3
{

struct RdmaJourney;
struct RdmaMessage;
class RdmaQueuePair;
struct RdmaWorkRequest;

/**
 * \ingroup rdma
 * Hears of each message of a NIC what the trace sources Post, Completion, Message and Journey tell,
 * and before them. One that watches all NICs of a fabric stays in the processor's caches, while the
 * callbacks of trace sources are each NIC's own: with thousands of NICs, a message finds them in no
 * cache.
 */
class RdmaNicWatcher
{
  public:
    virtual ~RdmaNicWatcher() = default;

    /// A work request is posted.
    virtual void OnPost(RdmaQueuePair* qp, const RdmaWorkRequest& request) = 0;
    /// It is acknowledged whole, or has failed. \param now ps
    virtual void OnCompletion(RdmaQueuePair* qp,
                              const RdmaWorkRequest& request,
                              RdmaStatus status,
                              int64_t now) = 0;
    /// A message has arrived whole. \param now ps
    virtual void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) = 0;

    /// The same, before: where its time went (RdmaNic::NoteJourneys).
    virtual void OnJourney(RdmaQueuePair*, const RdmaMessage&, const RdmaJourney&, int64_t)
    {
    }
};

} // namespace ns3

#endif /* RDMA_NIC_WATCHER_H */
