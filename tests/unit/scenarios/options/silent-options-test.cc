/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * No option of a training job is accepted and does nothing without a word: each option at a value
 * of its own, in many configurations, either changes what is simulated or told, or there is an
 * error or a note that was not there without it.
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/validate.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/options/training-options.h"
#include "tests/unit/full.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace scenario;

namespace
{

class Print
{
  public:
    template <class T>
    Print& operator<<(const T& value)
    {
        m_out << value << ' ';
        return *this;
    }

    Print& operator<<(rdma::Duration d)
    {
        return *this << d.ps;
    }

    std::string Text() const
    {
        return m_out.str();
    }

  private:
    std::ostringstream m_out;
};

void
PlanOf(const training::TrainingPlan& plan, Print& out)
{
    for (const auto& role : plan.roles)
    {
        for (const auto& name : role.streams)
        {
            out << name;
        }
        for (const auto& task : role.tasks)
        {
            out << int(task.kind) << int(task.phase) << task.stream << task.duration << int(task.op)
                << task.bytes << task.group << task.peerOffset << task.tag;
            for (const uint64_t of : task.after)
            {
                out << of;
            }
            for (uint32_t i = 0; task.blocks && i < 4; ++i)
            {
                out << task.blocks->Bytes(0, i % task.blocks->Ranks());
            }
        }
    }
    for (const auto& size : plan.sizes)
    {
        out << size.blocks << size.firstRole;
    }
    for (const auto& kind : plan.groupKinds)
    {
        out << kind.name;
        for (const auto& group : kind.groups)
        {
            for (const coll::Rank rank : group)
            {
                out << rank;
            }
        }
    }
    for (const double slow : plan.slowness)
    {
        out << slow;
    }
    for (const auto role : plan.roleOf)
    {
        out << role;
    }
    out << plan.jitter.sigma << (plan.jitter.sigma > 0 ? plan.jitter.seed : 0) << plan.contention
        << plan.speeds.size() << plan.samplesPerStep << plan.flopsPerGpuPerStep
        << plan.gpuMemoryBytes;
    out << (plan.queue ? int(plan.queue->order) + 4 * int(plan.queue->inFlight) : 0);
    for (const coll::Rank at : plan.actorAt)
    {
        out << at;
    }
}

/// All that a run of dltrain makes of its options but for what is written and how it is computed.
std::string
EffectOf(const TrainingScenario& s)
{
    Print out;
    PlanOf(s.plan, out);
    const auto memory = training::EstimateMemory(s.options);
    out << memory.parameters << memory.gradients << memory.optimizer << memory.activations
        << memory.buffers << memory.host;
    out << s.study.runs.size() << s.workload << s.steps << s.warmupSteps << s.gpu << s.dtype;
    if (s.served)
    {
        const auto& o = s.served->Options();
        out << int(o.strategy) << o.fetchEvery << o.pushEvery << o.shards << o.backupWorkers
            << o.history;
    }
    const auto& server = s.cluster.server;
    out << s.cluster.servers << server.gpus << server.nics << int(s.cluster.placement)
        << s.cluster.topologyName << s.cluster.connections.queuePairs
        << s.cluster.connections.split;
    for (const uint32_t host : s.cluster.hostOfServer)
    {
        out << host;
    }
    const auto& c = s.collectives;
    out << c.stepLatency << c.insideByFormula << c.allByFormula << c.insideOneByOne
        << c.options.channels << c.options.pipelineBytes << c.options.radix
        << c.options.parameterServers << c.machine.hasLibrary
        << (c.measured != nullptr); // before anything runs, and chooses
    for (const auto& level : c.options.levels)
    {
        out << level;
    }
    for (const uint32_t size : c.options.dimensions)
    {
        out << size;
    }
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        out << int(s.plan.groupKinds[kind].priority);
        const auto& groups = s.plan.groupKinds[kind].groups;
        std::set<std::pair<coll::Op, uint64_t>> seen;
        for (const auto& role : s.plan.roles)
        {
            for (const auto& task : role.tasks)
            {
                if (task.kind != training::TaskKind::kCollective || task.group != kind ||
                    !seen.insert({task.op, task.bytes}).second)
                {
                    continue;
                }
                const coll::Collective what{task.op,
                                            task.bytes,
                                            static_cast<coll::Rank>(groups.front().size()),
                                            0,
                                            task.blocks};
                const auto choice = ChoiceOf(c, what, PlacementOf(s.cluster, groups.front()));
                const auto options = c.OptionsFor(task.op);
                out << options.minChannels << options.maxChannels << choice.algorithm->Name()
                    << (choice.protocol ? int(*choice.protocol) : -1) << choice.seconds;
            }
        }
    }
    return out.Text();
}

} // namespace

