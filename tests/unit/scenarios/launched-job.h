/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A job of dltrain with its flags for Megatron-LM and DeepSpeed.
 */
#ifndef TESTS_UNIT_SCENARIOS_LAUNCHED_JOB_H
#define TESTS_UNIT_SCENARIOS_LAUNCHED_JOB_H

#include "scenarios/layout-search/launch-flags.h"
#include "scenarios/training/options/validate-layout.h"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

inline scenario::ReadResult
ReadJob(const std::string& options)
{
    std::istringstream in(options);
    std::vector<std::string> words{"dltrain"};
    for (std::string word; in >> word;)
    {
        words.push_back(word);
    }
    std::vector<const char*> argv;
    for (const auto& word : words)
    {
        argv.push_back(word.c_str());
    }
    return scenario::ReadOptions(scenario::TrainingOptionTable(),
                                 static_cast<int>(argv.size()),
                                 argv.data());
}

/// A job and its flags.
struct LaunchedJob
{
    scenario::ReadResult read;
    std::optional<training::TrainingOptions> options; ///< nothing: refused
    std::string why;
    planner::MegatronLaunch megatron;
    planner::DeepSpeedLaunch deepSpeed;

    explicit LaunchedJob(const std::string& words)
        : read(ReadJob(words + " --ignore-memory"))
    {
        const auto fail = [this](const std::vector<scenario::Error>& errors) {
            why = errors.empty() ? "" : errors.front().Text();
            return !errors.empty();
        };
        if (fail(read.errors))
        {
            return;
        }
        const auto cluster = scenario::ValidateCluster(read);
        if (fail(cluster.errors))
        {
            return;
        }
        auto layout = scenario::ValidateLayout(read, *cluster.scenario);
        if (fail(layout.errors))
        {
            return;
        }
        options = std::move(layout.options);
        megatron = planner::LaunchOfMegatron(*options, &read.values);
        deepSpeed = planner::LaunchOfDeepSpeed(*options, &read.values);
    }

    std::string Megatron() const
    {
        std::string text;
        for (const auto& line : megatron.flags)
        {
            text += line + "\n";
        }
        return text + Notes(megatron.notes);
    }

    std::string DeepSpeed() const
    {
        return deepSpeed.config.dump() + "\n" + Notes(deepSpeed.notes);
    }

    static std::string Notes(const std::vector<std::string>& notes)
    {
        std::string text;
        for (const auto& line : notes)
        {
            text += line + "\n";
        }
        return text;
    }

    bool HasNote(const std::string& text) const
    {
        return Notes(megatron.notes).find(text) != std::string::npos;
    }
};

/// Megatron-LM's arguments with their values.
inline std::map<std::string, std::string>
Arguments(const planner::MegatronLaunch& launch)
{
    std::map<std::string, std::string> all;
    for (const std::string& flag : launch.flags)
    {
        const std::size_t blank = flag.find(' ');
        EXPECT_TRUE(all.emplace(flag.substr(0, blank),
                                blank == std::string::npos ? std::string() : flag.substr(blank + 1))
                        .second)
            << "twice: " << flag;
    }
    return all;
}

#endif // TESTS_UNIT_SCENARIOS_LAUNCHED_JOB_H
