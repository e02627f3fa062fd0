/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Links that have credits and may lose frames; shapers that links are too slow for.
 */
#include "contrib/rdma/core/class-shapers.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/shaper-options.h"
#include "scenarios/options/format.h"

#include <algorithm>
#include <string>
#include <vector>

namespace scenario
{

namespace
{

constexpr const char* kFlowControlAttribute = "ns3::RdmaPort::FlowControl";
constexpr const char* kCbfc = "cbfc";

/// Credits of lost frames do not come back.
bool
TakesFrames(const Fault& fault)
{
    return fault.IsCut() || fault.kind == FaultKind::kBitErrors || fault.kind == FaultKind::kDrop ||
           fault.kind == FaultKind::kCircuits;
}

/// \return why a link with credits cannot have this fault; nothing: it can
std::string
WhyNoCreditsWith(const Fault& fault)
{
    return fault.kind == FaultKind::kPauseStorm
               ? "credits take the place of pauses, so that --fault=" + fault.what +
                     " does nothing; allowed where pauses are to come: pfc"
           : fault.kind == FaultKind::kCircuits
               ? "the credits of frames that circuits take as they end do not come back; allowed "
                 "where circuits come and go: pfc"
           : TakesFrames(fault)
               ? "the credits of frames that --fault=" + fault.what +
                     " takes do not come back; allowed on a link that may fail: pfc"
               : "";
}

topo::NodeId
NodeAtEnd(const topo::Topology& topology, uint32_t end)
{
    const topo::Link& link = topology.Links()[end / 2];
    return end % 2 ? link.b : link.a;
}

bool
CoversEnd(const topo::Topology& topology, const PlacedSetting& setting, uint32_t end)
{
    return std::binary_search(setting.nodes.begin(),
                              setting.nodes.end(),
                              NodeAtEnd(topology, end)) ||
           std::binary_search(setting.ends.begin(), setting.ends.end(), end);
}

/// The fastest link of the switches, or their ports, that a setting is of; null: of all.
rdma::BitRate
FastestPortOf(const topo::Topology& topology, const PlacedSetting* setting)
{
    rdma::BitRate fastest(0);
    for (uint32_t end = 0; end < 2 * topology.Links().size(); ++end)
    {
        const topo::Node& node = topology.Nodes()[NodeAtEnd(topology, end)];
        if (node.kind == topo::NodeKind::kSwitch &&
            (!setting || CoversEnd(topology, *setting, end)))
        {
            fastest = std::max(fastest, topology.Links()[end / 2].rate);
        }
    }
    return fastest;
}

} // namespace

void
NetworkChecker::RefuseFaultsOnCredits()
{
    const std::string asAttribute = Ns3Value(kFlowControlAttribute);
    const bool everywhere = asAttribute.empty() ? m_fabric.linkCredits : asAttribute == kCbfc;
    std::vector<const PlacedSetting*> settings;
    for (const PlacedSetting& setting : m_fabric.places)
    {
        if (setting.attribute == kFlowControlAttribute)
        {
            settings.push_back(&setting);
        }
    }
    if (!everywhere && std::none_of(settings.begin(), settings.end(), [](const auto* setting) {
            return setting->value == kCbfc;
        }))
    {
        if (m_read.values.Given(&asked::Fabric::creditBuffer))
        {
            m_notes->push_back(m_read.values.Where(&asked::Fabric::creditBuffer) +
                               " has no effect without --flow-control=cbfc");
        }
        return;
    }
    for (const Fault& fault : m_faults.faults)
    {
        const std::string why = WhyNoCreditsWith(fault);
        if (why.empty())
        {
            continue;
        }
        for (const uint32_t faulty : fault.ends)
        {
            for (const uint32_t end : {faulty, faulty ^ 1})
            {
                // The last one counts: they are sorted by level.
                const auto last =
                    std::find_if(settings.rbegin(), settings.rend(), [&](const auto* setting) {
                        return CoversEnd(m_topology, *setting, end);
                    });
                const PlacedSetting* const by = last == settings.rend() ? nullptr : *last;
                if (by ? by->value != kCbfc : !everywhere)
                {
                    continue;
                }
                const std::string link = m_topology.LinkName(end / 2, end % 2 == 0);
                const std::string problem = link + ": " + why;
                m_errors->push_back(
                    by ? Error{by->where, by->SaidThere(), problem, ""}
                    : asAttribute.empty()
                        ? Error{m_read.values.Where(&asked::Fabric::flowControl),
                                kCbfc,
                                problem,
                                ""}
                        : Error{std::string("--") + kFlowControlAttribute, kCbfc, problem, ""});
                return;
            }
        }
    }
}

void
NetworkChecker::WarnOfShapers()
{
    const auto check =
        [this](const std::string& where, const std::string& text, const PlacedSetting* setting) {
            const auto shapers = rdma::ParseShapers(text);
            const rdma::BitRate fastest = FastestPortOf(m_topology, setting);
            for (std::size_t p = 0; shapers && fastest.bps && p < shapers->size(); ++p)
            {
                const bool set = (*shapers)[p].rate.bps > 0;
                if (set && !(m_used >> p & 1) && !Ns3Sets("ns3::RdmaNic::CnpPriority") &&
                    !Ns3Sets("ns3::RdmaNic::AckPriority"))
                {
                    m_notes->push_back("warning: " + where + ": the shaper of priority " +
                                       std::to_string(p) +
                                       " has no effect: nothing is sent in that priority");
                    continue;
                }
                if ((*shapers)[p].rate.bps >= fastest.bps)
                {
                    m_notes->push_back("warning: " + where + ": the shaper of priority " +
                                       std::to_string(p) + " has no effect: no port of a switch" +
                                       (setting ? " there" : "") + " is faster than " +
                                       CanonicalRate(fastest.bps));
                }
            }
        };
    if (!m_fabric.shapers.empty())
    {
        check("--shaper=" + m_fabric.shapers, m_fabric.shapers, nullptr);
    }
    for (const PlacedSetting& setting : m_fabric.places)
    {
        if (IsShaper(setting.attribute))
        {
            check(setting.where + "=" + setting.SaidThere(), setting.value, &setting);
        }
    }
}

} // namespace scenario