namespace
{

/// Values to try. Of names all, of flags both, of numbers small and large ones.
std::set<std::string>
ValuesOf(const Option& option)
{
    std::set<std::string> values;
    if (!option.example.empty())
    {
        values.insert(option.example);
    }
    switch (option.kind)
    {
    case Kind::kFlag:
        values = {"0", "1"};
        break;
    case Kind::kInteger:
        values.insert({"3", "1000000000"});
        break;
    case Kind::kBytes:
        values.insert({"10MiB", "2GB"});
        break;
    case Kind::kDuration:
        values.insert("200ms");
        break;
    case Kind::kName: {
        const auto items = option.names();
        for (std::size_t i = 0; i < items.size() && i < 8; ++i)
        {
            values.insert(items[i].name);
        }
        break;
    }
    default:
        break;
    }
    if (option.name == "nccl-env")
    {
        values.insert("NCCL_MIN_NCHANNELS=4");
    }
    if (option.name == "algorithm")
    {
        values.insert("all_reduce=tree");
    }
    return values;
}

/// Options that say something else than what is simulated, and why they may be without effect.
const std::map<std::string, std::string> kMayBeIdle = {
    {"ignore-memory", "a permission, which a job that fits does not need"},
    {"profile-model", "of a file with one model: its name"},
    {"workload", "one workload is built in"},
    {"dp", "it follows from the GPUs; what contradicts is refused"},
    {"export", "files beside those of the run"},
};

/// What holds of options whose default no table has.
const std::map<std::string, std::string> kUsual = {
    {"sharding", "full"},
    {"strategy", "sync"},
    {"peer-nic", "same"},
    {"reduce-dtype", "parameters"},
    {"zero-quantized-weights", "0"},
    {"zero-quantized-gradients", "0"},
    {"zero-tensor-lists", "0"},
    {"collective-order", "fifo"},
    {"overlap-next-forward", "0"},
};

} // namespace

