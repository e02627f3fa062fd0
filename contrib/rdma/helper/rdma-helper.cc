/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-helper.h"

#include "contrib/rdma/core/nearest-name.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/names.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaHelper");

namespace
{

constexpr const char* NULL_NODE = "a node is a null pointer; allowed: nodes";

/// \return "node 3", with its name if it has one
std::string
NameOf(Ptr<Node> node)
{
    const std::string name = Names::FindName(node);
    return "node " + std::to_string(node->GetId()) + (name.empty() ? "" : " '" + name + "'");
}

/// \return "node 3, device 1"
std::string
NameOf(Ptr<NetDevice> device)
{
    return NameOf(device->GetNode()) + ", device " + std::to_string(device->GetIfIndex());
}

/// \return whether a node has NICs, or is a switch, of some fabric
bool
HasRdma(Ptr<Node> node)
{
    bool has = node->GetObject<RdmaHost>() || node->GetObject<RdmaSwitchBase>();
    for (uint32_t i = 0; i < node->GetNDevices(); ++i)
    {
        has = has || DynamicCast<RdmaPort>(node->GetDevice(i));
    }
    return has;
}

/// \return the value as the attribute has it; null: it cannot be one
template <class Value>
Ptr<Value>
Convert(const AttributeValue& value, Ptr<const AttributeChecker> checker)
{
    return DynamicCast<Value>(checker->CreateValidValue(value));
}

} // namespace

RdmaHelper::End::End(Ptr<Node> node)
    : m_node(node)
{
}

RdmaHelper::End::End(Ptr<NetDevice> device)
    : m_device(device)
{
}

RdmaHelper::RdmaHelper()
    : m_rate(100000000000),
      m_delay(MicroSeconds(1))
{
}

RdmaHelper::~RdmaHelper() = default;

void
RdmaHelper::Refuse(const std::string& where, const std::string& wrong)
{
    NS_ABORT_MSG_IF(!wrong.empty(), "RdmaHelper::" << where << ": " << wrong);
}

void
RdmaHelper::CheckOpen(const std::string& where) const
{
    Refuse(where,
           m_fabric
               ? "the fabric is finished; allowed: before Finish(), or another RdmaHelper with "
                 "other nodes"
               : "");
}

void
RdmaHelper::CheckSettings(const std::string& where) const
{
    CheckOpen(where);
    Refuse(where,
           m_builder ? "all NICs and switches of a helper are alike; allowed: before the first "
                       "InstallNics() or InstallSwitches()"
                     : "");
}

void
RdmaHelper::SetNicAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    CheckSettings("SetNicAttribute: " + name);
    m_settings.nic.Set(name, value);
}

void
RdmaHelper::SetSwitchAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    CheckSettings("SetSwitchAttribute: " + name);
    m_settings.SetSwitchAttribute(name, value);
}

void
RdmaHelper::SetPortAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    CheckSettings("SetPortAttribute: " + name);
    m_settings.port.Set(name, value);
}

void
RdmaHelper::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    NS_LOG_FUNCTION(this << prototype);
    CheckOpen("SetCongestionOps");
    m_settings.prototype = prototype;
    if (m_builder)
    {
        m_builder->SetCongestionOps(prototype);
    }
}

uint8_t
RdmaHelper::AddTrafficClass(const RdmaTrafficClass& trafficClass)
{
    NS_LOG_FUNCTION(this);
    CheckSettings("AddTrafficClass");
    m_settings.classes.push_back(trafficClass);
    return static_cast<uint8_t>(m_settings.classes.size());
}

void
RdmaHelper::SetInfiniBand(const IbFabricConfig& config)
{
    NS_LOG_FUNCTION(this);
    CheckSettings("SetInfiniBand");
    m_settings.SetInfiniBand(config);
}

