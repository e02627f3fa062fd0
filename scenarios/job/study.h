/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A study: the same run with all combinations of some options' values.
 */
#ifndef SCENARIOS_JOB_STUDY_H
#define SCENARIOS_JOB_STUDY_H

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// One combination. An option of the study stands at the same place in all of them.
struct StudyRun
{
    std::vector<std::string> shown; ///< by option: its value, for people
    /// Keys in /training, and their values there; null: it is not given.
    std::vector<std::pair<std::string, nlohmann::json>> keys;
};

struct Study
{
    std::string by;                   ///< the option that asks for it: "--study"
    std::vector<std::string> options; ///< their names, without dashes
    std::vector<StudyRun> runs;       ///< empty: there is no study
};

} // namespace scenario

#endif // SCENARIOS_JOB_STUDY_H
