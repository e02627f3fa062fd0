/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlplan's search: its space, its bound, its estimate and its options.
 */
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/first-ranks.h"
#include "scenarios/layout-search/in-order.h"
#include "scenarios/layout-search/launch-flags.h"
#include "scenarios/layout-search/moves.h"
#include "scenarios/layout-search/options/estimated-options.h"
#include "scenarios/layout-search/search.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/training/rank-layers.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <tuple>

using namespace planner;

namespace
{

scenario::PlannerResult
ReadWords(const std::string& options)
{
    std::istringstream in(options);
    std::vector<std::string> words{"dlplan"};
    for (std::string word; in >> word;)
    {
        words.push_back(word);
    }
    std::vector<const char*> argv;
    for (const auto& word : words)
    {
        argv.push_back(word.c_str());
    }
    return scenario::ValidatePlanner(scenario::ReadOptions(scenario::PlannerOptionTable(),
                                                           static_cast<int>(argv.size()),
                                                           argv.data()));
}

std::string
ErrorOf(const std::string& options)
{
    const auto read = ReadWords(options);
    return read.errors.empty() ? "" : read.errors.front().Text();
}

/// A search and its clusters.
struct Job
{
    explicit Job(const std::string& options)
        : read(ReadWords(options))
    {
        EXPECT_TRUE(read.errors.empty()) << ErrorOf(options);
        for (const auto& job : read.scenario.jobs)
        {
            auto cluster = scenario::ValidateCluster(job);
            EXPECT_TRUE(cluster.scenario) << cluster.errors.front().Text();
            clusters.push_back(std::move(*cluster.scenario));
        }
    }

    Found Find(unsigned threads = 0) const
    {
        return Search(
            read.scenario,
            clusters,
            [](const Progress&) { return true; },
            {},
            threads);
    }

    scenario::PlannerResult read;
    std::vector<scenario::TrainingScenario> clusters;
};

// Small models, an odd number of servers, NICs that several GPUs share.
constexpr const char* kSmall = "--model=gpt2 --gpu=V100 --gpus-per-server=4 --nics-per-server=1 "
                               "--servers=3 --seq=512 --global-batch=24 ";

training::Task
Computing(double seconds)
{
    training::Task task;
    task.duration = rdma::Duration(static_cast<int64_t>(seconds * 1e12));
    return task;
}

} // namespace

// 10 s of computing beside a collective of 4 s that takes a fifth of the GPU: 4 s of it do 3.2 s of
// the work, so it takes 4 + 6.8 s. The collective of 2 s behind it is exposed.
TEST(StepWalk, CollectivesSlowDownComputingBesideThem)
{
    training::TrainingPlan plan;
    plan.ranks = 2;
    plan.roleOf = {0, 0};
    plan.contention = 0.2;
    plan.groupKinds = {{"dp", {{0, 1}}}};
    training::StepGraph graph;
    graph.streams = {"compute", "gradients"};
    graph.tasks = {Computing(10), {}, {}};
    graph.tasks[1].kind = graph.tasks[2].kind = training::TaskKind::kCollective;
    graph.tasks[1].stream = graph.tasks[2].stream = 1;
    graph.tasks[1].bytes = 4;
    graph.tasks[2].bytes = 2;
    graph.tasks[2].after = {0};
    plan.roles = {graph};
    training::StepWalk walk(plan, 0, 100, [](coll::Rank, const training::Task& task) {
        return training::StepWalk::Time{static_cast<int64_t>(task.bytes) * 1'000'000'000'000};
    });
    const auto end = walk.Step();
    ASSERT_TRUE(end);
    EXPECT_NEAR(static_cast<double>(*end) * 1e-12, 10.8 + 2, 1e-9);
    const training::StepParts parts = walk.Parts();
    EXPECT_NEAR(parts.computing * 1e-12, 10.8, 1e-9);
    EXPECT_NEAR(parts.exposed[static_cast<std::size_t>(training::Parallelism::kData)] * 1e-12,
                2,
                1e-9);
    EXPECT_EQ(parts.bubble, 0);
}

