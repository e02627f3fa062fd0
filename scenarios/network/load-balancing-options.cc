/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/load-balancing-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/traffic.h"

namespace scenario
{

namespace
{

using Order = LoadBalancer::Order;
using Where = LoadBalancer::Where;

constexpr const char* kLids =
    "its switches find ways by LIDs, and a sender has no other bits to choose by";

constexpr const char* kNoDetours =
    "its tables lead along shortest ways, and its virtual lanes keep only those apart";

const std::vector<LoadBalancer>&
LoadBalancers()
{
    static const std::vector<LoadBalancer> all = {
        {"ecmp", "by a hash of the flow: each keeps its way", Where::kSwitches, Order::kKept},
        {"wcmp",
         "as ecmp, but each port has flows in proportion to the capacity that it leads to",
         Where::kSwitches,
         Order::kKept,
         "a subnet manager's tables name one port each, without weights"},
        {"spray",
         "each packet by chance, in turns or by the least queue: --spray",
         Where::kSwitches,
         Order::kLost},
        {"flowlet",
         "LetFlow: each flowlet by chance, a gap of --flowlet-gap begins one",
         Where::kSwitches,
         Order::kSeldomLost},
        {"drill",
         "each packet by the shortest of two queues by chance and the one remembered",
         Where::kSwitches,
         Order::kLost},
        {"conga",
         "each flowlet by the least congested way between two leaves, as they tell each other",
         Where::kSwitches,
         Order::kSeldomLost,
         "its switches have no headers to tell each other of congestion in"},
        {"conweave",
         "a flow leaves a path whose answers are late; the last leaf puts its packets in order",
         Where::kSwitches,
         Order::kKept,
         "its switches have no headers to tell each other of packets in"},
        {"adaptive",
         "assumed scheme, no vendor's: as ecmp, or the forwarding table, until a queue is there; "
         "then by the shortest queue",
         Where::kSwitches,
         Order::kLost},
        {"reps",
         "the sender gives each packet a source port by chance, or one that came back unmarked",
         Where::kSenders,
         Order::kLost,
         kLids},
        {"plb",
         "the sender changes its source port after some round trips with congestion",
         Where::kSenders,
         Order::kSeldomLost,
         kLids},
        {"valiant",
         "each packet by way of a group by chance (dragonflies), or of a switch (HyperX, tori)",
         Where::kSwitches,
         Order::kLost,
         kNoDetours},
        {"ugal",
         "each packet by a shortest way or, if its queue says so, as with valiant",
         Where::kSwitches,
         Order::kLost,
         kNoDetours},
        {"tables",
         "InfiniBand: as the subnet manager's forwarding tables say",
         Where::kSwitches,
         Order::kKept,
         nullptr,
         "Ethernet's switches have no forwarding tables of a subnet manager"},
    };
    return all;
}

/// The names that a fabric has.
std::string
NamesOf(bool infiniBand)
{
    std::string names;
    for (const LoadBalancer& scheme : LoadBalancers())
    {
        if (!(infiniBand ? scheme.notInfiniBand : scheme.notEthernet))
        {
            names += (names.empty() ? "" : ", ") + std::string(scheme.name);
        }
    }
    return names;
}

} // namespace

const LoadBalancer*
FindLoadBalancer(const std::string& name)
{
    for (const LoadBalancer& scheme : LoadBalancers())
    {
        if (name == scheme.name)
        {
            return &scheme;
        }
    }
    return nullptr;
}

bool
MakesDetours(const std::string& balancer)
{
    return balancer == "valiant" || balancer == "ugal";
}

bool
NeedsEverySwitch(const std::string& balancer)
{
    // The first two tell other switches something; detours are known to the switches on them.
    return balancer == "conga" || balancer == "conweave" || MakesDetours(balancer);
}

std::vector<NamedItem>
LoadBalancerItems()
{
    std::vector<NamedItem> items;
    for (const LoadBalancer& scheme : LoadBalancers())
    {
        items.push_back({scheme.name, scheme.description});
    }
    return items;
}

std::vector<Option>
LoadBalancingOptionRows()
{
    const Section section = Section{"/fabric", "Load balancing"}.Only(when::Packets());
    return {
        section
            .Name("load-balancer",
                  "how a packet chooses among its paths; --loss-recovery follows from it")
            .As(&asked::Fabric::loadBalancer)
            .Names("load balancer", LoadBalancerItems)
            .Otherwise("ecmp; with --fabric=ib tables")
            .Example("spray")
            .SetsAtPlaces("ns3::RdmaSwitch::LoadBalancer")
            .SetsAtPlaces("ns3::IbSwitch::LoadBalancer"),
        section.Name("spray", "which way a sprayed packet takes")
            .As(&asked::Fabric::spray)
            .Names("variant",
                   {{"random", "any, by chance"},
                    {"round-robin", "in turns at each switch"},
                    {"least-queue", "where the least waits, of equal queues by chance"},
                    {"permuted",
                     "each of a flow's packets in turn, in an order by chance, as a sender that "
                     "knows all ways would have it"}})
            .Default("random")
            .Example("least-queue")
            .Sets("ns3::SprayLoadBalancer::Order")
            .Only(when::Is("load-balancer", {"spray"}).Hides()),
        section
            .Duration(
                "flowlet-gap",
                "a longer gap between a flow's packets begins a flowlet; 0: each packet is one")
            .As(&asked::Fabric::flowletGap)
            .Default("100us")
            .Range(0, 1e13)
            .Example("20us")
            .Sets("ns3::FlowletLoadBalancer::Gap")
            .Sets("ns3::CongaLoadBalancer::Gap")
            .Only(when::Is("load-balancer", {"flowlet", "conga"}).Hides()),
        section.Flag("ecmp-resilient", "a path that fails moves only the flows that it had")
            .As(&asked::Fabric::ecmpResilient)
            .Default("0")
            .Sets("ns3::EcmpLoadBalancer::Resilient")
            .Only(
                when::Is("load-balancer", {"ecmp", "adaptive", "conga", "conweave", "reps", "plb"})
                    .Usual()
                    .Hides())
            .IdleUnless(when::CutLinks(), "changes nothing but the hash"),
        section
            .Integer("hash-seed",
                     "of all switches' ECMP hash, so that they split flows alike (polarization)")
            .As(&asked::Fabric::hashSeed)
            .Otherwise("each switch draws its own")
            .Range(1, 4294967295.)
            .Example("7")
            .Sets("ns3::EcmpLoadBalancer::HashSeed")
            .Only(when::Is("load-balancer",
                           {"ecmp", "wcmp", "adaptive", "conga", "conweave", "reps", "plb"})
                      .Usual()
                      .Hides()),
        section
            .Integer(
                "hash-offset",
                "bits by which ECMP rotates a flow's hash before it picks a path; by tier with "
                "--set")
            .As(&asked::Fabric::hashOffset)
            .Otherwise("0")
            .Range(0, 31)
            .Example("8")
            .Sets("ns3::EcmpLoadBalancer::HashOffset")
            .Only(when::Is("load-balancer",
                           {"ecmp", "wcmp", "adaptive", "conga", "conweave", "reps", "plb"})
                      .Usual()
                      .Hides()),
    };
}

LoadBalancingSpec
ApplyLoadBalancing(Validation* v)
{
    Values& values = v->values;
    LoadBalancingSpec spec;
    const bool infiniBand = values.Get(&asked::Fabric::fabric) == "ib";
    const bool routing = infiniBand && values.Get(&asked::Fabric::adaptiveRouting);
    v->DecideUnlessGiven(&asked::Fabric::loadBalancer,
                         routing ? "adaptive" : (infiniBand ? "tables" : "ecmp"));
    spec.name = values.Get(&asked::Fabric::loadBalancer);
    const LoadBalancer* scheme = FindLoadBalancer(spec.name);
    if (!scheme)
    {
        return spec; // an error has said so
    }
    if (const char* why = infiniBand ? scheme->notInfiniBand : scheme->notEthernet)
    {
        v->Fail(&asked::Fabric::loadBalancer,
                std::string("does not exist with --fabric=") + (infiniBand ? "ib" : "roce") + ": " +
                    why + "; allowed: " + NamesOf(infiniBand));
    }
    if (infiniBand && values.Given(&asked::Fabric::adaptiveRouting) &&
        values.Given(&asked::Fabric::loadBalancer) && routing != (spec.name == "adaptive"))
    {
        v->Fail(&asked::Fabric::loadBalancer, v->Refusal(when::Without("adaptive-routing")));
    }
    else if (infiniBand && !values.Given(&asked::Fabric::adaptiveRouting))
    {
        v->Decide(&asked::Fabric::adaptiveRouting, spec.name == "adaptive");
    }
    const bool flowlets = spec.name == "flowlet" || spec.name == "conga";
    if (scheme->where == Where::kSenders && values.Get(&asked::Traffic::operation) == "read")
    {
        v->Fail(
            &asked::Fabric::loadBalancer,
            "cannot be combined with --operation=read: it chooses at the sender, and the target "
            "sends a READ's packets. Use ecmp or another load balancer of switches.");
    }
    if (spec.name == "reps" && !values.Get(&asked::Fabric::ecn))
    {
        v->notes.emplace_back("warning: --load-balancer=reps with --no-ecn: no packet comes back "
                              "marked, so each takes a way by chance or by one that came back");
    }
    if (spec.name == "plb" && !values.Get(&asked::Fabric::ecn))
    {
        v->Fail(&asked::Fabric::loadBalancer,
                "needs ECN's marks, and cannot be combined with --no-ecn");
    }
    if (MakesDetours(spec.name) && values.Get(&asked::Fabric::pfc) && !infiniBand &&
        !values.Given(&asked::Fabric::pfc) && !values.Given(&asked::Fabric::pfcWatchdog))
    {
        v->Decide(&asked::Fabric::pfc, false);
        v->notes.push_back("--load-balancer=" + spec.name +
                           " makes detours, by which buffers that lose nothing can wait for "
                           "each other in a circle: runs without PFC, as --no-pfc; allowed "
                           "too: --pfc, --pfc-watchdog");
    }
    v->Settle(&asked::Fabric::loadBalancer);
    if (spec.name == "spray")
    {
        spec.variant = values.Get(&asked::Fabric::spray);
        if (infiniBand && spec.variant == "permuted")
        {
            v->Fail(&asked::Fabric::spray,
                    "needs switches that know their hosts, as Ethernet's do; allowed with "
                    "--fabric=ib: random, round-robin, least-queue");
        }
    }
    // Without a gap each packet is a flowlet.
    const bool sprays = flowlets && values.Get(&asked::Fabric::flowletGap).ps == 0;
    if (scheme->order == Order::kLost || spec.name == "plb" || sprays)
    {
        const bool given = values.Given(&asked::Fabric::lossRecovery);
        v->DecideUnlessGiven(&asked::Fabric::lossRecovery, "out-of-order");
        // InfiniBand's adaptive routing refuses it: MakeFabric.
        if (given && values.Get(&asked::Fabric::lossRecovery) != "out-of-order" &&
            !(infiniBand && spec.name == "adaptive"))
        {
            v->notes.push_back(
                "warning: --loss-recovery=" + values.Get(&asked::Fabric::lossRecovery) +
                " with --load-balancer=" + spec.name + (sprays ? " and --flowlet-gap=0" : "") +
                ": packets overtake each other, and it takes those for lost; "
                "out-of-order takes any order");
        }
    }
    return spec;
}

} // namespace scenario
