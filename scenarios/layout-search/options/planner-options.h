/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlplan: its options. It has all of dltrain's, which describe the model, the cluster and the
 * network; those that are given stay as they are in every layout.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_OPTIONS_PLANNER_OPTIONS_H
#define SCENARIOS_LAYOUT_SEARCH_OPTIONS_PLANNER_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/layout-search/options/objective.h"
#include "scenarios/options/options.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// A search for a layout.
struct PlannerScenario
{
    RunOptions run;
    Values values; ///< all as read
    /// dltrain's options as given, once for each number of GPUs.
    std::vector<ReadResult> jobs;
    std::vector<std::string> search;      ///< options that may change
    const Objective* objective = nullptr; ///< set
    double price = 0;                     ///< $ a GPU-hour; 0: not known
    double tokens = 0;                    ///< of the whole training; 0: not known
    double limitSeconds = 0;              ///< of the search; 0: none
    uint32_t top = 10;
    uint32_t verify = 0;
    std::string verifyNetwork = "auto";
    std::optional<double> memoryMargin;       ///< nothing: training::ReserveOf
    std::string resume;                       ///< folder of a search that was ended; empty: none
    uint32_t moves = 0;                       ///< changes of the best layout to try
    std::map<std::string, std::string> files; ///< digests of what was read (topo::FilesRead)
};

/// Options that a search may change, in the order in which they are tried.
const std::vector<std::string>& SearchedOptions();

const OptionTable& PlannerOptionTable();

/// --gpus as a list of numbers.
void ListGpus(Option* option);

/// A job for each number of --gpus (ListGpus). Errors are added.
std::vector<ReadResult> JobsOfGpus(const ReadResult& read, std::vector<Error>* errors);

/// A search, or errors.
struct PlannerResult
{
    PlannerScenario scenario;
    std::vector<Error> errors;
};

/// \param read by PlannerOptionTable
PlannerResult ValidatePlanner(const ReadResult& read);

/// Sets an option as if it had been typed. \pre the text is valid
void SetOption(const std::string& option, const std::string& text, ReadResult* read);

/// The same of a member's option.
inline void
SetOption(Member option, const std::string& text, ReadResult* read)
{
    SetOption(OptionOf(option), text, read);
}

/// Takes an option back, as if it had not been given.
void ClearOption(const std::string& option, ReadResult* read);

/// The options of a job that were given, as a scenario of dltrain.
nlohmann::json ScenarioOf(const ReadResult& read);

} // namespace scenario

#endif // SCENARIOS_LAYOUT_SEARCH_OPTIONS_PLANNER_OPTIONS_H
