/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dry-run.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/runners/fabric-builder.h"
#include "contrib/rdma/core/set-up-phase.h"
#include "scenarios/dry-run/plan-text.h"
#include "topologies/names.h"

#include "ns3/config.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <iostream>

namespace dltrain
{

namespace
{

template <class Scenario>
int
Check(const char* program, const Scenario& scenario, const topo::Topology& topology)
{
    std::string error;
    if (topology.Links().size() > DRY_RUN_LINKS)
    {
        PrepareSimulator(scenario.fabric, scenario.run, error);
        if (error.empty())
        {
            WarnOfSettings(scenario.fabric, scenario.run, topology);
            SayNote("note: the plan of " + topo::Counted(topology.Links().size(), "link") +
                    "; what their switches are configured with is checked when it runs");
        }
    }
    else
    {
        BuildFabric(scenario.fabric, topology, scenario.run, error);
        ns3::Simulator::Destroy();
    }
    if (!error.empty())
    {
        return SayError(program, error);
    }
    std::string plan;
    {
        const rdma::SetUpPhase phase("counting packets");
        plan = scenario::PlanText(scenario);
    }
    std::cout << plan;
    return 0;
}

} // namespace

int
DryRun(const scenario::TrainingScenario& scenario)
{
    return Check("dltrain", scenario, scenario.cluster.topology);
}

int
DryRun(const scenario::CollperfScenario& scenario)
{
    return Check("collperf", scenario, scenario.cluster.topology);
}

int
DryRun(const scenario::ServingScenario& scenario)
{
    return Check("dlserve", scenario, scenario.cluster.topology);
}

int
DryRun(const scenario::TrafficScenario& scenario)
{
    SetLosslessPriorities(scenario);
    return Check("traffic", scenario, scenario.topology);
}

void
SetLosslessPriorities(const scenario::TrafficScenario& scenario)
{
    ns3::Config::SetDefault("ns3::RdmaSwitch::LosslessPriorities",
                            ns3::UintegerValue(scenario.LosslessPriorities()));
}

} // namespace dltrain
