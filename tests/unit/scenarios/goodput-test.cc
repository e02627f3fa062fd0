/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Weeks of a job with failures: the closed form, the optimum, and the simulation of events.
 */
#include "scenarios/goodput/failure-simulation.h"
#include "scenarios/goodput/goodput-model.h"
#include "scenarios/goodput/options/goodput-options.h"
#include "scenarios/options/format.h"
#include "scenarios/options/span.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sstream>

using namespace goodput;

namespace
{

constexpr double MINUTE = 60;
constexpr double HOUR = 3600;
constexpr double DAY = 86400;

/// Any cause, which takes no server.
Job
PlainJob(double mtbf)
{
    Job job;
    job.sources = {{Cause::kSoftware, mtbf, 1, 0, false}};
    return job;
}

/// A job with a bit of everything.
Job
RandomJob(std::mt19937_64& engine)
{
    const auto between = [&engine](double low, double high) {
        return low * std::exp(std::log(high / low) * (engine() >> 11) * 0x1p-53);
    };
    Job job;
    job.step = between(1, 30);
    job.sources = {{Cause::kGpu, between(2, 20) * DAY, 1, between(0.1, 60), true},
                   {Cause::kSwitch, between(2, 20) * DAY, 1, between(1, 60), false},
                   {Cause::kSoftware, between(2, 20) * DAY, 1, between(0.1, 600), false}};
    job.stall = between(1, 120);
    job.abort = between(0.5, 5);
    job.replace = between(30, 600);
    job.restart = between(10, 300);
    job.read = between(10, 300);
    job.spares = engine() % 4;
    job.repair = between(0.1, 1) * DAY;
    if (engine() % 2)
    {
        job.behind = between(10, 1000);
    }
    return job;
}

std::string
ErrorOf(const std::string& options)
{
    std::istringstream in("dlgoodput --model=gpt2 " + options);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
    {
        words.push_back(word);
    }
    std::vector<const char*> argv;
    for (const auto& word : words)
    {
        argv.push_back(word.c_str());
    }
    const auto result = scenario::ValidateGoodput(
        scenario::ReadOptions(scenario::GoodputOptionTable(), int(argv.size()), argv.data()));
    return result.errors.empty() ? "" : result.errors.front().Text();
}

} // namespace

/// Figures 3 to 5 of Daly 2006: delta = 5 min; M = 24 h, 6 h, 15 min; the optimum is 117, 57 and
/// 9.1 min.
TEST(Goodput, DalysOptimumIsAsPublished)
{
    EXPECT_NEAR(DalyInterval(5 * MINUTE, 24 * HOUR) / MINUTE, 117, 0.5);
    EXPECT_NEAR(DalyInterval(5 * MINUTE, 6 * HOUR) / MINUTE, 57, 0.5);
    EXPECT_NEAR(DalyInterval(5 * MINUTE, 15 * MINUTE) / MINUTE, 9.1, 0.05);
    // Young: sqrt(2 x 5 x 1440) = 120.
    EXPECT_NEAR(YoungInterval(5 * MINUTE, 24 * HOUR) / MINUTE, 120, 1e-9);
    // From delta = 2 M on: M.
    EXPECT_EQ(DalyInterval(20 * MINUTE, 10 * MINUTE), 10 * MINUTE);
}

/// The best of many intervals, by the closed form, is no better than Daly's by more than 0.1%.
TEST(Goodput, DalysOptimumIsTheBestInterval)
{
    for (const double stall : {1.0, 30.0, 300.0})
    {
        for (const double mtbf : {0.5 * HOUR, 3 * HOUR, 5 * DAY})
        {
            for (const double behind : {0.0, 20.0, 900.0})
            {
                Job job = PlainJob(mtbf);
                job.stall = stall;
                job.behind = behind;
                job.restart = 60;
                double best = 0;
                for (double interval = 1; interval < 4 * mtbf; interval *= 1.01)
                {
                    best = std::max(best, ::Goodput(job, interval));
                }
                EXPECT_GT(::Goodput(job, BestInterval(job)), 0.999 * best)
                    << stall << " " << mtbf << " " << behind;
            }
        }
    }
}

