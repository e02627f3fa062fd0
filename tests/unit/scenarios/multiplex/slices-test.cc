/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MIG instances with processes under MPS: mean value analysis, constants fitted to measured rows,
 * how far off they are, and the simulation of open and closed loops.
 */
#include "scenarios/multiplex/closed-loop.h"
#include "scenarios/multiplex/csv-rows.h"
#include "scenarios/multiplex/parvagpu-a100.h"
#include "scenarios/multiplex/slice-finder.h"
#include "scenarios/multiplex/slice-simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

using namespace multiplex;

namespace
{

std::vector<SliceRow>
MeasuredRows()
{
    std::vector<topo::Error> errors;
    auto rows =
        ReadMeasurements(DLTRAIN_ROOT "/tests/golden/measured/measured_multiplex.csv", errors);
    EXPECT_TRUE(errors.empty());
    return rows.slices;
}

std::vector<SliceRow>
MeasuredRowsOf(const SlicedModel& model)
{
    std::vector<SliceRow> rows;
    for (const SliceRow& row : MeasuredRows())
    {
        if (FindSlicedModel(row.model) == &model)
        {
            rows.push_back(row);
        }
    }
    return rows;
}

void
SaySummary(const std::string& name, const ErrorSummary& of)
{
    std::printf(
        "%-24s %3zu rows: median %5.2f%%, bias %+5.2f%%, 10%% to 90%%: %+.1f%% to %+.1f%%\n",
        name.c_str(),
        of.rows,
        100 * of.median,
        100 * of.bias,
        100 * of.low,
        100 * of.high);
}

void
ExpectSameErrors(const ErrorSummary& is, const ErrorSummary& said)
{
    EXPECT_EQ(is.rows, said.rows);
    EXPECT_NEAR(is.median, said.median, 0.001);
    EXPECT_NEAR(is.bias, said.bias, 0.001);
    EXPECT_NEAR(is.low, said.low, 0.001);
    EXPECT_NEAR(is.high, said.high, 0.001);
}

CurveSources
SourcesOnA100()
{
    CurveSources sources;
    sources.gpu = *training::FindGpu("A100");
    sources.dtype = training::Dtype::kTf32;
    sources.operatorSeconds = kOperatorSeconds;
    return sources;
}

ModelLoad
SlicedLoad(const SliceConstants& constants, uint32_t processes, uint32_t batch)
{
    ModelLoad load;
    load.name = "one";
    load.slo = 1;
    load.batch = batch;
    load.processes = processes;
    load.instance = FindMigInstance("2g");
    load.percent = load.instance->Percent();
    load.closed = true;
    SliceModel model;
    model.name = "one";
    model.curve = std::make_shared<FittedSlices>(constants, 64);
    load.slices = model;
    load.served.curve = std::make_shared<SliceShareCurve>(model.curve, processes);
    return load;
}

SliceRun
SlicedRun(const ModelLoad& load, double duration)
{
    Place place;
    place.percent = load.percent;
    place.batch = load.batch;
    RunSettings settings;
    settings.duration = duration;
    return SimulateSlice(load, place, settings, 7, {});
}

} // namespace

TEST(ClosedLoop, OneProcessAddsUp)
{
    EXPECT_NEAR(CycleSeconds({0, 1, 2, 3}, 1), 6, 1e-12);
}

TEST(ClosedLoop, MeanValueAnalysisByHand)
{
    // Z = 1, D = 1: Q(1) = 1 / 2, so R(2) = 1.5, the cycle 2.5; Q(2) = 2 x 1.5 / 2.5 = 1.2, so
    // R(3) = 2.2 and the cycle 3.2.
    EXPECT_NEAR(CycleSeconds({0, 1, 0, 1}, 2), 2.5, 1e-12);
    EXPECT_NEAR(CycleSeconds({0, 1, 0, 1}, 3), 3.2, 1e-12);
    // No delay: two stations with 2 processes, D = 1 each: Q(1) = 1 / 2 each, R(2) = 1.5 each.
    EXPECT_NEAR(CycleSeconds({0, 0, 1, 1}, 2), 3, 1e-12);
}

TEST(ClosedLoop, TheHostHidesWhatIsShorter)
{
    // (16 + 1)^(1/4) of 1: the host takes 2, the network 1.
    EXPECT_NEAR(CycleSeconds({2, 0, 0, 1}, 1), std::pow(17, 0.25), 1e-12);
    EXPECT_NEAR(CycleSeconds({5, 0, 0, 0}, 3), 5, 1e-12);
    // With its own delay the network alone has the same cycle.
    for (const uint32_t n : {1, 2, 3})
    {
        const LoopTimes times{5, 1, 0.5, 2};
        const LoopTimes delayed{0, DelaySeconds(times, n), 0.5, 2};
        EXPECT_NEAR(CycleSeconds(delayed, n), CycleSeconds(times, n), 1e-9);
    }
}

