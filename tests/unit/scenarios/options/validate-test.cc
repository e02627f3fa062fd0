/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Command lines to scenarios of dltrain and collperf: what follows from what, every kind of bad
 * input as one clear error, and the presets.
 */
#include "contrib/rdma/core/congestion-control.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/validate.h"
#include "scenarios/startup/parse.h"
#include "tests/unit/full.h"
#include "tests/unit/scenarios/option-json.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <unistd.h>

using namespace scenario;
namespace fs = std::filesystem;

namespace
{

template <class T>
ParseResult<T>
Parse(ParseResult<T> (*parse)(int, const char* const*), const std::vector<std::string>& args)
{
    std::vector<const char*> argv{"program"};
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return parse(static_cast<int>(argv.size()), argv.data());
}

std::vector<std::string>
Dry(std::vector<std::string> args)
{
    args.push_back("--dry-run");
    return args;
}

ParseResult<TrainingScenario>
Train(const std::vector<std::string>& args)
{
    return Parse(ParseAs<TrainingScenario>, Dry(args));
}

ParseResult<CollperfScenario>
Perf(const std::vector<std::string>& args)
{
    return Parse(ParseAs<CollperfScenario>, Dry(args));
}

template <class T>
std::string
ErrorOf(const ParseResult<T>& result)
{
    EXPECT_FALSE(result.scenario);
    EXPECT_FALSE(result.text);
    std::string all;
    for (const auto& e : result.errors)
    {
        all += (all.empty() ? "" : "\n") + e.Text();
    }
    EXPECT_EQ(result.errors.size(), 1u) << all;
    return all;
}

/// The configuration as run, whoever gave its values.
template <class T>
nlohmann::json
ValuesOf(const ParseResult<T>& result)
{
    nlohmann::json values = result.scenario->run.asRun;
    values.erase("given");
    return values;
}

std::string
TrainError(const std::vector<std::string>& args)
{
    return ErrorOf(Train(args));
}

std::string
PerfError(const std::vector<std::string>& args)
{
    return ErrorOf(Perf(args));
}

void
ExpectStarts(const std::string& text, const std::string& start)
{
    EXPECT_EQ(text.substr(0, start.size()), start);
}

void
ExpectEnds(const std::string& text, const std::string& end)
{
    EXPECT_EQ(text.size() < end.size() ? text : text.substr(text.size() - end.size()), end);
}

/// A folder of this test's own that goes away with it, and the current folder while it lives.
class Scratch
{
  public:
    Scratch()
        : m_before(fs::current_path()),
          m_path(fs::temp_directory_path() / ("dltrain-validate-" + std::to_string(::getpid())))
    {
        fs::remove_all(m_path);
        fs::create_directories(m_path);
        fs::current_path(m_path);
    }

    ~Scratch()
    {
        fs::current_path(m_before);
        fs::remove_all(m_path);
    }

  private:
    fs::path m_before;
    fs::path m_path;
};

} // namespace

// ---------------------------------------------------------------------------------- bad input

TEST(BadInput, UnknownModelNamesTheNearest)
{
    const std::string error = TrainError({"--model=blom-560m"});
    ExpectStarts(error, "--model=blom-560m: unknown model; allowed: bloom-560m, bloom-1b1, ");
    ExpectEnds(error, ", or a file; did you mean 'bloom-560m'?");
    ExpectEnds(TrainError({"--gpu=A1000"}), "did you mean 'A100'?");
    ExpectEnds(TrainError({"--server=dgx-a10"}), "did you mean 'dgx-a100'?");
    ExpectEnds(TrainError({"--topology=fat-tre"}), "did you mean 'fat-tree'?");
}

TEST(BadInput, ZeroGpus)
{
    EXPECT_EQ(TrainError({"--gpus=0"}), "--gpus=0: allowed: a whole number, 1 to 1000000");
    EXPECT_EQ(TrainError({"--servers=0"}), "--servers=0: allowed: a whole number, 1 to 1000000");
    EXPECT_EQ(TrainError({"--gpus-per-server=0"}),
              "--gpus-per-server=0: allowed: a whole number, 1 to 1024");
    EXPECT_EQ(PerfError({"--ranks=0"}), "--ranks=0: allowed: a whole number, 1 to 1000000");
    EXPECT_EQ(TrainError({"--gpus=-8"}), "--gpus=-8: allowed: a whole number, 1 to 1000000");
}

// What is named instead is allowed.
TEST(BadInput, NearestGlobalBatchIsAllowed)
{
    const auto error = TrainError({"--model=gpt2",
                                   "--gpus=24",
                                   "--micro-batch=1",
                                   "--global-batch=4000000000",
                                   "--ignore-memory"});
    EXPECT_NE(error.find("did you mean '3999999984'?"), std::string::npos) << error;
}

TEST(BadInput, GpusThatDoNotFillServers)
{
    EXPECT_EQ(TrainError({"--gpus=100"}),
              "--gpus=100: does not fill servers of 8 GPUs, and a job takes whole servers, which "
              "all have as many GPUs; allowed: multiples of 8, such as 96 or 104, or "
              "--gpus-per-server=5; did you mean '96'?");
    EXPECT_EQ(TrainError({"--gpus=7", "--gpus-per-server=8"}),
              "--gpus=7: does not fill servers of 8 GPUs, and a job takes whole servers, which all "
              "have as many GPUs; allowed: multiples of 8, such as 8, or --gpus-per-server=7; did "
              "you mean '8'?");
    EXPECT_EQ(
        TrainError({"--gpus=9", "--server=dgx-a100"}),
        "--gpus=9: does not fill servers of 8 GPUs, and a job takes whole servers, which all have "
        "as many GPUs; allowed: multiples of 8, such as 8 or 16, or --gpus-per-server=3; did you "
        "mean '8'?");
    // Of a prime number there is no other way than one a server.
    EXPECT_EQ(
        TrainError({"--gpus=13", "--gpus-per-server=2"}),
        "--gpus=13: does not fill servers of 2 GPUs, and a job takes whole servers, which all have "
        "as many GPUs; allowed: multiples of 2, such as 12 or 14, or --gpus-per-server=1; did you "
        "mean '12'?");
    EXPECT_EQ(TrainError({"--gpus=24", "--servers=2"}),
              "--gpus=24: 2 servers have 16 GPUs; allowed: at most that, or --servers=3");
    EXPECT_EQ(PerfError({"--gpus-per-server=3"}),
              "--gpus-per-server=3: 16 ranks (the default of --ranks) do not fill such servers; "
              "give --ranks, allowed: "
              "multiples of 3, such as 15 or 18");
}

