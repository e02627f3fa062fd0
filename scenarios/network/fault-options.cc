/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/fault-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/fault-place.h"
#include "scenarios/network/fault-reader.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/training/steps/speed-profile.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace scenario
{

namespace
{

/// The fault's effect on the GPU's speed.
training::SpeedProfile::Span
SpanOf(const Fault& fault)
{
    return {fault.at.ps,
            fault.length.ps ? fault.at.ps + fault.length.ps : INT64_MAX,
            fault.kind == FaultKind::kGpuStop ? 0 : 1 / fault.value};
}

/// Each fault of a GPU, in their order. \param take whose number and place these are
void
ForEachOfGpus(
    Validation* v,
    const ClusterSpec& cluster,
    const std::function<void(std::size_t number, const Fault& fault, const GpuPlace& place)>& take)
{
    FaultReader reader(v);
    const std::vector<uint32_t> spares = SpareHosts(*v, cluster);
    for (std::size_t i = 0; i < v->values.At(&asked::Recovery::fault).entries.size(); ++i)
    {
        const std::size_t before = v->errors.size();
        const KnownFault* known = nullptr;
        const std::optional<Fault> fault = reader.Read(i, &known);
        v->errors.resize(before); // MakeFaults tells
        if (!fault || fault->IsOfNetwork())
        {
            continue;
        }
        GpuPlace place;
        const std::string wrong = FindGpu(cluster, spares, fault->where, &place);
        if (!wrong.empty())
        {
            reader.Fail("on", wrong);
            continue;
        }
        take(i, *fault, place);
    }
}

/// Steps of several numbers of blocks follow each other.
bool
IsExtrapolated(const Validation& v)
{
    return v.values.Has(&asked::Training::layers);
}

} // namespace

std::vector<NamedItem>
FaultItems()
{
    std::vector<NamedItem> items;
    for (const KnownFault& known : KnownFaults())
    {
        items.push_back({known.name, known.help});
    }
    return items;
}

std::vector<Option>
FaultOptionRows()
{
    const Section section{"/network", "Faults"};
    const Section cuts = section.Only(when::CutLinks());
    return {
        section
            .Entries("fault",
                     "something that goes wrong, at a time from the run's beginning, for ever or "
                     "for=TIME; "
                     "may be given several times. WHAT: " +
                         Join(FaultNames(), ", ") +
                         " (--list=faults). WHERE as with --pcap, or gpu-N, HOST:gpu-N. to=: the "
                         "new rate, lanes, share or factor. flap: cut for the share duty= of "
                         "every period=")
            .As(&asked::Recovery::fault)
            .At("/faults")
            .Shows("WHAT,at=TIME,on=WHERE[,for=TIME][,to=VALUE][,period=TIME][,duty=SHARE]")
            .Keys(FaultKeys())
            .Otherwise("none")
            .Example("ber,at=10us,on=all,to=1e-9"),
        cuts.Duration("fault-detection",
                      "time until a switch knows that a link is dead and takes other ways; what is "
                      "sent to "
                      "it before is lost")
            .As(&asked::Network::faultDetection)
            .Otherwise("10us with a fault that cuts links; assumed")
            .Range(0, 1e15)
            .Example("1ms"),
        cuts.Duration(
                "convergence",
                "from then until all switches have new tables (InfiniBand: the sweep of the subnet "
                "manager)")
            .As(&asked::Network::convergence)
            .Otherwise("10ms with a fault that cuts links; assumed")
            .Range(0, 1e15)
            .Example("100ms"),
    };
}

FaultPlan
MakeFaults(Validation* v, const topo::Topology* topology, const std::string& several)
{
    FaultPlan plan;
    FaultReader reader(v);
    const std::size_t before = v->errors.size();
    for (std::size_t i = 0; i < v->values.At(&asked::Recovery::fault).entries.size(); ++i)
    {
        const KnownFault* known = nullptr;
        std::optional<Fault> fault = reader.Read(i, &known);
        if (!fault)
        {
            continue;
        }
        if (!several.empty())
        {
            reader.Fail("", "faults are of one process; allowed: without " + several);
        }
        else if (IsExtrapolated(*v) && (fault->at.ps > 0 || fault->length.ps > 0))
        {
            reader.Fail("",
                        fault->what + " from or until some time would hit steps of one number of "
                                      "blocks and not of the others, from whose difference the "
                                      "step is extrapolated; allowed: at=0s without for, or "
                                      "without --layers");
        }
        else if (!fault->IsOfNetwork())
        {
            const bool sends = v->table.program == "collperf"; // its GPUs do nothing else
            if (v->table.program != "dltrain" && !(sends && fault->kind == FaultKind::kGpuStop))
            {
                reader.Fail("",
                            fault->what +
                                " has no meaning without GPUs that compute; allowed: "
                                "with dltrain" +
                                (sends ? "; gpu-stop here" : ""));
            }
            else if (!sends && (v->values.Given(&asked::Training::trace) ||
                                v->values.Given(&asked::Launch::launch)))
            {
                reader.Fail("",
                            fault->what + " is of GPUs that compute by a model; a recorded step "
                                          "has its own times; allowed: without --trace, --launch");
            }
            else if (!sends && v->values.Given(&asked::Run::jobs))
            {
                reader.Fail("",
                            fault->what + " does not say of which job; allowed: without --jobs");
            }
        }
        else if (v->values.Get(&asked::Fabric::network) != "packet")
        {
            reader.Fail("",
                        fault->what + " has no meaning without packets; allowed: with "
                                      "--network=packet");
        }
        else if (fault->kind == FaultKind::kPauseStorm &&
                 v->values.Get(&asked::Fabric::fabric) == "ib")
        {
            reader.Fail("", "only Ethernet's links have pauses; allowed: with --fabric=roce");
        }
        else if (fault->kind == FaultKind::kPauseStorm && !v->values.Get(&asked::Fabric::pfc))
        {
            reader.Fail("",
                        "has no meaning with --no-pfc, when nobody pauses; allowed: with --pfc");
        }
        else if (topology)
        {
            PlaceFault(*topology, &reader, *known, &*fault);
        }
        plan.faults.push_back(std::move(*fault));
    }
    if (topology && topology->About().circuits)
    {
        Fault circuits;
        circuits.kind = FaultKind::kCircuits;
        circuits.what = "circuits";
        circuits.circuits = topology->About().circuits;
        circuits.where = Join(circuits.circuits->switches, ", ");
        for (const uint32_t link : circuits.circuits->links)
        {
            circuits.ends.insert(circuits.ends.end(), {2 * link, 2 * link + 1});
        }
        plan.faults.push_back(std::move(circuits));
    }
    const bool cuts = std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& f) {
        return f.IsCut();
    });
    if (!cuts && v->errors.size() == before && !v->seat) // faults are of all jobs together
    {
        v->Settle(when::CutLinks(), false);
    }
    if (cuts)
    {
        // Assumed, both; the help says so.
        v->DecideTextUnlessGiven(&asked::Network::faultDetection, "10us");
        v->DecideTextUnlessGiven(&asked::Network::convergence, "10ms");
        plan.detection = v->values.Get(&asked::Network::faultDetection);
        plan.convergence = v->values.Get(&asked::Network::convergence);
    }
    return plan;
}

void
MakeGpuFaults(Validation* v, const ClusterSpec& cluster, training::TrainingPlan* plan)
{
    const std::vector<uint32_t>& hosts = cluster.hostOfServer;
    ForEachOfGpus(v, cluster, [&](std::size_t, const Fault& fault, const GpuPlace& place) {
        const auto server = std::find(hosts.begin(), hosts.end(), place.host);
        if (server != hosts.end())
        {
            const auto number = static_cast<uint32_t>(server - hosts.begin());
            plan->speeds[number * cluster.server.gpus + place.gpu].Add(SpanOf(fault));
        }
    });
}

void
PlaceGpuFaults(Validation* v, const ClusterSpec& cluster, RecoverySpec* spec)
{
    ForEachOfGpus(v, cluster, [&](std::size_t i, const Fault& fault, const GpuPlace& place) {
        spec->faultyGpus[i] = place;
        if (std::find(spec->spares.begin(), spec->spares.end(), place.host) != spec->spares.end())
        {
            spec->spareSpeeds[place].Add(SpanOf(fault));
        }
    });
}

} // namespace scenario
