/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Latency against the share, and measured latencies beside it.
 */
#include "reports/programs/multiplex-results.h"
#include "scenarios/multiplex/interference.h"
#include "scenarios/multiplex/knee.h"
#include "topologies/names.h"

#include <algorithm>

namespace reports
{

using multiplex::ServedModel;
using scenario::MultiplexScenario;

namespace
{

/// Shares of a printed curve, and between them for the picture.
constexpr double CURVE_STEP = 2.5;

const ServedModel&
ModelCalled(const MultiplexScenario& scenario, const std::string& name)
{
    return *std::find_if(scenario.models.begin(),
                         scenario.models.end(),
                         [&](const ServedModel& model) { return model.name == name; });
}

} // namespace

double
ShareCurveOf::LatencyAtKnee() const
{
    const auto at = std::find_if(points.begin(), points.end(), [this](const SharePoint& point) {
        return point.percent >= knee - 1e-9;
    });
    return at == points.end() ? 0 : at->latency;
}

std::vector<ShareCurveOf>
CurvesOf(const MultiplexScenario& scenario, std::string* why)
{
    std::vector<ShareCurveOf> all;
    for (const ServedModel& model : scenario.models)
    {
        for (const uint32_t batch : scenario.batches)
        {
            ShareCurveOf of;
            of.model = model.name;
            of.kind = model.curve->Kind();
            of.source = model.source;
            of.batch = batch;
            std::string reason;
            for (double percent = CURVE_STEP; percent <= multiplex::kWholeGpu;
                 percent += CURVE_STEP)
            {
                reason = model.curve->WhyNot(batch, percent);
                if (reason.empty())
                {
                    of.points.push_back({percent, model.curve->Seconds(batch, percent)});
                }
            }
            if (of.points.empty())
            {
                *why = model.name + ": " + reason;
                return all;
            }
            of.knee = multiplex::KneeOf(*model.curve, batch);
            of.flat = multiplex::FlatFrom(*model.curve, batch);
            all.push_back(std::move(of));
        }
    }
    return all;
}

std::vector<ComparedRow>
ComparedOf(const MultiplexScenario& scenario, std::string* why)
{
    std::vector<ComparedRow> rows;
    const auto check = [&](const ServedModel& model, uint32_t batch, double percent) {
        const std::string reason = model.curve->WhyNot(batch, percent);
        if (!reason.empty() && why->empty())
        {
            *why = model.name + ": " + reason;
        }
        return reason.empty();
    };
    for (const auto& [name, points] : scenario.measured.alone)
    {
        const ServedModel& model = ModelCalled(scenario, name);
        for (const multiplex::CurvePoint& point : points)
        {
            if (!check(model, point.batch, point.percent))
            {
                return rows;
            }
            ComparedRow row;
            row.model = name;
            row.batch = point.batch;
            row.percent = point.percent;
            row.measured = point.seconds;
            row.computed = model.curve->Seconds(point.batch, point.percent);
            rows.push_back(row);
        }
    }
    for (const multiplex::PairRow& pair : scenario.measured.pairs)
    {
        multiplex::Running running[2];
        for (const int i : {0, 1})
        {
            const ServedModel& model = ModelCalled(scenario, pair.model[i]);
            if (!check(model, pair.batch[i], pair.percent[i]))
            {
                return rows;
            }
            running[i] =
                multiplex::RunningOf(*model.curve, model.profile, pair.batch[i], pair.percent[i]);
        }
        std::vector<double> seconds;
        multiplex::Together({&running[0], &running[1]}, &seconds);
        for (const int i : {0, 1})
        {
            ComparedRow row;
            row.model = pair.model[i];
            row.beside = pair.model[1 - i];
            row.batch = pair.batch[i];
            row.percent = pair.percent[i];
            row.besideBatch = pair.batch[1 - i];
            row.besidePercent = pair.percent[1 - i];
            row.measured = pair.seconds[i];
            row.computed = seconds[static_cast<std::size_t>(i)];
            row.slowdown = row.computed / running[i].alone;
            rows.push_back(row);
        }
    }
    return rows;
}

} // namespace reports