/// Daly's complete cost function, and the same by hand: M = 1 h, R = 2 min, delta = 1 min, tau = 10
/// min: a segment takes e^(2/60) 60 min (e^(11/60) - 1) = 1.033895 x 60 min x 0.201215 = 12.482
/// min.
TEST(Goodput, ClosedFormIsDalysOfOneCause)
{
    Job job = PlainJob(HOUR);
    job.stall = MINUTE;
    job.restart = 2 * MINUTE;
    const double segment = std::exp(2.0 / 60) * 60 * std::expm1(11.0 / 60);
    EXPECT_NEAR(segment, 12.482, 1e-3);
    EXPECT_NEAR(::Goodput(job, 10 * MINUTE), 10 / segment, 1e-12);
}

TEST(Goodput, WithoutFailuresOnlyCheckpointsCost)
{
    Job job = PlainJob(NEVER);
    job.stall = 10;
    EXPECT_DOUBLE_EQ(::Goodput(job, 90), 0.9);
    EXPECT_TRUE(std::isinf(BestInterval(job)));
    EXPECT_EQ(::Goodput(job, BestInterval(job)), 1);
    // 1,000 s have ten whole intervals of 90 s and their stalls.
    const Course course = Simulate(job, 90, 1000, 1, 0);
    EXPECT_DOUBLE_EQ(course.spent.useful, 900);
    EXPECT_DOUBLE_EQ(course.spent.checkpoint, 100);
    const Course none = Simulate(job, NEVER, 1000, 1, 0);
    EXPECT_DOUBLE_EQ(none.spent.useful, 1000);
}

/// Checkpoints that cost nothing are made with every step; then half a step a failure is lost.
TEST(Goodput, FreeCheckpointsAreMadeEveryStep)
{
    Job job = PlainJob(HOUR);
    job.step = 10;
    EXPECT_EQ(BestInterval(job), 10);
    // A run of length X keeps 10 floor(X / 10) s: 10 / (e^(10/3600) - 1) of 3,600 s.
    EXPECT_NEAR(::Goodput(job, 10), 10 / std::expm1(10.0 / 3600) / 3600, 1e-12);
}

/// Copies of 5 s, written in 100 s beside the steps. With intervals of 60 s the next copy waits for
/// the write: a copy ends every 105 s of which 60 s are work.
TEST(Goodput, AnAsynchronousCheckpointWaitsForTheOneBefore)
{
    Job job = PlainJob(NEVER);
    job.stall = 5;
    job.behind = 100;
    EXPECT_DOUBLE_EQ(::Goodput(job, 60), 60.0 / 105);
    EXPECT_DOUBLE_EQ(::Goodput(job, 195), 195.0 / 200);
    // Copies end at 65, 170, 275 s; the last one stalls from 230 on.
    const Course course = Simulate(job, 60, 275, 1, 0);
    EXPECT_DOUBLE_EQ(course.spent.useful, 180);
    EXPECT_DOUBLE_EQ(course.spent.checkpoint, 95);
    // The optimum is no shorter than the write.
    job.sources = PlainJob(HOUR).sources;
    job.step = 1;
    EXPECT_GE(BestInterval(job), 100);
}

/// A failure during the write goes back to the checkpoint before: what is lost is counted from
/// there. The same events (same seed) lose less if writes take no time.
TEST(Goodput, AFailureDuringTheWriteLosesMore)
{
    Job job = PlainJob(2000);
    job.stall = 1;
    const Course soon = Simulate(job, 100, 10 * DAY, 3, 0);
    job.behind = 90;
    const Course late = Simulate(job, 100, 10 * DAY, 3, 0);
    EXPECT_EQ(soon.failures, late.failures);
    // Of a failure in the first 90 of 101 s, 100 s more are lost: 0.89 of 100 s each on average.
    const auto count = static_cast<double>(soon.failures[size_t(Cause::kSoftware)]);
    EXPECT_GT(count, 350);
    EXPECT_NEAR((late.spent.lost - soon.spent.lost) / count, 0.89 * 100, 6);
}

/// The closed form against the simulation, within 2%: jobs of all sorts.
TEST(Goodput, SimulationAgreesWithTheClosedForm)
{
    std::mt19937_64 engine(64);
    for (int shape = 0; shape < 60; ++shape)
    {
        const Job job = RandomJob(engine);
        const double interval = BestInterval(job) * std::exp2(double(engine() % 5) - 2);
        const Replications all = Replicate(job, interval, 200 * DAY, shape + 1, 40);
        const double closed = ::Goodput(job, interval);
        EXPECT_NEAR(all.goodput / closed, 1, 0.02) << shape;
        EXPECT_LT(all.halfWidth.value(), 0.02) << shape;
        EXPECT_NEAR(all.mean.Sum(), 200 * DAY, 1e-3) << shape;
    }
}

