/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * mix.json and its mistakes, and the options.
 */
#include "scenarios/multiplex/mix.h"
#include "scenarios/multiplex/options/multiplex-options.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace multiplex;

namespace
{

Mix
MixOf(const std::string& models, std::vector<topo::Error>& errors)
{
    CurveSources sources;
    sources.gpu = *training::FindGpu("V100");
    return ParseMix("{\"models\": [" + models + "]}", "mix.json", 2, &sources, errors);
}

/// The first error, as it is printed.
std::string
MistakeOf(const std::string& models)
{
    std::vector<topo::Error> errors;
    MixOf(models, errors);
    return errors.empty() ? "" : errors.front().Sentence();
}

std::string
OptionMistake(const std::string& options)
{
    std::istringstream in("dlserve " + options);
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
    const auto& table = scenario::MultiplexOptionTable();
    const auto result =
        scenario::ValidateMultiplex(table,
                                    scenario::ReadOptions(table, int(argv.size()), argv.data()));
    return result.errors.empty() ? "" : result.errors.front().Text();
}

} // namespace

TEST(MultiplexMix, IsRead)
{
    std::vector<topo::Error> errors;
    const Mix mix = MixOf(R"({"model": "resnet-50", "rate": "poisson:150", "slo": "50ms"},
        {"model": "alexnet", "name": "b", "rate": 20, "slo": "20ms", "batch": 4, "share": "40%",
         "gpu": 1, "weight": 3},
        {"model": "vgg19", "rate": "uniform:10", "slo": "1s", "share": "2/7", "max_batch": 8})",
                          errors);
    ASSERT_TRUE(errors.empty()) << errors.front().Sentence();
    ASSERT_EQ(mix.models.size(), 3U);
    EXPECT_EQ(mix.models[0].rate, 150);
    EXPECT_TRUE(mix.models[0].poisson);
    EXPECT_EQ(mix.models[0].served.curve->Kind(), "fitted");
    EXPECT_EQ(mix.models[0].mostBatch, 32U);
    EXPECT_EQ(mix.models[1].name, "b");
    EXPECT_EQ(mix.models[1].batch, 4U);
    EXPECT_EQ(mix.models[1].percent, 40);
    EXPECT_EQ(mix.models[1].gpu, 1U);
    EXPECT_EQ(mix.models[1].weight, 3U);
    EXPECT_FALSE(mix.models[2].poisson);
    EXPECT_NEAR(mix.models[2].percent, 200. / 7, 1e-12);
    EXPECT_EQ(mix.models[2].mostBatch, 8U);
}

TEST(MultiplexMix, MistakesSayWhatIsAllowed)
{
    const auto with = [](const std::string& more) {
        return R"({"model": "resnet-50", "rate": 10, "slo": "50ms")" + more + "}";
    };
    EXPECT_EQ(MistakeOf(with("")), "");
    for (const auto& [models, path, words] :
         std::vector<std::tuple<std::string, std::string, std::string>>{
             {with(R"(, "share": "0%")"), "/models/0/share", "1% to 100%"},
             {with(R"(, "name": ")" + std::string(201, 'x') + "\""),
              "/models/0/name",
              "at most 200 characters"},
             {with(R"(, "name": "a\tb")"), "/models/0/name", "without control characters"},
             {with(R"(, "share": 120)"), "/models/0/share", "1% to 100%"},
             {with(R"(, "share": "half")"), "/models/0/share", "1% to 100%"},
             {with(R"(, "batch": 0)"), "/models/0/batch", "1 to 4096"},
             {with(R"(, "gpu": 2)"), "/models/0/gpu", "1"},
             {with(R"(, "shares": 1)"), "/models/0", "share"},
             {with(R"(, "curve": "kernel")"), "/models/0/curve", "did you mean kernels?"},
             {with(R"(, "curve": "table")"), "/models/0/model", "--curves"},
             {R"({"model": "resnet-5", "rate": 1, "slo": "1s"})", "/models/0/model", "resnet-50"},
             {R"({"model": "resnet-50", "rate": 0, "slo": "1s"})", "/models/0/rate", "above 0"},
             {R"({"model": "resnet-50", "rate": "gamma:3", "slo": "1s"})",
              "/models/0/rate",
              "poisson:150"},
             {R"({"model": "resnet-50", "slo": "1s"})", "/models/0/rate", "missing"},
             {R"({"model": "resnet-50", "rate": 1, "slo": 50})", "/models/0/slo", ""},
             {R"({"model": "resnet-50", "rate": 1, "slo": "2ms"})", "/models/0/slo", "2.31 ms"},
             {with("") + "," + with(""), "/models/1", "name"},
         })
    {
        const std::string text = MistakeOf(models);
        EXPECT_NE(text.find("mix.json: " + path), std::string::npos) << text;
        EXPECT_NE(text.find(words), std::string::npos) << text;
    }
    EXPECT_NE(MistakeOf(""), ""); // no models
}

TEST(MultiplexMix, Shares)
{
    EXPECT_EQ(ParseShare("40%"), 40);
    EXPECT_EQ(ParseShare("12.5"), 12.5);
    EXPECT_NEAR(*ParseShare("3g"), 300. / 7, 1e-12);
    EXPECT_NEAR(*ParseShare("7/7"), 100, 1e-12);
    for (const char* const bad : {"", "%", "0", "-1", "101", "8/7", "9g", "4 0", "x", "1e9"})
    {
        EXPECT_FALSE(ParseShare(bad)) << bad;
    }
}

TEST(MultiplexMix, OptionMistakes)
{
    const std::string mix = testing::TempDir() + "multiplex-mix-test.json";
    std::ofstream(mix) << R"({"models": [{"model": "resnet-50", "rate": 10, "slo": "50ms",
        "share": "40%"}]})";
    const std::string run = "--multiplex=" + mix + " ";
    EXPECT_EQ(OptionMistake(run), "");
    EXPECT_EQ(OptionMistake("--share-curve"), "");
    for (const auto& [options, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "--multiplex=FILE.json"},
             {run + "--share-curve", "cannot be combined"},
             {run + "--policy=dstak", "dstack"},
             {run + "--policy=mig", "3/7"},
             {run + "--policy=gpulet --gpus=0", "1 to 1000"},
             {run + "--sweep-rate=10", "10..200"},
             {run + "--sweep-rate=0..5", "10..200"},
             {run + "--duration=0s", "1ms"},
             {run + "--gpu=V10", "V100"},
             {"--share-curve --model=resnet-51", "resnet-50"},
             {"--share-curve --batch=0", "1 to 4096"},
             {"--share-curve --gpu=A100 --curve=fitted --model=alexnet", "--gpu=V100"},
             {"--compare=/nowhere.csv", "/nowhere.csv"},
         })
    {
        const std::string text = OptionMistake(options);
        EXPECT_NE(text.find(words), std::string::npos) << options << ": " << text;
    }
}