TEST(SilentOptions, EachHasAnEffectOrANote)
{
    const std::string vgg = "--profile=" DLTRAIN_ROOT "/tests/golden/pipedream-vgg16.csv "
                            "--profile-batch=128 ";
    const std::vector<std::string> bases = {
        "--servers=2 --gpus-per-server=4 --zero=2",
        "--servers=2 --gpus-per-server=4 --zero=2 --accumulation=3",
        "--servers=2 --gpus-per-server=4 --zero=0 --accumulation=2",
        "--servers=2 --gpus-per-server=4 --zero=1 --accumulation=2",
        "--servers=2 --gpus-per-server=4 --zero=3",
        "--servers=2 --gpus-per-server=4 --zero=3 --zero-impl=deepspeed --model=gpt3-1.3b "
        "--ignore-memory",
        "--servers=2 --gpus-per-server=4 --zero=2 --zero-impl=deepspeed --buckets=50MB",
        "--servers=2 --gpus-per-server=4 --zero=0 --zero-impl=deepspeed --buckets=50MB",
        "--servers=2 --gpus-per-server=4 --zero=0 --zero-impl=horovod --cycle-time=1us",
        "--servers=2 --gpus-per-server=4 --tp=2 --zero=0",
        "--servers=2 --gpus-per-server=4 --tp=2 --pp=2 --sequence-parallel --zero=0 "
        "--accumulation=4",
        "--servers=2 --gpus-per-server=4 --pp=2 --accumulation=4",
        "--servers=2 --pp=16 --accumulation=16 --zero=0",
        "--servers=2 --gpus-per-server=4 --cp=2",
        "--servers=1 --gpus-per-server=1 --zero=0",
        "--servers=1 --gpus-per-server=1 --zero=0 --dtype=fp32 --accumulation=2",
        "--servers=1 --gpus-per-server=1 --zero=0 --model=resnet50",
        "--servers=2 --model=mixtral-8x7b --ep=8 --zero=1 --ignore-memory",
        "--servers=1 --model=mixtral-8x7b --ep=8 --moe-skew=1 --zero=1 --ignore-memory",
        "--servers=2 --gpus-per-server=4 --model=resnet50 --zero=0 --dtype=fp32",
        "--servers=2 --gpus-per-server=4 --strategy=downpour",
        "--servers=2 --gpus-per-server=4 --strategy=sandblaster --accumulation=3",
        "--servers=2 --gpus-per-server=4 --strategy=backup-workers",
        "--servers=2 --gpus-per-server=4 --offload=optimizer",
        "--servers=2 --gpus-per-server=4 " + vgg + "--zero=0 --accumulation=2",
        "--servers=2 --gpus-per-server=4 " + vgg +
            "--pp=2 --pipeline-schedule=pipedream --accumulation=4",
    };
    CaseShare share(246, 16);
    uint32_t compared = 0;
    uint32_t said = 0;
    for (const auto& base : bases)
    {
        const auto plain = ParseWords<TrainingScenario>(base);
        ASSERT_TRUE(plain.scenario) << base << ": " << plain.errors.front().Text();
        const std::string effect = EffectOf(*plain.scenario);
        for (const Option& option : TrainingOptionTable().options)
        {
            // What concerns the step and its collectives; a network's options concern packets.
            const bool here = option.path.rfind("/training/", 0) == 0 ||
                              option.path.rfind("/collectives/", 0) == 0 ||
                              option.path.rfind("/cluster/", 0) == 0;
            if (!here || kMayBeIdle.count(option.name) ||
                base.find("--" + option.name) != std::string::npos || !share.Takes())
            {
                continue;
            }
            // Some value may say what holds anyway; not all of them.
            std::vector<std::string> idle;
            bool any = false;
            for (const auto& value : ValuesOf(option))
            {
                if (any)
                {
                    break;
                }
                const auto with =
                    ParseWords<TrainingScenario>(base + " --" + option.name + "=" + value);
                ++compared;
                if (!with.scenario || with.notes != plain.notes)
                {
                    ++said;
                    any = any || with.scenario;
                }
                else if (EffectOf(*with.scenario) != effect)
                {
                    any = true;
                }
                else if (value != option.defaultText)
                {
                    const auto usual = kUsual.find(option.name);
                    if (usual == kUsual.end() || usual->second != value)
                    {
                        idle.push_back(value);
                    }
                }
            }
            EXPECT_TRUE(any || idle.empty()) << "--" << option.name << "=" << Join(idle, ", ")
                                             << " does nothing, silently, in " << base;
        }
    }
    EXPECT_GT(compared, IsFull() ? 2000U : 200U);
    EXPECT_GT(said, IsFull() ? 300U : 25U);
}

TEST(SilentOptions, AlgorithmsThatNothingTakes)
{
    const std::string sizes = "--ranks=8 -b 1K -e 64K -f 4 --algorithm="; // 1, 4, 16, 64 KiB
    const auto notes = [&](const std::string& algorithms) {
        const auto parsed = ParseWords<CollperfScenario>(sizes + algorithms);
        EXPECT_TRUE(parsed.scenario) << algorithms;
        return Join(parsed.notes, "\n");
    };
    const std::string sized =
        " has no effect: nothing of this run has such a size, or other parts win";
    EXPECT_EQ(notes("all_reduce=tree@0-16K;ring@16K-"), "");
    EXPECT_EQ(notes("ring@16K-"), "");
    EXPECT_EQ(notes("ring"), "");
    EXPECT_EQ(notes("all_reduce=ring@128K-"), "--algorithm: all_reduce=ring@128KiB-" + sized);
    EXPECT_EQ(notes("tree@0-1K"), "--algorithm: tree@0-1KiB" + sized);
    EXPECT_EQ(notes("all_reduce=tree@5K-16K"), "--algorithm: all_reduce=tree@5KiB-16KiB" + sized);
    // What stands behind wins.
    EXPECT_EQ(notes("all_reduce=tree@0-16K;ring"), "--algorithm: all_reduce=tree@0-16KiB" + sized);
    EXPECT_EQ(notes("ring;tree"), "--algorithm: ring" + sized);
    EXPECT_EQ(notes("reduce_scatter=ring"),
              "--algorithm: reduce_scatter=ring has no effect: this run does no reduce_scatter");
}