/// The same for replicas that leave and come back.
TEST(Goodput, SimulationAgreesWithTheClosedFormOfShrinking)
{
    std::mt19937_64 engine(46);
    for (int shape = 0; shape < 30; ++shape)
    {
        Job job = RandomJob(engine);
        job.policy = Policy::kShrink;
        job.replicas = 4 + engine() % 60;
        job.regroup = 1;
        const double interval = BestInterval(job);
        const Replications all = Replicate(job, interval, 200 * DAY, shape + 1, 40);
        EXPECT_NEAR(all.goodput / ::Goodput(job, interval), 1, 0.02) << shape;
        EXPECT_NEAR(all.mean.Sum(), 200 * DAY, 1e-3) << shape;
    }
}

/// Frequent failures, exactly modelled as well: one in 20 min, a recovery of 5 min.
TEST(Goodput, SimulationAgreesWhereFailuresAreFrequent)
{
    Job job = PlainJob(20 * MINUTE);
    job.stall = 10;
    job.restart = 5 * MINUTE;
    const double interval = BestInterval(job);
    const Replications all = Replicate(job, interval, 60 * DAY, 1, 100);
    EXPECT_NEAR(all.goodput, ::Goodput(job, interval), 2 * all.halfWidth.value());
    EXPECT_LT(all.halfWidth.value(), 0.005);
}

/// M = 10 days, T = 30 days, no checkpoint: the last run has (1 - e^-3) M of T. Without failures
/// all work counts.
TEST(Goodput, WorkCountsThatTheJobEndsWith)
{
    Job job = PlainJob(10 * DAY);
    EXPECT_NEAR(::Goodput(job, NEVER, 30 * DAY), (1 - std::exp(-3.0)) / 3, 1e-12);
    EXPECT_NEAR(::Goodput(job, 100 * DAY, 30 * DAY), (1 - std::exp(-3.0)) / 3, 1e-12);
    EXPECT_EQ(::Goodput(job, NEVER), 0); // without end
    // A recovery of R: it runs for a share e^(-R / M) of the time, or has not failed yet.
    job.restart = DAY;
    const double there = std::exp(-0.1);
    EXPECT_NEAR(::Goodput(job, NEVER, 30 * DAY),
                ((1 - there) * std::exp(-3.0) * 30 + there * (1 - std::exp(-3.0)) * 10) / 30,
                1e-12);
    EXPECT_EQ(::Goodput(PlainJob(NEVER), 100 * DAY, 30 * DAY), 1);
}

/// Intervals up to more than the duration, checkpoints up to days: within 2% of the simulation, or
/// within twice its confidence interval.
TEST(Goodput, ClosedFormOfADurationAgreesWithTheSimulation)
{
    for (const double mtbf : {1.0, 10.0, 100.0})
    {
        for (const double interval : {0.1, 2.0, 9.0, 40.0})
        {
            for (const double stall : {0.001, 0.5, 50.0})
            {
                for (const double behind : {0.0, 3.0})
                {
                    Job job = PlainJob(mtbf * DAY);
                    job.stall = stall * DAY;
                    job.behind = behind * DAY;
                    job.restart = HOUR;
                    const Replications all = Replicate(job, interval * DAY, 30 * DAY, 7, 1000);
                    const double closed = ::Goodput(job, interval * DAY, 30 * DAY);
                    EXPECT_NEAR(all.goodput,
                                closed,
                                std::max(0.02 * closed, 2 * all.halfWidth.value()))
                        << mtbf << " " << interval << " " << stall << " " << behind;
                }
            }
        }
    }
}

/// A job that ends late is one without end.
TEST(Goodput, ALongDurationIsWithoutEnd)
{
    std::mt19937_64 engine(7);
    for (int shape = 0; shape < 100; ++shape)
    {
        const Job job = RandomJob(engine);
        const double interval = BestInterval(job);
        EXPECT_NEAR(::Goodput(job, interval, 1e9 * DAY), ::Goodput(job, interval), 1e-6) << shape;
    }
}

