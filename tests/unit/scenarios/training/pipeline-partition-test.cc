/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How layers become stages: against all partitions there are, for small numbers of layers, and
 * against the configurations that PipeDream published.
 */
#include "scenarios/training/pipeline/deepspeed-partition.h"
#include "scenarios/training/pipeline/partition.h"
#include "scenarios/training/pipeline/pipedream-partition.h"
#include "scenarios/training/spec/layer-profile.h"
#include "tests/unit/scenarios/vgg16-profile.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace training;

namespace
{

/// Numbers that look random and are the same everywhere (Knuth's multiplier of 64 bits).
class Numbers
{
  public:
    explicit Numbers(uint64_t seed)
        : m_state(seed * 2 + 1)
    {
    }

    /// From 0 to `most`.
    uint32_t Next(uint32_t most)
    {
        m_state = m_state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<uint32_t>((m_state >> 33) % (most + 1ULL));
    }

  private:
    uint64_t m_state;
};

/// All ways to write n as a sum of so many numbers from 1 on, those with small first numbers first.
void
ForSums(uint32_t n, uint32_t parts, const std::function<void(const std::vector<uint32_t>&)>& visit)
{
    std::vector<uint32_t> sum;
    std::function<void(uint32_t, uint32_t)> rest = [&](uint32_t left, uint32_t more) {
        if (more == 1)
        {
            sum.push_back(left);
            visit(sum);
            sum.pop_back();
            return;
        }
        for (uint32_t i = 1; i + more - 1 <= left; ++i)
        {
            sum.push_back(i);
            rest(left - i, more - 1);
            sum.pop_back();
        }
    };
    rest(n, parts);
}

double
Largest(const std::vector<double>& costs, const std::vector<uint32_t>& counts)
{
    double largest = 0;
    auto at = costs.begin();
    for (const uint32_t count : counts)
    {
        largest = std::max(largest, std::accumulate(at, at + count, 0.0));
        at += count;
    }
    return largest;
}

std::vector<PartitionLayer>
SomeLayers(uint32_t n, Numbers& numbers)
{
    std::vector<PartitionLayer> layers;
    for (uint32_t i = 0; i < n; ++i)
    {
        layers.push_back({1.0 + numbers.Next(9),
                          double(numbers.Next(numbers.Next(1) == 0 ? 3 : 30)),
                          double(numbers.Next(numbers.Next(1) == 0 ? 3 : 60))});
    }
    return layers;
}

/// T of pipedream-partition.h, written anew.
double
StageTime(const std::vector<PartitionLayer>& layers,
          uint32_t first,
          uint32_t count,
          double machines,
          double rate,
          bool hide)
{
    double seconds = 0;
    double bytes = 0;
    for (uint32_t i = first; i < first + count; ++i)
    {
        seconds += layers[i].seconds;
        bytes += layers[i].parameterBytes;
    }
    const double sync = 4 * (machines - 1) * bytes / (machines * rate);
    return (hide ? std::max(seconds, sync) : seconds + sync) / machines;
}

/// The best of all partitions and replications on one level of links.
double
BestOfAll(const std::vector<PartitionLayer>& layers, uint32_t machines, double rate, bool hide)
{
    double best = std::numeric_limits<double>::infinity();
    const auto n = static_cast<uint32_t>(layers.size());
    for (uint32_t stages = 1; stages <= std::min(n, machines); ++stages)
    {
        ForSums(n, stages, [&](const std::vector<uint32_t>& counts) {
            ForSums(machines, stages, [&](const std::vector<uint32_t>& replicas) {
                double slowest = 0;
                uint32_t first = 0;
                for (uint32_t s = 0; s < stages; ++s)
                {
                    slowest =
                        std::max(slowest,
                                 StageTime(layers, first, counts[s], replicas[s], rate, hide));
                    first += counts[s];
                    if (s + 1 < stages)
                    {
                        slowest = std::max(slowest, 2 * layers[first - 1].activationBytes / rate);
                    }
                }
                best = std::min(best, slowest);
            });
        });
    }
    return best;
}

uint32_t
Machines(const PipeDreamPartition& partition)
{
    uint32_t sum = 0;
    for (const auto& stage : partition.stages)
    {
        sum += stage.replicas;
    }
    return sum;
}

bool
Covers(const PipeDreamPartition& partition, size_t layers)
{
    uint32_t next = 0;
    for (const auto& stage : partition.stages)
    {
        if (stage.first != next || stage.last < stage.first)
        {
            return false;
        }
        next = stage.last + 1;
    }
    return next == layers;
}

bool
Has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST(PipelinePartition, BalancedIsTheBestOfAll)
{
    for (uint32_t seed = 0; seed < 60; ++seed)
    {
        Numbers numbers(seed);
        for (uint32_t n = 1; n <= 8; ++n)
        {
            std::vector<double> costs(n);
            for (double& cost : costs)
            {
                cost = numbers.Next(seed % 2 == 0 ? 3 : 100); // of few values: many ties
            }
            for (uint32_t pieces = 1; pieces <= n; ++pieces)
            {
                std::vector<uint32_t> best;
                ForSums(n, pieces, [&](const std::vector<uint32_t>& counts) {
                    // The first of equals has the earliest cuts.
                    if (best.empty() || Largest(costs, counts) < Largest(costs, best))
                    {
                        best = counts;
                    }
                });
                EXPECT_EQ(BalancedPartition(costs, pieces), best) << "seed " << seed;
            }
        }
    }
}

// Five equal layers on four stages are what microsoft/DeepSpeed#4312 reports of the older way (2,
// 2, 1 and none) and has as a test of the newer one (1, 1, 1, 2 or 2, 1, 1, 1). 78 blocks on 12
// stages are BLOOM's, of which its notes say that the last stage has 1 and the others 7; with
// embedding and head counted, and 106 blocks, all have 9.
TEST(PipelinePartition, EvenAndFrontAsDeepSpeed)
{
    using Counts = std::vector<uint32_t>;
    EXPECT_EQ(FrontPartition({1, 1, 1, 1, 1}, 4), (Counts{2, 2, 1, 0}));
    EXPECT_EQ(EvenPartition({1, 1, 1, 1, 1}, 4), (Counts{2, 1, 1, 1}));
    EXPECT_EQ(EvenPartition({1, 1, 1, 1, 0, 1}, 4), (Counts{2, 1, 2, 1})); // last cuts latest
    std::vector<double> bloom(80, 1); // embedding and head weigh nothing
    bloom.front() = bloom.back() = 0;
    Counts front(12, 7);
    front.front() = 8;
    front.back() = 2;
    EXPECT_EQ(FrontPartition(bloom, 12), front);
    Counts even = {8, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 7};
    EXPECT_EQ(EvenPartition(bloom, 12), even);
    const std::vector<double> all(108, 1);
    EXPECT_EQ(FrontPartition(all, 12), Counts(12, 9));
    EXPECT_EQ(EvenPartition(all, 12), Counts(12, 9));
}

// Front: no division has a lighter heaviest piece, and no piece could take one more layer. Even: of
// two pieces it is the best of all.
TEST(PipelinePartition, EvenAndFrontAgainstAllDivisions)
{
    for (uint32_t seed = 0; seed < 60; ++seed)
    {
        Numbers numbers(seed);
        for (uint32_t n = 1; n <= 8; ++n)
        {
            std::vector<double> weights(n);
            for (double& weight : weights)
            {
                weight = numbers.Next(seed % 2 == 0 ? 1 : 100);
            }
            for (uint32_t pieces = 1; pieces <= n; ++pieces)
            {
                double lightest = std::numeric_limits<double>::infinity();
                double apart = lightest;
                ForSums(n, pieces, [&](const std::vector<uint32_t>& counts) {
                    lightest = std::min(lightest, Largest(weights, counts));
                    double least = std::numeric_limits<double>::infinity();
                    auto at = weights.begin();
                    for (const uint32_t count : counts)
                    {
                        least = std::min(least, std::accumulate(at, at + count, 0.0));
                        at += count;
                    }
                    apart = std::min(apart, Largest(weights, counts) - least);
                });
                const auto front = FrontPartition(weights, pieces);
                EXPECT_EQ(std::accumulate(front.begin(), front.end(), 0U), n);
                EXPECT_EQ(Largest(weights, front), lightest);
                uint32_t first = 0;
                for (const uint32_t count : front)
                {
                    const uint32_t end = first + count;
                    const double sum =
                        std::accumulate(weights.begin() + first, weights.begin() + end, 0.0);
                    EXPECT_TRUE(end == n || sum + weights[end] > lightest);
                    first = end;
                }
                const auto even = EvenPartition(weights, pieces);
                EXPECT_EQ(std::accumulate(even.begin(), even.end(), 0U), n);
                EXPECT_GT(*std::min_element(even.begin(), even.end()), 0U);
                if (pieces == 2)
                {
                    const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
                    const double one =
                        std::accumulate(weights.begin(), weights.begin() + even[0], 0.0);
                    EXPECT_EQ(std::abs(whole - 2 * one), apart) << "seed " << seed;
                }
            }
        }
    }
}

TEST(PipelinePartition, UniformAsMegatron)
{
    using Counts = std::vector<uint32_t>;
    EXPECT_EQ(UniformPartition({24, 0, 0, false, false}, 4), (Counts{6, 6, 6, 6}));
    EXPECT_EQ(UniformPartition({24, 1, 2, false, false}, 4), (Counts{7, 6, 6, 8}));
    EXPECT_EQ(UniformPartition({24, 1, 2, false, false}, 1), (Counts{27}));
    // 30 blocks and embedding and loss as one each: 8 a piece.
    EXPECT_EQ(UniformPartition({30, 1, 1, true, true}, 4), (Counts{8, 8, 8, 8}));
    EXPECT_EQ(UniformPartition({31, 1, 1, true, false}, 4), (Counts{8, 8, 8, 9}));
    for (uint32_t pieces = 1; pieces < 12; ++pieces)
    {
        for (uint32_t blocks = 1; blocks < 40; ++blocks)
        {
            for (const bool count : {false, true})
            {
                const UniformLayers layers{blocks, 1, 1, count, count};
                const bool even = (blocks + (count ? 2 : 0)) % pieces == 0;
                EXPECT_EQ(WhyNotUniform(layers, pieces).has_value(), !even);
                if (even)
                {
                    const Counts counts = UniformPartition(layers, pieces);
                    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), blocks + 2);
                    EXPECT_EQ(counts.size(), pieces);
                    EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0U);
                }
            }
        }
    }
    EXPECT_TRUE(Has(WhyNotUniform({25, 1, 1, false, false}, 4).value_or(""), "25 layers cannot"));
    EXPECT_TRUE(Has(WhyNotUniform({2, 0, 0, true, true}, 4).value_or(""), "no layers"));
    EXPECT_TRUE(WhyNotUniform({24, 0, 0, false, false}, 0).has_value());
}