// Collectives of 4 and 6 s that begin together on the same NICs: both have half of them until the
// shorter one ends after 8 s; the other one has 2 s of its own left then.
TEST(StepWalk, CollectivesShareNics)
{
    training::TrainingPlan plan;
    plan.ranks = 2;
    plan.roleOf = {0, 0};
    plan.groupKinds = {{"dp", {{0, 1}}}};
    training::StepGraph graph;
    graph.streams = {"compute", "gradients", "parameters"};
    graph.tasks = {{}, {}};
    for (uint16_t i = 0; i < 2; ++i)
    {
        graph.tasks[i].kind = training::TaskKind::kCollective;
        graph.tasks[i].stream = i + 1;
        graph.tasks[i].bytes = 4 + 2 * i;
    }
    plan.roles = {graph};
    for (const bool shares : {true, false})
    {
        training::StepWalk walk(plan, 0, 100, [&](coll::Rank, const training::Task& task) {
            return training::StepWalk::Time{static_cast<int64_t>(task.bytes) * 1'000'000'000'000,
                                            shares};
        });
        const auto first = walk.Step();
        const auto both = walk.Step();
        ASSERT_TRUE(first && both);
        EXPECT_NEAR(static_cast<double>(*first) * 1e-12, shares ? 10 : 6, 1e-9);
        EXPECT_NEAR(static_cast<double>(*both) * 1e-12, shares ? 20 : 12, 1e-9);
    }
}

// Each layout that fits is visited, and no other: memory is asked of every one here.
TEST(Space, HasTheLayoutsThatFit)
{
    const Job job(std::string(kSmall) + "--search=tp,pp,micro-batch,recompute,zero");
    const auto& scenario = job.read.scenario;
    const auto everything = [](uint64_t room, const Job& of) {
        SpaceCount count;
        std::map<std::string, uint64_t> found;
        const Space space{of.clusters[0],
                          of.read.scenario.jobs[0],
                          of.read.scenario.search,
                          room,
                          0};
        for (const SpacePart& part : PartsOf(space))
        {
            VisitLayouts(
                space,
                part,
                &count,
                [&](Layout layout, const training::TrainingOptions& options) {
                    EXPECT_EQ(layout.memory, training::EstimateMemory(options).Total());
                    found[LayoutOptions(layout)] = layout.memory;
                },
                [] { return true; });
        }
        EXPECT_EQ(
            count.seen,
            found.size() + count.tooLarge +
                std::accumulate(count.refused.begin(),
                                count.refused.end(),
                                uint64_t{0},
                                [](uint64_t sum, const auto& one) { return sum + one.second; }));
        return found;
    };
    const auto all = everything(UINT64_MAX / 4, job);
    ASSERT_GT(all.size(), 100U);
    std::vector<uint64_t> sizes;
    for (const auto& [layout, memory] : all)
    {
        sizes.push_back(memory);
    }
    std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 3, sizes.end());
    const uint64_t room = sizes[sizes.size() / 3];
    const auto some = everything(room, job);
    std::map<std::string, uint64_t> wanted;
    std::copy_if(all.begin(), all.end(), std::inserter(wanted, wanted.end()), [&](const auto& one) {
        return one.second <= room;
    });
    EXPECT_EQ(some, wanted);
    EXPECT_EQ(scenario.search.size(), 5U);
}