TEST(SilentOptions, OfQueuePairsAndTheirPackets)
{
    const auto notes = [](const std::string& options) {
        const auto parsed = ParseWords<CollperfScenario>("--ranks=8 -b 1M " + options);
        EXPECT_TRUE(parsed.scenario) << options;
        return Join(parsed.notes, "\n");
    };
    const std::string several = ": it needs --qps-per-connection above 1";
    EXPECT_EQ(notes("--split-data-on-qps"), "--split-data-on-qps has no effect" + several);
    EXPECT_EQ(notes("--split-data-on-qps --qps-per-connection=1"),
              "--split-data-on-qps has no effect with --qps-per-connection=1" + several);
    EXPECT_EQ(notes("--split-data-on-qps --qps-per-connection=3"), "");
    EXPECT_EQ(notes("--split-data-on-qps=0"), "");
    EXPECT_EQ(notes("--ack-every=4"), "");
    for (const char* network : {"fluid", "analytic"})
    {
        const std::string without = "--network=" + std::string(network);
        EXPECT_EQ(notes("--ack-every=4 " + without),
                  "--ack-every has no effect with " + without + ": it needs --network=packet");
        EXPECT_EQ(notes(without), "");
    }
}

TEST(SilentOptions, OfTheNetwork)
{
    // Those about options that change nothing; a network may have others.
    const auto idle = [](const std::string& options, const auto& parsed) {
        EXPECT_TRUE(parsed.scenario) << options << ": " << parsed.errors.front().Text();
        std::vector<std::string> told;
        for (const std::string& note : parsed.notes)
        {
            if (note.find("it needs ") != std::string::npos)
            {
                told.push_back(note);
            }
        }
        return Join(told, "\n");
    };
    const auto notes = [&idle](const std::string& options) {
        return idle(options, ParseWords<CollperfScenario>("--ranks=8 -b 1M " + options));
    };
    const auto flows = [&idle](const std::string& options) {
        const std::string network = "--hosts=4 --topology=leaf-spine --hosts-per-leaf=2 ";
        return idle(options, ParseWords<TrafficScenario>(network + options));
    };
    const std::string leaves = "--topology=leaf-spine --hosts-per-leaf=4 ";
    const std::string sharing = " has no effect on how messages share links with "
                                "--network=analytic: it needs --network=packet or fluid";
    EXPECT_EQ(notes(leaves + "--oversubscription=4 --network=analytic"),
              "--oversubscription" + sharing);
    EXPECT_EQ(notes("--topology=fat-tree --core-oversubscription=2 --network=analytic"),
              "--core-oversubscription" + sharing);
    EXPECT_EQ(notes(leaves + "--oversubscription=4 --network=fluid"), "");
    EXPECT_EQ(notes(leaves + "--oversubscription=1 --network=analytic"), "");

    EXPECT_EQ(flows("--ecmp-resilient"),
              "--ecmp-resilient changes nothing but the hash: it needs --fault=link-down, "
              "port-down, switch-down, "
              "nic-down or flap");
    EXPECT_EQ(flows("--ecmp-resilient --fault=link-down,at=1us,on=leaf-0-spine-0"), "");
    EXPECT_EQ(flows("--ecmp-resilient=0"), "");

    for (const char* lanes : {"--vl-high=0:64", "--vl-low=0:64", "--vl-high-limit=16"})
    {
        const std::string name = std::string(lanes).substr(0, std::string(lanes).find('='));
        EXPECT_EQ(flows("--fabric=ib " + std::string(lanes)),
                  name + " has no effect: it needs --vls above 1");
    }
    EXPECT_EQ(flows("--fabric=ib --vls=2 --vl-high=0:64 --vl-low=1:64 --vl-high-limit=16"), "");

    const std::string ets =
        "--ets shares nothing among flows: it needs flows of several priorities";
    EXPECT_EQ(flows("--ets=0:30,3:70"), ets);
    EXPECT_EQ(notes("--ets=0:30,3:70"), ets);
    EXPECT_EQ(notes("--ets=0:30,3:70 --background=pattern=random,load=0.1,protocol=tcp"), "");
    const std::string table = "/tmp/silent-flows-" + std::to_string(getpid()) + ".csv";
    std::ofstream(table) << "start_ns,src,dst,bytes,priority\n0,0,1,4096,3\n0,1,2,4096,5\n";
    EXPECT_EQ(flows("--ets=5:30,3:70 --flows=" + table), "");
    // Switches and NICs both divide their ports: nothing to warn of.
    std::ofstream(table) << "start_ns,src,dst,bytes,priority\n0,1,0,4096,3\n0,1,2,4096,5\n";
    const auto all = ParseWords<TrafficScenario>("--hosts=4 --ets=5:30,3:70 --flows=" + table);
    EXPECT_EQ(Join(all.notes, "\n").find("--ets"), std::string::npos);
    EXPECT_EQ(flows("--ets=5:30,3:70 --protocol=tcp --flows=" + table), "");
    std::remove(table.c_str());
}

