/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "place-settings.h"

#include "contrib/rdma/core/shown-text.h"
#include "ns3-settings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/options/member.h"
#include "used-parts.h"

#include "ns3/ib-switch.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-fixed-attribute.h"
#include "ns3/rdma-switch.h"
#include "ns3/type-id.h"

#include <map>
#include <memory>
#include <utility>

namespace dltrain
{

using scenario::PlacedSetting;

namespace
{

bool
IsA(ns3::TypeId type, ns3::TypeId base)
{
    return type == base || type.IsChildOf(base);
}

/// "--set=core:ecn-kmin=1MB", or where a file has it.
std::string
WhereOf(const PlacedSetting& setting)
{
    return setting.where + (setting.where.rfind("--", 0) == 0 ? "=" + setting.Said() : "");
}

/// Which objects of a place take a setting.
struct Takers
{
    bool device = false; ///< switches
    bool port = false;   ///< ports of switches and hosts
    bool nic = false;    ///< NICs of hosts
    /// The attribute that a port takes: of its own, or as a switch has it.
    std::string atPort;
};

/// \return what is wrong with a setting wherever it is, or nothing
std::string
FindTakers(const scenario::FabricSpec& spec, const PlacedSetting& setting, Takers& takers)
{
    const std::string where = WhereOf(setting);
    const std::string error = CheckAttribute(where, setting.attribute, setting.value);
    if (!error.empty())
    {
        return error;
    }
    const std::size_t colons = setting.attribute.rfind("::");
    const std::string name = setting.attribute.substr(colons + 2);
    const ns3::TypeId type = ns3::TypeId::LookupByName(setting.attribute.substr(0, colons));
    ns3::TypeId::AttributeInformation info;
    type.LookupAttributeByName(name, &info);
    const std::string shown = rdma::Shown(where, 100) + ": " + setting.attribute;
    if (ns3::RdmaIsCommon(*info.accessor))
    {
        return shown + " is one for the whole network; allowed: for all, --" + setting.attribute +
               "=" + setting.text;
    }
    if (IsA(type, ns3::RdmaCongestionOps::GetTypeId()))
    {
        return shown + " is of the congestion control of all NICs; allowed: for all, --" +
               setting.attribute + "=" + setting.text;
    }
    if (IsOfTransport(type))
    {
        return shown + " is of the transport of all NICs; allowed: for all, --" +
               setting.attribute + "=" + setting.text;
    }
    const ns3::TypeId used =
        spec.infiniBand ? ns3::IbSwitch::GetTypeId() : ns3::RdmaSwitch::GetTypeId();
    const bool ofSwitch = IsA(type, ns3::RdmaSwitchBase::GetTypeId());
    if (ofSwitch && !IsA(used, type))
    {
        return shown + " has no effect: " + scenario::Spell(&scenario::asked::Fabric::fabric) +
               "=" + (spec.infiniBand ? "ib" : "roce") + " has no such switches";
    }
    // What else has a group of RDMA's is a part that one of these makes by itself.
    const bool ofPort = IsA(type, ns3::RdmaPort::GetTypeId());
    const bool ofNic = IsA(type, ns3::RdmaNic::GetTypeId());
    const bool isPart = !ofSwitch && !ofPort && !ofNic;
    if (isPart && type.GetGroupName() != used.GetGroupName())
    {
        return shown + " is of no switch, port or NIC; allowed: an attribute of these, or of what "
                       "they are made of";
    }
    ns3::TypeId::AttributeInformation same;
    const bool asPort = ofSwitch && ns3::RdmaPort::GetTypeId().LookupAttributeByName(name, &same);
    takers.device = ofSwitch || isPart;
    takers.port = ofPort || isPart;
    takers.nic = ofNic || isPart;
    takers.atPort = asPort ? "ns3::RdmaPort::" + name : ofSwitch ? "" : setting.attribute;
    return {};
}

/// Settings of places, each list once.
class Lists
{
  public:
    /// \param attribute may differ from the setting's own
    void Add(std::size_t place, uint32_t setting, const std::string& attribute)
    {
        m_listOf[place].emplace_back(setting, attribute);
    }