// One rule of what is beside tensors: dltrain's, or a share that stays free.
TEST(Search, LeavesRoomBesideTensors)
{
    const std::string job = "--model=llama3-8b --server=dgx-h100 --servers=1 --global-batch=64 "
                            "--search=tp,zero,micro-batch --top=1000 ";
    const Found found = Job(job).Find();
    const Found loose = Job(job + "--ignore-memory").Find();
    const Found half = Job(job + "--memory-margin=0.5").Find();
    const uint64_t room = Job(job).clusters[0].options.gpu.memoryBytes;
    const auto count = [&](auto fits) {
        return std::count_if(loose.plans.begin(), loose.plans.end(), [&](const Plan& plan) {
            return fits(plan);
        });
    };
    const Job all(job);
    EXPECT_EQ(found.plans.size(), count([&](const Plan& plan) {
                  return training::FitsWithReserve(
                      *scenario::ValidateLayout(WithLayout(all.read.scenario.jobs[0], plan.layout),
                                                all.clusters[0])
                           .options);
              }));
    EXPECT_EQ(half.plans.size(),
              count([&](const Plan& plan) { return plan.layout.memory <= room / 2; }));
    EXPECT_LT(half.plans.size(), found.plans.size());
    EXPECT_LT(found.plans.size(), loose.plans.size());
    EXPECT_EQ(loose.count.tooLarge, 0U);
}

// Of a mixture of experts, with experts that are cut as the rest, and whole ones. 2 x etp 2, ep 4
// and 4 x etp 1, ep 4 are both 8 GPUs.
TEST(Space, HasExpertTensorGroupsAndOrdersOfRanks)
{
    const Found found =
        Job("--model=mixtral-8x7b --server=dgx-h100 --servers=1 --global-batch=64 "
            "--search=tp,pp,ep,etp,sequence-parallel,rank-order --fix=zero=1,micro-batch=1 "
            "--fused-attention --ignore-memory --top=1000")
            .Find();
    std::map<std::string, int> words;
    for (const Plan& plan : found.all)
    {
        ++words[LayoutText(plan.layout)];
        EXPECT_TRUE(plan.layout.expertTensor == plan.layout.tensor ||
                    plan.layout.expertTensor == 1);
    }
    EXPECT_EQ(words.count("tp2 ep4 dp4 mb1 zero1"), 1U);
    EXPECT_EQ(words.count("tp2 ep4 etp1 dp4 mb1 zero1 sp"), 1U);
    EXPECT_EQ(words.count("tp2 ep8 etp1 dp4 mb1 zero1 sp"), 1U); // over all 8 GPUs
    EXPECT_EQ(words.count("tp2 ep8 dp4 mb1 zero1 sp"), 0U);
    EXPECT_EQ(words.count("pp2 dp4 mb1 zero1"), 1U);
    EXPECT_EQ(words.count("pp2 dp4 mb1 zero1 rank-order=tp-cp-ep-pp-dp"), 1U);
    EXPECT_EQ(words.count("dp8 mb1 zero1 rank-order=tp-cp-ep-pp-dp"), 0U); // the same
    // The table has one order of each layout.
    std::set<std::string> without;
    for (const Plan& plan : found.plans)
    {
        const std::string text = LayoutText(plan.layout);
        EXPECT_TRUE(without.insert(text.substr(0, text.find(" rank-order"))).second) << text;
    }
    EXPECT_LT(found.plans.size(), found.all.size());
}

// 12 blocks, and two layers that count as such: 14 on 7 stages are two a stage, so there are
// virtual stages. The search finds them by itself, too.
TEST(Space, CountsLayersAroundBlocks)
{
    const std::string job = "--model=gpt2 --gpu=V100 --gpus-per-server=1 --servers=7 --seq=512 "
                            "--global-batch=28 --pp=7 --search=virtual-stages,micro-batch ";
    const auto most = [](const std::string& options) {
        uint32_t stages = 0;
        for (const auto& plan : Job(options).Find().plans)
        {
            stages = std::max(stages, plan.layout.virtualStages);
        }
        return stages;
    };
    EXPECT_EQ(most(job), 2u);
    EXPECT_EQ(most(job + "--account-for-embedding-in-pipeline-split=1 "
                         "--account-for-loss-in-pipeline-split=1"),
              2u);
    EXPECT_EQ(most(job + "--partition=uniform"), 1u); // 14 pieces of 12 blocks are none
}