TEST(PipelinePartition, PipeDreamIsTheBestOfAll)
{
    for (uint32_t seed = 0; seed < 40; ++seed)
    {
        Numbers numbers(seed);
        for (uint32_t n = 1; n <= 6; ++n)
        {
            const auto layers = SomeLayers(n, numbers);
            for (uint32_t machines = 1; machines <= 5; ++machines)
            {
                for (const double rate : {0.5, 3.0, 17.0, 1e9})
                {
                    for (const bool hide : {false, true})
                    {
                        const auto found = PartitionPipeDream(layers, {{{machines, rate}}, hide});
                        EXPECT_NEAR(found.seconds,
                                    BestOfAll(layers, machines, rate, hide),
                                    1e-9 * found.seconds);
                        EXPECT_NEAR(found.seconds,
                                    PipeDreamSeconds(layers, found.stages, rate, hide),
                                    1e-9 * found.seconds);
                        EXPECT_EQ(Machines(found), machines);
                        EXPECT_TRUE(Covers(found, n));
                    }
                }
            }
        }
    }
}

TEST(PipelinePartition, PipeDreamWithFastLinksIsDataParallel)
{
    Numbers numbers(7);
    const auto layers = SomeLayers(11, numbers);
    const double sum =
        std::accumulate(layers.begin(), layers.end(), 0.0, [](double s, const PartitionLayer& l) {
            return s + l.seconds;
        });
    for (const uint32_t machines : {1U, 2U, 3U, 7U, 16U})
    {
        const auto found = PartitionPipeDream(layers, {{{machines, 1e12}}, true});
        EXPECT_EQ(found.Text(), std::to_string(machines));
        EXPECT_NEAR(found.seconds, sum / machines, 1e-9);
    }
}