// A rank posts the messages of a collective in one event, some 300 B each: millions of them would
// take minutes and gigabytes, in which no signal is heard.
TEST(BadInput, MoreMessagesThanARankMayPost)
{
    // 11.7 M parameters of 4 B in two halves, all of them in messages of 1 B.
    const std::vector<std::string> job = {"--servers=2",
                                          "--gpus-per-server=1",
                                          "--model=resnet-18"};
    const auto with = [&job](const std::string& pipeline) {
        std::vector<std::string> words = job;
        words.push_back("--pipeline=" + pipeline);
        return words;
    };
    const std::string error = TrainError(with("1"));
    ExpectStarts(error, "--pipeline=1: ");
    EXPECT_NE(error.find("messages of each rank; at most 4194304 are simulated"), std::string::npos)
        << error;
    EXPECT_TRUE(Train(with("64kB")).scenario);
    ExpectStarts(
        PerfError(
            {"--ranks=4", "--minbytes=64M", "--maxbytes=64M", "--algorithm=torus", "--pipeline=4"}),
        "--pipeline=4: ");
}

TEST(Servers, FewerGpusThanAServerHasAreSomeOfOne)
{
    for (const char* gpus : {"1", "3", "7"})
    {
        for (const char* server : {"--server=dgx-a100", "--server=dgx-h100", "--zero=0"})
        {
            EXPECT_TRUE(Train({std::string("--gpus=") + gpus, server}).scenario) << server;
        }
    }
}

TEST(BadInput, BucketsAreCountedOfTheShareOfARank)
{
    // 175 B parameters in 16 bit are 350 GB, 13,300 buckets of 25 MiB; ZeRO 2 reduces each of them
    // 128 times (6,144 / 48 / 1), 1.7 million in all. 64 ranks have 208 of the buckets each.
    const std::vector<std::string> job = {"--model=gpt3-175b",
                                          "--zero=2",
                                          "--micro-batch=1",
                                          "--global-batch=6144",
                                          "--ignore-memory"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.end(), job.begin(), job.end());
        return more;
    };
    ExpectStarts(TrainError(with({"--gpus=48"})), "--buckets: is 26214400 B, which cuts the ");
    EXPECT_TRUE(Train(with({"--gpus=3072", "--tp=8", "--pp=8"})).scenario);
}

TEST(BadInput, FatTreeTooSmallNamesTheKThatWouldDo)
{
    const std::string error = TrainError({"--servers=40", "--k=4"});
    ExpectStarts(error, "--k=4: is too small: ");
    EXPECT_NE(error.find("k=6 is enough"), std::string::npos) << error;
    ExpectStarts(TrainError({"--k=5"}), "--k=5: is not an even number");
    ExpectStarts(TrainError({"--gpus=1000000", "--gpus-per-server=1"}), "--gpus=1000000: ");
}

TEST(BadInput, MalformedJsonWithItsLine)
{
    Scratch scratch;
    std::ofstream("job.json") << "{\n  \"training\": {\n    \"zero\": 2,\n  }\n}\n";
    ExpectStarts(TrainError({"--scenario=job.json"}), "job.json:4:3: malformed JSON: ");
    std::ofstream("model.json") << "{\n  \"name\": x\n}\n";
    ExpectStarts(TrainError({"--model=model.json"}), "model.json:2:11: malformed JSON: ");
    std::ofstream("wrong.json") << "{\"fabric\": {\"mtu\": 1000}}";
    EXPECT_EQ(
        TrainError({"--scenario=wrong.json"}),
        "wrong.json: /fabric/mtu=1000: allowed: 256, 512, 1024, 2048, 4096; did you mean '1024'?");
    std::ofstream("unknown.json") << "{\"training\": {\"modle\": \"bloom-560m\"}}";
    ExpectStarts(TrainError({"--scenario=unknown.json"}),
                 "unknown.json: /training/modle: unknown key; allowed in /training: model, ");
}

TEST(BadInput, WrongUnits)
{
    ExpectStarts(TrainError({"--buckets=25MiBs"}),
                 "--buckets=25MiBs: allowed: a size in whole bytes such as ");
    ExpectStarts(TrainError({"--link-delay=1"}), "--link-delay=1: allowed: a time such as ");
    ExpectStarts(TrainError({"--link-delay=1MB"}), "--link-delay=1MB: allowed: a time such as ");
    ExpectStarts(TrainError({"--fabric-rate=100"}), "--fabric-rate=100: allowed: a rate such as ");
    ExpectStarts(PerfError({"-b", "1Q"}), "-b=1Q: allowed: a size in whole bytes such as ");
}

TEST(BadInput, AnOutputFolderThatCannotBeWritten)
{
    Scratch scratch;
    std::ofstream("file") << "x"; // below a regular file not even root can write
    const std::string absolute = std::filesystem::absolute("file").string();
    const std::map<std::string, std::string> whys{{"file", "it"},
                                                  {"file/", "it"},
                                                  {"file/results", "file"},
                                                  {"file/a/b/", "file"},
                                                  {absolute, "it"},
                                                  {absolute + "/results", absolute}};
    for (const auto& [out, what] : whys)
    {
        const std::string error =
            "--out=" + out + ": cannot be written: " + what +
            " is a file, not a folder; give a folder you can write to, --out=DIR";
        EXPECT_EQ(ErrorOf(Parse(ParseAs<TrainingScenario>, {"--out=" + out})), error);
        EXPECT_EQ(TrainError({"--out=" + out}),
                  error); // a dry run, which makes nothing, finds it too
    }
    std::filesystem::create_symlink("nowhere", "link");
    EXPECT_EQ(TrainError({"--out=link/results"}),
              "--out=link/results: cannot be written: link is a link to what is not there; give a "
              "folder you can write to, --out=DIR");
    std::ofstream("results") << "x";
    const std::string error = "--out=results: cannot be written: it is a file, not a folder; give "
                              "a folder you can write to, --out=DIR";
    EXPECT_EQ(ErrorOf(Parse(ParseAs<CollperfScenario>, {})), error);
    EXPECT_EQ(ErrorOf(Parse(ParseAs<CollperfScenario>, {"--dry-run"})), error);
}

