/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The chain of a stage: what is computed does not depend on what is simulated, and only what
 * crosses servers is a member of its own.
 */
#include "scenarios/collective/collective-times.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/stages/stage-costs.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace serving;
using scenario::ServingScenario;
using Kind = StageOp::Kind;

namespace
{

struct Sums
{
    uint32_t halves = 0;
    uint32_t experts = 0;
    uint32_t reduces = 0;   ///< all of them: inside, simulated, repeated
    uint32_t exchanges = 0; ///< pairs
    uint32_t simulated = 0; ///< all-reduces between servers
    int64_t span = 0;       ///< of computing
};

/// The stages of an instance at GPU 0.
class Stages
{
  public:
    explicit Stages(const std::string& options)
        : m_scenario(*scenario::ParseWords<ServingScenario>(options).scenario),
          m_times(m_scenario.cluster, m_scenario.collectives)
    {
        for (uint32_t s = 0; s < m_scenario.serving.pools[0].pp; ++s)
        {
            m_stages.push_back(MakeStageCosts(m_scenario, 0, s, 0, m_times));
        }
    }

    StageCosts& operator[](std::size_t stage)
    {
        return *m_stages[stage];
    }

    StageLoad LoadOf(std::size_t stage, const BatchLoad& batch)
    {
        return m_stages[stage]->LoadOf(
            std::vector<BatchLoad>(m_scenario.serving.pools[0].dp, batch),
            0);
    }

    Sums SumsOf(std::size_t stage, const BatchLoad& batch)
    {
        const StageLoad load = LoadOf(stage, batch);
        Sums sums;
        for (const StageOp& op : m_stages[stage]->Chain())
        {
            sums.halves += op.halves;
            sums.experts += op.experts;
            sums.reduces += op.reduces + op.repeatedReduces + (op.kind == Kind::kReduce);
            sums.exchanges += op.exchanges + op.repeatedExchanges + (op.kind == Kind::kDispatch);
            sums.simulated += op.kind == Kind::kReduce;
            sums.span += load.Span(op);
        }
        return sums;
    }

  private:
    ServingScenario m_scenario;
    scenario::CollectiveTimes m_times;
    std::vector<std::unique_ptr<StageCosts>> m_stages;
};

BatchLoad
Mixed()
{
    BatchLoad load;
    load.AddPrefill(0, 300);
    load.AddPrefill(512, 100);
    for (uint64_t context = 100; context < 1000; context += 50)
    {
        load.AddDecode(context, 1);
    }
    return load;
}

} // namespace

TEST(StageCosts, AStageInOneServerIsOneSpan)
{
    for (const std::string options :
         {"--model=gpt2 --tp=1", "--model=gpt2 --tp=4", "--model=mixtral-8x7b --tp=2 --ep=8"})
    {
        Stages stages(options);
        EXPECT_EQ(stages[0].Chain().size(), 1U) << options;
        const StageLoad load = stages.LoadOf(0, Mixed());
        const int64_t span = stages.SumsOf(0, Mixed()).span;
        EXPECT_EQ(std::accumulate(load.parts.begin(), load.parts.end(), int64_t{0}), span)
            << options;
        EXPECT_GT(span, 0);
    }
}

/// What is computed again takes what the iteration is longer by.
TEST(StageCosts, RepeatsHaveTheirOwnTime)
{
    for (const std::string options :
         {"--model=gpt2 --tp=1", "--model=gpt2 --tp=4", "--model=mixtral-8x7b --tp=2 --ep=8"})
    {
        Stages stages(options);
        BatchLoad with = Mixed();
        with.AddPrefill(0, 900, 896);
        with.AddPrefill(64, 500, 500);
        BatchLoad without = Mixed();
        without.AddPrefill(896, 4);
        const StageLoad load = stages.LoadOf(0, with);
        const auto repeated = static_cast<std::size_t>(TimePart::kRepeated);
        EXPECT_EQ(std::accumulate(load.parts.begin(), load.parts.end(), int64_t{0}),
                  stages.SumsOf(0, with).span)
            << options;
        if (options.find("--ep") == std::string::npos) // its engines have the same load
        {
            EXPECT_EQ(load.parts[repeated],
                      stages.SumsOf(0, with).span - stages.SumsOf(0, without).span)
                << options;
        }
        EXPECT_GT(load.parts[repeated], 0);
        EXPECT_EQ(stages.LoadOf(0, without).parts[repeated], 0);
    }
    // Nothing else in it: all of it.
    Stages stages("--model=gpt2 --tp=1");
    BatchLoad only;
    only.AddPrefill(0, 512, 512);
    EXPECT_EQ(stages.LoadOf(0, only).parts[static_cast<std::size_t>(TimePart::kRepeated)],
              stages.SumsOf(0, only).span);
}

