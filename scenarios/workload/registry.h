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

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace workload
{

struct Kind
{
    /// \param plan outlives the workload \param warmup rounds of a rank before the measured ones
    using Maker = std::unique_ptr<Workload> (*)(const training::TrainingPlan& plan,
                                                uint32_t warmup,
                                                uint32_t measured);

    std::string name;
    std::string description; ///< one line for --help
    Maker make;
};

/// The workload that runs when none is named.
constexpr const char* kDefaultWorkload = "steps";

/// Sorted by name.
const std::vector<Kind>& Kinds();

/// nullptr: no such workload.
const Kind* Find(const std::string& name);

/// Throws std::logic_error when the name is taken.
void Register(Kind kind);

/// \tparam W is made of (plan, warmup, measured)
template <class W>
struct RegisteredWorkload
{
    RegisteredWorkload(std::string name, std::string description)
    {
        Register({std::move(name),
                  std::move(description),
                  [](const training::TrainingPlan& plan, uint32_t warmup, uint32_t measured)
                      -> std::unique_ptr<Workload> {
                      return std::make_unique<W>(plan, warmup, measured);
                  }});
    }
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_REGISTRY_H