TEST(Slices, InstancesByAnyName)
{
    EXPECT_EQ(FindMigInstance("3g.40gb"), FindMigInstance("3g"));
    EXPECT_EQ(FindMigInstance("3/7")->multiprocessors, 42);
    EXPECT_EQ(FindMigInstance("5g"), nullptr);
    EXPECT_EQ(MigInstanceOf(50).slices, 4U); // 3 of 7 are 42.9%
}

TEST(Slices, ConstantsAreThoseOfTheMeasuredRows)
{
    for (const SlicedModel& model : SlicedModels())
    {
        const auto rows = MeasuredRowsOf(model);
        ASSERT_EQ(rows.size(), model.rows) << model.name;
        const SliceConstants fitted = FitSlices(rows, UsualOf(model));
        const SliceConstants& has = model.constants;
        std::printf("%s: {%.4g, %.4g, %.4g, %.4g, %.4g}\n",
                    model.name.c_str(),
                    fitted.host,
                    fitted.own,
                    fitted.weights,
                    fitted.work,
                    fitted.link);
        EXPECT_NEAR(fitted.host / has.host, 1, 0.005) << model.name;
        EXPECT_NEAR(fitted.own / has.own, 1, 0.005) << model.name;
        EXPECT_NEAR(fitted.weights / has.weights, 1, 0.005) << model.name;
        EXPECT_NEAR(fitted.work / has.work, 1, 0.005) << model.name;
        EXPECT_NEAR(fitted.link / has.link, 1, 0.005) << model.name;
    }
}

TEST(Slices, ErrorsInAndOutOfTheFit)
{
    std::map<std::string, std::vector<double>> all;
    std::map<std::string, std::vector<double>> left; // instance by instance
    const auto add =
        [&](const std::string& kind, const std::string& model, const std::vector<double>& errors) {
            all[kind].insert(all[kind].end(), errors.begin(), errors.end());
            SaySummary(kind + " " + model, Summarize(errors));
        };
    for (const SlicedModel& model : SlicedModels())
    {
        const auto rows = MeasuredRowsOf(model);
        const UsualConstants usual = UsualOf(model);
        std::vector<double> in;
        std::vector<double> none;
        for (const SliceRow& row : rows)
        {
            in.push_back(LogError(model.constants, row));
            none.push_back(LogError(usual.usual, row));
        }
        add("in", model.name, in);
        add("usual", model.name, none);
        left[model.name] =
            LeftOutErrors(rows, usual, [](const SliceRow& row) { return row.instance->slices; });
        add("instance", model.name, left[model.name]);
        add("processes", model.name, LeftOutErrors(rows, usual, [](const SliceRow& row) {
                return row.processes;
            }));
        add("batch", model.name, LeftOutErrors(rows, usual, [](const SliceRow& row) {
                return row.batch;
            }));
    }
    for (const auto& [kind, errors] : all)
    {
        SaySummary(kind + ", all", Summarize(errors));
    }
    EXPECT_LT(Summarize(all["in"]).median, 0.04);
    EXPECT_LT(Summarize(all["instance"]).median, 0.06);
    EXPECT_LT(Summarize(all["processes"]).median, 0.06);
    // A band from five models holds the sixth: 80% is promised.
    std::size_t within = 0;
    for (const auto& [model, errors] : left)
    {
        std::vector<double> others;
        for (const auto& [other, theirs] : left)
        {
            if (other != model)
            {
                others.insert(others.end(), theirs.begin(), theirs.end());
            }
        }
        const ErrorSummary band = Summarize(others);
        const auto held = std::count_if(errors.begin(), errors.end(), [&](double error) {
            return std::exp(error) - 1 >= band.low && std::exp(error) - 1 <= band.high;
        });
        std::printf("band of the other models: %td of %zu of %s\n",
                    held,
                    errors.size(),
                    model.c_str());
        within += static_cast<std::size_t>(held);
    }
    EXPECT_GT(within, 0.7 * 103);
    EXPECT_LT(within, 0.9 * 103);
    const ErrorSummary outside = Summarize(all["instance"]);
    ExpectSameErrors(outside, kFittedBand);
    ExpectSameErrors(Summarize(all["batch"]), kBatchBand);
}

TEST(Slices, KernelsAlone)
{
    // The host's time of an operator is the median of the other models': host / operators.
    const CurveSources sources = SourcesOnA100();
    std::vector<double> all;
    for (const SlicedModel& model : SlicedModels())
    {
        const auto spec = training::FindModel(model.name);
        // Inception was fed smaller pictures than the zoo's model takes.
        if (!spec || model.name == "inceptionv3")
        {
            continue;
        }
        std::vector<double> others;
        for (const SlicedModel& other : SlicedModels())
        {
            // A model's operators are assumed (BERT), or few beside other work (VGG).
            if (&other != &model && other.operators > 100 && other.sequence == 0)
            {
                others.push_back(other.constants.host / other.operators / 1e3);
            }
        }
        std::sort(others.begin(), others.end());
        const double middle = (others[others.size() / 2] + others[(others.size() - 1) / 2]) / 2;
        const KernelSlices kernels(*spec, sources.gpu, sources.dtype, 128, middle);
        std::vector<double> errors;
        for (const SliceRow& row : MeasuredRowsOf(model))
        {
            errors.push_back(LogError(kernels, row));
        }
        std::printf("%s: %.0f operators, %.1f us of the host\n",
                    model.name.c_str(),
                    kernels.Operators(),
                    1e6 * middle);
        SaySummary("kernels " + model.name, Summarize(errors));
        all.insert(all.end(), errors.begin(), errors.end());
    }
    const ErrorSummary of = Summarize(all);
    SaySummary("kernels, all", of);
    ExpectSameErrors(of, kKernelBand);
}