// A choice that frees memory moves the default micro-batch: the note says from what, so that two
// runs can be made alike.
TEST(SilentOptions, RoomForALargerMicroBatch)
{
    const auto parse = [](const std::string& options) {
        return ParseWords<TrainingScenario>("--model=gpt3-1.3b --gpu=A100 --servers=2 "
                                            "--gpus-per-server=4 --zero=2 --dtype=bf16 "
                                            "--fused-attention=0 " +
                                            options);
    };
    const auto plain = parse("--seq=4096");
    const auto full = parse("--seq=4096 --recompute=full");
    ASSERT_TRUE(plain.scenario && full.scenario);
    const uint32_t small = plain.scenario->microBatch;
    ASSERT_LT(small, full.scenario->microBatch);
    const std::string note = "micro-batch " + std::to_string(full.scenario->microBatch) + " (" +
                             std::to_string(small) + " without --recompute" +
                             ", by the estimate); --micro-batch=" + std::to_string(small) +
                             " compares the two";
    EXPECT_NE(Join(full.notes, "\n").find(note), std::string::npos) << Join(full.notes, "\n");
    const auto equal = parse("--seq=4096 --recompute=full --micro-batch=" + std::to_string(small));
    EXPECT_EQ(Join(equal.notes, "\n").find("without --recompute"), std::string::npos);
    // A model for which both fit.
    EXPECT_EQ(Join(parse("--seq=256 --recompute=full").notes, "\n").find("without --"),
              std::string::npos);
}

// Measured times are not scaled: what they were measured with is checked where the file says it,
// and told where it does not.
TEST(SilentOptions, ProfilesOfAnotherShape)
{
    const std::string profile = "/tmp/silent-profile-" + std::to_string(getpid()) + ".json";
    const auto parse = [&profile](const std::string& keys, const std::string& options) {
        std::ofstream(profile) << "{" + keys +
                                      R"("layers": {"*": {"forward_us": 1, "backward_us": 2}}})";
        return ParseWords<TrainingScenario>("--servers=3 --gpus-per-server=2 --model=gpt2 "
                                            "--micro-batch=1 --profile=" +
                                            profile + " " + options);
    };
    const std::string two = R"("tp": 2, "seq": 512, "micro_batch": 1, )";
    const auto other = parse(two, "");
    ASSERT_EQ(other.errors.size(), 2u);
    EXPECT_NE(other.errors[0].Text().find(profile + ": /tp: 2 "), std::string::npos)
        << other.errors[0].Text();
    EXPECT_NE(other.errors[1].Text().find("allowed: --seq=512"), std::string::npos);
    const auto same = parse(two, "--tp=2 --seq=512");
    ASSERT_TRUE(same.scenario);
    EXPECT_EQ(Join(same.notes, "\n").find("--profile: "), std::string::npos);
    const auto unsaid = parse("", "--tp=2 --seq=512");
    ASSERT_TRUE(unsaid.scenario);
    EXPECT_NE(Join(unsaid.notes, "\n").find("with --tp=2, --seq=512, --micro-batch=1"),
              std::string::npos)
        << Join(unsaid.notes, "\n");
    EXPECT_FALSE(parse(R"("tp": 2.5, )", "--tp=2").scenario);
    std::remove(profile.c_str());
}

