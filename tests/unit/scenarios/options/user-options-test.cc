/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What users type: names in any spelling, servers that bring what they are sold with, options of
 * other software, values that would mean something else than they say.
 */
#include "collectives/core/registry.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/startup/parse.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/options/micro-batch.h"
#include "tests/unit/full.h"
#include "tests/unit/scenarios/parse-words.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <unistd.h>

using namespace scenario;

namespace
{

std::vector<const OptionTable*>
Tables()
{
    return {&TrainingOptionTable(),
            &CollperfOptionTable(),
            &TrafficOptionTable(),
            &ServingOptionTable()};
}

template <class T>
ParseResult<T>
Parse(ParseResult<T> (*parse)(int, const char* const*), std::vector<std::string> args)
{
    args.push_back("--dry-run");
    std::vector<const char*> argv{"program"};
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return parse(static_cast<int>(argv.size()), argv.data());
}

ParseResult<TrainingScenario>
Train(const std::vector<std::string>& args)
{
    return Parse(ParseAs<TrainingScenario>, args);
}

ParseResult<CollperfScenario>
Perf(const std::vector<std::string>& args)
{
    return Parse(ParseAs<CollperfScenario>, args);
}

template <class T>
std::string
ErrorOf(const ParseResult<T>& result)
{
    std::string all;
    for (const auto& e : result.errors)
    {
        all += (all.empty() ? "" : "\n") + e.Text();
    }
    EXPECT_EQ(result.errors.size(), 1u) << all;
    EXPECT_FALSE(result.scenario);
    return all;
}

/// Contains, for messages.
void
ExpectIn(const std::string& text, const std::vector<std::string>& words)
{
    for (const auto& word : words)
    {
        EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in: " << text;
    }
}

/// Ways to write a name in which its letters, digits and dots are the same.
std::vector<std::string>
Spellings(const std::string& name)
{
    std::vector<std::string> all;
    const auto cased = [](std::string s, int (*to)(int)) {
        for (char& c : s)
        {
            c = static_cast<char>(to(static_cast<unsigned char>(c)));
        }
        return s;
    };
    for (const std::string& s : {name, cased(name, std::toupper), cased(name, std::tolower)})
    {
        all.push_back(s);
        for (const std::string& to :
             {std::string(), std::string("-"), std::string("_"), std::string(" ")})
        {
            std::string other;
            for (const char c : s)
            {
                other += c == '-' || c == '_' || c == ' ' ? to : std::string(1, c);
            }
            all.push_back(other);
        }
    }
    return all;
}

/// A file of this test's own that goes away with it.
class TemporaryFile
{
  public:
    explicit TemporaryFile(const std::string& text)
        : m_path(std::filesystem::temp_directory_path() /
                 ("dltrain-user-options-" + std::to_string(::getpid()) + ".json"))
    {
        std::ofstream(m_path) << text;
    }

    ~TemporaryFile()
    {
        std::filesystem::remove(m_path);
    }

    std::string Path() const
    {
        return m_path.string();
    }

  private:
    std::filesystem::path m_path;
};

} // namespace

// ------------------------------------------------------------------------------------- names

TEST(EveryName, NoTwoOfAListFoldAlike)
{
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            std::map<std::string, std::string> seen;
            for (const auto& item : o.names ? o.names() : std::vector<NamedItem>())
            {
                const auto [it, fresh] = seen.emplace(topo::FoldedName(item.name), item.name);
                EXPECT_TRUE(fresh) << table->program << " --" << o.name << ": " << item.name
                                   << " and " << it->second;
            }
        }
    }
    for (const auto& spellings : {training::ModelSpellings(), training::GpuSpellings()})
    {
        std::map<std::string, std::string> seen; // spellings of one and the same thing may
        for (const auto& [spelling, name] : spellings)
        {
            const auto [it, fresh] = seen.emplace(topo::FoldedName(spelling), name);
            EXPECT_TRUE(fresh || it->second == name)
                << spelling << ": " << name << " and " << it->second;
        }
    }
    std::set<std::string> folded;
    for (const coll::Op op : coll::AllOps())
    {
        EXPECT_TRUE(folded.insert(topo::FoldedName(coll::OpName(op))).second);
    }
}

TEST(EveryName, IsFoundInEverySpellingAndNoOtherIs)
{
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            for (const auto& item : o.names ? o.names() : std::vector<NamedItem>())
            {
                for (const auto& spelling : Spellings(item.name))
                {
                    EXPECT_EQ(NameMeant(o, spelling), item.name)
                        << table->program << " --" << o.name << "=" << spelling;
                }
                // Without a dot it is another name, or none.
                std::string dotless = item.name;
                dotless.erase(std::remove(dotless.begin(), dotless.end(), '.'), dotless.end());
                if (dotless != item.name)
                {
                    for (const auto& spelling : Spellings(dotless))
                    {
                        EXPECT_NE(NameMeant(o, spelling), item.name)
                            << "--" << o.name << "=" << spelling;
                    }
                }
            }
        }
    }
    for (const auto& [spelling, name] : training::ModelSpellings())
    {
        for (const auto& other : Spellings(spelling))
        {
            EXPECT_EQ(training::FindModel(other)->name, name) << other;
        }
    }
    for (const auto& [spelling, name] : training::GpuSpellings())
    {
        for (const auto& other : Spellings(spelling))
        {
            EXPECT_EQ(training::FindGpu(other)->name, name) << other;
        }
    }
}

