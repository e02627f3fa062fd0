/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/models/family.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/models/zoo-files.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <set>

using namespace training;

namespace
{

ModelSpec
Model(const std::string& name)
{
    const auto model = FindModel(name);
    EXPECT_TRUE(model) << name;
    return model ? *model : ModelSpec{};
}

std::string
FirstProblem(const std::string& text, std::string* path = nullptr)
{
    std::vector<topo::Error> errors;
    EXPECT_FALSE(ParseModelJson(nlohmann::json::parse(text), "x.json", errors)) << text;
    if (errors.empty())
    {
        return "";
    }
    if (path != nullptr)
    {
        *path = errors[0].where;
    }
    return errors[0].problem;
}

} // namespace

// Published counts: of the weights on Hugging Face (BLOOM, GPT-2, Llama, Mistral, Mixtral,
// DeepSeek, Qwen, BERT, T5), "num_params" of torchvision/models/*.py (pictures), the benchmark
// table of mosaicml/llm-foundry@8c8dd48 (MPT, 2,048 positions).
TEST(ModelJson, NamesAreShortAndPrintable)
{
    const auto graph = [](const std::string& name) {
        return R"({"name": "n", "graph": [["x", "data", [64, 128]], ["w", "parameter", [128, 256]], [")" +
               name + R"(", "matmul", "x", "w"], ["l", "loss", ")" + name + R"("]]})";
    };
    const auto layers = [](const std::string& name) {
        return R"({"name": "n", "layers": [{"name": ")" + name + R"(", "parameters": 8}]})";
    };
    const auto model = [](const std::string& name) {
        return R"({"name": ")" + name + R"(", "layers": [{"parameters": 8}]})";
    };
    // Also one as long as allowed, of characters of two bytes.
    std::string longest;
    for (int i = 0; i < 200; ++i)
    {
        longest += "\u00e9";
    }
    for (const std::string& name : {longest + "e", std::string(100000, 'x')})
    {
        for (const std::string& text : {graph(name), layers(name), model(name)})
        {
            EXPECT_NE(FirstProblem(text).find("at most 200 characters"), std::string::npos);
        }
    }
    for (const std::string name : {"from os import system\\n@system", "a\\tb", "\\u001b[31m"})
    {
        for (const std::string& text : {graph(name), layers(name), model(name)})
        {
            EXPECT_NE(FirstProblem(text).find("without control characters"), std::string::npos)
                << text;
        }
    }
}

// A reader whose family has no JSON would be found by nothing.
TEST(ModelZoo, EveryFamilyHasItsFile)
{
    size_t types = 0;
    for (const ModelFamily* family : topo::Registered<ModelFamily>::All())
    {
        types += family->types.size();
    }
    EXPECT_GT(types, 20u);
    EXPECT_EQ(ConfigTypes().size(), types);
}

// The texts are those of the files, whatever CMake makes of characters on the way.
TEST(ModelZoo, FilesAreInTheProgram)
{
    const std::string folder = std::string(DLTRAIN_ROOT) + "/scenarios/zoo/";
    EXPECT_EQ(ZooFiles().count("gpus.json"), 1u);
    for (const auto& [path, text] : ZooFiles())
    {
        std::ifstream file(folder + path);
        const std::string whole(std::istreambuf_iterator<char>(file), {});
        EXPECT_EQ(whole, text) << path;
    }
}

TEST(ModelZoo, CountsEqualPublishedOnes)
{
    const std::map<std::string, uint64_t> published = {
        {"bloom-560m", 559214592},
        {"bloom-1b1", 1065314304},
        {"bloom-1b7", 1722408960},
        {"bloom-3b", 3002557440},
        {"bloom-7b1", 7069016064},
        {"bloom-176b", 176247271424},
        {"gpt2", 124439808},
        {"gpt2-medium", 354823168},
        {"gpt2-large", 774030080},
        {"gpt2-xl", 1557611200},
        {"llama2-7b", 6738415616},
        {"llama2-13b", 13015864320},
        {"llama2-70b", 68976648192},
        {"llama3-8b", 8030261248},
        {"llama3-70b", 70553706496},
        {"llama3-405b", 405853388800},
        {"bert-large", 335141888},
        {"bert-large-pretraining", 336226108},
        {"resnet-50", 25557032},
        {"vgg-16", 138357544},
        {"mpt-125m", 125311488},
        {"mpt-350m", 355985408},
        {"mpt-760m", 760470528},
        {"mpt-1b", 1315950592},
        {"mpt-3b", 2651837440},
        {"mpt-7b", 6658859008},
        {"mpt-13b", 12853954560},
        {"mpt-30b", 29975214080},
        {"mpt-70b", 64862437376},
        {"llama-7b", 6738415616},
        {"llama-13b", 13015864320},
        {"llama-33b", 32528943616},
        {"llama-65b", 65285660672},
        {"mistral-7b", 7241732096},
        {"mixtral-8x7b", 46702792704},
        {"mixtral-8x22b", 140620634112},
        {"deepseek-v2-lite", 15706484224},
        {"deepseek-v2", 235741434880},
        {"deepseek-v3", 671026419200},
        {"qwen2-7b", 7615616512},
        {"qwen2-72b", 72706203648},
        {"bert-base", 109482240},
        {"t5-small", 60506624},
        {"t5-base", 222903552},
        {"t5-large", 737668096},
        {"t5-3b", 2851598336},
        {"t5-11b", 11307321344},
        {"t5-v1.1-small", 76961152},
        {"t5-v1.1-base", 247577856},
        {"t5-v1.1-large", 783150080},
        {"t5-v1.1-xl", 2849757184},
        {"t5-v1.1-xxl", 11135332352},
        {"vit-b-16", 86567656},
        {"vit-l-16", 304326632},
        {"vit-h-14", 632045800},
        {"resnet-18", 11689512},
        {"resnet-34", 21797672},
        {"resnet-101", 44549160},
        {"resnet-152", 60192808},
        {"resnext-50", 25028904},
        {"vgg-11", 132863336},
        {"vgg-19", 143667240},
        {"inception-v3", 27161264},
        {"alexnet", 61100840},
        // Those of mixtures (but Qwen3's) and of models whose file has an encoder of pictures, too,
        // are reckoned from shapes: docs/models.md.
        {"deepseek-v3.2", 671877944064},
        {"kimi-k2", 1026408232448},
        {"gemma3-1b", 999885952},
        {"glm-5", 743911218432},
        {"gpt-oss-20b", 20914757184},
        {"gpt-oss-120b", 116829156672},
        {"llama3.2-1b", 1235814400},
        {"llama3.2-3b", 3212749824},
        {"llama4-scout", 107769861120},
        {"llama4-maverick", 400711848960},
        {"ministral-8b", 8019808256},
        {"mistral-nemo-12b", 12247782400},
        {"mistral-small-24b", 23572403200},
        {"mistral-large-123b", 122610069504},
        {"nemotron-nano-9b-v2", 8888227328},
        {"phi-2", 2779683840},
        {"phi-3-mini", 3821079552},
        {"phi-3-medium", 13960238080},
        {"phi-4-mini", 3836021760},
        {"phi-4", 14659507200},
        {"qwen3-0.6b", 596049920},
        {"qwen3-1.7b", 1720574976},
        {"qwen3-4b", 4022468096},
        {"qwen3-8b", 8190735360},
        {"qwen3-14b", 14768307200},
        {"qwen3-32b", 32762123264},
        {"qwen3-30b-a3b", 30532122624},
        {"qwen3-next-80b-a3b", 79674391296},
        {"qwen3-235b-a22b", 235093634560},
        {"qwen3-coder-480b-a35b", 480154875392},
    };
    for (const auto& [name, count] : published)
    {
        EXPECT_EQ(Model(name).parameters, count) << name;
    }
    // All that claim a published number are in the list above.
    for (const auto& name : ModelNames())
    {
        EXPECT_EQ(Model(name).parametersPublished != 0, published.count(name) == 1) << name;
    }
}