// Stages that no number of blocks fills evenly have virtual stages all the same, with the blocks as
// they are and with the embedding and the loss as one each.
TEST(Space, CutsBlocksUnevenly)
{
    const auto layouts = [](const std::string& options) {
        const Job job(options);
        const Space space{job.clusters[0],
                          job.read.scenario.jobs[0],
                          job.read.scenario.search,
                          UINT64_MAX,
                          0};
        std::map<std::string, std::string> found; // text by options
        SpaceCount count;
        for (const SpacePart& part : PartsOf(space))
        {
            VisitLayouts(
                space,
                part,
                &count,
                [&found](const Layout& layout, const training::TrainingOptions& o) {
                    found[LayoutOptions(layout)] = LayoutText(layout);
                    EXPECT_EQ(o.Pieces(), uint64_t{layout.pipeline} * layout.virtualStages);
                },
                [] { return true; });
        }
        EXPECT_TRUE(count.refused.empty()) << count.CommonRefusal();
        return found;
    };
    // 94 blocks on 8 stages: 1 to 8 virtual ones, of which 94 + 2 fill 8, 16, 24, 32 and 48 pieces
    // evenly; of 40, 56 and 64 pieces some have one more (--pipeline-layout).
    const auto deep = layouts("--model=qwen3-235b-a22b --server=dgx-h100 --servers=8 "
                              "--global-batch=64 --fix=tp=4,pp=8 --search=virtual-stages");
    const std::string both = " --account-for-embedding-in-pipeline-split=1 "
                             "--account-for-loss-in-pipeline-split=1";
    for (const std::string& vs : {"1", "2", "3", "4", "5", "6", "7", "8"})
    {
        EXPECT_EQ(deep.count("--virtual-stages=" + vs), 1U) << vs;
        EXPECT_EQ(deep.count("--virtual-stages=" + vs + both), vs < "5" || vs == "6") << vs;
    }
    EXPECT_EQ(deep.size(), 16U);
    EXPECT_NE(deep.at("--virtual-stages=4" + both).find("pp8 (2, 30x3, 2) vs4 "),
              std::string::npos);
    // 12 on 5: 3-3-2-2-2, and 14 = 5 x 2 + 4 with the embedding in the first, the loss in the last.
    const std::string odd = "--model=gpt2 --gpu=V100 --gpus-per-server=1 --servers=5 --seq=512 "
                            "--global-batch=20 --pp=5 --virtual-stages=1 --search=micro-batch ";
    const auto few = layouts(odd + "--fix=zero=0");
    EXPECT_EQ(few.count("--micro-batch=1"), 1U);
    EXPECT_EQ(few.count("--pipeline-layout=2-3-3-3-1 --micro-batch=1"), 1U);
    EXPECT_EQ(layouts(odd + "--partition=balanced").size(), few.size() / 2);
}

// Only what was not given, and what the layout has: no buckets without copies, one other order.
TEST(Moves, ChangeWhatIsOpen)
{
    const std::string job =
        "--model=gpt2 --gpu=V100 --gpus-per-server=4 --servers=2 --seq=512 "
        "--global-batch=16 --fix=tp=1,micro-batch=1,zero=1,virtual-stages=1,recompute=none ";
    const auto moves = [](const std::string& words) {
        const Job of(words);
        const Found found = of.Find();
        const Layout& layout = found.plans.at(0).layout;
        const auto options =
            scenario::ValidateLayout(WithLayout(of.read.scenario.jobs[0], layout), of.clusters[0])
                .options;
        std::map<std::string, std::vector<std::string>> values;
        for (const Move& move : MovesOf(of.read.scenario.jobs[0], layout, *options))
        {
            values[scenario::OptionOf(move.option)] = move.values;
        }
        return values;
    };
    const auto some = moves(job + "--pp=2 --rank-order=tp-cp-ep-dp-pp --buckets=8MiB");
    EXPECT_EQ(some.count("buckets"), 0U);
    EXPECT_EQ(some.count("rank-order"), 0U);
    EXPECT_EQ(some.at("algorithm").size(), 3U);
    auto all = moves(job + "--pp=1");
    EXPECT_EQ(all.count("rank-order"), 0U);                                         // no pipeline
    EXPECT_EQ(all.at("buckets"), (std::vector<std::string>{"6553600B", "100MiB"})); // of 25 MiB
    EXPECT_TRUE(moves("--model=gpt2 --gpu=V100 --gpus-per-server=4 --servers=2 --seq=512 "
                      "--global-batch=16 --fix=tp=1,pp=8,micro-batch=1,zero=0")
                    .empty()); // one copy
    Layout layout;
    const auto buckets = &scenario::asked::Training::buckets;
    layout = Moved(Moved(layout, buckets, "1MiB"), buckets, "2MiB");
    EXPECT_EQ(LayoutOptions(layout), "--buckets=2MiB");
}