TEST(EveryName, ADotTellsModelsApart)
{
    // Brown et al. 2020, table 2.1: 1.3 and 13 billion parameters.
    for (const char* name : {"gpt3-13b", "GPT3-13B", "gpt3-13B", "gpt3_13b", "gpt313b", "Gpt3 13b"})
    {
        EXPECT_EQ(Train({std::string("--model=") + name, "--ignore-memory"}).scenario->model,
                  "gpt3-13b")
            << name;
    }
    for (const char* name : {"gpt3-1.3b", "GPT3_1.3B", "gpt31.3b"})
    {
        EXPECT_EQ(Train({std::string("--model=") + name, "--ignore-memory"}).scenario->model,
                  "gpt3-1.3b")
            << name;
    }
    ExpectIn(ErrorOf(Train({"--model=gpt3-67b"})),
             {"--model=gpt3-67b: unknown model", "did you mean 'gpt3-6.7b'?"});
    // With a dot it could be a file; there is none, so the nearest name helps as well.
    ExpectIn(ErrorOf(Train({"--model=gpt3-1.4b"})),
             {"--model=gpt3-1.4b: cannot be read", "did you mean 'gpt3-1.3b'?"});
}

TEST(EveryName, OneThatFitsTwoNamesBoth)
{
    const Option o = Opt("cc", Kind::kName, "/fabric", "Fabric", "")
                         .Names("algorithm", {{"a-bc", ""}, {"ab-c", ""}, {"abd", ""}});
    Value value;
    Error error;
    EXPECT_FALSE(ParseValue(o, "ABC", "--cc", &value, &error));
    EXPECT_EQ(error.Text(),
              "--cc=ABC: may mean a-bc or ab-c; allowed: either, spelt as it stands there");
    EXPECT_EQ(NameMeant(o, "abc"), "");
    EXPECT_TRUE(ParseValue(o, "ab-c", "--cc", &value, &error)); // exactly one of them
    EXPECT_EQ(value.text, "ab-c");
    EXPECT_EQ(NameMeant(o, "AB_D"), "abd");
}

// ----------------------------------------------------------------------------------- servers

TEST(NamedServer, BringsItsGpusItsNicsAndTheirRate)
{
    CaseShare share(259, 8);
    for (const auto& preset : topo::ServerPresets())
    {
        for (const bool infiniBand : {false, true})
        {
            if (!share.Takes())
            {
                continue;
            }
            std::vector<std::string> args{"--server=" + preset.name, "--servers=4"};
            if (infiniBand)
            {
                args.push_back("--fabric=ib");
                if (4 * preset.nics > 254)
                {
                    args.push_back("--topology=fat-tree"); // more ports than a switch has
                }
            }
            const std::string what = preset.name + (infiniBand ? " ib" : "");
            const auto perf = Perf(args);
            if (infiniBand && preset.nicRate.bps < 100000000000)
            {
                // InfiniBand has no 10, 25 or 50 Gb/s of data.
                EXPECT_FALSE(perf.scenario) << what;
                ExpectIn(ErrorOf(perf), {"of which there is none; give --nic"});
                continue;
            }
            ASSERT_TRUE(perf.scenario) << what << ErrorOf(perf);
            const auto& p = *perf.scenario;
            EXPECT_EQ(p.ranks, 4 * preset.gpus) << what;
            EXPECT_EQ(p.cluster.server.nics, preset.nics) << what;
            EXPECT_EQ(p.fabric.nicRate, preset.nicRate) << what;
            EXPECT_EQ(p.fabric.infiniBand, infiniBand) << what;
            EXPECT_EQ(p.cluster.topology.Endpoints().size(), 4 * preset.nics) << what;
            const std::string family = preset.gpu.substr(0, preset.gpu.find('-'));
            const bool old = family == "K80" || family == "TitanX"; // no 16 bits
            args.push_back(old                                    ? "--dtype=fp32"
                           : family == "P100" || family == "V100" ? "--dtype=fp16"
                                                                  : "--dtype=bf16");
            args.push_back("--ignore-memory"); // the default model is large for 12 GiB
            const auto train = Train(args);
            ASSERT_TRUE(train.scenario) << what << ErrorOf(train);
            const auto& t = *train.scenario;
            EXPECT_EQ(t.gpu, preset.gpu) << what;
            EXPECT_EQ(t.cluster.server.gpus, preset.gpus) << what;
            EXPECT_EQ(t.cluster.server.nics, preset.nics) << what;
            EXPECT_EQ(t.fabric.nicRate, preset.nicRate) << what;
            ExpectIn(
                PlanText(t),
                {"4 x " + preset.name + " with " + std::to_string(preset.gpus) + " x " + preset.gpu,
                 topo::Counted(preset.nics, "NIC") + " of " + rdma::ToString(preset.nicRate)});
            // The configuration as run says it all, and is the same run.
            const auto again = ValidateTraining(
                ReadScenarioText(TrainingOptionTable(), t.run.asRun.dump(), "asrun.json"));
            ASSERT_TRUE(again.scenario) << what << ErrorOf(again);
            EXPECT_EQ(again.scenario->run.asRun, t.run.asRun) << what;
        }
    }
    EXPECT_EQ(Perf({"--server=dgx-h100", "--servers=2"}).scenario->fabric.nic, "400GbE");
    EXPECT_EQ(Perf({"--server=dgx-h100", "--servers=2", "--fabric=ib"}).scenario->fabric.nic,
              "NDR");
    EXPECT_EQ(Perf({"--server=dgx-a100", "--servers=2", "--fabric=ib"}).scenario->fabric.nic,
              "HDR");
    EXPECT_EQ(Perf({"--server=dgx-1-v100", "--servers=2", "--fabric=ib"}).scenario->fabric.nic,
              "EDR");
}

