/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/fidelity-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/scale-up.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/processes.h"

#include <string>

namespace scenario
{

namespace
{

std::vector<NamedItem>
Fidelities(bool recalls)
{
    std::vector<NamedItem> items = {
        {"packet", "every packet"},
        {"flow", "no packets: --network=fluid"},
        {"analytic", "no packets or queues: --network=analytic"},
    };
    if (recalls)
    {
        items.insert(items.begin() + 1,
                     {"fast",
                      "every packet of a collective between servers that is new; one that has run "
                      "like this before ends as it did then, and some are checked in packets"});
    }
    return items;
}

/// What the network would have to send every packet for; empty: nothing.
std::string
NeedsPackets(const Validation& v)
{
    const Values& values = v.values;
    if (values.Given(&asked::Run::pcap))
    {
        return "captures have every packet; allowed: without --pcap";
    }
    if (values.Given(&asked::Recovery::fault))
    {
        return "what a fault does to a recalled collective is not known; allowed: without "
               "--fault";
    }
    if (values.Given(&asked::Run::background))
    {
        return "what other flows do to a recalled collective is not known; allowed: without "
               "--background";
    }
    if (values.Given(&asked::Recovery::checkpointEvery))
    {
        return "what checkpoints do to a recalled collective is not known; allowed: without "
               "--checkpoint-every";
    }
    if (values.Given(&asked::Fabric::set))
    {
        return "places with settings of their own make equal collectives unequal; allowed: without "
               "--set";
    }
    if (values.Has(&asked::Cluster::qpsPerConnection) &&
        values.Get(&asked::Cluster::qpsPerConnection) > 1)
    {
        return "needs to know which ports a connection uses, and several queue pairs have several; "
               "allowed: without --qps-per-connection";
    }
    if (values.Has(&asked::ScaleUp::as) && values.Get(&asked::ScaleUp::as) == "packets")
    {
        return "what frames inside servers do to a recalled collective is not known; allowed: "
               "without --scale-up=packets";
    }
    if (v.seat)
    {
        return "what other jobs do to a recalled collective is not known; allowed: without --jobs";
    }
    const Processes processes = ProcessesOf(values);
    if (processes.Several())
    {
        return "is of one process; allowed: without " + processes.by;
    }
    const bool ways = values.Get(&asked::Fabric::fabric) == "ib"
                          ? values.Has(&asked::Fabric::adaptiveRouting) &&
                                values.Get(&asked::Fabric::adaptiveRouting)
                          : values.Has(&asked::Fabric::loadBalancer) &&
                                values.Get(&asked::Fabric::loadBalancer) != "ecmp";
    if (ways)
    {
        return "needs to know which ports a collective uses; allowed: with --load-balancer=ecmp, "
               "and with InfiniBand without --adaptive-routing";
    }
    return {};
}

} // namespace

std::vector<Option>
FidelityOptionRows(bool recalls)
{
    const Section section{"/fabric", "Fabric"};
    std::vector<Option> rows = {
        section.Name("fidelity", "how much of the network between servers is simulated")
            .As(&asked::Fabric::fidelity)
            .Names("fidelity", [recalls] { return Fidelities(recalls); })
            .Otherwise("what --network is")
            .Example(recalls ? "fast" : "flow"),
    };
    if (recalls)
    {
        const Section fast = section.Only(when::Fast());
        rows.push_back(fast.Real("fast-error",
                                 "a check that is off by more than this share of its time makes "
                                 "checks frequent again")
                           .As(&asked::Fabric::fastError)
                           .Otherwise("0.01")
                           .Range(0.001, 0.2)
                           .Example("0.02"));
        rows.push_back(fast.Integer("fast-checks",
                                    "at most 2^N equal collectives are recalled between two that "
                                    "run in packets")
                           .As(&asked::Fabric::fastChecks)
                           .Otherwise("4")
                           .Range(0, 16)
                           .Example("6"));
    }
    return rows;
}

std::string
NetworkOfFidelity(const Values& values)
{
    if (!values.Has(&asked::Fabric::fidelity))
    {
        return {};
    }
    const std::string fidelity = values.Get(&asked::Fabric::fidelity);
    return fidelity == "flow" ? "fluid" : fidelity == "analytic" ? "analytic" : "packet";
}

bool
IsFast(const Values& values)
{
    return values.Has(&asked::Fabric::fidelity) && values.Get(&asked::Fabric::fidelity) == "fast";
}

void
ApplyFidelity(Validation* v)
{
    const Values& values = v->values;
    const std::string network = NetworkOfFidelity(values);
    if (network.empty())
    {
        v->Settle(&asked::Fabric::fidelity);
        return;
    }
    if (values.Given(&asked::Fabric::network) && values.Get(&asked::Fabric::network) != network)
    {
        v->Fail(&asked::Fabric::network,
                "is another network than that of --fidelity=" +
                    values.Get(&asked::Fabric::fidelity) + "; allowed with it: " + network);
        return;
    }
    v->Decide(&asked::Fabric::network, network);
    v->Settle(&asked::Fabric::fidelity);
}

std::optional<RecallOptions>
RecallOf(Validation* v)
{
    const Values& values = v->values;
    if (!IsFast(values))
    {
        return {};
    }
    const std::string needs = NeedsPackets(*v);
    if (!needs.empty())
    {
        v->Fail(&asked::Fabric::fidelity, needs);
    }
    RecallOptions recall;
    v->DecideUnlessGiven(&asked::Fabric::fastError, recall.error);
    v->DecideUnlessGiven(&asked::Fabric::fastChecks, recall.checks);
    recall.error = values.Get(&asked::Fabric::fastError);
    recall.checks = values.Get(&asked::Fabric::fastChecks);
    return recall;
}

} // namespace scenario
