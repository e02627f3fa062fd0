/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "frame.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/base/last-resort.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "dry-run.h"
#include "reports/base/output-errors.h"
#include "reports/programs/capture-results.h"
#include "scenarios/goodput/options/goodput-options.h"
#include "scenarios/inference/options/kernel-options.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/layout-search/options/resumed-search.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/startup/parse.h"
#include "shard-verification.h"
#include "simulate.h"
#include "study.h"

#include <csignal>
#include <exception>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace dltrain
{

int
RunProgram(const std::string& name, const std::function<int()>& main)
{
    // A closed pipe, and a file beyond `ulimit -f`, are errors of write() then.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    CatchTermination();
    OpenConsole(name);
    int status = 1;
    try
    {
        status = main();
    }
    catch (const std::exception& error)
    {
        const Ranks& ranks = Ranks::Get();
        const std::string who = ranks.Several() ? "rank " + std::to_string(ranks.Rank()) + " of " +
                                                      std::to_string(ranks.Size()) + ": "
                                                : "";
        SayFailure(who + reports::ReasonOf(error));
    }
    return CloseConsole(status, scenario::HeldOutput() < 0);
}

int
MakeFolder(const scenario::Values& values, scenario::RunOptions* run)
{
    scenario::Error error;
    if (!scenario::PrepareOutput(ProgramName(), values, run, &error))
    {
        return SayErrors({error});
    }
    scenario::DropAtEarlyEnd(run->made);
    return 0;
}

// From a command line to a scenario ---------------------------------------------------------------

namespace
{

/// \param validate makes of a ReadResult something with `scenario` and `errors`
template <class Validate>
auto
ReadOrExit(const scenario::OptionTable& table,
           int argc,
           const char* const* argv,
           const Validate& validate)
{
    scenario::CatchEarlyEnd(table.program);
    scenario::ReadResult read = scenario::ReadOptions(table, argc, argv);
    if (read.text)
    {
        scenario::ReportOrExit(table, {}, read.text, {});
    }
    auto result = validate(read);
    scenario::ReportOrExit(table, result.errors, {}, read.notes);
    return std::move(result.scenario);
}

} // namespace

scenario::PlannerScenario
PlannerOrExit(int argc, const char* const* argv)
{
    const std::vector<std::string> words = scenario::ResumedWords(argc, argv);
    std::vector<const char*> all;
    for (const std::string& word : words)
    {
        all.push_back(word.c_str());
    }
    return ReadOrExit(scenario::PlannerOptionTable(),
                      static_cast<int>(all.size()),
                      all.data(),
                      scenario::ValidatePlanner);
}

scenario::GoodputScenario
GoodputOrExit(int argc, const char* const* argv)
{
    return ReadOrExit(scenario::GoodputOptionTable(), argc, argv, scenario::ValidateGoodput);
}

scenario::MultiplexScenario
MultiplexOrExit(int argc, const char* const* argv)
{
    const scenario::OptionTable& table = scenario::MultiplexOptionTable();
    return ReadOrExit(table, argc, argv, [&table](scenario::ReadResult& read) {
        auto result = scenario::ValidateMultiplex(table, read);
        for (const std::string& note : result.notes)
        {
            read.notes.push_back("note: " + note);
        }
        return result;
    });
}

scenario::KernelComparison
KernelsOrExit(int argc, const char* const* argv)
{
    return ReadOrExit(scenario::ServingOptionTable(), argc, argv, scenario::ValidateKernels);
}

// Programs that simulate packets ------------------------------------------------------------------

namespace
{

/// What comes before the simulation. \return the exit status, if that is all
std::optional<int>
Before(scenario::TrainingScenario* s)
{
    if (!s->HasSteps())
    {
        return reports::EndWithoutSteps(*s, std::cout);
    }
    int status = Tune(s->run, s->fabric, s->cluster, s->collectives);
    status = status ? status : VerifySharding(s);
    if (status == 0 && !s->study.runs.empty() && !s->run.dryRun)
    {
        return RunStudy(*s);
    }
    return status ? std::optional(status) : std::nullopt;
}

std::optional<int>
Before(const scenario::CollperfScenario* s)
{
    const int status = Tune(s->run, s->fabric, s->cluster, s->collectives);
    return status ? std::optional(status) : std::nullopt;
}

std::optional<int>
Before(const void*)
{
    return {};
}

} // namespace

template <class T>
int
RunSimulator(int argc, char** argv)
{
    scenario::SilenceOtherRanks(); // under mpirun one process speaks
    T scenario = scenario::ParseOrExit<T>(argc, argv);
    if (const std::optional<int> status = Before(&scenario))
    {
        return *status;
    }
    if (scenario.run.dryRun)
    {
        return DryRun(scenario);
    }
    scenario::EndSilence();
    const Ranks::Session session(argc, argv, scenario.run.engine == "windows");
    return scenario::StatusAmongRanks(Simulate(scenario));
}

template int RunSimulator<scenario::TrainingScenario>(int, char**);
template int RunSimulator<scenario::CollperfScenario>(int, char**);
template int RunSimulator<scenario::TrafficScenario>(int, char**);
template int RunSimulator<scenario::ServingScenario>(int, char**);

} // namespace dltrain