TEST(NamedServer, SingleOptionsOverrideIt)
{
    const auto server = [](std::vector<std::string> args) {
        args.insert(args.begin(), {"--server=dgx-h100", "--servers=6"});
        const auto parsed = Perf(args);
        EXPECT_TRUE(parsed.scenario) << ErrorOf(parsed);
        return std::to_string(parsed.scenario->cluster.server.gpus) + " GPUs " +
               NicsText(parsed.scenario->cluster, parsed.scenario->fabric);
    };
    EXPECT_EQ(server({}), "8 GPUs 8 x 400GbE");
    EXPECT_EQ(server({"--nics-per-server=2"}), "8 GPUs 2 x 400GbE");
    EXPECT_EQ(server({"--nic=100GbE"}), "8 GPUs 8 x 100GbE");
    EXPECT_EQ(server({"--nic=HDR"}), "8 GPUs 8 x HDR");
    EXPECT_EQ(server({"--gpus-per-server=4"}), "4 GPUs 8 x 400GbE");
    EXPECT_EQ(server({"--gpus-per-server=1", "--nics-per-server=1", "--nic=25GbE"}),
              "1 GPUs 25GbE");
    const auto gpu = Train({"--server=dgx-h100", "--servers=2", "--gpu=A100"});
    EXPECT_EQ(gpu.scenario->gpu, "A100");
    EXPECT_EQ(gpu.scenario->cluster.server.nics, 8u);
    // In a scenario as on the command line, which wins.
    const auto read = ReadScenarioText(
        CollperfOptionTable(),
        R"({"cluster": {"server": "dgx-a100", "servers": 2, "nics_per_server": 4}})",
        "s.json");
    const auto s = ValidateCollperf(read);
    EXPECT_EQ(NicsText(s.scenario->cluster, s.scenario->fabric), "4 x 200GbE");
    EXPECT_EQ(s.scenario->ranks, 16u);
}

bool
Notes(const std::vector<std::string>& args, const std::string& words)
{
    const auto parsed = Train(args);
    EXPECT_TRUE(parsed.scenario) << parsed.errors.front().Text();
    return std::any_of(parsed.notes.begin(), parsed.notes.end(), [&](const std::string& text) {
        return text.find(words) != std::string::npos;
    });
}

TEST(NamedServer, WithMoreGpusThanItHasSaysSo)
{
    const std::string words = "a dgx-h100 has 8 GPUs, not 12: ";
    EXPECT_TRUE(Notes({"--server=dgx-h100", "--gpus-per-server=12", "--servers=2"}, words));
    EXPECT_FALSE(Notes({"--server=dgx-h100", "--gpus-per-server=8", "--servers=2"}, " has 8 GPUs"));
    EXPECT_FALSE(Notes({"--gpus-per-server=12", "--servers=2"}, " has 8 GPUs")); // none is named
}

TEST(NamedServer, WithFewerGpusKeepsItsNicsAndSaysSo)
{
    const auto note = [](const std::vector<std::string>& args) {
        return Notes(args, "keeps its 8 NICs");
    };
    EXPECT_TRUE(note({"--server=dgx-h100", "--gpus-per-server=4", "--servers=2"}));
    EXPECT_TRUE(note({"--server=dgx-h100", "--gpus=3", "--model=gpt2"}));
    EXPECT_FALSE(note({"--server=dgx-h100", "--servers=2"}));
    EXPECT_FALSE(note({"--gpus-per-server=4", "--servers=2"})); // one NIC, as nothing is named
    EXPECT_FALSE(
        note({"--server=dgx-h100", "--gpus-per-server=4", "--nics-per-server=8", "--servers=2"}));
}

TEST(NamedServer, WithoutOneTheClusterIsAsItWas)
{
    const auto train = Train({});
    EXPECT_EQ(train.scenario->cluster.server.name, "dgx-a100");
    EXPECT_EQ(train.scenario->cluster.server.gpus, 8u);
    EXPECT_EQ(NicsText(train.scenario->cluster, train.scenario->fabric), "100GbE");
    EXPECT_EQ(
        NicsText(Train({"--gpu=H100"}).scenario->cluster, Train({"--gpu=H100"}).scenario->fabric),
        "100GbE");
    EXPECT_EQ(
        NicsText(Train({"--fabric=ib"}).scenario->cluster, Train({"--fabric=ib"}).scenario->fabric),
        "EDR");
    const auto perf = Perf({});
    EXPECT_EQ(perf.scenario->ranks, 16u);
    EXPECT_EQ(perf.scenario->cluster.servers, 16u);
    EXPECT_EQ(NicsText(perf.scenario->cluster, perf.scenario->fabric), "100GbE");
}

TEST(NamedServer, OfAFileToo)
{
    const auto file = [](const std::string& nics) {
        return R"({"servers": [{"name": "box", "gpu": "A100", "gpus": 4, )" + nics +
               R"(, "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "600ns"}}]})";
    };
    {
        const TemporaryFile box(file(R"("nics": 2, "nic_rate": "25Gbps")"));
        const auto s = Perf({"--server=" + box.Path(), "--servers=3"});
        EXPECT_EQ(s.scenario->ranks, 12u);
        EXPECT_EQ(NicsText(s.scenario->cluster, s.scenario->fabric), "2 x 25GbE");
        // There is no InfiniBand of 25 Gb/s.
        ExpectIn(ErrorOf(Perf({"--server=" + box.Path(), "--servers=3", "--fabric=ib"})),
                 {"--server=", "25 Gb/s", "give --nic", "EDR"});
    }
    {
        const TemporaryFile box(file(R"("nics": 2)")); // says nothing of the rate
        const auto s = Perf({"--server=" + box.Path(), "--servers=3"});
        EXPECT_EQ(NicsText(s.scenario->cluster, s.scenario->fabric), "2 x 100GbE");
        const auto ib = Perf({"--server=" + box.Path(), "--servers=3", "--fabric=ib"});
        EXPECT_EQ(NicsText(ib.scenario->cluster, ib.scenario->fabric), "2 x EDR");
    }
    {
        const TemporaryFile box(file(R"("nics": 1, "nic_rate": "123Gbps")"));
        ExpectIn(ErrorOf(Perf({"--server=" + box.Path()})),
                 {"has NICs of 123 Gb/s, of which there is none", "100GbE"});
        EXPECT_TRUE(Perf({"--server=" + box.Path(), "--nic=100GbE"}).scenario);
    }
}