TEST(PipelinePartition, PipeDreamWithSlowerLinksIsNeverFaster)
{
    Numbers numbers(3);
    const auto layers = SomeLayers(12, numbers);
    for (const uint32_t machines : {1U, 3U, 4U, 7U, 13U})
    {
        for (const bool hide : {false, true})
        {
            double last = 0;
            for (double rate = 1000; rate > 0.01; rate /= 2)
            {
                const auto found = PartitionPipeDream(layers, {{{machines, rate}}, hide});
                EXPECT_GE(found.seconds, last * (1 - 1e-9));
                last = found.seconds;
            }
        }
    }
}

// A level of one machine changes nothing, outside or inside; and machines without synchronization
// (infinitely fast links) are one that is so many times as fast.
TEST(PipelinePartition, PipeDreamLevels)
{
    for (uint32_t seed = 0; seed < 20; ++seed)
    {
        Numbers numbers(seed);
        const auto layers = SomeLayers(7, numbers);
        for (const bool hide : {false, true})
        {
            for (const double rate : {0.7, 5.0, 40.0})
            {
                const auto one = PartitionPipeDream(layers, {{{5, rate}}, hide});
                const auto outside = PartitionPipeDream(layers, {{{5, rate}, {1, 0.01}}, hide});
                const auto inside = PartitionPipeDream(layers, {{{1, 0.01}, {5, rate}}, hide});
                EXPECT_NEAR(one.seconds, outside.seconds, 1e-9 * one.seconds);
                EXPECT_NEAR(one.seconds, inside.seconds, 1e-9 * one.seconds);
                EXPECT_EQ(one.stages, outside.stages);
                EXPECT_EQ(one.stages, inside.stages);

                auto faster = layers;
                for (auto& layer : faster)
                {
                    layer.seconds /= 3;
                }
                const auto groups = PartitionPipeDream(layers, {{{3, 1e15}, {4, rate}}, hide});
                const auto fast = PartitionPipeDream(faster, {{{4, rate}}, hide});
                EXPECT_NEAR(groups.seconds, fast.seconds, 1e-6 * fast.seconds);
                EXPECT_EQ(Machines(groups), 12U);
                EXPECT_TRUE(Covers(groups, layers.size()));
            }
        }
    }
}

