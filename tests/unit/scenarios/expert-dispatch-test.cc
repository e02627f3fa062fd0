/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How tokens get to experts: copies of a token, data types, and what runs beside the way.
 */
#include "example-options.h"
#include "parse-words.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/expert-dispatch.h"
#include "scenarios/training/graphs/training-plan.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace training;

namespace
{

/// Means over all choices of `limit` servers and of topK of their experts, counted one by one.
TokenCopies
CopiesCounted(uint32_t experts, uint32_t topK, const ExpertSpan& span, uint32_t limit)
{
    const uint32_t ofServer = experts / span.servers;
    const uint32_t ofRank = ofServer / span.ranks;
    TokenCopies sum;
    double choices = 0;
    for (uint32_t servers = 0; servers < 1U << span.servers; ++servers)
    {
        if (std::bitset<32>(servers).count() != limit)
        {
            continue;
        }
        for (uint32_t chosen = 0; chosen < 1U << experts; ++chosen)
        {
            std::set<uint32_t> metServers;
            std::set<uint32_t> metRanks;
            for (uint32_t e = 0; e < experts; ++e)
            {
                if ((chosen >> e & 1) != 0)
                {
                    metServers.insert(e / ofServer);
                    metRanks.insert(e / ofRank);
                }
            }
            const bool allowed = std::all_of(metServers.begin(), metServers.end(), [&](uint32_t s) {
                return (servers >> s & 1) != 0;
            });
            if (std::bitset<32>(chosen).count() == topK && allowed)
            {
                sum.servers += static_cast<double>(metServers.size());
                sum.ranks += static_cast<double>(metRanks.size());
                ++choices;
            }
        }
    }
    return {sum.servers / choices, sum.ranks / choices};
}

/// DeepSeek-V2-Lite, 64 experts of which a token has 6, over 16 GPUs in servers of 4.
TrainingOptions
OverServers()
{
    auto o = OptionsOf("deepseek-v2-lite", 16, 1, 2);
    o.ignoreMemory = true;
    o.expert = 16;
    o.host.gpus = 4;
    return o;
}

std::map<std::pair<std::string, Phase>, std::vector<uint64_t>>
AllToAlls(const TrainingPlan& plan)
{
    std::map<std::pair<std::string, Phase>, std::vector<uint64_t>> bytes;
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.kind == TaskKind::kCollective && task.op == coll::Op::kAllToAll)
        {
            bytes[{plan.groupKinds[task.group].name, task.phase}].push_back(task.bytes);
        }
    }
    return bytes;
}

double
Computing(const TrainingPlan& plan)
{
    double seconds = 0;
    for (const Task& task : plan.roles[0].tasks)
    {
        seconds += task.kind == TaskKind::kCompute ? task.duration.Seconds() : 0;
    }
    return seconds;
}

std::string
ErrorsOf(const std::string& words)
{
    std::string all;
    for (const auto& error : scenario::ParseWords<scenario::TrainingScenario>(words).errors)
    {
        all += error.Text() + "\n";
    }
    return all;
}

} // namespace

TEST(ExpertDispatch, CopiesAreThoseOfAllChoices)
{
    for (const auto& [experts, topK, span] :
         std::vector<std::tuple<uint32_t, uint32_t, ExpertSpan>>{{8, 2, {4, 2}},
                                                                 {8, 3, {2, 2}},
                                                                 {12, 3, {3, 2}},
                                                                 {12, 5, {3, 4}},
                                                                 {12, 1, {4, 3}}})
    {
        for (uint32_t limit = 1; limit <= span.servers; ++limit)
        {
            if (experts / span.servers * limit < topK)
            {
                continue;
            }
            const TokenCopies counted = CopiesCounted(experts, topK, span, limit);
            const TokenCopies copies = CopiesOf({experts, topK, 1}, span, limit);
            EXPECT_NEAR(copies.servers, counted.servers, 1e-12) << experts << " " << limit;
            EXPECT_NEAR(copies.ranks, counted.ranks, 1e-12) << experts << " " << limit;
        }
    }
    // DeepSeek-V3: 256 experts, 8 a token, 64 GPUs of 8 servers, at most 4 of these. Of the 128
    // experts there a server has 32: 4 (1 - (96 x 95 x ... x 89) / (128 x 127 x ... x 121)).
    double none = 1;
    for (uint32_t i = 0; i < 8; ++i)
    {
        none *= (96.0 - i) / (128.0 - i);
    }
    const TokenCopies v3 = CopiesOf({256, 8, 7168}, {8, 8}, 4);
    EXPECT_NEAR(v3.servers, 4 * (1 - none), 1e-12);
    EXPECT_NEAR(v3.servers, 3.63, 0.01);
    EXPECT_LT(v3.ranks, 8);
    EXPECT_GT(CopiesOf({256, 8, 7168}, {8, 8}, 0).servers, 5); // without the limit
}

