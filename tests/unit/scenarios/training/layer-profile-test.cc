/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Profiles of layers: PipeDream's own, scaled and joined, and what is no profile.
 */
#include "scenarios/training/spec/layer-profile.h"
#include "scenarios/training/spec/profile-shape.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/vgg16-profile.h"

#include <gtest/gtest.h>

using namespace training;

namespace
{

std::string
Sentences(const std::vector<topo::Error>& errors)
{
    std::string all;
    for (const auto& error : errors)
    {
        all += error.Sentence() + '\n';
    }
    return all;
}

std::string
CsvError(const std::string& text, const std::string& model = "")
{
    std::vector<topo::Error> errors;
    const bool read = ParseProfileCsv(text, "f.csv", model, errors).has_value();
    EXPECT_EQ(read, errors.empty());
    return Sentences(errors);
}

std::string
JsonError(const std::string& text)
{
    std::vector<topo::Error> errors;
    const bool read = ParseProfileJson(nlohmann::json::parse(text), "f.json", errors).has_value();
    EXPECT_EQ(read, errors.empty());
    return Sentences(errors);
}

bool
Has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

// Names go into tables and onto terminals.
TEST(LayerProfile, NamesHaveNoControlCharacters)
{
    const std::string head = "op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes\n";
    for (const std::string name : {"a\tb", "\x1b[31ma", "a\x7f", "a\xc2\x9b"})
    {
        const std::string error = CsvError(head + name + ",1,2,3,4\n");
        EXPECT_TRUE(Has(error, "UTF-8 without control characters")) << error;
        EXPECT_FALSE(Has(error, "\x1b")) << error;
    }
    EXPECT_EQ(CsvError(head + "\xc3\xa4,1,2,3,4\n"), "") << "a letter";
}

// Sums as pipedream_profile_summary.json of the reference has them: 251.87 and 438.63 ms, of which
// 17.972 are the input's, which is no layer; 138,357,544 parameters of 4 bytes. FLOPs of a forward
// pass: 15.47 GMAC a sample, the sum over VGG-16's convolutions (13) and products (3) of outputs x
// inputs of each.
TEST(LayerProfile, CsvOfPipeDream)
{
    const LayerProfile profile = Vgg16();
    ASSERT_EQ(profile.layers.size(), 40U);
    ProfiledLayer sum;
    for (const auto& layer : profile.layers)
    {
        sum.forwardSeconds += layer.forwardSeconds;
        sum.backwardSeconds += layer.backwardSeconds;
        sum.parameterBytes += layer.parameterBytes;
        sum.forwardFlops += layer.forwardFlops;
    }
    EXPECT_NEAR(sum.forwardSeconds, 0.25187 - 0.017972, 1e-5);
    EXPECT_NEAR(sum.backwardSeconds, 0.43863, 1e-5);
    EXPECT_EQ(sum.parameterBytes, 4 * 138357544.0);
    double macs = 0;
    const uint32_t channels[] = {3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512};
    const uint32_t sides[] = {224, 224, 112, 112, 56, 56, 56, 28, 28, 28, 14, 14, 14};
    for (size_t i = 0; i < 13; ++i)
    {
        macs += 9.0 * channels[i] * channels[i + 1] * sides[i] * sides[i];
    }
    macs += 25088.0 * 4096 + 4096.0 * 4096 + 4096.0 * 1000;
    EXPECT_NEAR(sum.forwardFlops, 2 * 128 * macs, 1);
    EXPECT_EQ(profile.layers[0].name.substr(0, 13), "Conv2d(3, 64,");
}

TEST(LayerProfile, NarrowCuts)
{
    // conv, relu, pool, wide, a view, fc, head: seconds, activations, parameters
    const std::vector<PartitionLayer> layers =
        {{3, 100, 8}, {2, 100, 0}, {2, 50, 0}, {2, 70, 4}, {0, 4, 0}, {5, 20, 16}, {2, 30, 2}};
    EXPECT_EQ(NarrowGroups(layers), (std::vector<uint32_t>{1, 2, 3, 1}));
    EXPECT_TRUE(NarrowGroups({}).empty());
}

TEST(LayerProfile, CsvErrors)
{
    const std::string head = "op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes\n";
    EXPECT_EQ(CsvError(head + "a,1,2,3,4\n\n\"b, c\",1e1,0,0,0\r\n"), "");
    EXPECT_TRUE(Has(CsvError(""), "f.csv: has no layers"));
    EXPECT_TRUE(Has(CsvError(head), "has no layers"));
    EXPECT_TRUE(Has(CsvError("op,fwd_ms\n"),
                    "f.csv:1: the columns bwd_ms, activation_bytes, "
                    "parameter_bytes are missing"));
    EXPECT_TRUE(Has(CsvError("fwd_ms,activation_bytes,parameter_bytes\n"),
                    "f.csv:1: the column bwd_ms is missing"));
    for (const std::string& name : {std::string("a\0b", 3), std::string("a\xff")})
    {
        EXPECT_TRUE(Has(CsvError(head + name + ",1,2,3,4\n"), "UTF-8 without control characters"));
    }
    EXPECT_TRUE(Has(CsvError(head + "\"Linear(in_features=-5, out_features=3)\",1,2,3,4\n"),
                    "has a size below 0 (op)"));
    EXPECT_EQ(CsvError(head + "\"Linear(in_features=5, out_features=3)\",1,2,3,4\na-1,1,2,3,4\n"),
              "");
    EXPECT_TRUE(Has(CsvError("op,op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes\n"),
                    "names two columns"));
    EXPECT_TRUE(Has(CsvError(head + "a,1,2,3\n"), "f.csv:2: 4 fields where the first line has 5"));
    for (const char* bad : {"-1", "x", "1x", "", "nan", "inf", "1e7", "0x10"})
    {
        EXPECT_TRUE(
            Has(CsvError(head + "a," + bad + ",2,3,4\n"), "is not a number from 0 to 1e+06"))
            << bad;
    }
    EXPECT_TRUE(Has(CsvError(head + "\"a,1,2,3,4\n"), "a quote is not closed"));
    const std::string two = "model," + head + "m,a,1,2,3,4\nn,b,1,2,3,4\n";
    EXPECT_TRUE(
        Has(CsvError(two), "has several models; --profile-model says which; allowed: m or n"));
    EXPECT_EQ(CsvError(two, "n"), "");
    EXPECT_TRUE(Has(CsvError(two, "o"),
                    "has no layers of \"o\", which --profile-model says; allowed: m or n"));
    EXPECT_TRUE(Has(CsvError(head + "a,1,2,3,4\n", "m"), "has no column model"));
}

TEST(LayerProfile, Json)
{
    std::vector<topo::Error> errors;
    const auto profile =
        ParseProfileJson(nlohmann::json::parse(R"({"note": "x", "optimizer_us": 5, "layers": [
            {"name": "a", "forward_us": 1, "backward_us": 2, "activation_bytes": 3,
             "parameter_bytes": 4, "forward_flops": 5},
            {"forward_us": 1, "backward_us": 2}]})"),
                         "f.json",
                         errors);
    ASSERT_TRUE(profile) << Sentences(errors);
    ASSERT_EQ(profile->layers.size(), 2U);
    EXPECT_EQ(profile->layers[0].name, "a");
    EXPECT_DOUBLE_EQ(profile->layers[0].backwardSeconds, 2e-6);
    EXPECT_EQ(profile->layers[0].activationBytes, 3);
    EXPECT_EQ(profile->layers[0].parameterBytes, 4);
    EXPECT_EQ(profile->layers[0].forwardFlops, 5);
    EXPECT_EQ(profile->layers[1].activationBytes, 0);
    EXPECT_DOUBLE_EQ(profile->optimizerSeconds.value_or(0), 5e-6);

    EXPECT_NE(JsonError("{}"), "");
    EXPECT_TRUE(Has(JsonError(R"({"layers": []})"), "must be a list of layers in order"));
    EXPECT_EQ(JsonError(R"({"layers": {"a": {"forward_us": 1, "backward_us": 2}}})"), "");
    EXPECT_TRUE(Has(JsonError(R"({"batch": 0, "layers": [{"forward_us": 1, "backward_us": 2}]})"),
                    "/batch"));
    EXPECT_TRUE(Has(JsonError(R"({"layers": [{"forward_us": 1}]})"), "backward_us"));
    EXPECT_TRUE(Has(JsonError(R"({"layers": [{"forward_us": -1, "backward_us": 2}]})"),
                    "/layers/0/forward_us"));
    EXPECT_TRUE(
        Has(JsonError(R"({"layers": [{"forward_us": 1, "backward_us": 2, "x": 1}]})"), "x"));
    EXPECT_NE(JsonError("[]"), "");
    // Parameters are whole elements, of 4 bytes unless the file says how many they have.
    const std::string five =
        R"("layers": [{"forward_us": 1, "backward_us": 2, "parameter_bytes": 6}]})";
    EXPECT_TRUE(Has(JsonError("{" + five), "/layers/0/parameter_bytes"));
    EXPECT_TRUE(Has(JsonError("{" + five), "no whole number of elements of 4 bytes"));
    EXPECT_EQ(JsonError(R"({"element_bytes": 2, )" + five), "");
    EXPECT_TRUE(Has(CsvError("op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes\na,1,2,3,6\n"),
                    "no whole number of elements of 4 bytes (parameter_bytes)"));
}