// Reckoned from shapes: all but those of the experts that a token is not sent to.
TEST(ModelZoo, ActiveCounts)
{
    const std::map<std::string, uint64_t> active = {
        {"mixtral-8x7b", 12879925248},
        {"deepseek-v3", 37552297472},
        {"deepseek-v3.2", 38403822336},
        {"kimi-k2", 32861500928},
        {"glm-5", 41784728832},
        {"gpt-oss-20b", 4187440704},
        {"gpt-oss-120b", 5711982912},
        {"llama4-scout", 17172894720},
        {"llama4-maverick", 17184691200},
        {"qwen3-30b-a3b", 3353032704},
        {"qwen3-235b-a22b", 22190763520},
        {"qwen3-coder-480b-a35b", 35474765312},
    };
    for (const auto& [name, count] : active)
    {
        EXPECT_EQ(Model(name).ActiveParameters(), count) << name;
    }
    for (const char* dense : {"bloom-560m", "qwen3-8b", "resnet-50", "t5-base"})
    {
        EXPECT_EQ(Model(dense).ActiveParameters(), Model(dense).parameters) << dense;
    }
}

// Counts published of the weights, which have embedding and head in the module, too.
TEST(ModelZoo, ModulesForMultiTokenPrediction)
{
    const std::map<std::string, uint64_t> published = {
        {"glm-4.5", 358337791296 - 2ULL * 151552 * 5120},
        {"glm-4.5-air", 110468824832 - 2ULL * 151552 * 4096},
        {"qwen3-next-80b-a3b", 81324862720},
    };
    for (const auto& [name, count] : published)
    {
        ModelSpec model = Model(name);
        const uint64_t layers = model.layers.size();
        AddPredictors(model, 1);
        EXPECT_EQ(model.parameters, count) << name;
        ASSERT_EQ(model.layers.size(), layers + 2);
        const LayerSpec& block = model.layers[layers];
        const LayerSpec& head = model.layers[layers + 1];
        EXPECT_EQ(block.name, "mtp 1");
        EXPECT_EQ(head.name, "mtp 1 head");
        EXPECT_EQ(model.layers.at(block.tiedTo).name, "embedding");
        EXPECT_EQ(model.layers.at(head.tiedTo).name, "head");
        EXPECT_EQ(head.tiedParameters, block.tiedParameters);
        // The logits once more, and a block with a product of 2 h x h.
        const double h = model.transformer->hidden;
        EXPECT_DOUBLE_EQ(head.Flops().token, 2 * h * model.transformer->vocabulary);
        EXPECT_DOUBLE_EQ(block.Flops().token, model.layers[layers - 2].Flops().token + 4 * h * h);
        EXPECT_FALSE(block.repeated);
        AddPredictors(model, 1);
        EXPECT_EQ(model.layers.back().name, "mtp 2 head");
    }
    EXPECT_TRUE(Model("qwen3-30b-a3b").predictor.empty());
}

// A window of w keys: 2 s min(s, w) a d each for scores and contexts, instead of 2 s^2 a d.
TEST(ModelZoo, WindowsShortenAttention)
{
    // gpt-oss: 64 heads of 64; blocks 0, 2, ... have a window of 128 tokens.
    const auto oss = Model("gpt-oss-20b");
    for (const double s : {64.0, 128.0, 4096.0})
    {
        const auto tokens = static_cast<uint32_t>(s);
        EXPECT_DOUBLE_EQ(oss.layers[2].Flops().At(1, tokens) - oss.layers[1].Flops().At(1, tokens),
                         4 * s * (s - std::min(s, 128.0)) * 64 * 64);
    }
    // Llama 4: three of four blocks have stretches of 8,192 tokens, and norms of queries and keys.
    const auto scout = Model("llama4-scout");
    EXPECT_DOUBLE_EQ(scout.layers[4].Flops().At(1, 16384) - scout.layers[3].Flops().At(1, 16384),
                     4.0 * 16384 * 8192 * 40 * 128);
    // Gemma 3: every sixth block sees all.
    const auto gemma = Model("gemma3-27b");
    for (uint32_t i = 1; i <= 62; ++i)
    {
        EXPECT_EQ(gemma.layers[i].Flops().local == 0, i % 6 == 0) << i;
    }
    // DeepSeek-V3.2: 2,048 keys a query, and an indexer of 64 heads of 128 over all of them.
    const auto v3 = Model("deepseek-v3");
    const auto v32 = Model("deepseek-v3.2");
    const double s = 32768;
    const double products = 2 * s * (1536.0 * 64 * 128 + 7168 * 128 + 7168 * 64);
    EXPECT_NEAR(v32.layers[5].Flops().At(1, 32768) /
                    (v3.layers[5].Flops().At(1, 32768) - 2 * s * (s - 2048) * 128 * (192 + 128) +
                     products + 2 * s * s * 64 * 128),
                1,
                1e-12);
}

