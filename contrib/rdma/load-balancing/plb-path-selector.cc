/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plb-path-selector.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("PlbPathSelector");

NS_OBJECT_ENSURE_REGISTERED(RdmaPlbPathSelector);

TypeId
RdmaPlbPathSelector::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::PlbPathSelector")
            .SetParent<RdmaPathSelector>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaPlbPathSelector>()
            .AddAttribute("IdleRounds",
                          "Congested rounds in a row after which a queue pair takes another way if "
                          "nothing is in flight (3: Linux, tcp_plb_idle_rehash_rounds); 0: never",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaPlbPathSelector::m_idleRounds),
                          MakeUintegerChecker<uint32_t>(0, 1000000))
            .AddAttribute("Rounds",
                          "Congested rounds in a row after which it takes another way at once (12: "
                          "Linux, tcp_plb_rehash_rounds)",
                          UintegerValue(12),
                          MakeUintegerAccessor(&RdmaPlbPathSelector::m_rounds),
                          MakeUintegerChecker<uint32_t>(1, 1000000))
            .AddAttribute("Threshold",
                          "Share of marked packets that makes a round congested (0.5: Linux, "
                          "tcp_plb_cong_thresh)",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaPlbPathSelector::m_threshold),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("Suspend",
                          "After a time-out it keeps its way for this long up to twice as long (60 "
                          "s: Linux, tcp_plb_suspend_rto_sec)",
                          TimeValue(Seconds(60)),
                          MakeTimeAccessor(&RdmaPlbPathSelector::m_suspend),
                          MakeTimeChecker(Time(0), Seconds(1000)));
    return tid;
}

Ptr<RdmaPathSelector>
RdmaPlbPathSelector::Fork() const
{
    // As CopyObject, which counts a reference to this one: NICs of several threads share it.
    return Ptr<RdmaPlbPathSelector>(new RdmaPlbPathSelector(*this), false);
}

rdma::PlbParameters
RdmaPlbPathSelector::GetParameters() const
{
    return {m_idleRounds, m_rounds, m_threshold, m_suspend.GetPicoSeconds()};
}

uint16_t
RdmaPlbPathSelector::Choose(bool idle, rdma::TimePoint now)
{
    if (m_law.Repaths(idle, now.ps, GetParameters()))
    {
        m_entropy = static_cast<uint16_t>(Random());
        NS_LOG_LOGIC("congested: another path, entropy " << m_entropy << ", at " << now.ps
                                                         << " ps");
    }
    return m_entropy;
}

void
RdmaPlbPathSelector::OnAck(const Ack& ack, rdma::TimePoint)
{
    m_law.OnAck(ack.marked, ack.acked, ack.next, GetParameters());
}

void
RdmaPlbPathSelector::OnTimeout(rdma::TimePoint now)
{
    m_law.OnTimeout(now.ps,
                    static_cast<double>(Random() >> 11) / 9007199254740992.,
                    GetParameters());
}

} // namespace ns3