// ------------------------------------------------------------------------------- micro-batch

TEST(MicroBatch, AutoIsTheLargestThatFits)
{
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {},
             {"--model=gpt3-1.3b", "--gpus=64", "--zero=1"},
             {"--model=llama2-7b",
              "--server=dgx-h100",
              "--servers=2",
              "--zero=3",
              "--recompute",
              "--fused-attention",
              "--seq=4096"},
             {"--model=gpt2", "--gpu=V100", "--dtype=fp16", "--gpus=24"},
             {"--model=resnet-50", "--dtype=fp32", "--gpus=8"}})
    {
        auto with = args;
        with.push_back("--micro-batch=auto");
        const auto s = Train(with);
        ASSERT_TRUE(s.scenario) << ErrorOf(s);
        training::TrainingOptions o = s.scenario->options;
        EXPECT_EQ(o.microBatch, s.scenario->microBatch);
        EXPECT_TRUE(training::FitsWithReserve(o));
        ++o.microBatch;
        EXPECT_FALSE(training::FitsWithReserve(o));
        EXPECT_EQ(s.scenario->globalBatch, o.ranks * s.scenario->microBatch);
        ASSERT_FALSE(s.notes.empty());
        // As run it is a number, and the same one.
        EXPECT_EQ(s.scenario->run.asRun["training"]["micro_batch"], s.scenario->microBatch);
    }
    const auto json = ValidateTraining(ReadScenarioText(TrainingOptionTable(),
                                                        R"({"training": {"micro_batch": "auto"}})",
                                                        "s.json"));
    EXPECT_EQ(json.scenario->microBatch, Train({"--micro-batch=AUTO"}).scenario->microBatch);
}

TEST(MicroBatch, AutoDividesAGlobalBatch)
{
    // 128 GPUs by default.
    const uint32_t largest = Train({"--micro-batch=auto"}).scenario->microBatch;
    ASSERT_GT(largest, 4u);
    for (const uint32_t share : {1u, 4u, 7u, largest, 2 * largest, 30u, 97u, 1024u})
    {
        const auto s =
            Train({"--micro-batch=auto", "--global-batch=" + std::to_string(128 * share)});
        ASSERT_TRUE(s.scenario) << ErrorOf(s);
        const uint32_t micro = s.scenario->microBatch;
        EXPECT_LE(micro, largest);
        EXPECT_EQ(micro * s.scenario->accumulation, share);
        for (uint32_t larger = micro + 1; larger <= largest; ++larger)
        {
            EXPECT_NE(share % larger, 0u) << share << ": " << larger << " would do";
        }
    }
    EXPECT_EQ(Train({"--micro-batch=auto", "--global-batch=1024", "--accumulation=4"})
                  .scenario->microBatch,
              2u);
    ExpectIn(ErrorOf(Train({"--micro-batch=auto", "--global-batch=1000"})),
             {"--global-batch=1000: 128 GPUs make multiples of 128", "'1024'"});
    ExpectIn(ErrorOf(Train({"--micro-batch=auto", "--global-batch=1024", "--accumulation=3"})),
             {"--accumulation=3: does not divide the 8 samples"});
    ExpectIn(ErrorOf(Train({"--micro-batch=auto",
                            "--global-batch=" + std::to_string(128 * (largest + 1)),
                            "--accumulation=1"})),
             {"--accumulation=1: makes a micro-batch of " + std::to_string(largest + 1),
              "at most " + std::to_string(largest)});
}

TEST(MicroBatch, AutoSaysWhyItCannot)
{
    ExpectIn(ErrorOf(Train({"--model=gpt3-175b", "--zero=0", "--micro-batch=auto"})),
             {"--micro-batch=auto: not even one sample fits a GPU (A100, 80.0 GiB)",
              "a higher ZeRO stage"});
    ExpectIn(ErrorOf(Train({"--micro-batch=aut"})),
             {"--micro-batch=aut: allowed: a whole number, 1 to 1000000, or auto"});
    const TemporaryFile model(
        R"({"name": "flat", "layers": [{"name": "a", "parameters": 1000, "flops": 1e9}]})");
    ExpectIn(ErrorOf(Train({"--model=" + model.Path(), "--micro-batch=auto", "--gpus=8"})),
             {"hardly grows with the micro-batch", "a number"});
}

// ----------------------------------------------------------------------------- other software