// Work that grows with the tokens: no pairs. Products of a block by hand, without its chunks: of
// Qwen3-Next 2 x 2048 x (2 x 16 + 2 x 32) x 128 + 2 x 2048 x 64 + 2 x 4096 x 2048; of Nemotron-H 8B
// 2 x 4096 x (2 x 8192 + 2 x 1024 + 128) + 2 x 8192 x 4096.
TEST(ModelZoo, LinearAttentionAndMamba)
{
    const auto next = Model("qwen3-next-80b-a3b");
    const auto nemotron = Model("nemotron-h-8b");
    const std::pair<const Part*, double> parts[] = {
        {&next.layers[1].parts[0], 2.0 * 2048 * 12288 + 2.0 * 2048 * 64 + 2.0 * 4096 * 2048},
        {&nemotron.layers[1].parts[0], 2.0 * 4096 * 18560 + 2.0 * 8192 * 4096},
    };
    for (const auto& [part, products] : parts)
    {
        Work work;
        Work scans;
        for (const Operator& op : part->operators)
        {
            work += op.Flops();
            scans += op.scan ? op.Flops() : Work{};
        }
        EXPECT_DOUBLE_EQ(work.token - scans.token, products) << part->name;
        EXPECT_EQ(work.pair, 0);
        EXPECT_GT(scans.token, 0.02 * products);
        EXPECT_LT(scans.token, 0.2 * products);
    }
    EXPECT_EQ(next.layers[4].parts[0].name, "attention");
    EXPECT_EQ(nemotron.layers[8].parts[0].name, "attention");
    EXPECT_EQ(nemotron.layers[2].parts[0].name, "mlp");
}

// These papers publish rounded numbers. Exact arithmetic: 12 l h^2 + 13 l h + (V + positions) h + 2
// h.
TEST(ModelZoo, CountsOfRoundedTables)
{
    const std::map<std::string, uint64_t> exact = {
        {"gpt3-175b", 174604259328},
        {"megatron-1.7b", 1652230656},
        {"megatron-3.6b", 3562168320},
        {"megatron-7.5b", 7467786240},
        {"megatron-18.4b", 18449756160},
        {"megatron-39.1b", 39096041472},
        {"megatron-76.1b", 76050739200},
        {"megatron-145.6b", 145622261760},
        {"megatron-310.1b", 310130540544},
        {"megatron-529.6b", 529600819200},
        {"megatron-1008b", 1008038758400},
        {"megatron-1.2b", 1213479936},
        {"megatron-8.3b", 8317040640},
        {"megatron-8.67b", 8671870976},
        {"megatron-174.6b", 174615846912},
    };
    for (const auto& [name, count] : exact)
    {
        EXPECT_EQ(Model(name).parameters, count) << name;
    }
    // GPT-3 paper, table 2.1, the column n_params.
    const std::map<std::string, double> table = {{"gpt3-125m", 125e6},
                                                 {"gpt3-350m", 350e6},
                                                 {"gpt3-760m", 760e6},
                                                 {"gpt3-1.3b", 1.3e9},
                                                 {"gpt3-2.7b", 2.7e9},
                                                 {"gpt3-6.7b", 6.7e9},
                                                 {"gpt3-13b", 13e9},
                                                 {"gpt3-175b", 175e9}};
    for (const auto& [name, count] : table)
    {
        EXPECT_NEAR(Model(name).parameters / count, 1, 0.025) << name;
    }
}

// Counts that papers round to three or four digits.
TEST(ModelZoo, RoundedCountsAreWithinHalfAPercent)
{
    const std::map<std::string, double> published = {
        {"megatron-355m", 355e6},     // arXiv 1909.08053, table 2
        {"megatron-2.5b", 2.5e9},     // table 1
        {"megatron-4.2b", 4.2e9},     // table 1
        {"megatron-8.3b", 8.3e9},     // table 1
        {"megatron-1.16b", 1.16e9},   // images/tables.tex of September 2020
        {"megatron-2.03b", 2.03e9},   // the same
        {"megatron-4.24b", 4.24e9},   // the same
        {"megatron-8.67b", 8.67e9},   // the same
        {"megatron-22b", 22e9},       // arXiv 2205.05198
        {"megatron-174.6b", 174.6e9}, // arXiv 2104.04473, table 2
        {"mt-nlg-530b", 530e9},       // arXiv 2201.11990
        {"bloom-182b", 182e9},        // chronicles-prequel.md
        {"bert-base-pretraining", 110e6},
        // 349 MB in 32 bits: PipeDream. The vocabulary was chosen for it, so this holds the shapes.
        {"s2vt", 349e6 / 4},
        {"mlp-mnist", 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10},
    };
    for (const auto& [name, count] : published)
    {
        EXPECT_NEAR(Model(name).parameters / count, 1, 0.005) << name;
    }
    // Table 1 says 1.2, which is 1.1% less than its shapes give.
    EXPECT_NEAR(Model("megatron-1.2b").parameters / 1.2e9, 1, 0.012);
    // Microsoft says 17.2 billion; words and positions are assumed.
    EXPECT_NEAR(Model("turing-nlg").parameters / 17.2e9, 1, 0.005);
}