// The bound is one, so what it prunes is not among the best.
TEST(Search, PrunesNothingBetter)
{
    const std::string words = std::string(kSmall) + "--search=tp,pp,virtual-stages,micro-batch ";
    const Found some = Job(words + "--top=1").Find();
    const Found all = Job(words + "--top=1000").Find();
    ASSERT_FALSE(some.plans.empty());
    EXPECT_GT(some.pruned, 0U);
    EXPECT_EQ(all.pruned, 0U);
    EXPECT_EQ(all.plans.size(), all.fit);
    EXPECT_EQ(some.plans[0].estimate.step, all.plans[0].estimate.step);
    for (const Plan& plan : all.plans)
    {
        EXPECT_LE(plan.layout.bound, plan.estimate.step) << LayoutText(plan.layout);
        const auto& parts = plan.estimate.parts;
        const double sum =
            std::accumulate(parts.exposed.begin(), parts.exposed.end(), parts.computing) +
            parts.bubble;
        EXPECT_NEAR(sum / plan.estimate.step, 1, 0.05) << LayoutText(plan.layout);
    }
}

// A search that is ended soon has looked at each kind of layout, and says what the rest takes.
TEST(Search, TriesEachKindFirst)
{
    const Job job(std::string(kSmall) + "--search=tp,pp,virtual-stages,micro-batch --top=3 ");
    using Kind = std::tuple<uint32_t, uint32_t>;
    const auto kindOf = [](const Plan& plan) {
        return Kind(plan.layout.tensor, plan.layout.pipeline);
    };
    const Found whole = job.Find();
    EXPECT_EQ(whole.untried, 0U);
    EXPECT_FALSE(whole.leastUntried);
    for (const uint64_t most : {4U, 9U})
    {
        const Found some = Search(
            job.read.scenario,
            job.clusters,
            [most](const Progress& p) { return p.estimated < most; },
            {},
            2);
        EXPECT_FALSE(some.whole);
        EXPECT_GE(some.estimated, most);
        EXPECT_EQ(some.untried + some.pruned + some.estimated + some.unknown, some.fit);
        ASSERT_TRUE(some.leastUntried);
        std::set<Kind> kinds;
        for (std::size_t i = 0; i < 4; ++i)
        {
            EXPECT_TRUE(kinds.insert(kindOf(some.all[i])).second);
        }
        std::set<std::string> tried;
        for (const Plan& plan : some.all)
        {
            tried.insert(EstimateKey(plan.layout));
        }
        for (const Plan& plan : whole.all)
        {
            EXPECT_TRUE(tried.count(EstimateKey(plan.layout)) == 1 ||
                        plan.layout.bound >= *some.leastUntried);
        }
    }
}