TEST(BadInput, InfiniBandAndEthernetDoNotMix)
{
    ExpectStarts(TrainError({"--fabric=roce", "--nic=EDR"}),
                 "--nic=EDR: is InfiniBand's; allowed: --fabric=ib, or 10GbE, ");
    ExpectStarts(TrainError({"--fabric=ib", "--nic=100GbE"}),
                 "--nic=100GbE: is Ethernet's; allowed with --fabric=ib: SDR, ");
    ExpectStarts(TrainError({"--nic=EDR", "--no-pfc"}),
                 "--no-pfc: needs --fabric=roce. This run has --fabric=ib.");
    ExpectStarts(TrainError({"--vls=2"}),
                 "--vls=2: needs --fabric=ib. This run has --fabric=roce.");
    ExpectStarts(TrainError({"--nic=EDR", "--vls=3"}), "--vls=3: ");
    ExpectStarts(TrainError({"--nic=EDR", "--vl-buffer=4kB"}),
                 "--vl-buffer=4kB: does not hold one packet; allowed with an MTU of 4096 B: 4224B "
                 "to 128KiB");
    ExpectStarts(TrainError({"--nic=EDR", "--vls=2", "--vl-low=0:1"}),
                 "--vl-low=0:1: gives virtual lane 1 no turn; ");
    for (const char* table : {"--vl-high=0:64,9:3", "--vl-low=0:64,9:3"})
    {
        ExpectStarts(TrainError({"--nic=EDR", "--vls=2", table}),
                     std::string(table) +
                         ": names virtual lane 9, which links do not have; allowed with --vls=2: 0 "
                         "to 1");
    }
    EXPECT_TRUE(Train({"--nic=EDR", "--vls=1", "--vl-high=0:64,9:0"}).scenario); // no turn
    ExpectStarts(TrainError({"--nic=EDR", "--vl-low=nonsense"}),
                 "--vl-low=nonsense: allowed: up to 64 pairs VL:weight");
    ExpectStarts(TrainError({"--nic=EDR", "--ib-routing=ftree,dor"}),
                 "--ib-routing=ftree,dor: 'dor' is no routing engine; allowed: ");
    ExpectStarts(TrainError({"--nic=EDR", "--compat=hpcc"}),
                 "--compat=hpcc: is a model of Ethernet; ");
    ExpectStarts(TrainError({"--nic=EDR", "--adaptive-routing", "--loss-recovery=go-back-n"}),
                 "--loss-recovery=go-back-n: takes packets that overtook others for lost ones; ");
    ExpectEnds(TrainError({"--nic=100GE"}), "did you mean '100GbE'?");
}

TEST(Fabric, InfiniBandIsWhatItsNicIs)
{
    // Data rates of 4x: 2.5 to 212.5 Gb/s a lane less the coding; FDR is 14.0625 x 4 x 64/66.
    const std::vector<std::pair<std::string, uint64_t>> rates = {{"SDR", 8000000000},
                                                                 {"QDR", 32000000000},
                                                                 {"FDR", 54545454545},
                                                                 {"EDR", 100000000000},
                                                                 {"HDR", 200000000000},
                                                                 {"HDR100", 100000000000},
                                                                 {"NDR", 400000000000},
                                                                 {"XDR", 800000000000}};
    for (const auto& [name, bps] : rates)
    {
        const auto train = Train({"--nic=" + name});
        ASSERT_TRUE(train.scenario) << name;
        EXPECT_TRUE(train.scenario->fabric.infiniBand) << name;
        EXPECT_EQ(train.scenario->fabric.nicRate.bps, bps) << name;
    }
    const auto byFabric = Train({"--fabric=ib"});
    ASSERT_TRUE(byFabric.scenario);
    EXPECT_EQ(byFabric.scenario->fabric.nic, "EDR");
    EXPECT_EQ(byFabric.scenario->fabric.ib.switchName, "switch-ib");
    EXPECT_EQ(byFabric.scenario->fabric.switchLatency.ps, 90000);
    EXPECT_EQ(byFabric.scenario->fabric.ib.laneBuffer.value,
              131072U); // 200,000 B a port, and what credits can tell
    EXPECT_EQ(byFabric.scenario->fabric.cc, "none");
    EXPECT_EQ(Train({"--fabric=ib", "--cc=ib-cc"}).scenario->fabric.ib.fecnThreshold, 15);
    EXPECT_EQ(Train({"--nic=HDR"}).scenario->fabric.ib.switchName, "quantum");
    EXPECT_FALSE(Train({}).scenario->fabric.infiniBand);
}

TEST(BadInput, BatchesThatContradictEachOther)
{
    EXPECT_EQ(TrainError({"--global-batch=100"}),
              "--global-batch=100: 128 GPUs make multiples of 128 samples; did you mean '128'?");
    EXPECT_EQ(TrainError({"--global-batch=640", "--micro-batch=4"}),
              "--global-batch=640: 128 GPUs x micro-batch 4 make 512; allowed: multiples of 512; "
              "did you mean '512'?");
    EXPECT_EQ(TrainError({"--global-batch=1024", "--micro-batch=4", "--accumulation=3"}),
              "--global-batch=1024: 128 GPUs x micro-batch 4 x accumulation 3 make 1536; did you "
              "mean '1536'?");
    EXPECT_EQ(TrainError({"--global-batch=1000", "--accumulation=2"}),
              "--global-batch=1000: 128 GPUs x accumulation 2 make 256; allowed: multiples of 256; "
              "did you mean '1024'?");
}

// 128 GPUs; a micro-batch of 4 unless given, but where the global batch is made of fewer: 1 sample
// a GPU; 3; 5 = 5 x 1; 6 = 2 x 3; 8 = 2 x 4.
TEST(Batches, DefaultGoesIntoTheGlobalBatch)
{
    const std::vector<std::array<uint32_t, 3>> cases = {{128, 1, 1},
                                                        {384, 3, 1},
                                                        {640, 1, 5},
                                                        {768, 3, 2},
                                                        {1024, 4, 2}};
    for (const auto& [global, micro, accumulation] : cases)
    {
        const auto result = Train({"--global-batch=" + std::to_string(global)});
        ASSERT_TRUE(result.scenario) << global;
        EXPECT_EQ(result.scenario->microBatch, micro) << global;
        EXPECT_EQ(result.scenario->options.accumulation, accumulation) << global;
    }
}

TEST(BadInput, OptionsThatMeanNothingHere)
{
    EXPECT_EQ(
        TrainError({"--model=resnet-50", "--seq=512"}),
        "--seq=512: cannot be combined with --model=resnet-50. It needs a model whose samples are "
        "sequences.");
    EXPECT_EQ(TrainError({"--prefetch=50MB"}),
              "--prefetch=50MB: needs --zero=3. This run has --zero=2.");
    EXPECT_EQ(TrainError({"--leaves=3"}),
              "--leaves=3: has no meaning for fat-tree; it belongs to dual-plane or leaf-spine");
    EXPECT_EQ(PerfError({"--root=3"}),
              "--root=3: needs --op=broadcast, reduce, gather or scatter. This run has "
              "--op=all_reduce.");
    EXPECT_EQ(PerfError({"--op=barrier", "-b", "8"}),
              "-b=8: cannot be combined with --op=barrier. It needs --op other than barrier.");
    EXPECT_EQ(TrainError({"--gpu=V100", "--dtype=bf16"}).find("--dtype=bf16: "), 0u);
}

