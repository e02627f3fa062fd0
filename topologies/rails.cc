/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/rails.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace topo
{

namespace
{

/// Spines, and what a leaf needs of them. An error if there is one.
void
ChooseSpines(const TopologyRequest& r, bool apart, RailShape* s, std::vector<Error>* errors)
{
    const double oversubscription = r.parameters.Factor("oversubscription");
    const uint64_t leaves = s->groups * (apart ? 1 : s->rails);
    s->fabricRate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    const bool givenSpines = r.parameters.Has("spines");
    if (leaves == 1)
    {
        if (givenSpines)
        {
            errors->push_back({"spines",
                               std::to_string(r.parameters.Count("spines")),
                               apart ? "join nothing: every rail is one switch, as there is one "
                                       "group of servers; leave it out"
                                     : "join nothing: there is one rail switch; leave it out",
                               ""});
        }
        return;
    }
    const double full = static_cast<double>(s->hostsPerRail) * static_cast<double>(r.linkRate.bps) /
                        static_cast<double>(s->fabricRate.bps) / oversubscription;
    s->uplinks = static_cast<uint64_t>(std::max(1.0, std::ceil(full - 1e-9)));
    if (givenSpines)
    {
        s->spines = r.parameters.Count("spines");
        // The same number to each; the excess is taken from their rate.
        s->uplinks = detail::CeilDiv(s->uplinks, s->spines) * s->spines;
    }
    else
    {
        s->spines = std::min(s->uplinks, detail::CeilDiv(leaves * s->uplinks, s->radix));
        while (s->uplinks % s->spines != 0)
        {
            ++s->spines;
        }
    }
    if (oversubscription > 1 || givenSpines)
    {
        s->fabricRate =
            detail::Scaled(s->fabricRate, std::min(1.0, full / static_cast<double>(s->uplinks)));
    }
    const uint64_t ofSpine = leaves * (s->uplinks / s->spines);
    if (r.parameters.Has("switch-ports") &&
        (ofSpine > s->radix || s->hostsPerRail + s->uplinks > s->radix))
    {
        const bool leaf = s->hostsPerRail + s->uplinks > s->radix;
        errors->push_back({"switch-ports",
                           std::to_string(s->radix),
                           leaf ? "ports are too few for a rail switch of " +
                                      Counted(s->hostsPerRail, "server port") + " and " +
                                      Counted(s->uplinks, "uplink")
                                : "ports are too few for a spine that joins " +
                                      Counted(leaves, "rail switch", "rail switches") +
                                      "; larger groups, " + (givenSpines ? "more spines, " : "") +
                                      "or more ports, have room",
                           ""});
    }
    if (s->hostsPerRail + s->uplinks > 65535 || ofSpine > 65535)
    {
        errors->push_back({"hosts-per-rail",
                           std::to_string(s->hostsPerRail),
                           "would be a switch of more than 65535 ports",
                           ""});
    }
    if (s->fabricRate.bps == 0)
    {
        errors->push_back({"oversubscription", "", "leaves the uplinks a rate of 0", ""});
    }
}

std::optional<RailShape>
ShapeOf(const TopologyRequest& r, bool apart, std::vector<Error>* errors)
{
    RailShape s;
    if (r.hosts == 0)
    {
        errors->push_back({"hosts", "", "rails need a number of servers", ""});
        return std::nullopt;
    }
    const uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    s.rails = r.parameters.Has("rails") ? r.parameters.Count("rails") : r.nicsPerServer;
    if (s.rails > ports)
    {
        errors->push_back({"rails",
                           std::to_string(s.rails),
                           "rails are more than the " + Counted(ports, "NIC") +
                               " of all servers; allowed: at most " + std::to_string(ports),
                           ""});
        return std::nullopt;
    }
    s.places = detail::CeilDiv(ports, s.rails);
    s.radix = r.parameters.Has("switch-ports") ? r.parameters.Count("switch-ports") : kUsualRadix;
    const uint64_t half = std::max<uint64_t>(1, s.radix / 2);
    s.hostsPerRail = r.parameters.Has("hosts-per-rail") ? r.parameters.Count("hosts-per-rail")
                                                        : std::min(s.places, half);
    s.radix = r.parameters.Has("switch-ports") ? s.radix : std::max(s.radix, 2 * s.hostsPerRail);
    s.groups = detail::CeilDiv(s.places, s.hostsPerRail);
    ChooseSpines(r, apart, &s, errors);
    const double spines =
        static_cast<double>(s.spines) * (apart ? static_cast<double>(s.rails) : 1);
    const double leaves = static_cast<double>(s.groups) * static_cast<double>(s.rails);
    if (errors->empty() &&
        (static_cast<double>(r.hosts) + leaves + spines > detail::kMostNodes ||
         static_cast<double>(ports) + leaves * static_cast<double>(s.uplinks) > detail::kMostLinks))
    {
        errors->push_back({"rails",
                           std::to_string(s.rails),
                           "rails of " + Counted(s.groups, "group") +
                               " are a network larger than " + detail::LargestNetwork(),
                           ""});
    }
    return errors->empty() ? std::optional<RailShape>(s) : std::nullopt;
}

} // namespace

std::vector<Parameter>
RailParameters()
{
    return {
        CountParameter("rails", "rails of the network")
            .Range(1, kMostNics)
            .Chosen("NICs of a server")
            .Example("4"),
        CountParameter("hosts-per-rail", "server ports of a rail switch, so servers of a group")
            .Chosen("half the ports of a switch")
            .Example("4"),
        CountParameter("switch-ports", "ports of a switch")
            .Range(2, 65535)
            .Chosen("64, more if --hosts-per-rail asks for them")
            .Example("16"),
        CountParameter("spines", "number of spines").Chosen("what the leaves can use").Example("4"),
        detail::Oversubscription(),
        detail::Planes(),
    };
}

TopologyResult
MakeRails(const TopologyRequest& r, bool apart)
{
    TopologyResult result;
    const auto shape = ShapeOf(r, apart, &result.errors);
    if (!shape)
    {
        return result;
    }
    const RailShape& s = *shape;
    Topology t;
    detail::AddServers(&t, r.hosts);
    // Group by group; the switch of group g and rail i is leaf[g * rails + i].
    std::vector<NodeId> leaf;
    for (uint32_t g = 0; g < s.groups; ++g)
    {
        for (uint32_t i = 0; i < s.rails; ++i)
        {
            leaf.push_back(t.AddSwitchAt("rail", 1, {g, i}));
        }
    }
    const uint64_t networks = apart ? s.rails : 1; // networks that are not joined
    std::vector<NodeId> spine;
    for (uint32_t n = 0; n < networks * s.spines; ++n)
    {
        spine.push_back(t.AddSwitchAt("spine", 2, {n}));
    }
    detail::ConnectServers(&t, r, [&](uint64_t port) {
        return leaf[port / s.rails / s.hostsPerRail * s.rails + port % s.rails];
    });
    for (uint64_t l = 0; l < leaf.size(); ++l)
    {
        const uint64_t first = apart ? l % s.rails * s.spines : 0;
        for (uint64_t u = 0; u < s.uplinks; ++u)
        {
            t.Connect(leaf[l],
                      spine[first + u % s.spines],
                      s.fabricRate,
                      r.linkDelay,
                      r.bitErrorRate);
        }
    }
    Description about;
    about.name = Counted(s.rails, "rail") + " of " + Counted(s.groups, "group") +
                 (s.spines == 0 ? ", no spine"
                                : ", " + Counted(s.spines, "spine") + (apart ? " each" : "")) +
                 detail::OversubscriptionText(r.parameters.Factor("oversubscription"));
    about.parameters.SetCount("rails", s.rails)
        .SetCount("hosts-per-rail", s.hostsPerRail)
        .SetCount("switch-ports", s.radix)
        .SetCount("spines", s.spines);
    about.partPorts = s.hostsPerRail * s.rails;
    about.rails = static_cast<uint32_t>(s.rails);
    about.railsApart = apart && s.rails > 1;
    result.notes.push_back(
        about.name + ": rail switches of " + Counted(s.hostsPerRail, "server port") + " of " +
        rdma::ToString(r.linkRate) +
        (s.uplinks == 0
             ? ""
             : " and " + Counted(s.uplinks, "uplink") + " of " + rdma::ToString(s.fabricRate)));
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

} // namespace topo
