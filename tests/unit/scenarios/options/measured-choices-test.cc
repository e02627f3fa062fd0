/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --tuner=measured: what is to be measured, who takes it, and the file it is kept in.
 */
#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-cache.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/startup/parse.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace scenario;

namespace
{

template <class T>
T
Runs(std::vector<std::string> args)
{
    args.insert(args.begin(), "program");
    args.emplace_back("--dry-run");
    args.emplace_back("--tuner=measured");
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    const auto result = ParseAs<T>(static_cast<int>(argv.size()), argv.data());
    EXPECT_TRUE(result.scenario) << result.errors[0].Text();
    return *result.scenario;
}

/// Times that make the last candidate the fastest.
void
Pretend(MeasuredChoices& choices)
{
    for (MeasuredCollective& one : choices.All())
    {
        int64_t ps = 1000000;
        for (TriedChoice& tried : one.tried)
        {
            tried.ps = ps--;
        }
    }
}

nlohmann::json
KeyOf(const CollperfScenario& s)
{
    return MeasurementKey(s.run, s.cluster, s.collectives.machine);
}

class Folder
{
  public:
    Folder()
        : m_path(testing::TempDir() + "measured-choices-test-" + std::to_string(::getpid()))
    {
        std::filesystem::remove_all(m_path);
    }

    ~Folder()
    {
        std::filesystem::remove_all(m_path);
    }

    const std::string& Path() const
    {
        return m_path;
    }

