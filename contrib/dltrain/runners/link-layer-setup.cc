/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-layer-setup.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/options/member.h"

#include "ns3/object-factory.h"
#include "ns3/uinteger.h"

namespace dltrain
{

namespace
{

class EthernetSetup : public LinkLayerSetup
{
  public:
    std::string Check(const ns3::RdmaNic&) const override
    {
        return ns3::ObjectFactory("ns3::RdmaSwitch").Create<ns3::RdmaSwitch>()->CheckEcn();
    }

    void Apply(ns3::RdmaFabricHelper& helper) const override
    {
        helper.KeepMarking(); // it is among the scenario's options
    }

    std::string Explain(const std::string& error) const override
    {
        return error;
    }
};

class InfiniBandSetup : public LinkLayerSetup
{
  public:
    explicit InfiniBandSetup(const scenario::IbSpec& spec)
        : m_spec(spec)
    {
    }

    std::string Check(const ns3::RdmaNic& nic) const override
    {
        ns3::UintegerValue receiveBuffer;
        nic.GetAttribute("PcieReceiveBuffer", receiveBuffer);
        return receiveBuffer.Get() == 0
                   ? ""
                   : "ns3::RdmaNic::PcieReceiveBuffer: " + std::to_string(receiveBuffer.Get()) +

                         " B, but an InfiniBand NIC holds what its bus has not taken in the "
                         "buffers of its VLs; allowed: 0, and " +
                         scenario::Spell(&scenario::asked::Fabric::vlBuffer) + ", now " +
                         std::to_string(m_spec.laneBuffer.value) + " B";
    }

    void Apply(ns3::RdmaFabricHelper& helper) const override
    {
        ns3::IbFabricConfig config;
        config.routing = m_spec.routing;
        config.forwardingFile = m_spec.lfts;
        config.lmc = m_spec.lmc;
        config.lanes = m_spec.lanes;
        config.laneBuffer = m_spec.laneBuffer.value;
        config.creditBlock = m_spec.creditBlock;
        config.vlHigh = m_spec.high;
        config.vlLow = m_spec.low;
        config.highLimit = m_spec.highLimit;
        config.staticRate = m_spec.staticRate;
        config.flitBytes = m_spec.flitBytes;
        helper.SetInfiniBand(config);
    }

    std::string Explain(const std::string& error) const override
    {
        if (!m_spec.lfts.empty() && error.rfind(m_spec.lfts, 0) == 0)
        {
            return scenario::Spell(&scenario::asked::Fabric::ibLfts) + "=" + error;
        }
        return error.find(" cannot route: ") == std::string::npos
                   ? error
                   : scenario::Spell(&scenario::asked::Fabric::ibRouting) + "=" + m_spec.routing +
                         ": " + error;
    }

  private:
    const scenario::IbSpec& m_spec;
};

} // namespace

std::unique_ptr<LinkLayerSetup>
LinkLayerSetup::Of(const scenario::FabricSpec& spec)
{
    if (spec.infiniBand)
    {
        return std::make_unique<InfiniBandSetup>(spec.ib);
    }
    return std::make_unique<EthernetSetup>();
}

} // namespace dltrain