TEST(NcclTests, OptionsMeanWhatTheyDoThere)
{
    // README of nccl-tests: ranks = processes x threads x GPUs a thread. A server is a process.
    const auto s = Perf({"-b",
                         "1k",
                         "-e",
                         "4m",
                         "-f",
                         "2",
                         "-g",
                         "4",
                         "-t",
                         "2",
                         "-n",
                         "3",
                         "-w",
                         "2",
                         "-c",
                         "1",
                         "--servers=3"});
    ASSERT_TRUE(s.scenario) << ErrorOf(s);
    EXPECT_EQ(s.scenario->ranks, 24u);
    EXPECT_EQ(s.scenario->cluster.server.gpus, 8u);
    EXPECT_EQ(s.scenario->threads, 2u);
    EXPECT_EQ(s.scenario->gpusPerThread, 4u);
    EXPECT_EQ(s.scenario->iterations, 3u);
    EXPECT_EQ(s.scenario->warmupIterations, 2u);
    EXPECT_TRUE(s.scenario->checked);
    EXPECT_EQ(s.scenario->sizes.front(), 1024u);
    EXPECT_EQ(s.scenario->sizes.back(), 4u << 20);
    EXPECT_EQ(s.scenario->sizes.size(), 13u);
    EXPECT_EQ(Perf({"--nthreads=2"}).scenario->cluster.server.gpus, 2u);
    // As nccl-tests without mpirun: one server.
    EXPECT_EQ(Perf({"--ngpus=8"}).scenario->ranks, 8u);
    const auto pairs = Perf({"-g", "2", "--server=a100-nvlink-pairs"});
    EXPECT_EQ(pairs.scenario->ranks, 2u);
    EXPECT_NE(Join(pairs.notes, "\n").find("-g: one server, as nccl-tests without mpirun"),
              std::string::npos)
        << Join(pairs.notes, "\n");
    EXPECT_EQ(Perf({"-g", "3"}).scenario->ranks, 3u);
    EXPECT_EQ(Perf({"-g", "2", "--ranks=6"}).scenario->cluster.servers, 3u);
    EXPECT_EQ(Perf({"-g", "1"}).scenario->ranks, 16u);
    EXPECT_EQ(Perf({"--gpus-per-server=8"}).scenario->ranks, 16u);
    EXPECT_FALSE(Perf({"-c", "0"}).scenario->checked);
    EXPECT_EQ(Perf({}).scenario->gpusPerThread, 1u);
    EXPECT_EQ(Perf({"--gpus-per-server=8"}).scenario->gpusPerThread, 8u);
    // They win over what a server brings, and are the same run as --gpus-per-server.
    EXPECT_EQ(Perf({"--server=dgx-h100", "-g", "2"}).scenario->cluster.server.gpus, 2u);
    auto threads = Perf({"-g", "2", "-t", "2"}).scenario->run.asRun;
    auto server = Perf({"--gpus-per-server=4", "--servers=1"}).scenario->run.asRun;
    threads.erase("given");
    server.erase("given");
    EXPECT_EQ(threads, server);
    ExpectIn(ErrorOf(Perf({"-g", "2", "--gpus-per-server=2"})),
             {"--gpus-per-server=2: has no meaning with --ngpus"});
    ExpectIn(ErrorOf(Perf({"-g", "1024", "-t", "2"})), {"-g=1024: makes 2048 GPUs a server"});
    ExpectIn(ErrorOf(Perf({"--gpus-per-server=3"})), {"16 ranks (the default of --ranks)"});
    ExpectIn(ErrorOf(Perf({"-c", "1", "--ranks=1024"})), {"-c=1: proving takes memory", "0"});
    ExpectIn(ErrorOf(Perf({"-c", "1", "-b", "1G", "--pipeline=4KiB"})),
             {"-c=1: proving takes a while", "a larger --pipeline"});
    // Their -o is the reduction, their program the collective.
    EXPECT_EQ(Perf({"-o", "max"}).scenario->reductions, std::vector<std::string>{"max"});
    EXPECT_EQ(Perf({"-o", "all"}).scenario->reductions.size(), 6u);
    EXPECT_EQ(Perf({"-d", "all"}).scenario->datatypes.size(), 12u);
    ExpectIn(ErrorOf(Perf({"--op=sum"})),
             {"--op=sum: is a reduction", "--reduction", "all_reduce"});
    ExpectIn(ErrorOf(Perf({"-o", "all_reduce"})), {"-o=all_reduce: is a collective", "--op"});
    ExpectIn(ErrorOf(Perf({"--op=all_gather", "-o", "sum"})),
             {"-o=sum: cannot be combined with --op=all_gather."});
    ExpectIn(ErrorOf(Perf({"-d", "all", "-b", "12"})), {"-b=12: allowed: multiples of 8 B"});
    EXPECT_EQ(Perf({"-a", "1"}).scenario->average, 1u);
    ExpectIn(ErrorOf(Perf({"-a", "4"})), {"-a=4", "0 to 3"});
    // Several algorithms side by side.
    const auto compared = Perf({"--compare=ring,auto,double-binary-tree"});
    ASSERT_TRUE(compared.scenario);
    EXPECT_EQ(compared.scenario->compare.size(), 3u);
    EXPECT_EQ(compared.scenario->compare[1].name, "auto");
    ExpectIn(ErrorOf(Perf({"--compare=rings"})), {"--compare=rings: unknown algorithm", "ring"});
    ExpectIn(ErrorOf(Perf({"--compare=pxn"})), {"--compare=pxn: does not do all_reduce"});
    ExpectIn(ErrorOf(Perf({"--compare=all_reduce=ring"})), {"is no algorithm", "auto"});
    ExpectIn(ErrorOf(Perf({"--compare=ring,ring"})), {"--compare"});
    // Those that do nothing here are taken where that is true.
    EXPECT_EQ(Perf({"-m", "1", "-p", "1", "-z", "0", "-G", "0", "-C", "0", "--agg_iters=1"})
                  .scenario->run.asRun,
              Perf({}).scenario->run.asRun);
    ExpectIn(ErrorOf(Perf({"-G", "2"})), {"-G=2: launching costs nothing here"});
    ExpectIn(ErrorOf(Perf({"--agg_iters=4"})), {"--agg-iters=4: collectives are not aggregated"});
    ExpectIn(ErrorOf(Perf({"-F", "x.csv"})), {"-F=x.csv: results are in the folder --out"});
}