void
RdmaHelper::SetLinkAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    const std::string where = "SetLinkAttribute: " + name;
    std::string allowed;
    if (name == "DataRate")
    {
        const auto rate = Convert<DataRateValue>(value, MakeDataRateChecker());
        m_rate = rate ? rate->Get() : m_rate;
        allowed = rate ? "" : "a rate as 100Gbps";
    }
    else if (name == "Delay")
    {
        const auto delay = Convert<TimeValue>(value, MakeTimeChecker(Time(0)));
        m_delay = delay ? delay->Get() : m_delay;
        allowed = delay ? "" : "a time as 500ns, 0 or more";
    }
    else if (name == "BitErrorRate")
    {
        const auto errors = Convert<DoubleValue>(value, MakeDoubleChecker<double>(0, 1));
        m_bitErrorRate = errors ? errors->Get() : m_bitErrorRate;
        allowed = errors ? "" : "0 to 1";
    }
    else
    {
        const std::string nearest = rdma::NearestName(name, {"DataRate", "Delay", "BitErrorRate"});
        Refuse(where,
               "links have no such attribute; allowed: DataRate, Delay, BitErrorRate" +
                   (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
    Refuse(where, allowed.empty() ? "" : "this value is none; allowed: " + allowed);
}

std::string
RdmaHelper::CheckNode(Ptr<Node> node, bool isSwitch) const
{
    const auto known = m_numbers.find(node->GetId());
    if (known == m_numbers.end())
    {
        return HasRdma(node) ? "the node belongs to another fabric; allowed: one RdmaHelper or "
                               "RdmaFabricHelper a node"
                             : "";
    }
    if (m_isSwitch[known->second])
    {
        return isSwitch ? "the node is a switch already; allowed: each node once"
                        : "the node is a switch; allowed: nodes without a switch";
    }
    return isSwitch ? "the node has NICs; allowed: nodes without NICs" : "";
}

uint32_t
RdmaHelper::AddNode(Ptr<Node> node, bool isSwitch)
{
    const auto known = m_numbers.find(node->GetId());
    if (known != m_numbers.end())
    {
        return known->second;
    }
    if (!m_builder)
    {
        m_builder = std::make_unique<RdmaFabricBuilder>(m_settings);
    }
    RdmaNodeSpec spec;
    spec.name = Names::FindName(node);
    spec.name = spec.name.empty() ? "n" + std::to_string(node->GetId()) : spec.name;
    spec.isSwitch = isSwitch;
    const uint32_t number = m_builder->AddNode(node, spec);
    m_numbers[node->GetId()] = number;
    m_isSwitch.push_back(isSwitch);
    m_peers.emplace_back();
    return number;
}

NetDeviceContainer
RdmaHelper::InstallNics(NodeContainer nodes)
{
    NS_LOG_FUNCTION(this);
    CheckOpen("InstallNics");
    NetDeviceContainer ports;
    for (auto it = nodes.Begin(); it != nodes.End(); ++it)
    {
        Refuse("InstallNics", *it ? "" : NULL_NODE);
        Refuse("InstallNics: " + NameOf(*it), CheckNode(*it, false));
        const uint32_t node = AddNode(*it, false);
        const uint16_t port = m_builder->AddPort(node);
        m_peers[node].emplace_back();
        ports.Add(m_builder->GetPort(node, port));
    }
    return ports;
}

void
RdmaHelper::InstallSwitches(NodeContainer nodes)
{
    NS_LOG_FUNCTION(this);
    CheckOpen("InstallSwitches");
    for (auto it = nodes.Begin(); it != nodes.End(); ++it)
    {
        Refuse("InstallSwitches", *it ? "" : NULL_NODE);
        Refuse("InstallSwitches: " + NameOf(*it), CheckNode(*it, true));
        AddNode(*it, true);
    }
}

NetDeviceContainer
RdmaHelper::Connect(End a, End b)
{
    NS_LOG_FUNCTION(this);
    return Connect(a, b, m_rate, m_delay);
}

NetDeviceContainer
RdmaHelper::Connect(End a, End b, DataRate rate, Time delay)
{
    NS_LOG_FUNCTION(this << rate << delay);
    CheckOpen("Connect");
    Refuse("Connect",
           (a.m_node || a.m_device) && (b.m_node || b.m_device)
               ? ""
               : "an end is a null pointer; allowed: nodes and ports of NICs");
    const Ptr<Node> nodes[2] = {a.m_node ? a.m_node : a.m_device->GetNode(),
                                b.m_node ? b.m_node : b.m_device->GetNode()};
    Refuse("Connect",
           nodes[0] && nodes[1] ? "" : "a port has no node; allowed: what InstallNics() returned");
    const std::string where = "Connect: " + NameOf(nodes[0]) + " to " + NameOf(nodes[1]);
    Refuse(where, nodes[0] == nodes[1] ? "allowed: two different nodes" : "");
    Refuse(where,
           delay.IsStrictlyNegative()
               ? "a delay of " + std::to_string(delay.GetPicoSeconds()) + " ps; allowed: 0 or more"
               : "");
    const Place from = Resolve(where, a);
    const Place to = Resolve(where, b);
    RdmaLinkSpec link;
    link.a = from.node;
    link.b = to.node;
    link.rateBps = rate.GetBitRate();
    link.delayPs = delay.GetPicoSeconds();
    link.bitErrorRate = m_bitErrorRate;
    Refuse(where, m_builder->Join(link, from.port, to.port));
    const Place ends[2] = {from, to};
    NetDeviceContainer ports;
    for (int side = 0; side < 2; ++side)
    {
        const Place& end = ends[side];
        if (!m_isSwitch[end.node])
        {
            m_peers[end.node][end.port] = NameOf(nodes[1 - side]);
        }
        ports.Add(m_builder->GetPort(end.node, end.port));
    }
    return ports;
}

RdmaHelper::Place
RdmaHelper::Resolve(const std::string& where, const End& end)
{
    return end.m_node ? ResolveNode(where, end.m_node) : ResolveDevice(where, end.m_device);
}

RdmaHelper::Place
RdmaHelper::ResolveNode(const std::string& where, Ptr<Node> node)
{
    const auto known = m_numbers.find(node->GetId());
    if (known == m_numbers.end())
    {
        Refuse(where,
               NameOf(node) + " has neither a NIC nor a switch of this helper; allowed: nodes of "
                              "InstallNics() and InstallSwitches()");
    }
    const uint32_t number = known->second;
    if (m_isSwitch[number])
    {
        return {number, m_builder->AddPort(number)};
    }
    const std::vector<std::string>& peers = m_peers[number];
    const auto free = std::find(peers.begin(), peers.end(), "");
    if (free == peers.end())
    {
        Refuse(where,
               NameOf(node) + " has no NIC without a link: " + std::to_string(peers.size()) +
                   " installed, the last one leads to " + peers.back() +
                   "; allowed: one link a NIC. InstallNics() adds a NIC");
    }
    return {number, static_cast<uint16_t>(free - peers.begin())};
}

RdmaHelper::Place
RdmaHelper::ResolveDevice(const std::string& where, Ptr<NetDevice> device) const
{
    const auto known = m_numbers.find(device->GetNode()->GetId());
    if (known != m_numbers.end() && !m_isSwitch[known->second])
    {
        const std::vector<std::string>& peers = m_peers[known->second];
        for (uint16_t port = 0; port < peers.size(); ++port)
        {
            if (m_builder->GetPort(known->second, port) != device)
            {
                continue;
            }
            Refuse(where,
                   peers[port].empty() ? ""
                                       : NameOf(device) + " has a link already, to " + peers[port] +
                                             "; allowed: one link a NIC");
            return {known->second, port};
        }
    }
    Refuse(where,
           NameOf(device) + " is a " + device->GetInstanceTypeId().GetName() +
               " that is no NIC's of this helper; allowed: what InstallNics() returned. A switch "
               "is named by its node");
    return {};
}

RdmaFabric&
RdmaHelper::Finish(int64_t stream)
{
    NS_LOG_FUNCTION(this << stream);
    CheckOpen("Finish");
    Refuse("Finish", m_builder ? "" : "nothing is installed; allowed: after InstallNics()");
    for (uint32_t node = 0; node < m_peers.size(); ++node)
    {
        for (uint16_t port = 0; port < m_peers[node].size(); ++port)
        {
            Refuse("Finish",
                   m_peers[node][port].empty()
                       ? NameOf(Ptr<NetDevice>(m_builder->GetPort(node, port))) +
                             " is a NIC without a link; allowed: Connect() for each NIC"
                       : "");
        }
    }
    std::string error;
    m_fabric = m_builder->Finish(error, stream);
    Refuse("Finish", error);
    m_builder.reset();
    // Callers of helpers keep nothing of them, as with ns-3's own.
    Simulator::ScheduleDestroy([kept = m_fabric]() {});
    return *m_fabric;
}

Ptr<RdmaNic>
RdmaHelper::GetNic(Ptr<NetDevice> port)
{
    Refuse("GetNic", port ? "" : "the port is a null pointer; allowed: ports of InstallNics()");
    // Destroy takes a device's node away.
    Refuse("GetNic",
           port->GetNode() ? ""
                           : "the port has no node; allowed: ports of InstallNics(), before "
                             "Simulator::Destroy()");
    const Ptr<RdmaHost> host = port->GetNode()->GetObject<RdmaHost>();
    for (uint32_t i = 0; host && i < host->GetNNics(); ++i)
    {
        if (host->GetNic(i)->GetPort() == port)
        {
            return host->GetNic(i);
        }
    }
    Refuse("GetNic: " + NameOf(port),
           DynamicCast<RdmaPort>(port) ? "the port has no NIC; allowed: ports of InstallNics(), "
                                         "after Finish()"
                                       : "this is a " + port->GetInstanceTypeId().GetName() +
                                             "; allowed: ports of InstallNics()");
    return nullptr;
}

Time
RdmaHelper::GetIdealCompletion(Ptr<NetDevice> from, Ptr<NetDevice> to, uint64_t bytes) const
{
    Refuse("GetIdealCompletion", m_fabric ? "" : "there is no fabric yet; allowed: after Finish()");
    return RdmaClock::At(m_fabric->GetIdealCompletion(GetNic(from)->GetEndpoint(),
                                                      GetNic(to)->GetEndpoint(),
                                                      bytes,
                                                      false));
}

} // namespace ns3
