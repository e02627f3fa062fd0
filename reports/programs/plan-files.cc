/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlplan writes.
 */
#include "contrib/rdma/core/regular-file.h"
#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/base/old-results.h"
#include "reports/base/output-errors.h"
#include "reports/programs/band-text.h"
#include "reports/programs/plan-results.h"
#include "reports/schema/object.h"
#include "reports/schema/table.h"
#include "reports/stats/stats-file.h"
#include "scenarios/asked/search.h"
#include "scenarios/compared/step-band.h"
#include "scenarios/layout-search/options/resumed-search.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace reports
{

namespace
{

using planner::Plan;
using training::Parallelism;

struct PlanRow
{
    std::size_t rank;
    const Plan& plan;
    const compared::Band* band; ///< null: none
    const scenario::PlannerScenario& scenario;

    double Step() const
    {
        return plan.verified.value_or(plan.estimate.step);
    }
};

int64_t
Picoseconds(double seconds)
{
    return std::llround(seconds * 1e12);
}

/// A column of a layout.
template <typename Value>
Column<PlanRow>
OfLayout(const char* words, Value planner::Layout::*member)
{
    return {words, [member](const PlanRow& r) { return r.plan.layout.*member; }};
}

Column<PlanRow>
OfFlag(const char* words, bool planner::Layout::*member)
{
    return {words, [member](const PlanRow& r) { return uint32_t{r.plan.layout.*member}; }};
}

Column<PlanRow>
Exposed(const char* words, Parallelism to)
{
    return {words, [to](const PlanRow& r) {
                return Picoseconds(r.plan.estimate.parts.exposed[static_cast<std::size_t>(to)]);
            }};
}

Column<PlanRow>
OfBand(const char* words, double compared::Band::*end)
{
    return {words, [end](const PlanRow& r) {
                return r.band ? std::optional(Picoseconds(r.Step() * r.band->*end)) : std::nullopt;
            }};
}

std::vector<Column<PlanRow>>
Columns()
{
    return {
        {"rank: The first is the best", [](const PlanRow& r) { return r.rank; }},
        OfLayout("gpus (count): GPUs", &planner::Layout::gpus),
        OfLayout("tp: Tensor parallel", &planner::Layout::tensor),
        OfLayout("pp: Pipeline parallel", &planner::Layout::pipeline),
        OfLayout("virtual_stages: Virtual stages of a GPU", &planner::Layout::virtualStages),
        OfLayout("cp: Context parallel", &planner::Layout::context),
        OfLayout("ep: Expert parallel", &planner::Layout::expert),
        OfLayout("dp: Data parallel", &planner::Layout::data),
        OfLayout("zero: ZeRO stage", &planner::Layout::zero),
        OfLayout("micro_batch (samples): Samples of a micro-batch", &planner::Layout::microBatch),
        OfLayout("accumulation (count): Micro-batches of a step", &planner::Layout::accumulation),
        OfLayout("recompute: Recomputation", &planner::Layout::recompute),
        OfFlag("sequence_parallel: 1: sequence parallel", &planner::Layout::sequenceParallel),
        OfFlag("fused_attention: 1: attention in one kernel", &planner::Layout::fusedAttention),
        OfLayout("memory_bytes (B): Tensors of a GPU", &planner::Layout::memory),
        {"bound_us (us): No step is shorter",
         [](const PlanRow& r) { return Picoseconds(r.plan.layout.bound); }},
        {"estimate_us (us): The step by formula",
         [](const PlanRow& r) { return Picoseconds(r.plan.estimate.step); }},
        {"verified_us (us): dltrain's step; empty: not run",
         [](const PlanRow& r) {
             return r.plan.verified ? std::optional(Picoseconds(*r.plan.verified)) : std::nullopt;
         }},
        {"mfu (0 to 1): Model FLOPs utilization of the estimate",
         [](const PlanRow& r) { return r.plan.estimate.mfu; }},
        {"computing_us (us): Computing",
         [](const PlanRow& r) { return Picoseconds(r.plan.estimate.parts.computing); }},
        Exposed("tp_us (us): Communication of TP that nothing covers", Parallelism::kTensor),
        Exposed("pp_us (us): The same of PP", Parallelism::kPipeline),
        Exposed("dp_us (us): The same of DP", Parallelism::kData),
        Exposed("ep_us (us): The same of EP", Parallelism::kExpert),
        Exposed("cp_us (us): The same of CP", Parallelism::kContext),
        {"bubble_us (us): Waiting for another stage",
         [](const PlanRow& r) { return Picoseconds(r.plan.estimate.parts.bubble); }},
        {"options: The layout as options of dltrain",
         [](const PlanRow& r) { return PlanOptions(r.scenario, r.plan.layout); }},
        OfLayout("etp: Expert tensor parallel", &planner::Layout::expertTensor),
        OfLayout("reserve_bytes (B): Memory of a GPU beside tensors", &planner::Layout::reserve),
        {"tflop_per_gpu (TFLOP): Model FLOPs of a GPU in a step",
         [](const PlanRow& r) { return r.plan.estimate.flops * 1e-12; }},
        OfBand("step_low_us (us): Lower end of the band of published steps; empty: none",
               &compared::Band::least),
        OfBand("step_high_us (us): Its upper end", &compared::Band::most)};
}

const Table<PlanRow> PLANS("plans.csv", Columns());
const Table<PlanRow> ESTIMATES("estimates.csv", Columns());

struct Planned
{
    const PlanResults& of;
    const compared::Band* band;
    const PlanLaunch& launch;
};

using planner::TriedMove;

const Object<PlanRow> PLAN{
    {"layout: Groups of GPUs and other choices, in short",
     [](const PlanRow& r) { return planner::LayoutText(r.plan.layout); }},
    {"options: The same as options of dltrain",
     [](const PlanRow& r) { return PlanOptions(r.scenario, r.plan.layout); }},
    {"gpus (count): GPUs", [](const PlanRow& r) { return r.plan.layout.gpus; }},
    {"memory_bytes (B): Tensors of a GPU", [](const PlanRow& r) { return r.plan.layout.memory; }},
    {"estimate_us (us): The step by formula",
     [](const PlanRow& r) { return r.plan.estimate.step * 1e6; }},
    {"verified_us (us): dltrain's step; null: not run",
     [](const PlanRow& r) {
         return r.plan.verified ? std::optional(*r.plan.verified * 1e6) : std::nullopt;
     }},
    {"not_verified: Why its run has no step; empty: it has, or there was none",
     [](const PlanRow& r) { return r.plan.notVerified; }}};

const Object<TriedMove> MOVE{
    {"option: Option of dltrain", &TriedMove::option},
    {"value: Its value", &TriedMove::value},
    {"step_us (us): dltrain's step; null: none",
     [](const TriedMove& m) { return m.step ? std::optional(*m.step * 1e6) : std::nullopt; }},
    {"kept: Whether the best layout has it", &TriedMove::isKept}};

const Object<Planned> SEARCH{
    {"layouts (count): Layouts of the space",
     [](const Planned& p) { return p.of.found.count.seen; }},
    {"too_large (count): Those that do not fit a GPU",
     [](const Planned& p) { return p.of.found.count.tooLarge; }},
    {"pruned (count): Those whose lower bound is too long",
     [](const Planned& p) { return p.of.found.pruned; }},
    {"estimated (count): Those with an estimate",
     [](const Planned& p) { return p.of.found.estimated; }},
    {"whole: Whether the search came to its end",
     [](const Planned& p) { return p.of.found.whole; }},
    {"objective: What ranks layouts",
     [](const Planned& p) {
         return p.of.scenario.values.Get(&scenario::asked::Search::objective);
     }},
    {"model: Model", [](const Planned& p) { return p.of.clusters.front().model; }},
    {"gpu: GPU", [](const Planned& p) { return p.of.clusters.front().gpu; }},
    {"gpu_memory_bytes (B): Memory of a GPU",
     [](const Planned& p) { return p.of.best.gpu.memoryBytes; }},
    {"words: The search in words", [](const Planned& p) { return DroppedText(p.of.found); }},
    {"plans: The table, best first",
     [](const Planned& p) {
         std::vector<PlanRow> rows;
         for (const Plan& plan : p.of.found.plans)
         {
             rows.push_back({rows.size() + 1, plan, p.band, p.of.scenario});
         }
         return rows;
     },
     PLAN},
    {"moves: Changes of the best layout that were run",
     [](const Planned& p) -> const std::vector<TriedMove>& { return p.of.found.moves; },
     MOVE},
    {"compared_with: Published steps like the best",
     [](const Planned& p) {
         const Plan& best = p.of.found.plans.front();
         return ComparedStep{p.of.best, best.verified.value_or(best.estimate.step) * 1e6};
     },
     ComparedKeys()},
    {"megatron: Arguments of Megatron-LM",
     [](const Planned& p) { return p.launch.megatron.flags; }},
    {"megatron_notes: What Megatron-LM has no flag for, or refuses, and its environment",
     [](const Planned& p) { return p.launch.megatron.notes; }},
    {"deepspeed_notes: What DeepSpeed has no key for, or refuses",
     [](const Planned& p) { return p.launch.deepSpeed.notes; }},
    {"nccl_notes: NCCL's variables of the collectives that are given, and what it has none for",
     [](const Planned& p) { return p.launch.nccl; }},
    {"torchrun: Line that starts it", [](const Planned& p) {
         return planner::TorchrunLine(p.of.clusters[p.of.found.plans.front().layout.job]);
     }}};

const Object<Planned> PLANNED{{"planning: With dlplan: the search and its best layouts",
                               [](const Planned& p) -> const Planned& { return p; },
                               SEARCH}};
const RegisteredKeys g_planned(Section::kPlanning, PLANNED);

/// Writes a file. \return why not
std::string
Write(const std::string& path, const std::string& text)
{
    const std::string why = rdma::WriteWhole(path, text);
    return why.empty() ? "" : path + ": cannot be written: " + why;
}

/// Files of the best plan.
constexpr const char* PLAN_JSON = "plan.json";
constexpr const char* DEEPSPEED_JSON = "deepspeed.json";
constexpr const char* MEGATRON_TXT = "megatron.txt";
constexpr const char* LAUNCH_NOTES_TXT = "launch-notes.txt";

void
WriteTable(const Table<PlanRow>& table,
           const std::vector<const Plan*>& plans,
           const compared::Band* band,
           const scenario::PlannerScenario& scenario)
{
    const std::string& folder = scenario.run.out;
    LineLog file(folder + "/" + table.GetFile());
    file.Write(table.Header());
    std::string line;
    std::size_t rank = 0;
    for (const Plan* plan : plans)
    {
        table.Write(line, {++rank, *plan, band, scenario});
        file.Write(line);
    }
    file.Close();
}

/// Best estimate first.
void
SortByEstimate(const scenario::PlannerScenario& scenario, std::vector<const Plan*>& plans)
{
    const auto score = [&scenario](const Plan* p) {
        return scenario.objective->score(p->estimate.step, p->layout.gpus);
    };
    std::stable_sort(plans.begin(), plans.end(), [&score](const Plan* a, const Plan* b) {
        return score(a) < score(b);
    });
}

/// All estimates, best first, with the steps of those that were run.
std::vector<const Plan*>
Estimated(const PlanResults& r)
{
    std::map<std::string, const Plan*> verified;
    for (const Plan& plan : r.found.plans)
    {
        verified[planner::EstimateKey(plan.layout)] = &plan;
    }
    std::vector<const Plan*> all;
    for (const Plan& plan : r.found.all)
    {
        const auto at = verified.find(planner::EstimateKey(plan.layout));
        all.push_back(at == verified.end() ? &plan : at->second);
    }
    SortByEstimate(r.scenario, all);
    return all;
}

} // namespace

std::string
BeginPlans(const scenario::PlannerScenario& scenario)
{
    const std::string& folder = scenario.run.out;
    if (scenario.resume.empty())
    {
        const auto inputs = scenario::FilesOf(scenario::PlannerOptionTable(), scenario.values);
        RemoveOldResults(folder, inputs);
        DropPlans(scenario);
    }
    return Write(folder + "/" + scenario::kSearchFile,
                 scenario::SearchText(scenario.values, scenario.files));
}

void
DropPlans(const scenario::PlannerScenario& scenario)
{
    if (!scenario.resume.empty())
    {
        return; // an earlier search's
    }
    for (const char* const name :
         {scenario::kSearchFile, PLAN_JSON, DEEPSPEED_JSON, MEGATRON_TXT, LAUNCH_NOTES_TXT})
    {
        const std::filesystem::path path = scenario.run.out + "/" + name;
        std::error_code failed;
        if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path, failed)))
        {
            std::filesystem::remove(path, failed);
        }
    }
}

