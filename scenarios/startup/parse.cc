/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/startup/parse.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/run.h"
#include "scenarios/dry-run/host-memory.h"
#include "scenarios/inference/dry-run/serving-estimate.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/installation/installation.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/launch-capture.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/mpi-hosts.h"
#include "scenarios/launch/mpirun.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/launch/part.h"
#include "scenarios/network/network-check.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/validate.h"
#include "scenarios/training/options/launch-options.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <system_error>
#include <type_traits>
#include <utility>

namespace scenario
{

namespace
{

/// The properties of a program, besides its name.
template <class T>
struct Program
{
    const OptionTable& (*table)();
    ParseResult<T> (*validate)(const ReadResult&);
};

Program<TrainingScenario>
ProgramOf(const TrainingScenario*)
{
    return {TrainingOptionTable, ValidateTraining};
}

Program<CollperfScenario>
ProgramOf(const CollperfScenario*)
{
    return {CollperfOptionTable, ValidateCollperf};
}

Program<ServingScenario>
ProgramOf(const ServingScenario*)
{
    return {ServingOptionTable, ValidateServing};
}

Program<TrafficScenario>
ProgramOf(const TrafficScenario*)
{
    return {TrafficOptionTable, ValidateTraffic};
}

/// \return the processes that mpirun has to be started for; one: it is not needed, or has been
MpiPlace
PlaceToStart(const ReadResult& read)
{
    MpiPlace place;
    if (read.text || !read.errors.empty() || read.values.Get(&asked::Run::dryRun) ||
        FindLauncher().started)
    {
        return place;
    }
    const Processes processes = ProcessesOf(read.values);
    place.ranks = processes.count;
    place.asked = processes.by;
    FindHosts(read.values, &place.hosts, &place.job);
    return place;
}

template <class T>
bool
HasSteps(const T&)
{
    return true;
}

bool
HasSteps(const TrainingScenario& scenario)
{
    return scenario.HasSteps();
}

} // namespace

void
ReportOrExit(const OptionTable& table,
             const std::vector<Error>& errors,
             const std::optional<std::string>& text,
             const std::vector<std::string>& notes)
{
    if (text)
    {
        std::cout << *text << std::flush;
        std::exit(0);
    }
    // A list of a file may have the same mistake a thousand times.
    constexpr std::size_t kMostErrors = 50; // assumed: what a person reads
    std::set<std::string> told;
    for (const auto& error : errors)
    {
        told.insert(error.Text());
    }
    const std::size_t all = told.size();
    for (const auto& error : errors)
    {
        const std::string text = error.Text();
        if (told.erase(text) == 0)
        {
            continue; // a second time
        }
        if (told.size() + kMostErrors < all && !told.empty())
        {
            std::cerr << table.program << ": error: " << told.size() + 1
                      << " more errors, of which the next is: " << text << std::endl;
            break;
        }
        std::cerr << table.program << ": error: " << text << std::endl;
    }
    if (!errors.empty())
    {
        LetTheFirstSpeak();
        std::exit(2);
    }
    for (const auto& note : notes)
    {
        std::cerr << table.program << ": " << rdma::Printable(note) << std::endl;
    }
}

template <class T>
ParseResult<T>
CheckValues(const ReadResult& read)
{
    ParseResult<T> result = ProgramOf(static_cast<const T*>(nullptr)).validate(read);
    result.notes.insert(result.notes.begin(), read.notes.begin(), read.notes.end());
    if (result.scenario && HasSteps(*result.scenario))
    {
        CheckNetwork(read, *result.scenario, &result.errors, &result.notes);
        if (result.errors.empty())
        {
            CheckProcesses(read, &*result.scenario, &result.errors);
        }
        if (!result.errors.empty())
        {
            result.scenario.reset();
        }
    }
    return result;
}

template ParseResult<TrainingScenario> CheckValues<TrainingScenario>(const ReadResult& read);

namespace
{

/// Of a configuration as run, the values that nobody gave and that are not decided again as they
/// stand there: somebody has changed them, or others. They count as given.
/// \param asRun null: with what was given alone there is no run
ReadResult
TakeKept(const ReadResult& read, const nlohmann::json* asRun)
{
    ReadResult set = read;
    set.kept.clear();
    for (const auto& [option, kept] : read.kept)
    {
        const nlohmann::json::json_pointer place(kept.path);
        if (asRun && asRun->contains(place) && (*asRun)[place] == kept.json)
        {
            set.kept.emplace(option, kept);
        }
        else
        {
            set.values.Slot(option) = kept.value;
        }
    }
    return set;
}

/// The scenario of options that were read, as one machine or another can run it: no folder is made.
template <class T>
ParseResult<T>
CheckRead(const ReadResult& read)
{
    ParseResult<T> result;
    if (read.text)
    {
        result.text = read.text;
        return result;
    }
    if (!read.errors.empty())
    {
        // Checks that depend on an unreadable value would only repeat the complaint.
        result.errors = read.errors;
        return result;
    }
    rdma::SetUpPhase::Quiet() = !read.values.Get(&asked::Run::progress);
    const rdma::SetUpPhase phase("checking the scenario");
    if (read.alone)
    {
        // What changes by the options on top is decided anew; what somebody has changed stays.
        const ParseResult<T> alone = CheckValues<T>(*read.alone);
        if (alone.scenario)
        {
            const ReadResult changed = TakeKept(read, &alone.scenario->run.asRun);
            return CheckValues<T>(changed);
        }
    }
    result = CheckValues<T>(read);
    const ReadResult set = TakeKept(read, result.scenario ? &result.scenario->run.asRun : nullptr);
    if (set.kept.size() < read.kept.size())
    {
        ParseResult<T> again = CheckValues<T>(set);
        if (again.scenario || result.scenario)
        {
            return again;
        }
    }
    return result;
}

template <class T>
Estimate
RoughEstimate(const T& scenario)
{
    return EstimateRun(scenario);
}

Estimate
RoughEstimate(const TrainingScenario& scenario)
{
    return EstimateRun(scenario, EstimateFor::kStart);
}

/// The scenario of options that were read, with its output folder.
template <class T>
ParseResult<T>
PrepareRead(const ReadResult& read)
{
    const OptionTable& table = ProgramOf(static_cast<const T*>(nullptr)).table();
    ParseResult<T> result = CheckRead<T>(read);
    if (result.scenario && HasSteps(*result.scenario) && FindLauncher().IsFirst())
    {
        const rdma::SetUpPhase counting("counting packets");
        const Estimate estimate = RoughEstimate(*result.scenario);
        std::string why = WhyTooLong(estimate);
        // A dry run may plan what another machine will simulate: its plan says how much that takes.
        if (why.empty() && !result.scenario->run.dryRun &&
            !read.values.Get(&asked::Run::ignoreHostMemory))
        {
            why = WhyTooLarge(estimate.memory, AvailableHostMemory());
        }
        if (!why.empty())
        {
            result.scenario.reset();
            result.errors.push_back({"", "", why, ""});
        }
        else if (const std::string note = NoteOfBitErrors(estimate); !note.empty())
        {
            result.notes.push_back(note);
        }
    }
    if (result.scenario)
    {
        Error error;
        if (!PrepareOutput(table.program, read.values, &result.scenario->run, &error))
        {
            result.scenario.reset();
            result.errors.push_back(std::move(error));
        }
        else
        {
            DropAtEarlyEnd(result.scenario->run.made);
        }
    }
    return result;
}

/// A folder of this process alone, for what a dry run captures; "" and an error if there is none.
std::string
MakeTemporary(Error* error)
{
    const char* const base = std::getenv("TMPDIR");
    std::string path = std::string(base && *base ? base : "/tmp") + "/dltrain-XXXXXX";
    if (::mkdtemp(path.data()))
    {
        return path;
    }
    *error = {"", "", path + ": cannot be made: " + std::strerror(errno), ""};
    return "";
}

/// Copies the script's output beside the other results.
void
CopyPrinted(const std::string& capture, const std::string& out)
{
    std::error_code failed;
    for (const char* name : {"/stdout.txt", "/stderr.txt"})
    {
        std::filesystem::copy_file(capture + name,
                                   out + name,
                                   std::filesystem::copy_options::overwrite_existing,
                                   failed);
    }
}

/// The script of --launch is captured first; then its capture is what runs.
class Launched
{
  public:
    ParseResult<TrainingScenario> Parse(const ReadResult& read)
    {
        ParseResult<TrainingScenario> result = CheckRead<TrainingScenario>(read);
        Error error;
        if (!result.scenario)
        {
            return result;
        }
        m_run = result.scenario->run;
        const std::string program = TrainingOptionTable().program;
        if (!PrepareOutput(program, read.values, &m_run, &error))
        {
            return Refused({error});
        }
        DropAtEarlyEnd(m_run.made);
        m_folder = m_run.dryRun ? MakeTemporary(&error) : m_run.out + "/capture";
        if (m_folder.empty())
        {
            return Refused({error});
        }
        const CaptureEnd end =
            CaptureScript(program, *result.scenario->launch, m_folder, m_run.made);
        if (end.signal != 0)
        {
            Refused({});
            std::cerr << EarlyEndText(program) << std::endl;
            std::exit(128 + end.signal);
        }
        if (!end.full.empty())
        {
            // No option is to blame: as with results that cannot be written.
            Refused({});
            std::cerr << program << ": error: " << end.full << std::endl;
            std::exit(1);
        }
        if (!end.error.empty())
        {
            return Refused({{read.values.Where(&asked::Launch::launch),
                             rdma::Shown(read.values.Get(&asked::Launch::launch), 100),
                             end.error,
                             ""}});
        }
        if (!end.failed.empty())
        {
            auto findings = formats::ReadFindings(m_folder);
            result.scenario->launch.reset();
            result.scenario->capture = CaptureOutcome{
                findings ? std::move(*findings) : formats::Findings(),
                // A failure beside the script reports itself (capturing.py).
                (end.failed.rfind("the command ended", 0) == 0 ? "" : "the script failed\n") +
                    end.failed,
                end.status};
        }
        else
        {
            result = ParseCaptured(read);
            if (!result.scenario)
            {
                return Refused(result.errors);
            }
        }
        result.scenario->run.made = m_run.made;
        result.scenario->run.out = m_run.out;
        if (m_run.dryRun)
        {
            Remove();
        }
        else
        {
            CopyPrinted(m_folder, m_run.out);
        }
        return result;
    }