// What times were measured with is what runs, or an error names it; nothing is scaled.
TEST(LayerProfile, Shape)
{
    const auto read = [](const std::string& members) {
        return nlohmann::json::parse("{" + members +
                                     R"("layers": {"*": {"forward_us": 1, "backward_us": 2}}})");
    };
    auto o = OptionsOf("gpt2", 8, 0);
    o.microBatch = 3;
    const auto errors = [&](const std::string& members) {
        return Sentences(CheckProfileShape(ShapeOfProfile(read(members)), "f.json", o));
    };
    std::vector<topo::Error> none;
    o.profile = ParseProfileJson(read(R"("tp": 2, "cp": 2, "seq": 512, "micro_batch": 3, )"),
                                 "f.json",
                                 none);
    ASSERT_TRUE(o.profile) << Sentences(none);
    EXPECT_EQ(o.profile->batch, 3u); // a pass is of a micro-batch: a factor of 1
    EXPECT_EQ(errors(""), "");
    EXPECT_TRUE(Has(errors(R"("tp": 2, )"), "f.json: /tp"));
    EXPECT_TRUE(Has(errors(R"("tp": 2, )"), "allowed: --tp=2, or times of a GPU's share"));
    EXPECT_TRUE(Has(errors(R"("cp": 4, )"), "/cp"));
    EXPECT_TRUE(Has(errors(R"("seq": 512, )"), "/seq"));
    EXPECT_EQ(errors(R"("seq": 1024, "micro_batch": 3, "tp": 1, "cp": 1, )"), "");
    EXPECT_TRUE(Has(errors(R"("micro_batch": 4, )"), "allowed: --micro-batch=4"));
    const auto note = [&](const std::string& members) {
        return NoteOfProfileShape(ShapeOfProfile(read(members)), o);
    };
    EXPECT_EQ(note(""), "");
    o.tensor = 2;
    o.context = 2;
    o.sequence = 512;
    EXPECT_EQ(errors(R"("tp": 2, "cp": 2, "seq": 512, )"), "");
    EXPECT_EQ(note(R"("tp": 2, "cp": 2, "seq": 512, )"), "");
    EXPECT_TRUE(Has(note(""), "a GPU's share with --tp=2, --cp=2, --seq=512 "));
    o.profile->batch = 0;
    EXPECT_TRUE(Has(note(R"("tp": 2, "seq": 512, )"), "share with --cp=2, --micro-batch=3 "));
    o = OptionsOf("resnet-50", 8, 0);
    EXPECT_TRUE(Has(errors(R"("seq": 1, )"), "has no sequences"));
    // What a tensor group cannot share out is no share of one.
    EXPECT_TRUE(Has(errors(R"("tp": 2, )"), "allowed: 1, or --model with a transformer"));
    EXPECT_EQ(errors(R"("tp": 1, "cp": 1, )"), "");
    for (const char* bad :
         {R"({"tp": 0, )", R"({"seq": 1.5, )", R"({"batch": 1, "micro_batch": 1, )"})
    {
        EXPECT_NE(JsonError(bad + std::string(
                                      R"("layers": {"*": {"forward_us": 1, "backward_us": 2}}})")),
                  "");
    }
}

