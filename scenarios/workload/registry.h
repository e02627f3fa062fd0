/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Workloads by name. One is a file that ends in a line like
 *
 *     const RegisteredWorkload<RepeatedSteps> g_steps("steps", "help");
 */
#ifndef SCENARIOS_WORKLOAD_REGISTRY_H
#define SCENARIOS_WORKLOAD_REGISTRY_H

#include "scenarios/workload/workload.h"
#include "topologies/registered.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace workload
{

struct Kind
{
    static constexpr const char* kWhat = "workloads";

    /// \param plan outlives the workload \param warmup rounds of a rank before the measured ones
    using Maker = std::unique_ptr<Workload> (*)(const training::TrainingPlan& plan,
                                                uint32_t warmup,
                                                uint32_t measured);

    std::string name;
    int rank;
    std::string description; ///< one line for --help
    Maker make;
};

/// The workload that runs when none is named.
constexpr const char* kDefaultWorkload = "steps";

/// \tparam W is made of (plan, warmup, measured)
template <class W>
struct RegisteredWorkload : topo::Registered<Kind>
{
    RegisteredWorkload(std::string name, std::string description)
        : Registered({std::move(name),
                      0,
                      std::move(description),
                      [](const training::TrainingPlan& plan, uint32_t warmup, uint32_t measured)
                          -> std::unique_ptr<Workload> {
                          return std::make_unique<W>(plan, warmup, measured);
                      }})
    {
    }
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_REGISTRY_H
