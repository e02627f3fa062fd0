/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/traffic-class-checks.h"

#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/loss-rate.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/network/place-options.h"
#include "scenarios/options/said.h"

#include <algorithm>

namespace scenario
{

namespace
{

/// NAKs for classes that go by losses, as a network of their law has them (ChooseLossLaw).
void
RepeatNaks(Validation* v,
           const FabricSpec& fabric,
           const std::vector<const TrafficClass*>& used,
           RunOptions* run)
{
    constexpr int64_t kNakIntervalPs = 10000000; // as there
    if (fabric.cc == rdma::kLossRate.name && fabric.transport.name == "rc")
    {
        return; // decided with the network's law, in values that a job may have of its own
    }
    if (fabric.pfc || v->values.Given(&asked::Fabric::nakInterval) ||
        v->values.Get(&asked::Fabric::nakInterval).ps > 0)
    {
        return;
    }
    const auto one = std::find_if(used.begin(), used.end(), [v](const TrafficClass* of) {
        const std::string& recovery = of->lossRecovery.empty()
                                          ? v->values.Get(&asked::Fabric::lossRecovery)
                                          : of->lossRecovery;
        return of->cc == rdma::kLossRate.name && of->transport == "rc" && recovery == "go-back-n";
    });
    if (one == used.end())
    {
        return;
    }
    v->Decide(&asked::Fabric::nakInterval, rdma::Duration(kNakIntervalPs));
    const std::string text = CanonicalDuration(kNakIntervalPs);
    run->optionAttributes.emplace_back("ns3::RdmaNic::NakInterval", text);
    v->notes.push_back("class " + (*one)->name + " goes by losses: --nak-interval=" + text +
                       ", for all classes; allowed too: --nak-interval=0, one NAK a gap");
}

/// The network's law is warned of in MakeFabric.
void
WarnOfNoMarks(Validation* v, const FabricSpec& fabric, const std::vector<const TrafficClass*>& used)
{
    if (fabric.ecn || fabric.infiniBand || SetsAtPlaces(*v, &asked::Fabric::ecn))
    {
        return;
    }
    const bool given = v->values.Given(&asked::Fabric::ecn);
    for (const TrafficClass* of : used)
    {
        if (of->cc != fabric.cc && rdma::FindCongestionControl(of->cc)->needsMarks)
        {
            v->notes.push_back("warning: " +
                               (given ? v->values.Where(&asked::Fabric::ecn)
                                      : SaidText(v->table, v->values, &asked::Fabric::transport)) +
                               ": there are no ECN marks, which are all that " + of->cc +
                               " of class " + of->name + " goes by");
        }
    }
}

void
NoteSharedPriorities(Validation* v,
                     const FabricSpec& fabric,
                     const std::vector<const TrafficClass*>& classes,
                     const ClassUses& uses)
{
    for (const auto& [number, priority] : uses)
    {
        for (const auto& [other, same] : uses)
        {
            if (same == priority && fabric.pfc && classes[number]->lossy && !classes[other]->lossy)
            {
                v->notes.push_back("warning: class " + classes[number]->name + " shares priority " +
                                   std::to_string(priority) + " with " + classes[other]->name +
                                   ", so PFC pauses it; give it a priority of its own");
            }
        }
    }
}

} // namespace

void
CheckUsedClasses(Validation* v,
                 const FabricSpec& fabric,
                 const std::vector<const TrafficClass*>& classes,
                 const ClassUses& uses,
                 RunOptions* run)
{
    std::vector<const TrafficClass*> used; // but class 0
    std::string unused;
    for (std::size_t number = 1; number < classes.size(); ++number)
    {
        const TrafficClass* of = classes[number];
        if (std::any_of(uses.begin(), uses.end(), [number](const auto& use) {
                return use.first == number;
            }))
        {
            used.push_back(of);
            continue;
        }
        unused += (unused.empty() ? "" : ", ") + of->name;
    }
    if (!unused.empty())
    {
        v->notes.push_back(v->values.Where(&asked::Fabric::trafficClasses) + ": nothing is of " +
                           unused +
                           "; flows name a class in a column of their file, in --flow-class "
                           "or in --background, jobs in their file");
    }
    for (const TrafficClass* of : used)
    {
        if (fabric.nicRate < of->rate)
        {
            v->notes.push_back("class " + of->name + ": rate=" + CanonicalRate(of->rate.bps) +
                               " has no effect: NICs have " + CanonicalRate(fabric.nicRate.bps) +
                               "; allowed: less");
        }
    }
    NoteSharedPriorities(v, fabric, classes, uses);
    RepeatNaks(v, fabric, used, run);
    WarnOfNoMarks(v, fabric, used);
}

} // namespace scenario