TEST(TrainingSoftware, ItsNamesAreAliases)
{
    const auto same = [](const std::vector<std::string>& theirs,
                         const std::vector<std::string>& ours) {
        const auto a = Train(theirs);
        ASSERT_TRUE(a.scenario) << theirs[0] << ": " << ErrorOf(a);
        nlohmann::json values = a.scenario->run.asRun;
        nlohmann::json expected = Train(ours).scenario->run.asRun;
        values.erase("given"); // some names stand for several options, or for none
        expected.erase("given");
        EXPECT_EQ(values, expected) << theirs[0];
    };
    same({"--zero-stage", "3"}, {"--zero=3"});
    same({"--zero_stage=1"}, {"--zero=1"});
    same({"--micro-batch-size", "2"}, {"--micro-batch=2"});
    same({"--train_micro_batch_size_per_gpu=2"}, {"--micro-batch=2"});
    same({"--per_device_train_batch_size", "2"}, {"--micro-batch=2"});
    same({"--gradient_accumulation_steps=4"}, {"--accumulation=4"});
    same({"--global-batch-size", "1024"}, {"--global-batch=1024"});
    same({"--train_batch_size", "1024"}, {"--global-batch=1024"});
    same({"--seq-length", "1024"}, {"--seq=1024"});
    same({"--activation-checkpointing"}, {"--recompute"});
    same({"--no-activation-checkpointing"}, {});
    same({"--overlap_comm=0"}, {"--no-overlap"});
    same({"--checkpoint-activations"}, {"--recompute"});
    same({"--deepspeed-activation-checkpointing"}, {"--recompute"});
    same({"--recompute-granularity", "full"}, {"--recompute"});
    same({"--use-flash-attn"}, {"--fused-attention"});
    same({"--bf16"}, {"--dtype=bf16"});
    same({"--fp16"}, {"--dtype=fp16"});
    same({"--deepspeed"}, {"--zero-impl=deepspeed"});
    same({"--use-distributed-optimizer"}, {"--zero=1"});
    same({"--tensor_model_parallel_size=1", "--no-pipeline-parallel"}, {});
    same({"--tensor-model-parallel-size=4", "--pipeline-parallel-size", "2"}, {"--tp=4", "--pp=2"});
    same({"--dp=8", "--tp=2"}, {"--gpus=16", "--tp=2"});
    same({"--recompute-activations"}, {"--recompute=selective"});
    same({"--recompute", "selective"}, {"--recompute=selective"});
    same({"--no-recompute"}, {"--recompute=none"});
    same({"--virtual-stages=2", "--pp=2", "--accumulation=4"},
         {"--pipeline-schedule=interleaved", "--virtual-stages=2", "--pp=2", "--accumulation=4"});
    // A whole line of Megatron-DeepSpeed's.
    same({"--tensor-model-parallel-size",
          "1",
          "--zero-stage",
          "3",
          "--micro-batch-size",
          "1",
          "--global-batch-size",
          "256",
          "--seq-length",
          "1024",
          "--fp16",
          "--deepspeed-activation-checkpointing",
          "--no-pipeline-parallel"},
         {"--zero=3",
          "--micro-batch=1",
          "--global-batch=256",
          "--seq=1024",
          "--dtype=fp16",
          "--recompute"});
}

TEST(TrainingSoftware, WhatThereIsNotIsSaid)
{
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
        {{"--tp=3"}, {"--tp=3", "tp 3 x pp 1 x cp 1 = 3 GPUs, which does not divide 128 GPUs"}},
        {{"--tp=32"}, {"--tp=32", "does not divide the 16 heads of bloom-560m"}},
        {{"--pipeline_model_parallel_size=32"}, {"bloom-560m has 24 blocks"}},
        {{"--tp=2", "--dp=8", "--gpus=32"}, {"--dp=8", "make 16", "did you mean '16'"}},
        {{"--model=resnet50", "--tp=2"}, {"--tp=2", "how its layers are shared out"}},
        {{"--virtual-stages=2"}, {"--virtual-stages=2", "without a pipeline"}},
        {{"--pp=2", "--zero=3", "--zero-impl=deepspeed"}, {"--zero=3", "in a pipeline"}},
        {{"--rank-order=tp-dp"}, {"--rank-order=tp-dp", "the innermost first"}},
        {{"--ep=3"}, {"--ep=3", "has no experts; allowed: 1"}},
        {{"--ep=3", "--model=mixtral-8x7b"}, {"--ep=3", "the 8 experts", "allowed: 1, 2, 4, 8"}},
        {{"--ep=4", "--model=mixtral-8x7b", "--tp=4", "--gpus=24"},
         {"--ep=4", "dp 6 x cp 1 = 6", "allowed: 1, 2"}},
        {{"--reduce_bucket_size=5e8"}, {"--buckets", "elements"}},
        {{"--deepspeed_config", "ds.json"},
         {"--deepspeed-config=ds.json: files of DeepSpeed are not read"}},
        {{"--num-layers=24"}, {"--model=FILE.json"}},
        {{"--batch-size=8"}, {"--micro-batch", "--global-batch"}},
        {{"--bf16=maybe"}, {"--bf16=maybe: is a flag that means --dtype=bf16"}},
    };
    for (const auto& [args, words] : cases)
    {
        ExpectIn(ErrorOf(Train(args)), words);
    }
    const auto json = [](const std::string& text) {
        const auto read = ReadScenarioText(TrainingOptionTable(), text, "s.json");
        EXPECT_EQ(read.errors.size(), 1u) << text;
        return read.errors.empty() ? "" : read.errors[0].Text();
    };
    ExpectIn(json(R"({"training": {"zero_stage": 2}})"),
             {"/training/zero_stage: unknown key", "did you mean '/training/zero'?"});
}