// A token goes once to each of its servers, of 4 ranks each: copies x tokens x 2,048 elements of 2
// bytes. Inside, once to each of its GPUs. Forward and backward, there and back, in 26 layers.
TEST(ExpertDispatch, DeepEpSendsATokenOnceToAServer)
{
    auto o = OverServers();
    o.dispatcher = Dispatcher::kDeepEp;
    const double tokens = static_cast<double>(o.microBatch) * o.sequence;
    for (const uint32_t limit : {0u, 2u})
    {
        o.nodeLimit = limit;
        ASSERT_TRUE(Check(o).empty() || !Check(o).front().error);
        const auto bytes = AllToAlls(MakePlan(o));
        const TokenCopies copies = CopiesOf({64, 6, 2048}, {4, 4}, limit);
        ASSERT_EQ(bytes.count({"ep", Phase::kForward}), 0U);
        for (const Phase phase : {Phase::kForward, Phase::kBackward})
        {
            for (const auto& [group, of] :
                 {std::pair{"ep-between", copies.servers}, std::pair{"ep-inside", copies.ranks}})
            {
                const auto& sizes = bytes.at({group, phase});
                ASSERT_EQ(sizes.size(), 2U * 2 * 26);
                for (const uint64_t size : sizes)
                {
                    EXPECT_NEAR(static_cast<double>(size), of * tokens * 2048 * 2, 1);
                }
            }
        }
    }
    // Fewer than six copies of a token, which the plain way has.
    EXPECT_LT(CopiesOf({64, 6, 2048}, {4, 4}, 2).servers, 2);
}

// Both ways of a token begin together, and its experts wait for both.
TEST(ExpertDispatch, ForwardingRunsBesideTheNetwork)
{
    auto o = OverServers();
    o.dispatcher = Dispatcher::kDeepEp;
    const TrainingPlan plan = MakePlan(o);
    const auto& tasks = plan.roles[0].tasks;
    uint32_t pairs = 0;
    for (std::size_t i = 1; i < tasks.size(); ++i)
    {
        const auto group = [&](std::size_t t) {
            return tasks[t].kind == TaskKind::kCollective ? plan.groupKinds[tasks[t].group].name
                                                          : std::string();
        };
        if (group(i) != "ep-inside")
        {
            continue;
        }
        ASSERT_EQ(group(i - 1), "ep-between");
        EXPECT_EQ(tasks[i].after, tasks[i - 1].after);
        EXPECT_NE(tasks[i].stream, tasks[i - 1].stream);
        const auto user = std::find_if(tasks.begin() + static_cast<std::ptrdiff_t>(i),
                                       tasks.end(),
                                       [](const Task& t) { return t.kind == TaskKind::kCompute; });
        if (user == tasks.end())
        {
            continue; // the last of a step
        }
        for (const std::size_t way : {i - 1, i})
        {
            EXPECT_TRUE(std::count(user->after.begin(), user->after.end(), way)) << user->name;
        }
        ++pairs;
    }
    EXPECT_GT(pairs, 100U);
}

// fp8 has a byte an element and 4 for 128 of them (arXiv 2412.19437, section 3.3.2), forward to the
// experts and their gradients on the same way; what comes back has 2 bytes.
TEST(ExpertDispatch, TypesAreThoseOfTheWay)
{
    auto o = OverServers();
    o.dispatchType = TokenType::kFp8;
    const auto sizes = AllToAlls(MakePlan(o)).at({"ep", Phase::kForward});
    const uint64_t elements = 6ULL * o.microBatch * o.sequence * 2048;
    ASSERT_EQ(sizes.size(), 2U * 2 * 26);
    EXPECT_EQ(sizes[0], elements + elements / 32);
    EXPECT_EQ(sizes[1], 2 * elements);
    const auto gradients = AllToAlls(MakePlan(o)).at({"ep", Phase::kBackward});
    EXPECT_EQ(gradients[0], elements + elements / 32);
    EXPECT_EQ(gradients[1], 2 * elements);
    o.combineType = TokenType::kFp32;
    EXPECT_EQ(AllToAlls(MakePlan(o)).at({"ep", Phase::kForward})[1], 4 * elements);
}

