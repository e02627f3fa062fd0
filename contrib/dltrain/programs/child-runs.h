/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs of dltrain in processes of their own, for programs that need their results.
 */
#ifndef DLTRAIN_CHILD_RUNS_H
#define DLTRAIN_CHILD_RUNS_H

#include "scenarios/job/scenario.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// What a later program may take from a run.
enum class ChildMemory : uint8_t
{
    kNone,  ///< nothing
    kKept,  ///< its step: FOLDER.command says what was run
    kTaken, ///< the same; and the step of an earlier run of the same is taken, without a run
};

/// A run of a program: a configuration, and options on top of it.
struct ChildJob
{
    std::string program = "dltrain";
    std::string folder;        ///< of its results; FOLDER.txt gets what it prints
    std::string configuration; ///< text of FOLDER.json
    /// Other files that it reads: what follows FOLDER, and a text.
    std::vector<std::pair<std::string, std::string>> files = {};
    std::string network = {}; ///< empty: the configuration's
    uint64_t globalBatch = 0; ///< samples; 0: batches and steps are the configuration's
    uint32_t microBatch = 0;
    uint32_t steps = 0;
    bool ignoresMemory = true;
    std::vector<std::string> more = {}; ///< other options: "--warmup=0"
    ChildMemory memory = ChildMemory::kNone;
};

struct ChildResult
{
    std::optional<double> step; ///< s, of a run that came to its end
    nlohmann::json stats;       ///< stats.json; discarded: the run failed
    std::string why = {};       ///< there is no step: the last line that it printed, for a note
};

/// Runs jobs in their order: two at a time on this machine, or as jobs of Slurm (RunOptions of the
/// program that starts them).
/// \param goesOn asked often; false: runs are ended (SIGTERM) and waited for, no more are begun,
/// and those without a step have the reason "ended" \param onEnd gets each run's index and result
/// when it ends or could not be started
std::vector<ChildResult> RunChildren(
    const scenario::RunOptions& run,
    const std::vector<ChildJob>& jobs,
    const std::function<bool()>& goesOn,
    const std::function<void(std::size_t, const ChildResult&)>& onEnd = nullptr);

} // namespace dltrain

#endif // DLTRAIN_CHILD_RUNS_H