// The rank whose experts get most tokens decides: it is walked, and the bound is of its computing.
TEST(Estimate, IsOfTheBusiestExperts)
{
    for (const char* const groups :
         {"ep=8,pp=1", "ep=4,pp=2", "ep=2,pp=4,tp=1", "ep=4,tp=2,etp=1,sequence-parallel=1"})
    {
        double before = 0;
        for (const char* const skew : {"0", "0.5", "1", "2"})
        {
            const Job job("--model=mixtral-8x7b --server=dgx-h100 --servers=1 --global-batch=64 "
                          "--ignore-memory --micro-batch=1 --zero=1 --recompute=none "
                          "--moe-skew=" +
                          std::string(skew) + " --fix=virtual-stages=1," + groups);
            const auto read = scenario::ValidateLayout(job.read.scenario.jobs[0], job.clusters[0]);
            ASSERT_TRUE(read.options) << read.errors.front().Text();
            const training::TrainingOptions& o = *read.options;
            const auto first = FirstRanks(o, 8);
            ASSERT_EQ(first.size(), 1U);
            const auto experts =
                training::GroupsOf(o.GetLayout(), training::GroupOf::kExpert).front();
            const uint32_t busiest = training::BusiestPosition(o);
            EXPECT_EQ(first[0], before == 0 ? 0 : experts[busiest]) << groups << " " << skew;
            StepEstimator estimator(job.clusters[0]);
            const auto estimate = estimator.Estimate(o);
            ASSERT_TRUE(estimate);
            EXPECT_GT(estimate->step, before) << groups << " " << skew;
            const double bound = estimator.Bound(o);
            EXPECT_LE(bound, estimate->step) << groups << " " << skew;
            // The busiest rank's forward and backward of all micro-batches, from its own layers.
            training::TrainingOptions its = o;
            its.expertPosition = busiest;
            double computing = 0;
            for (const auto& layer : training::LayersOfModel(its))
            {
                computing += layer.Forward() + layer.Backward();
            }
            EXPECT_GE(bound, computing / o.pipeline * o.accumulation * 0.999);
            before = estimate->step;
        }
    }
}

// Whoever adds an option says what estimates make of it.
TEST(PlannerOptions, AllAreInTheTableOfEstimates)
{
    const scenario::OptionTable& table = scenario::PlannerOptionTable();
    for (const scenario::Option& option : table.options)
    {
        EXPECT_TRUE(scenario::InEstimateOf(option.name))
            << option.name << ": add it to estimated-options.cc";
    }
    for (const std::string& name : scenario::OptionsInEstimates())
    {
        EXPECT_TRUE(table.Find(name)) << name << " is no option";
    }
}

// What no layout can do is named, not what some cannot.
TEST(Search, NamesTheRuleThatRefusesMost)
{
    const std::string small = kSmall;
    const Job job(small + "--splits=3 --search=pp,micro-batch");
    EXPECT_EQ(job.Find(1).count.CommonRefusal().rfind("--splits=3: ", 0), 0U);
}

// However many threads search, and in whatever order they end.
TEST(Search, FindsTheSameOnAnyNumberOfThreads)
{
    const std::string small = kSmall;
    for (const std::string& more :
         {small + "--search=tp,pp,virtual-stages,micro-batch --top=3",
          small + "--search=tp,pp,cp,zero,recompute --top=20",
          small + "--model=llama3-8b --search=tp,pp", // nothing fits
          std::string("--model=gpt2 --gpu=V100 --gpus-per-server=4 --seq=512 --global-batch=24 "
                      "--gpus=4,8,12 --objective=gpu-hours --search=tp,pp --top=5")})
    {
        const Job job(more);
        const Found one = job.Find(1);
        ASSERT_GT(one.count.seen, 10U);
        for (const unsigned threads : {2U, 5U})
        {
            const Found many = job.Find(threads);
            EXPECT_EQ(many.count.seen, one.count.seen);
            EXPECT_EQ(many.count.refused, one.count.refused);
            EXPECT_EQ(many.count.CommonRefusal(), one.count.CommonRefusal());
            EXPECT_EQ(many.count.tooLarge, one.count.tooLarge);
            EXPECT_EQ(LayoutText(many.count.least), LayoutText(one.count.least));
            EXPECT_EQ(many.fit, one.fit);
            EXPECT_EQ(many.pruned, one.pruned);
            EXPECT_EQ(many.estimated, one.estimated);
            ASSERT_EQ(many.all.size(), one.all.size());
            for (std::size_t i = 0; i < one.all.size(); ++i)
            {
                EXPECT_EQ(EstimateKey(many.all[i].layout), EstimateKey(one.all[i].layout));
                EXPECT_EQ(many.all[i].estimate.step, one.all[i].estimate.step);
            }
            ASSERT_EQ(many.plans.size(), one.plans.size());
            for (std::size_t i = 0; i < one.plans.size(); ++i)
            {
                EXPECT_EQ(EstimateKey(many.plans[i].layout), EstimateKey(one.plans[i].layout));
            }
        }
    }
}