TEST(Slices, ARowTellsWhatOthersDoNot)
{
    // Throughputs of known constants come back: 3 processes x 2 instances x 2 batches, five
    // unknowns. The usual values pull by less than a part in a hundred.
    const SliceConstants truth{5, 0.2, 0.3, 40, 0.1};
    std::vector<SliceRow> rows;
    for (const char* const instance : {"1g", "3g", "7g"})
    {
        for (const uint32_t processes : {1, 2, 3})
        {
            for (const uint32_t batch : {1, 4, 16, 64})
            {
                SliceRow row;
                row.model = "own";
                row.instance = FindMigInstance(instance);
                row.processes = processes;
                row.batch = batch;
                const LoopTimes times = TimesOf(truth, *row.instance, batch);
                row.perSecond = processes * batch / CycleSeconds(times, processes);
                rows.push_back(row);
            }
        }
    }
    UsualConstants weak = UsualOfAnyModel();
    weak.spread = {100, 100, 100, 100, 100};
    const SliceConstants fitted = FitSlices(rows, weak);
    EXPECT_NEAR(fitted.host, truth.host, 0.01 * truth.host);
    EXPECT_NEAR(fitted.own, truth.own, 0.01 * truth.own);
    EXPECT_NEAR(fitted.weights, truth.weights, 0.01 * truth.weights);
    EXPECT_NEAR(fitted.work, truth.work, 0.01 * truth.work);
    EXPECT_NEAR(fitted.link, truth.link, 0.01 * truth.link);
}

TEST(Slices, ModelsThatNobodyKnowsAreRefused)
{
    std::string why;
    std::string near;
    EXPECT_FALSE(FindSlices("resnet5", CurveKind::kAuto, SourcesOnA100(), &why, &near));
    EXPECT_NE(why.find("vgg16"), std::string::npos) << why;
    EXPECT_EQ(near, "resnet50");
    CurveSources sources = SourcesOnA100();
    sources.gpu = *training::FindGpu("V100");
    EXPECT_FALSE(FindSlices("resnet50", CurveKind::kAuto, sources, &why, &near));
    EXPECT_NE(why.find("--gpu=A100"), std::string::npos) << why;
}

TEST(Slices, RowsOfATableComeFirst)
{
    CurveSources sources = SourcesOnA100();
    sources.sliceRows = MeasuredRowsOf(SlicedModels().front());
    std::string why;
    std::string near;
    const auto found = FindSlices("ResNet-50", CurveKind::kAuto, sources, &why, &near);
    ASSERT_TRUE(found);
    EXPECT_NE(found->source.find("28 rows of --curves"), std::string::npos) << found->source;
    ASSERT_TRUE(found->measured);
    const auto ends = *BandOf(found->BandAt(4), 100);
    EXPECT_LT(ends.first, 100);
    EXPECT_GT(ends.second, 100);
    EXPECT_NE(BandText(found->BandAt(128)).find("a batch left out"), std::string::npos);
}

TEST(SliceSimulation, ClosedLoopsAreThoseOfMeanValueAnalysis)
{
    const SliceConstants constants{5, 0.2, 0.3, 40, 0.1};
    for (const uint32_t processes : {1, 2, 3})
    {
        const ModelLoad load = SlicedLoad(constants, processes, 8);
        const SliceRun run = SlicedRun(load, 200);
        const double wanted = load.slices->curve->PerSecond(*load.instance, processes, 8);
        EXPECT_NEAR(run.result.Throughput(200) / wanted, 1, 0.01) << processes;
        EXPECT_NEAR(run.result.mean * wanted / (processes * 8), 1, 0.01) << processes;
        EXPECT_TRUE(run.littleHolds);
        EXPECT_FALSE(run.result.overloaded);
    }
}

TEST(SliceSimulation, OpenLoopsServeWhatArrives)
{
    const SliceConstants constants{5, 0.2, 0.3, 40, 0.1};
    ModelLoad load = SlicedLoad(constants, 2, 8);
    load.closed = false;
    const double most = load.slices->curve->PerSecond(*load.instance, 2, 8);
    load.rate = most / 2;
    const SliceRun half = SlicedRun(load, 100);
    EXPECT_NEAR(half.result.Throughput(100) / load.rate, 1, 0.02);
    EXPECT_TRUE(half.littleHolds);
    EXPECT_FALSE(half.result.overloaded);
    load.rate = most * 2;
    const SliceRun twice = SlicedRun(load, 100);
    EXPECT_NEAR(twice.result.Throughput(100) / most, 1, 0.02);
    EXPECT_TRUE(twice.littleHolds);
    EXPECT_TRUE(twice.result.overloaded);
}
