/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which requests share iterations. A scheduler is one file of schedulers/, which registers it:
 *
 *     const RegisteredScheduler g_orca({"orca", 2, "...", "Orca", MakeScheduler<OrcaScheduler>});
 */
#ifndef SCENARIOS_INFERENCE_SCHEDULER_H
#define SCENARIOS_INFERENCE_SCHEDULER_H

#include "topologies/registered.h"

#include <memory>
#include <string>

namespace serving
{

struct Batch;
class Engine;

/// Decides which requests the next iteration has. Schedulers have no state of their own.
class Scheduler
{
  public:
    virtual ~Scheduler() = default;
    /// \param batch empty; stays so if nothing can run
    virtual void Schedule(Engine& engine, Batch* batch) const = 0;
};

struct SchedulerEntry
{
    static constexpr const char* kWhat = "schedulers";

    std::string name;
    int rank;
    std::string description; ///< of --help
    std::string title;       ///< of the plan: "vLLM V1"
    std::unique_ptr<Scheduler> (*make)();
    bool joins = true; ///< requests join a batch that runs
    /// An iteration has at most ServingSpec::tokenBudget tokens, and chunkedPrefill counts.
    bool hasBudget = false;
    bool takesKv = false; ///< requests may come with KV of another engine (--split)
    bool waits = false;   ///< ServingSpec::waitIterations counts
    /// Without chunkedPrefill, a prompt above the budget is shared out all the same.
    bool cutsLong = false;
};

using RegisteredScheduler = topo::Registered<SchedulerEntry>;

/// \tparam S a Scheduler
template <class S>
std::unique_ptr<Scheduler>
MakeScheduler()
{
    return std::make_unique<S>();
}

} // namespace serving

#endif // SCENARIOS_INFERENCE_SCHEDULER_H