// Shared experts compute the same beside the all-to-alls as ahead of them, and wait for none.
TEST(ExpertDispatch, SharedExpertsComputeBesideAllToAlls)
{
    auto o = OverServers();
    const TrainingPlan plain = MakePlan(o);
    o.sharedOverlap = true;
    ASSERT_TRUE(Check(o).empty() || !Check(o).front().error);
    const TrainingPlan beside = MakePlan(o);
    EXPECT_NEAR(Computing(beside), Computing(plain), 1e-6 * Computing(plain));
    EXPECT_EQ(AllToAlls(beside), AllToAlls(plain));
    const auto& tasks = beside.roles[0].tasks;
    uint32_t found = 0;
    for (const Task& task : tasks)
    {
        const bool shared = task.name.find("experts shared") != std::string::npos;
        if (task.kind != TaskKind::kCompute || !shared)
        {
            continue;
        }
        ++found;
        for (const TaskId before : task.after)
        {
            // The experts themselves wait, ahead of the shared ones' last product.
            EXPECT_NE(tasks[before].op == coll::Op::kAllToAll &&
                          tasks[before].kind == TaskKind::kCollective,
                      task.name.find("output") == std::string::npos &&
                          task.phase == Phase::kForward)
                << task.name << " after " << tasks[before].name;
        }
    }
    EXPECT_GT(found, 0U);
}

// 16 GPUs on 4 servers, 64 experts, 6 a token, of two servers: 32 experts, 16 in a server, 4 in a
// GPU. 2 (1 - C(16, 6) / C(32, 6)) = 1.98 servers, 8 (1 - C(28, 6) / C(32, 6)) = 4.67 GPUs.
TEST(ExpertDispatch, ThePlanSaysWhereATokenGoes)
{
    const std::string job = "--servers=4 --gpus-per-server=4 --model=deepseek-v2-lite --ep=16 "
                            "--ignore-memory --micro-batch=1 --zero=1 --moe-dispatcher=deepep";
    const auto two = scenario::ParseWords<scenario::TrainingScenario>(job + " --moe-node-limit=2");
    ASSERT_TRUE(two.scenario);
    EXPECT_NE(scenario::PlanText(*two.scenario)
                  .find("a token goes to 1.98 of 4 servers and 4.67 of 16 GPUs on average, for 6 "
                        "experts"),
              std::string::npos);
    const auto all = scenario::ParseWords<scenario::TrainingScenario>(job + " --moe-node-limit=4");
    ASSERT_TRUE(all.scenario);
    EXPECT_NE(std::find_if(all.notes.begin(),
                           all.notes.end(),
                           [](const std::string& note) {
                               return note.find("an expert group is on 4 servers") !=
                                      std::string::npos;
                           }),
              all.notes.end());
}

TEST(ExpertDispatch, OptionsThatDoNotFitAreRefused)
{
    const std::string job = "--servers=4 --gpus-per-server=4 --model=deepseek-v2-lite "
                            "--ignore-memory --micro-batch=1 --zero=1 ";
    for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
             {"--ep=16 --moe-dispatcher=deepep --moe-skew=1", "is deepep, whose copies"},
             {"--ep=8 --dp=16 --moe-dispatcher=deep", "did you mean 'deepep'"},
             {"--ep=16 --moe-shared-expert-overlap --moe-overlap --accumulation=2",
              "cannot be combined with --moe-overlap"},
             {"--moe-shared-expert-overlap", "with --ep=1; allowed: 2 and more"},
             {"--recompute-modules=moe_acts", "did you mean moe_act"},
             {"--recompute-modules=moe --recompute=full", "parts of what --recompute=full repeats"},
         })
    {
        const std::string errors = ErrorsOf(job + words);
        EXPECT_NE(errors.find(message), std::string::npos) << words << ": " << errors;
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    }
    EXPECT_NE(ErrorsOf("--servers=1 --model=llama3-8b --recompute-modules=moe,layernorm "
                       "--micro-batch=1 --ignore-memory")
                  .find("has moe, and llama3-8b has none; allowed: layernorm, core_attn, mlp"),
              std::string::npos);
    // Expert groups of 4 in servers of 3.
    EXPECT_NE(ErrorsOf("--servers=4 --gpus-per-server=3 --model=deepseek-v2-lite --ep=4 "
                       "--moe-dispatcher=deepep --micro-batch=1 --ignore-memory")
                  .find("are not as many in each server of 3 GPUs"),
              std::string::npos);
    // Four experts a server, eight a token.
    EXPECT_NE(
        ErrorsOf("--servers=64 --gpus-per-server=1 --model=deepseek-v3 --ep=64 "
                 "--moe-dispatcher=deepep --moe-node-limit=1 --micro-batch=1 "
                 "--ignore-memory")
            .find("is 1, and a server has 4 experts, fewer than the 8 of a token; allowed: 2"),
        std::string::npos);
}
