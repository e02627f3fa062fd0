/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flowlet-load-balancer.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FlowletLoadBalancer");

NS_OBJECT_ENSURE_REGISTERED(RdmaFlowletLoadBalancer);

TypeId
RdmaFlowletLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FlowletLoadBalancer")
            .SetParent<RdmaLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaFlowletLoadBalancer>()
            .AddAttribute("Gap",
                          "A flowlet ends with a gap longer than this (100 us: the ns-3 model of "
                          "ConWeave's authors, for RDMA)",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaFlowletLoadBalancer::m_gap),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("Entries",
                          "Entries of the table of flowlets, rounded up to a power of two; flows "
                          "that meet in one are one flow; assumed",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&RdmaFlowletLoadBalancer::m_entries),
                          MakeUintegerChecker<uint32_t>(1, 1 << 24));
    return tid;
}

RdmaFlowletLoadBalancer::RdmaFlowletLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

uint16_t
RdmaFlowletLoadBalancer::Choose(const Candidates& candidates,
                                const RdmaFrame& frame,
                                const RdmaQueues&,
                                rdma::TimePoint now)
{
    return m_table->Find(frame.route.GetKey(), now.ps, m_gapPs, candidates, [&](uint16_t) {
        const uint16_t port = candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
        NS_LOG_LOGIC("new flowlet of flow " << frame.route.GetKey() << ": port " << port << " at "
                                            << now.ps << " ps");
        return port;
    });
}

void
RdmaFlowletLoadBalancer::OnRoutes(uint32_t)
{
    if (!m_table)
    {
        m_gapPs = m_gap.GetPicoSeconds();
        m_table = std::make_unique<rdma::FlowletTable>(m_entries);
    }
}

int64_t
RdmaFlowletLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
