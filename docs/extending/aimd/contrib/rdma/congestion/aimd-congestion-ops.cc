/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "aimd-congestion-ops.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(AimdCongestionOps);

TypeId
AimdCongestionOps::GetTypeId()
{
    static TypeId tid = TypeId("ns3::AimdCongestionOps")
                            .SetParent<RdmaCongestionOps>()
                            .SetGroupName("Rdma")
                            .AddConstructor<AimdCongestionOps>()
                            .AddAttribute("Decrease",
                                          "Rate after a CNP, of the rate before it (0 to 1)",
                                          DoubleValue(0.5),
                                          MakeDoubleAccessor(&AimdCongestionOps::m_decrease),
                                          MakeDoubleChecker<double>(0, 1))
                            .AddAttribute("Increase",
                                          "Rate gained in each period (bit/s)",
                                          UintegerValue(1000000000),
                                          MakeUintegerAccessor(&AimdCongestionOps::m_increase),
                                          MakeUintegerChecker<uint64_t>(1, MAX_BPS))
                            .AddAttribute("MinimumRate",
                                          "The rate is never cut below (bit/s)",
                                          UintegerValue(100000000),
                                          MakeUintegerAccessor(&AimdCongestionOps::m_least),
                                          MakeUintegerChecker<uint64_t>(1, MAX_BPS))
                            .AddAttribute("Period",
                                          "Between increases, and between CNPs",
                                          TimeValue(MicroSeconds(20)),
                                          MakeTimeAccessor(&AimdCongestionOps::m_period),
                                          MakeTimeChecker(NanoSeconds(1), MaxTime()));
    return tid;
}

std::string
AimdCongestionOps::GetName() const
{
    return rdma::kAimd.name; // how users select it
}

Ptr<RdmaCongestionOps>
AimdCongestionOps::Fork() const // one more queue pair
{
    // Not CopyObject, which counts a reference to this one: NICs of several threads share it.
    return Ptr<AimdCongestionOps>(new AimdCongestionOps(*this), false);
}

rdma::AimdParameters
AimdCongestionOps::GetParameters() const
{
    return {m_decrease, m_increase, m_least, m_period.GetPicoSeconds()};
}

std::string
AimdCongestionOps::Check(const RdmaCongestionState&) const
{
    return Explain(rdma::AimdRate::Error(GetParameters()));
}

void
AimdCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    m_rate.emplace(GetParameters(), state.line.bps);
    Publish(state);
}

void
AimdCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps = m_rate->Rate();
    state.nextUpdate = m_rate->NextIncrease();
}

void
AimdCongestionOps::OnCnp(RdmaCongestionState& state, rdma::TimePoint now)
{
    m_rate->OnCnp(now.ps);
    Publish(state);
}

void
AimdCongestionOps::OnUpdate(RdmaCongestionState& state, rdma::TimePoint now) // nextUpdate has come
{
    m_rate->CatchUp(now.ps);
    Publish(state);
}

bool
AimdCongestionOps::OnDataReceived(const RdmaFrame&, rdma::TimePoint now) // a marked packet: a CNP?
{
    if (now.ps < m_nextCnp)
    {
        return false;
    }
    m_nextCnp = now.ps + m_period.GetPicoSeconds();
    return true;
}

} // namespace ns3
