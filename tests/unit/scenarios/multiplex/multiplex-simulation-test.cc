/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queues, shares and policies: closed forms and laws.
 */
#include "scenarios/multiplex/simulation.h"
#include "scenarios/traffic/random.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <random>

using namespace multiplex;

namespace
{

const std::vector<std::string> EVERY_POLICY =
    {"temporal", "mps", "mig", "gslice", "igniter", "gpulet", "dstack", "ideal"};

/// Falls as 1 / p up to a knee; a batch costs a constant and as much for each of its requests.
class KneeCurve : public ShareCurve
{
  public:
    KneeCurve(double fixed, double each, double knee)
        : m_fixed(fixed),
          m_each(each),
          m_knee(knee)
    {
    }

    double Seconds(uint32_t batch, double percent) const override
    {
        return (m_fixed + batch * m_each) * m_knee / std::min(percent, m_knee);
    }

    std::string WhyNot(uint32_t, double) const override
    {
        return "";
    }

    uint32_t LargestBatch() const override
    {
        return 32;
    }

    std::string Kind() const override
    {
        return "table";
    }

  private:
    double m_fixed;
    double m_each;
    double m_knee;
};

ModelLoad
LoadOf(const std::string& name, double rate, double slo, double fixed, double each, double knee)
{
    ModelLoad load;
    load.name = name;
    load.served.name = name;
    load.served.curve = std::make_shared<KneeCurve>(fixed, each, knee);
    load.served.profile = UsualProfile(50);
    load.rate = rate;
    load.slo = slo;
    load.mostBatch = 16;
    return load;
}

/// Models with a bit of everything.
Mix
RandomMix(uint64_t seed)
{
    std::mt19937_64 engine(seed);
    const auto between = [&engine](double low, double high) {
        return low * std::exp(std::log(high / low) * double(engine() >> 11) * 0x1p-53);
    };
    Mix mix;
    const std::size_t models = 1 + engine() % 5;
    for (std::size_t i = 0; i < models; ++i)
    {
        const double each = between(0.1e-3, 2e-3);
        mix.models.push_back(LoadOf("m" + std::to_string(i),
                                    between(0.05, 0.6) / each / double(models),
                                    each * between(20, 60),
                                    each * between(0.2, 2),
                                    each,
                                    std::round(between(20, 100) / 5) * 5));
        mix.models.back().poisson = engine() % 4 > 0;
        mix.models.back().weight = 1 + engine() % 3;
    }
    return mix;
}

PolicyResult
Serve(const Mix& mix, const std::string& policy, const RunSettings& settings = {})
{
    PlacementError error;
    PolicyResult result = Simulate(mix, policy, settings, &error);
    EXPECT_EQ(error.why, "") << policy;
    return result;
}

/// D-STACK's mix (arXiv 2304.13541, alexnet, mobilenet, resnet-50, vgg-19): knees between 20 and
/// 50%, SLOs of 25, 25, 50 and 100 ms. Latencies at the knees: assumed, of the order of the
/// paper's.
Mix
StackMix(double rate)
{
    Mix mix;
    const auto add = [&](const char* name, double slo, double at16, double knee) {
        mix.models.push_back(LoadOf(name, rate, slo, 0.2 * at16, 0.05 * at16, knee));
    };
    add("alexnet", 25e-3, 8e-3, 30);
    add("mobilenet", 25e-3, 10e-3, 20);
    add("resnet-50", 50e-3, 28e-3, 40);
    add("vgg-19", 100e-3, 55e-3, 50);
    return mix;
}

} // namespace

TEST(MultiplexSimulation, OneModelIsAPlainQueue)
{
    // Written down directly: first come, first served, whoever waits goes along up to the batch.
    for (const uint32_t batch : {1U, 4U, 16U})
    {
        Mix mix;
        const double rate = 0.7 * batch / (1e-3 + batch * 0.5e-3); // 70% busy with full batches
        mix.models.push_back(LoadOf("one", rate, 0.1, 1e-3, 0.5e-3, 100));
        mix.models[0].batch = batch;
        mix.models[0].percent = 100;
        RunSettings settings;
        settings.duration = 20;
        scenario::Random random(settings.seed, scenario::kMultiplexStream);
        const auto gap = static_cast<uint64_t>(std::round(1e12 / mix.models[0].rate));
        std::deque<Time> arrivals;
        for (Time at = static_cast<Time>(random.Exponential(gap)); at < Time(20e12);
             at += static_cast<Time>(random.Exponential(gap)))
        {
            arrivals.push_back(at);
        }
        const uint64_t count = arrivals.size();
        Time free = 0;
        Time sum = 0;
        while (!arrivals.empty())
        {
            const Time begin = std::max(free, arrivals.front());
            std::size_t taken = 0;
            while (taken < batch && taken < arrivals.size() && arrivals[taken] <= begin)
            {
                ++taken;
            }
            free = begin + std::llround((1e-3 + double(taken) * 0.5e-3) * 1e12);
            for (std::size_t i = 0; i < taken; ++i)
            {
                sum += free - arrivals.front();
                arrivals.pop_front();
            }
        }
        for (const std::string& policy : EVERY_POLICY)
        {
            if (policy == "mig" && batch > 1)
            {
                continue; // 7 / 7 is a whole GPU as well; once is enough
            }
            const PolicyResult run = Serve(mix, policy, settings);
            ASSERT_EQ(run.models[0].served, count) << policy;
            // Equal to the picosecond; as a double, to its last digits.
            EXPECT_NEAR(run.models[0].mean * double(count) * 1e12, double(sum), 1e-9 * double(sum))
                << policy << " " << batch;
        }
    }
}

