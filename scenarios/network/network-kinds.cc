/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/network-kinds.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/processes.h"

namespace scenario
{

const std::vector<NetworkKindName>&
Networks()
{
    static const std::vector<NetworkKindName> kinds = {
        {"packet", "every packet over every link, queue and switch", nullptr},
        {"fluid",
         "max-min fair rates of all messages over all links of their paths; no packets or queues",
         "messages have max-min fair rates over all links of their paths, without queues"},
        {"analytic",
         "a formula: latency, the path's slowest link, NICs shared; no packets",
         "NICs are shared, links between switches have room for everything"},
        {"dims",
         "ASTRA-sim's formulas by dimension, on networks of dimensions; no packets or sharing",
         "each dimension of a GPU serves one chunk at a time; messages do not slow each other "
         "down"},
    };
    return kinds;
}

std::vector<NamedItem>
NetworkItems()
{
    std::vector<NamedItem> items;
    for (const NetworkKindName& kind : Networks())
    {
        items.push_back({kind.name, kind.description});
    }
    return items;
}

namespace
{

/// By which messages move, in words; null: by packets.
const char*
LawOf(const FabricSpec& fabric)
{
    for (const NetworkKindName& kind : Networks())
    {
        if (fabric.network == kind.name)
        {
            return kind.law;
        }
    }
    return nullptr;
}

} // namespace

std::string
NetworkLaw(const FabricSpec& fabric)
{
    const char* law = LawOf(fabric);
    return law ? fabric.network + ": " + law : "";
}

bool
HasPackets(const FabricSpec& fabric)
{
    return !LawOf(fabric);
}

bool
UsesNetwork(const ClusterSpec& cluster, const RunOptions& run)
{
    return cluster.servers > 1 || run.background || run.recovery || !cluster.memoryHosts.empty();
}

bool
NotesWaiting(const RunOptions& run, const FabricSpec& fabric)
{
    return run.attribution || !HasPackets(fabric);
}

std::string
NetworkText(const FabricSpec& fabric)
{
    const std::string& transport = fabric.transport.name;
    return HasPackets(fabric) ? (transport == "rc" ? "" : "transport " + transport + ", ") +
                                    "congestion control " + fabric.cc
                              : fabric.network + " network, without packets";
}

void
ApplyNetwork(Validation* v, FabricSpec* fabric)
{
    const Values& values = v->values;
    v->Settle(&asked::Fabric::network);
    fabric->recalls = IsFast(values);
    if (HasPackets(*fabric))
    {
        return;
    }
    if (values.Given(&asked::Run::attribution) && values.Get(&asked::Run::attribution))
    {
        v->Fail(&asked::Run::attribution, v->Refusal(when::Packets()));
    }
    v->Decide(&asked::Run::attribution, false);
    const Processes processes = ProcessesOf(values);
    if (processes.Several())
    {
        v->Fail(&asked::Fabric::network,
                "is one process; allowed with " + processes.by + ": packet");
    }
}

} // namespace scenario
