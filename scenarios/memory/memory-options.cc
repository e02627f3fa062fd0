/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/memory/memory-options.h"

#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/memory.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/memory/memory-file.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/options/format.h"
#include "scenarios/training/graphs/memory-pass.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace scenario
{

using training::MemoryPlace;
using training::MemoryTier;
using training::Placed;

namespace
{

using Reader = std::optional<std::vector<MemoryTier>> (*)(const std::string&,
                                                          const std::string&,
                                                          std::vector<topo::Error>&);

std::optional<std::vector<MemoryTier>>
ReadTiers(Validation* v, std::optional<std::string> asked::Memory::*option, Reader reader)
{
    const std::string& file = v->values.Get(option);
    std::vector<topo::Error> errors;
    const auto text = formats::ReadInput(file, errors);
    auto tiers = text ? reader(*text, file, errors) : std::nullopt;
    for (const topo::Error& error : errors)
    {
        v->errors.push_back({v->values.Where(option), "", error.Sentence(), ""});
    }
    return tiers;
}

std::vector<std::string>
NamesOf(const std::vector<MemoryTier>& tiers)
{
    std::vector<std::string> names;
    for (const MemoryTier& tier : tiers)
    {
        names.push_back(tier.name);
    }
    return names;
}

/// The index of a tier; nothing, and an error. \param word of the option that names it
std::optional<std::size_t>
TierOf(Validation* v,
       Member option,
       const std::string& word,
       const std::string& name,
       const std::vector<MemoryTier>& tiers)
{
    const std::vector<std::string> names = NamesOf(tiers);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
    {
        v->Fail(option,
                "has '" + rdma::Shown(word, 60) + "', and the tiers are " + topo::JoinNames(names) +
                    topo::DidYouMean(name, names));
        return std::nullopt;
    }
    return found - names.begin();
}

/// "pool=25GBps", of --memory-rate.
bool
SetRates(Validation* v, std::vector<MemoryTier>* tiers)
{
    if (!v->values.Given(&asked::Memory::rate))
    {
        return true;
    }
    std::set<std::size_t> set;
    for (const std::string& word : v->values.Get(&asked::Memory::rate))
    {
        const std::size_t at = word.find('=');
        const auto tier = TierOf(v, &asked::Memory::rate, word, word.substr(0, at), *tiers);
        if (!tier)
        {
            return false;
        }
        if (!set.insert(*tier).second)
        {
            v->Fail(&asked::Memory::rate, "has two rates of " + (*tiers)[*tier].name);
            return false;
        }
        const auto rate = at == std::string::npos
                              ? std::nullopt
                              : rdma::ParseBitRate(std::string_view(word).substr(at + 1));
        if (!rate || *rate < rdma::Mbps(1) ||
            (*tiers)[*tier].attached == MemoryTier::Attached::kNetwork)
        {
            v->Fail(&asked::Memory::rate,
                    "has '" + rdma::Shown(word, 60) +
                        (rate ? "', whose rate is that of NICs, or below 1Mbps"
                              : "'; allowed: TIER=RATE, such as pool=25GBps"));
            return false;
        }
        (*tiers)[*tier].rate = *rate;
    }
    return true;
}

/// "experts:pool", of --place.
bool
SetPlaces(Validation* v, const training::TrainingOptions& o, MemoryPlace* place)
{
    const std::vector<std::string> kinds(std::begin(training::kPlacedNames),
                                         std::end(training::kPlacedNames));
    for (const std::string& word : v->values.Get(&asked::Memory::place))
    {
        const std::size_t at = word.find(':');
        const std::string what = word.substr(0, at);
        const auto kind = std::find(kinds.begin(), kinds.end(), what);
        if (kind == kinds.end() || at == std::string::npos)
        {
            v->Fail(&asked::Memory::place,
                    "has '" + rdma::Shown(word, 60) + "'; allowed: WHAT:TIER with " +
                        topo::JoinNames(kinds) + topo::DidYouMean(what, kinds));
            return false;
        }
        const auto tier = TierOf(v, &asked::Memory::place, word, word.substr(at + 1), place->tiers);
        if (!tier)
        {
            return false;
        }
        uint8_t& slot = place->at[static_cast<std::size_t>(kind - kinds.begin())];
        if (slot != training::kNoTier)
        {
            v->Fail(&asked::Memory::place, "places " + what + " twice");
            return false;
        }
        if (what == "experts" && o.model.ActiveParameters() == o.model.parameters)
        {
            v->Fail(&asked::Memory::place, "has experts, and " + o.model.name + " has none");
            return false;
        }
        slot = static_cast<uint8_t>(*tier);
    }
    return true;
}

/// Options of tiers and of loads that nothing placed has a use for. \return whether there are none
bool
CheckUses(Validation* v, const MemoryPlace& place)
{
    const Values& values = v->values;
    const auto isUsed = [&](const std::string& name) {
        return std::any_of(place.at.begin(), place.at.end(), [&](uint8_t tier) {
            return tier != training::kNoTier && place.tiers[tier].name == name;
        });
    };
    const auto needsPlace = [&](Member option, const std::string& name) {
        v->Fail(option,
                "is of tier " + name + ", where " + Spell(&asked::Memory::place) +
                    " puts nothing; allowed: a tier with something");
        return false;
    };
    if (values.Given(&asked::Memory::rate))
    {
        for (const std::string& word : values.Get(&asked::Memory::rate))
        {
            const std::string name = word.substr(0, word.find('='));
            if (!isUsed(name))
            {
                return needsPlace(&asked::Memory::rate, name);
            }
        }
    }
    if (values.Given(&asked::Memory::sweep))
    {
        const std::string& text = values.Get(&asked::Memory::sweep);
        const std::string name = text.substr(0, text.find(':'));
        const auto tier = TierOf(v, &asked::Memory::sweep, text, name, place.tiers);
        if (!tier || !isUsed(name))
        {
            return tier && needsPlace(&asked::Memory::sweep, name);
        }
        if (place.tiers[*tier].attached == MemoryTier::Attached::kNetwork)
        {
            v->Fail(&asked::Memory::sweep,
                    "is of tier " + name + ", whose rate is that of NICs; allowed: other tiers");
            return false;
        }
    }
    if (values.Given(&asked::Memory::prefetchLayers) && !place.Has(Placed::kParameters) &&
        !place.Has(Placed::kExperts) && !place.Has(Placed::kActivations))
    {
        v->Fail(&asked::Memory::prefetchLayers,
                "is of parameters, experts and activations, and none of them is placed");
        return false;
    }
    return true;
}

/// Why steps with loads and stores cannot be simulated; empty: they can.
std::string
WhyNot(const Validation& v, const FabricSpec& fabric, const training::TrainingOptions& o)
{
    const Processes processes = ProcessesOf(v.values);
    if (v.seat)
    {
        return "is of a job by itself; allowed: without --jobs";
    }
    if (processes.Several())
    {
        return "is of one process; allowed: without " + processes.by;
    }
    if (o.offload != training::Offload::kNone)
    {
        return "says where data lie, as --offload does; allowed: one of them";
    }
    if (o.overlapNextForward || o.order != training::CollectiveOrder::kFifo || o.inFlight > 1)
    {
        return "is of steps that end, with collectives in one order; allowed: without "
               "--overlap-next-forward, --collective-order and --in-flight";
    }
    if (!training::Flushes(o))
    {
        return "is of steps that end; allowed: without --pipeline-schedule=" + o.schedule;
    }
    if (v.values.Given(&asked::Training::autoParallel) ||
        (v.values.Has(&asked::Training::strategy) &&
         v.values.Get(&asked::Training::strategy) != "sync"))
    {
        return "is of steps that all GPUs do together; allowed: with --strategy=sync, without "
               "--auto-parallel";
    }
    if (v.values.Has(&asked::Training::layers))
    {
        return "is of the whole model; allowed: without --layers";
    }
    if (fabric.recalls)
    {
        return "makes equal collectives unequal; allowed: without --fidelity=fast";
    }
    return {};
}

bool
OnNetwork(const MemoryPlace& place)
{
    return std::any_of(place.at.begin(), place.at.end(), [&](uint8_t tier) {
        return tier != training::kNoTier &&
               place.tiers[tier].attached == MemoryTier::Attached::kNetwork;
    });
}

} // namespace

std::vector<Option>
MemoryOptionRows()
{
    const Section section{"/training", "Memory beyond the GPU"};
    const Section tiers = section.Only(when::With("memory"));
    return {
        section.File("memory", "tiers of memory beyond the GPUs' (docs/memory.md)")
            .As(&asked::Memory::tiers)
            .Otherwise("none")
            .Only(when::With("place")),
        section
            .List("place",
                  "what lies in which tier: parameters (but experts'), experts, gradients, "
                  "optimizer, activations")
            .As(&asked::Memory::place)
            .Shows("WHAT:TIER,...")
            .Otherwise("all in the GPU")
            .Example("optimizer:host")
            .Only(when::With("memory")),
        tiers
            .Integer("prefetch-layers",
                     "layers whose parameters, experts or activations are loaded ahead of the "
                     "layer that computes")
            .As(&asked::Memory::prefetchLayers)
            .Otherwise("1")
            .Range(0, 1000)
            .Example("2"),
        tiers
            .Integer("memory-servers",
                     "servers of the network that hold tiers which are \"attached\": \"network\"")
            .As(&asked::Memory::servers)
            .Otherwise("none")
            .Range(1, 100000)
            .Example("2"),
        tiers.List("memory-rate", "other rates of tiers than the file's")
            .As(&asked::Memory::rate)
            .Shows("TIER=RATE,...")
            .Otherwise("the file's")
            .Example("pool=25GBps"),
        tiers
            .Text("memory-sweep",
                  "run with these rates of a tier, from the first to the last, each twice the one "
                  "before, and print a table")
            .As(&asked::Memory::sweep)
            .Shows("TIER:FROM..TO")
            .Otherwise("none")
            .Example("pool:25GBps..400GBps"),
        section
            .File("remote-memory",
                  "ASTRA-sim's file of remote memory: loads and stores of a Chakra trace go there")
            .As(&asked::Memory::remote)
            .Otherwise("none: they take their recorded time on the host")
            .Only(when::With("trace")),
    };
}

void
MakeMemory(Validation* v,
           const ClusterSpec& cluster,
           const FabricSpec& fabric,
           training::TrainingOptions* o)
{
    const Values& values = v->values;
    v->Settle(&asked::Memory::tiers);
    v->Settle(&asked::Memory::place);
    if (!values.Given(&asked::Memory::tiers) || !values.Given(&asked::Memory::place))
    {
        return;
    }
    if (const std::string why = WhyNot(*v, fabric, *o); !why.empty())
    {
        v->Fail(&asked::Memory::place, why);
        return;
    }
    MemoryPlace place;
    auto tiers = ReadTiers(v, &asked::Memory::tiers, ReadMemoryTiers);
    if (!tiers || !SetRates(v, &*tiers))
    {
        return;
    }
    place.tiers = std::move(*tiers);
    if (!SetPlaces(v, *o, &place) || !CheckUses(v, place))
    {
        return;
    }
    if (values.Has(&asked::Memory::prefetchLayers))
    {
        place.prefetch = values.Get(&asked::Memory::prefetchLayers);
    }
    const bool network = OnNetwork(place);
    if (network && cluster.memoryHosts.empty())
    {
        v->Fail(&asked::Memory::place,
                "has a tier on the network, whose servers are hosts of it; give --memory-servers, "
                "allowed: 1 or more");
        return;
    }
    if (network && fabric.network != "packet")
    {
        v->Fail(&asked::Memory::place,
                "has a tier on the network, in packets; allowed: with --network=packet");
        return;
    }
    if (!network && values.Given(&asked::Memory::servers))
    {
        v->Fail(&asked::Memory::servers,
                "no tier that is placed is on the network; allowed: without it, or a tier with "
                "\"attached\": \"network\"");
        return;
    }
    for (const Placed what : {Placed::kGradients, Placed::kParameters, Placed::kExperts})
    {
        if (place.Gathers(what) && o->sharding.parameters)
        {
            v->Fail(&asked::Memory::place,
                    std::string("has ") + training::kPlacedNames[static_cast<std::size_t>(what)] +
                        " at a switch that gathers what ranks share, and with --zero=3 they share "
                        "nothing; allowed: --zero=0 to 2");
            return;
        }
    }
    o->memory = std::move(place);
}

Study
MakeMemorySweep(Validation* v)
{
    Study study;
    const Values& values = v->values;
    if (!values.Given(&asked::Memory::sweep) || !values.Given(&asked::Memory::place))
    {
        return study;
    }
    const std::string& text = values.Get(&asked::Memory::sweep);
    const std::size_t colon = text.find(':');
    const std::size_t dots = text.find("..", colon == std::string::npos ? 0 : colon);
    const auto from = dots == std::string::npos
                          ? std::nullopt
                          : rdma::ParseBitRate(text.substr(colon + 1, dots - colon - 1));
    const auto to =
        dots == std::string::npos ? std::nullopt : rdma::ParseBitRate(text.substr(dots + 2));
    if (colon == std::string::npos || !from || !to || from->bps == 0 || *to < *from)
    {
        v->Fail(&asked::Memory::sweep,
                "allowed: TIER:FROM..TO with rates, the second no lower, such as "
                "pool:25GBps..400GBps");
        return study;
    }
    if (values.Given(&asked::Training::study) || values.Given(&asked::Memory::rate))
    {
        v->Fail(&asked::Memory::sweep,
                "sets rates in runs of its own; allowed: without --study, --memory-rate");
        return study;
    }
    constexpr std::size_t kMost = 20;
    study.by = Spell(&asked::Memory::sweep);
    study.options = {"memory-rate"};
    for (uint64_t bps = from->bps; bps <= to->bps; bps *= 2)
    {
        if (study.runs.size() == kMost)
        {
            v->Fail(&asked::Memory::sweep,
                    "makes more than " + std::to_string(kMost) + " runs; allowed: closer rates");
            return {};
        }
        const std::string rate = text.substr(0, colon) + "=" + std::to_string(bps) + "bps";
        StudyRun& run = study.runs.emplace_back();
        run.shown = {text.substr(0, colon) + "=" +
                     Format("%.6g GB/s", static_cast<double>(bps) / 8e9)};
        run.keys.emplace_back("memory_rate", nlohmann::json::array({rate}));
        run.keys.emplace_back("memory_sweep", nullptr);
        if (bps > UINT64_MAX / 2)
        {
            break;
        }
    }
    return study;
}

void
CheckMemoryRoom(Validation* v,
                const ClusterSpec& cluster,
                const training::TrainingOptions& o,
                const training::TrainingPlan& plan)
{
    const MemoryPlace& place = o.memory;
    for (std::size_t t = 0; t < place.tiers.size(); ++t)
    {
        const MemoryTier& tier = place.tiers[t];
        const training::TierUse use = training::UseOfTier(o, static_cast<uint8_t>(t));
        const double ranks = tier.per == MemoryTier::Per::kGpu      ? 1
                             : tier.per == MemoryTier::Per::kServer ? cluster.server.gpus
                                                                    : plan.ranks;
        const double devices = tier.attached == MemoryTier::Attached::kNetwork
                                   ? static_cast<double>(cluster.memoryHosts.size())
                                   : tier.devices;
        const double bytes = use.bytes * std::min<double>(ranks, plan.ranks) / devices;
        if (tier.capacity > 0 && bytes > static_cast<double>(tier.capacity))
        {
            v->Fail(&asked::Memory::place,
                    "puts " + HumanBytes(bytes) + " on each device of " + tier.name +
                        ", which has " + HumanBytes(static_cast<double>(tier.capacity)) + ": " +
                        HumanBytes(bytes - static_cast<double>(tier.capacity)) +
                        " too much; most are " + use.most);
            return;
        }
    }
}

void
TakeRemoteMemory(Validation* v, training::TrainingPlan* plan)
{
    const bool given = v->values.Given(&asked::Memory::remote);
    std::vector<MemoryTier> tiers;
    if (given)
    {
        const Processes processes = ProcessesOf(v->values);
        if (processes.Several())
        {
            v->Fail(&asked::Memory::remote, "is of one process; allowed: without " + processes.by);
            return;
        }
        auto read = ReadTiers(v, &asked::Memory::remote, ReadRemoteMemory);
        if (!read)
        {
            return;
        }
        tiers = std::move(*read);
    }
    bool any = false;
    for (training::StepGraph& graph : plan->roles)
    {
        for (training::Task& task : graph.tasks)
        {
            if (!training::AccessesMemory(task))
            {
                continue;
            }
            any = true;
            if (given && tiers.empty())
            {
                v->Fail(&asked::Memory::remote,
                        "has NO_MEMORY_EXPANSION, and the trace has \"" +
                            rdma::Shown(task.name, 60) +
                            "\", which goes to memory; allowed: another memory-type");
                return;
            }
            if (tiers.empty())
            {
                task.tier = training::kNoTier;
                task.bytes = 0;
                continue;
            }
            task.duration = tiers.front().TimeOf(task.bytes);
        }
    }
    if (given && !any)
    {
        v->notes.push_back(v->values.Where(&asked::Memory::remote) +
                           " has no effect: the trace has no loads and stores with a tensor_size");
    }
    if (any && !given)
    {
        v->notes.push_back("loads and stores take their recorded time, beside the GPU; " +
                           Spell(&asked::Memory::remote) + " says a memory that they share");
    }
    plan->tiers = std::move(tiers);
}

void
TakeMemoryHosts(Validation* v, ClusterSpec* cluster)
{
    if (!v->values.Given(&asked::Memory::servers))
    {
        return;
    }
    cluster->memoryHosts = ReservedHosts(*v, *cluster);
    if (cluster->memoryHosts.size() < ReservedOf(*v))
    {
        v->Fail(&asked::Memory::servers,
                "the network has " + topo::Counted(cluster->memoryHosts.size(), "host") +
                    " beside the job's; allowed: that many, or more --servers");
    }
}

} // namespace scenario