TEST(ModelZoo, EveryModelIsConsistent)
{
    std::set<std::string> names;
    for (const auto& name : ModelNames())
    {
        const auto model = Model(name);
        EXPECT_EQ(model.name, name);
        EXPECT_TRUE(names.insert(name).second);
        EXPECT_FALSE(model.source.empty()) << name;
        uint64_t sum = 0;
        std::set<std::string> layers;
        for (const auto& layer : model.layers)
        {
            EXPECT_TRUE(layers.insert(layer.name).second) << name << " " << layer.name;
            if (layer.tiedTo != kNotTied)
            {
                EXPECT_EQ(model.layers.at(layer.tiedTo).parts[0].tensors.front().elements,
                          layer.tiedParameters);
            }
            sum += layer.Parameters();
        }
        EXPECT_EQ(sum, model.parameters) << name;
    }
}

TEST(ModelZoo, NamesAreLenient)
{
    for (const char* name : {"bloom-560m", "bloom560m", "bloom_560m", "BLOOM-560M", "Bloom 560m"})
    {
        EXPECT_EQ(Model(name).name, "bloom-560m") << name;
    }
    EXPECT_EQ(Model("llama-2-7b").name, "llama2-7b");
    EXPECT_EQ(Model("Llama-3.1-405B").name, "llama3-405b");
    EXPECT_EQ(Model("gpt3").name, "gpt3-175b");
    EXPECT_EQ(Model("gpt3-13b").name, "gpt3-13b"); // not 1.3b
    EXPECT_EQ(Model("gpt3-1.3b").name, "gpt3-1.3b");
    EXPECT_EQ(Model("resnet50").name, "resnet-50");
    EXPECT_EQ(Model("vgg16").name, "vgg-16");
    EXPECT_EQ(Model("Inception_v3").name, "inception-v3");
    EXPECT_EQ(Model("T5_v1.1_XXL").name, "t5-v1.1-xxl");
    EXPECT_EQ(Model("Mixtral-8x7B").name, "mixtral-8x7b");
    EXPECT_FALSE(FindModel("bloom-561m"));
    EXPECT_FALSE(FindModel(""));
    EXPECT_EQ(rdma::NearestName("blom-560m", ModelNames()), "bloom-560m");
    EXPECT_EQ(rdma::NearestName("zzzzzzzzzzzz", ModelNames()), "");
}

// Narayanan et al. SC'21, appendix: a step of B samples costs 96 B s l h^2 (1 + s/(6h) + V/(16 l
// h)) with recomputation of every layer, that is 4 forwards of the layers and 3 of the logits;
// without, 72 B s l h^2 (1 + s/(6h) + V/(12 l h)).
TEST(ModelZoo, FlopsAreMegatrons)
{
    for (const char* name : {"gpt3-175b", "megatron-1.7b", "megatron-1008b", "gpt2-xl"})
    {
        const auto model = Model(name);
        const auto& t = *model.transformer;
        const double s = model.sequence;
        const double l = t.layers;
        const double h = t.hidden;
        const double v = t.vocabulary;
        const double step = 72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
        EXPECT_NEAR(3 * model.ForwardFlops(1, model.sequence) / step, 1, 1e-12) << name;
        EXPECT_NEAR(model.ForwardFlops(8, model.sequence) / model.ForwardFlops(1, model.sequence),
                    8,
                    1e-12);
    }
    // 6 N D: attention adds s / (6 h) = 2.8% for GPT-3 175B.
    const auto gpt3 = Model("gpt3-175b");
    EXPECT_NEAR(3 * gpt3.ForwardFlops(1, 2048) / (6.0 * gpt3.parameters * 2048), 1.027, 0.003);
}

// "_ops" of torchvision/models/*.py: 10^9 multiply-adds of one picture.
TEST(ModelZoo, FlopsOfPictures)
{
    const std::map<std::string, double> published = {{"resnet-18", 1.814},
                                                     {"resnet-34", 3.664},
                                                     {"resnet-50", 4.089},
                                                     {"resnet-101", 7.801},
                                                     {"resnet-152", 11.514},
                                                     {"resnext-50", 4.23},
                                                     {"vgg-11", 7.609},
                                                     {"vgg-16", 15.47},
                                                     {"vgg-19", 19.632},
                                                     {"alexnet", 0.714},
                                                     {"vit-b-16", 17.6},
                                                     {"vit-l-16", 61.6},
                                                     {"vit-h-14", 167.3}};
    for (const auto& [name, billions] : published)
    {
        EXPECT_NEAR(Model(name).ForwardFlops(1, 1) / 2e9 / billions, 1, 0.0025) << name;
    }
    // Inception's is of inference, without the auxiliary classifier.
    const auto inception = Model("inception-v3");
    double side = 0;
    for (const auto& layer : inception.layers)
    {
        side += layer.name == "AuxLogits" ? layer.Flops().sample : 0;
    }
    // By hand: on 5 x 5 points 768 x 128 weights, on one 128 x 768 x 5 x 5, and 768 x 1000.
    EXPECT_DOUBLE_EQ(side, 2.0 * (25 * 768 * 128 + 128 * 768 * 25 + 768 * 1000));
    EXPECT_NEAR((inception.ForwardFlops(1, 1) - side) / 2e9, 5.713, 0.0005);
    // By hand: the first convolution of ResNet-50 is 64 x 3 x 7 x 7 weights on 112 x 112 positions:
    // 9,408 x 12,544 = 118,013,952 MAC.
    EXPECT_DOUBLE_EQ(Model("resnet-50").layers[0].Flops().sample, 2 * 118013952.0);
    EXPECT_EQ(Model("resnet-50").layers.size(), 18u); // stem, 16 blocks, fc
}

