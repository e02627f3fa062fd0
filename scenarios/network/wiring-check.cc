/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/wiring-check.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/asked/training.h"
#include "scenarios/network/fidelity-options.h"

#include <algorithm>
#include <cstdlib>

namespace scenario
{

namespace
{

bool
IsInfiniBand(const Validation& v)
{
    return v.values.Get(&asked::Fabric::fabric) == "ib";
}

bool
HasPackets(const Validation& v)
{
    return v.values.Get(&asked::Fabric::network) == "packet";
}

/// Why circuits cannot come and go.
std::string
WhyNoCircuits(const Validation& v, const std::string& several)
{
    if (!several.empty())
    {
        return "which one process simulates; allowed: without " + several;
    }
    if (!HasPackets(v))
    {
        return "which have no meaning without packets; allowed: with --network=packet";
    }
    if (IsInfiniBand(v))
    {
        return "which InfiniBand's subnet manager does not follow; allowed: with --fabric=roce";
    }
    return v.table.Find(&asked::Training::layers) && v.values.Has(&asked::Training::layers)
               ? "and would hit steps of one number of blocks and not of others; allowed: without "
                 "--layers"
               : "";
}

/// Why ports cannot stand in for each other.
std::string
WhyNoBond(const Validation& v,
          const std::string& several,
          const std::map<std::string, std::string>& attributes)
{
    if (!several.empty())
    {
        return "which one process simulates; allowed: without " + several;
    }
    if (IsInfiniBand(v))
    {
        return "but a port of InfiniBand keeps its LID; allowed: with --fabric=roce";
    }
    const Member protocol = &asked::Traffic::protocol;
    if (v.table.Find(protocol) && v.values.Get(&asked::Traffic::protocol) != "rdma")
    {
        return "by which TCP and UDP do not stand in for each other; allowed: with "
               "--protocol=rdma";
    }
    // RdmaBond::Check; 0 is without.
    for (const char* name : {"PcieBandwidth", "MessageRate", "QpCacheEntries", "Scheduling"})
    {
        const auto set = attributes.find(std::string("ns3::RdmaNic::") + name);
        if (set != attributes.end() &&
            (name == std::string("Scheduling") ? set->second == "scan"
                                               : std::strtod(set->second.c_str(), nullptr) != 0))
        {
            return "whose packets must not wait in the NIC; allowed: without --" + set->first +
                   "=" + set->second;
        }
    }
    return "";
}

} // namespace

std::string
WhyNoPaths(const Validation& v)
{
    if (!HasPackets(v))
    {
        return "has no meaning without packets; allowed: with --network=packet";
    }
    if (IsInfiniBand(v))
    {
        return "does not go over InfiniBand's switches, which look at LIDs; allowed: with "
               "--fabric=roce";
    }
    return v.values.Get(&asked::Fabric::cutThrough)
               ? "does not go over switches that cut through; allowed: without --cut-through"
               : "";
}

void
CheckWiring(Validation* v,
            const topo::Topology& topology,
            const std::string& several,
            const std::map<std::string, std::string>& attributes)
{
    const topo::Description& about = topology.About();
    const auto check = [v](const std::string& what, const std::string& wrong) {
        if (!wrong.empty())
        {
            v->Fail(&asked::Network::topology, what + wrong);
        }
    };
    if (about.circuits)
    {
        check("has circuits that come and go, ", WhyNoCircuits(*v, several));
    }
    if (about.bonded)
    {
        const std::string wrong = WhyNoBond(*v, several, attributes);
        if (!wrong.empty() && !about.bondedBy.empty())
        {
            v->Fail(about.bondedBy, "means bonded ports, " + wrong);
        }
        else
        {
            check("has bonded ports, ", wrong);
        }
    }
    if (!about.paths.empty())
    {
        check("has paths; a path ", WhyNoPaths(*v));
    }
    if (!IsFast(v->values))
    {
        return;
    }
    const auto& links = topology.Links();
    const bool loses = std::any_of(links.begin(), links.end(), [](const topo::Link& link) {
        return link.bitErrorRate > 0;
    });
    if (loses)
    {
        v->Fail(&asked::Fabric::fidelity,
                "links with bit errors lose other frames of each collective; allowed: packet");
    }
    const std::string changes = about.circuits         ? "circuits that come and go"
                                : about.bonded         ? "bonded ports"
                                : !about.paths.empty() ? "paths that senders name"
                                                       : "";
    if (!changes.empty())
    {
        v->Fail(&asked::Fabric::fidelity,
                "needs to know which ports a collective uses, and the topology has " + changes +
                    "; allowed: packet");
    }
}

} // namespace scenario
