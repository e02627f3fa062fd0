/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What options check for the whole network, where --set or a topology file sets it at a place.
 */
#include "scenarios/network/place-check.h"

#include "contrib/rdma/core/hop-comparison.h"
#include "contrib/rdma/core/queue-disc-names.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/shaper-options.h"
#include "scenarios/network/transport-options.h"
#include "topologies/family.h"
#include "topologies/graph-settings.h"
#include "topologies/names.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace scenario
{

namespace
{

constexpr const char* kQueueDiscAttribute = "ns3::RdmaPort::QueueDisc";

bool
IsOneOf(const std::string& attribute, const char* name)
{
    return attribute == std::string("ns3::RdmaSwitch::") + name ||
           attribute == std::string("ns3::IbSwitch::") + name;
}

/// As ns-3 reads a boolean.
bool
IsTrue(const std::string& value)
{
    return value == "1" || value == "true" || value == "t";
}

bool
Overtakes(const std::string& queueDisc)
{
    const auto known = rdma::QueueDiscs().find(queueDisc);
    return known != rdma::QueueDiscs().end() && known->second.overtakes;
}

bool
LosesOrder(const std::string& balancer)
{
    const LoadBalancer* scheme = FindLoadBalancer(balancer);
    return scheme && scheme->order == LoadBalancer::Order::kLost;
}

/// Checks one setting after another.
class PlaceChecker
{
  public:
    PlaceChecker(Validation* v, const topo::Topology& topology, const FabricSpec& fabric)
        : m_v(v),
          m_topology(topology),
          m_fabric(fabric)
    {
    }

    void Check(const PlacedSetting& setting)
    {
        if (IsOneOf(setting.attribute, "LoadBalancer"))
        {
            CheckBalancer(setting);
        }
        else if (setting.attribute == kQueueDiscAttribute)
        {
            const std::string& transport = m_fabric.transport.name;
            Refuse(setting, WhyNoQueueDisc(transport, setting.value));
            if (Overtakes(setting.value))
            {
                WarnOfRecovery(setting);
            }
        }
        else if (IsShaper(setting.attribute))
        {
            Refuse(setting, WhyNoShaper(m_fabric.transport.name, setting.value));
        }
        else
        {
            CheckSwitch(setting);
        }
    }

  private:
    void Refuse(const PlacedSetting& setting, std::string why)
    {
        if (!why.empty())
        {
            m_v->errors.push_back({setting.where, setting.SaidThere(), std::move(why), ""});
        }
    }

    /// Once, though the network may be made again in another size.
    void Note(std::string note)
    {
        if (std::find(m_v->notes.begin(), m_v->notes.end(), note) == m_v->notes.end())
        {
            m_v->notes.push_back(std::move(note));
        }
    }

    static std::string WhereOf(const PlacedSetting& setting)
    {
        return setting.where.rfind("--", 0) == 0 ? setting.where + "=" + setting.Said()
                                                 : setting.where + " (" + setting.Said() + ")";
    }

    void CheckBalancer(const PlacedSetting& setting)
    {
        const std::string& name = setting.value;
        const LoadBalancer* scheme = FindLoadBalancer(name);
        if (!scheme)
        {
            return; // a user's own, or ns-3 names those that there are
        }
        const std::string& network = Spell(&asked::Fabric::loadBalancer) + "=" + name;
        if (const char* why = m_fabric.infiniBand ? scheme->notInfiniBand : scheme->notEthernet)
        {
            Refuse(setting,
                   name + " does not exist with --fabric=" + (m_fabric.infiniBand ? "ib" : "roce") +
                       ": " + why);
        }
        else if (scheme->where == LoadBalancer::Where::kSenders)
        {
            Refuse(setting,
                   name + " chooses at the senders, and places of switches have none; allowed: " +
                       network + " for the whole network");
        }
        else if (NeedsEverySwitch(name))
        {
            Refuse(setting,
                   name + " needs every switch to take part; allowed: " + network +
                       " for the whole network");
        }
        else if (LosesOrder(name))
        {
            WarnOfRecovery(setting);
            WarnOfComparisons(setting);
            if (m_v->values.Get(&asked::Traffic::protocol) == "tcp")
            {
                Note("warning: " + WhereOf(setting) +
                     " with --protocol=tcp: packets overtake each other, and TCP takes those that "
                     "are overtaken by three for lost");
            }
        }
    }

    void WarnOfRecovery(const PlacedSetting& setting)
    {
        const std::string& recovery = m_v->values.Get(&asked::Fabric::lossRecovery);
        if (recovery != "out-of-order")
        {
            Note("warning: " + WhereOf(setting) + " with --loss-recovery=" + recovery +
                 ": packets overtake each other, and it takes those for lost; "
                 "--loss-recovery=out-of-order takes any order");
        }
    }

    void WarnOfComparisons(const PlacedSetting& setting)
    {
        if (rdma::ComparesHops::Is(m_fabric.cc) && m_topology.SwitchCount() > 1)
        {
            Note("warning: --cc=" + m_fabric.cc + " with " + WhereOf(setting) +
                 ": it compares what switches say of themselves from packet to packet, and here "
                 "these take different ways: messages of many packets may be slower by far");
        }
    }

    /// PFC and ECN, about which a transport with switches of its own has no choice.
    void CheckSwitch(const PlacedSetting& setting)
    {
        const std::string& transport = m_fabric.transport.name;
        if (!IsTrimming(transport) && !Prioritizes(transport))
        {
            return;
        }
        const std::string with = " with --transport=" + transport;
        const bool on = IsTrue(setting.value);
        if (setting.attribute == "ns3::RdmaSwitch::Pfc" && on)
        {
            Refuse(setting, "holds packets up" + with + ", which does without; allowed: pfc=0");
        }
        if (setting.attribute == "ns3::RdmaSwitch::Ecn" && on != HearsMarks(transport))
        {
            Refuse(setting,
                   on ? "has nobody to hear of marks" + with + "; allowed: ecn=0"
                      : "leaves senders without marks to hear of" + with + "; allowed: ecn=1");
        }
    }

    Validation* m_v;
    const topo::Topology& m_topology;
    const FabricSpec& m_fabric;
};

} // namespace

std::string
WhyNoQueueDisc(const std::string& transport, const std::string& queueDisc)
{
    if (queueDisc.empty() || queueDisc == rdma::kPortDwrr)
    {
        return {};
    }
    const std::string with = "cannot be combined with --transport=" + transport;
    if (IsTrimming(transport))
    {
        return with + ": switches that trim packets have queues of their own; allowed with it: " +
               rdma::kPortDwrr;
    }
    if (Prioritizes(transport) && queueDisc != rdma::kPortStrict)
    {
        return with +
               ", whose priorities switches serve strictly; allowed with it: " + rdma::kPortDwrr +
               ", " + rdma::kPortStrict;
    }
    return {};
}

void
DecideForPlaces(Validation* v)
{
    const std::string& topology = v->values.Get(&asked::Network::topology);
    auto settings = topo::FamilyOfParameters(topology)
                        ? std::vector<std::pair<std::string, std::string>>()
                        : topo::SettingsOfFile(topology);
    for (const auto& entry : v->values.Get(&asked::Fabric::set))
    {
        settings.emplace_back(entry[1].second, entry[2].second);
    }
    for (const auto& [key, text] : settings)
    {
        const std::string value = topo::FoldedName(text);
        const bool balancer = topo::SameName(key, "load-balancer") || IsOneOf(key, "LoadBalancer");
        const bool disc = topo::SameName(key, "queue-disc") || key == kQueueDiscAttribute;
        if ((balancer && LosesOrder(value)) || (disc && Overtakes(value)))
        {
            v->DecideUnlessGiven(&asked::Fabric::lossRecovery, "out-of-order");
        }
    }
}

void
CheckPlaces(Validation* v, const topo::Topology& topology, const FabricSpec& fabric)
{
    PlaceChecker checker(v, topology, fabric);
    for (const PlacedSetting& setting : fabric.places)
    {
        checker.Check(setting);
    }
}

void
NetworkChecker::RefuseQueueDisc()
{
    const std::string disc = Ns3Value(kQueueDiscAttribute);
    const std::string why = WhyNoQueueDisc(m_fabric.transport.name, disc);
    if (!why.empty())
    {
        m_errors->push_back({std::string("--") + kQueueDiscAttribute, disc, why, ""});
    }
}

bool
NetworkChecker::ThresholdsAreInOrder()
{
    if (m_fabric.infiniBand || m_fabric.places.empty() || Ns3Sets("ns3::RdmaSwitch::"))
    {
        return true;
    }
    const auto& nodes = m_topology.Nodes();
    for (auto setting = m_fabric.places.rbegin(); setting != m_fabric.places.rend(); ++setting)
    {
        if (setting->attribute.rfind("ns3::RdmaSwitch::EcnK", 0) != 0)
        {
            continue;
        }
        for (const topo::NodeId node : setting->nodes)
        {
            const SwitchValues& values = m_switches.Of(node);
            if (nodes[node].kind == topo::NodeKind::kSwitch && values.kmin > values.kmax)
            {
                const std::string scale = values.per100G ? " per 100 Gb/s" : " of each port";
                m_errors->push_back(
                    {setting->where,
                     setting->SaidThere(),
                     "marking at " + nodes[node].name + " begins at " +
                         CanonicalBytes(values.kmin) + " and is full at " +
                         CanonicalBytes(values.kmax) + scale +
                         "; allowed: ecn-kmin (green_min_threshold) of at most ecn-kmax "
                         "(green_max_threshold)",
                     ""});
                return false;
            }
        }
    }
    return true;
}

} // namespace scenario