TEST(MultiplexSimulation, DeterministicServiceIsMD1)
{
    // Pollaczek and Khinchine: mean time in an M/D/1 queue = D + rho D / (2 (1 - rho)).
    for (const double rho : {0.3, 0.6, 0.8})
    {
        const double service = 2e-3;
        Mix mix;
        mix.models.push_back(LoadOf("one", rho / service, 1, 0, service, 100));
        mix.models[0].batch = 1;
        RunSettings settings;
        settings.duration = 4000;
        const PolicyResult run = Serve(mix, "temporal", settings);
        const double mean = service + rho * service / (2 * (1 - rho));
        EXPECT_NEAR(run.models[0].mean / mean, 1, 0.02) << rho;
        EXPECT_NEAR(run.utilization / rho, 1, 0.01) << rho;
        EXPECT_EQ(run.models[0].MeanBatch(), 1);
    }
}

TEST(MultiplexSimulation, LawsOfAllPolicies)
{
    for (uint64_t seed = 1; seed <= 25; ++seed)
    {
        const Mix mix = RandomMix(seed);
        RunSettings settings;
        settings.duration = 3;
        settings.seed = seed;
        settings.gpus = 1 + seed % 2;
        settings.rateScale = seed % 5 == 0 ? 4 : 1; // some cannot keep up
        for (const std::string& policy : EVERY_POLICY)
        {
            if (policy == "mig" && mix.models.size() > 4)
            {
                continue;
            }
            const PolicyResult run = Serve(mix, policy, settings);
            const std::string what = policy + " seed " + std::to_string(seed);
            EXPECT_TRUE(run.sums.littleHolds) << what;
            EXPECT_LT(run.sums.workError, 1e-6) << what;
            EXPECT_LE(run.sums.mostShares, 100 + 1e-6) << what;
            EXPECT_LE(run.utilization, 1 + 1e-9) << what;
            EXPECT_LE(run.effective, 1 + 1e-9) << what;
            for (const ModelResult& model : run.models)
            {
                EXPECT_EQ(model.served + model.left, model.arrived) << what;
                EXPECT_LE(model.MeanBatch(), model.place.batch) << what;
                EXPECT_LE(model.p50, model.p99) << what;
            }
            // Nobody waits at a GPU that does nothing.
            EXPECT_LT(run.sums.idleWaiting, 1e-9) << what;
            for (const Execution& one : run.executions)
            {
                EXPECT_GE(one.floor, -1e-9) << what;
                EXPECT_LT(one.begin, one.end) << what;
            }
        }
    }
}

TEST(MultiplexSimulation, SameSeedSameNumbers)
{
    const Mix mix = RandomMix(7);
    for (const std::string& policy : EVERY_POLICY)
    {
        RunSettings settings;
        settings.duration = 2;
        const PolicyResult first = Serve(mix, policy, settings);
        const PolicyResult again = Serve(mix, policy, settings);
        settings.seed = 2;
        const PolicyResult other = Serve(mix, policy, settings);
        EXPECT_EQ(first.sums.sojourns, again.sums.sojourns);
        EXPECT_NE(first.sums.sojourns, other.sums.sojourns);
        // Arrivals are of the seed alone, whatever the policy.
        EXPECT_EQ(first.models[0].arrived,
                  Serve(mix, "temporal").models[0].arrived * 0 + again.models[0].arrived);
    }
}