    bool Has(std::size_t place) const
    {
        return m_listOf.count(place) > 0;
    }

    /// \return null, and `error`, if ns-3 does not take one
    std::shared_ptr<const ns3::RdmaPlaceSettings> Make(std::size_t place,
                                                       const std::vector<PlacedSetting>& all,
                                                       std::string& error)
    {
        const List& list = m_listOf.at(place);
        auto& made = m_made[list];
        if (made)
        {
            return made;
        }
        auto settings = std::make_shared<ns3::RdmaPlaceSettings>();
        for (const auto& [number, attribute] : list)
        {
            const std::string wrong = settings->Add(attribute, all[number].value);
            if (!wrong.empty())
            {
                error = rdma::Shown(WhereOf(all[number]), 100) + ": " + wrong;
                return nullptr;
            }
        }
        return made = settings;
    }

  private:
    using List = std::vector<std::pair<uint32_t, std::string>>;

    std::map<std::size_t, List> m_listOf;
    std::map<List, std::shared_ptr<const ns3::RdmaPlaceSettings>> m_made;
};

} // namespace

std::string
PutPlaces(const scenario::FabricSpec& spec,
          const topo::Topology& topology,
          std::vector<ns3::RdmaNodeSpec>& nodes,
          std::vector<ns3::RdmaLinkSpec>& links)
{
    Lists ofNodes;
    Lists ofEnds;
    const auto& links_ = topology.Links();
    const auto isHost = [&topology](topo::NodeId node) {
        return topology.Nodes()[node].kind == topo::NodeKind::kHost;
    };
    for (uint32_t i = 0; i < spec.places.size(); ++i)
    {
        const PlacedSetting& setting = spec.places[i];
        Takers takers;
        const std::string error = FindTakers(spec, setting, takers);
        if (!error.empty())
        {
            return error;
        }
        bool taken = false;
        // All that a place has of its own is told to each of its ports, in the order of
        // precedence, so that a wider place does not win there because it is nearer to the object.
        const auto addEnd = [&](uint32_t end, bool whole) {
            const topo::Link& link = links_[end / 2];
            const bool host = isHost(end % 2 ? link.b : link.a);
            const bool device = !whole && takers.device && !host && !takers.atPort.empty();
            if (takers.port || device || (takers.nic && host))
            {
                ofEnds.Add(end, i, takers.atPort);
                taken = true;
            }
        };
        for (const topo::NodeId node : setting.nodes)
        {
            if (takers.device && !isHost(node))
            {
                ofNodes.Add(node, i, setting.attribute);
                taken = true;
            }
            const auto& ports = topology.Nodes()[node].ports;
            for (std::size_t p = 0; (takers.port || takers.nic) && p < ports.size(); ++p)
            {
                const topo::Link& link = links_[ports[p]];
                addEnd(2 * ports[p] + (link.a == node && link.portA == p ? 0 : 1), true);
            }
        }
        for (const uint32_t end : setting.ends)
        {
            addEnd(end, false);
        }
        if (!taken)
        {
            return rdma::Shown(WhereOf(setting), 100) + ": " + setting.attribute +
                   (setting.nodes.empty()
                        ? " is not of ports, but of " + std::string(takers.nic ? "NICs"
                                                                               : "whole "
                                                                                 "switches")
                        : std::string(takers.nic ? " is of NICs, which only hosts have"
                                                 : " is of switches")) +
                   "; allowed: " +
                   (takers.nic ? "hosts, or a port of one" : "a tier, a switch or a pattern");
        }
    }
    std::string error;
    for (std::size_t node = 0; node < nodes.size(); ++node)
    {
        if (ofNodes.Has(node))
        {
            nodes[node].settings = ofNodes.Make(node, spec.places, error);
        }
    }
    for (std::size_t end = 0; end < 2 * links.size(); ++end)
    {
        if (ofEnds.Has(end))
        {
            ns3::RdmaLinkSpec& link = links[end / 2];
            (end % 2 ? link.settingsB : link.settingsA) = ofEnds.Make(end, spec.places, error);
        }
    }
    return error;
}

} // namespace dltrain
