/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "multiplex.h"

#include "contrib/dltrain/base/console.h"
#include "frame.h"
#include "reports/base/report-launcher.h"
#include "reports/programs/multiplex-results.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "topologies/names.h"

#include <iostream>

namespace dltrain
{

namespace
{

using scenario::MultiplexTask;

bool
GoesOn()
{
    return scenario::Interruption() == 0;
}

/// "temporal", "temporal at 50%".
std::string
NameOf(const scenario::MultiplexScenario& scenario, const std::string& policy, double scale)
{
    return policy + (scenario.scales.size() > 1 ? " at " + multiplex::ShareText(100 * scale) : "");
}

/// Every policy at every rate, or those before a signal.
void
RunMix(const scenario::MultiplexScenario& scenario, reports::MultiplexResults* results)
{
    for (const double scale : scenario.scales)
    {
        for (const std::string& policy : scenario.policies)
        {
            if (!results->missing.empty())
            {
                results->missing.push_back(NameOf(scenario, policy, scale));
                continue;
            }
            multiplex::RunSettings settings = scenario.settings;
            settings.rateScale = scale;
            settings.keepExecutions = scenario.scales.size() == 1;
            multiplex::PlacementError error; // there is none: ValidateMultiplex has placed all
            auto run = multiplex::Simulate(scenario.mix, policy, settings, &error, GoesOn);
            if (run.stopped)
            {
                results->missing.push_back(NameOf(scenario, policy, scale));
                continue;
            }
            results->runs.push_back(std::move(run));
        }
    }
}

} // namespace

bool
AsksForMultiplex(int argc, const char* const* argv)
{
    // Options that serving has as well may have other values here, which are no matter.
    const scenario::ReadResult read =
        scenario::ReadOptions(scenario::ServingOptionTable(), argc, argv);
    return !read.text && scenario::AsksForMultiplex(read.values);
}

int
RunMultiplex(int argc, const char* const* argv)
{
    scenario::MultiplexScenario scenario = MultiplexOrExit(argc, argv);
    reports::MultiplexResults results{scenario, {}, {}, {}, {}, {}, {}};
    std::string why;
    if (scenario.task == MultiplexTask::kCurve)
    {
        results.curves = reports::CurvesOf(scenario, &why);
    }
    if (scenario.task == MultiplexTask::kCompare)
    {
        results.compared = reports::ComparedOf(scenario, &why);
    }
    if (scenario.task == MultiplexTask::kSlices)
    {
        results.slices = reports::SlicesOf(scenario);
    }
    results.slicesCompared = reports::SlicesComparedOf(scenario);
    if (!why.empty())
    {
        return SayError("dlserve", why);
    }
    if (const int status = MakeFolder(scenario.values, &scenario.run))
    {
        return status;
    }
    if (scenario.run.dryRun && scenario.task == MultiplexTask::kMix)
    {
        reports::PrintPlan(std::cout, scenario);
        return 0;
    }
    scenario::KeepInterruption();
    if (scenario.task == MultiplexTask::kMix)
    {
        RunMix(scenario, &results);
    }
    const int stopped = results.missing.empty() ? 0 : 128 + scenario::Interruption();
    if (stopped)
    {
        std::cerr << "dlserve: stopped after " << results.runs.size() << " of "
                  << scenario.scales.size() * scenario.policies.size() << " runs, without "
                  << topo::JoinNames(results.missing) << std::endl;
        if (results.runs.empty())
        {
            scenario::DropOutput(scenario.run);
            return stopped;
        }
    }
    reports::PrintMultiplex(std::cout, results);
    if (scenario.run.dryRun)
    {
        return 0;
    }
    if (const std::string lost = reports::WriteMultiplex(results); !lost.empty())
    {
        return SayFailure(lost);
    }
    std::cout << "Results  " << scenario.run.out << ": " << reports::MultiplexFiles(results)
              << "\n";
    reports::WriteReport(scenario.run, std::cout);
    return stopped;
}

} // namespace dltrain