void
KeepEstimates(const scenario::PlannerScenario& scenario, const std::vector<Plan>& all)
{
    std::vector<const Plan*> plans;
    for (const Plan& plan : all)
    {
        plans.push_back(&plan);
    }
    SortByEstimate(scenario, plans);
    WriteTable(ESTIMATES, plans, nullptr, scenario);
}

std::string
WritePlans(const PlanResults& r, const std::string& folder)
{
    const planner::Layout& layout = r.found.plans.front().layout;
    const auto read = planner::WithLayout(r.scenario.jobs[layout.job], layout);
    const PlanLaunch launch = LaunchOf(r);
    std::vector<std::string> notes = launch.megatron.notes;
    notes.insert(notes.end(), launch.deepSpeed.notes.begin(), launch.deepSpeed.notes.end());
    notes.insert(notes.end(), launch.nccl.begin(), launch.nccl.end());
    const std::pair<const char*, std::string> files[] = {
        {scenario::kSearchFile, scenario::SearchText(r.scenario.values, r.scenario.files)},
        {PLAN_JSON, scenario::ScenarioOf(read).dump(2) + "\n"},
        {DEEPSPEED_JSON, launch.deepSpeed.config.dump(2) + "\n"},
        {MEGATRON_TXT, InLines(launch.megatron.flags)},
        {LAUNCH_NOTES_TXT, InLines(notes)}};
    for (const auto& [name, text] : files)
    {
        if (const std::string why = Write(folder + "/" + name, text); !why.empty())
        {
            return why;
        }
    }
    const compared::Band* const band = compared::BandOf(r.best);
    std::vector<const Plan*> best;
    for (const Plan& plan : r.found.plans)
    {
        best.push_back(&plan);
    }
    WriteTable(PLANS, best, band, r.scenario);
    WriteTable(ESTIMATES, Estimated(r), band, r.scenario);
    RunOutcome outcome;
    outcome.completed = r.found.whole;
    outcome.interrupted = !r.found.whole;
    outcome.message = r.found.whole ? "" : "the search was ended; --resume goes on with it";
    auto stats = BeginStats("dlplan", r.scenario.run, outcome);
    PLANNED.AddTo(stats, {r, band, launch});
    WriteStats(stats, folder);
    return OutputErrors::First();
}

