/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-bulk-send-application.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaBulkSendApplication");

NS_OBJECT_ENSURE_REGISTERED(RdmaBulkSendApplication);

TypeId
RdmaBulkSendApplication::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaBulkSendApplication")
            .SetParent<Application>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaBulkSendApplication>()
            .AddAttribute("MessageBytes",
                          "Size of a WRITE (bytes; 1 MB: assumed)",
                          UintegerValue(1000000),
                          MakeUintegerAccessor(&RdmaBulkSendApplication::m_messageBytes),
                          MakeUintegerChecker<uint64_t>(1, 1ULL << 31))
            .AddAttribute("MaxBytes",
                          "Bytes to send in all; 0: until the application stops",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaBulkSendApplication::m_maxBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Ahead",
                          "WRITEs that are posted at a time; with 1 each waits for the ACK of the "
                          "one before",
                          UintegerValue(2),
                          MakeUintegerAccessor(&RdmaBulkSendApplication::m_ahead),
                          MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute("Priority",
                          "Priority of its queue pair (0 to 7)",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaBulkSendApplication::m_priority),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddTraceSource("Acknowledged",
                            "A WRITE is acknowledged whole (its bytes)",
                            MakeTraceSourceAccessor(&RdmaBulkSendApplication::m_acknowledgedTrace),
                            "ns3::TracedValueCallback::Uint64");
    return tid;
}

RdmaBulkSendApplication::RdmaBulkSendApplication() = default;

RdmaBulkSendApplication::~RdmaBulkSendApplication() = default;

void
RdmaBulkSendApplication::DoDispose()
{
    NS_LOG_FUNCTION(this);
    m_from = nullptr;
    m_queuePair = nullptr;
    m_runs = false;
    Application::DoDispose();
}

void
RdmaBulkSendApplication::Connect(Ptr<RdmaNic> from, Ptr<RdmaNic> to)
{
    NS_LOG_FUNCTION(this << from << to);
    NS_ABORT_MSG_IF(m_queuePair, "RdmaBulkSendApplication::Connect: it is connected already");
    NS_ABORT_MSG_IF(!from || !to || from == to,
                    "RdmaBulkSendApplication::Connect: allowed: two different NICs");
    m_from = from;
    m_queuePair = from->CreateQueuePair(m_priority);
    RdmaNic::Connect(m_queuePair, to->CreateQueuePair(m_priority));
    m_queuePair->SetUser(this);
}

void
RdmaBulkSendApplication::StartApplication()
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_IF(!m_queuePair,
                    "RdmaBulkSendApplication has no queue pair; allowed: Connect() before it "
                    "starts");
    NS_ABORT_MSG_IF(m_from->GetPort()->GetNode() != GetNode(),
                    "RdmaBulkSendApplication runs at node " << GetNode()->GetId()
                                                            << ", and its NIC is at node "
                                                            << m_from->GetPort()->GetNode()->GetId()
                                                            << "; allowed: the node of its NIC");
    m_runs = true;
    for (uint32_t i = 0; i < m_ahead; ++i)
    {
        Post();
    }
}

void
RdmaBulkSendApplication::StopApplication()
{
    NS_LOG_FUNCTION(this);
    m_runs = false;
}

void
RdmaBulkSendApplication::Post()
{
    const uint64_t left = m_maxBytes ? m_maxBytes - m_posted : m_messageBytes;
    const uint64_t bytes = std::min(left, m_messageBytes);
    if (!m_runs || bytes == 0)
    {
        return;
    }
    m_queuePair->PostWrite(bytes, m_posted);
    m_posted += bytes;
}

void
RdmaBulkSendApplication::OnCompletion(RdmaQueuePair*,
                                      const RdmaWorkRequest& request,
                                      RdmaStatus status,
                                      int64_t)
{
    NS_LOG_FUNCTION(this << request.bytes);
    if (status != RdmaStatus::SUCCESS)
    {
        NS_LOG_INFO("the queue pair has failed, nothing more is sent");
        m_runs = false;
        return;
    }
    m_acknowledged += request.bytes;
    m_acknowledgedTrace(request.bytes);
    Post();
}

void
RdmaBulkSendApplication::OnMessage(RdmaQueuePair*, const RdmaMessage&, int64_t)
{
}

} // namespace ns3
