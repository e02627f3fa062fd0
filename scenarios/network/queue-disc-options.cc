/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/queue-disc-options.h"

#include "contrib/rdma/core/queue-disc-names.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/network/place-check.h"

namespace scenario
{

std::vector<NamedItem>
QueueDiscItems()
{
    std::vector<NamedItem> items;
    for (const auto& [name, disc] : rdma::QueueDiscs())
    {
        items.push_back({name, disc.description});
    }
    return items;
}

std::vector<Option>
QueueDiscOptionRows()
{
    return {
        Section{"/fabric", "Fabric"}
            .Only(when::Packets())
            .Only(when::Ethernet())
            .Name("queue-disc", "which of the frames that wait in a port is sent next")
            .As(&asked::Fabric::queueDisc)
            .Names("queue discipline", QueueDiscItems)
            .Otherwise(rdma::kPortDwrr)
            .Example(rdma::kPortStrict)
            .Sets("ns3::RdmaPort::QueueDisc"),
    };
}

std::string
ApplyQueueDisc(Validation* v)
{
    const Values& values = v->values;
    if (!values.Has(&asked::Fabric::queueDisc))
    {
        return {};
    }
    const std::string name = values.Get(&asked::Fabric::queueDisc);
    const auto& known = rdma::QueueDiscs();
    const auto disc = known.find(name);
    if (name == rdma::kPortDwrr || disc == known.end())
    {
        return {};
    }
    if (name == rdma::kPortStrict && values.Given(&asked::Fabric::ets))
    {
        v->Fail(&asked::Fabric::queueDisc,
                "has no shares of priorities, and cannot be combined with " +
                    values.Where(&asked::Fabric::ets) + ". Use one of them.");
    }
    const std::string why = WhyNoQueueDisc(values.Get(&asked::Fabric::transport), name);
    if (!why.empty())
    {
        v->Fail(&asked::Fabric::queueDisc, why);
    }
    if (disc->second.overtakes)
    {
        v->DecideUnlessGiven(&asked::Fabric::lossRecovery, "out-of-order");
        if (values.Get(&asked::Fabric::lossRecovery) != "out-of-order")
        {
            v->notes.push_back(
                "warning: --loss-recovery=" + values.Get(&asked::Fabric::lossRecovery) +
                " with --queue-disc=" + name +
                ": packets of a flow overtake each other, and it takes those "
                "for lost; out-of-order takes any order");
        }
    }
    return name;
}

} // namespace scenario
