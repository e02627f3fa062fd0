/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MIG instances with processes under MPS: throughput and latency by instance, processes and batch,
 * and measured ones beside computed ones.
 */
#include "reports/base/human-text.h"
#include "reports/programs/multiplex-results.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

namespace reports
{

using multiplex::ErrorSummary;
using multiplex::MigInstance;
using multiplex::SliceModel;
using scenario::MultiplexScenario;

namespace
{

const SliceModel&
SliceModelCalled(const MultiplexScenario& scenario, const std::string& name)
{
    return *std::find_if(scenario.slices.begin(),
                         scenario.slices.end(),
                         [&](const SliceModel& model) { return model.name == name; });
}

std::string
Rate(double perSecond)
{
    return perSecond >= 999.5 ? HumanCount(static_cast<uint64_t>(std::llround(perSecond)))
                              : Three(perSecond);
}

std::string
Percent(double share)
{
    return Format("%.1f%%", 100 * share);
}

std::string
SignedPercent(double share)
{
    return Format("%+.1f%%", 100 * share);
}

void
SayModel(std::ostream& os, const MultiplexScenario& scenario, const SliceModel& model)
{
    os << model.name << " on MIG instances of an " << scenario.sources.gpu.name << ": "
       << model.source << "\n";
}

/// Bands of these batches.
void
SayBands(std::ostream& os, const SliceModel& model, const std::vector<uint32_t>& batches)
{
    const uint32_t largest = model.curve->LargestMeasured();
    const auto least = std::min_element(batches.begin(), batches.end());
    const auto most = std::max_element(batches.begin(), batches.end());
    if (largest == 0 || *least <= largest)
    {
        os << "Throughput: " << multiplex::BandText(model.measured) << ".\n";
    }
    if (largest > 0 && *most > largest)
    {
        os << "Batches above " << largest
           << " were not measured: " << multiplex::BandText(model.beyond) << ".\n";
    }
}

} // namespace

std::vector<SlicePoint>
SlicesOf(const MultiplexScenario& scenario)
{
    std::vector<SlicePoint> points;
    for (const SliceModel& model : scenario.slices)
    {
        for (const MigInstance& instance : multiplex::MigInstances())
        {
            for (const uint32_t processes : scenario.processes)
            {
                for (const uint32_t batch : scenario.batches)
                {
                    SlicePoint point;
                    point.model = model.name;
                    point.source = model.source;
                    point.instance = instance.name;
                    point.processes = processes;
                    point.batch = batch;
                    point.times = model.curve->Times(instance, batch);
                    point.latency = multiplex::CycleSeconds(point.times, processes);
                    point.perSecond = processes * batch / point.latency;
                    point.band = multiplex::BandText(model.BandAt(batch));
                    if (const auto ends = multiplex::BandOf(model.BandAt(batch), point.perSecond))
                    {
                        point.low = ends->first;
                        point.high = ends->second;
                    }
                    points.push_back(point);
                }
            }
        }
    }
    return points;
}

std::vector<SliceComparedRow>
SlicesComparedOf(const MultiplexScenario& scenario)
{
    std::vector<SliceComparedRow> rows;
    for (const multiplex::SliceRow& measured : scenario.measured.slices)
    {
        const SliceModel& model = SliceModelCalled(scenario, measured.model);
        SliceComparedRow row;
        row.of = measured;
        row.computedSeconds =
            multiplex::CycleSeconds(model.curve->Times(*measured.instance, measured.batch),
                                    measured.processes);
        row.computed = measured.processes * measured.batch / row.computedSeconds;
        if (const auto ends = multiplex::BandOf(model.BandAt(measured.batch), row.computed))
        {
            row.inBand = measured.perSecond >= ends->first && measured.perSecond <= ends->second;
        }
        rows.push_back(row);
    }
    return rows;
}

std::vector<SliceErrors>
SliceErrorsOf(const std::vector<SliceComparedRow>& rows)
{
    std::vector<std::string> names;
    std::map<std::string, std::vector<const SliceComparedRow*>> groups;
    for (const SliceComparedRow& row : rows)
    {
        if (groups[row.of.model].empty())
        {
            names.push_back(row.of.model);
        }
        groups[row.of.model].push_back(&row);
        groups[""].push_back(&row);
    }
    names.emplace_back("");
    std::vector<SliceErrors> all;
    for (const std::string& name : names)
    {
        std::vector<double> rates;
        std::vector<double> latencies;
        SliceErrors of;
        of.model = name.empty() ? "all" : name;
        for (const SliceComparedRow* const row : groups[name])
        {
            rates.push_back(std::log(row->computed / row->of.perSecond));
            if (row->of.seconds > 0)
            {
                latencies.push_back(std::log(row->computedSeconds / row->of.seconds));
            }
            of.banded += row->inBand ? 1 : 0;
            of.inBand += row->inBand.value_or(false) ? 1 : 0;
        }
        of.throughput = multiplex::Summarize(rates);
        of.latency = multiplex::Summarize(latencies);
        all.push_back(of);
    }
    return all;
}

void
SaySlices(std::ostream& os, const MultiplexResults& r)
{
    const MultiplexScenario& s = r.scenario;
    for (const SliceModel& model : s.slices)
    {
        SayModel(os, s, model);
        if (model.constants)
        {
            const multiplex::SliceConstants& c = *model.constants;
            os << "Of a batch of b: host " << Three(c.host) << " ms; own " << Three(c.own)
               << " ms x b; link " << Three(c.link) << " ms x b; GPU " << Three(c.weights)
               << " ms / bus + " << Three(c.work) << " ms x b / multiprocessors\n";
        }
        os << "\n";
        TextRows table = {{"instance", "processes"}};
        for (const uint32_t batch : s.batches)
        {
            table.front().push_back("batch " + std::to_string(batch) + ", /s");
            table.front().push_back("ms");
        }
        std::size_t at = 0;
        while (at < r.slices.size() && r.slices[at].model != model.name)
        {
            ++at;
        }
        for (; at < r.slices.size() && r.slices[at].model == model.name; at += s.batches.size())
        {
            std::vector<std::string> row = {r.slices[at].instance,
                                            std::to_string(r.slices[at].processes)};
            for (std::size_t i = 0; i < s.batches.size(); ++i)
            {
                row.push_back(Rate(r.slices[at + i].perSecond));
                row.push_back(Three(r.slices[at + i].latency * 1e3));
            }
            table.push_back(row);
        }
        PrintTextTable(os, table);
        os << "\nThroughput is of all processes. Memory of models is not counted.\n";
        SayBands(os, model, s.batches);
        os << "\n";
    }
}

void
SaySlicesCompared(std::ostream& os, const MultiplexResults& r)
{
    for (const SliceModel& model : r.scenario.slices)
    {
        SayModel(os, r.scenario, model);
    }
    os << "\n";
    TextRows table = {{"row",
                       "model",
                       "instance",
                       "processes",
                       "batch",
                       "measured/s",
                       "computed/s",
                       "error",
                       "measured ms",
                       "computed ms"}};
    for (const SliceComparedRow& row : r.slicesCompared)
    {
        table.push_back({row.of.id.empty() ? "-" : row.of.id,
                         row.of.model,
                         row.of.instance->name,
                         std::to_string(row.of.processes),
                         std::to_string(row.of.batch),
                         Rate(row.of.perSecond),
                         Rate(row.computed),
                         SignedPercent(row.Error()),
                         row.of.seconds > 0 ? Three(row.of.seconds * 1e3) : "-",
                         Three(row.computedSeconds * 1e3)});
    }
    PrintTextTable(os, table);
    os << "\n";
    TextRows sums = {
        {"rows of", "rows", "throughput", "bias", "10%", "90%", "latency", "bias", "in the band"}};
    for (const SliceErrors& of : SliceErrorsOf(r.slicesCompared))
    {
        const bool timed = of.latency.rows > 0;
        sums.push_back(
            {of.model,
             HumanCount(of.throughput.rows),
             Percent(of.throughput.median),
             SignedPercent(of.throughput.bias),
             SignedPercent(of.throughput.low),
             SignedPercent(of.throughput.high),
             timed ? Percent(of.latency.median) : "-",
             timed ? SignedPercent(of.latency.bias) : "-",
             of.banded > 0 ? std::to_string(of.inBand) + " of " + std::to_string(of.banded) : "-"});
    }
    PrintTextTable(os, sums);
    os << "\nMedian |error| of throughput and latency, computed over measured.\n";
    std::vector<std::string> said;
    for (const SliceComparedRow& row : r.slicesCompared)
    {
        const SliceModel& model = SliceModelCalled(r.scenario, row.of.model);
        const std::string band = multiplex::BandText(model.BandAt(row.of.batch));
        if (std::find(said.begin(), said.end(), band) == said.end())
        {
            os << "Band: " << band << "\n";
            said.push_back(band);
        }
    }
    os << "\n";
}

} // namespace reports
