/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve prints of many models on a GPU.
 */
#include "reports/base/answer-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/multiplex-results.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <tuple>

namespace reports
{

using multiplex::ModelResult;
using multiplex::PolicyResult;
using multiplex::ShareText;
using scenario::MultiplexTask;

namespace
{

/// "12.3", three digits.
std::string
Ms(double seconds)
{
    return Three(seconds * 1e3);
}

/// Of 1; not "100%" for less than all.
std::string
Attained(double share)
{
    const double percent = 100 * share;
    return percent < 100 && percent >= 99.95 ? "99.9%" : Format("%.1f%%", percent);
}

std::string
PerSecond(double rate)
{
    return rate >= 999.5 ? HumanCount(static_cast<uint64_t>(std::llround(rate))) : Three(rate);
}

void
SayOverload(std::ostream& os, const PolicyResult& run)
{
    for (const ModelResult& model : run.models)
    {
        if (model.overloaded)
        {
            const double behind =
                static_cast<double>(model.arrived - model.servedByEnd) / run.duration;
            os << model.name << " cannot keep up: " << PerSecond(model.Throughput(run.duration))
               << " of " << PerSecond(model.Arrivals(run.duration))
               << " requests/s served, its queue grows by " << PerSecond(behind) << " a second\n";
        }
    }
    if (run.ended)
    {
        os << "The run ended at " << scenario::SpanText(run.span) << ": "
           << HumanCount(multiplex::kMostWaiting) << " requests waited\n";
    }
}

/// Instances of a mix, in closed loops: what they can do.
void
SayInstances(std::ostream& os, const PolicyResult& run)
{
    TextRows rows = {
        {"model", "instance", "processes", "loop", "batch", "at most/s", "80% band", "ms"}};
    std::vector<std::string> bands;
    for (const ModelResult& model : run.models)
    {
        if (!model.instance)
        {
            continue;
        }
        const multiplex::OnInstance& of = *model.instance;
        rows.push_back({model.name,
                        of.instance,
                        std::to_string(of.processes),
                        of.closed ? "closed" : "open",
                        std::to_string(model.place.batch),
                        PerSecond(of.capacity),
                        of.low ? PerSecond(*of.low) + " to " + PerSecond(*of.high) : "none",
                        Ms(of.seconds)});
        if (std::find(bands.begin(), bands.end(), of.band) == bands.end())
        {
            bands.push_back(of.band);
        }
    }
    if (rows.size() < 2)
    {
        return;
    }
    os << "\nWhat full batches in closed loops bring:\n\n";
    PrintTextTable(os, rows);
    os << "\n";
    for (const std::string& band : bands)
    {
        os << "Band: " << band << "\n";
    }
}

void
SayRun(std::ostream& os, const PolicyResult& run)
{
    TextRows rows = {{"model",
                      "gpu",
                      "share",
                      "batch",
                      "mean",
                      "asked/s",
                      "served/s",
                      "SLO ms",
                      "in time",
                      "p50 ms",
                      "p99 ms"}};
    for (const ModelResult& model : run.models)
    {
        rows.push_back({model.name,
                        std::to_string(model.place.gpu),
                        ShareText(model.place.percent),
                        std::to_string(model.place.batch),
                        Format("%.1f", model.MeanBatch()),
                        PerSecond(model.Arrivals(run.duration)),
                        PerSecond(model.Throughput(run.duration)),
                        Ms(model.slo),
                        Attained(model.Attainment()),
                        model.served > 0 ? Ms(model.p50) : "-",
                        model.served > 0 ? Ms(model.p99) : "-"});
    }
    PrintTextTable(os, rows);
    os << "\n";
    SayOverload(os, run);
    os << "GPU " << Format("%.1f%%", 100 * run.utilization) << " in use, "
       << Format("%.1f%%", 100 * run.effective) << " needed at least ("
       << topo::Counted(run.gpus, "GPU") << "); " << HumanCount(run.switches)
       << (run.switches == 1 ? " switch" : " switches") << "\n";
    SayInstances(os, run);
}

/// The best first, of each rate: most requests in time, then the best of the worst models.
std::vector<PolicyResult>
Ranked(std::vector<PolicyResult> runs)
{
    const auto rank = [](const PolicyResult& run) {
        double worst = 1;
        for (const ModelResult& model : run.models)
        {
            worst = std::min(worst, model.Attainment());
        }
        return std::make_tuple(run.rateScale, -run.Attainment(), -worst, -run.Throughput());
    };
    std::stable_sort(runs.begin(), runs.end(), [&](const PolicyResult& a, const PolicyResult& b) {
        return rank(a) < rank(b);
    });
    return runs;
}

void
SayPolicies(std::ostream& os, const std::vector<PolicyResult>& all, bool scaled)
{
    const std::vector<PolicyResult> runs = Ranked(all);
    TextRows rows = {{"policy"}};
    if (scaled)
    {
        rows.front().push_back("rate");
    }
    for (const char* const head :
         {"GPUs", "asked/s", "served/s", "in time", "worst", "p99/SLO", "in use", "needed"})
    {
        rows.front().push_back(head);
    }
    for (const PolicyResult& run : runs)
    {
        std::vector<std::string> row = {run.policy};
        if (scaled)
        {
            row.push_back(Format("%.4g%%", 100 * run.rateScale));
        }
        double asked = 0;
        double worst = 1;
        double latest = 0;
        for (const ModelResult& model : run.models)
        {
            asked += model.Arrivals(run.duration);
            worst = std::min(worst, model.Attainment());
            latest = std::max(latest, model.p99 / model.slo);
        }
        row.insert(row.end(),
                   {std::to_string(run.gpus),
                    PerSecond(asked),
                    PerSecond(run.Throughput()) + (run.IsOverloaded() ? " !" : "  "),
                    Attained(run.Attainment()),
                    Attained(worst),
                    Three(latest),
                    Format("%.1f%%", 100 * run.utilization),
                    Format("%.1f%%", 100 * run.effective)});
        rows.push_back(row);
    }
    PrintTextTable(os, rows);
    if (std::any_of(runs.begin(), runs.end(), [](const PolicyResult& r) {
            return r.IsOverloaded();
        }))
    {
        os << "\n!  cannot keep up with its rates\n";
        if (!scaled)
        {
            for (const PolicyResult& run : runs)
            {
                if (run.IsOverloaded())
                {
                    os << run.policy << ": ";
                    std::string names;
                    for (const ModelResult& model : run.models)
                    {
                        if (model.overloaded)
                        {
                            names += (names.empty() ? "" : ", ") + model.name + " " +
                                     PerSecond(model.Throughput(run.duration)) + " of " +
                                     PerSecond(model.Arrivals(run.duration)) + "/s";
                        }
                    }
                    os << names << "\n";
                }
            }
        }
    }
}

void
SayMix(std::ostream& os, const MultiplexResults& r)
{
    const scenario::MultiplexScenario& s = r.scenario;
    os << topo::Counted(s.mix.models.size(), "model") << " on "
       << topo::Counted(s.settings.gpus, s.sources.gpu.name) << ", requests for "
       << scenario::SpanText(s.settings.duration)
       << (s.settings.interference ? "" : ", no interference") << "\n";
    std::map<std::string, std::vector<std::string>> bySource;
    for (const multiplex::ModelLoad& load : s.mix.models)
    {
        bySource[load.served.source].push_back(load.name);
    }
    for (const auto& [source, names] : bySource)
    {
        os << "Latency of ";
        for (std::size_t i = 0; i < names.size(); ++i)
        {
            os << (i == 0 ? "" : ", ") << names[i];
        }
        os << ": " << source << "\n";
    }
    os << "\n";
    const bool scaled = s.scales.size() > 1;
    if (r.runs.size() == 1)
    {
        os << "Policy " << r.runs.front().policy << "\n\n";
        SayRun(os, r.runs.front());
    }
    else
    {
        SayPolicies(os, r.runs, scaled);
    }
    std::map<std::string, bool> said;
    for (const PolicyResult& run : r.runs)
    {
        for (const std::string& note : run.notes)
        {
            const std::string text = run.policy + ": " + note;
            if (!said[text] && !scaled)
            {
                os << text << "\n";
            }
            said[text] = true;
        }
    }
    os << "\n";
}

void
SayCurves(std::ostream& os, const MultiplexResults& r)
{
    std::string before;
    for (std::size_t i = 0; i < r.curves.size();)
    {
        // All batches of one model are one table.
        std::size_t end = i;
        while (end < r.curves.size() && r.curves[end].model == r.curves[i].model)
        {
            ++end;
        }
        os << r.curves[i].model << " on " << r.scenario.sources.gpu.name << ": "
           << r.curves[i].source << "\n\n";
        TextRows rows = {{"share of the GPU"}};
        for (std::size_t c = i; c < end; ++c)
        {
            rows.front().push_back("batch " + std::to_string(r.curves[c].batch) + ", ms");
        }
        for (int percent = 10; percent <= 100; percent += 10)
        {
            std::vector<std::string> row = {std::to_string(percent) + "%"};
            for (std::size_t c = i; c < end; ++c)
            {
                const auto& points = r.curves[c].points;
                const auto at =
                    std::find_if(points.begin(), points.end(), [&](const SharePoint& point) {
                        return std::abs(point.percent - percent) < 1e-9;
                    });
                row.push_back(at == points.end() ? "-" : Ms(at->latency));
            }
            rows.push_back(row);
        }
        std::vector<std::string> knees = {"knee"};
        std::vector<std::string> flats = {"flat from"};
        for (std::size_t c = i; c < end; ++c)
        {
            knees.push_back(r.curves[c].HasKnee() ? ShareText(r.curves[c].knee) : "none");
            flats.push_back(r.curves[c].HasFlat() ? ShareText(r.curves[c].flat) : "none");
        }
        rows.push_back(knees);
        rows.push_back(flats);
        PrintTextTable(os, rows);
        os << "\n";
        i = end;
    }
    os << "Knee: from there 10% more of the GPU bring under 5% of the latency at 10%.\n"
          "Flat: from there they bring under 5% of the latency there.\n\n";
}

void
SayCompared(std::ostream& os, const MultiplexResults& r)
{
    std::map<std::string, std::vector<const ComparedRow*>> groups;
    for (const ComparedRow& row : r.compared)
    {
        groups[row.model + (row.beside.empty() ? "" : " beside " + row.beside)].push_back(&row);
        groups["~all"].push_back(&row);
    }
    TextRows rows = {{"rows of", "rows", "median error", "p90", "largest", "slow-down"}};
    for (const auto& [name, members] : groups)
    {
        std::vector<double> errors;
        std::vector<double> slowdowns;
        for (const ComparedRow* const row : members)
        {
            errors.push_back(std::abs(row->Error()));
            slowdowns.push_back(row->slowdown);
        }
        std::sort(errors.begin(), errors.end());
        std::sort(slowdowns.begin(), slowdowns.end());
        const std::size_t n = errors.size();
        rows.push_back({name == "~all" ? "all" : name,
                        HumanCount(n),
                        Format("%.1f%%", 100 * errors[n / 2]),
                        Format("%.1f%%", 100 * errors[n * 9 / 10]),
                        Format("%.1f%%", 100 * errors.back()),
                        Format("%.3f", slowdowns[n / 2])});
    }
    PrintTextTable(os, rows);
    os << "\n";
}

} // namespace

void
PrintTextTable(std::ostream& os, const TextRows& rows)
{
    const std::vector<std::size_t> widths = ColumnWidths(rows);
    for (const auto& row : rows)
    {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
        {
            const std::string gap(widths[i] - row[i].size(), ' ');
            line += (i ? "  " : "") + (i ? gap + row[i] : row[i] + gap);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        os << line << "\n";
    }
}

void
PrintPlan(std::ostream& os, const scenario::MultiplexScenario& scenario)
{
    for (const std::string& policy : scenario.policies)
    {
        const multiplex::Plan plan = multiplex::PlanOf(scenario.mix, policy, scenario.settings);
        os << "Policy " << policy << ", " << topo::Counted(plan.gpus, "GPU") << "\n\n";
        TextRows rows = {{"model", "gpu", "share", "batch", "alone, ms", "latency from"}};
        for (std::size_t i = 0; i < plan.places.size(); ++i)
        {
            const multiplex::Place& place = plan.places[i];
            const multiplex::ModelLoad& load = scenario.mix.models[i];
            const multiplex::ShareCurve& curve = *load.served.curve;
            const double share = multiplex::KnownShare(curve, place.batch, place.percent);
            rows.push_back({load.name,
                            std::to_string(place.gpu),
                            ShareText(place.percent),
                            std::to_string(place.batch),
                            Ms(curve.Seconds(place.batch, share) * share / place.percent),
                            curve.Kind()});
        }
        PrintTextTable(os, rows);
        for (const std::string& note : plan.notes)
        {
            os << note << "\n";
        }
        os << "\n";
    }
}

void
PrintMultiplex(std::ostream& os, const MultiplexResults& r)
{
    switch (r.scenario.task)
    {
    case MultiplexTask::kMix:
        SayMix(os, r);
        break;
    case MultiplexTask::kCurve:
        SayCurves(os, r);
        break;
    case MultiplexTask::kSlices:
        SaySlices(os, r);
        break;
    case MultiplexTask::kCompare:
        r.slicesCompared.empty() ? SayCompared(os, r) : SaySlicesCompared(os, r);
        break;
    }
}

} // namespace reports
