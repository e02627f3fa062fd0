/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "study.h"

#include "child-runs.h"
#include "contrib/dltrain/base/console.h"
#include "reports/programs/study-table.h"
#include "scenarios/launch/interruption.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dltrain
{

namespace
{

ChildJob
StudyJobOf(const scenario::TrainingScenario& s, const scenario::StudyRun& run)
{
    ChildJob job;
    std::string name;
    nlohmann::json json = s.run.asRun;
    nlohmann::json& training = json["training"];
    training.erase("study");
    for (std::size_t i = 0; i < run.shown.size(); ++i)
    {
        name += (i > 0 ? "-" : "") + run.shown[i];
    }
    std::replace_if(
        name.begin(),
        name.end(),
        [](char c) { return c == ' ' || c == '/'; },
        '_');
    job.folder = s.run.out + "/study/" + name;
    for (const auto& [key, value] : run.keys)
    {
        training.erase(key);
        if (!value.is_null())
        {
            training[key] = value;
        }
    }
    job.configuration = json.dump(2) + "\n";
    job.ignoresMemory = false;
    return job;
}

/// A key of stats.json in us, in seconds.
std::optional<double>
SecondsOf(const nlohmann::json& stats, const char* key)
{
    const auto found = stats.is_object() ? stats.find(key) : stats.end();
    if (!stats.is_object() || found == stats.end() || !found->is_number())
    {
        return std::nullopt;
    }
    return found->get<double>() * 1e-6;
}

} // namespace

int
RunStudy(const scenario::TrainingScenario& s)
{
    if (s.run.processes.Several())
    {
        return SayError("dltrain",
                        s.study.by + " starts runs of its own; allowed with a single process",
                        &s.run);
    }
    const std::string text =
        "dltrain: interrupted; runs of " + s.study.by + " are in " + s.run.out + "/study";
    scenario::TellAtEarlyEnd(text);
    const scenario::KeptForAWhile kept;
    std::vector<ChildJob> jobs;
    for (const scenario::StudyRun& run : s.study.runs)
    {
        jobs.push_back(StudyJobOf(s, run));
    }
    const auto results = RunChildren(s.run, jobs, [] { return scenario::Interruption() == 0; });
    if (const int signal = scenario::Interruption())
    {
        std::cerr << text << std::endl;
        return 128 + signal;
    }
    reports::StudyTable table(s.study.options);
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        table.Add({s.study.runs[i].shown,
                   results[i].step,
                   SecondsOf(results[i].stats, "exposed_communication_time_us"),
                   SecondsOf(results[i].stats, "queue_wait_us"),
                   results[i].why});
    }
    table.Print(std::cout);
    if (!table.AnyRan())
    {
        return SayError("dltrain",
                        s.study.by + ": no run came to its end: " + results.front().why,
                        &s.run);
    }
    table.Write(s.run.out);
    std::cout << "Files            " << s.run.out << "/: study.csv; study/ has each run\n";
    return 0;
}

} // namespace dltrain
