/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/enum.h"
#include "ns3/integer.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("IbCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(IbCongestionOps);

TypeId
IbCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::IbCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<IbCongestionOps>()
            .AddAttribute("Preset",
                          "Where the constants below come from unless they are set: the manual of "
                          "Mellanox OFED 2.2, or Gran et al., IPDPS 2010",
                          EnumValue(rdma::kIbCcMellanox),
                          MakeEnumMemberAccessor(&IbCongestionOps::m_preset),
                          MakePresetChecker<rdma::IbCcPreset>(rdma::kIbCc))
            .AddAttribute("Hosts",
                          "mellanox: sources of one sink that the table can slow down to its rate; "
                          "assumed",
                          UintegerValue(128),
                          MakeUintegerAccessor(&IbCongestionOps::m_hosts),
                          MakeUintegerChecker<uint32_t>(2, 16384))
            .AddAttribute("CctiIncrease",
                          "Added to the index by a BECN; -1: from the preset",
                          IntegerValue(-1),
                          MakeIntegerAccessor(&IbCongestionOps::m_increase),
                          MakeIntegerChecker<int32_t>(-1, 255))
            .AddAttribute("CctiLimit",
                          "Greatest index; -1: from the preset",
                          IntegerValue(-1),
                          MakeIntegerAccessor(&IbCongestionOps::m_limit),
                          MakeIntegerChecker<int32_t>(-1, rdma::kIbCctEntries - 1))
            .AddAttribute("CctiMin",
                          "Least index, at most CctiLimit; -1: from the preset",
                          IntegerValue(-1),
                          MakeIntegerAccessor(&IbCongestionOps::m_minimum),
                          MakeIntegerChecker<int32_t>(-1, rdma::kIbCctEntries - 1))
            .AddAttribute("CctiTimer",
                          "After this time the index falls by one (1.024 us each); -1: from the "
                          "preset",
                          IntegerValue(-1),
                          MakeIntegerAccessor(&IbCongestionOps::m_timer),
                          MakeIntegerChecker<int32_t>(-1, 65535));
    return tid;
}

Ptr<RdmaCongestionOps>
IbCongestionOps::Fork() const
{
    if (!m_parameters)
    {
        m_parameters = std::make_shared<const rdma::IbCcParameters>(GetParameters());
    }
    // As CopyObject, which counts a reference to this one: NICs of several threads share it.
    return Ptr<IbCongestionOps>(new IbCongestionOps(*this), false);
}

rdma::IbCcParameters
IbCongestionOps::GetParameters() const
{
    rdma::IbCcParameters p =
        m_preset == rdma::kIbCcGran10 ? rdma::IbCcGran10() : rdma::IbCcManagerDefaults(m_hosts);
    p.increase = m_increase < 0 ? p.increase : static_cast<uint8_t>(m_increase);
    p.limit = m_limit < 0 ? p.limit : static_cast<uint16_t>(m_limit);
    p.minimum = m_minimum < 0 ? p.minimum : static_cast<uint8_t>(m_minimum);
    p.timer = m_timer < 0 ? p.timer : static_cast<uint16_t>(m_timer);
    return p;
}

std::string
IbCongestionOps::Check(const RdmaCongestionState&) const
{
    const rdma::IbCcParameters p = GetParameters();
    return p.minimum > p.limit
               ? Explain(rdma::ErrorAt("CctiMin",
                                       std::to_string(p.minimum) + " is above CctiLimit, " +
                                           std::to_string(p.limit)))
               : "";
}

void
IbCongestionOps::Init(RdmaCongestionState& state)
{
    RdmaCongestionOps::Init(state);
    if (!m_parameters)
    {
        m_parameters = std::make_shared<const rdma::IbCcParameters>(GetParameters());
    }
    AbortIfRefused(state);
    m_rate.reset();
    if (m_parameters->minimum)
    {
        m_rate = std::make_unique<rdma::IbCcRate>(m_parameters.get(), state.line);
        Publish(state);
    }
}

void
IbCongestionOps::Publish(RdmaCongestionState& state)
{
    state.rateBps = m_rate->Current().bps;
    state.nextUpdate = m_rate->NextChange().ps;
}

void
IbCongestionOps::OnUpdate(RdmaCongestionState& state, rdma::TimePoint now)
{
    const RdmaCongestionChange change(state);
    m_rate->At(now);
    Publish(state);
    NS_LOG_LOGIC(change << ", because CCTI_Timer expires at " << now.ps << " ps");
}

void
IbCongestionOps::OnCnp(RdmaCongestionState& state, rdma::TimePoint now)
{
    if (!m_rate)
    {
        m_rate = std::make_unique<rdma::IbCcRate>(m_parameters.get(), state.line);
    }
    const RdmaCongestionChange change(state);
    m_rate->OnBecn(now);
    Publish(state);
    NS_LOG_LOGIC(change << ", because of a BECN at " << now.ps << " ps");
}

uint32_t
IbCongestionOps::GetIndex(rdma::TimePoint now)
{
    return m_rate ? m_rate->Index(now) : m_parameters->minimum;
}

bool
IbCongestionOps::OnDataReceived(const RdmaFrame& frame, rdma::TimePoint)
{
    return frame.flags & RdmaFrame::CE;
}

} // namespace ns3
