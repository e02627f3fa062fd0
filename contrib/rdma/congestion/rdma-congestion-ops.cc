/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-congestion-ops.h"

#include "ns3/abort.h"
#include "ns3/rdma-named-types.h"
#include "ns3/string.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaCongestionOps);

TypeId
RdmaCongestionOps::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaCongestionOps").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaCongestionOps::~RdmaCongestionOps() = default;

bool
RdmaCongestionOps::GetEcn(rdma::BitRate port, rdma::EcnParameters& ecn) const
{
    const rdma::CongestionControl* control = rdma::FindCongestionControl(GetName());
    if (!control || control->presets.empty())
    {
        return false;
    }
    StringValue name(control->presets.front().name);
    GetAttributeFailSafe("Preset", name);
    for (const auto& preset : control->presets)
    {
        if (preset.name == name.Get())
        {
            ecn = preset.marking;
            ecn.kmin = rdma::ScaleToRate(ecn.kmin, rdma::Gbps(100), port);
            ecn.kmax = rdma::ScaleToRate(ecn.kmax, rdma::Gbps(100), port);
        }
    }
    return true;
}

std::string
RdmaCongestionOps::Check(const RdmaCongestionState&) const
{
    return {};
}

std::string
RdmaCongestionOps::Explain(const rdma::InputError& error) const
{
    return error ? GetInstanceTypeId().GetName() + "::" + error.where + ": " + error.problem : "";
}

void
RdmaCongestionOps::AbortIfRefused(const RdmaCongestionState& state) const
{
    const std::string error = Check(state);
    NS_ABORT_MSG_IF(!error.empty(), error);
}

Time
RdmaCongestionOps::MaxTime()
{
    return Seconds(1000);
}

void
RdmaCongestionOps::Init(RdmaCongestionState& state)
{
    state.rateBps = state.line.bps;
}

void
RdmaCongestionOps::OnUpdate(RdmaCongestionState& state, rdma::TimePoint)
{
    state.nextUpdate = RdmaCongestionState::NEVER;
    state.nextUpdateBytes = RdmaCongestionState::UNLIMITED;
}

void
RdmaCongestionOps::OnSend(RdmaCongestionState&, uint32_t, rdma::TimePoint)
{
}

void
RdmaCongestionOps::OnAck(RdmaCongestionState&, const RdmaAckInfo&, rdma::TimePoint)
{
}

void
RdmaCongestionOps::OnCnp(RdmaCongestionState&, rdma::TimePoint)
{
}

void
RdmaCongestionOps::OnNack(RdmaCongestionState&, rdma::TimePoint)
{
}

void
RdmaCongestionOps::OnTimeout(RdmaCongestionState&, rdma::TimePoint)
{
}

bool
RdmaCongestionOps::OnDataReceived(const RdmaFrame&, rdma::TimePoint)
{
    return false;
}

std::vector<std::pair<std::string, std::string>>
RdmaCongestionOps::GetNames()
{
    return RdmaNamedTypes<RdmaCongestionOps>::Get();
}

TypeId
RdmaCongestionOps::LookupByName(const std::string& name, bool& ok)
{
    return RdmaNamedTypes<RdmaCongestionOps>::Lookup(name, ok);
}

} // namespace ns3