  private:
    ParseResult<TrainingScenario> ParseCaptured(const ReadResult& read)
    {
        if (!m_run.dryRun)
        {
            TellAtEarlyEnd("dltrain: interrupted before the simulation began; the capture is in " +
                           m_folder);
        }
        ReadResult captured = read;
        SetLaunched(&captured.values, m_folder);
        if (!m_run.dryRun)
        {
            Value& out = captured.values.Slot(&asked::Run::out);
            out.given = out.present = true;
            out.raw = out.text = m_run.out;
        }
        return PrepareRead<TrainingScenario>(captured);
    }

    void Remove() const
    {
        std::error_code failed;
        std::filesystem::remove_all(m_folder, failed);
    }

    /// A run that does not begin leaves nothing.
    ParseResult<TrainingScenario> Refused(std::vector<Error> errors) const
    {
        if (!m_folder.empty())
        {
            Remove();
        }
        DropOutput(m_run);
        ParseResult<TrainingScenario> result;
        result.errors = std::move(errors);
        return result;
    }

    RunOptions m_run;
    std::string m_folder; ///< folder of the capture
};

template <class T>
ParseResult<T>
ParseRead(const ReadResult& read)
{
    if constexpr (std::is_same_v<T, TrainingScenario>)
    {
        if (!read.text && read.errors.empty() && IsToLaunch(read.values))
        {
            return Launched().Parse(read);
        }
    }
    return PrepareRead<T>(read);
}

} // namespace

template <class T>
ParseResult<T>
ParseAs(int argc, const char* const* argv)
{
    return ParseRead<T>(ReadOptions(ProgramOf(static_cast<const T*>(nullptr)).table(), argc, argv));
}

template <class T>
T
ParseOrExit(int argc, const char* const* argv)
{
    const OptionTable& table = ProgramOf(static_cast<const T*>(nullptr)).table();
    CatchEarlyEnd(table.program);
    const ReadResult read = ReadOptions(table, argc, argv);
    if (const MpiPlace place = PlaceToStart(read); place.ranks > 1)
    {
        // An impossible run is refused before so many processes exist.
        ReportOrExit(table, CheckRead<T>(read).errors, std::nullopt, {});
        try
        {
            PartLibrary("mpi"); // once, before so many processes look for it
        }
        catch (const std::runtime_error& error)
        {
            std::cerr << table.program << ": error: " << error.what() << std::endl;
            std::exit(2);
        }
        // They parse anew.
        std::exit(RunUnderMpirun(table.program, BuildText(), place, argc, argv));
    }
    ParseResult<T> result = ParseRead<T>(read);
    ReportOrExit(table, result.errors, result.text, result.notes);
    return std::move(*result.scenario);
}

template ParseResult<TrainingScenario> ParseAs(int, const char* const*);
template ParseResult<CollperfScenario> ParseAs(int, const char* const*);
template ParseResult<TrafficScenario> ParseAs(int, const char* const*);
template ParseResult<ServingScenario> ParseAs(int, const char* const*);
template TrainingScenario ParseOrExit(int, const char* const*);
template CollperfScenario ParseOrExit(int, const char* const*);
template TrafficScenario ParseOrExit(int, const char* const*);
template ServingScenario ParseOrExit(int, const char* const*);

} // namespace scenario
