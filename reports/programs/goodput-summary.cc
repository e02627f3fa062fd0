/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlgoodput prints.
 */
#include "reports/base/answer-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/goodput-results.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

namespace reports
{

namespace
{

using goodput::Spent;
using scenario::SpanText;

/// "3.6", "419".
std::string
CountInWords(double number)
{
    return Format(number >= 99.5 ? "%.0f" : "%.1f", number);
}

/// The parts of the time that did not count, in words.
std::vector<std::pair<std::string, double>>
LostParts(const Spent& spent)
{
    std::vector<std::pair<std::string, double>> parts = {{"checkpoints", spent.checkpoint},
                                                         {"lost work", spent.lost},
                                                         {"detection", spent.detection},
                                                         {"replacing servers", spent.replacing},
                                                         {"restart, reading", spent.restart},
                                                         {"waiting for repair", spent.waiting},
                                                         {"replicas in repair", spent.fewer}};
    parts.erase(std::remove_if(parts.begin(),
                               parts.end(),
                               [](const auto& part) { return part.second <= 0; }),
                parts.end());
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return a.second > b.second;
    });
    return parts;
}

void
SayInputs(std::ostream& os, const GoodputRun& run)
{
    const GoodputTimes& times = run.times;
    Say(os, "Job", run.job);
    Say(os,
        "Step",
        SpanText(times.step) + " (" + times.stepFrom + ")" +
            (run.tokensOfStep > 0 ? ", " + LargeNumber(run.tokensOfStep) + " tokens" : ""));
    const bool async = run.model.behind > 0;
    Say(os,
        "Checkpoint",
        HumanBytes(static_cast<double>(times.checkpointBytes)) + ", written in " +
            SpanText(times.write) + " (" + times.writeFrom + "); GPUs wait " +
            (async ? SpanText(run.model.stall) + " for the copy" : "for it"));
    Say(os,
        "Restart",
        SpanText(run.model.abort) + " to end all ranks, " + SpanText(run.model.restart) +
            " to start them, " + SpanText(times.read) + " to read the checkpoint (" +
            times.readFrom + ")" +
            (run.model.replace > 0 && run.model.policy == goodput::Policy::kRestart
                 ? "; " + SpanText(run.model.replace) + " to replace a server"
                 : ""));
    Say(os,
        "Failures",
        std::isinf(run.Mtbf()) ? "none" : "one in " + SpanText(run.Mtbf()) + " on average");
}

/// What fails, how often, and how soon it is known.
void
PrintCauses(std::ostream& os, const GoodputRun& run)
{
    if (run.model.sources.empty())
    {
        return;
    }
    std::vector<std::vector<std::string>> rows = {
        {"interruptions", "one in", "parts", "one fails in", "known in", "cause"}};
    for (const goodput::Source& source : run.model.sources)
    {
        const auto index = static_cast<std::size_t>(source.cause);
        rows.push_back({CountInWords(run.simulated.failures[index]),
                        SpanText(1 / source.Rate()),
                        HumanCount(source.parts),
                        SpanText(source.mtbf),
                        SpanText(source.detection),
                        goodput::CauseName(source.cause)});
    }
    os << "\n";
    PrintColumns(os, rows);
}

std::string
IntervalText(const GoodputResults& r, const GoodputRun& run)
{
    if (std::isinf(run.interval))
    {
        return "none: nothing fails";
    }
    const double mtbf = goodput::MtbfOfRestarts(run.model);
    const double daly = goodput::DalyInterval(run.model.stall, mtbf);
    const bool automatic = !r.scenario.interval && !r.scenario.intervalSteps;
    std::string text = SpanText(run.interval) + ", " + HumanCount(run.intervalSteps) +
                       (run.intervalSteps == 1 ? " step" : " steps") +
                       (automatic ? ", chosen" : ", given");
    if (std::isinf(mtbf))
    {
        return text + "; nothing fails, so none is needed";
    }
    text += "; optimum: Daly " + SpanText(daly) + ", Young " +
            SpanText(goodput::YoungInterval(run.model.stall, mtbf));
    if (run.model.behind > run.interval)
    {
        return text + "; writing takes " + SpanText(run.model.behind) + ", so GPUs wait";
    }
    if (run.model.behind > daly)
    {
        text += "; writing takes " + SpanText(run.model.behind) + ", the least interval";
    }
    return text;
}