// Results are taken in order, and never too far behind; what work throws comes out.
TEST(InOrder, TakesPieceAfterPiece)
{
    for (const unsigned threads : {1U, 3U, 8U})
    {
        constexpr std::size_t kPieces = 200;
        std::vector<int> done(kPieces, 0);
        std::atomic<std::size_t> next = 0;
        std::atomic<bool> within = true;
        Piecework all;
        all.pieces = kPieces;
        all.ahead = 7;
        all.work = [&](unsigned thread, std::size_t piece) {
            within = within && thread < threads && piece < next + all.ahead;
            done[piece] = 1;
        };
        all.take = [&](std::size_t piece) {
            EXPECT_EQ(piece, next);
            EXPECT_EQ(done[piece], 1);
            ++next;
            return piece < 150;
        };
        all.wait = [] {};
        InOrder(all, threads);
        EXPECT_EQ(next, 151U);
        EXPECT_TRUE(within);
        all.work = [](unsigned, std::size_t piece) {
            if (piece == 3)
            {
                throw std::runtime_error("3");
            }
        };
        std::size_t taken = 0;
        all.take = [&taken](std::size_t) { return ++taken > 0; };
        EXPECT_THROW(InOrder(all, threads), std::runtime_error);
        EXPECT_EQ(taken, 3U);
        all.pieces = 0;
        InOrder(all, threads);
    }
}

// Steps with many micro-batches are extended from two with fewer: by as much for each more.
TEST(Estimate, GrowsWithMicroBatches)
{
    const auto step = [](uint32_t batch) {
        return Job("--model=gpt2 --gpu=V100 --servers=1 --gpus-per-server=4 --seq=512 "
                   "--fix=pp=4,tp=1,micro-batch=1,zero=0,cp=1,recompute=none,virtual-stages=1,"
                   "fused-attention=0 --global-batch=" +
                   std::to_string(batch))
            .Find()
            .plans.at(0)
            .estimate.step;
    };
    const double eight = step(8); // walked
    const double nine = step(9);
    EXPECT_NEAR((step(40) - nine) / (40 - 9), nine - eight, 1e-6 * eight);
}