planner::Estimates
ReadEstimates(const scenario::PlannerScenario& scenario, const std::string& folder)
{
    planner::Estimates known;
    // What all layouts have stands ahead of what the search has found (PlanOptions).
    const std::string fixed = PlanOptions(scenario, planner::Layout());
    const std::string path = folder + "/" + ESTIMATES.GetFile();
    std::ifstream file;
    if (rdma::IsReadable(path)) // opening a pipe would wait
    {
        file.open(path);
    }
    std::vector<std::string> names;
    for (std::string line; std::getline(file, line);)
    {
        std::vector<std::string> fields;
        std::istringstream in(line);
        for (std::string field; std::getline(in, field, ',');)
        {
            fields.push_back(field);
        }
        if (names.empty())
        {
            names = fields;
            continue;
        }
        std::map<std::string, std::string> row;
        for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i)
        {
            row[names[i]] = fields[i];
        }
        const auto us = [&row](const char* name) {
            return std::strtod(row[name].c_str(), nullptr);
        };
        planner::StepEstimate estimate;
        estimate.step = us("estimate_us") * 1e-6;
        estimate.flops = us("tflop_per_gpu") * 1e12;
        estimate.mfu = us("mfu");
        if (!(estimate.step > 0) || !(estimate.flops > 0))
        {
            continue; // half a line
        }
        estimate.parts.computing = us("computing_us") * 1e-6;
        estimate.parts.bubble = us("bubble_us") * 1e-6;
        for (const auto& [name, to] : {std::pair("tp_us", Parallelism::kTensor),
                                       std::pair("pp_us", Parallelism::kPipeline),
                                       std::pair("dp_us", Parallelism::kData),
                                       std::pair("ep_us", Parallelism::kExpert),
                                       std::pair("cp_us", Parallelism::kContext)})
        {
            estimate.parts.exposed[static_cast<std::size_t>(to)] = us(name) * 1e-6;
        }
        std::string found = row["options"];
        if (!fixed.empty() && found.rfind(fixed, 0) == 0)
        {
            found.erase(0, fixed.size() + 1);
        }
        if (estimate.step < us("bound_us") * 1e-6)
        {
            continue; // nothing is shorter: no search wrote it
        }
        known[row["gpus"] + " " + found] = estimate;
    }
    return known;
}

} // namespace reports
