/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "drill-load-balancer.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaDrillLoadBalancer);

TypeId
RdmaDrillLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::DrillLoadBalancer")
            .SetParent<RdmaLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaDrillLoadBalancer>()
            .AddAttribute("Samples",
                          "Queues by chance that a packet looks at: d (two choices)",
                          UintegerValue(2),
                          MakeUintegerAccessor(&RdmaDrillLoadBalancer::m_samples),
                          MakeUintegerChecker<uint32_t>(1, 64))
            .AddAttribute(
                "Memory",
                "Shortest queues of the packet before that it looks at too: m (one memory)",
                UintegerValue(1),
                MakeUintegerAccessor(&RdmaDrillLoadBalancer::m_memory),
                MakeUintegerChecker<uint32_t>(0, 64));
    return tid;
}

RdmaDrillLoadBalancer::RdmaDrillLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

uint16_t
RdmaDrillLoadBalancer::Choose(const Candidates& candidates,
                              const RdmaFrame&,
                              const RdmaQueues& queues,
                              rdma::TimePoint)
{
    m_seen.clear();
    const auto look = [&](uint16_t port) {
        for (const Seen& seen : m_seen)
        {
            if (seen.port == port)
            {
                return;
            }
        }
        m_seen.push_back({queues.GetBytes(port), port});
    };
    for (uint32_t i = 0; i < m_samples; ++i)
    {
        look(candidates.ports[m_random->GetInteger(0, candidates.size - 1)]);
    }
    uint16_t* const best = m_best.data() + size_t{candidates.set} * m_memory;
    for (uint32_t i = 0; i < m_memory; ++i)
    {
        if (best[i] != NO_PORT)
        {
            look(best[i]);
        }
    }
    // The shortest in front, then as many as are remembered; of equal ones the first looked at.
    const size_t kept = std::min<size_t>(std::max<uint32_t>(1, m_memory), m_seen.size());
    for (size_t i = 0; i < kept; ++i)
    {
        const auto shortest =
            std::min_element(m_seen.begin() + static_cast<std::ptrdiff_t>(i),
                             m_seen.end(),
                             [](const Seen& a, const Seen& b) { return a.bytes < b.bytes; });
        std::rotate(m_seen.begin() + static_cast<std::ptrdiff_t>(i), shortest, shortest + 1);
    }
    for (uint32_t i = 0; i < m_memory; ++i)
    {
        best[i] = i < kept ? m_seen[i].port : NO_PORT;
    }
    return m_seen.front().port;
}

void
RdmaDrillLoadBalancer::OnRoutes(uint32_t sets)
{
    m_best.assign(size_t{sets} * m_memory, NO_PORT);
    m_seen.reserve(size_t{m_samples} + m_memory);
}

int64_t
RdmaDrillLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
