/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_COMPLETION_QUEUE_H
#define RDMA_COMPLETION_QUEUE_H

#include "rdma-verbs.h"

#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <deque>
#include <functional>

namespace ns3
{

/**
 * \ingroup rdma
 * A completion queue (InfiniBand Architecture 1, 10.2.4 and 10.8.6): completions of send and
 * receive requests of any number of queue pairs of a host, in the order they happened, until they
 * are polled.
 *
 * An entry more than Capacity is an overrun: the entry is lost, and the queue pair it was for goes
 * to the error state (10.2.4: a CQ error, which affects the queue pairs that use it).
 */
class RdmaCompletionQueue : public Object
{
  public:
    static TypeId GetTypeId();

    /// Take the oldest entry. \return whether there was one
    bool Poll(RdmaWorkCompletion& completion);

    /// \return entries that wait to be polled
    uint32_t GetSize() const
    {
        return static_cast<uint32_t>(m_entries.size());
    }

    /**
     * Call back once, at the next entry (ibv_req_notify_cq): entries already there do not count.
     * Called from within the event that made the entry; polling, posting and asking again there are
     * fine.
     */
    void RequestNotify(std::function<void()> callback);

    uint64_t GetOverruns() const
    {
        return m_overruns;
    }

    typedef void (*CompletionTracedCallback)(const RdmaWorkCompletion& completion);

  protected:
    void DoDispose() override;

  private:
    friend class RdmaRequester;
    friend class RdmaResponder;

    /// \return whether there was room
    bool Push(const RdmaWorkCompletion& completion);

    uint32_t m_capacity;
    uint64_t m_overruns{0};
    std::deque<RdmaWorkCompletion> m_entries;
    std::function<void()> m_notify;
    TracedCallback<const RdmaWorkCompletion&> m_completionTrace;
    TracedCallback<const RdmaWorkCompletion&> m_overrunTrace;
};

} // namespace ns3

#endif /* RDMA_COMPLETION_QUEUE_H */
