/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet's link layer where there is none, or where nothing uses it.
 */
#include "scenarios/asked/fabric.h"
#include "scenarios/network/link-options.h"
#include "scenarios/network/network-checker.h"

#include <algorithm>
#include <string>

namespace scenario
{

namespace
{

constexpr const char* kFlowControlKey = "ns3::RdmaPort::FlowControl";
constexpr const char* kCutThroughKey = "ns3::RdmaSwitch::CutThrough";
constexpr const char* kLosslessKey = "ns3::RdmaSwitch::LosslessPriorities";

/// As ns-3 reads booleans.
bool
IsTrueText(const std::string& value)
{
    return value == "true" || value == "1" || value == "t";
}

} // namespace

void
NetworkChecker::RefuseLinkAttributes()
{
    if (!m_fabric.infiniBand)
    {
        return;
    }
    const char* const why = "is of Ethernet's links; allowed with --fabric=roce";
    for (const Option& option : LinkOptionRows())
    {
        for (const std::string& attribute : option.AttributesOfPlaces())
        {
            const std::string value = Ns3Value(attribute);
            if (!value.empty())
            {
                m_errors->push_back({"--" + attribute, value, why, ""});
                return;
            }
            for (const PlacedSetting& setting : m_fabric.places)
            {
                if (setting.attribute == attribute)
                {
                    m_errors->push_back({setting.where, setting.SaidThere(), why, ""});
                    return;
                }
            }
        }
    }
}

void
NetworkChecker::RefusePathsThatCutThrough()
{
    const std::string everywhere = Ns3Value(kCutThroughKey);
    for (const rdma::SourceHop& hop : m_fabric.paths)
    {
        // The last one counts: they are sorted by level.
        const auto last =
            std::find_if(m_fabric.places.rbegin(),
                         m_fabric.places.rend(),
                         [&hop](const PlacedSetting& s) {
                             return s.attribute == kCutThroughKey &&
                                    std::binary_search(s.nodes.begin(), s.nodes.end(), hop.node);
                         });
        const bool placed = last != m_fabric.places.rend();
        if (m_fabric.infiniBand || !IsTrueText(placed ? last->value : everywhere))
        {
            continue;
        }
        m_errors->push_back({placed ? last->where : std::string("--") + kCutThroughKey,
                             placed ? last->SaidThere() : everywhere,
                             "a path that a sender names goes over " +
                                 m_topology.Nodes()[hop.node].name +
                                 "; allowed there: 0, as the switch has to look at whole frames",
                             ""});
        return;
    }
}

void
NetworkChecker::WarnOfIdleCredits()
{
    // Attributes may make other priorities lossless.
    const bool changed = Ns3Sets(kLosslessKey) ||
                         std::any_of(m_fabric.places.begin(),
                                     m_fabric.places.end(),
                                     [](const auto& s) { return s.attribute == kLosslessKey; });
    if (m_fabric.infiniBand || changed || (m_used & m_lossless))
    {
        return;
    }
    const auto note = [this](const std::string& where) {
        m_notes->push_back(where + " has no effect: no flow has a lossless priority, and only "
                                   "those have credits");
    };
    const std::string value = Ns3Value(kFlowControlKey);
    if (!value.empty() ? value == "cbfc" : m_fabric.linkCredits)
    {
        note(value.empty() ? m_read.values.Where(&asked::Fabric::flowControl) + "=" +
                                 m_read.values.Raw(&asked::Fabric::flowControl)
                           : std::string("--") + kFlowControlKey + "=" + value);
    }
    for (const PlacedSetting& setting : m_fabric.places)
    {
        if (setting.attribute == kFlowControlKey && setting.value == "cbfc")
        {
            note(setting.where + "=" + setting.SaidThere());
        }
    }
}

} // namespace scenario