TEST(BadInput, Algorithms)
{
    ExpectStarts(TrainError({"--algorithm=rnig"}),
                 "--algorithm=rnig: unknown algorithm; allowed: auto, ");
    ExpectEnds(TrainError({"--algorithm=rnig"}), "did you mean 'ring'?");
    ExpectStarts(TrainError({"--algorithm=all_reduce=pxn"}),
                 "--algorithm=all_reduce=pxn: does not do all_reduce; allowed for it: ");
    // A schedule's file.
    ExpectStarts(PerfError({"--algorithm=/nowhere/ring.xml"}),
                 "--algorithm=/nowhere/ring.xml: cannot be read: ");
    ExpectEnds(TrainError({"--algorithm=al_reduce=ring"}), "did you mean 'all_reduce'?");
    EXPECT_EQ(TrainError({"--algorithm=all_reduce=ring,all-reduce=hierarchical"}),
              "--algorithm=all-reduce=hierarchical: is a second algorithm for all_reduce");
    // By size: FROM-TO, the end not included.
    ExpectEnds(TrainError({"--algorithm=all_reduce=ring@64K"}),
               "\"64K\" is no range of sizes; allowed: FROM-TO or FROM-, from FROM on and below "
               "TO, as 0-64K and 64K-");
    for (const char* range : {"1M-1K", "x-1K", "1K-x", "-", "1K-1K"})
    {
        EXPECT_NE(TrainError({std::string("--algorithm=ring@") + range}).find("no range of sizes"),
                  std::string::npos)
            << range;
    }
    ExpectEnds(TrainError({"--algorithm=ring,hierarchical"}),
               "is a second algorithm for all operations");
    ExpectStarts(PerfError({"--protocol=ll", "--library=none"}),
                 "--protocol=ll: has no meaning with --library=none");
    ExpectStarts(PerfError({"--server=polaris", "--servers=2", "--protocol=ll128"}),
                 "--protocol=ll128: ll128 needs stores that arrive whole");
    ExpectStarts(PerfError({"--op=alltoall", "--algorithm=ring"}),
                 "--algorithm=ring: does not do alltoall, which this run needs; ");
}

TEST(Collperf, RadixOfKNomialTrees)
{
    const auto scenario =
        Perf({"--op=reduce", "--algorithm=k-nomial", "--radix=3", "--ranks=9"}).scenario;
    ASSERT_TRUE(scenario);
    EXPECT_EQ(scenario->collectives.options.radix, 3u);
    EXPECT_EQ(Perf({}).scenario->collectives.options.radix, 0u) << "the algorithm's own";
    ExpectStarts(PerfError({"--radix=1"}), "--radix=1: ");
}

TEST(BadInput, SizesOfCollperf)
{
    EXPECT_EQ(PerfError({"-b", "3"}),
              "-b=3: allowed: multiples of 4 B, an element of float; did you mean '4'?");
    EXPECT_EQ(PerfError({"-b", "64M", "-e", "1M"}), "-e=1M: allowed: at least minbytes, 64MiB");
    // The nearest whole number of elements, as far as it is no more than the largest size.
    const auto nearest = [](std::vector<std::string> args) {
        const std::string error = PerfError(args);
        const auto at = error.find("did you mean ");
        EXPECT_NE(at, std::string::npos) << error;
        return error.substr(at);
    };
    EXPECT_EQ(nearest({"-b", "1000003", "-e", "2000000"}), "did you mean '1000004'?");
    EXPECT_EQ(nearest({"-b", "1000003", "-e", "1000003"}), "did you mean '1000000'?");
    EXPECT_EQ(nearest({"-b", "1000001", "-e", "2000000"}), "did you mean '1000000'?");
    EXPECT_EQ(nearest({"-b", "1000003"}), "did you mean '1000004'?");
    EXPECT_EQ(nearest({"-b", "1"}), "did you mean '4'?");
    EXPECT_EQ(nearest({"-b", "8", "-e", "1000", "-i", "7"}), "did you mean '8'?");
    EXPECT_EQ(PerfError({"-b", "1M", "-e", "2M", "-f", "2", "-i", "1M"}),
              "-i=1M: allowed: this or stepfactor, not both");
    EXPECT_EQ(PerfError({"-b", "4", "-e", "1G", "-i", "4"}),
              "-i=4: makes more than 10000 sizes; allowed: a larger step");
    for (const std::string op : {"broadcast", "reduce", "gather", "scatter"})
    {
        EXPECT_EQ(PerfError({"--op=" + op, "--root=16"}), "--root=16: allowed: 0 to 15");
        EXPECT_EQ(Perf({"--op=" + op, "--root=15"}).scenario->root, 15u);
    }
    ExpectStarts(PerfError({"--op=sendrecv", "--root=1"}),
                 "--root=1: cannot be combined with --op=sendrecv. It needs --op=broadcast, ");
}

TEST(BadInput, ExitStatusAndStreams)
{
    const char* bad[] = {"dltrain", "--gpus=0"};
    EXPECT_EXIT(ParseOrExit<TrainingScenario>(2, bad),
                testing::ExitedWithCode(2),
                "^dltrain: error: --gpus=0: allowed: a whole number, 1 to 1000000\n$");
    const char* version[] = {"collperf", "--version"};
    EXPECT_EXIT(ParseOrExit<CollperfScenario>(2, version), testing::ExitedWithCode(0), "^$");
    const char* three[] = {"traffic", "--k=x", "--mtu=1", "--foo"};
    EXPECT_EXIT(ParseOrExit<TrafficScenario>(4, three),
                testing::ExitedWithCode(2),
                "--foo.*\n.*--k=x.*\n.*--mtu=1");
}

// ------------------------------------------------------------------------------------ defaults

TEST(Training, DefaultsAreThoseOfTheReadme)
{
    const auto result = Train({});
    ASSERT_TRUE(result.scenario);
    EXPECT_TRUE(result.notes.empty());
    const auto& s = *result.scenario;
    EXPECT_EQ(s.model, "bloom-560m");
    EXPECT_EQ(s.options.sharding.Stage(), 2u);
    EXPECT_EQ(s.plan.ranks, 128u);
    EXPECT_EQ(s.cluster.servers, 16u);
    EXPECT_EQ(s.cluster.server.gpus, 8u);
    EXPECT_EQ(s.cluster.server.nics, 1u);
    EXPECT_EQ(s.cluster.server.gpu, "A100");
    EXPECT_EQ(s.cluster.topologyName, "fat-tree k=4");
    EXPECT_EQ(s.microBatch, 4u);
    EXPECT_EQ(s.accumulation, 1u);
    EXPECT_EQ(s.globalBatch, 512u);
    EXPECT_EQ(s.sequence, 2048u);
    EXPECT_EQ(s.dtype, "bf16");
    EXPECT_EQ(s.steps, 1u);
    EXPECT_EQ(s.warmupSteps, 1u);
    EXPECT_EQ(s.options.bucketBytes, 25u << 20);
    EXPECT_EQ(s.fabric.nicRate, rdma::Gbps(100));
    EXPECT_EQ(s.fabric.mtu, 4096u);
    EXPECT_EQ(s.fabric.ackEvery, 16u);
    EXPECT_TRUE(s.fabric.pfc && s.fabric.ecn);
    EXPECT_EQ(s.fabric.cc, "dcqcn");
    EXPECT_EQ(s.fabric.ecnKmin.value, 400000u);
    EXPECT_EQ(s.fabric.ecnKmax.value, 1600000u);
    EXPECT_EQ(s.fabric.ecnPmax, 0.2);
    EXPECT_EQ(s.fabric.bufferPer100G.value, 1000000u);
    EXPECT_EQ(s.fabric.linkDelay, rdma::Microseconds(1));
    EXPECT_EQ(s.fabric.switchLatency, rdma::Nanoseconds(500));
    EXPECT_EQ(s.run.seed, 1u);
}

