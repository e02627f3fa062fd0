/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/switch-values.h"

#include "contrib/rdma/core/unit-strings.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

namespace scenario
{

namespace
{

bool
IsOn(const std::string& value)
{
    return value == "1" || value == "true" || value == "t";
}

uint64_t
WholeBytes(const std::string& value)
{
    return std::strtoull(value.c_str(), nullptr, 10);
}

using Setter = void (*)(SwitchValues&, const std::string&);

/// By attribute; null: it is of no interest here.
const std::map<std::string, Setter>&
Setters()
{
    static const std::map<std::string, Setter> setters = {
        {"Pfc", [](SwitchValues& s, const std::string& v) { s.pfc = IsOn(v); }},
        {"Ecn", [](SwitchValues& s, const std::string& v) { s.ecn = IsOn(v); }},
        {"EcnKmin", [](SwitchValues& s, const std::string& v) { s.kmin = WholeBytes(v); }},
        {"EcnKmax", [](SwitchValues& s, const std::string& v) { s.kmax = WholeBytes(v); }},
        {"EcnPer100G", [](SwitchValues& s, const std::string& v) { s.per100G = IsOn(v); }},
        {"EcnPmax",
         [](SwitchValues& s, const std::string& v) { s.pmax = std::strtod(v.c_str(), nullptr); }},
        {"BufferPer100G", [](SwitchValues& s, const std::string& v) { s.buffer = WholeBytes(v); }},
        {"BufferBytes", [](SwitchValues& s, const std::string& v) { s.ofSwitch = WholeBytes(v); }},
        {"PipelineLatency",
         [](SwitchValues& s, const std::string& v) {
             const auto time = rdma::ParseDuration(v);
             s.latency = time ? *time : s.latency;
             s.known &= time.has_value();
         }},
        {"Alpha",
         [](SwitchValues& s, const std::string& v) { s.alpha = std::strtod(v.c_str(), nullptr); }},
        {"LoadBalancer", nullptr},
        {"Shaper", nullptr},
        {"AlphaLossy", nullptr},
        {"PfcWatchdogDetection", nullptr},
        {"PfcWatchdogRestoration", nullptr},
        {"PfcWatchdogAction", nullptr},
        {"XonOffset", nullptr},
        {"PauseQuanta", nullptr},
    };
    return setters;
}

} // namespace

SwitchesOf::SwitchesOf(const FabricSpec& fabric, const topo::Topology& topology)
{
    m_values.push_back(Make(fabric, {}));
    if (fabric.places.empty())
    {
        return;
    }
    m_numberOf.resize(topology.Nodes().size());
    std::vector<std::vector<uint32_t>> settingsOf(topology.Nodes().size());
    for (uint32_t i = 0; i < fabric.places.size(); ++i)
    {
        for (const topo::NodeId node : fabric.places[i].nodes)
        {
            settingsOf[node].push_back(i);
        }
    }
    std::map<std::vector<uint32_t>, uint32_t> known{{{}, 0}};
    for (topo::NodeId node = 0; node < m_numberOf.size(); ++node)
    {
        const auto [at, first] =
            known.emplace(settingsOf[node], static_cast<uint32_t>(m_values.size()));
        if (first)
        {
            m_values.push_back(Make(fabric, settingsOf[node]));
        }
        m_numberOf[node] = at->second;
    }
}

SwitchValues
SwitchesOf::Make(const FabricSpec& fabric, const std::vector<uint32_t>& settings) const
{
    SwitchValues values;
    values.pfc = fabric.pfc;
    values.ecn = fabric.ecn;
    values.kmin = fabric.ecnKmin.value;
    values.kmax = fabric.ecnKmax.value;
    values.pmax = fabric.ecnPmax;
    values.buffer = fabric.bufferPer100G.value;
    values.latency = fabric.switchLatency;
    const std::string of = "ns3::RdmaSwitch::";
    for (const uint32_t i : settings)
    {
        const PlacedSetting& setting = fabric.places[i];
        if (setting.attribute == "ns3::IbSwitch::Latency")
        {
            Setters().at("PipelineLatency")(values, setting.value);
        }
        if (setting.attribute.rfind(of, 0) != 0)
        {
            continue; // of NICs, ports, or parts of a switch
        }
        const auto setter = Setters().find(setting.attribute.substr(of.size()));
        if (setter == Setters().end())
        {
            values.known = false;
        }
        else if (setter->second)
        {
            setter->second(values, setting.value);
        }
    }
    return values;
}

rdma::Duration
SwitchesOf::LongestLatency() const
{
    rdma::Duration longest(0);
    for (const SwitchValues& values : m_values)
    {
        longest = std::max(longest, values.latency);
    }
    return longest;
}

} // namespace scenario