// A profile in order is of one model: with a model beside it, of that.
TEST(LayerProfile, InOrder)
{
    LayerProfile profile;
    profile.batch = 8;
    profile.elementBytes = 2;
    profile.layers = {{"fc", 4, 8, 160, 70, 800},
                      {"relu", 1, 1, 160, 0, 0},
                      {"fc", 2, 3, 32, 20, 0},
                      {"", 1, 2, 16, 2, 0}};
    const ModelSpec model = ModelOfProfile(profile, "net");
    EXPECT_EQ(model.name, "net");
    EXPECT_EQ(model.parameters, 35U + 10 + 1);
    EXPECT_FALSE(model.hasSequence);
    std::vector<std::string> names;
    for (const LayerSpec& layer : model.layers)
    {
        names.push_back(layer.name);
        EXPECT_NE(profile.Find(layer.name), nullptr);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"fc", "relu", "fc 2", "layer 3"}));
    // Elements a sample: 160 / 2 / 8.
    EXPECT_EQ(model.layers[0].output.sample, 10);
    EXPECT_EQ(model.layers[0].Flops().sample, 100);
    EXPECT_TRUE(CheckProfile(profile, model).empty());
    profile.layers[2].name = "fc 3";
    const auto problems = CheckProfile(profile, model);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].error);
    EXPECT_TRUE(Has(problems[0].text, "layer 2 is \"fc 3\" where net has \"fc 2\""));
    EXPECT_EQ(profile.Find("fc *"), nullptr);
}