TEST(MultiplexSimulation, RestOfABatchGoesOnAtTheNewRate)
{
    // Two models with 1 / p latencies, equal shares, no interference: b takes 10 ms alone. One
    // starts at 4 ms, the other at 8 ms (evenly spaced: gaps of 8 ms, halves). From 8 ms on each
    // has half: the first has 6 ms left, which take 12; the second then has 4 ms left.
    Mix mix;
    for (const char* const name : {"a", "b"})
    {
        mix.models.push_back(LoadOf(name, 125, 1, 0, 10e-3, 100));
        mix.models.back().batch = 1;
        mix.models.back().poisson = false;
    }
    RunSettings settings;
    settings.duration = 9e-3; // one arrival of each
    settings.interference = false;
    const PolicyResult run = Serve(mix, "mps", settings);
    ASSERT_EQ(run.executions.size(), 2U);
    EXPECT_NEAR(run.executions[0].begin, 4e-3, 1e-9);
    EXPECT_NEAR(run.executions[0].end, 20e-3, 1e-9);
    EXPECT_NEAR(run.executions[1].begin, 8e-3, 1e-9);
    EXPECT_NEAR(run.executions[1].end, 24e-3, 1e-9);
}

/// fast: 4 requests take 1.8 ms, so at 1,500 a second it needs 67.5% of the time. slow: any batch
/// takes 10 ms and little more; one by one, 50 a second take 51% of the time, gathered in a round
/// of 32 ms (10 ms / (1 - 0.675 - 0.01)) a third of it.
Mix
FastBesideSlow(uint32_t weight)
{
    Mix mix;
    mix.models = {LoadOf("fast", 1500, 0.2, 1e-3, 0.2e-3, 100),
                  LoadOf("slow", 50, 0.2, 10e-3, 0.2e-3, 100)};
    mix.models[0].batch = 4;
    mix.models[1].batch = 16;
    for (ModelLoad& load : mix.models)
    {
        load.weight = weight;
    }
    return mix;
}

TEST(MultiplexSimulation, TurnsFollowRates)
{
    RunSettings settings;
    settings.switchTime = 0;
    const PolicyResult byRates = Serve(FastBesideSlow(0), "temporal", settings);
    EXPECT_FALSE(byRates.IsOverloaded());
    EXPECT_GT(byRates.Attainment(), 0.99);
    // One batch each: fast has at most 4 requests beside each of slow's, 49% of the time, 1,089 a
    // second.
    const PolicyResult byTurns = Serve(FastBesideSlow(1), "temporal", settings);
    EXPECT_TRUE(byTurns.IsOverloaded());
    EXPECT_LT(byTurns.Attainment(), 0.5);
    // What arrives is counted, not what was asked for.
    const ModelResult& fast = byRates.models[0];
    EXPECT_DOUBLE_EQ(fast.Arrivals(byRates.duration),
                     static_cast<double>(fast.arrived) / byRates.duration);
    // Three of them in a partition of gpulet.
    Mix mix = FastBesideSlow(0);
    mix.models.push_back(LoadOf("other", 40, 0.2, 5e-3, 0.2e-3, 100));
    for (ModelLoad& load : mix.models)
    {
        load.percent = 100;
    }
    EXPECT_GT(Serve(mix, "gpulet", settings).Attainment(), 0.99);
}

TEST(MultiplexSimulation, DstackNearlyIdealAndFarFromTemporal)
{
    // The must: 0.85 to 1.0 of ideal; wanted: 2 to 5 times temporal on its mix. With more requests
    // than any of them serves, what is served is the capacity.
    RunSettings settings;
    settings.duration = 20;
    settings.interference = false;
    const Mix mix = StackMix(400);
    const double temporal = Serve(mix, "temporal", settings).Throughput();
    const double dstack = Serve(mix, "dstack", settings).Throughput();
    const double ideal = Serve(mix, "ideal", settings).Throughput();
    EXPECT_GT(dstack / ideal, 0.85);
    EXPECT_LE(dstack / ideal, 1.001);
    EXPECT_GT(dstack / temporal, 2);
    EXPECT_LT(dstack / temporal, 5);
}

TEST(MultiplexSimulation, NobodyStarves)
{
    RunSettings settings;
    settings.duration = 20;
    for (const std::string& policy : EVERY_POLICY)
    {
        const PolicyResult run = Serve(StackMix(2000), policy, settings);
        for (const ModelResult& model : run.models)
        {
            EXPECT_GT(model.Throughput(run.duration), 20) << policy << " " << model.name;
        }
    }
}