/// Erlang's loss formula with two places and a load of 1: (1/2) / (1 + 1 + 1/2) = 0.2.
TEST(Goodput, WaitingForRepairsIsErlangs)
{
    Job job;
    job.sources = {{Cause::kServer, 1 * DAY, 1, 0, true}};
    job.repair = 1 * DAY;
    job.spares = 1;
    EXPECT_NEAR(WaitingShare(job), 0.2, 1e-12);
    job.spares = 0;
    EXPECT_NEAR(WaitingShare(job), 0.5, 1e-12);
    const Replications all = Replicate(job, HOUR, 400 * DAY, 5, 50);
    EXPECT_NEAR(all.mean.waiting / (400 * DAY), 0.5, 0.02);
    job.spares = 20;
    EXPECT_LT(WaitingShare(job), 1e-12);
}

/// One server of 20 is always in repair (Little's law: 1 failure a day, 1 day of repair), of which
/// a replica is a twentieth; all else costs nothing.
TEST(Goodput, AReplicaInRepairIsMissing)
{
    Job job;
    job.policy = Policy::kShrink;
    job.replicas = 20;
    job.step = 1;
    job.stall = 1e-3;
    job.sources = {{Cause::kServer, 1 * DAY, 1, 0, true}};
    job.repair = 1 * DAY;
    const Replications all = Replicate(job, 60, 400 * DAY, 2, 20);
    // A replica fails every 20 days and is away for one: 20 / 21.
    EXPECT_NEAR(all.goodput, 20.0 / 21, 0.003);
    EXPECT_NEAR(all.mean.fewer / (400 * DAY), 1.0 / 21, 0.003);
}

/// One server of 4 fails in 6 h, so each in 24 h, and is away for 6 h: of its replicas, however
/// many it has, a fifth is missing (6 / 30). Were each replica alone on a server, 32 would miss
/// 6 / (32 x 6 + 6) of the time.
TEST(Goodput, AllReplicasOfAServerLeave)
{
    double before = 0;
    for (const uint32_t each : {1, 2, 8})
    {
        Job job;
        job.policy = Policy::kShrink;
        job.replicas = 4 * each;
        job.stall = 1e-3;
        job.sources = {{Cause::kJob, 6 * HOUR, 1, 0, true}};
        job.repair = 6 * HOUR;
        for (uint32_t server = 0; server < 4; ++server)
        {
            job.servers.emplace_back(each);
            std::iota(job.servers.back().begin(), job.servers.back().end(), server * each);
        }
        EXPECT_NEAR(::Goodput(job, 60), 0.8, 0.005) << each;
        const Replications all = Replicate(job, 60, 400 * DAY, 2, 20);
        EXPECT_NEAR(all.goodput, 0.8, 0.01) << each;
        // Servers are what matters: the same events.
        EXPECT_TRUE(before == 0 || std::abs(before - all.goodput) < 1e-9) << each;
        before = all.goodput;
        EXPECT_NEAR(MtbfOfRestarts(job), 4 * 6 * HOUR, 1e-6) << each;
    }
}

/// Replicas over several servers, and servers without which no replica is left: the closed form
/// against the simulation, within 2%.
TEST(Goodput, ReplicasOverSeveralServersShrink)
{
    using Servers = std::vector<std::vector<uint32_t>>;
    const std::pair<Servers, double> cases[] = {
        {{{0}, {0}, {1}, {1}, {2}, {2}}, 1},   // two servers a replica
        {{{0}, {0, 1}, {1}}, 2.0 / 3},         // one and a half
        {{{0, 1}, {0, 1}, {2, 3}, {2, 3}}, 1}, // stages of two replicas
        {{{0, 1, 2, 3}, {0, 1, 2, 3}}, 0},     // stages of all
    };
    for (const auto& [servers, leaving] : cases)
    {
        Job job;
        job.policy = Policy::kShrink;
        job.servers = servers;
        job.replicas = servers.back().back() + 1;
        job.step = 5;
        job.stall = 20;
        job.restart = job.read = 30;
        job.replace = 2 * MINUTE;
        job.repair = 3 * HOUR;
        job.sources = {{Cause::kJob, 1 * DAY, 1, 0.1, true},
                       {Cause::kSoftware, 2 * DAY, 1, 0.1, false}};
        EXPECT_DOUBLE_EQ(job.LeavingShare(), leaving);
        const double interval = BestInterval(job);
        const Replications all = Replicate(job, interval, 200 * DAY, 1, 50);
        EXPECT_NEAR(all.goodput / ::Goodput(job, interval), 1, 0.02) << leaving;
        EXPECT_NEAR(all.mean.waiting / (200 * DAY), WaitingShare(job), 0.01) << leaving;
        EXPECT_NEAR(all.mean.Sum(), 200 * DAY, 1e-3) << leaving;
    }
}

