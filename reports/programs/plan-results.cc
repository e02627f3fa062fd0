/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/plan-results.h"

#include "reports/base/human-text.h"
#include "reports/programs/band-text.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace reports
{

namespace
{

using planner::Plan;
using training::Parallelism;

/// In the order of the table.
constexpr Parallelism kShown[] = {Parallelism::kTensor,
                                  Parallelism::kPipeline,
                                  Parallelism::kData,
                                  Parallelism::kExpert,
                                  Parallelism::kContext};

double
ExposedTo(const Plan& plan, Parallelism parallelism)
{
    return plan.estimate.parts.exposed[static_cast<std::size_t>(parallelism)];
}

/// Those that some plan has.
std::vector<Parallelism>
Used(const std::vector<Plan>& plans)
{
    std::vector<Parallelism> used;
    for (const Parallelism p : kShown)
    {
        if (std::any_of(plans.begin(), plans.end(), [p](const Plan& plan) {
                return ExposedTo(plan, p) > 0;
            }))
        {
            used.push_back(p);
        }
    }
    return used;
}

std::string
ShareText(double part, double step)
{
    return scenario::Format("%.1f%%", 100 * part / step);
}

double
StepOf(const Plan& plan)
{
    return plan.verified.value_or(plan.estimate.step);
}

std::string
PriceText(double dollars)
{
    return dollars >= 1e6   ? scenario::Format("$%.3g M", dollars * 1e-6)
           : dollars >= 1e4 ? scenario::Format("$%.0f k", dollars * 1e-3)
                            : scenario::Format("$%.2f", dollars);
}

/// "300B": as --tokens takes it.
std::string
TokensText(double tokens)
{
    for (const auto& [unit, letter] :
         {std::pair(1e12, "T"), std::pair(1e9, "B"), std::pair(1e6, "M"), std::pair(1e3, "K")})
    {
        if (tokens >= unit)
        {
            return scenario::Format("%.6g", tokens / unit) + letter;
        }
    }
    return scenario::Format("%.6g", tokens);
}

void
PrintTable(std::ostream& os, const PlanResults& r)
{
    const std::vector<Plan>& plans = r.found.plans;
    const std::vector<Parallelism> used = Used(plans);
    const bool verified = std::any_of(plans.begin(), plans.end(), [](const Plan& plan) {
        return plan.verified || !plan.notVerified.empty();
    });
    const bool several = std::any_of(plans.begin(),
                                     plans.end(),
                                     [&plans](const Plan& plan) {
                                         return plan.layout.gpus != plans.front().layout.gpus;
                                     }) ||
                         (r.clusters.size() > 1 && r.clusters.front().cluster.kinds.empty());
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> head = {"", "layout", "memory", "estimate"};
    if (verified)
    {
        head.emplace_back("verified");
    }
    head.emplace_back("MFU");
    for (const Parallelism p : used)
    {
        head.emplace_back(training::ParallelismWord(p));
    }
    head.insert(head.end(), {"bubble", "why not"});
    if (several)
    {
        head.insert(head.begin() + 1, "GPUs");
    }
    rows.push_back(head);
    for (std::size_t i = 0; i < plans.size(); ++i)
    {
        const Plan& plan = plans[i];
        const double step = plan.estimate.step;
        std::vector<std::string> row = {std::to_string(i + 1),
                                        planner::LayoutText(plan.layout),
                                        scenario::GibText(static_cast<double>(plan.layout.memory)),
                                        scenario::SecondsText(step)};
        if (verified)
        {
            row.push_back(plan.verified ? scenario::SecondsText(*plan.verified) : "-");
        }
        row.push_back(scenario::Format("%.1f%%", 100 * plan.estimate.mfu * step / StepOf(plan)));
        for (const Parallelism p : used)
        {
            row.push_back(ShareText(ExposedTo(plan, p), step));
        }
        row.push_back(ShareText(plan.estimate.parts.bubble, step));
        row.push_back(i == 0 ? "the best" : planner::WhyNotBest(plan, plans.front()));
        if (several)
        {
            row.insert(row.begin() + 1, std::to_string(plan.layout.gpus));
        }
        rows.push_back(row);
    }
    std::vector<std::size_t> widths(head.size(), 0);
    for (const auto& row : rows)
    {
        for (std::size_t i = 0; i < row.size(); ++i)
        {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    const std::size_t text = several ? 2 : 1; // columns of words stand left
    for (const auto& row : rows)
    {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
        {
            const std::string space(widths[i] - row[i].size(), ' ');
            const bool left = i == text || i + 1 == row.size();
            line += (i == 0 ? "" : "  ") + (left ? row[i] + space : space + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        os << line << "\n";
    }
    os << "TP, PP, ...: communication that nothing covers, as shares of the estimate; bubble: "
          "waiting for another stage\n";
}

/// How far estimates are from verified steps.
std::string
SpreadText(const std::vector<Plan>& plans)
{
    double least = 1e300;
    double most = -1e300;
    std::size_t count = 0;
    std::size_t failed = 0;
    std::string why;
    for (const Plan& plan : plans)
    {
        failed += plan.notVerified.empty() ? 0 : 1;
        why = why.empty() ? plan.notVerified : why;
        if (plan.verified)
        {
            const double off = *plan.verified / plan.estimate.step - 1;
            least = std::min(least, off);
            most = std::max(most, off);
            ++count;
        }
    }
    if (count + failed == 0)
    {
        return "";
    }
    std::string text = "Verified               ";
    text += failed == 0 ? topo::Counted(count, "layout")
                        : std::to_string(count) + " of " + topo::Counted(count + failed, "layout");
    if (count > 0)
    {
        text += scenario::Format(", %+.1f%% to %+.1f%% of the estimate", 100 * least, 100 * most);
    }
    return text + (failed > 0 ? Wrapped(": " + why, 23, 2) : "") + "\n";
}

void
PrintMoves(std::ostream& os, const planner::Found& found)
{
    std::string label = "Moves";
    for (const planner::TriedMove& move : found.moves)
    {
        os << label << std::string(23 - label.size(), ' ') << "--" << move.option << "="
           << move.value << ": "
           << (move.step ? scenario::SecondsText(*move.step) : "not run: " + move.why)
           << (move.isKept ? ", kept" : "") << "\n";
        label.clear();
    }
}

void
PrintTraining(std::ostream& os, const PlanResults& r)
{
    const Plan& plan = r.found.plans.front();
    const double step = StepOf(plan);
    const double hours = step * plan.layout.gpus / 3600;
    const double tokens = static_cast<double>(r.best.GlobalBatch()) * r.best.Sequence();
    if (r.scenario.price > 0)
    {
        os << "Cost                   "
           << scenario::Format("$%.4g", hours * r.scenario.price * 1e9 / tokens)
           << " a billion tokens, at " << scenario::Format("$%.4g", r.scenario.price)
           << " a GPU-hour\n";
    }
    if (r.scenario.tokens > 0)
    {
        const double steps = std::ceil(r.scenario.tokens / tokens);
        os << "Training               " << TokensText(r.scenario.tokens)
           << scenario::Format(" tokens: %.0f steps, %.3g days, %.4g GPU-hours",
                               steps,
                               steps * step / 86400,
                               steps * hours);
        if (r.scenario.price > 0)
        {
            os << ", " << PriceText(steps * hours * r.scenario.price);
        }
        os << ", without failures and checkpoints\n";
    }
}

void
PrintFlags(std::ostream& os, const PlanResults& r)
{
    const planner::Layout& layout = r.found.plans.front().layout;
    const PlanLaunch launch = LaunchOf(r);
    std::string label;
    const auto begin = [&](const char* framework) { label = framework; };
    const auto print = [&](const std::string& text) {
        os << label << std::string(23 - label.size(), ' ') << text << "\n";
        label.clear();
    };
    const auto printNotes = [&](const std::vector<std::string>& notes) {
        for (const std::string& note : notes)
        {
            print(Wrapped(note, 23, 2));
        }
    };
    begin("dltrain");
    print(PlanOptions(r.scenario, layout));
    begin("Megatron-LM");
    for (const std::string& flag : launch.megatron.flags)
    {
        print(flag);
    }
    printNotes(launch.megatron.notes);
    begin("DeepSpeed");
    print(launch.deepSpeed.config.dump());
    if (layout.tensor * layout.pipeline * layout.context * layout.expert > 1)
    {
        print("its tensor, pipeline and expert parallelism are set in the script");
    }
    printNotes(launch.deepSpeed.notes);
    begin(launch.nccl.empty() ? "" : "NCCL");
    printNotes(launch.nccl);
    begin("torchrun");
    print(planner::TorchrunLine(r.clusters[layout.job]));
}

} // namespace

PlanLaunch
LaunchOf(const PlanResults& r)
{
    const planner::Layout& layout = r.found.plans.front().layout;
    const scenario::Values given = planner::WithLayout(r.scenario.jobs[layout.job], layout).values;
    return {planner::LaunchOfMegatron(r.best, &given),
            planner::LaunchOfDeepSpeed(r.best, &given),
            planner::NcclNotes(given)};
}

std::string
PlanOptions(const scenario::PlannerScenario& scenario, const planner::Layout& layout)
{
    const scenario::Values& values = scenario.jobs[layout.job].values;
    std::string text;
    for (const std::string& name : scenario::SearchedOptions())
    {
        const bool isFound = std::any_of(layout.settings.begin(),
                                         layout.settings.end(),
                                         [&name](const auto& one) { return one.Name() == name; });
        if (values.Given(name) && !isFound)
        {
            const scenario::Option& option = *scenario::PlannerOptionTable().Find(name);
            text += (text.empty() ? "--" : " --") + name + "=" +
                    scenario::CanonicalText(option, values[name]);
        }
    }
    const std::string found = planner::LayoutOptions(layout);
    return text + (text.empty() || found.empty() ? "" : " ") + found;
}

std::string
DroppedText(const planner::Found& found)
{
    const planner::SpaceCount& count = found.count;
    uint64_t refused = 0;
    std::string by;
    for (const auto& [option, layouts] : count.refused)
    {
        refused += layouts;
        by += (by.empty() ? "" : ", ") + option + " " + std::to_string(layouts);
    }
    std::string text = topo::Counted(count.seen, "layout");
    const auto add = [&text](uint64_t number, const std::string& what) {
        text += number > 0 ? ", " + std::to_string(number) + " " + what : "";
    };
    add(refused, "refused by a rule (" + by + ")");
    add(count.tooLarge,
        "do not fit (they need " +
            scenario::Format("%.1f GiB", static_cast<double>(count.leastMemory) / (1ULL << 30)) +
            " and more)");
    add(found.pruned, "cannot beat the best by their lower bound");
    add(found.untried,
        "not tried, with bounds from " + scenario::SecondsText(found.leastUntried.value_or(0)) +
            " on");
    add(found.unknown, "have no estimate");
    add(found.estimated, "estimated");
    return text;
}

void
PrintPlans(std::ostream& os, const PlanResults& r)
{
    PrintTable(os, r);
    os << "\nSearch                 " << DroppedText(r.found)
       << (r.found.whole ? "" : "; ended early") << "\n"
       << SpreadText(r.found.plans);
    const Plan& best = r.found.plans.front();
    const double step = best.verified.value_or(best.estimate.step) * 1e6;
    const double mfu = best.estimate.mfu * best.estimate.step * 1e6 / step;
    os << "How sure               " << Wrapped(BandText({r.best, step, mfu}), 23) << "\n";
    PrintMoves(os, r.found);
    PrintTraining(os, r);
    PrintFlags(os, r);
}

} // namespace reports