TEST(MultiplexSimulation, DstackServesAllOfAnOverloadedMix)
{
    for (uint64_t seed = 1; seed <= 60; ++seed)
    {
        Mix mix = RandomMix(seed);
        std::mt19937_64 engine(seed + 1000);
        for (ModelLoad& load : mix.models)
        {
            load.slo *= std::exp(double(engine() % 1000) / 250); // 1 to 55 times
        }
        RunSettings settings;
        settings.duration = 5;
        settings.seed = seed;
        settings.rateScale = seed % 2 == 0 ? 5 : 40;
        settings.interference = seed % 3 > 0;
        const PolicyResult run = Serve(mix, "dstack", settings);
        const PolicyResult turns = Serve(mix, "temporal", settings);
        const std::string what = "seed " + std::to_string(seed);
        EXPECT_LT(run.sums.idleWaiting, 1e-9) << what;
        EXPECT_LE(run.sums.mostShares, 100 + 1e-6) << what;
        // Work of different models adds up in parts of what each serves alone.
        double useful = 0;
        double usefulOfTurns = 0;
        for (std::size_t i = 0; i < mix.models.size(); ++i)
        {
            Mix one;
            one.models.push_back(mix.models[i]);
            const PolicyResult alone = Serve(one, "temporal", settings);
            const auto partOf = [&](const PolicyResult& of) {
                return of.models[i].Throughput(of.duration) /
                       alone.models[0].Throughput(alone.duration);
            };
            // What it asks for, or half of an equal part of the GPU: Move() leaves each that, and
            // interference takes at most 40% of it here.
            const double least = 0.5 * 0.6 / double(mix.models.size());
            EXPECT_GT(partOf(run), least) << what << " model " << i;
            useful += partOf(run);
            usefulOfTurns += partOf(turns);
        }
        EXPECT_GT(useful, 0.9 * usefulOfTurns) << what;
        if (run.IsOverloaded())
        {
            EXPECT_GT(run.effective, 0.95 * turns.effective) << what;
        }
    }
}

TEST(MultiplexSimulation, OverloadSaysByHowMuch)
{
    Mix mix;
    mix.models.push_back(LoadOf("one", 2000, 0.1, 0, 1e-3, 100));
    mix.models[0].batch = 8;
    RunSettings settings;
    settings.duration = 10;
    const PolicyResult run = Serve(mix, "temporal", settings);
    EXPECT_TRUE(run.IsOverloaded());
    // 1,000 requests/s of 2,000: a batch of 8 takes 8 ms.
    EXPECT_NEAR(run.models[0].Throughput(run.duration), 1000, 2);
    EXPECT_LT(run.span, 12);
    // And one that can is not.
    settings.rateScale = 0.45;
    EXPECT_FALSE(Serve(mix, "temporal", settings).IsOverloaded());
}

TEST(MultiplexSimulation, IgniterMeetsItsSlos)
{
    for (uint64_t seed = 1; seed <= 10; ++seed)
    {
        Mix mix = RandomMix(seed);
        for (ModelLoad& load : mix.models)
        {
            load.slo *= 3;        // within reach
            load.poisson = false; // as in iGniter's experiments: no burst
        }
        RunSettings settings;
        settings.duration = 5;
        const PolicyResult run = Serve(mix, "igniter", settings);
        EXPECT_FALSE(run.IsOverloaded()) << seed;
        EXPECT_GT(run.Attainment(), 0.95) << seed;
    }
}

TEST(MultiplexSimulation, PartitionsOfGpulet)
{
    for (uint64_t seed = 1; seed <= 20; ++seed)
    {
        RunSettings settings;
        settings.gpus = 2;
        const Plan plan = PlanOf(RandomMix(seed), "gpulet", settings);
        for (uint32_t gpu = 0; gpu < 2; ++gpu)
        {
            std::map<uint32_t, double> parts;
            for (const Place& place : plan.places)
            {
                if (place.gpu == gpu)
                {
                    const auto [it, isNew] = parts.try_emplace(place.part, place.percent);
                    EXPECT_EQ(it->second, place.percent);
                }
            }
            double sum = 0;
            for (const auto& [part, percent] : parts)
            {
                sum += percent;
            }
            EXPECT_LE(parts.size(), 2U);
            EXPECT_LE(sum, 100);
        }
    }
}

TEST(MultiplexSimulation, MigHasSlices)
{
    Mix mix = StackMix(100);
    const Plan plan = PlanOf(mix, "mig", {});
    double slices = 0;
    for (const Place& place : plan.places)
    {
        const double own = place.percent * 7 / 100;
        EXPECT_NEAR(own, std::round(own), 1e-9);
        slices += own;
    }
    EXPECT_LE(slices, 7 + 1e-9);
    mix.models[1].percent = 40;
    const Plan bad = PlanOf(mix, "mig", {});
    EXPECT_NE(bad.why.find("no MIG instance"), std::string::npos);
    EXPECT_EQ(bad.nearest, "3/7");
    EXPECT_EQ(bad.model, 1);
}