TEST(Goodput, SameSeedSameCourse)
{
    std::mt19937_64 engine(1);
    const Job job = RandomJob(engine);
    const Course a = Simulate(job, HOUR, 100 * DAY, 7, 3, true);
    const Course b = Simulate(job, HOUR, 100 * DAY, 7, 3, true);
    EXPECT_EQ(a.spent.useful, b.spent.useful);
    ASSERT_EQ(a.interruptions.size(), b.interruptions.size());
    EXPECT_NE(a.spent.useful, Simulate(job, HOUR, 100 * DAY, 8, 3).spent.useful);
    EXPECT_NE(a.spent.useful, Simulate(job, HOUR, 100 * DAY, 7, 4).spent.useful);
    // What interruptions say adds up.
    double lost = 0;
    uint64_t failures = 0;
    for (const Interruption& one : a.interruptions)
    {
        lost += one.lost;
    }
    for (const uint64_t count : a.failures)
    {
        failures += count;
    }
    EXPECT_NEAR(lost, a.spent.lost, 1e-3);
    EXPECT_EQ(failures, a.interruptions.size());
}

/// Times between failures have the mean that was asked for, whatever their shape.
TEST(Goodput, WeibullKeepsTheMean)
{
    for (const double shape : {0.7, 1.0, 1.5, 3.0})
    {
        Job job = PlainJob(HOUR);
        job.weibull = shape;
        const Replications all = Replicate(job, MINUTE, 100 * DAY, 11, 20);
        EXPECT_NEAR(all.failures[size_t(Cause::kSoftware)], 2400, 40) << shape;
    }
}

/// From the first hour on, too: 5 failures in 5 mean times. A job that had failed just before its
/// begin would see 2 more with shape 0.5 (variance 5: (5 - 1) / 2), and 0.36 fewer with shape 2.
TEST(Goodput, WeibullKeepsTheRateFromTheBegin)
{
    for (const double shape : {0.5, 2.0})
    {
        Job job = PlainJob(HOUR);
        job.weibull = shape;
        constexpr int COUNT = 4000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < COUNT; ++i)
        {
            const Course course = Simulate(job, MINUTE, 5 * HOUR, 7, i);
            const auto failures = double(course.failures[size_t(Cause::kSoftware)]);
            sum += failures;
            squares += failures * failures;
        }
        const double mean = sum / COUNT;
        const double halfWidth = 1.96 * std::sqrt((squares / COUNT - mean * mean) / COUNT);
        EXPECT_NEAR(mean, 5, halfWidth) << shape;
        EXPECT_LT(halfWidth, 0.2) << shape;
    }
}

/// A failure a second for two days are 172,800: more than are kept. Means are of all.
TEST(Goodput, KeepsSoManyInterruptions)
{
    const Replications all = Replicate(PlainJob(1), 1, 2 * DAY, 1, 1);
    EXPECT_EQ(all.first.size(), kMostKept);
    EXPECT_NEAR(double(all.leftOut), 72800, 2000);
    EXPECT_EQ(double(kMostKept + all.leftOut), all.failures[size_t(Cause::kSoftware)]);
    EXPECT_FALSE(all.halfWidth); // of one course
}

/// Within a course and between courses; a course that was stopped is not counted.
TEST(Goodput, CoursesCanBeStopped)
{
    int asked = 0;
    const GoesOn twice = [&asked] { return ++asked <= 2; };
    EXPECT_EQ(Replicate(PlainJob(HOUR), MINUTE, DAY, 1, 100, twice).count, 2);
    const Replications none = Replicate(PlainJob(1), 1, 100 * DAY, 1, 1, [] { return false; });
    EXPECT_EQ(none.count, 0);
    EXPECT_EQ(none.goodput, 0);
}