std::string
GoodputText(const GoodputRun& run)
{
    const auto& halfWidth = run.simulated.halfWidth;
    return ShareInWords(run.simulated.goodput) +
           (halfWidth ? Format(" +- %.2f%%", 100 * *halfWidth) : "");
}

void
SayOne(std::ostream& os, const GoodputResults& r, const GoodputRun& run)
{
    const double duration = r.scenario.duration;
    SayInputs(os, run);
    Say(os, "Interval", IntervalText(r, run));
    os << "\n";
    Say(os,
        "Goodput",
        GoodputText(run) + " in " + topo::Counted(run.simulated.count, "course") + " of " +
            SpanText(duration) + "; closed form " + ShareInWords(run.Closed()));
    if (const auto range = run.ClosedRange())
    {
        const goodput::RateSpread spread = goodput::PublishedSpread();
        Say(os,
            "How sure",
            ShareInWords(range->first) + " to " + ShareInWords(range->second) +
                ", closed form: published jobs (" + spread.jobs + ") fail " +
                Format("%.2f to %.1f", spread.least, spread.most) +
                " times as often as these parts do by default; --mtbf, --gpu-mtbf, ... of your "
                "own cluster narrow it");
    }
    const double useful = run.simulated.mean.useful;
    Say(os,
        "Useful",
        Format("%.2f of %.2f days", useful / 86400, duration / 86400) + ", " +
            LargeNumber(useful / run.times.step) + " steps" +
            (run.tokensOfStep > 0 ? ", " + LargeNumber(run.Tokens()) + " tokens" : ""));
    Say(os, "Interruptions", CountInWords(run.Interruptions()) + " on average");
    PrintCauses(os, run);
    const auto parts = LostParts(run.simulated.mean);
    if (!parts.empty())
    {
        std::vector<std::vector<std::string>> rows = {{"share", "time", "lost to"}};
        for (const auto& [what, seconds] : parts)
        {
            rows.push_back({ShareInWords(seconds / duration), SpanText(seconds), what});
        }
        os << "\n";
        PrintColumns(os, rows);
    }
    if (!std::isinf(run.interval) && run.model.FailureRate() > 0)
    {
        std::vector<std::vector<std::string>> rows = {{"interval", "goodput", ""}};
        for (const double factor : {0.5, 1.0, 2.0})
        {
            rows.push_back({SpanText(factor * run.interval),
                            ShareInWords(run.ClosedAt(factor * run.interval)),
                            factor == 1 ? "in use" : ""});
        }
        os << "\n";
        PrintColumns(os, rows);
    }
    const auto spares = SparesOf(run);
    if (spares.size() > 1)
    {
        std::vector<std::vector<std::string>> rows = {{"spares", "job waits", "goodput", ""}};
        for (const SparesRow& row : spares)
        {
            rows.push_back({std::to_string(row.spares),
                            ShareInWords(row.waiting),
                            ShareInWords(row.goodput),
                            row.spares == run.model.spares ? "in use" : ""});
        }
        os << "\n";
        PrintColumns(os, rows);
    }
    os << "\n";
}