// The published configurations for VGG16 on Titan X with 25 Gb/s (Harlap et al. 2018, table 1):
// 2-1-1 on 4 machines and 7-1 on 8.
//
// The profile (github.com/msr-fiddle/pipedream, profiler/image_classification/profiles/vgg16) is
// of 128 samples and a faster GPU, which is not named: some convolutions are beyond 30 TFLOP/s as
// FLOPs are counted here. The table is of 32 samples and Titan X. So
// - times and activations are taken times 32/128;
// - no pass is faster than its FLOPs at 11 TFLOP/s, Titan X's (of Pascal; which Titan X it was is
//   not known), as told at its launch (gamersnexus.net, 2523). A step of 32 samples on one is then
//   305 ms long; the authors of MXNet measured 314, with the update (Pascal Titan X, cuDNN 5.0);
// - synchronization is not hidden, as in the released optimizer. Data parallelism on 4 machines is
//   then 1.46 times as fast as one machine (the table has 1.47); hidden it were 2.3.
// Only the first is the batch. Without the others 4 machines come out as 3-1, which is what
// PipeDream's repository has for newer GPUs (the next test), so they are needed to find 2-1-1, and
// have been chosen among more, though each has a reason of its own. They are not fine-tuned: 2-1-1
// and 7-1 come out for 10 to 13 TFLOP/s and 25 to 30 Gb/s. A Maxwell Titan X (6.6) would be 3-1.
TEST(PipelinePartition, PipeDreamPublished)
{
    const LayerProfile profile = Vgg16();
    ASSERT_EQ(profile.layers.size(), 40U);
    for (const double peak : {10e12, 11e12, 12e12, 13e12})
    {
        for (const double gigabits : {25.0, 30.0})
        {
            const auto layers = PartitionLayers(ScaleProfile(profile, 32.0 / 128, peak));
            const double rate = gigabits * 1e9 / 8;
            EXPECT_EQ(PartitionPipeDream(layers, {{{4, rate}}, false}).Text(), "2-1-1")
                << peak << ' ' << gigabits;
            EXPECT_EQ(PartitionPipeDream(layers, {{{8, rate}}, false}).Text(), "7-1")
                << peak << ' ' << gigabits;
        }
    }
    const auto layers = PartitionLayers(ScaleProfile(profile, 32.0 / 128, 11e12));
    double one = 0;
    for (const auto& layer : layers)
    {
        one += layer.seconds;
    }
    const auto maxwell = PartitionLayers(ScaleProfile(profile, 32.0 / 128, 6.6e12));
    EXPECT_EQ(PartitionPipeDream(maxwell, {{{4, 25e9 / 8}}, false}).Text(), "3-1");
    EXPECT_EQ(PartitionPipeDream(layers, {{{4, 25e9 / 8}}, true}).Text(), "3-1");
    EXPECT_NEAR(one, 0.314, 0.05 * 0.314);
    // Speedups over one machine: published 3.14 and 7.04, of data parallelism 1.47 and 2.35. Their
    // ratios (2.13 and 2.99) within 30%.
    const double published[][3] = {{4, 3.14, 1.47}, {8, 7.04, 2.35}};
    for (const auto& [machines, pipedream, bsp] : published)
    {
        const auto m = static_cast<uint32_t>(machines);
        const auto found = PartitionPipeDream(layers, {{{m, 25e9 / 8}}, false});
        const double all = PipeDreamSeconds(layers, {{0, 39, m}}, 25e9 / 8, false);
        EXPECT_NEAR(all / found.seconds, pipedream / bsp, 0.3 * pipedream / bsp);
        EXPECT_NEAR(one / all, bsp, 0.15 * bsp);
    }
}