TEST(Traffic, WhatOtherProgramsCallServersIsSaid)
{
    ExpectIn(ErrorOf(Parse(ParseAs<TrafficScenario>, {"--servers=16"})),
             {"--servers=16: is --hosts here"});
    ExpectIn(ErrorOf(Parse(ParseAs<TrafficScenario>, {"--ranks", "8"})), {"--ranks=8", "--hosts"});
    ExpectIn(ErrorOf(Parse(ParseAs<TrafficScenario>, {"--nics-per-server=2"})),
             {"one NIC", "allowed: 1"});
}

TEST(TrainingSoftware, NoForeignNameHidesAnOption)
{
    for (const auto* table : Tables())
    {
        std::set<std::string> ours;
        std::set<char> letters;
        for (const auto& o : table->options)
        {
            ours.insert(o.name);
            ours.insert(o.aliases.begin(), o.aliases.end());
            letters.insert(o.letter);
        }
        std::set<std::string> theirs;
        for (const auto& f : table->foreign)
        {
            EXPECT_FALSE(ours.count(f.name)) << f.name;
            EXPECT_TRUE(theirs.insert(f.name).second) << f.name;
            EXPECT_TRUE(!f.letter || !letters.count(f.letter)) << f.letter;
            EXPECT_FALSE(f.otherwise.empty()) << f.name;
            for (const auto& [value, means] : f.means)
            {
                const std::string option = means.substr(0, means.find('='));
                EXPECT_TRUE(means.empty() || ours.count(option.substr(2))) << means;
            }
        }
    }
}

// ------------------------------------------------------------- values that say something else

TEST(Values, ListsHaveNoHoles)
{
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            if (o.kind != Kind::kList)
            {
                continue;
            }
            Value value;
            Error error;
            for (const std::string& hole : {std::string(","),
                                            o.example + ",",
                                            "," + o.example,
                                            o.example + ",," + o.example,
                                            std::string(" , ")})
            {
                EXPECT_FALSE(ParseValue(o, hole, "--" + o.name, &value, &error))
                    << "--" << o.name << "=" << hole;
                ExpectIn(error.Text(), {"--" + o.name, "is empty"});
            }
            if (o.path.empty())
            {
                continue; // of the command line alone
            }
            const std::string section = o.path.substr(0, o.path.rfind('/'));
            const std::string text =
                nlohmann::json({{section.substr(1),
                                 {{o.path.substr(section.size() + 1),
                                   {o.example.substr(0, o.example.find(',')), ""}}}}})
                    .dump();
            EXPECT_EQ(ReadScenarioText(*table, text, "s.json").errors.size(), 1u) << text;
            EXPECT_EQ(ParseValue(o, o.example + "," + o.example, "--" + o.name, &value, &error),
                      !o.distinct)
                << o.name;
        }
    }
    ExpectIn(ErrorOf(Train({"--algorithm=,"})), {"--algorithm=,: entry 1 of the list is empty"});
    ExpectIn(ErrorOf(Perf({"--pcap=server-0,server-0"})),
             {"--pcap=server-0,server-0: names server-0 twice"});
    ExpectIn(ErrorOf(Perf({"--fabric=ib", "--ib-routing=updn,,minhop"})),
             {"'' is no routing engine"});
    ExpectIn(ErrorOf(Perf({"--fabric=ib", "--ib-routing=updn,UPDN"})),
             {"'UPDN' stands there twice"});
}

TEST(Values, OneThingIsSaidOnce)
{
    ExpectIn(ErrorOf(Train({"--slow-gpu=15:1,15:2"})),
             {"--slow-gpu=15:2: names GPU 15 a second time"});
    ExpectIn(ErrorOf(Train({"--slow-gpu=15:1,015:2"})), {"a second time"});
    EXPECT_TRUE(Train({"--slow-gpu=15:1,16:2"}).scenario);
    for (const char* bad : {"15",
                            "15:",
                            ":2",
                            "15:0.5",
                            "15:1e4",
                            "128:2",
                            "-1:2",
                            "1:2:3",
                            "15: 2",
                            "1.5:2",
                            "0x1:2",
                            "15:nan",
                            "15:inf"})
    {
        ExpectIn(ErrorOf(Train({std::string("--slow-gpu=") + bad})),
                 {"allowed: GPU:FACTOR as 5:1.3"});
    }
    ExpectIn(ErrorOf(Train({"--algorithm=all_reduce=ring,all_reduce=ring"})),
             {"is a second algorithm"});
}

TEST(Values, NothingIsRoundedToZero)
{
    ExpectIn(ErrorOf(Train({"--window=1e-7"})), {"--window=1e-7: allowed: a size in whole bytes"});
    ExpectIn(ErrorOf(Train({"--link-delay=0.1ps"})), {"--link-delay=0.1ps: allowed: a time"});
    ExpectIn(ErrorOf(Train({"--bit-error-rate=1e-400"})), {"--bit-error-rate=1e-400: allowed"});
    ExpectIn(ErrorOf(Parse(ParseAs<TrafficScenario>, {"--bytes=1.5"})),
             {"--bytes=1.5: allowed: a size in whole bytes"});
    ExpectIn(ErrorOf(Parse(ParseAs<TrafficScenario>, {"--size-bins=1kB,1.0001kB"})),
             {"--size-bins=1.0001kB: allowed"});
    const auto json =
        ReadScenarioText(TrainingOptionTable(), R"({"fabric": {"window": "1e-7"}})", "s.json");
    ASSERT_EQ(json.errors.size(), 1u);
    ExpectIn(json.errors[0].Text(), {"s.json: /fabric/window", "whole bytes"});
}