TEST(Training, TheNameOfTheIssueWorks)
{
    EXPECT_EQ(ValuesOf(Train({"--model=bloom560m", "--zero=2"})), ValuesOf(Train({})));
}

TEST(Training, SizesFollowFromEachOther)
{
    EXPECT_EQ(Train({"--gpus=64"}).scenario->cluster.servers, 8u);
    EXPECT_EQ(Train({"--gpus=256"}).scenario->cluster.topologyName, "fat-tree k=6");
    EXPECT_FALSE(Train({"--gpus=256"}).notes.empty());
    const auto fewer = Train({"--gpus=64", "--servers=16", "--placement=random", "--seed=5"});
    EXPECT_EQ(fewer.scenario->cluster.servers, 8u);
    EXPECT_EQ(fewer.scenario->cluster.topology.Hosts().size(), 16u);
    EXPECT_EQ(fewer.scenario->cluster.hostOfServer.size(), 8u);
    EXPECT_GE(*std::max_element(fewer.scenario->cluster.hostOfServer.begin(),
                                fewer.scenario->cluster.hostOfServer.end()),
              8u);
    EXPECT_EQ(Train({"--gpus-per-server=4"}).scenario->plan.ranks, 64u);
    EXPECT_EQ(Train({"--nics-per-server=8"}).scenario->cluster.topologyName,
              "8 rails of 1 group, 2 spines");
    EXPECT_EQ(Train({"--gpu=H100"}).scenario->cluster.server.name, "dgx-h100");
    EXPECT_EQ(Train({"--server=dgx-h100"}).scenario->gpu, "H100");
    EXPECT_EQ(Train({"--server=dgx-a100", "--gpu=H100"}).scenario->cluster.server.name, "dgx-a100");
    EXPECT_EQ(Train({"--gpu=A100-80GB"}).scenario->gpu, "A100");
    EXPECT_EQ(Train({"--global-batch=1024"}).scenario->accumulation, 2u);
    EXPECT_EQ(
        Train({"--global-batch=1024", "--accumulation=1", "--ignore-memory"}).scenario->microBatch,
        8u);
    EXPECT_EQ(Train({"--model=gpt2"}).scenario->sequence, 1024u); // no longer than the model
    EXPECT_EQ(Train({"--cc-preset=sigcomm15"}).scenario->fabric.ecnKmax.value, 500000u);
    EXPECT_EQ(Train({"--cc-preset=sigcomm15", "--ecn-kmax=2MB"}).scenario->fabric.ecnKmax.value,
              2000000u);
    EXPECT_FALSE(*Train({"--no-overlap"}).scenario->options.overlap);
    EXPECT_FALSE(*Train({"--zero-impl=deepspeed"}).scenario->options.overlap);
}

TEST(Training, AlgorithmsForAllOrByOperation)
{
    const auto all = Train({"--algorithm=hierarchical"});
    ASSERT_TRUE(all.scenario) << all.errors[0].Text();
    EXPECT_EQ(all.scenario->collectives.algorithms.size(), 3u);
    const auto one =
        Train({"--algorithm=reduce_scatter=hierarchical,all_gather=ring", "--channels=2"});
    ASSERT_TRUE(one.scenario) << one.errors[0].Text();
    ASSERT_EQ(one.scenario->collectives.algorithms.size(), 2u);
    EXPECT_EQ(one.scenario->collectives.algorithms[0].op, coll::Op::kReduceScatter);
    EXPECT_EQ(one.scenario->collectives.algorithms[0].name, "hierarchical");
    EXPECT_EQ(one.scenario->collectives.options.channels, 2u);
}

TEST(Training, AlgorithmsBySize)
{
    const auto choice = [](const std::vector<std::string>& options, uint64_t bytes) {
        const auto result = Parse(ParseAs<CollperfScenario>, options);
        EXPECT_TRUE(result.scenario) << result.errors[0].Text();
        const coll::Placement placement = RankPlacement(result.scenario->cluster);
        return ChoiceOf(result.scenario->collectives,
                        {coll::Op::kAllReduce, bytes, result.scenario->ranks},
                        placement);
    };
    const std::vector<std::string> rules = {
        "--server=dgx-a100",
        "--servers=2",
        "--algorithm=all_reduce=hierarchical@0-64K;ring@64K-1M,broadcast=ring"};
    EXPECT_EQ(choice(rules, 0).algorithm->Name(), "hierarchical");
    EXPECT_EQ(choice(rules, 65535).algorithm->Name(), "hierarchical");
    EXPECT_EQ(choice(rules, 65536).algorithm->Name(), "ring");
    // What is said of an operation wins over what is said of all.
    EXPECT_EQ(
        choice({"--ranks=16", "--algorithm=all_reduce=hierarchical,ring"}, 1).algorithm->Name(),
        "hierarchical");
    // Fewest messages in series.
    EXPECT_EQ(choice({"--ranks=16", "--algorithm=auto"}, 1).algorithm->Name(),
              "double-binary-tree");
    EXPECT_EQ(choice({"--ranks=16", "--algorithm=auto"}, 1 << 30).algorithm->Name(), "ring");
    // Small messages go with flags, large ones without; forced, all go as told.
    EXPECT_EQ(*choice({"--server=dgx-a100", "--servers=1"}, 1024).protocol, topo::Protocol::kLl);
    EXPECT_EQ(*choice({"--server=dgx-a100", "--servers=1"}, 1 << 30).protocol,
              topo::Protocol::kSimple);
    EXPECT_EQ(*choice({"--server=dgx-a100", "--protocol=ll128"}, 1024).protocol,
              topo::Protocol::kLl128);
    EXPECT_FALSE(choice({"--server=dgx-a100", "--library=none"}, 1024).protocol);
}