// The same where VGG16 is cut at narrow places only, behind its poolings: then for 9 to 30 Gb/s,
// and what a machine sends a micro-batch is less than with data parallelism by what the table says
// (90 and 95%), within 5 points.
TEST(PipelinePartition, PipeDreamPublishedAtNarrowCuts)
{
    const auto layers = NarrowLayers(ScaleProfile(Vgg16(), 32.0 / 128, 11e12));
    double one = 0;
    double parameters = 0;
    for (const auto& layer : layers)
    {
        one += layer.seconds;
        parameters += layer.parameterBytes;
    }
    for (const double gigabits : {9.0, 12.0, 16.0, 20.0, 25.0, 30.0})
    {
        const double rate = gigabits * 1e9 / 8;
        EXPECT_EQ(PartitionPipeDream(layers, {{{4, rate}}, false}).Text(), "2-1-1") << gigabits;
        EXPECT_EQ(PartitionPipeDream(layers, {{{8, rate}}, false}).Text(), "7-1") << gigabits;
    }
    const double published[][4] = {{4, 3.14, 1.47, 0.90}, {8, 7.04, 2.35, 0.95}};
    for (const auto& [machines, pipedream, bsp, less] : published)
    {
        const auto m = static_cast<uint32_t>(machines);
        const auto found = PartitionPipeDream(layers, {{{m, 25e9 / 8}}, false});
        const auto last = static_cast<uint32_t>(layers.size() - 1);
        const double all = PipeDreamSeconds(layers, {{0, last, m}}, 25e9 / 8, false);
        EXPECT_NEAR(one / found.seconds, pipedream, 0.1 * pipedream);
        EXPECT_NEAR(all / found.seconds, pipedream / bsp, 0.3 * pipedream / bsp);
        // Activations and gradients of each cut; a replica's share of a ring all-reduce.
        double sent = 0;
        for (const auto& stage : found.stages)
        {
            double weights = 0;
            for (uint32_t i = stage.first; i <= stage.last; ++i)
            {
                weights += layers[i].parameterBytes;
            }
            sent += 2.0 * (stage.replicas - 1) / stage.replicas * weights;
            sent += stage.last < last ? 2 * layers[stage.last].activationBytes : 0;
        }
        EXPECT_NEAR(1 - sent / (2.0 * (m - 1) / m * parameters), less, 0.05);
    }
}