/// FLOPs of a token beside attention's matrices: of t s + p s^2 for s = 1 and 2 the part t.
double
TokenFlops(const ModelSpec& model)
{
    return (4 * model.ForwardFlops(1, 1) - model.ForwardFlops(1, 2)) / 2;
}

// A token's products have every parameter but the embedding's, the norms' and those of experts that
// it is not sent to: 2 FLOPs each.
TEST(ModelZoo, ExpertsThatATokenUses)
{
    // Mixtral 8x7B: 12,879,925,248 parameters are active (models.json of the reference data), of
    // which 32,000 x 4,096 are the embedding and 65 x 4,096 norms.
    EXPECT_DOUBLE_EQ(TokenFlops(Model("mixtral-8x7b")) / 2,
                     12879925248.0 - 32000 * 4096 - 65 * 4096);
    // DeepSeek-V3: 37 billion, README of deepseek-ai/DeepSeek-V3; -V2: 21, V2-Lite: 2.4 (without
    // embedding and head: the paper's count, appendix B).
    EXPECT_NEAR(TokenFlops(Model("deepseek-v3")) / 2, 37e9, 0.6e9);
    EXPECT_NEAR(TokenFlops(Model("deepseek-v2")) / 2, 21e9, 0.5e9);
    EXPECT_NEAR(TokenFlops(Model("deepseek-v2-lite")) / 2 - 102400 * 2048, 2.4e9, 0.2e9);
    const auto model = Model("deepseek-v3");
    EXPECT_EQ(model.layers[3].parts[1].name, "mlp"); // blocks 0, 1, 2 are dense
    EXPECT_EQ(model.layers[4].parts[1].name, "experts");
    ASSERT_TRUE(model.layers[4].parts[1].routing);
    EXPECT_EQ(model.layers[4].parts[1].routing->experts, 256u);
    EXPECT_EQ(model.layers[4].parts[1].routing->topK, 8u);
}

// Encoder and decoder, from the paper's shapes (Raffel et al. 2020, section 2.1): an encoder's
// block has 4 h a d + (2 or 3) h f weights on s tokens; a decoder's on t tokens the same, and 2 h a
// d more on t and 2 h a d on s for attention to the encoder; scores and contexts are 2 s^2, 2 t^2
// and 2 t s a d; the head is h V on t.
TEST(ModelZoo, FlopsOfEncoderAndDecoder)
{
    struct Shape
    {
        const char* name;
        double h, f, size, heads, layers, matrices;
    };

    for (const Shape& x : {Shape{"t5-small", 512, 2048, 64, 8, 6, 2},
                           Shape{"t5-3b", 1024, 16384, 128, 32, 24, 2},
                           Shape{"t5-v1.1-xxl", 4096, 10240, 64, 64, 24, 3}})
    {
        for (const double s : {512.0, 1024.0, 7 * 512.0})
        {
            const double t = 114 * s / 512;
            const double inner = x.heads * x.size;
            const double mlp = x.matrices * x.h * x.f;
            const double encoder = s * (4 * x.h * inner + mlp) + 2 * s * s * inner;
            const double decoder = t * (4 * x.h * inner + mlp) + 2 * t * t * inner +
                                   (2 * t + 2 * s) * x.h * inner + 2 * t * s * inner;
            const double sum = x.layers * (encoder + decoder) + t * x.h * 32128;
            EXPECT_NEAR(Model(x.name).ForwardFlops(1, static_cast<uint32_t>(s)) / (2 * sum),
                        1,
                        1e-12)
                << x.name << " " << s;
        }
    }
    // What a pipeline sends between blocks of the decoder is the target and the source that all of
    // them attend to.
    const auto model = Model("t5-base");
    EXPECT_DOUBLE_EQ(model.layers[1].output.At(1, 512), 512.0 * 768);
    EXPECT_DOUBLE_EQ(model.layers.end()[-2].output.At(1, 512), (512.0 + 114) * 768);
}

// Korthikanti et al. 2022: a layer keeps s b h (34 + 5 a s / h) bytes.
TEST(ModelZoo, ActivationsAreKorthikantis)
{
    const auto model = Model("gpt3-175b");
    const double s = 2048;
    const double b = 3;
    const double h = 12288;
    const double a = 96;
    EXPECT_DOUBLE_EQ(model.layers[1].ActivationBytes().At(3, 2048),
                     s * b * h * (34 + 5 * a * s / h));
    EXPECT_DOUBLE_EQ(model.layers[1].checkpointBytes.At(3, 2048), 2 * s * b * h);
}

TEST(ModelZoo, TiedMatricesBelongToTheEmbedding)
{
    const auto tied = Model("bloom-560m");
    EXPECT_EQ(tied.layers.back().name, "head");
    EXPECT_EQ(tied.layers.back().tiedTo, 0u);
    EXPECT_EQ(tied.layers.back().tiedParameters, 250880u * 1024);
    EXPECT_EQ(tied.layers.back().Parameters(), 2048u); // the final norm
    const auto own = Model("llama2-7b");
    EXPECT_EQ(own.layers.back().tiedTo, kNotTied);
    EXPECT_EQ(own.layers.back().Parameters(), 32000u * 4096 + 4096);
}

TEST(ModelJson, AUsersTransformer)
{
    std::vector<topo::Error> errors;
    const auto json = nlohmann::json::parse(
        R"({"name": "mine", "layers": 2, "hidden": 8, "heads": 2, "vocab": 10, "sequence": 4})");
    const auto model = ParseModelJson(json, "x.json", errors);
    ASSERT_TRUE(model);
    EXPECT_TRUE(errors.empty());
    // 12 l h^2 + 13 l h + V h + 2 h = 1536 + 208 + 80 + 16
    EXPECT_EQ(model->parameters, 1840u);
    EXPECT_EQ(model->layers.size(), 4u);
    EXPECT_EQ(model->sequence, 4u);
}

