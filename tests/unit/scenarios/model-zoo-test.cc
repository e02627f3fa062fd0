/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/models/model-zoo.h"

#include <gtest/gtest.h>
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

// Published counts: Hugging Face model cards and configs (BLOOM, GPT-2, Llama, BERT), torchvision
// (ResNet-50, VGG-16), the benchmark table of mosaicml/llm-foundry@8c8dd48 (MPT, 2,048 positions).
TEST(ModelZoo, CountsEqualPublishedOnes)
{
    const std::map<std::string, uint64_t> published = {
        {"bloom-560m", 559214592},   {"bloom-1b1", 1065314304},
        {"bloom-1b7", 1722408960},   {"bloom-3b", 3002557440},
        {"bloom-7b1", 7069016064},   {"bloom-176b", 176247271424},
        {"gpt2", 124439808},         {"gpt2-medium", 354823168},
        {"gpt2-large", 774030080},   {"gpt2-xl", 1557611200},
        {"llama2-7b", 6738415616},   {"llama2-13b", 13015864320},
        {"llama2-70b", 68976648192}, {"llama3-8b", 8030261248},
        {"llama3-70b", 70553706496}, {"llama3-405b", 405853388800},
        {"bert-large", 335141888},   {"bert-large-pretraining", 336226108},
        {"resnet-50", 25557032},     {"vgg-16", 138357544},
        {"mpt-125m", 125311488},     {"mpt-350m", 355985408},
        {"mpt-760m", 760470528},     {"mpt-1b", 1315950592},
        {"mpt-3b", 2651837440},      {"mpt-7b", 6658859008},
        {"mpt-13b", 12853954560},    {"mpt-30b", 29975214080},
        {"mpt-70b", 64862437376},
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

// torchvision's model table: 4.09 and 15.47 GMAC at 224 x 224.
TEST(ModelZoo, FlopsOfPictures)
{
    EXPECT_NEAR(Model("resnet-50").ForwardFlops(1, 1) / 2e9, 4.09, 0.005);
    EXPECT_NEAR(Model("vgg-16").ForwardFlops(1, 1) / 2e9, 15.47, 0.005);
    // By hand: the first convolution of ResNet-50 is 64 x 3 x 7 x 7 weights on 112 x 112 positions:
    // 9,408 x 12,544 = 118,013,952 MAC.
    EXPECT_DOUBLE_EQ(Model("resnet-50").layers[0].Flops().sample, 2 * 118013952.0);
    EXPECT_EQ(Model("resnet-50").layers.size(), 18u); // stem, 16 blocks, fc
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
    FirstProblem(
        R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, "parameters_published": 7})",
        &path);
    EXPECT_EQ(path, "/parameters_published");
    FirstProblem(
        R"({"name": "x", "layers": 2, "hidden": 8, "heads": 2, "vocab": 5, "norm": "batch"})",
        &path);
    EXPECT_EQ(path, "/norm");
}
