/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/planner/resumed-search.h"

#include "scenarios/options/planner/planner-options.h"

#include <algorithm>
#include <fstream>

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
    if (read.errors.empty() && !read.text && read.values.Given("resume"))
    {
        const std::string& folder = read.values.Text("resume");
        const std::string file = folder + "/" + kSearchFile;
        std::vector<std::string> more;
        if (std::ifstream(file))
        {
            more.push_back("--scenario=" + file);
        }
        if (!read.values.Given("out"))
        {
            more.push_back("--out=" + folder);
        }
        words.insert(words.begin() + 1, more.begin(), more.end());
    }
    return words;
}

std::string
SearchText(const Values& values)
{
    return GivenBut(values, Elsewhere()).dump(2) + "\n";
}

std::string
WhyNotResumed(const std::string& folder, const Values& values)
{
    if (values.Text("out") != folder)
    {
        return "goes on in its own folder, and --out is another; allowed: without --out";
    }
    std::ifstream file(folder + "/" + kSearchFile);
    const auto before = nlohmann::json::parse(file, nullptr, false);
    if (before.is_discarded())
    {
        return "has no " + std::string(kSearchFile) + " of a search; allowed: a folder of dlplan";
    }
    std::vector<std::string> except = Elsewhere();
    except.insert(except.end(), FreeOptions().begin(), FreeOptions().end());
    // The estimates are of the job that stats.json names: search.json may have been edited since.
    std::ifstream results(folder + "/stats.json");
    const auto stats = nlohmann::json::parse(results, nullptr, false);
    if (stats.is_object() && stats.contains("configuration") && stats.at("configuration") != before)
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
