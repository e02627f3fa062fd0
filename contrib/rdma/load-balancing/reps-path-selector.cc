/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reps-path-selector.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RepsPathSelector");

NS_OBJECT_ENSURE_REGISTERED(RdmaRepsPathSelector);

TypeId
RdmaRepsPathSelector::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RepsPathSelector")
            .SetParent<RdmaPathSelector>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaRepsPathSelector>()
            .AddAttribute("FreezingTime",
                          "After a time-out nothing is tried by chance for this long; assumed. "
                          "Ultra Ethernet's simulator: 10 ms",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaRepsPathSelector::m_freezing),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("ExplorePackets",
                          "Packets by chance after that, with an empty ring; Ultra Ethernet's "
                          "simulator: 16",
                          UintegerValue(16),
                          MakeUintegerAccessor(&RdmaRepsPathSelector::m_explore),
                          MakeUintegerChecker<uint32_t>());
    return tid;
}

Ptr<RdmaPathSelector>
RdmaRepsPathSelector::Fork() const
{
    // As CopyObject, which counts a reference to this one: NICs of several threads share it.
    return Ptr<RdmaRepsPathSelector>(new RdmaRepsPathSelector(*this), false);
}

uint16_t
RdmaRepsPathSelector::Choose(bool, rdma::TimePoint)
{
    return m_law.Next([this] { return Random(); });
}

void
RdmaRepsPathSelector::OnAck(const Ack& ack, rdma::TimePoint now)
{
    m_law.OnAck(ack.entropy, ack.marked, now.ps, m_explore);
}

void
RdmaRepsPathSelector::OnTimeout(rdma::TimePoint now)
{
    NS_LOG_LOGIC("time-out at " << now.ps << " ps: only known paths for "
                                << m_freezing.As(Time::US));
    m_law.OnFailure(now.ps, m_freezing.GetPicoSeconds());
}

} // namespace ns3