TEST(Training, EstimateOfTheDefaultJob)
{
    const auto result = Train({"--protocol=simple"}); // no flags on the wire
    const Estimate step = EstimateStep(*result.scenario);
    const Estimate run = EstimateRun(*result.scenario);
    // Per server and step 2 x 2 psi (n-1)/n B cross its NIC (reduce-scatter and all-gather of a
    // ring that visits servers one by one), psi = 559.2 M, over 3.5 links on average in linear
    // order on k = 4.
    const double bytes = 16 * 2 * 2 * 559.2e6 * 127 / 128;
    EXPECT_NEAR(step.networkBytes, bytes, bytes * 0.001);
    EXPECT_DOUBLE_EQ(step.meanHops, 3.5);
    EXPECT_DOUBLE_EQ(run.frameHops, 2 * step.frameHops);
    EXPECT_GT(run.frameHops, 62e6); // "about 64 million frame-hops"
    EXPECT_LT(run.frameHops, 66e6);
    EXPECT_NEAR(step.busiestPortSeconds, bytes / 16 * 8 / 100e9 * 1.02, 0.002);
    EXPECT_FALSE(step.sampled);
    EXPECT_GT(EstimateStep(*Train({"--placement=random"}).scenario).meanHops, 4.5);
    const std::string plan = PlanText(*result.scenario);
    for (const char* word : {"bloom-560m",
                             "559,214,592 parameters",
                             "16 hosts, 8 + 8 + 4 switches",
                             "reduce_scatter ring",
                             "GPU memory",
                             "assumed"})
    {
        EXPECT_NE(plan.find(word), std::string::npos) << word << "\n" << plan;
    }
}

// With --layers the steps of fewer blocks are of the run, too.
TEST(Training, EstimateOfAllSizes)
{
    const auto result = Train({"--model=gpt2", "--layers=6", "--steps=3", "--warmup=2"});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    const auto& sizes = result.scenario->plan.sizes;
    ASSERT_GT(sizes.size(), 1u);
    double frameHops = 0;
    double smaller = 0; // than the one before
    for (std::size_t i = 0; i < sizes.size(); ++i)
    {
        const Estimate step = EstimateStep(*result.scenario, i);
        EXPECT_TRUE(i == 0 || step.frameHops < smaller);
        smaller = step.frameHops;
        frameHops += 5 * step.frameHops;
    }
    EXPECT_NEAR(EstimateRun(*result.scenario).frameHops, frameHops, 1e-9 * frameHops);
    EXPECT_NE(PlanText(*result.scenario).find("Estimate, whole run"), std::string::npos);
}

TEST(Training, SampledEstimatesAgree)
{
    // 3,072 ranks: schedules are sampled. Per server one channel crosses its NIC: 2 x 2 psi (n-1)/n
    // again.
    const auto result = Parse(ParseAs<TrainingScenario>,
                              {"--scenario=" DLTRAIN_ROOT "/scenarios/presets/bloom560m-3072.json",
                               "--protocol=simple",
                               "--dry-run"});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    const Estimate e = EstimateStep(*result.scenario);
    const double bytes = 384.0 * 2 * 2 * 559.2e6 * 3071 / 3072;
    EXPECT_TRUE(e.sampled);
    EXPECT_NEAR(e.networkBytes, bytes, bytes * 0.001);
}

TEST(Training, ConfigurationAsRunReadsBack)
{
    const std::vector<std::vector<std::string>> commands = {
        {},
        {"--gpus=64",
         "--servers=16",
         "--placement=random",
         "--seed=5",
         "--algorithm=all_gather=hierarchical",
         "--channels=1"},
        {"--gpu=V100",
         "--dtype=fp16",
         "--recompute",
         "--oversubscription=4",
         "--cc=none",
         "--no-pfc"},
        {"--model=resnet-50", "--topology=leaf-spine", "--global-batch=1024"},
        {"--zero=3",
         "--zero-impl=deepspeed",
         "--prefetch=10MB",
         "--nics-per-server=2",
         "--pcap=server-3"},
    };
    for (const auto& command : commands)
    {
        const auto first = Train(command);
        ASSERT_TRUE(first.scenario) << first.errors[0].Text();
        const auto second = ValidateTraining(ReadScenarioText(TrainingOptionTable(),
                                                              first.scenario->run.asRun.dump(),
                                                              "again.json"));
        ASSERT_TRUE(second.scenario) << second.errors[0].Text();
        EXPECT_EQ(first.scenario->run.asRun, second.scenario->run.asRun);
        EXPECT_EQ(first.scenario->cluster.hostOfServer, second.scenario->cluster.hostOfServer);
        EXPECT_EQ(PlanText(*first.scenario), [&] {
            auto same = *second.scenario;
            same.run.dryRun = true;
            same.run.out = first.scenario->run.out;
            return PlanText(same);
        }());
    }
}

TEST(Training, EveryOptionGivesTheSameScenarioOnTheCommandLineAndInJson)
{
    CaseShare share(713, 8);
    for (const auto& o : TrainingOptionTable().options)
    {
        if (o.path.empty() || o.kind == Kind::kFile || o.kind == Kind::kText || !share.Takes())
        {
            continue;
        }
        if (o.name.rfind("aggregation-", 0) == 0)
        {
            continue; // where nothing uses them refused if typed, told of if in a file
        }
        std::string text = o.example;
        if (text.empty())
        {
            text = o.kind == Kind::kFlag ? (o.defaultText == "1" ? "0" : "1")
                   : o.oneOf.empty()     ? o.names().back().name
                                         : std::to_string(o.oneOf[0]);
        }
        const auto cli = ValidateTraining([&] {
            const std::string arg = "--" + o.name + "=" + text;
            const char* argv[] = {"dltrain", arg.c_str()};
            return ReadOptions(TrainingOptionTable(), 2, argv);
        }());
        nlohmann::json document;
        document[nlohmann::json::json_pointer(o.path)] = AsJson(o, text);
        const auto file =
            ValidateTraining(ReadScenarioText(TrainingOptionTable(), document.dump(), "x.json"));
        ASSERT_EQ(cli.scenario.has_value(), file.scenario.has_value()) << o.name;
        ASSERT_EQ(cli.errors.size(), file.errors.size()) << o.name;
        for (size_t i = 0; i < cli.errors.size(); ++i)
        {
            EXPECT_EQ(cli.errors[i].problem, file.errors[i].problem) << o.name;
        }
        if (cli.scenario)
        {
            EXPECT_EQ(cli.scenario->run.asRun, file.scenario->run.asRun) << o.name;
            EXPECT_EQ(PlanText(*cli.scenario), PlanText(*file.scenario)) << o.name;
        }
    }
}

TEST(Collperf, SizesAsNcclTests)
{
    const auto sweep = Perf(
        {"--op=all_reduce", "-b", "1M", "-e", "1G", "-f", "2", "--ranks=16", "--algorithm=ring"});
    ASSERT_TRUE(sweep.scenario) << sweep.errors[0].Text();
    EXPECT_EQ(sweep.scenario->sizes.size(), 11u);
    EXPECT_EQ(sweep.scenario->sizes.back(), 1u << 30);
    EXPECT_EQ(sweep.scenario->cluster.topologyName, "single-switch");
    EXPECT_EQ(sweep.scenario->cluster.servers, 16u);
    EXPECT_EQ(Perf({"-b", "1M", "-e", "4M", "-i", "1M"}).scenario->sizes,
              (std::vector<uint64_t>{1 << 20, 2 << 20, 3 << 20, 4 << 20}));
    EXPECT_EQ(Perf({}).scenario->sizes, (std::vector<uint64_t>{32 << 20}));
    EXPECT_EQ(Perf({"-b", "4", "-e", "16", "-f", "1.5"}).scenario->sizes,
              (std::vector<uint64_t>{4, 8, 12, 16})); // whole elements, always on
    EXPECT_EQ(Perf({"--op=barrier"}).scenario->sizes, (std::vector<uint64_t>{0}));
    EXPECT_EQ(Perf({"--op=all-to-all"}).scenario->op, coll::Op::kAllToAll);
    EXPECT_EQ(Perf({"--servers=4", "--gpus-per-server=8"}).scenario->ranks, 32u);
    EXPECT_EQ(Perf({"-d", "half"}).scenario->elementBytes, 2u);
}