// In our own form as in the published one.
TEST(ModelJson, LaterDecoders)
{
    const auto read = [](const std::string& text) {
        std::vector<topo::Error> errors;
        const auto model = ParseModelJson(nlohmann::json::parse(text), "x.json", errors);
        EXPECT_TRUE(model) << errors.front().Sentence();
        return model ? *model : ModelSpec{};
    };
    const auto qwen = read(R"({"name": "x", "layers": 36, "hidden": 4096, "heads": 32,
        "kv_heads": 8, "head_size": 128, "ffn": 12288, "vocab": 151936, "gated_mlp": true,
        "norm": "rms", "bias": false, "dropout": false, "tied_embeddings": false,
        "qk_norm": true})");
    EXPECT_EQ(qwen.parameters, Model("qwen3-8b").parameters);
    EXPECT_EQ(qwen.layers[7].ActivationBytes().At(2, 99),
              Model("qwen3-8b").layers[7].ActivationBytes().At(2, 99));
    const auto windows = read(R"({"name": "x", "layers": 4, "hidden": 64, "heads": 2, "vocab": 10,
                                  "sliding_window": 8, "full_every": 2, "sinks": true,
                                  "mtp": true})");
    for (const uint32_t block : {1u, 2u, 3u, 4u})
    {
        // 4 s k a d for scores and contexts of k keys.
        EXPECT_DOUBLE_EQ(windows.layers[block].Flops().At(1, 100) -
                             windows.layers[2].Flops().At(1, 100),
                         block % 2 == 0 ? 0 : 4.0 * 100 * (8 - 100) * 64);
    }
    EXPECT_EQ(windows.predictor.size(), 2u);
    for (const char* wrong : {R"("full_every": 2)",
                              R"("mtp": true, "pooler": true)",
                              R"("sliding_window": 8, "encoder_layers": 1)"})
    {
        std::string path;
        FirstProblem(R"({"name": "x", "layers": 4, "hidden": 64, "heads": 2, "vocab": 10, )" +
                         std::string(wrong) + "}",
                     &path);
        EXPECT_EQ(path, "/" + std::string(wrong).substr(1, std::string(wrong).find(':') - 2));
    }
}

TEST(ModelJson, AUsersList)
{
    std::vector<topo::Error> errors;
    const auto json = nlohmann::json::parse(R"({"name": "net", "layers": [
        {"name": "a", "parameters": 100, "flops": 1e6, "activation_bytes": 50},
        {"name": "b", "parameters": 30, "tensors": [10, 20], "flops": {"sample": 5}, "repeat": 3}]})");
    const auto model = ParseModelJson(json, "x.json", errors);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->parameters, 190u);
    ASSERT_EQ(model->layers.size(), 4u);
    EXPECT_EQ(model->layers[3].name, "b 2");
    EXPECT_FALSE(model->hasSequence);
    EXPECT_DOUBLE_EQ(model->ForwardFlops(2, 1), 2 * (1e6 + 15));
}

std::optional<ModelSpec>
Parsed(const std::string& text)
{
    std::vector<topo::Error> errors;
    auto model = ParseModelJson(nlohmann::json::parse(text), "x.json", errors);
    EXPECT_TRUE(model) << (errors.empty() ? text : errors[0].Sentence());
    return model;
}

// An LSTM of n units on i inputs has 4 n (i + n) weights and 4 n biases, and uses each weight once
// a step (Hochreiter & Schmidhuber 1997; gates i, f, g, o).
TEST(ModelJson, RecurrentNetworks)
{
    for (const uint64_t n : {1ULL, 7ULL, 1000ULL})
    {
        for (const uint64_t inputs : {1ULL, 13ULL, 500ULL})
        {
            for (const uint64_t steps : {1ULL, 11ULL, 80ULL})
            {
                const auto model = Parsed(R"({"name": "x", "input": )" + std::to_string(inputs) +
                                          R"(, "steps": )" + std::to_string(steps) +
                                          R"(, "layers": [{"name": "a", "ops": [["lstm", )" +
                                          std::to_string(n) + "]]}]}");
                ASSERT_TRUE(model);
                EXPECT_EQ(model->parameters, 4 * n * (inputs + n) + 4 * n);
                EXPECT_DOUBLE_EQ(model->ForwardFlops(3, 1), 3.0 * steps * 2 * 4 * n * (inputs + n));
                // One product of all inputs, and one a step.
                EXPECT_EQ(model->layers[0].parts[0].operators[1].count, steps);
                EXPECT_DOUBLE_EQ(model->layers[0].output.sample, static_cast<double>(n * steps));
            }
        }
    }
}

