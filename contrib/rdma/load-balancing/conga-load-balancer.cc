/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "conga-load-balancer.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CongaLoadBalancer");

NS_OBJECT_ENSURE_REGISTERED(RdmaCongaLoadBalancer);

TypeId
RdmaCongaLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CongaLoadBalancer")
            .SetParent<RdmaEcmpLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaCongaLoadBalancer>()
            .AddAttribute("Gap",
                          "A flowlet ends with a gap longer than this (100 us: the ns-3 model of "
                          "ConWeave's authors, for RDMA)",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaCongaLoadBalancer::m_gap),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("Entries",
                          "Entries of the table of flowlets, rounded up to a power of two; assumed",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&RdmaCongaLoadBalancer::m_entries),
                          MakeUintegerChecker<uint32_t>(1, 1 << 24))
            .AddAttribute(
                "Period",
                "Time after which a link's register falls by Alpha: Tdre (200 us: as Gap)",
                TimeValue(MicroSeconds(200)),
                MakeTimeAccessor(&RdmaCongaLoadBalancer::m_period),
                MakeTimeChecker(NanoSeconds(1), Seconds(1000)))
            .AddAttribute("Alpha",
                          "Share that a link's register falls by each Period (0.2: as Gap)",
                          DoubleValue(0.2),
                          MakeDoubleAccessor(&RdmaCongaLoadBalancer::m_alpha),
                          MakeDoubleChecker<double>(0.001, 0.999))
            .AddAttribute("Bits",
                          "Bits of a congestion metric: Q (3: as Gap)",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaCongaLoadBalancer::m_bits),
                          MakeUintegerChecker<uint32_t>(1, 8))
            .AddAttribute("Age",
                          "A metric that has not been told for this long begins to fade (10 ms: as "
                          "Gap)",
                          TimeValue(MilliSeconds(10)),
                          MakeTimeAccessor(&RdmaCongaLoadBalancer::m_age),
                          MakeTimeChecker(NanoSeconds(1), Seconds(1000)));
    return tid;
}

RdmaCongaLoadBalancer::RdmaCongaLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

bool
RdmaCongaLoadBalancer::NeedsFrames() const
{
    return true;
}

uint32_t
RdmaCongaLoadBalancer::EdgeOf(uint32_t endpoint) const
{
    return m_edges && endpoint < m_edges->edgeOf.size() ? m_edges->edgeOf[endpoint]
                                                        : RdmaEdges::NONE;
}

rdma::CongaRate&
RdmaCongaLoadBalancer::RateOf(uint16_t port)
{
    if (port >= m_rates.size())
    {
        m_rates.resize(port + size_t{1});
    }
    return m_rates[port];
}

uint16_t
RdmaCongaLoadBalancer::Choose(const Candidates& candidates,
                              const RdmaFrame& frame,
                              const RdmaQueues& queues,
                              rdma::TimePoint now)
{
    const uint32_t to = EdgeOf(frame.dst);
    if (!frame.extra || !frame.extra->hasTag || EdgeOf(frame.src) != m_own ||
        to == RdmaEdges::NONE || !m_near[to])
    {
        return PortOfFlow(candidates, frame);
    }
    const uint16_t chosen =
        m_table->Find(frame.route.GetKey(), now.ps, m_gapPs, candidates, [&](uint16_t before) {
            uint32_t least = UINT32_MAX;
            m_best.clear();
            for (const uint16_t port : candidates)
            {
                const uint32_t congestion = std::max<uint32_t>(
                    RateOf(port).Congestion(queues.GetRate(port), now.ps, m_parameters),
                    m_pairs[to].To(port, now.ps, m_parameters));
                if (congestion < least)
                {
                    least = congestion;
                    m_best.clear();
                }
                if (congestion == least)
                {
                    m_best.push_back(port);
                }
            }
            if (std::find(m_best.begin(), m_best.end(), before) != m_best.end())
            {
                return before;
            }
            return m_best[m_random->GetInteger(0, static_cast<uint32_t>(m_best.size()) - 1)];
        });
    NS_LOG_LOGIC("port " << chosen << " of " << candidates.size << " for flow "
                         << frame.route.GetKey() << " at " << now.ps << " ps");
    frame.extra->tag.port = chosen;
    return chosen;
}

void
RdmaCongaLoadBalancer::OnRoutes(uint32_t)
{
    if (!m_table)
    {
        m_gapPs = m_gap.GetPicoSeconds();
        m_parameters = {m_period.GetPicoSeconds(), m_alpha, m_bits, m_age.GetPicoSeconds()};
        m_table = std::make_unique<rdma::FlowletTable>(m_entries);
    }
}

void
RdmaCongaLoadBalancer::OnPlace(RdmaPlace place)
{
    m_edges = std::move(place.edges);
    m_own = place.own;
    m_near = std::move(place.near);
    m_pairs.resize(m_own == RdmaEdges::NONE ? 0 : m_edges->edges);
}

void
RdmaCongaLoadBalancer::OnArrival(RdmaFrame& frame, uint16_t, rdma::TimePoint now)
{
    if (m_own == RdmaEdges::NONE)
    {
        return;
    }
    const uint32_t from = EdgeOf(frame.src);
    const uint32_t to = EdgeOf(frame.dst);
    if (from == m_own && to != m_own && to != RdmaEdges::NONE)
    {
        // Frames that go farther than CONGA does bear one too, so that links are measured whole.
        if (!frame.extra)
        {
            frame.extra = RdmaFramePool::Get().AllocateExtra();
        }
        frame.extra->hasTag = true;
        frame.extra->tag = {rdma::CongaPair::kNothing, rdma::CongaPair::kNothing, 0, 0};
        if (m_near[to])
        {
            const rdma::CongaPair::Told told = m_pairs[to].Tell();
            frame.extra->tag.told = told.port;
            frame.extra->tag.toldCongestion = told.congestion;
        }
    }
    else if (to == m_own && from != RdmaEdges::NONE && frame.extra && frame.extra->hasTag)
    {
        const RdmaFrameTag& tag = frame.extra->tag;
        if (tag.port != rdma::CongaPair::kNothing)
        {
            m_pairs[from].Arrived(tag.port, tag.congestion, now.ps);
        }
        if (tag.told != rdma::CongaPair::kNothing)
        {
            m_pairs[from].Learn(tag.told, tag.toldCongestion, now.ps);
        }
        frame.extra->hasTag = false;
    }
}

void
RdmaCongaLoadBalancer::OnLeaving(RdmaFrame& frame, const RdmaPort& port, rdma::TimePoint now)
{
    rdma::CongaRate& rate = RateOf(port.GetPortIndex());
    rate.Add(frame.wireBytes, now.ps, m_parameters);
    if (frame.extra->hasTag)
    {
        uint8_t& congestion = frame.extra->tag.congestion;
        congestion = std::max(congestion, rate.Congestion(port.GetRate(), now.ps, m_parameters));
    }
}

int64_t
RdmaCongaLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
