/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/resumed-search.h"

#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/search.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/options/options-detail.h"
#include "topologies/error.h"
#include "topologies/family.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <utility>

namespace scenario
{

namespace
{

/// They may change: estimates and runs of layouts are the same.
const std::vector<std::string>&
FreeOptions()
{
    static const std::vector<std::string> names = {"time",
                                                   "top",
                                                   "verify",
                                                   "verify-network",
                                                   "moves",
                                                   "objective",
                                                   "price",
                                                   "tokens",
                                                   "memory-margin",
                                                   "report"};
    return names;
}

/// What has another place in the file than in the folder's next search.
const std::vector<std::string>&
Elsewhere()
{
    static const std::vector<std::string> names = {"out", "resume", "progress", "dry-run"};
    return names;
}

/// A file of the folder. \return an object; discarded, with why: there is none
nlohmann::json
ReadObject(const std::string& path, std::string* why)
{
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(path, errors);
    auto json = topo::JsonOrDiscarded(text.value_or(""));
    *why = errors.empty() ? "is no JSON object" : errors.front().problem;
    return json.is_object() ? std::move(json) : nlohmann::json(nlohmann::json::value_t::discarded);
}

nlohmann::json
GivenBut(const Values& values, std::vector<std::string> except)
{
    const OptionTable& table = PlannerOptionTable();
    for (const Option& option : table.options)
    {
        if (!values.Given(option.name))
        {
            except.push_back(option.name);
        }
    }
    return ToJson(table, values, except);
}

} // namespace

std::vector<std::string>
ResumedWords(int argc, const char* const* argv)
{
    std::vector<std::string> words(argv, argv + argc);
    const ReadResult read = ReadOptions(PlannerOptionTable(), argc, argv);
    if (read.errors.empty() && !read.text && read.values.Given(&asked::Search::resume))
    {
        const std::string& folder = read.values.Get(&asked::Search::resume);
        const std::string file = folder + "/" + kSearchFile;
        std::vector<std::string> more;
        if (rdma::IsReadable(file))
        {
            more.push_back("--scenario=" + file);
        }
        if (!read.values.Given(&asked::Run::out))
        {
            more.push_back("--out=" + folder);
        }
        words.insert(words.begin() + 1, more.begin(), more.end());
    }
    return words;
}

nlohmann::json
SearchJson(const Values& values)
{
    return GivenBut(values, Elsewhere());
}

std::string
SearchText(const Values& values, const Digests& files)
{
    nlohmann::json json = SearchJson(values);
    if (!files.empty())
    {
        json[kFilesKey] = files;
    }
    return json.dump(2) + "\n";
}

std::string
WhyFilesDiffer(const std::string& folder, const Digests& now)
{
    std::string why;
    const auto before = ReadObject(folder + "/" + kSearchFile, &why);
    if (before.is_discarded())
    {
        return std::string(kSearchFile) + " " + why;
    }
    const auto then = before.find(kFilesKey);
    for (const auto& [path, digest] : now)
    {
        const std::string file = rdma::Shown(path, 200);
        if (then == before.end() || !then->is_object() || !then->contains(path))
        {
            return "does not say what " + file +
                   " was when its estimates were made; allowed: "
                   "a search in another folder";
        }
        if ((*then)[path] != digest)
        {
            return "has estimates made with another " + file +
                   ", which has changed since; "
                   "allowed: the file as it was, or a search in another folder";
        }
    }
    return "";
}

std::string
WhyNotResumed(const std::string& folder, const Values& values)
{
    if (values.Get(&asked::Run::out) != folder)
    {
        return "goes on in its own folder, and --out is another; allowed: without --out";
    }
    std::string problem;
    auto before = ReadObject(folder + "/" + kSearchFile, &problem);
    if (before.is_discarded())
    {
        return "has no " + std::string(kSearchFile) + " of a search (it " + problem +
               "); allowed: a folder of dlplan";
    }
    before.erase(kFilesKey); // WhyFilesDiffer
    std::vector<std::string> except = Elsewhere();
    except.insert(except.end(), FreeOptions().begin(), FreeOptions().end());
    // The estimates are of the job that stats.json names: search.json may have been edited since.
    const auto stats = ReadObject(folder + "/stats.json", &problem);
    auto told = stats.is_object() ? stats.value("configuration", before) : before;
    if (told.is_object())
    {
        told.erase("given"); // how the page orders options: not in search.json
    }
    if (told != before)
    {
        return "has estimates of another job: its " + std::string(kSearchFile) +
               " was edited after the search; allowed: as stats.json has it in \"configuration\"";
    }
    const nlohmann::json now = GivenBut(values, except).flatten();
    nlohmann::json then = before.flatten();
    for (const std::string& name : except)
    {
        const Option* const option = PlannerOptionTable().Find(name);
        const std::string path = option ? option->path : "";
        for (auto at = then.begin(); at != then.end();)
        {
            const bool its = !path.empty() && at.key().rfind(path, 0) == 0;
            at = its ? then.erase(at) : std::next(at);
        }
    }
    for (const auto& [path, value] : now.items())
    {
        if (!then.contains(path) || then[path] != value)
        {
            return "was a search with " +
                   (then.contains(path) ? path + " = " + then[path].dump() : "no " + path) +
                   ", here it is " + value.dump() + "; allowed: the same";
        }
    }
    return "";
}

} // namespace scenario