// A convolution of two kernels in a row, 1 x k and k x 1, has 2 k c^2 weights and needs as many
// multiply-adds a point, where one of k x k has k^2 c^2; of g groups each sees c / g channels.
TEST(ModelJson, ConvolutionsOfAllKinds)
{
    for (const int k : {1, 3, 7})
    {
        const std::string pad = std::to_string(k / 2);
        const std::string size = std::to_string(k);
        const auto flat = Parsed(R"({"name": "x", "image": 17, "channels": 12, "layers": [{"name":
            "a", "ops": [["conv", 12, [1, )" +
                                 size + "], 1, [0, " + pad + R"(]],
            ["conv", 12, [)" + size +
                                 ", 1], 1, [" + pad + R"(, 0]]]}]})");
        ASSERT_TRUE(flat);
        EXPECT_EQ(flat->parameters, 2u * 12 * 12 * k);
        EXPECT_DOUBLE_EQ(flat->ForwardFlops(1, 1), 2.0 * 17 * 17 * 2 * 12 * 12 * k);
        for (const int groups : {1, 2, 3, 12})
        {
            const auto grouped = Parsed(
                R"({"name": "x", "image": 17, "channels": 12, "layers": [{"name": "a", "ops":
                [["conv", 24, )" +
                size + ", 1, " + pad + ", " + std::to_string(groups) + "]]}]}");
            ASSERT_TRUE(grouped);
            EXPECT_EQ(grouped->parameters, 12u * 24 * k * k / groups);
            EXPECT_DOUBLE_EQ(grouped->ForwardFlops(1, 1), 2.0 * 17 * 17 * 12 * 24 * k * k / groups);
        }
    }
}

// Branches add up in parameters, FLOPs and channels; a side exit changes nothing for what follows.
TEST(ModelJson, BranchesAndSideExits)
{
    const auto model = Parsed(R"({"name": "x", "image": 8, "channels": 4, "layers": [
        {"name": "in", "ops": [{"concat": [[["conv", 3, 1, 1, 0]], [["conv", 5, 3, 1, 1]], []]}]},
        {"name": "side", "aside": true, "ops": [["avgpool"], ["linear", 10]]},
        {"name": "out", "repeat": 2, "first": 1, "residual": true, "ops": [["conv", 12, 1, 1, 0]]}]})");
    ASSERT_TRUE(model);
    ASSERT_EQ(model->layers.size(), 4u);
    EXPECT_EQ(model->layers[0].Parameters(), 4u * 3 + 4 * 5 * 9);
    EXPECT_DOUBLE_EQ(model->layers[0].Flops().sample, 2.0 * 64 * (4 * 3 + 4 * 5 * 9));
    EXPECT_DOUBLE_EQ(model->layers[0].output.sample, 64.0 * (3 + 5 + 4));
    EXPECT_EQ(model->layers[1].Parameters(), 12u * 10 + 10);
    EXPECT_DOUBLE_EQ(model->layers[1].output.sample, 64.0 * 12);
    EXPECT_EQ(model->layers[2].name, "out.1");
    EXPECT_EQ(model->layers[3].name, "out.2");
    EXPECT_EQ(model->layers[3].Parameters(), 144u);
}

// Two linear layers, by columns and by rows (Shoeybi et al. 2019, section 3): one all-reduce of the
// second one's outputs forward, one of the first one's inputs backward, unless nobody wants their
// gradient.
TEST(ModelJson, LinearLayersThatAreSharedOut)
{
    const auto model = Model("mlp-mnist");
    ASSERT_EQ(model.layers.size(), 3u);
    EXPECT_TRUE(model.layers[0].parts[0].entry.IsZero());
    EXPECT_TRUE(model.layers[0].parts[0].exit.IsZero());
    EXPECT_DOUBLE_EQ(model.layers[1].parts[0].exit.sample, 512);
    EXPECT_FALSE(model.layers[2].IsShared());
    EXPECT_EQ(model.layers[0].parts[0].tensors[1].split, Split::kTensor);
    EXPECT_EQ(model.layers[1].parts[0].tensors[1].split, Split::kWhole);
    const auto later = Parsed(R"({"name": "x", "input": 7, "steps": 3, "layers": [
        {"name": "a", "ops": [["linear", 5], ["linear", 6, "columns"], ["relu"], ["linear", 4,
        "rows"]]}]})");
    ASSERT_TRUE(later);
    EXPECT_DOUBLE_EQ(later->layers[0].parts[0].entry.sample, 15); // 5 a step
    EXPECT_DOUBLE_EQ(later->layers[0].parts[0].exit.sample, 12);
    std::string path;
    const auto problem = [&path](const std::string& ops) {
        return FirstProblem(R"({"name": "x", "input": 7, "layers": [{"ops": )" + ops + "}]}",
                            &path);
    };
    EXPECT_NE(problem(R"([["linear", 6, "row"]])").find("is not columns or rows"),
              std::string::npos);
    EXPECT_NE(problem(R"([["linear", 6, "rows"]])").find("needs a linear layer by \"columns\""),
              std::string::npos);
    EXPECT_NE(problem(R"([["linear", 6, "columns"], ["softmax"]])").find("stands behind"),
              std::string::npos);
    EXPECT_EQ(path, "/layers/0/ops/1");
    problem(R"([["linear", 6, "columns"], ["linear", 6]])");
    EXPECT_EQ(path, "/layers/0/ops/1");
    problem(R"([["linear", 6, "columns"]])");
    EXPECT_EQ(path, "/layers");
}

// All experts' weights count, a token's products only those of topK; a router and its bias are
// small.
TEST(ModelJson, Experts)
{
    for (const uint64_t count : {1ULL, 3ULL, 8ULL, 17ULL})
    {
        for (uint64_t topK = 1; topK <= std::min<uint64_t>(count, 3); ++topK)
        {
            for (const uint64_t shared : {0ULL, 5ULL})
            {
                const auto model = Parsed(
                    R"({"name": "x", "layers": 3, "hidden": 8, "heads": 2, "vocab": 10, "bias": false,
                    "norm": "rms", "gated_mlp": true, "tied_embeddings": false, "ffn": 32, "experts":
                    {"dense_first": 1, "router_bias": true, "ffn": 6, "count": )" +
                    std::to_string(count) + R"(, "top_k": )" + std::to_string(topK) +
                    R"(, "shared_ffn": )" + std::to_string(shared) + "}}");
                ASSERT_TRUE(model);
                const uint64_t attention = 4 * 8 * 8;
                const uint64_t head = 10 * 8;
                const uint64_t dense = 3 * 8 * 32;
                const uint64_t expert = 3 * 8 * 6;
                const uint64_t norms = 7 * 8;
                EXPECT_EQ(model->parameters,
                          2 * head + 3 * attention + dense +
                              2 * (count * expert + 3 * 8 * shared + 8 * count + count) + norms);
                EXPECT_DOUBLE_EQ(TokenFlops(*model),
                                 2.0 * (head + 3 * attention + dense +
                                        2 * (topK * expert + 3 * 8 * shared + 8 * count)));
            }
        }
    }
}