/// 419 interruptions in 54 days of 16,384 GPUs, more than 90% effective training time (Llama 3
/// paper, section 3.3.4). The defaults are those counts; recovery takes what is assumed elsewhere.
TEST(Goodput, Llama3IsAbove90Percent)
{
    Job job;
    const uint64_t gpus = 16384;
    const uint64_t parts[] = {gpus, gpus, 2048, gpus / 8, gpus};
    double expected[CAUSES] = {268, 7, 35, 46, 63};
    for (std::size_t i = 0; i < 5; ++i)
    {
        const Cause cause = ALL_CAUSES[i];
        job.sources.push_back({cause, PublishedMtbf(cause), parts[i], 30, true});
        EXPECT_NEAR(job.sources.back().Rate() * 54 * DAY, expected[i], 1e-6);
    }
    EXPECT_NEAR(job.FailureRate() * 54 * DAY, 419, 1e-6);
    job.step = 12;
    job.stall = 25; // 50 GB a server at 2 GB/s
    job.abort = 1;
    job.replace = 2 * MINUTE;
    job.restart = 30;
    job.read = 30;
    job.spares = 100;
    job.repair = DAY;
    const double interval = BestInterval(job);
    EXPECT_GT(::Goodput(job, interval), 0.9);
    const Replications all = Replicate(job, interval, 54 * DAY, 1, 20);
    EXPECT_GT(all.goodput, 0.9);
    EXPECT_NEAR(all.goodput, ::Goodput(job, interval), 0.01);
}

TEST(Goodput, SpansAreRead)
{
    EXPECT_EQ(scenario::ParseSpan("54d"), 54 * DAY);
    EXPECT_EQ(scenario::ParseSpan("1.5h"), 1.5 * HOUR);
    EXPECT_EQ(scenario::ParseSpan("30min"), 1800);
    EXPECT_EQ(scenario::ParseSpan("9y"), 9 * 365.25 * DAY);
    EXPECT_EQ(scenario::ParseSpan("0"), 0);
    for (const char* const bad : {"", "54", "3 fortnights", "-1h", "h", "1m"})
    {
        EXPECT_FALSE(scenario::ParseSpan(bad)) << bad;
    }
    EXPECT_EQ(scenario::SpanText(54 * DAY), "54.0 days");
    EXPECT_EQ(scenario::SpanText(100), "100 s");
    EXPECT_EQ(scenario::SpanText(0.0345), "34.5 ms");
    EXPECT_EQ(scenario::SpanText(NEVER), "never");
}

TEST(Goodput, BadOptionsAreOneErrorEach)
{
    EXPECT_EQ(ErrorOf("--mtbf=3h --checkpoint=30min --spares=2 --duration=54d"), "");
    EXPECT_EQ(ErrorOf("--gpu-mtbf=never --checkpoint-every=10"), "");
    const std::pair<const char*, const char*> cases[] = {
        {"--mtbf=3", "--mtbf=3: allowed: a time such as"},
        {"--mtbf=3h --gpu-mtbf=5y", "--gpu-mtbf=5y: --mtbf says how often anything fails"},
        {"--checkpoint=often", "--checkpoint=often: allowed: auto, or a time"},
        {"--checkpoint=1h --checkpoint-every=5", "--checkpoint-every says the same in steps"},
        {"--duration=200y", "--duration=200y: allowed: a time"},
        {"--weibull-shape=0", "--weibull-shape=0: allowed:"},
        {"--step-time=5s --step-from=estimate", "--step-time says the step's time"},
        {"--copy-time=5s", "--copy-time=5s: needs --checkpoint-async"},
        {"--recovery=shrink --spares=2", "--recovery=shrink replaces no server"},
        {"--recovery=rebuild", "--recovery=rebuild: unknown recovery; allowed: restart, shrink"},
        {"--layers=4", "--layers=4: the step has all blocks"},
        {"--auto-parallel=recursive",
         "--auto-parallel=recursive: replicas and checkpoints need a layout"},
        {"--step-time=2d --duration=1d", "--step-time=2d: ends after --duration"},
        {"--replications=0", "--replications=0: allowed:"},
        {"--gpus=8,16 --servers=2", "--servers=2: follows from --gpus"},
        {"--checkpoint-servers=2 --network=fluid", "--checkpoint-servers=2: needs packets"},
    };
    for (const auto& [words, text] : cases)
    {
        EXPECT_NE(ErrorOf(words).find(text), std::string::npos) << words << ": " << ErrorOf(words);
    }
}
