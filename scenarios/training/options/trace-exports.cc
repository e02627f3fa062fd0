/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Steps as other tools' traces: --export.
 */
#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/formats/chakra/chakra-json.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/training/options/trace-options.h"
#include "topologies/names.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace scenario
{

namespace
{

const std::vector<NamedItem>&
ExportItems()
{
    static const std::vector<NamedItem> items = {
        {"chakra", "Chakra execution traces: chakra/trace.RANK.et, chakra/comm_groups.json"},
        {"chakra-json", "the same as JSON: chakra-json/trace.RANK.json"},
        {"goal", "GOAL of LogGOPSim and ATLAHS: trace.goal"}};
    return items;
}

bool
Wants(const TrainingScenario& s, const char* format)
{
    return std::find(s.exports.begin(), s.exports.end(), format) != s.exports.end();
}

/// The schedule that the run takes.
formats::ScheduleOf
SchedulesOf(const ClusterSpec& cluster, const CollectiveOptions& collectives)
{
    return [&cluster, &collectives](const coll::Collective& what,
                                    const std::vector<coll::Rank>& ranks) {
        const coll::Placement placement = PlacementOf(cluster, ranks);
        const coll::Choice choice = ChoiceOf(collectives, what, placement);
        return choice.algorithm->Make(what, placement, collectives.OptionsFor(what.op, choice));
    };
}

/// The trace that is read stands where the step is to be written. \return what would be lost, or
/// nothing
std::string
OwnInput(const Validation& v, const TrainingScenario& s)
{
    namespace fs = std::filesystem;
    if (!s.trace || !v.values.Has(&asked::Run::out) || v.values.Get(&asked::Run::out).empty())
    {
        return {}; // a folder of its own
    }
    const auto plain = [](const fs::path& path) {
        std::error_code failed;
        fs::path known = fs::weakly_canonical(path, failed);
        known = failed ? path.lexically_normal() : known;
        return known.has_filename() ? known : known.parent_path();
    };
    const fs::path trace = s.trace->path;
    const std::pair<const char*, const char*> targets[] = {{"chakra", "chakra"},
                                                           {"chakra-json", "chakra-json"},
                                                           {"goal", "trace.goal"}};
    for (const auto& [format, name] : targets)
    {
        const fs::path target = fs::path(v.values.Get(&asked::Run::out)) / name;
        const bool same =
            plain(target) == plain(trace) ||
            plain(target) == plain(trace.has_parent_path() ? trace.parent_path() : fs::path("."));
        if (Wants(s, format) && same)
        {
            return target.string();
        }
    }
    return {};
}

std::string
WhyNotWritten(const std::string& path)
{
    return "cannot write " + rdma::Shown(path, 300) + ": " + std::strerror(errno);
}

/// Writes a file with `write`. \return why not, or nothing
template <class Write>
std::string
WriteFile(const std::string& path, Write write)
{
    std::string problem;
    std::FILE* const made = rdma::OpenForWriting(path, &problem);
    if (!made)
    {
        return "cannot write " + rdma::Shown(path, 300) + ": " + problem;
    }
    std::fclose(made); // it is a file of its own, and empty
    errno = 0;
    std::ofstream os(path, std::ios::binary);
    if (os)
    {
        write(os);
        os.close();
    }
    if (os)
    {
        return "";
    }
    std::string why = WhyNotWritten(path);
    ::unlink(path.c_str()); // a cut file looks whole
    return why;
}

std::string
WriteChakra(const TrainingScenario& s, const std::string& folder, bool json)
{
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    {
        return WhyNotWritten(folder);
    }
    for (coll::Rank rank = 0; rank < s.plan.ranks; ++rank)
    {
        const std::string why =
            WriteFile(folder + "/trace." + std::to_string(rank) + (json ? ".json" : ".et"),
                      [&](std::ostream& os) {
                          (json ? formats::WriteChakraJson
                                : formats::WriteChakraWire)(formats::ChakraNodes(s.plan, rank), os);
                      });
        if (!why.empty())
        {
            return why;
        }
    }
    return WriteFile(folder + "/comm_groups.json",
                     [&](std::ostream& os) { os << formats::GroupsText(s.plan); });
}

} // namespace

void
CheckExports(Validation* v, TrainingScenario* s, const ClusterSpec& cluster)
{
    const std::vector<NamedItem> formats = ExportItems();
    for (const std::string& word : v->values.Get(&asked::Training::exports))
    {
        if (std::none_of(formats.begin(), formats.end(), [&word](const NamedItem& format) {
                return format.name == word;
            }))
        {
            v->errors.push_back({v->values.Where(&asked::Training::exports),
                                 word,
                                 "is no format; allowed: " + JoinNames(formats),
                                 NearestName(word, formats)});
            return;
        }
    }
    s->exports = v->values.Get(&asked::Training::exports);
    if (s->exports.empty() || !v->errors.empty())
    {
        return;
    }
    if (v->seat)
    {
        v->Fail(&asked::Training::exports, "of a job of --jobs nothing is written; run it alone");
        return;
    }
    if (s->served || s->plan.fillRoles > 0)
    {
        v->Fail(&asked::Training::exports,
                s->served ? "what replicas of parameter servers do is no step that repeats"
                : s->plan.nextForward
                    ? "with --overlap-next-forward a step goes from one backward to the next, and "
                      "its forward is that of the step behind"
                    : "a pipeline without a flush goes on from step to step, so no step of it "
                      "stands alone");
        return;
    }
    if (const std::string own = OwnInput(*v, *s); !own.empty())
    {
        v->Fail(&asked::Training::exports,
                "would write over " + own + ", which --trace reads; give another --out=DIR");
        return;
    }
    if (Wants(*s, "chakra") && !formats::WhyNoChakraWire().empty())
    {
        v->Fail(&asked::Training::exports,
                formats::WhyNoChakraWire() + "; allowed: chakra-json, goal");
        return;
    }
    const std::string why =
        Wants(*s, "goal") ? formats::WhyNoGoal(s->plan, SchedulesOf(cluster, s->collectives)) : "";
    const std::string whyNot = !why.empty() ? "GOAL: " + why
                               : Wants(*s, "chakra") || Wants(*s, "chakra-json")
                                   ? formats::WhyNoChakra(s->plan)
                                   : "";
    if (!whyNot.empty())
    {
        v->Fail(&asked::Training::exports, whyNot);
        return;
    }
    if (s->plan.sizes.size() > 1)
    {
        v->notes.push_back("--export: the step of " + std::to_string(s->plan.sizes[0].blocks) +
                           " blocks, the largest of those that are simulated");
    }
    if (s->plan.jitter.sigma > 0 || s->plan.contention > 0)
    {
        v->notes.push_back(
            std::string("--export: times of computing are those ") +
            (s->plan.jitter.sigma > 0 ? "without --jitter" : "beside no collective") +
            (s->plan.jitter.sigma > 0 && s->plan.contention > 0 ? ", and beside no collective"
                                                                : ""));
    }
}

std::string
WriteExports(const TrainingScenario& s)
{
    for (const bool json : {false, true})
    {
        const char* const format = json ? "chakra-json" : "chakra";
        if (!Wants(s, format))
        {
            continue;
        }
        if (const auto why = WriteChakra(s, s.run.out + "/" + format, json); !why.empty())
        {
            return why;
        }
    }
    if (!Wants(s, "goal"))
    {
        return {};
    }
    std::string whyNot;
    const std::string why = WriteFile(s.run.out + "/trace.goal", [&](std::ostream& os) {
        whyNot = formats::WriteGoal(s.plan, SchedulesOf(s.cluster, s.collectives), os);
    });
    return why.empty() ? whyNot : why;
}

} // namespace scenario
