/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/planner-options.h"

#include "scenarios/job/parse-result.h"
#include "scenarios/layout-search/options/kind-orders.h"
#include "scenarios/layout-search/options/resumed-search.h"
#include "scenarios/network/common-options.h"
#include "scenarios/training/pipeline/schedule.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace scenario
{

namespace
{

std::vector<NamedItem>
SearchedItems()
{
    std::vector<NamedItem> items;
    for (const std::string& name : SearchedOptions())
    {
        items.push_back({name, TrainingOptionTable().Find(name)->help});
    }
    return items;
}

std::vector<Option>
PlanningRows()
{
    const Section section{"/planner", "Planning"};
    return {
        section.List("fix", "values that every layout has: tp=8,zero=1")
            .Shows("NAME=VALUE,...")
            .Otherwise("none")
            .Example("tp=8"),
        section.List("search", "options that may change; all others are dltrain's defaults")
            .Shows("NAME,...")
            .Distinct()
            .Otherwise("all of them but dp")
            .Example("tp,pp"),
        section.Name("objective", "how layouts are ranked")
            .NamesOf<Objective>("objective")
            .Default("step")
            .Example("gpu-hours"),
        section.Real("price", "$ a GPU-hour").Range(0, 1e6).Otherwise("not known").Example("2.5"),
        section.Text("tokens", "tokens of the whole training, to print its days and its cost")
            .Shows("15T")
            .Otherwise("not known")
            .Example("15T"),
        section
            .Duration("time", "end the search after this wall time, with the best layouts so far")
            .Range(1e12, 1e17)
            .Otherwise("no limit")
            .Example("10min"),
        section.Integer("top", "layouts in the table").Range(1, 1000).Default("10").Example("3"),
        section
            .Integer("verify", "run so many of the best layouts by dltrain, two at a time; 0: none")
            .Range(0, 1000)
            .Default("0")
            .Example("3"),
        section.Name("verify-network", "network of the runs of --verify")
            .Names("network of the verification",
                   {{"auto",
                     "fluid where links between switches are given, else analytic; packet where an "
                     "option needs it"},
                    {"analytic", "formulas, links between switches have no limit"},
                    {"fluid", "rates shared out on all links"},
                    {"packet", "every packet"}})
            .Default("auto")
            .Example("fluid"),
        section
            .Integer("moves",
                     "then so many runs of dltrain with small changes of the best: buckets, "
                     "collective algorithms, channels, rank order; 0: none")
            .Range(0, 100)
            .Default("0")
            .Example("4"),
        section.Text("resume", "go on with a search that was ended, in its folder")
            .Shows("DIR")
            .Otherwise("none")
            .Example("results/dlplan-1"),
        section
            .Real("memory-margin",
                  "share of a GPU's memory that tensors leave free, in the place of the plan's own "
                  "estimate of what is beside them")
            .Range(0, 0.9)
            .Otherwise("CUDA context, NCCL's buffers, fragments")
            .Example("0.1"),
    };
}

OptionTable
MakePlannerTable()
{
    OptionTable t = TrainingOptionTable();
    t.program = "dlplan";
    t.description = "the layout of a training job that makes its step shortest: tensor, pipeline, "
                    "context, expert and data parallelism, ZeRO, micro-batch, recomputation";
    for (Option& option : t.options)
    {
        if (option.name == "gpus")
        {
            ListGpus(&option);
        }
        if (option.name == "out")
        {
            option.defaultNote = "results/dlplan-1, -2, ...: the first number that is free";
        }
        if (option.name == "dry-run")
        {
            option.help = "search and print the best layouts; write nothing, and run none of them";
        }
    }
    std::vector<Option> rows = PlanningRows();
    Append(&rows, std::move(t.options));
    t.options = std::move(rows);
    t.examples = {
        "dlplan --model=llama3-70b --server=dgx-h100 --servers=32 --seq=8192 --global-batch=512",
        "dlplan --model=bloom-560m --servers=4 --fix=zero=1 --verify=3",
        "dlplan --model=llama3-8b --server=dgx-h100 --gpus=64,128 --objective=cost --price=2.5 "
        "--tokens=1T",
    };
    t.Finish();
    return t;
}

/// "15T": 15e12; nothing: it is no such number.
std::optional<double>
ParseTokens(const std::string& text)
{
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data(), end, number);
    const std::map<std::string, double> units =
        {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
    const auto unit = units.find(std::string(after, static_cast<std::size_t>(end - after)));
    return bad == std::errc() && unit != units.end() && number > 0 && number * unit->second <= 1e18
               ? std::optional(number * unit->second)
               : std::nullopt;
}

/// Reads the planner's own options.
class PlannerReader
{
  public:
    explicit PlannerReader(const ReadResult& read)
        : m_read(read)
    {
    }

    PlannerScenario Take()
    {
        const Values& values = m_read.values;
        for (const char* const alone : {"jobs", "trace", "launch", "replicas", "auto-parallel"})
        {
            if (values.Given(alone))
            {
                Fail(alone, "a search needs a model whose layout is open; allowed: --model");
            }
        }
        if (values.Given("layers"))
        {
            Fail("layers", "a search looks at all blocks; allowed: without it");
        }
        if (values.Given("strategy") && values.Text("strategy") != "sync")
        {
            Fail("strategy", "has no layouts to search; allowed: sync");
        }
        const auto* const schedule =
            values.Present("pipeline-schedule")
                ? training::FindPipelineSchedule(values.Text("pipeline-schedule"))
                : nullptr;
        if (schedule && !schedule->Flushes())
        {
            Fail("pipeline-schedule",
                 "has no step of its own to estimate: its pipeline is never empty; allowed: " +
                     std::string("1f1b, interleaved and others that flush"));
        }
        if (values.Text("partition") == "pipedream")
        {
            Fail("partition", "finds the stages itself; allowed: uniform, balanced, parameters");
        }
        if (!values.Given("global-batch"))
        {
            errors.push_back({"--global-batch",
                              "",
                              "is needed: layouts are compared over the same samples of a step; "
                              "--global-batch=512, say",
                              ""});
        }
        if (values.Given("accumulation"))
        {
            Fail("accumulation", "follows from --global-batch and the layout; allowed: without it");
        }
        const bool isAuto =
            values.Given("micro-batch") && values.Text("micro-batch") == "auto"; // searched
        if (isAuto)
        {
            SetOption("micro-batch", "1", &m_read);
            m_read.values.Slot("micro-batch").given = false;
        }
        m_plan.search = values.Given("search") ? Searched() : Defaults();
        if (isAuto && std::find(m_plan.search.begin(), m_plan.search.end(), "micro-batch") ==
                          m_plan.search.end())
        {
            m_plan.search.emplace_back("micro-batch");
        }
        m_plan.objective = &RegisteredObjective::Get(values.Text("objective"));
        m_plan.price = values.Given("price") ? values.Real("price") : 0;
        if (m_plan.objective->needsPrice && m_plan.price <= 0)
        {
            Fail("objective", "needs the price of a GPU-hour: --price=2.5, say");
        }
        if (values.Given("tokens"))
        {
            const auto tokens = ParseTokens(values.Text("tokens"));
            if (!tokens)
            {
                Fail("tokens", "allowed: a number above 0, with K, M, B or T behind it: 15T");
            }
            m_plan.tokens = tokens.value_or(0);
        }
        m_plan.limitSeconds =
            values.Given("time") ? static_cast<double>(values.Duration("time").ps) * 1e-12 : 0;
        m_plan.top = values.U32("top");
        m_plan.verify = values.U32("verify");
        m_plan.verifyNetwork = values.Text("verify-network");
        m_plan.moves = values.U32("moves");
        if (m_plan.moves > 0 && m_plan.verify == 0)
        {
            Fail("moves", "changes the best layout of --verify; allowed: with --verify=3, say");
        }
        if (values.Given("memory-margin"))
        {
            m_plan.memoryMargin = values.Real("memory-margin");
        }
        Fix();
        m_plan.jobs = WithOrdersOfKinds(JobsOfGpus(m_read, &errors));
        return m_plan;
    }

    std::vector<Error> errors;

  private:
    void Fail(const std::string& option, const std::string& problem, std::string nearest = "")
    {
        const Values& values = m_read.values;
        errors.push_back({values.Where(option), values.Raw(option), problem, std::move(nearest)});
    }

    /// A name as the table has it; empty: an error.
    std::string NameOf(const std::string& option, const std::string& word)
    {
        const auto items = SearchedItems();
        const Option* const known = TrainingOptionTable().Find(word);
        const std::string name =
            known ? known->name : MatchName(word, items); // an alias is in the table
        const auto& all = SearchedOptions();
        if (std::find(all.begin(), all.end(), name) != all.end())
        {
            return name;
        }
        errors.push_back({m_read.values.Where(option),
                          word,
                          known
                              ? "stays as it is given in every layout: --" + known->name +
                                    "=VALUE; allowed here: " + JoinNames(items)
                              : "is no option that a search changes; allowed: " + JoinNames(items),
                          known ? "" : NearestName(word, items)});
        return "";
    }

    std::vector<std::string> Searched()
    {
        std::vector<std::string> named;
        for (const std::string& word : m_read.values.List("search"))
        {
            named.push_back(NameOf("search", word));
            if (!named.back().empty() && m_read.values.Given(named.back()))
            {
                Fail("search",
                     named.back() + " is given as " + m_read.values.Where(named.back()) + "=" +
                         m_read.values.Raw(named.back()) + "; allowed: one of the two");
            }
        }
        return named;
    }

    /// A recipe is a framework's way: its options stay.
    std::vector<std::string> Defaults() const
    {
        std::vector<std::string> names = SearchedOptions();
        names.erase(std::find(names.begin(), names.end(), "dp"));
        if (m_read.values.Given("recipe"))
        {
            for (const char* const kept : {"zero", "sequence-parallel", "fused-attention"})
            {
                names.erase(std::find(names.begin(), names.end(), kept));
            }
        }
        return names;
    }

    void Fix()
    {
        for (const std::string& word : m_read.values.List("fix"))
        {
            const std::size_t equals = word.find('=');
            const std::string name = NameOf("fix", word.substr(0, equals));
            if (name.empty())
            {
                continue;
            }
            const Option& option = *TrainingOptionTable().Find(name);
            Value value;
            Error error;
            const std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
            if (!ParseValue(option, text, m_read.values.Where("fix") + "=" + name, &value, &error))
            {
                errors.push_back(error);
                continue;
            }
            const std::string canonical = CanonicalText(option, value);
            if (canonical == "auto")
            {
                Fail("fix", name + "=auto fixes nothing; allowed: a number, or without it");
                continue;
            }
            const auto [at, isNew] = m_fixed.emplace(name, canonical);
            const Value& given = m_read.values[name];
            const auto& named = m_read.values.List("search");
            if (!isNew && at->second != canonical)
            {
                Fail("fix", name + " stands there as " + at->second + " and as " + canonical);
            }
            else if (given.given && CanonicalText(option, given) != canonical)
            {
                Fail("fix",
                     "fixes " + name + " at " + canonical + ", but " + m_read.values.Where(name) +
                         " is " + CanonicalText(option, given));
            }
            else if (std::find(named.begin(), named.end(), name) != named.end())
            {
                Fail("fix", "fixes " + name + ", which --search may change; allowed: one of both");
            }
        }
        for (const auto& [name, text] : m_fixed)
        {
            SetOption(name, text, &m_read);
        }
        auto& search = m_plan.search;
        search.erase(std::remove_if(search.begin(),
                                    search.end(),
                                    [this](const std::string& name) {
                                        return name.empty() || m_read.values.Given(name);
                                    }),
                     search.end());
    }

    ReadResult m_read;
    PlannerScenario m_plan;
    std::map<std::string, std::string> m_fixed;
};

} // namespace

const std::vector<std::string>&
SearchedOptions()
{
    static const std::vector<std::string> names = {"tp",
                                                   "pp",
                                                   "cp",
                                                   "ep",
                                                   "etp",
                                                   "dp",
                                                   "virtual-stages",
                                                   "zero",
                                                   "recompute",
                                                   "sequence-parallel",
                                                   "fused-attention",
                                                   "micro-batch",
                                                   "rank-order"};
    return names;
}

void
ListGpus(Option* option)
{
    option->kind = Kind::kList;
    option->Shows("N,...").Distinct().Example("64,128");
    option->help = "GPUs that train; several numbers are compared";
    option->conditions.clear();
    option->bindings.clear();
}

std::vector<ReadResult>
JobsOfGpus(const ReadResult& read, std::vector<Error>* errors)
{
    ReadResult job = read;
    Value& gpus = job.values.Slot("gpus");
    const std::vector<std::string> counts = gpus.list;
    const std::string where = gpus.where;
    const Option& option = *TrainingOptionTable().Find("gpus");
    gpus = {};
    if (!read.values.Given("gpus"))
    {
        return {job};
    }
    std::vector<ReadResult> jobs;
    for (const std::string& count : counts)
    {
        Value value;
        Error error;
        if (!ParseValue(option, count, where, &value, &error))
        {
            errors->push_back(error);
            return {};
        }
        job.values.Slot("gpus") = value;
        jobs.push_back(job);
    }
    if (counts.size() > 1 && read.values.Given("servers"))
    {
        errors->push_back({read.values.Where("servers"),
                           read.values.Raw("servers"),
                           "follows from --gpus, which has several numbers; allowed: without it",
                           ""});
    }
    return jobs;
}

const OptionTable&
PlannerOptionTable()
{
    static const OptionTable table = MakePlannerTable();
    return table;
}

PlannerResult
ValidatePlanner(const ReadResult& read)
{
    PlannerResult result;
    result.errors = read.errors;
    if (!result.errors.empty())
    {
        return result;
    }
    const std::string resume = read.values.Given("resume") ? read.values.Text("resume") : "";
    const std::string why = resume.empty() ? "" : WhyNotResumed(resume, read.values);
    if (!why.empty())
    {
        result.errors.push_back({read.values.Where("resume"), resume, why, ""});
        return result;
    }
    PlannerReader reader(read);
    result.scenario = reader.Take();
    result.errors = reader.errors;
    result.scenario.values = read.values;
    result.scenario.run.progress = read.values.Flag("progress");
    result.scenario.run.dryRun = read.values.Flag("dry-run");
    result.scenario.run.report = read.values.Flag("report");
    result.scenario.run.asRun = SearchJson(read.values);
    result.scenario.run.asRun["given"] =
        GivenOf(PlannerOptionTable(), read.values, {"out", "resume", "progress", "dry-run"});
    result.scenario.resume = resume;
    return result;
}

void
SetOption(const std::string& option, const std::string& text, ReadResult* read)
{
    Value value;
    Error error;
    ParseValue(*TrainingOptionTable().Find(option), text, "--" + option, &value, &error);
    read->values.Slot(option) = std::move(value);
    read->kept.erase(option);
}

void
ClearOption(const std::string& option, ReadResult* read)
{
    const std::string& usual = TrainingOptionTable().Find(option)->defaultText;
    if (usual.empty())
    {
        read->values.Slot(option) = {};
        read->kept.erase(option);
        return;
    }
    SetOption(option, usual, read);
    read->values.Slot(option).given = false;
}

nlohmann::json
ScenarioOf(const ReadResult& read)
{
    const OptionTable& table = TrainingOptionTable();
    std::vector<std::string> except = {"out", "progress"}; // the search's own
    for (const Option& option : table.options)
    {
        if (!read.values.Given(option.name))
        {
            except.push_back(option.name);
        }
    }
    return ToJson(table, read.values, except);
}

} // namespace scenario