TEST(Values, OfNs3sLogAreCheckedToo)
{
    const std::vector<std::string> known{"RdmaNic", "RdmaPort"};
    for (const char* right :
         {"", "*", "***", "RdmaNic", "RdmaNic=all|prefix_time:RdmaPort=**", "*=level_logic|node"})
    {
        EXPECT_EQ(CheckNs3Log(right, known), "") << right;
    }
    ExpectIn(CheckNs3Log("RdmaNic:RdmaPorts=all", known),
             {"environment: NS_LOG=RdmaPorts=all", "no log component 'RdmaPorts'", "'RdmaPort'"});
    ExpectIn(CheckNs3Log("RdmaNic=warm", known),
             {"NS_LOG=RdmaNic=warm", "no log level 'warm'", "'warn'"});
    for (const char* bad :
         {":", "RdmaNic:", "=all", "RdmaNic=", "RdmaNic=all|", "***=all", "rdmanic"})
    {
        EXPECT_NE(CheckNs3Log(bad, known), "") << bad;
    }
}

TEST(Values, OfTheEnvironmentAreCheckedToo)
{
    const auto parse = [](const char* variable, const std::string& text) {
        std::vector<Error> errors;
        const auto settings = ParseNs3Variable(variable, text, &errors);
        EXPECT_TRUE(settings.empty() || errors.empty());
        return errors.empty() ? std::to_string(settings.size()) : errors[0].Text();
    };
    EXPECT_EQ(parse("NS_ATTRIBUTE_DEFAULT", ""), "0");
    EXPECT_EQ(parse("NS_ATTRIBUTE_DEFAULT",
                    "ns3::RdmaSwitch::PipelineLatency=300ns;ns3::RdmaNic::Window=0"),
              "2");
    EXPECT_EQ(parse("NS_GLOBAL_VALUE", "SchedulerType=ns3::HeapScheduler"), "1");
    for (const char* bad :
         {";", "ns3::A::B=1;", "ns3::A::B", "=1", "A::B=1", "ns3::A=1", "ns3::A::B=1;;ns3::A::C=2"})
    {
        ExpectIn(parse("NS_ATTRIBUTE_DEFAULT", bad),
                 {"NS_ATTRIBUTE_DEFAULT of the environment: '",
                  "is no setting; allowed: ns3::TYPE::ATTRIBUTE=VALUE"});
    }
    ExpectIn(parse("NS_ATTRIBUTE_DEFAULT", "ns3::A::B=1;ns3::A::B=2"), {"names ns3::A::B twice"});
}

TEST(Values, OfAServerThatIsSaidTwiceHaveOneError)
{
    const auto result = Perf({"-g", "2", "--gpus-per-server=3", "--ranks=4"});
    ASSERT_EQ(result.errors.size(), 1u);
    ExpectIn(result.errors[0].Text(),
             {"--gpus-per-server=3: has no meaning with --ngpus or --nthreads"});
}

// A datatype that nobody asked for is none that the GPU does not have.
TEST(Datatype, IsOneThatTheGpuHas)
{
    const std::pair<const char*, const char*> usual[] = {{"K80", "fp32"},
                                                         {"P100", "fp16"},
                                                         {"V100", "fp16"},
                                                         {"A100", "bf16"},
                                                         {"H100", "bf16"}};
    for (const auto& [gpu, dtype] : usual)
    {
        const std::string word = "--gpu=" + std::string(gpu);
        const auto read = Train({word, "--model=resnet50", "--ignore-memory"});
        ASSERT_TRUE(read.scenario) << gpu << ErrorOf(read);
        EXPECT_EQ(read.scenario->dtype, dtype);
        EXPECT_EQ(training::DtypeName(read.scenario->options.dtype), dtype);
        const bool told =
            std::any_of(read.notes.begin(), read.notes.end(), [](const std::string& note) {
                return note.find("has no bf16") != std::string::npos;
            });
        EXPECT_EQ(told, std::string(dtype) != "bf16") << gpu;
    }
    // What is asked for is not replaced.
    ExpectIn(ErrorOf(Train({"--gpu=P100", "--model=resnet50", "--dtype=bf16"})),
             {"--dtype=bf16", "P100 has no bf16"});
}

// A length that cuts nothing: MTU and 78 B of headers, and what the law adds to each packet (HPCC's
// telemetry 42 B, of at most five hops; PINT's 1 B).
TEST(Captures, LengthThatCutsNothingCountsTheLawsBytes)
{
    const auto note = [](const std::string& options) {
        const auto read = ParseWords<TrafficScenario>("--hosts=2 --topology=single-switch "
                                                      "--pcap=all " +
                                                      options);
        EXPECT_TRUE(read.scenario) << options;
        return Join(read.notes, "\n");
    };
    for (const auto& [cc, bytes] : {std::pair{"none", 4174},
                                    std::pair{"hpcc", 4216},
                                    std::pair{"powertcp", 4216},
                                    std::pair{"hpcc-pint", 4175},
                                    std::pair{"swift", 4174}})
    {
        const std::string with = "--cc=" + std::string(cc) + " --pcap-snaplen=";
        EXPECT_NE(note(with + std::to_string(bytes - 1))
                      .find("whole from --pcap-snaplen=" + std::to_string(bytes) + " on"),
                  std::string::npos)
            << cc;
        EXPECT_EQ(note(with + std::to_string(bytes)), "") << cc;
    }
}