  private:
    std::string m_path;
};

TEST(MeasuredChoices, SizesAreMeasuredAtTheNearestPowerOfTwo)
{
    const auto expect = [](uint64_t bytes, uint64_t at, uint64_t from, uint64_t below) {
        EXPECT_EQ(RangeOf(bytes).at, at) << bytes;
        EXPECT_EQ(RangeOf(bytes).from, from) << bytes;
        EXPECT_EQ(RangeOf(bytes).below, below) << bytes;
    };
    expect(0, 0, 0, 1);
    expect(1, 1, 1, 2);
    // By ratio: 1024 / sqrt 2 = 724.08, 1024 sqrt 2 = 1448.15.
    expect(724, 512, 363, 725); // 512 / sqrt 2 = 362.04
    expect(725, 1024, 725, 1449);
    expect(1023, 1024, 725, 1449);
    expect(1024, 1024, 725, 1449);
    expect(1448, 1024, 725, 1449);
    // 262,140 is 1 element below 256 KiB: not what was measured at half of it.
    EXPECT_EQ(RangeOf(262140).at, 262144U);
    // 2^28 / sqrt 2 = 189,812,531.2
    expect(189812531, uint64_t{128} << 20, 94906266, 189812532);
    expect(189812532, uint64_t{256} << 20, 189812532, UINT64_MAX);
    expect(UINT64_MAX, uint64_t{256} << 20, 189812532, UINT64_MAX);
    for (uint64_t bytes = 1; bytes < 100000; ++bytes)
    {
        const SizeRange range = RangeOf(bytes);
        ASSERT_TRUE(range.from <= bytes && bytes < range.below) << bytes;
        ASSERT_EQ(RangeOf(range.below).from, range.below) << bytes;
    }
    expect(uint64_t{256} << 20, uint64_t{256} << 20, 189812532, UINT64_MAX);
}

TEST(MeasuredChoices, NothingIsMeasuredThatIsNamedOrAlone)
{
    const auto count = [](const std::vector<std::string>& args) {
        return Runs<CollperfScenario>(args).collectives.measured->All().size();
    };
    // 1, 2, ... 8 KiB: a range each; 6 and 7 KiB are of one, 5 KiB is nearer to 4.
    EXPECT_EQ(count({"--ranks=4", "-b", "1K", "-e", "8K"}), 4u);
    EXPECT_EQ(count({"--ranks=4", "-b", "6K", "-e", "7K", "-i", "1K"}), 1u);
    EXPECT_EQ(count({"--ranks=4", "-b", "5K", "-e", "7K", "-i", "2K"}), 2u);
    EXPECT_EQ(count({"--ranks=4", "-b", "1K", "-e", "8K", "--algorithm=all_reduce=ring@2K-"}), 1u);
    // One that is compared chooses the same, one that is named does not.
    EXPECT_EQ(count({"--ranks=4", "-b", "1K", "--compare=auto,ring"}), 1u);
    EXPECT_EQ(count({"--ranks=4", "-b", "1K", "--algorithm=ring", "--compare=auto"}), 1u);
}

TEST(MeasuredChoices, TheFastestIsTakenWhereItWasMeasured)
{
    const auto s = Runs<CollperfScenario>({"--ranks=5", "-b", "44K", "-e", "1M", "-f", "2"});
    const coll::Placement placement = RankPlacement(s.cluster);
    MeasuredChoices& choices = *s.collectives.measured;
    const auto at = [&](uint64_t bytes) {
        return ChoiceOf(s.collectives, s.CollectiveOf(bytes), placement);
    };
    // 44 KiB is nearer to 32 than to 64 KiB: 32,768 / sqrt 2 = 23,170.5, times sqrt 2 46,340.95.
    const coll::Choice before = at(46340);
    EXPECT_EQ(before.algorithm, choices.All()[0].tried[0].choice.algorithm);
    Pretend(choices);
    const coll::Choice& last = choices.All()[0].tried.back().choice;
    for (const uint64_t bytes : {23171, 32768, 46340})
    {
        EXPECT_EQ(at(bytes).algorithm, last.algorithm);
        EXPECT_EQ(at(bytes).protocol, last.protocol);
        EXPECT_EQ(at(bytes).channels, last.channels);
        EXPECT_EQ(s.collectives.OptionsFor(s.op, at(bytes)).channels, last.channels);
    }
    EXPECT_EQ(at(1024).seconds,
              coll::Choose(s.CollectiveOf(1024),
                           placement,
                           s.collectives.OptionsFor(s.op),
                           s.collectives.machine)
                  .seconds)
        << "of no measured range";
    // A way that did not come to an end is not taken; if none does, the formula's is.
    choices.All()[0].tried.back().ps = 0;
    EXPECT_EQ(choices.All()[0].Best().ps,
              choices.All()[0].tried[choices.All()[0].tried.size() - 2].ps);
    for (TriedChoice& tried : choices.All()[0].tried)
    {
        tried.ps = 0;
    }
    EXPECT_EQ(&choices.All()[0].Best(), &choices.All()[0].Model());
}

TEST(MeasuredChoices, GroupsOfAStepThatLieAlikeAreMeasuredTogether)
{
    // 4 servers of 4 GPUs, tensor parallel in the server: 4 groups of a server, whose all_reduces
    // are alike, and 4 of one GPU of each server.
    const auto s = Runs<TrainingScenario>(
        {"--model=gpt2", "--servers=4", "--gpus-per-server=4", "--tp=4", "--zero=0"});
    std::set<std::vector<coll::Rank>> across;
    for (const MeasuredCollective& one : s.collectives.measured->All())
    {
        EXPECT_EQ(one.groups.size(), 4u);
        std::set<coll::Rank> all;
        for (const auto& ranks : one.groups)
        {
            EXPECT_EQ(ranks.size(), 4u);
            all.insert(ranks.begin(), ranks.end());
            if (ranks[1] - ranks[0] == 4)
            {
                across.insert(ranks);
            }
        }
        EXPECT_EQ(all.size(), 16u) << "of no rank two";
    }
    EXPECT_EQ(across.size(), 4u);
}

TEST(MeasuredCache, ReadsWhatItWrote)
{
    const Folder folder;
    const std::vector<std::string> args{"--ranks=6", "-b", "1K", "-e", "4K"};
    const auto s = Runs<CollperfScenario>(args);
    MeasuredCache cache(folder.Path(), KeyOf(s));
    EXPECT_EQ(cache.Read(s.collectives.measured.get()), "") << "no file is not wrong";
    EXPECT_FALSE(s.collectives.measured->All()[0].IsKnown());
    ASSERT_EQ(cache.Prepare(), "");
    Pretend(*s.collectives.measured);
    ASSERT_EQ(cache.Write(*s.collectives.measured), "");

    const auto again = Runs<CollperfScenario>({"--ranks=6", "-b", "2K", "-e", "8K"});
    MeasuredCache other(folder.Path(), KeyOf(again));
    EXPECT_EQ(other.File(), cache.File()) << "sizes are not the network";
    EXPECT_EQ(other.Read(again.collectives.measured.get()), "");
    EXPECT_TRUE(again.collectives.measured->All()[0].IsKnown());
    EXPECT_EQ(again.collectives.measured->All()[0].tried[1].ps, 999999);
    EXPECT_TRUE(again.collectives.measured->All()[1].IsKnown());
    EXPECT_FALSE(again.collectives.measured->All()[2].IsKnown());
    // What one adds stands beside what was there; a process that was killed leaves another name.
    std::ofstream(cache.File() + ".tmp-1") << "{\"half";
    Pretend(*again.collectives.measured);
    ASSERT_EQ(other.Write(*again.collectives.measured), "");
    const auto third = Runs<CollperfScenario>({"--ranks=6", "-b", "1K", "-e", "8K"});
    MeasuredCache all(folder.Path(), KeyOf(third));
    EXPECT_EQ(all.Read(third.collectives.measured.get()), "");
    for (const MeasuredCollective& one : third.collectives.measured->All())
    {
        EXPECT_TRUE(one.IsKnown()) << one.range.from;
    }
}

TEST(MeasuredCache, AnotherNetworkIsAnotherFile)
{
    std::set<std::string> files;
    const auto file = [&](std::vector<std::string> args) {
        args.insert(args.end(), {"-b", "1K"});
        return MeasuredCache("x", KeyOf(Runs<CollperfScenario>(args))).File();
    };
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"--ranks=6"},
             {"--ranks=7"},
             {"--ranks=6", "--nic=200GbE"},
             {"--ranks=6", "--cc=hpcc"},
             {"--ranks=6", "--mtu=1024"},
             {"--ranks=6", "--fabric=ib"},
             {"--ranks=6", "--topology=fat-tree"},
             {"--ranks=6", "--topology=fat-tree", "--oversubscription=4", "--k=8"},
             {"--ranks=6", "--topology=fat-tree", "--k=8"},
             {"--ranks=6", "--topology=fat-tree", "--k=8", "--placement=random"},
             {"--ranks=6", "--seed=2"},
             {"--ranks=6", "--step-latency=1us"},
             {"--ranks=6", "--library=none"},
             {"--ranks=6", "--server=dgx-h100", "--nic=100GbE"},
             {"--servers=3", "--gpus-per-server=2"},
             {"--ranks=6", "--nccl-env=NCCL_PROTO=LL"},
             {"--ranks=6", "--qps-per-connection=2"},
         })
    {
        EXPECT_TRUE(files.insert(file(args)).second) << Join(args, " ");
    }
    // What only says what runs or is written is not the network.
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"--ranks=6", "--op=all_gather"},
             {"--ranks=6", "--iters=3", "--report=0", "--attribution=0"},
             {"--ranks=6", "--tuner-cache=elsewhere"},
             {"--ranks=6", "--algorithm=all_gather=ring"},
         })
    {
        EXPECT_EQ(file(args), file({"--ranks=6"})) << Join(args, " ");
    }
}

