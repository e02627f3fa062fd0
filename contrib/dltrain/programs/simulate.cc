/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulate.h"

#include "collperf-job-simulation.h"
#include "collperf-simulation.h"
#include "jobs-simulation.h"
#include "traffic-simulation.h"
#include "training-simulation.h"

namespace dltrain
{

int
Simulate(const scenario::TrainingScenario& scenario)
{
    return scenario.jobs ? RunJobs(scenario) : TrainingSimulation(scenario).Run();
}

int
Simulate(const scenario::CollperfScenario& scenario)
{
    return scenario.job ? CollperfJobSimulation(scenario).Run()
                        : CollperfSimulation(scenario).Run();
}

int
Simulate(const scenario::TrafficScenario& scenario)
{
    return TrafficSimulation(scenario).Run();
}

} // namespace dltrain