TEST(Flags, AreThoseOfTheFrameworks)
{
    const Job job("--model=llama2-7b --server=dgx-a100 --servers=2 --global-batch=64 "
                  "--fix=tp=2,pp=4,virtual-stages=2,zero=1,micro-batch=2,recompute=full,"
                  "sequence-parallel=1,fused-attention=1,cp=1,rank-order=tp-cp-ep-pp-dp");
    const Found found = job.Find();
    ASSERT_EQ(found.plans.size(), 1U);
    const auto read =
        scenario::ValidateLayout(WithLayout(job.read.scenario.jobs[0], found.plans[0].layout),
                                 job.clusters[0]);
    ASSERT_TRUE(read.options);
    std::string flags;
    for (const std::string& flag : MegatronFlags(*read.options))
    {
        flags += flag + " ";
    }
    for (const char* const flag : {"--tensor-model-parallel-size 2 ",
                                   "--pipeline-model-parallel-size 4 ",
                                   "--num-layers-per-virtual-pipeline-stage 4 ", // 32 / (4 x 2)
                                   "--sequence-parallel ",
                                   "--use-distributed-optimizer ",
                                   "--micro-batch-size 2 ",
                                   "--global-batch-size 64 ",
                                   "--use-tp-pp-dp-mapping ",
                                   "--recompute-granularity full "})
    {
        EXPECT_NE(flags.find(flag), std::string::npos) << flag << "in " << flags;
    }
    const auto json = DeepSpeedConfig(*read.options);
    EXPECT_EQ(json["train_batch_size"], 64);
    EXPECT_EQ(json["train_micro_batch_size_per_gpu"], 2);
    EXPECT_EQ(json["gradient_accumulation_steps"], 16); // 64 / (2 x 2 copies)
    EXPECT_EQ(json["zero_optimization"]["stage"], 1);
    EXPECT_NE(TorchrunLine(job.clusters[0]).find("--nnodes=2 --nproc-per-node=8"),
              std::string::npos);
    // The scenario has what was given and the layout, and nothing else.
    const auto scenario =
        scenario::ScenarioOf(WithLayout(job.read.scenario.jobs[0], found.plans[0].layout));
    EXPECT_EQ(scenario["program"], "dltrain");
    EXPECT_EQ(scenario["training"]["tp"], 2);
    EXPECT_FALSE(scenario["training"].contains("steps"));
}

TEST(PlannerOptions, MistakesHaveOneErrorEach)
{
    const std::string job = "--model=gpt2 --servers=2 --global-batch=64 ";
    for (const auto& [options, text] : std::vector<std::pair<std::string, std::string>>{
             {"--model=gpt2", "--global-batch: is needed"},
             {job + "--fix=tpp=2", "did you mean 'tp'?"},
             {job + "--fix=tp=x", "--fix=tp=x: "},
             {job + "--fix=tp=2,tp=4", "tp stands there as 2 and as 4"},
             {job + "--tp=2 --fix=tp=4", "fixes tp at 4, but --tp is 2"},
             {job + "--fix=tp=2 --search=tp", "fixes tp, which --search may change"},
             {job + "--tp=2 --search=tp", "tp is given as --tp=2"},
             {job + "--search=micro-batches", "did you mean 'micro-batch'?"},
             {job + "--search=nic", "stays as it is given in every layout"},
             {job + "--objective=cost", "needs the price of a GPU-hour"},
             {job + "--objective=steps", "did you mean 'step'?"},
             {job + "--tokens=15X", "allowed: a number above 0, with K, M, B or T"},
             {job + "--accumulation=2", "follows from --global-batch"},
             {job + "--layers=2", "a search looks at all blocks"},
             {job + "--pipeline-schedule=pipedream", "its pipeline is never empty"},
             {job + "--gpus=8,16", "follows from --gpus"},
         })
    {
        const auto read = ReadWords(options);
        ASSERT_EQ(read.errors.size(), 1U) << options;
        EXPECT_NE(read.errors[0].Text().find(text), std::string::npos) << options << "\n"
                                                                       << read.errors[0].Text();
    }
}

// What helps most, by numbers: 70 G parameters x 18 bytes do not fit 8 GPUs of 80 GB at all.
TEST(Search, SaysWhatHelpsWhereNothingFits)
{
    const Job job("--model=llama3-70b --server=dgx-h100 --servers=1 --global-batch=64");
    const Found found = job.Find();
    EXPECT_TRUE(found.plans.empty());
    EXPECT_EQ(found.count.tooLarge, found.count.seen);
    const std::string why = WhyNothingFits(job.read.scenario, job.clusters, found.count);
    EXPECT_NE(why.find("no layout of llama3-70b fits 8 x H100: the least memory is "),
              std::string::npos)
        << why;
    EXPECT_NE(why.find("helps most"), std::string::npos) << why;
    EXPECT_NE(why.find("which fits"), std::string::npos) << why;
}