TEST(ModelJson, EveryMistakeIsNamed)
{
    std::string path;
    EXPECT_NE(
        FirstProblem(R"({"name": "x", "layers": 2, "hidden": 10, "heads": 3, "vocab": 5})", &path)
            .find("does not divide hidden"),
        std::string::npos);
    EXPECT_EQ(path, "/heads");
    EXPECT_NE(
        FirstProblem(
            R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, "hiden_act": 1})",
            &path)
            .find("unknown key"),
        std::string::npos);
    EXPECT_EQ(path, "/hiden_act");
    FirstProblem(R"({"name": "x", "layers": 0, "hidden": 8, "heads": 2, "vocab": 5})", &path);
    EXPECT_EQ(path, "/layers");
    FirstProblem(R"({"name": "x", "layers": 2.5, "hidden": 8, "heads": 2, "vocab": 5})", &path);
    EXPECT_EQ(path, "/layers");
    FirstProblem(R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2})", &path);
    EXPECT_EQ(path, "/vocab");
    for (const char* first : {"2", "3"})
    {
        EXPECT_NE(FirstProblem(R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5,
                  "experts": {"count": 4, "top_k": 1, "ffn": 8, "dense_first": )" +
                                   std::string(first) + "}}",
                               &path)
                      .find("allowed: 0 to 1"),
                  std::string::npos);
        EXPECT_EQ(path, "/experts/dense_first");
    }
    FirstProblem(R"({"layers": [{"parameters": 1, "flops": 1}]})", &path);
    EXPECT_EQ(path, "/name");
    FirstProblem(R"({"name": "x", "layers": [{"parameters": 1}]})", &path);
    EXPECT_EQ(path, "/layers/0/flops");
    FirstProblem(R"({"name": "x", "layers": [{"parameters": 5, "flops": 1, "tensors": [1, 2]}]})",
                 &path);
    EXPECT_EQ(path, "/layers/0/tensors");
    FirstProblem(R"({"name": "x", "layers": [{"parameters": -5, "flops": 1}]})", &path);
    EXPECT_EQ(path, "/layers/0/parameters");
    FirstProblem(
        R"({"name": "x", "layers": [{"name": "a", "parameters": 1, "flops": 1}, {"name": "a", "parameters": 1, "flops": 1}]})",
        &path);
    EXPECT_EQ(path, "/layers/1/name");
    FirstProblem(R"({"name": "x", "layers": [{"parameters": 0, "flops": 1}]})", &path);
    EXPECT_EQ(path, "/layers");
    FirstProblem(R"({"name": "x", "layers": []})", &path);
    EXPECT_EQ(path, "/layers");
    FirstProblem(R"({"name": "x"})", &path);
    EXPECT_EQ(path, "/layers");
    FirstProblem(R"([1])", &path);
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["conv", 4, 9, 1, 0]]}]})",
                 &path);
    EXPECT_EQ(path, "/layers/0/ops/0");
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["linea", 4]]}]})", &path);
    EXPECT_EQ(path, "/layers/0/ops/0");
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["conv", 4, 3, 0, 0]]}]})",
                 &path);
    EXPECT_EQ(path, "/layers/0/ops/0");
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["relu"], ["conv", 4, [3, 3, 3],
                     1, 0]]}]})",
                 &path);
    EXPECT_EQ(path, "/layers/0/ops/1");
    EXPECT_NE(FirstProblem(R"({"name": "x", "image": 8, "channels": 6, "layers": [{"ops":
                     [["conv", 8, 3, 1, 1, 4]]}]})")
                  .find("has 4 groups, which do not divide its 6 and 8 channels"),
              std::string::npos);
    EXPECT_NE(FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [{"concat":
                     [[["conv", 4, 1, 1, 0]], [["conv", 4, 3, 1, 0]]]}]}]})",
                           &path)
                  .find("concat/1: is 6 x 6, the first branch 8 x 8"),
              std::string::npos);
    EXPECT_EQ(path, "/layers/0/ops/0");
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["avgpool", 2]]}]})", &path);
    EXPECT_EQ(path, "/layers/0/ops/0");
    FirstProblem(R"({"name": "x", "image": 8, "layers": [{"ops": [["bn"]], "shortcut": []}]})",
                 &path);
    EXPECT_EQ(path, "/layers/0/shortcut");
    FirstProblem(R"({"name": "x", "input": 8, "layers": [{"ops": [["bn"]], "first": 3}]})", &path);
    EXPECT_EQ(path, "/layers/0/first");
    FirstProblem(R"({"name": "x", "input": 0, "layers": [{"ops": [["linear", 3]]}]})", &path);
    EXPECT_EQ(path, "/input");
    const auto experts = [&path](const std::string& members) {
        FirstProblem(R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, )" +
                         members + "}",
                     &path);
        return path;
    };
    EXPECT_EQ(experts(R"("experts": {"count": 4, "top_k": 5, "ffn": 8})"), "/experts/top_k");
    EXPECT_EQ(experts(R"("experts": {"count": 4, "top_k": 2})"), "/experts/ffn");
    EXPECT_EQ(experts(R"("ffn": 9, "experts": {"count": 4, "top_k": 2, "ffn": 8})"), "/ffn");
    EXPECT_EQ(experts(R"("experts": {"count": 4, "top_k": 2, "ffn": 8, "shared": 1})"),
              "/experts/shared");
    EXPECT_EQ(experts(R"("latent_attention": {"kv_rank": 4})"), "/latent_attention/plain");
    EXPECT_EQ(experts(R"("kv_heads": 2, "latent_attention": {"kv_rank": 4, "plain": 2, "rotary": 2,
                         "value": 2})"),
              "/kv_heads");
    EXPECT_EQ(experts(R"("encoder_layers": 2, "experts": {"count": 4, "top_k": 2, "ffn": 8})"),
              "/encoder_layers");
    EXPECT_EQ(experts(R"("target_sequence": 7)"), "/target_sequence"); // no encoder
    FirstProblem(R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "image": 9, "patch": 2})",
                 &path);
    EXPECT_EQ(path, "/patch");
    FirstProblem(
        R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, "parameters_published": 7})",
        &path);
    EXPECT_EQ(path, "/parameters_published");
    FirstProblem(
        R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, "norm": "batch"})",
        &path);
    EXPECT_EQ(path, "/norm");
}
