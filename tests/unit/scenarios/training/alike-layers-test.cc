/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers that share their parts are computed once: the same comes out as for each of its own.
 */
#include "scenarios/models/model-zoo.h"
#include "scenarios/training/rank-layers.h"
#include "tests/unit/scenarios/example-options.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace training;

namespace
{

/// All that a step takes from the parts of a layer, in numbers.
std::vector<double>
NumbersOf(const RankLayer& layer)
{
    std::vector<double> numbers = {static_cast<double>(layer.parameters),
                                   static_cast<double>(layer.expertParameters),
                                   static_cast<double>(layer.tiedTo),
                                   static_cast<double>(layer.tiedParameters),
                                   layer.recomputed ? 1.0 : 0.0,
                                   layer.againBytes,
                                   layer.keptBytes,
                                   layer.checkpointBytes,
                                   layer.flops,
                                   layer.accumulate,
                                   layer.intoBuckets};
    numbers.insert(numbers.end(), layer.tensors.begin(), layer.tensors.end());
    for (const RankPart& part : layer.parts)
    {
        numbers.insert(numbers.end(),
                       {part.forward,
                        part.again,
                        part.backwardInput,
                        part.backwardWeights,
                        part.entryWeights,
                        part.aheadOfEntry});
        for (const auto* exchanges : {&part.beforeForward,
                                      &part.besideForward,
                                      &part.afterForward,
                                      &part.beforeBackward,
                                      &part.besideBackward,
                                      &part.afterBackward})
        {
            for (const Exchange& exchange : *exchanges)
            {
                numbers.push_back(static_cast<double>(exchange.bytes));
            }
        }
    }
    return numbers;
}

} // namespace

TEST(SharedList, CopiesShareUntilOneChanges)
{
    SharedList<int> a{1, 2};
    SharedList<int> b = a;
    EXPECT_TRUE(a.Shares(b));
    b.Change().push_back(3);
    EXPECT_FALSE(a.Shares(b));
    EXPECT_EQ(a.size(), 2U);
    EXPECT_EQ(b.size(), 3U);
    const int* const before = &b[0];
    b.Change()[0] = 5; // nobody else has it: it stays where it is
    EXPECT_EQ(&b[0], before);
    EXPECT_EQ(a[0], 1);
    SharedList<int> none;
    EXPECT_TRUE(none.empty());
    none.push_back(7);
    EXPECT_EQ(none.back(), 7);
}

// Embedding, head and blocks. Windows of attention alternate in Gemma 3 and gpt-oss, DeepSeek-V3
// begins with dense blocks, and T5 has two rows of blocks with a layer between them.
TEST(ShareParts, HasOneListForEachKindOfLayer)
{
    const std::pair<const char*, std::size_t> wanted[] = {{"gpt2", 3},
                                                          {"llama3-70b", 3},
                                                          {"gemma-3-27b", 4},
                                                          {"gpt-oss-20b", 4},
                                                          {"deepseek-v3", 4},
                                                          {"t5-large", 5}};
    for (const auto& [name, kinds] : wanted)
    {
        const auto model = FindModel(name);
        ASSERT_TRUE(model) << name;
        std::vector<const Parts*> found;
        for (const LayerSpec& layer : model->layers)
        {
            if (std::none_of(found.begin(), found.end(), [&layer](const Parts* parts) {
                    return parts->Shares(layer.parts);
                }))
            {
                found.push_back(&layer.parts);
            }
        }
        EXPECT_EQ(found.size(), kinds) << name;
    }
}

// One number that differs tells two lists apart.
TEST(ShareParts, KeepsWhatDiffersApart)
{
    const auto model = FindModel("llama3-8b");
    std::vector<LayerSpec> layers(model->layers.begin() + 1, model->layers.begin() + 7);
    ASSERT_TRUE(layers[0].parts.Shares(layers[5].parts));
    layers[1].parts.Change()[0].operators[1].window = 512;
    layers[2].parts.Change()[1].tensors[0].elements += 1;
    layers[3].parts.Change()[0].kept[0].bytes.local = 1;
    layers[4].parts.Change()[0].name = "other";
    for (LayerSpec& layer : layers)
    {
        layer.parts.Change().shrink_to_fit(); // apart, though two of them are equal
    }
    ShareParts(layers);
    EXPECT_TRUE(layers[0].parts.Shares(layers[5].parts));
    for (std::size_t i = 1; i < 5; ++i)
    {
        for (std::size_t j = 0; j < 5; ++j)
        {
            EXPECT_EQ(layers[i].parts.Shares(layers[j].parts), i == j);
        }
    }
}

TEST(LayersOfModel, AreTheSameWithAndWithoutSharing)
{
    for (const std::string name : {"gpt2", "llama3-8b", "gemma-3-4b", "qwen3-30b-a3b", "resnet50"})
    {
        for (const Recompute recompute :
             {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
        {
            auto o = OptionsOf(name, 8, 1, 4);
            o.ignoreMemory = true;
            o.recompute = recompute;
            o.tensor = o.model.transformer ? 2 : 1;
            o.sequenceParallel = o.tensor > 1;
            const auto shared = LayersOfModel(ResolvedOptions(o));
            for (LayerSpec& layer : o.model.layers)
            {
                const LayerSpec copy = layer; // so that there is something to part from
                layer.parts.Change();
            }
            const auto apart = LayersOfModel(ResolvedOptions(o));
            ASSERT_EQ(shared.size(), apart.size());
            std::set<std::string> names;
            for (std::size_t i = 0; i < shared.size(); ++i)
            {
                EXPECT_EQ(NumbersOf(shared[i]), NumbersOf(apart[i])) << name << " " << i;
                EXPECT_EQ(shared[i].name, apart[i].name);
                EXPECT_EQ(shared[i].index, i);
                names.insert(shared[i].name);
            }
            EXPECT_EQ(names.size(), shared.size());
        }
    }
}