TEST(Collperf, OptionsThatNoAlgorithmReadsAreRefused)
{
    // 32 MiB of all_reduce: a ring or a double binary tree.
    for (const char* option :
         {"--radix=2", "--dimensions=4x4", "--parameter-servers=2", "--levels=ring,ring"})
    {
        const std::string error = PerfError({option});
        ExpectStarts(error, std::string(option) + ": has no meaning for all_reduce (");
        EXPECT_NE(error.find("; it belongs to "), std::string::npos) << error;
    }
    ExpectStarts(PerfError({"--op=barrier", "--channels=2"}),
                 "--channels=2: has no meaning for barrier (dissemination); it belongs to bruck, ");
    for (const std::vector<std::string>& read : std::vector<std::vector<std::string>>{
             {"--algorithm=torus", "--dimensions=4x4"},
             {"--algorithm=parameter-server", "--parameter-servers=2"},
             {"--algorithm=hierarchical", "--ngpus=4", "--servers=4", "--levels=ring,tree"},
             // Of a level.
             {"--algorithm=hierarchical",
              "--ngpus=4",
              "--servers=4",
              "--levels=ring,parameter-server",
              "--parameter-servers=2"}})
    {
        const auto result = Perf(read);
        ASSERT_TRUE(result.scenario) << result.errors[0].Text();
        EXPECT_TRUE(result.notes.empty()) << result.notes[0];
    }
    // Where only some of what is chosen reads it, the run goes on and says so.
    const auto some = Perf({"--op=broadcast",
                            "--algorithm=broadcast=k-nomial@0-64K;ring@64K-",
                            "-b",
                            "1K",
                            "-e",
                            "1M",
                            "-f",
                            "16",
                            "--radix=2"});
    ASSERT_TRUE(some.scenario) << some.errors[0].Text();
    ASSERT_EQ(some.notes.size(), 1u);
    EXPECT_EQ(some.notes[0], "--radix has no meaning for broadcast (ring), of what this run does");
}

TEST(Collperf, EstimateIsTheFormula)
{
    const auto result = Perf({"-b", "64M", "--ranks=16", "--algorithm=ring"});
    ASSERT_TRUE(result.scenario);
    const Estimate e = EstimateRun(*result.scenario);
    const double bytes = 16 * 2.0 * 15 / 16 * (64 << 20);
    EXPECT_DOUBLE_EQ(e.networkBytes, bytes);
    EXPECT_DOUBLE_EQ(e.dataPackets, bytes / 4096);
    EXPECT_DOUBLE_EQ(e.frameHops, 2 * bytes / 4096 * (1 + 1.0 / 16));
}

// ----------------------------------------------------------------------------- output folders

TEST(Output, FoldersAreNumberedSoThatNothingIsLost)
{
    Scratch scratch;
    EXPECT_EQ(Train({}).scenario->run.out, "results/dltrain-N");
    EXPECT_FALSE(fs::exists("results"));
    EXPECT_EQ(Parse(ParseAs<TrainingScenario>, {}).scenario->run.out, "results/dltrain-1");
    EXPECT_EQ(Parse(ParseAs<TrainingScenario>, {}).scenario->run.out, "results/dltrain-2");
    EXPECT_EQ(Parse(ParseAs<CollperfScenario>, {}).scenario->run.out, "results/collperf-1");
    for (int again = 0; again < 2; ++again)
    {
        const auto result = Parse(ParseAs<TrafficScenario>, {"--out=a/b/c"});
        ASSERT_TRUE(result.scenario) << result.errors[0].Text();
        EXPECT_EQ(result.scenario->run.out, "a/b/c");
        EXPECT_TRUE(fs::is_directory("a/b/c"));
        EXPECT_TRUE(fs::is_empty("a/b/c"));
    }
    // Nothing is made when anything is wrong.
    EXPECT_FALSE(Parse(ParseAs<TrafficScenario>, {"--out=never", "--offset=500"}).scenario);
    EXPECT_FALSE(fs::exists("never"));
    // Where results go is no part of the configuration.
    EXPECT_EQ(Parse(ParseAs<TrafficScenario>, {"--out=x"}).scenario->run.asRun,
              Parse(ParseAs<TrafficScenario>, {"--out=y"}).scenario->run.asRun);
}

// ------------------------------------------------------------------------------------ presets

TEST(Presets, EveryOneIsValid)
{
    std::set<std::string> programs;
    for (const auto& entry : fs::recursive_directory_iterator(DLTRAIN_ROOT "/scenarios/presets"))
    {
        if (entry.path().extension() != ".json")
        {
            continue;
        }
        std::ifstream in(entry.path());
        const auto json = nlohmann::json::parse(in);
        const std::string program = json.at("program");
        programs.insert(program);
        EXPECT_FALSE(json.at("description").get<std::string>().empty());
        const std::vector<std::string> args{"--dry-run", "--scenario=" + entry.path().string()};
        std::vector<Error> errors;
        std::vector<std::string> notes;
        const auto take = [&](const auto& result) {
            errors = result.errors;
            notes = result.notes;
            return result.scenario.has_value();
        };
        const bool valid = program == "dltrain"    ? take(Parse(ParseAs<TrainingScenario>, args))
                           : program == "collperf" ? take(Parse(ParseAs<CollperfScenario>, args))
                                                   : take(Parse(ParseAs<TrafficScenario>, args));
        EXPECT_TRUE(valid) << entry.path() << ": " << (errors.empty() ? "" : errors[0].Text());
        for (const auto& note : notes)
        {
            EXPECT_EQ(note.find("warning"), std::string::npos) << entry.path() << ": " << note;
        }
    }
    EXPECT_EQ(programs, (std::set<std::string>{"collperf", "dltrain", "traffic"}));
}

TEST(Presets, DefaultIsWhatDltrainDoesWithoutOptions)
{
    const auto preset =
        Parse(ParseAs<TrainingScenario>,
              {"--dry-run", "--scenario=" DLTRAIN_ROOT "/scenarios/presets/default.json"});
    ASSERT_TRUE(preset.scenario) << preset.errors[0].Text();
    EXPECT_EQ(ValuesOf(preset), ValuesOf(Train({})));
}

