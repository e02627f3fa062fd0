/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-completion-queue.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaCompletionQueue");

NS_OBJECT_ENSURE_REGISTERED(RdmaCompletionQueue);

const char*
GetOperationName(RdmaOperation operation)
{
    static const char* const names[] = {"SEND", "WRITE", "READ", "RECEIVE"};
    return names[static_cast<uint8_t>(operation)];
}

const char*
GetStatusName(RdmaStatus status)
{
    static const char* const names[] = {"success",
                                        "local length error",
                                        "work request flushed",
                                        "remote invalid request",
                                        "transport retry counter exceeded",
                                        "RNR retry counter exceeded"};
    return names[static_cast<uint8_t>(status)];
}

TypeId
RdmaCompletionQueue::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaCompletionQueue")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaCompletionQueue>()
            .AddAttribute("Capacity",
                          "Most entries that wait to be polled (entries); one more is an overrun "
                          "and fails its queue pair; 0: no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaCompletionQueue::m_capacity),
                          MakeUintegerChecker<uint32_t>())
            .AddTraceSource("Completion",
                            "An entry is made",
                            MakeTraceSourceAccessor(&RdmaCompletionQueue::m_completionTrace),
                            "ns3::RdmaCompletionQueue::CompletionTracedCallback")
            .AddTraceSource("Overrun",
                            "An entry found no room and is lost",
                            MakeTraceSourceAccessor(&RdmaCompletionQueue::m_overrunTrace),
                            "ns3::RdmaCompletionQueue::CompletionTracedCallback");
    return tid;
}

void
RdmaCompletionQueue::DoDispose()
{
    m_entries.clear();
    m_notify = nullptr;
    Object::DoDispose();
}

bool
RdmaCompletionQueue::Poll(RdmaWorkCompletion& completion)
{
    NS_LOG_FUNCTION(this);
    if (m_entries.empty())
    {
        return false;
    }
    completion = m_entries.front();
    m_entries.pop_front();
    return true;
}

void
RdmaCompletionQueue::RequestNotify(std::function<void()> callback)
{
    NS_LOG_FUNCTION(this);
    m_notify = std::move(callback);
}

bool
RdmaCompletionQueue::Push(const RdmaWorkCompletion& completion)
{
    if (m_capacity && m_entries.size() >= m_capacity)
    {
        NS_LOG_WARN("a completion queue of " << m_capacity << " entries overruns");
        ++m_overruns;
        m_overrunTrace(completion);
        return false;
    }
    m_entries.push_back(completion);
    m_completionTrace(completion);
    if (m_notify)
    {
        // Taken off first: it may ask again.
        const std::function<void()> notify = std::exchange(m_notify, nullptr);
        notify();
    }
    return true;
}

} // namespace ns3
