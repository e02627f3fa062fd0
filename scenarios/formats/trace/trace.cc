/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/trace/trace.h"

#include "scenarios/asked/launch.h"
#include "scenarios/asked/training.h"
#include "scenarios/formats/capture/capture-findings.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/formats/goal/htsim-trace.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/options/member.h"
#include "scenarios/traffic/htsim-matrix.h"
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace formats
{

namespace
{

/// The first word of a text, behind remarks of GOAL.
std::string_view
FirstWord(std::string_view text)
{
    constexpr const char* kBlanks = " \t\r\n";
    while (true)
    {
        const std::size_t begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos)
        {
            return {};
        }
        text.remove_prefix(begin);
        const bool line = text.substr(0, 2) == "//";
        if (!line && text.substr(0, 2) != "/*")
        {
            return text.substr(0, text.find_first_of(kBlanks));
        }
        const std::size_t end = text.find(line ? "\n" : "*/");
        if (end == std::string_view::npos)
        {
            return {};
        }
        text.remove_prefix(end + (line ? 1 : 2));
    }
}

} // namespace

std::string
TraceFormats()
{
    return "a folder of Chakra execution traces (PREFIX.RANK.et or .json, also .gz), of traces of "
           "PyTorch's profiler (.json, .json.gz) or of a capture, or a file: GOAL, layers as "
           "ASTRA-sim or AICB has them as text, a connection "
           "matrix of htsim";
}

namespace
{

std::optional<Trace>
TraceOf(std::optional<Recording> recording)
{
    if (!recording)
    {
        return std::nullopt;
    }
    Trace trace;
    trace.format = recording->format;
    trace.ranks = static_cast<uint32_t>(recording->ranks.size());
    trace.notes = recording->notes;
    trace.recording = std::move(recording);
    return trace;
}

std::optional<Trace>
TraceOf(std::optional<Captured> captured)
{
    if (!captured)
    {
        return std::nullopt;
    }
    Trace trace;
    trace.format = "capture";
    trace.ranks = captured->plan.ranks;
    trace.gpusPerServer = captured->gpusPerServer;
    trace.torch = captured->torch;
    trace.notes = std::move(captured->notes);
    trace.plan = std::move(captured->plan);
    return trace;
}

std::optional<Trace>
TraceOf(std::optional<LayerText> layers)
{
    if (!layers)
    {
        return std::nullopt;
    }
    Trace trace;
    trace.format = layers->format;
    trace.ranks = layers->plan.ranks;
    trace.notes = std::move(layers->notes);
    trace.plan = std::move(layers->plan);
    return trace;
}

} // namespace

std::optional<Trace>
ReadTrace(const std::string& path,
          const KernelTime& time,
          const CaptureMachine& machine,
          std::vector<topo::Error>& errors,
          const TraceCluster& cluster,
          const KinetoRanks& ranks)
{
    const auto fail = [&](const std::string& problem) {
        AddError(errors, path, "", problem);
        return std::nullopt;
    };
    if (const auto files = IsCapture(path) ? std::vector<std::string>() : FindKinetoFiles(path);
        !files.empty())
    {
        return TraceOf(ReadKineto(files, ranks, errors));
    }
    if (!ranks.ranks.empty() || ranks.replicate > 0)
    {
        return fail("is no trace of PyTorch's profiler, of which alone " +
                    scenario::Spell(&scenario::asked::Training::traceRanks) + " and " +
                    scenario::Spell(&scenario::asked::Training::replicate) +
                    " "
                    "take a rank");
    }
    if (IsCapture(path))
    {
        return TraceOf(ReadCapture(path, machine, errors));
    }
    const std::size_t before = errors.size();
    const auto files = FindChakraFiles(path, errors);
    if (files)
    {
        return TraceOf(ReadChakra(*files, time, errors));
    }
    if (errors.size() > before)
    {
        return std::nullopt;
    }

    struct stat about
    {
    };

    if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    {
        if (IsCapture(path + "/capture"))
        {
            return fail("is the folder of a run; its capture is " + path + "/capture");
        }
        return fail("has no traces; allowed: " + TraceFormats());
    }
    const auto text = ReadInput(path, errors);
    if (!text)
    {
        return std::nullopt;
    }
    const std::string_view first = FirstWord(*text);
    if (first == "num_ranks" || first == "rank")
    {
        return TraceOf(ReadGoal(*text, path, errors));
    }
    if (scenario::IsHtsimMatrix(*text))
    {
        return TraceOf(ReadHtsimTrace(*text, path, errors));
    }
    if (IsLayerText(*text))
    {
        return TraceOf(ReadLayerText(*text, path, cluster, errors));
    }
    return fail("is of no format that is known; allowed: " + TraceFormats());
}

namespace
{

/// Ranks at their places, and between them those that do nothing.
void
Place(const Places& places, uint32_t each, training::TrainingPlan* plan)
{
    const auto place = [&](coll::Rank rank) {
        return places.ofServer > 0 ? rank / each * places.ofServer + rank % each : rank;
    };
    std::vector<uint32_t> roleOf(places.ranks, static_cast<uint32_t>(plan->roles.size()));
    for (coll::Rank rank = 0; rank < plan->ranks; ++rank)
    {
        roleOf[place(rank)] = plan->roleOf[rank];
    }
    for (training::GroupKind& kind : plan->groupKinds)
    {
        for (std::vector<coll::Rank>& group : kind.groups)
        {
            std::transform(group.begin(), group.end(), group.begin(), place);
        }
    }
    plan->roleOf = std::move(roleOf);
    plan->roles.push_back({{"compute"}, {}});
    plan->ranks = places.ranks;
}

/// In a capture some ranks may stand for others that do different work.
std::string
WhoRan(const Trace& trace, const std::string& path)
{
    const auto findings =
        trace.format == "capture" ? ReadFindings(path) : std::optional<Findings>();
    if (!findings || findings->captured >= trace.ranks)
    {
        return "";
    }
    return "; only " + std::to_string(findings->captured) + " of " + std::to_string(trace.ranks) +
           " ranks were captured, and the others are taken to do as these: " +
           scenario::Spell(&scenario::asked::Launch::captureRanks) +
           "=all "
           "captures all";
}

} // namespace

std::optional<training::TrainingPlan>
PlanOf(const Trace& trace,
       const std::string& path,
       const Places& places,
       std::vector<topo::Error>& errors)
{
    if (trace.recording)
    {
        return MakePlan(*trace.recording, path, places.ranks, errors);
    }
    training::TrainingPlan plan = *trace.plan;
    const training::MessageMatch match(plan);
    for (const auto* problems : {&match.Problems(), &match.Unmatched()})
    {
        if (!problems->empty())
        {
            AddError(errors, path, "", problems->front() + WhoRan(trace, path));
            return std::nullopt;
        }
    }
    if (plan.ranks < places.ranks)
    {
        Place(places, trace.gpusPerServer, &plan);
    }
    return plan;
}

} // namespace formats