TEST(MeasuredCache, AFileThatIsNoneIsAnError)
{
    const Folder folder;
    const auto s = Runs<CollperfScenario>({"--ranks=6", "-b", "1K"});
    const MeasuredCache probe(folder.Path(), KeyOf(s));
    ASSERT_EQ(probe.Prepare(), "");
    for (const std::string text : {"", "[]", "{", "{}", "{\"format\": 3}"})
    {
        std::ofstream(probe.File()) << text;
        MeasuredCache cache(folder.Path(), KeyOf(s));
        const std::string why = cache.Read(s.collectives.measured.get());
        EXPECT_EQ(why.rfind(probe.File() + ": ", 0), 0u) << why;
        EXPECT_NE(why.find("allowed: "), std::string::npos) << why;
        EXPECT_FALSE(s.collectives.measured->All()[0].IsKnown());
    }
    std::filesystem::remove(probe.File());
    std::filesystem::create_directory(probe.File());
    MeasuredCache cache(folder.Path(), KeyOf(s));
    EXPECT_NE(cache.Read(s.collectives.measured.get()), "");
    const std::string file = folder.Path() + "/file";
    std::ofstream(file) << "x";
    EXPECT_NE(MeasuredCache(file + "/below", KeyOf(s)).Prepare(), "");
}

} // namespace