TEST(Presets, TheLargeClusterIsTheOneOfTheIssue)
{
    const auto result =
        Parse(ParseAs<TrainingScenario>,
              {"--dry-run", "--scenario=" DLTRAIN_ROOT "/scenarios/presets/bloom560m-3072.json"});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    EXPECT_EQ(result.scenario->plan.ranks, 3072u);
    EXPECT_EQ(result.scenario->cluster.servers, 384u);
    EXPECT_EQ(result.scenario->cluster.topologyName, "fat-tree k=12");
    EXPECT_EQ(result.scenario->fabric.nicRate, rdma::Gbps(100));
    EXPECT_EQ(result.scenario->options.sharding.Stage(), 2u);
}

// The host's time goes on top of each kernel's own; by default kernels are launched ahead.
TEST(Validate, HostsThatWaitForEachKernel)
{
    const double launch = training::FindGpu("A100")->rates.launch;
    const auto ahead = Train({"--gpu=A100"});
    const auto waits = Train({"--gpu=A100", "--launch-gap=7.5us"});
    ASSERT_TRUE(ahead.scenario && waits.scenario);
    EXPECT_EQ(ahead.scenario->options.gpu.rates.launch, launch);
    EXPECT_DOUBLE_EQ(waits.scenario->options.gpu.rates.launch, launch + 7.5e-6);
    EXPECT_FALSE(Train({"--launch-gap=-1us"}).scenario);
}

// DeepSpeed's pipelines await what they send, and have one schedule.
TEST(Validate, SendsOfPipelines)
{
    for (const char* sends : {"background", "awaited", "deepspeed"})
    {
        const auto run = Train({"--pp=2", "--pipeline-sends=" + std::string(sends)});
        ASSERT_TRUE(run.scenario) << sends;
        EXPECT_EQ(run.scenario->options.awaitedSends, sends != std::string("background"));
        EXPECT_EQ(run.scenario->options.deepSpeedSends, sends == std::string("deepspeed"));
    }
    EXPECT_FALSE(
        Train({"--pp=2", "--pipeline-schedule=gpipe", "--pipeline-sends=deepspeed"}).scenario);
}

// A schedule that cannot have a shape names the option whose number it is, and what it may be.
TEST(Validate, SchedulesOfPipelines)
{
    const auto refused = [](std::vector<std::string> options, const std::string& text) {
        options.insert(options.begin(), "--model=llama-2-7b");
        const auto result = Train(options);
        ASSERT_FALSE(result.errors.empty()) << text;
        EXPECT_NE(result.errors[0].Text().find(text), std::string::npos) << result.errors[0].Text();
    };
    for (const char* schedule : {"interleaved", ""})
    {
        std::vector<std::string> options = {"--pp=3",
                                            "--gpus=12",
                                            "--gpus-per-server=4",
                                            "--virtual-stages=2"};
        if (*schedule)
        {
            options.push_back("--pipeline-schedule=" + std::string(schedule));
        }
        options.push_back("--accumulation=4");
        refused(options, "is 4, but interleaved takes micro-batches in groups of the 3 stages");
        refused(options, "accumulation");
        refused(options, "allowed: multiples of 3");
        options.back() = "--accumulation=6";
        EXPECT_TRUE(Train(options).scenario);
    }
    refused({"--pp=2", "--pipeline-schedule=gpipe", "--virtual-stages=2"}, "virtual-stages");
    refused({"--pp=2", "--pipeline-schedule=gpipe", "--virtual-stages=2"},
            "is 2, but gpipe has one virtual stage a device; allowed: 1, or");
    // What was given is named, and nothing is offered that something else forbids.
    refused({"--pp=3",
             "--gpus=12",
             "--gpus-per-server=4",
             "--virtual-stages=2",
             "--micro-batch=1",
             "--global-batch=16"},
            "makes an accumulation that is 4, but interleaved");
    refused({"--pp=2", "--pipeline-schedule=interleaved", "--virtual-stages=1"},
            "is 1, with which interleaved is 1f1b; allowed: at least 2, or");
    refused({"--pp=2", "--pipeline-schedule=gpipe", "--replicas=2-1", "--accumulation=2"},
            "replicas");
}

// A law that brings no preset is marked for as a switch marks by itself, not from the first byte
// on.
TEST(Validate, CongestionControlWithoutPresets)
{
    const rdma::RegisteredCongestionControl plain{"plain", "of this test", {}};
    const auto run = Train({"--cc=plain"});
    ASSERT_TRUE(run.scenario);
    EXPECT_EQ(run.scenario->fabric.ecnKmin.value, 400000u);
    EXPECT_EQ(run.scenario->fabric.ecnKmax.value, 1600000u);
    EXPECT_EQ(run.scenario->fabric.ecnPmax, 0.2);
    EXPECT_FALSE(run.scenario->run.asRun["fabric"].contains("cc_preset"));
    for (const auto& note : run.notes)
    {
        EXPECT_EQ(note.find("ecn-kmin"), std::string::npos) << note;
    }
    EXPECT_EQ(Train({"--cc=plain", "--ecn-kmin=1MB"}).scenario->fabric.ecnKmin.value, 1000000u);
    EXPECT_EQ(TrainError({"--cc=plain", "--cc-preset=hpcc19"}),
              "--cc-preset=hpcc19: is of dctcp, not of --cc=plain, which has no presets");
    EXPECT_EQ(
        TrainError({"--cc=swift", "--cc-preset=hpcc-code"}),
        "--cc-preset=hpcc-code: is of dcqcn, dctcp, hpcc or timely, not of --cc=swift; allowed: "
        "sigcomm20, csg-htsim");
}

TEST(Validate, TimeoutsAreNcclsForWhatNcclSends)
{
    // NCCL 2.23 and later: NCCL_IB_TIMEOUT 20, NCCL_IB_RETRY_CNT 7; drivers' default for plain
    // traffic: 14.
    const auto training = Train({});
    ASSERT_TRUE(training.scenario);
    EXPECT_EQ(training.scenario->fabric.timeoutExponent, 20u);
    const auto& attributes = training.scenario->run.optionAttributes;
    EXPECT_EQ(std::count(attributes.begin(),
                         attributes.end(),
                         std::pair<std::string, std::string>{"ns3::RdmaNic::RetryCount", "7"}),
              1);
    const auto collective = Perf({});
    ASSERT_TRUE(collective.scenario);
    EXPECT_EQ(collective.scenario->fabric.timeoutExponent, 20u);
    const auto traffic =
        Parse(ParseAs<TrafficScenario>, Dry({"--topology=single-switch", "--hosts=4"}));
    ASSERT_TRUE(traffic.scenario);
    EXPECT_EQ(traffic.scenario->fabric.timeoutExponent, 14u);
    const auto older = Train({"--timeout-exponent=18"}); // NCCL 2.14 to 2.22
    ASSERT_TRUE(older.scenario);
    EXPECT_EQ(older.scenario->fabric.timeoutExponent, 18u);
}
