/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/planner-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/search.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/layout-search/options/estimated-options.h"
#include "scenarios/layout-search/options/kind-orders.h"
#include "scenarios/layout-search/options/resumed-search.h"
#include "scenarios/network/child-options.h"
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
            .As(&asked::Search::fix)
            .Shows("NAME=VALUE,...")
            .Otherwise("none")
            .Example("tp=8"),
        section.List("search", "options that may change; all others are dltrain's defaults")
            .As(&asked::Search::search)
            .Shows("NAME,...")
            .Distinct()
            .Otherwise("all of them but dp")
            .Example("tp,pp"),
        section.Name("objective", "how layouts are ranked")
            .As(&asked::Search::objective)
            .NamesOf<Objective>("objective")
            .Default("step")
            .Example("gpu-hours"),
        section.Real("price", "$ a GPU-hour")
            .As(&asked::Search::price)
            .Range(0, 1e6)
            .Otherwise("not known")
            .Example("2.5"),
        section.Text("tokens", "tokens of the whole training, to print its days and its cost")
            .As(&asked::Search::tokens)
            .Shows("15T")
            .Otherwise("not known")
            .Example("15T"),
        section
            .Duration("time", "end the search after this wall time, with the best layouts so far")
            .As(&asked::Search::time)
            .Range(1e12, 1e17)
            .Otherwise("no limit")
            .Example("10min"),
        section.Integer("top", "layouts in the table")
            .As(&asked::Search::top)
            .Range(1, 1000)
            .Default("10")
            .Example("3"),
        section
            .Integer("verify", "run so many of the best layouts by dltrain, two at a time; 0: none")
            .As(&asked::Search::verify)
            .Range(0, 1000)
            .Default("0")
            .Example("3"),
        section.Name("verify-network", "network of the runs of --verify")
            .As(&asked::Search::verifyNetwork)
            .Names("network of the verification",
                   {{"auto",
                     "fluid where links between switches are given, else analytic; packet where an "
                     "option needs it"},
                    {"analytic", "formulas, links between switches have no limit"},
                    {"fluid", "max-min fair rates over all links"},
                    {"packet", "every packet"}})
            .Default("auto")
            .Example("fluid"),
        section
            .Integer("moves",
                     "then so many runs of dltrain with small changes of the best: buckets, "
                     "collective algorithms, channels, rank order; 0: none")
            .As(&asked::Search::moves)
            .Range(0, 100)
            .Default("0")
            .Example("4"),
        section.Text("resume", "go on with a search that was ended, in its folder")
            .As(&asked::Search::resume)
            .Shows("DIR")
            .Otherwise("none")
            .Example("results/dlplan-1"),
        section
            .Real("memory-margin",
                  "share of a GPU's memory that tensors leave free, in the place of the plan's own "
                  "estimate of what is beside them")
            .As(&asked::Search::memoryMargin)
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
        for (const Member alone : {Member(&asked::Run::jobs),
                                   Member(&asked::Training::trace),
                                   Member(&asked::Launch::launch),
                                   Member(&asked::Training::replicas),
                                   Member(&asked::Training::autoParallel)})
        {
            if (values.Given(alone))
            {
                Fail(alone, "a search needs a model whose layout is open; allowed: --model");
            }
        }
        if (values.Given(&asked::Training::layers))
        {
            Fail(&asked::Training::layers, "a search looks at all blocks; allowed: without it");
        }
        if (values.Given(&asked::Training::overlapNextForward) &&
            values.Get(&asked::Training::overlapNextForward))
        {
            Fail(&asked::Training::overlapNextForward,
                 "has no step of its own to estimate: its forward is beside the reductions of the "
                 "step before; allowed: without it");
        }
        if (values.Given(&asked::Training::study))
        {
            Fail(&asked::Training::study, "is of one layout; allowed: without it, or dltrain");
        }
        if (values.Given(&asked::Training::strategy) &&
            values.Get(&asked::Training::strategy) != "sync")
        {
            Fail(&asked::Training::strategy, "has no layouts to search; allowed: sync");
        }
        const auto* const schedule =
            values.Has(&asked::Training::pipelineSchedule)
                ? training::FindPipelineSchedule(values.Get(&asked::Training::pipelineSchedule))
                : nullptr;
        if (schedule && !schedule->Flushes())
        {
            Fail(&asked::Training::pipelineSchedule,
                 "has no step of its own to estimate: its pipeline is never empty; allowed: " +
                     std::string("1f1b, interleaved and others that flush"));
        }
        if (values.Get(&asked::Training::partition) == "pipedream")
        {
            Fail(&asked::Training::partition,
                 "finds the stages itself; allowed: uniform, balanced, parameters");
        }
        if (!values.Given(&asked::Training::globalBatch))
        {
            errors.push_back({"--global-batch",
                              "",
                              "is needed: layouts are compared over the same samples of a step; "
                              "--global-batch=512, say",
                              ""});
        }
        if (values.Given(&asked::Training::accumulation))
        {
            Fail(&asked::Training::accumulation,
                 "follows from --global-batch and the layout; allowed: without it");
        }
        if (errors.empty()) // else its own words are better
        {
            for (const std::string& name : RefusedOptions(values))
            {
                errors.push_back({values.Where(name),
                                  values.Raw(name),
                                  "is in no estimate of a search; allowed: without it, or dltrain",
                                  ""});
                break; // others may only go with it
            }
        }
        const bool isAuto = values.Given(&asked::Training::microBatch) &&
                            values.Get(&asked::Training::microBatch).word == "auto"; // searched
        if (isAuto)
        {
            SetOption(&asked::Training::microBatch, "1", &m_read);
            m_read.values.Slot(&asked::Training::microBatch).given = false;
        }
        m_plan.search = values.Given(&asked::Search::search) ? Searched() : Defaults();
        if (isAuto && std::find(m_plan.search.begin(), m_plan.search.end(), "micro-batch") ==
                          m_plan.search.end())
        {
            m_plan.search.emplace_back("micro-batch");
        }
        m_plan.objective = &RegisteredObjective::Get(values.Get(&asked::Search::objective));
        m_plan.price = values.Given(&asked::Search::price) ? values.Get(&asked::Search::price) : 0;
        if (m_plan.objective->needsPrice && m_plan.price <= 0)
        {
            Fail(&asked::Search::objective, "needs the price of a GPU-hour: --price=2.5, say");
        }
        if (values.Given(&asked::Search::tokens))
        {
            const auto tokens = ParseTokens(values.Get(&asked::Search::tokens));
            if (!tokens)
            {
                Fail(&asked::Search::tokens,
                     "allowed: a number above 0, with K, M, B or T behind it: 15T");
            }
            m_plan.tokens = tokens.value_or(0);
        }
        m_plan.limitSeconds = values.Given(&asked::Search::time)
                                  ? static_cast<double>(values.Get(&asked::Search::time).ps) * 1e-12
                                  : 0;
        m_plan.top = values.Get(&asked::Search::top);
        m_plan.verify = values.Get(&asked::Search::verify);
        m_plan.verifyNetwork = values.Get(&asked::Search::verifyNetwork);
        m_plan.moves = values.Get(&asked::Search::moves);
        if (m_plan.moves > 0 && m_plan.verify == 0)
        {
            Fail(&asked::Search::moves,
                 "changes the best layout of --verify; allowed: with --verify=3, say");
        }
        if (values.Given(&asked::Search::memoryMargin))
        {
            m_plan.memoryMargin = values.Get(&asked::Search::memoryMargin);
        }
        Fix();
        m_plan.jobs = WithOrdersOfKinds(JobsOfGpus(m_read, &errors));
        return m_plan;
    }

    std::vector<Error> errors;

  private:
    void Fail(Member option, const std::string& problem, std::string nearest = "")
    {
        const Values& values = m_read.values;
        errors.push_back({values.Where(option), values.Raw(option), problem, std::move(nearest)});
    }

    /// A name as the table has it; empty: an error.
    std::string NameOf(Member option, const std::string& word)
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
        for (const std::string& word : m_read.values.Get(&asked::Search::search))
        {
            named.push_back(NameOf(&asked::Search::search, word));
            if (!named.back().empty() && m_read.values.Given(named.back()))
            {
                Fail(&asked::Search::search,
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
        if (m_read.values.Given(&asked::Training::recipe))
        {
            for (const Member kept : {Member(&asked::Training::zero),
                                      Member(&asked::Training::sequenceParallel),
                                      Member(&asked::Training::fusedAttention)})
            {
                names.erase(std::find(names.begin(), names.end(), OptionOf(kept)));
            }
        }
        return names;
    }

    void Fix()
    {
        for (const std::string& word : m_read.values.Get(&asked::Search::fix))
        {
            const std::size_t equals = word.find('=');
            const std::string name = NameOf(&asked::Search::fix, word.substr(0, equals));
            if (name.empty())
            {
                continue;
            }
            const Option& option = *TrainingOptionTable().Find(name);
            Value value;
            Error error;
            const std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
            if (!ParseValue(option,
                            text,
                            m_read.values.Where(&asked::Search::fix) + "=" + name,
                            &value,
                            &error))
            {
                errors.push_back(error);
                continue;
            }
            const std::string canonical = CanonicalText(option, value);
            if (canonical == "auto")
            {
                Fail(&asked::Search::fix,
                     name + "=auto fixes nothing; allowed: a number, or without it");
                continue;
            }
            const auto [at, isNew] = m_fixed.emplace(name, canonical);
            const Value& given = m_read.values[name];
            const auto& named = m_read.values.Get(&asked::Search::search);
            if (!isNew && at->second != canonical)
            {
                Fail(&asked::Search::fix,
                     name + " stands there as " + at->second + " and as " + canonical);
            }
            else if (given.given && CanonicalText(option, given) != canonical)
            {
                Fail(&asked::Search::fix,
                     "fixes " + name + " at " + canonical + ", but " + m_read.values.Where(name) +
                         " is " + CanonicalText(option, given));
            }
            else if (std::find(named.begin(), named.end(), name) != named.end())
            {
                Fail(&asked::Search::fix,
                     "fixes " + name + ", which --search may change; allowed: one of both");
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
    option->As(&asked::Search::gpus);
}

std::vector<ReadResult>
JobsOfGpus(const ReadResult& read, std::vector<Error>* errors)
{
    ReadResult job = read;
    Value& gpus = job.values.Slot(&asked::Search::gpus);
    const std::vector<std::string> counts = gpus.list;
    const std::string where = gpus.where;
    const Option& option = *TrainingOptionTable().Find(&asked::Cluster::gpus);
    gpus = {};
    job.values.BindTo(TrainingOptionTable());
    if (!read.values.Given(&asked::Search::gpus))
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
        job.values.Slot(&asked::Cluster::gpus) = value;
        jobs.push_back(job);
    }
    if (counts.size() > 1 && read.values.Given(&asked::Cluster::servers))
    {
        errors->push_back({read.values.Where(&asked::Cluster::servers),
                           read.values.Raw(&asked::Cluster::servers),
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

namespace
{

const RegisteredTable g_plannerRows(&PlannerOptionTable);

} // namespace

PlannerResult
ValidatePlanner(const ReadResult& read)
{
    PlannerResult result;
    result.errors = read.errors;
    if (!result.errors.empty())
    {
        return result;
    }
    const std::string resume =
        read.values.Given(&asked::Search::resume) ? read.values.Get(&asked::Search::resume) : "";
    const std::string why = resume.empty() ? "" : WhyNotResumed(resume, read.values);
    if (!why.empty())
    {
        result.errors.push_back({read.values.Where(&asked::Search::resume), resume, why, ""});
        return result;
    }
    PlannerReader reader(read);
    result.scenario = reader.Take();
    result.errors = reader.errors;
    result.scenario.values = read.values;
    result.scenario.run.progress = read.values.Get(&asked::Run::progress);
    const std::string none = result.scenario.verify > 0 ? "" : "without --verify=5, say";
    for (Error& error : SetChildPlace(read.values, none, &result.scenario.run))
    {
        result.errors.push_back(std::move(error));
    }
    result.scenario.run.dryRun = read.values.Get(&asked::Run::dryRun);
    result.scenario.run.report = read.values.Get(&asked::Run::report);
    result.scenario.run.asRun = SearchJson(read.values);
    result.scenario.run.asRun["given"] =
        GivenOf(PlannerOptionTable(),
                read.values,
                {"out", "resume", "progress", "dry-run", "on", "slurm-options"});
    result.scenario.resume = resume;
    return result;
}

void
SetOption(const std::string& option, const std::string& text, ReadResult* read)
{
    const Option& row = *TrainingOptionTable().Find(option);
    Value value;
    Error error;
    ParseValue(row, text, "--" + option, &value, &error);
    read->values.Slot(option) = std::move(value);
    read->kept.erase(option);
}

void
ClearOption(const std::string& option, ReadResult* read)
{
    const Option& row = *TrainingOptionTable().Find(option);
    if (row.defaultText.empty())
    {
        read->values.Slot(option) = {};
        read->kept.erase(option);
        return;
    }
    SetOption(option, row.defaultText, read);
    read->values.Slot(option).given = false;
}

nlohmann::json
ScenarioOf(const ReadResult& read)
{
    const OptionTable& table = TrainingOptionTable();
    std::vector<std::string> except = {"out",
                                       "progress",
                                       "on",
                                       "slurm-options"}; // the search's own
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