// As the profile is, with 64 samples (driver_configs/vgg16_4pipedream.yml): PipeDream's repository
// has 3-1 on 4 GPUs and 7-1 on 8 (hybrid_conf.json of runtime/image_classification/models/vgg16,
// gpus=4 and gpus=8).
TEST(PipelinePartition, PipeDreamReleased)
{
    const auto layers = PartitionLayers(ScaleProfile(Vgg16(), 64.0 / 128, 0));
    for (const double gigabits : {10.0, 25.0})
    {
        const double rate = gigabits * 1e9 / 8;
        EXPECT_EQ(PartitionPipeDream(layers, {{{4, rate}}, true}).Text(), "3-1");
        EXPECT_EQ(PartitionPipeDream(layers, {{{8, rate}}, true}).Text(), "7-1");
    }
}

// As the programme over all cuts has it, which the crossing replaces: for many shapes, with layers
// that take nothing and layers that are alike among them.
TEST(PipelinePartition, BalancedIsTheBestOfAllCuts)
{
    std::mt19937 engine(7);
    for (uint32_t n = 1; n <= 12; ++n)
    {
        for (uint32_t pieces = 1; pieces <= n; ++pieces)
        {
            for (uint32_t round = 0; round < 20; ++round)
            {
                std::vector<double> costs(n);
                for (double& cost : costs)
                {
                    cost = static_cast<double>(engine() % (round % 2 ? 3 : 1000));
                }
                // Every set of pieces - 1 cuts among the n - 1 places.
                double least = std::numeric_limits<double>::infinity();
                for (uint32_t cuts = 0; cuts < 1U << (n - 1); ++cuts)
                {
                    uint32_t count = 1;
                    double most = 0;
                    double piece = 0;
                    for (uint32_t i = 0; i < n; ++i)
                    {
                        piece += costs[i];
                        const bool cut = i + 1 < n && (cuts >> i & 1);
                        most = std::max(most, piece);
                        piece = cut ? 0 : piece;
                        count += cut;
                    }
                    least = count == pieces ? std::min(least, most) : least;
                }
                const auto counts = BalancedPartition(costs, pieces);
                ASSERT_EQ(counts.size(), pieces);
                double most = 0;
                uint32_t next = 0;
                for (const uint32_t count : counts)
                {
                    ASSERT_GT(count, 0U);
                    double piece = 0;
                    for (uint32_t i = 0; i < count; ++i)
                    {
                        piece += costs[next++];
                    }
                    most = std::max(most, piece);
                }
                EXPECT_EQ(next, n);
                EXPECT_EQ(most, least) << n << " layers, " << pieces << " pieces";
            }
        }
    }
}

// Of the programme over all cuts these would be 8e12 steps.
TEST(PipelinePartition, BalancedOfManyLayers)
{
    const uint32_t n = 300000;
    const auto counts = BalancedPartition(std::vector<double>(n, 1), 100);
    EXPECT_EQ(counts, std::vector<uint32_t>(100, n / 100));
}