TEST(StageCosts, OneGpuHasNoCollectives)
{
    Stages stages("--model=gpt2 --tp=1 --pp=3");
    for (uint32_t s = 0; s < 3; ++s)
    {
        const Sums sums = stages.SumsOf(s, Mixed());
        EXPECT_EQ(sums.halves, 8U); // 12 blocks over 3 stages
        EXPECT_EQ(sums.reduces, 0U);
        EXPECT_EQ(sums.exchanges, 0U);
        const StageLoad load = stages.LoadOf(s, Mixed());
        EXPECT_EQ(load.parts[static_cast<std::size_t>(TimePart::kTensor)], 0);
        EXPECT_EQ(load.reduceBytes, 0U);
        // 418 tokens of 768 numbers of 2 bytes.
        EXPECT_EQ(load.sendBytes, s < 2 ? 418U * 768 * 2 : load.sendBytes);
    }
}

/// gpt2: 12 blocks with two all-reduces each, and one behind the embedding.
TEST(StageCosts, PacketBlocksComputeTheSame)
{
    const std::string options = "--model=gpt2 --tp=4 --gpus-per-server=2 --packet-blocks=";
    Stages every(options + "all");
    const Sums all = every.SumsOf(0, Mixed());
    EXPECT_EQ(all.halves, 24U);
    EXPECT_EQ(all.reduces, all.simulated);
    EXPECT_GE(all.reduces, 24U);
    for (const uint32_t blocks : {1U, 2U, 5U, 12U})
    {
        Stages some(options + std::to_string(blocks));
        const Sums sums = some.SumsOf(0, Mixed());
        EXPECT_EQ(sums.halves, all.halves);
        EXPECT_EQ(sums.reduces, all.reduces);
        EXPECT_EQ(sums.span, all.span) << "computing depends on what is simulated";
        EXPECT_EQ(sums.simulated, all.reduces - 2 * (12 - blocks));
    }
}

TEST(StageCosts, ExpertsExchangeTheSame)
{
    const std::string options = "--model=mixtral-8x7b --gpu=H100 --tp=2 --ep=8 "
                                "--gpus-per-server=4 --packet-blocks=";
    Stages every(options + "all");
    const Sums all = every.SumsOf(0, Mixed());
    EXPECT_EQ(all.exchanges, 32U); // a block each
    EXPECT_EQ(all.experts, 32U);
    Stages some(options + "3");
    const Sums sums = some.SumsOf(0, Mixed());
    EXPECT_EQ(sums.exchanges, all.exchanges);
    EXPECT_EQ(sums.experts, all.experts);
    EXPECT_EQ(sums.span, all.span);
}

/// Bytes that a rank puts into an exchange are those of its blocks, however they are shared out.
TEST(StageCosts, SkewedBlocksAreTheInputsOfTheirExchange)
{
    for (const std::string skew : {"0", "0.5", "2"})
    {
        Stages stages("--model=mixtral-8x7b --gpu=H100 --tp=2 --ep=8 --gpus-per-server=4 "
                      "--moe-skew=" +
                      skew);
        const StageLoad load = stages.LoadOf(0, Mixed());
        EXPECT_EQ(load.dispatchBlocks == nullptr, skew == "0");
        for (const bool dispatch : {true, false})
        {
            const coll::Collective what = load.ExchangeOf(dispatch);
            EXPECT_GT(what.bytes, 0U);
            if (what.blocks)
            {
                EXPECT_EQ(what.bytes, what.blocks->LargestInput());
            }
        }
        if (load.dispatchBlocks)
        {
            // Tokens go there and come back.
            for (coll::Rank from = 0; from < 8; ++from)
            {
                for (coll::Rank to = 0; to < 8; ++to)
                {
                    EXPECT_EQ(load.dispatchBlocks->Bytes(from, to) > 0,
                              load.combineBlocks->Bytes(to, from) > 0);
                }
            }
        }
    }
}

/// More tokens, or a longer context, take no less time.
TEST(StageCosts, TimeGrowsWithTheBatch)
{
    Stages stages("--model=llama3-8b --tp=2");
    int64_t last = 0;
    for (uint32_t tokens = 1; tokens <= 4096; tokens *= 2)
    {
        BatchLoad load;
        load.AddPrefill(0, tokens);
        const int64_t span = stages.SumsOf(0, load).span;
        EXPECT_GE(span, last) << tokens;
        last = span;
    }
    last = 0;
    for (uint64_t context = 1; context <= 100'000; context *= 10)
    {
        BatchLoad load;
        load.AddDecode(context, 1);
        const int64_t span = stages.SumsOf(0, load).span;
        EXPECT_GE(span, last) << context;
        last = span;
    }
}