TEST(SilentOptions, NotesSayWhy)
{
    const std::string profile = "/tmp/silent-options-" + std::to_string(getpid()) + ".json";
    std::ofstream(profile) << R"({"batch": 4, "layers": [
        {"name": "a", "forward_us": 100, "backward_us": 200, "activation_bytes": 4000},
        {"name": "b", "forward_us": 100, "backward_us": 200, "parameter_bytes": 4000}]})";
    const std::vector<std::pair<std::string, std::string>> said = {
        {"--servers=2 --context-exchange=ulysses", "--cp above 1"},
        {"--servers=2 --partition=balanced", "--pp above 1"},
        {"--servers=2 --zero=3 --gather-bytes=1MB", "with --zero=3: it needs --zero=1 or 2"},
        {"--servers=2 --pp=16 --accumulation=16 --zero=0 --buckets=1MB",
         "hold the same parameters"},
        {"--servers=1 --gpus-per-server=1 --zero=0 --overlap=0", "hold the same parameters"},
        {"--servers=1 --zero=0 --recompute --profile=" + profile, "known FLOPs with full"},
        {"--servers=2 --model=resnet50 --fused-attention", "it needs a model with attention"},
        {"--servers=2 --model=resnet50 --kernels=eager", "a model with attention"},
        {"--servers=2 --model=gpt2 --fused-attention --recompute=selective",
         "--recompute frees no memory and repeats a kernel: it needs attention scores to free"},
        {"--servers=2 --model=gpt2 --kernels=megatron --fused-attention",
         "attention without --fused-attention"},
        {"--servers=2 --model=bert-large-pretraining --kernels=megatron", "needs causal attention"},
        {"--servers=2 --dtype=tf32 --master-weights=0", "with --dtype=tf32"},
        {"--servers=2 --model=mixtral-8x7b --capacity-factor=1.25 --ignore-memory", "--moe-skew"},
        {"--servers=2 --dtype=fp32 --reduce-dtype=fp32", "--dtype of 16 bits"},
        {"--servers=2 --zero=2 --algorithm=all_reduce=tree", "this run does no all_reduce"},
        {"--servers=2 --strategy=downpour --nccl-env=NCCL_PROTO=LL", "--strategy=downpour"},
    };
    for (const auto& [options, word] : said)
    {
        const auto parsed = ParseWords<TrainingScenario>(options);
        ASSERT_TRUE(parsed.scenario) << options << ": " << parsed.errors.front().Text();
        EXPECT_TRUE(std::any_of(parsed.notes.begin(),
                                parsed.notes.end(),
                                [&word = word](const std::string& note) {
                                    return note.find(word) != std::string::npos;
                                }))
            << options << ": " << Join(parsed.notes, "\n");
    }
    std::remove(profile.c_str());
    // Sends and receives have one protocol.
    const auto sends =
        ParseWords<TrainingScenario>("--dp=1 --pp=8 --servers=1 --accumulation=8 --zero=0 "
                                     "--model=llama-2-7b --protocol=ll --ignore-memory");
    ASSERT_TRUE(sends.scenario) << sends.errors.front().Text();
    EXPECT_NE(Join(sends.notes, "\n").find("collectives other than exchanges"), std::string::npos)
        << Join(sends.notes, "\n");
}

// Kernels and states that there are not: one error that names the option and what is allowed.
TEST(SilentOptions, KernelsAndStatesThatAreNot)
{
    const std::vector<std::pair<std::string, std::string>> said = {
        {"--servers=2 --model=gpt2 --gpu=H100 --dtype=fp8 --kernels=eager",
         "allowed: fused, or --dtype=bf16"},
        {"--servers=2 --model=gpt2 --zero=2 --offload=optimizer --master-weights=0",
         "allowed: without --offload"},
        {"--servers=2 --model=gpt2 --kernels=eagr", "eager"},
    };
    for (const auto& [options, word] : said)
    {
        const auto parsed = ParseWords<TrainingScenario>(options);
        ASSERT_EQ(parsed.errors.size(), 1u) << options;
        EXPECT_NE(parsed.errors[0].Text().find(word), std::string::npos) << parsed.errors[0].Text();
    }
}

TEST(SilentOptions, AConfigurationAsRunSaysNothingNew)
{
    for (const std::string base : {"--servers=2 --zero=0",
                                   "--servers=1 --gpus-per-server=1 --zero=0",
                                   "--servers=2 --zero=3 --zero-impl=deepspeed",
                                   "--servers=2 --pp=16 --accumulation=16 --zero=0",
                                   "--servers=2 --strategy=sandblaster",
                                   "--servers=2 --model=resnet50 --zero=1 --dtype=fp32"})
    {
        const auto first = ParseWords<TrainingScenario>(base);
        ASSERT_TRUE(first.scenario) << base;
        auto read =
            ReadScenarioText(TrainingOptionTable(), first.scenario->run.asRun.dump(), "as-run");
        ASSERT_TRUE(read.errors.empty()) << read.errors.front().Text();
        Validation v{TrainingOptionTable(), read.values, {}, {}};
        v.Decide("dry-run", "1");
        read.values = v.values;
        const auto again = ValidateTraining(read);
        ASSERT_TRUE(again.scenario) << base << ": " << again.errors.front().Text();
        for (const std::string& note : again.notes)
        {
            EXPECT_EQ(note.find("no effect"), std::string::npos) << base << ": " << note;
        }
    }
}