void
SaySeveral(std::ostream& os, const GoodputResults& r)
{
    std::vector<std::vector<std::string>> rows = {
        {"GPUs", "fails every", "interval", "goodput", "closed", "days", "lost most to"}};
    std::optional<double> widest;
    for (const GoodputRun& run : r.runs)
    {
        const auto parts = LostParts(run.simulated.mean);
        widest = std::max(widest, run.simulated.halfWidth); // nothing is less than a number
        rows.push_back({HumanCount(run.gpus),
                        SpanText(run.Mtbf()),
                        SpanText(run.interval),
                        ShareInWords(run.simulated.goodput),
                        ShareInWords(run.Closed()),
                        Format("%.2f", run.simulated.mean.useful / 86400),
                        parts.empty() ? "-" : parts.front().first});
    }
    PrintColumns(os, rows);
    os << "\n";
    Say(os,
        "Goodput",
        "mean of " + topo::Counted(r.runs.front().simulated.count, "course") + " of " +
            SpanText(r.scenario.duration) +
            (widest ? Format(", +- %.2f%% at most", 100 * *widest) : "") +
            "; closed: closed form; days: useful ones");
    for (const GoodputRun& run : r.runs)
    {
        Say(os,
            HumanCount(run.gpus) + (run.gpus == 1 ? " GPU" : " GPUs"),
            "step " + SpanText(run.times.step) + " (" + run.times.stepFrom + ")" +
                (run.tokensOfStep > 0 ? ", " + LargeNumber(run.Tokens()) + " tokens" : "") + "; " +
                run.job);
    }
}

} // namespace

double
GoodputRun::Interruptions() const
{
    double all = 0;
    for (const double failures : simulated.failures)
    {
        all += failures;
    }
    return all;
}

std::optional<std::pair<double, double>>
GoodputRun::ClosedRange() const
{
    const auto at = [this](double factor) {
        goodput::Job job = model;
        for (goodput::Source& source : job.sources)
        {
            source.mtbf /= source.IsPublished() ? factor : 1;
        }
        return goodput::Goodput(job, interval, duration);
    };
    if (std::none_of(model.sources.begin(), model.sources.end(), [](const auto& source) {
            return source.IsPublished();
        }))
    {
        return std::nullopt;
    }
    const goodput::RateSpread spread = goodput::PublishedSpread();
    return std::make_pair(at(spread.most), at(spread.least));
}

double
GoodputRun::Tokens() const
{
    return simulated.mean.useful / times.step * tokensOfStep;
}

std::vector<SparesRow>
SparesOf(const GoodputRun& run)
{
    std::vector<SparesRow> rows;
    goodput::Job job = run.model;
    constexpr double HARDLY = 1e-4; // of the time
    job.spares = 0;
    if (job.policy == goodput::Policy::kShrink || goodput::WaitingShare(job) <= 0)
    {
        return rows;
    }
    const auto rowOf = [&](uint32_t spares) {
        job.spares = spares;
        return SparesRow{spares,
                         goodput::WaitingShare(job),
                         goodput::Goodput(job, run.interval, run.duration)};
    };
    // Up to where the job hardly waits: of many numbers some.
    constexpr uint32_t MOST = 10000;
    constexpr uint32_t SHOWN = 8;
    uint32_t last = 0;
    while (last < MOST && rowOf(last).waiting >= HARDLY)
    {
        ++last;
    }
    const uint32_t stride = last / SHOWN + 1;
    const uint32_t used = run.model.spares;
    for (uint32_t spares = 0; spares <= std::max(last, used); ++spares)
    {
        if ((spares <= last && spares % stride == 0) || spares == last || spares == used)
        {
            rows.push_back(rowOf(spares));
        }
    }
    return rows;
}

std::vector<std::pair<double, double>>
IntervalsOf(const GoodputRun& run)
{
    std::vector<std::pair<double, double>> points;
    if (std::isinf(run.interval))
    {
        return points;
    }
    // Four points an octave, four octaves to each side, in whole steps.
    constexpr int SIDE = 16;
    uint64_t before = 0;
    for (int i = -SIDE; i <= SIDE; ++i)
    {
        const double exact = static_cast<double>(run.intervalSteps) * std::exp2(i / 4.0);
        const auto steps = static_cast<uint64_t>(std::llround(std::max(1.0, exact)));
        if (steps != before)
        {
            const double interval = static_cast<double>(steps) * run.times.step;
            points.emplace_back(interval, run.ClosedAt(interval));
        }
        before = steps;
    }
    return points;
}

void
PrintGoodput(std::ostream& os, const GoodputResults& r)
{
    if (r.runs.size() == 1)
    {
        SayOne(os, r, r.runs.front());
    }
    else
    {
        SaySeveral(os, r);
    }
}

} // namespace reports