TEST(LayerProfile, PatternsAndErrors)
{
    std::vector<topo::Error> errors;
    const auto profile = ParseProfileJson(nlohmann::json::parse(R"({"optimizer_us": 7, "layers": {
        "block *": {"forward_us": 10, "backward_us": 20}, "block 1*": {"forward_us": 1, "backward_us": 2},
        "block 12": {"forward_us": 3, "backward_us": 4}, "nothing": {"forward_us": 3, "backward_us": 4}}})"),
                                          "x.json",
                                          errors);
    ASSERT_TRUE(profile);
    EXPECT_TRUE(errors.empty());
    EXPECT_DOUBLE_EQ(profile->Find("block 2")->forwardSeconds, 10e-6);
    EXPECT_DOUBLE_EQ(profile->Find("block 11")->forwardSeconds, 1e-6);
    EXPECT_DOUBLE_EQ(profile->Find("block 12")->backwardSeconds, 4e-6);
    EXPECT_EQ(profile->Find("head"), nullptr);
    EXPECT_DOUBLE_EQ(*profile->optimizerSeconds, 7e-6);

    const auto warnings = CheckProfile(
        *profile,
        *FindModel("gpt2")); // "nothing" and "block 12" fit nothing; embedding, head not measured
    ASSERT_EQ(warnings.size(), 3u);
    for (const auto& w : warnings)
    {
        EXPECT_FALSE(w.error);
    }

    // One of which nothing is taken is another model's.
    LayerProfile other;
    other.inOrder = false;
    other.layers = {profile->layers.front()};
    other.layers[0].name = "blok *";
    const auto problems = CheckProfile(other, *FindModel("gpt2"));
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_TRUE(problems[1].error);
    EXPECT_EQ(AboutOf(problems[1]), "profile");
    EXPECT_TRUE(Has(problems[1].text, "names such as \"embedding\""));

    for (const auto& [text, path] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"({"layers": {"a": {"forward_us": 1}}})", "/layers/a/backward_us"},
             {R"({"layers": {"a": {"forward_us": -1, "backward_us": 1}}})", "/layers/a/forward_us"},
             {R"({"layers": {"a": {"forward": 1, "backward_us": 1, "forward_us": 1}}})",
              "/layers/a/forward"},
             {R"({"layers": []})", "/layers"},
             {R"({})", "/layers"}})
    {
        errors.clear();
        EXPECT_FALSE(ParseProfileJson(nlohmann::json::parse(text), "x.json", errors)) << text;
        ASSERT_FALSE(errors.empty()) << text;
        EXPECT_EQ(errors[0].where, path) << text;
    }
}
