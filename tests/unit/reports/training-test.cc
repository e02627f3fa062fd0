// SPDX-License-Identifier: GPL-2.0-only
#include "collectives/core/registry.h"
#include "reports/attribution/critical-path.h"
#include "reports/programs/collperf-table.h"
#include "reports/programs/training-results.h"
#include "reports/tables/call-log.h"
#include "scratch-folder.h"

#include <random>
#include <sstream>

namespace reports
{
namespace
{

constexpr int64_t US = 1000000; // ps

/// Two ranks that compute and then reduce.
class Training : public ScratchFolder
{
  protected:
    Training()
    {
        training::Task compute;
        compute.name = "backward";
        training::Task reduce;
        reduce.kind = training::TaskKind::kCollective;
        reduce.stream = 1;
        reduce.bytes = 4000;
        reduce.name = "all-reduce bucket 0";
        reduce.after = {0};
        m_plan.ranks = 2;
        m_plan.roles.push_back({{"compute", "network"}, {compute, reduce}});
        m_plan.roleOf = {0, 0};
        m_plan.groupKinds.push_back({"dp", {{0, 1}}});
    }

    CallRecord Call(uint32_t step, coll::Rank rank, std::size_t task, int64_t start, int64_t end)
    {
        return {start, end, rank, &m_plan.roles[0].tasks[task], &m_plan.roles[0], step};
    }

    /// One measured step of 8 of a model's 32 blocks, after one of 4.
    scenario::TrainingScenario FewerBlocks() const
    {
        scenario::TrainingScenario scenario;
        scenario.plan = m_plan;
        scenario.plan.samplesPerStep = 8;
        scenario.plan.blocks = 32;
        scenario.plan.sizes = {{8, 0}, {4, 0}};
        scenario.steps = 1;
        return scenario;
    }

    training::TrainingPlan m_plan;
};

TEST_F(Training, CallsLogHasTheMeasuredSteps)
{
    CallLog log(m_plan, 1, 2);
    ASSERT_TRUE(log.Open(Path("calls.log")));
    log.Write(Call(0, 0, 0, 0, 5 * US));
    log.Write(Call(1, 1, 0, 10 * US, 25 * US / 2));
    log.Write(Call(2, 0, 1, 20 * US, 30 * US));
    log.Close();
    EXPECT_EQ(ReadAll(Path("calls.log")),
              "# calls of the measured steps, in the order they end; times in us since the "
              "simulation began\n"
              "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
              "10\t12.5\t1\t1\tcompute\tcompute\tbackward\t0\t-\n"
              "20\t30\t2\t0\tnetwork\tcollective\tall-reduce bucket 0\t4000\tdp\n");
}

// A warm-up that is done again is step 0; without that mark it is not there.
TEST_F(Training, CallsLogHasWhatIsDoneAgainAndWhatAnAbortEnded)
{
    CallLog log(m_plan, 2, 2);
    ASSERT_TRUE(log.Open(Path("calls.log")));
    log.Write(Call(2, 0, 1, 10 * US, 20 * US), CallLog::How::kAborted);
    for (const CallLog::How how :
         {CallLog::How::kPlain, CallLog::How::kAgain, CallLog::How::kAborted})
    {
        log.Write(Call(1, 1, 0, 30 * US, 35 * US), how);
    }
    log.Close();
    const std::string text = ReadAll(Path("calls.log"));
    EXPECT_EQ(text.substr(text.find("group\n") + 6),
              "10\t20\t1\t0\tnetwork\tcollective\tall-reduce bucket 0 (aborted)\t4000\tdp\n"
              "30\t35\t0\t1\tcompute\tcompute\tbackward\t0\t-\n"
              "30\t35\t0\t1\tcompute\tcompute\tbackward (aborted)\t0\t-\n");
}

// 2 ranks x 2 calls x 3 steps are 12 calls, 6 of them a rank's.
TEST_F(Training, CallsLogLeavesOutRanksAndThenSteps)
{
    const auto lines = [this](uint64_t most, std::string& head) {
        CallLog log(m_plan, 0, 3, most);
        log.Open(Path("calls.log"));
        for (uint32_t step = 0; step < 3; ++step)
        {
            for (const coll::Rank rank : {0, 1})
            {
                log.Write(Call(step, rank, 0, 0, 1));
                log.Write(Call(step, rank, 1, 1, 2));
            }
        }
        log.Close();
        const std::string text = ReadAll(Path("calls.log"));
        head = text.substr(0, text.find('\n'));
        return std::count(text.begin(), text.end(), '\n') - 2;
    };
    std::string head;
    EXPECT_EQ(lines(12, head), 12);
    EXPECT_EQ(head.find("only every"), std::string::npos);
    EXPECT_EQ(lines(6, head), 6);
    EXPECT_NE(head.find("; only every 2nd rank"), std::string::npos);
    EXPECT_EQ(lines(5, head), 4); // of two steps
    EXPECT_NE(head.find("measured steps, the first 2, in"), std::string::npos);
}

// 132 ranks x 2 calls are 264: every n-th rank's fit where n = 264 / most, rounded up.
TEST_F(Training, CallsLogCountsRanksAsPeopleDo)
{
    m_plan.ranks = 132;
    m_plan.roleOf.assign(132, 0);
    const std::vector<std::pair<uint64_t, std::string>> cases = {{88, "3rd"},
                                                                 {66, "4th"},
                                                                 {24, "11th"},
                                                                 {22, "12th"},
                                                                 {13, "21st"},
                                                                 {12, "22nd"},
                                                                 {3, "88th"},
                                                                 {2, "132nd"}};
    for (const auto& [most, word] : cases)
    {
        CallLog log(m_plan, 0, 1, most);
        log.Open(Path("calls.log"));
        log.Close();
        EXPECT_NE(ReadAll(Path("calls.log")).find("; only every " + word + " rank\n"),
                  std::string::npos)
            << word;
    }
}

// Rank 1 computes 4 us longer, and both leave the collective after what it sent.
TEST_F(Training, CriticalPathGoesThroughTheRankThatWasWaitedFor)
{
    const std::vector<std::string> ports{"a->s"};
    const std::vector<std::string> tags{"all-reduce bucket 0"};
    MessageParts parts;
    parts.parts[At(TimeShare::QUEUED)] = 6 * US;
    CriticalPath critical(m_plan, ports, tags, rdma::kEthernetWords);
    CollectivePaths& paths = critical.GetPaths();
    critical.OnCall(Call(4, 0, 0, 0, 10 * US));
    critical.OnCall(Call(4, 1, 0, 0, 14 * US));
    const CollectivePaths::Path entry = paths.Enter(1, 0, 14 * US);
    CollectivePaths::Hold(entry); // a message of it
    const CollectivePaths::Path arrived = paths.Arrive(entry, 1, 0, &parts, 20 * US);
    critical.OnCall(Call(4, 0, 1, 10 * US, 20 * US), arrived);
    critical.OnCall(Call(4, 1, 1, 14 * US, 15 * US), entry);
    critical.OnStep(4, 0);
    const auto json = critical.ToJson();
    EXPECT_EQ(json["total_us"], 20.0);
    EXPECT_EQ(json["parts_us"]["compute"], 10.0);
    EXPECT_EQ(json["parts_us"]["straggling"], 4.0); // half of the GPUs take 10 us
    EXPECT_EQ(json["parts_us"]["queued"], 6.0);
    const std::vector<CriticalPath::Call> calls = critical.GetCalls();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].rank, 1U);
    EXPECT_EQ(calls[1].waited, 4 * US); // rank 0 had waited so long
    std::string words;
    for (const CriticalPath::Line& line : critical.InLines())
    {
        words += line.what + "|" + line.words + "\n";
    }
    EXPECT_NE(words.find("of the collectives|100% queued in switches\n"), std::string::npos);
    EXPECT_NE(words.find("longest wait|4.00 us for GPU 1, at all-reduce bucket 0\n"),
              std::string::npos);
    paths.Drop(entry);
    paths.Drop(arrived);
    EXPECT_EQ(paths.GetSize(), 0U) << "the step holds none";
}

// Two stages, messages of 2 us, receives that are posted as soon as their stream is free:
//
//     us        0         10   12       20    24      26          40
//     stage 0   | A       | send, B            | send  |
//     stage 1   | receive A     | A      |             | B          |
//
// Stage 1 has nothing to do for 10 us until A is sent, then for 4 us (20 to 24) until B is, though
// its second receive has been there for 12 us (from 12 on).
TEST_F(Training, CriticalPathCountsWaitingForASenderFromWhenNothingElseIsMissing)
{
    using training::TaskKind;
    const auto task = [](TaskKind kind,
                         uint16_t stream,
                         const char* name,
                         std::vector<training::TaskId> after,
                         int32_t offset = 0) {
        training::Task made;
        made.kind = kind;
        made.stream = stream;
        made.name = name;
        made.after = std::move(after);
        made.peerOffset = offset;
        made.bytes = offset == 0 ? 0 : 1000;
        return made;
    };
    m_plan = {};
    m_plan.ranks = 2;
    m_plan.roleOf = {0, 1};
    m_plan.groupKinds.push_back({"stages", {{0, 1}}});
    m_plan.roles = {{{"compute", "send"},
                     {task(TaskKind::kCompute, 0, "A", {}),
                      task(TaskKind::kSend, 1, "send A", {0}, 1),
                      task(TaskKind::kCompute, 0, "B", {}),
                      task(TaskKind::kSend, 1, "send B", {2}, 1)}},
                    {{"compute", "receive"},
                     {task(TaskKind::kRecv, 1, "receive A", {}, -1),
                      task(TaskKind::kCompute, 0, "A", {0}),
                      task(TaskKind::kRecv, 1, "receive B", {}, -1),
                      task(TaskKind::kCompute, 0, "B", {2})}}};
    const std::vector<std::string> ports{"a->s"};
    const std::vector<std::string> tags{"stages"};
    const MessageParts parts;

    struct Ended
    {
        coll::Rank rank;
        std::size_t task;
        int64_t start;
        int64_t end;
    };

    const auto words = [&](const std::vector<Ended>& calls, const std::vector<double>& waited) {
        CriticalPath critical(m_plan, ports, tags, rdma::kEthernetWords);
        CollectivePaths& paths = critical.GetPaths();
        std::vector<CollectivePaths::Path> held;
        for (const Ended& call : calls)
        {
            const training::StepGraph& graph = m_plan.roles[call.rank];
            CollectivePaths::Path leaving = CollectivePaths::NONE;
            if (graph.tasks[call.task].kind != TaskKind::kCompute)
            {
                leaving = paths.Enter(0, 0, call.start * US);
                held.push_back(leaving);
                if (call.rank == 1)
                {
                    CollectivePaths::Hold(leaving);
                    leaving = paths.Arrive(leaving, 1, 0, &parts, call.end * US);
                    held.push_back(leaving);
                }
            }
            critical.OnCall(
                {call.start * US, call.end * US, call.rank, &graph.tasks[call.task], &graph, 0},
                leaving);
        }
        critical.OnStep(0, 0);
        std::vector<double> found;
        for (const CriticalPath::Call& call : critical.GetCalls())
        {
            if (call.waited)
            {
                found.push_back(static_cast<double>(*call.waited) / US);
            }
        }
        EXPECT_EQ(found, waited);
        std::string most;
        for (const CriticalPath::Line& line : critical.InLines())
        {
            most += line.what == "longest wait" ? line.words : "";
        }
        for (const CollectivePaths::Path path : held)
        {
            paths.Drop(path);
        }
        return most;
    };
    std::vector<Ended> calls = {{0, 0, 0, 10},
                                {1, 0, 0, 12},
                                {0, 1, 10, 12},
                                {1, 1, 12, 20},
                                {0, 2, 10, 24},
                                {1, 2, 12, 26},
                                {0, 3, 24, 26},
                                {1, 3, 26, 40}};
    // Back from B over its message to stage 0, which computed all the time: A is not on the path.
    EXPECT_EQ(words(calls, {4}), "4.00 us for GPU 0, at receive B");
    // Without what follows B's message it is what the step ends with, a little later than the send
    // has: stage 1 had ended A at 20.
    m_plan.roles[1].tasks.pop_back();
    calls.pop_back();
    calls[5].end = 27;
    EXPECT_EQ(words(calls, {4}), "4.00 us for GPU 0, at receive B");
    // A of stage 1 takes until 25: nobody waited before 24, when B is sent.
    calls[3].end = 25;
    EXPECT_EQ(words(calls, {0}), "");
    // Stage 1 alone on the path until A's message, which it waited for since the step began.
    calls[3].end = 40;
    EXPECT_EQ(words(calls, {10}), "10.0 us for GPU 0, at receive A");
}

TEST_F(Training, ResultsAreMeansOverTheMeasuredSteps)
{
    scenario::TrainingScenario scenario;
    scenario.plan = m_plan;
    scenario.plan.samplesPerStep = 8;
    scenario.model = "m";
    scenario.warmupSteps = 1;
    TrainingResults results(scenario);
    std::ostringstream nothing;
    results.Print(nothing, nullptr);
    EXPECT_NE(nothing.str().find("no measured step was completed\n"), std::string::npos);
    EXPECT_TRUE(results.ToJson(nullptr)["step_time_us"].is_null());

    CollectiveRecord collective;
    collective.algorithm = coll::AlgorithmsFor(collective.op).front();
    collective.bytes = 4000;
    collective.ranks = 2;
    collective.bytesSent = 8000;
    collective.firstStart = 110 * US;
    collective.end = 114 * US;
    collective.meanPs = 3 * US;
    StepRecord step;
    step.end = 120 * US;
    step.computePs = 12 * US;
    step.communicationPs = 5 * US;
    step.exposedPs[static_cast<std::size_t>(training::Parallelism::kData)] = 4 * US;
    step.collectives = {collective};
    results.Add(step, 100 * US);
    step.end = 160 * US;
    results.Add(step, 120 * US);
    const auto json = results.ToJson(nullptr);
    results.WriteTables(Path("."), nullptr, {"all-reduce bucket 0"});
    EXPECT_EQ(json["step_time_us"], 30.0);
    EXPECT_EQ(ReadAll(Path("steps.csv")), HeaderOf("steps.csv") + "\n1,,20\n2,,40\n");
    EXPECT_EQ(json["exposed_communication_time_us"], 4.0);
    EXPECT_EQ(json["exposed_by_parallelism_us"]["dp"], 4.0);
    EXPECT_EQ(json["communication_time_us"], 5.0);
    EXPECT_EQ(json["waiting_time_us"], 30.0 - 12 - 4);
    EXPECT_EQ(json["bytes_sent_per_gpu"].begin().value(), 4000.0);
    const std::string collectives = ReadAll(Path("step_collectives.csv"));
    EXPECT_EQ(std::count(collectives.begin(), collectives.end(), '\n'), 3);
    // 4,000 B in 4 us; the second step.
    EXPECT_NE(collectives.find(",4000,2,4,1,"), std::string::npos) << collectives;
    EXPECT_NE(collectives.find(",all-reduce bucket 0,2,3,"), std::string::npos) << collectives;
    std::ostringstream text;
    results.Print(text, nullptr);
    EXPECT_NE(text.str().find("Step time                 30.0 us   mean of 2 steps measured, after "
                              "1 warm-up step\n"),
              std::string::npos)
        << text.str();
}

// Of 8 blocks the step takes 26 us, 10 of them computing, and 2 of the others are bubble; of 4
// blocks 20, 5 and 3. A line over the blocks makes -4 us of bubble of 32 blocks: the step takes 62
// us and computes for 40, and of the 22 between the bubble has its share of 8 blocks, 2 of 16.
TEST_F(Training, BubbleOfMoreBlocksIsAShareOfWhatIsExposed)
{
    const scenario::TrainingScenario scenario = FewerBlocks();
    TrainingResults results(scenario);
    StepRecord step; // the smaller size comes first
    step.end = 20 * US;
    step.computePs = 5 * US;
    step.bubblePs = 3 * US;
    step.communicationPs = 9 * US;
    results.Add(step, 0);
    step.end = 46 * US;
    step.computePs = 10 * US;
    step.bubblePs = 2 * US;
    step.communicationPs = 12 * US;
    results.Add(step, 20 * US);
    const auto json = results.ToJson(nullptr);
    EXPECT_NEAR(json["step_time_us"], 62, 1e-9);
    EXPECT_NEAR(json["compute_time_us"], 40, 1e-9);
    EXPECT_NEAR(json["bubble_time_us"], 22.0 * 2 / 16, 1e-9);
    // What is listed is of the 8 blocks alone.
    EXPECT_EQ(json["steps_measured"], 1);
    results.WriteTables(Path("."), nullptr, {});
    EXPECT_EQ(ReadAll(Path("steps.csv")), HeaderOf("steps.csv") + "\n1,,26\n");
    EXPECT_EQ(json["extrapolation"]["step_times_us"], nlohmann::ordered_json::array({26.0, 20.0}));
    EXPECT_EQ(json["extrapolation"]["communication_times_us"],
              nlohmann::ordered_json::array({12.0, 9.0}));
    std::ostringstream text;
    results.Print(text, nullptr);
    for (const char* words :
         {"of 32 blocks, extrapolated from 8 (26.0 us), 4 (20.0 us); error unknown from two "
          "numbers of blocks (--layers=12 tells it)",
          "rough: extrapolated from 12.0 us, 9.00 us",
          "The rest is about the run with 8 blocks:"})
    {
        EXPECT_NE(text.str().find(words), std::string::npos) << text.str();
    }
}

// Interrupted when 4 of 32 blocks were done: their 20 us are no step of the model.
TEST_F(Training, OneNumberOfBlocksIsNoStepOfTheModel)
{
    const scenario::TrainingScenario scenario = FewerBlocks();
    TrainingResults results(scenario);
    StepRecord step;
    step.end = 20 * US;
    step.computePs = 5 * US;
    results.Add(step, 0);
    const auto json = results.ToJson(nullptr);
    for (const char* key : {"step_time_us", "compute_time_us", "samples_per_s", "mfu"})
    {
        EXPECT_TRUE(json[key].is_null()) << key;
    }
    EXPECT_TRUE(json["bytes_sent_per_gpu"].empty());
    EXPECT_EQ(json["extrapolation"]["blocks_simulated"], nlohmann::ordered_json::array({4}));
    std::ostringstream text;
    results.Print(text, nullptr);
    EXPECT_NE(text.str().find("no step of the whole model: of its 32 blocks only 4 were simulated "
                              "(20.0 us), and a line needs two numbers of them"),
              std::string::npos)
        << text.str();
    EXPECT_EQ(text.str().find("samples/s"), std::string::npos) << text.str();
}

// 4 blocks took 20 us and 8 took 12: the line would end at -36 us.
TEST_F(Training, ALineThatFallsIsNotExtended)
{
    const scenario::TrainingScenario scenario = FewerBlocks();
    TrainingResults results(scenario);
    StepRecord step;
    step.end = 20 * US;
    step.computePs = 5 * US;
    results.Add(step, 0);
    step.end = 32 * US;
    step.computePs = 6 * US;
    results.Add(step, 20 * US);
    const auto json = results.ToJson(nullptr);
    EXPECT_NEAR(json["step_time_us"], 12, 1e-9);
    EXPECT_NEAR(json["compute_time_us"], 6 + 24 * 0.25, 1e-9);
    std::ostringstream text;
    results.Print(text, nullptr);
    EXPECT_NE(text.str().find("more blocks took less time"), std::string::npos) << text.str();
}

// 4 blocks take 20 us and compute for 5, 8 take 21 and compute for 10: for 32 the line says 27 us,
// and they compute for 40.
TEST_F(Training, ALineBelowItsComputingIsNoStep)
{
    const scenario::TrainingScenario scenario = FewerBlocks();
    TrainingResults results(scenario);
    StepRecord step;
    step.end = 20 * US;
    step.computePs = 5 * US;
    results.Add(step, 0);
    step.end = 41 * US;
    step.computePs = 10 * US;
    results.Add(step, 20 * US);
    const auto json = results.ToJson(nullptr);
    for (const char* key : {"step_time_us", "compute_time_us", "samples_per_s", "mfu"})
    {
        EXPECT_TRUE(json[key].is_null()) << key;
    }
    std::ostringstream text;
    results.Print(text, nullptr);
    EXPECT_NE(text.str().find("no step of the whole model: a line through 8 blocks (21.0 us), 4 "
                              "blocks (20.0 us) ends at 27.0 us for all 32, which compute for 40.0 "
                              "us. Simulate more blocks, as --layers=24, or all"),
              std::string::npos)
        << text.str();
}

TEST_F(Training, WaitingForTheHostIsNoCommunication)
{
    scenario::TrainingScenario scenario;
    scenario.plan = m_plan;
    scenario.plan.samplesPerStep = 8;
    scenario.options.offload = training::Offload::kOptimizer;
    scenario.options.loaderRate = 100;
    TrainingResults results(scenario);
    StepRecord step;
    step.end = 30 * US;
    step.computePs = 12 * US;
    step.hostPs = 7 * US;
    step.loadingPs = 6 * US;
    step.communicationPs = 4 * US;
    step.exposedPs[static_cast<std::size_t>(training::Parallelism::kTensor)] = 3 * US;
    results.Add(step, 0);
    const auto json = results.ToJson(nullptr);
    EXPECT_EQ(json["offload_time_us"], 7.0);
    EXPECT_EQ(json["data_loading_time_us"], 6.0);
    EXPECT_EQ(json["exposed_communication_time_us"], 3.0);
    EXPECT_EQ(json["waiting_time_us"], 30.0 - 12 - 7 - 6 - 3);
    std::ostringstream text;
    results.Print(text, nullptr);
    for (const char* line : {"  offload                 7.00 us    23.3%",
                             "  data loading            6.00 us    20.0%",
                             "  exposed communication   3.00 us    10.0%   (TP; communication was "
                             "under way for 4.00 us)\n",
                             "  waiting                 2.00 us     6.7%"})
    {
        EXPECT_NE(text.str().find(line), std::string::npos) << text.str();
    }
}

// Whatever GPUs report: parts of a step are 0 or more and add up to it, and no more is exposed than
// was under way. A GPU that began its step early may have longer parts than the step.
TEST_F(Training, PartsAddUpToTheStep)
{
    std::mt19937 dice(1);
    std::uniform_real_distribution<double> upTo(0, 1);
    for (int round = 0; round < 200; ++round)
    {
        scenario::TrainingScenario scenario =
            round % 2 ? FewerBlocks() : scenario::TrainingScenario();
        scenario.plan.ranks = m_plan.ranks;
        scenario.steps = 1;
        TrainingResults results(scenario);
        for (std::size_t size = 0; size < scenario.plan.sizes.size(); ++size)
        {
            StepRecord step;
            double exposed = 0;
            for (double& ps : step.exposedPs)
            {
                ps = upTo(dice) < 0.5 ? 0 : upTo(dice) * US;
                exposed += ps;
            }
            step.communicationPs = exposed + upTo(dice) * US;
            step.computePs = 5 * upTo(dice) * US;
            step.bubblePs = 2 * upTo(dice) * US;
            step.hostPs = upTo(dice) * US;
            step.end = static_cast<int64_t>((1 + 9 * upTo(dice)) * US);
            results.Add(step, 0);
        }
        std::ostringstream text;
        results.Print(text, nullptr);
        if (text.str().find("no step of the whole model") != std::string::npos)
        {
            continue; // the line is below its computing
        }
        const TrainingResults::Breakdown parts = results.GetBreakdown();
        double sum = 0;
        for (const double us : parts.exposed)
        {
            EXPECT_GE(us, 0) << round;
            sum += us;
        }
        for (const double us :
             {parts.compute, parts.host, parts.loading, parts.bubble, parts.waiting})
        {
            EXPECT_GE(us, 0) << round;
            sum += us;
        }
        EXPECT_NEAR(sum, parts.step, 1e-9 * parts.step) << round;
        EXPECT_LE(parts.Exposed(), parts.underWay * (1 + 1e-12)) << round;
    }
}

// Layers of a profile need not say their FLOPs. 8 samples in 30 us are 266,667 a second; a GPU of
// 1 TFLOP/s that does 6e6 FLOPs in that time does 0.2 TFLOP/s, a fifth of its peak.
TEST_F(Training, WithoutFlopsThereIsNoUtilization)
{
    for (const double flops : {0.0, 6e6})
    {
        scenario::TrainingScenario scenario;
        scenario.plan = m_plan;
        scenario.plan.samplesPerStep = 8;
        scenario.plan.flopsPerGpuPerStep = flops;
        scenario.options.gpu.peakBf16 = 1e12;
        scenario.options.dtype = training::Dtype::kBf16;
        TrainingResults results(scenario);
        StepRecord step;
        step.end = 30 * US;
        step.computePs = 30 * US;
        results.Add(step, 0);
        const auto json = results.ToJson(nullptr);
        EXPECT_NEAR(json["samples_per_s"].get<double>(), 8 / 30e-6, 1);
        std::ostringstream text;
        results.Print(text, nullptr);
        const char* line = "266,667 samples/s; TFLOP/s unknown: no layer says its FLOPs\n";
        if (flops > 0)
        {
            EXPECT_NEAR(json["tflops_per_gpu"].get<double>(), 0.2, 1e-9);
            EXPECT_NEAR(json["mfu"].get<double>(), 0.2, 1e-9);
            line = "266,667 samples/s, 0.2 TFLOP/s per GPU, MFU 20.0% of 1\n";
        }
        else
        {
            EXPECT_TRUE(json["tflops_per_gpu"].is_null());
            EXPECT_TRUE(json["mfu"].is_null());
        }
        EXPECT_NE(text.str().find(line), std::string::npos) << text.str();
        // Nothing was exchanged: a table without rows would be no answer.
        EXPECT_NE(text.str().find("Collectives a step     none\n"), std::string::npos);
    }
}

// Computing, then the optimizer on the host, while the network has nothing to do.
TEST_F(Training, CriticalPathGoesThroughTheHost)
{
    training::Task host;
    host.kind = training::TaskKind::kHost;
    host.stream = 2;
    host.name = "optimizer on the host";
    host.after = {0};
    m_plan.roles[0].streams.emplace_back("host");
    m_plan.roles[0].tasks[1] = host;
    const std::vector<std::string> none;
    CriticalPath critical(m_plan, none, none, rdma::kEthernetWords);
    for (const coll::Rank rank : {0, 1})
    {
        critical.OnCall(Call(0, rank, 0, 0, 10 * US));
        critical.OnCall(Call(0, rank, 1, 10 * US, 13 * US));
    }
    critical.OnStep(0, 0);
    const auto json = critical.ToJson();
    EXPECT_EQ(json["compute_us"], 10.0);
    EXPECT_EQ(json["collectives_us"], 0.0);
    EXPECT_EQ(json["parts_us"]["offload"], 3.0);
    double sum = 0;
    for (const auto& [part, us] : json["parts_us"].items())
    {
        sum += us.get<double>();
    }
    EXPECT_EQ(sum, json["total_us"]);
    bool told = false;
    for (const CriticalPath::Line& line : critical.InLines())
    {
        told = told || (line.what == "optimizer" && line.ps == 3 * US);
    }
    EXPECT_TRUE(told);
}

// What a captured program reads of a GPU, a few bytes, is in the sums and no line of the path.
TEST_F(Training, CriticalPathHasNoLineForLessThanANanosecond)
{
    training::Task host;
    host.kind = training::TaskKind::kHost;
    host.stream = 2;
    host.name = "_local_scalar_dense";
    host.after = {0};
    m_plan.roles[0].streams.emplace_back("host");
    m_plan.roles[0].tasks[1] = host;
    const std::vector<std::string> none;
    for (const int64_t ps : {0, 140, 999, 1000, 2000})
    {
        CriticalPath critical(m_plan, none, none, rdma::kEthernetWords);
        for (const coll::Rank rank : {0, 1})
        {
            critical.OnCall(Call(0, rank, 0, 0, 10 * US));
            critical.OnCall(Call(0, rank, 1, 10 * US, 10 * US + ps));
        }
        critical.OnStep(0, 0);
        const auto json = critical.ToJson();
        const std::size_t lines = ps < 1000 ? 1 : 2;
        EXPECT_EQ(critical.GetCalls().size(), lines) << ps;
        EXPECT_EQ(json["calls"], lines) << ps;
        EXPECT_DOUBLE_EQ(json["total_us"].get<double>(), 10 + static_cast<double>(ps) * 1e-6) << ps;
    }
}

TEST(CollperfTable, HasRowsOfNcclTests)
{
    scenario::CollperfScenario scenario;
    scenario.op = coll::Op::kAllGather;
    scenario.ranks = 4;
    scenario.iterations = 2;
    scenario.reductions = {"none"};
    CollperfTable table(scenario);
    CollectiveRecord last;
    last.algorithm = coll::AlgorithmsFor(scenario.op).front();
    last.bytes = 16384;
    last.bytesSent = 3 * 16384;
    std::ostringstream os;
    table.Add(os, {last, 8.192, last.bytes}); // 2 GB/s; each rank hands on 3 of 4 pieces
    EXPECT_EQ(os.str(),
              "       16384          1024     float    none      -1    8.192    2.00    1.50    N/A"
              "    8.192    2.00    1.50    N/A\n");
    os.str("");
    table.PrintEnd(os);
    EXPECT_NE(os.str().find("# Avg bus bandwidth    : 1.5\n"), std::string::npos);
    const auto json = table.ToJson();
    EXPECT_EQ(json["collectives"][0]["busbw_GBps"], 1.5);
    EXPECT_EQ(json["bytes_sent_per_gpu"].begin().value(), 3 * 4096.0);
}

// All-reduce of 4 ranks: busbw = 2 x 3/4 of bytes over time. 3000 bytes measured in 3 us are 1 GB/s
// and 1.5 of busbw, simulated in 6 us half of that: twice as long. 9000 bytes in 18 and 9 us: half
// as long, so the geometric mean is 1. The third size was not measured.
TEST(CollperfTable, MeasuredTimesBesideItsOwn)
{
    scenario::CollperfScenario scenario;
    scenario.ranks = 4;
    scenario.reference = {"n.txt", {{3000, 3}, {9000, 18}}};
    scenario.compare.push_back({"ring", {}});
    char name[] = "/tmp/dltrain-table-XXXXXX";
    const std::string folder = mkdtemp(name);
    CollperfTable table(scenario);
    ASSERT_TRUE(table.Open(folder + "/collectives.csv"));
    std::ostringstream os;
    CollectiveRecord last;
    last.algorithm = coll::AlgorithmsFor(scenario.op).front();
    for (const auto& [bytes, us] : std::map<uint64_t, double>{{3000, 6}, {6000, 8}, {9000, 9}})
    {
        last.bytes = bytes;
        table.Add(os, {last, us, bytes});
        table.Add(os, {last, 2 * us, bytes, 1}); // of --compare: not in the mean
    }
    table.Close();
    os.str("");
    table.PrintEnd(os);
    EXPECT_NE(os.str().find(
                  "# measured, n.txt: time (us) and busbw (GB/s), and of the table above: factor "
                  "= its time over the measured one\n"
                  "#        size              measured             simulated   factor\n"
                  "#        3000        3.000     1.50        6.000     0.75    2.000\n"
                  "#        9000       18.000     0.75        9.000     1.50    0.500\n"
                  "# factor, geometric mean: 1.000\n#\n"),
              std::string::npos)
        << os.str();
    const auto json = table.ToJson();
    EXPECT_EQ(json["reference"]["file"], "n.txt");
    EXPECT_NEAR(json["reference"]["factor"], 1, 1e-12);
    ASSERT_EQ(json["reference"]["rows"].size(), 2U);
    EXPECT_EQ(json["reference"]["rows"][0]["bytes"], 3000);
    EXPECT_NEAR(json["reference"]["rows"][0]["busbw_GBps"], 1.5, 1e-12);
    EXPECT_NEAR(json["reference"]["rows"][1]["algbw_GBps"], 0.5, 1e-12);
    EXPECT_EQ(json["reference"]["rows"][1]["factor"], 0.5);
    std::ifstream file(folder + "/collectives.csv");
    std::vector<std::string> ends;
    for (std::string line; std::getline(file, line);)
    {
        // The last three columns of 20.
        EXPECT_EQ(std::count(line.begin(), line.end(), ','), 19) << line;
        std::size_t at = line.size();
        for (int i = 0; i < 3; ++i)
        {
            at = line.rfind(',', at - 1);
        }
        ends.push_back(line.substr(at));
    }
    EXPECT_EQ(ends,
              (std::vector<std::string>{",reference_time_us,reference_busbw_GBps,reference_factor",
                                        ",3,1.5,2",
                                        ",3,1.5,4",
                                        ",,,",
                                        ",,,",
                                        ",18,0.75,0.5",
                                        ",18,0.75,1"}));
    std::filesystem::remove_all(folder);
    // Without a reference: nothing of it.
    scenario.reference = {};
    EXPECT_FALSE(CollperfTable(scenario).ToJson().contains("reference"));
}

TEST(CollperfTable, SaysHowManySizesWereDone)
{
    scenario::CollperfScenario scenario;
    scenario.ranks = 4;
    scenario.sizes = {1024, 4096, 16384};
    CollperfTable table(scenario);
    for (std::size_t done = 0; done <= scenario.sizes.size(); ++done)
    {
        std::ostringstream os;
        table.PrintEnd(os);
        const bool all = done == scenario.sizes.size();
        EXPECT_EQ(os.str().find("Out of bounds values : 0 OK") != std::string::npos, all);
        const std::string some = "N/A (" + std::to_string(done) + " of 3 sizes done)";
        EXPECT_EQ(os.str().find(some) != std::string::npos, !all) << os.str();
        CollectiveRecord last;
        last.algorithm = coll::AlgorithmsFor(scenario.op).front();
        last.bytes = scenario.sizes[std::min<std::size_t>(done, 2)];
        table.Add(os, {last, 8, last.bytes});
    }
}

TEST(CollperfTable, OnlyTheLastRanksTimeHasABound)
{
    // 4 GPUs of a server, 1 GB/s each: an all-reduce of 4096 B moves 2 x 3/4 of them, 6.144 us.
    for (const uint32_t average : {0, 1, 2, 3})
    {
        scenario::CollperfScenario scenario;
        scenario.ranks = 4;
        scenario.cluster.servers = 1;
        scenario.collectives.machine.insideRate = 1e9;
        scenario.average = average;
        CollperfTable table(scenario);
        CollectiveRecord last;
        last.algorithm = coll::Find(scenario.op, "ring");
        last.bytes = 4096;
        std::ostringstream os;
        table.Add(os, {last, 3 + 0.5 * average, last.bytes});
        const auto efficiency = table.ToJson()["collectives"][0]["efficiency"];
        EXPECT_EQ(efficiency.is_null(), average != 3);
        EXPECT_TRUE(average != 3 || std::abs(efficiency.get<double>() - 6.144 / 4.5) < 1e-9);
    }
}

TEST(CollperfTable, TellsCountsReductionsAndRootsAsNcclTestsDo)
{
    // Of 16384 bytes on 4 ranks: 4096 floats, or 1024 a rank where the vector is made of pieces.
    struct Row
    {
        coll::Op op;
        const char* columns; ///< count, type, redop, root
    };

    for (const Row& row : {Row{coll::Op::kReduce, "        4096     float     sum       2"},
                           Row{coll::Op::kBroadcast, "        4096     float    none       2"},
                           Row{coll::Op::kGather, "        1024     float    none       2"},
                           Row{coll::Op::kScatter, "        1024     float    none       2"},
                           Row{coll::Op::kSendRecv, "        4096     float     sum      -1"},
                           Row{coll::Op::kAllReduce, "        4096     float     sum      -1"}})
    {
        scenario::CollperfScenario scenario;
        scenario.op = row.op;
        scenario.ranks = 4;
        scenario.root = 2;
        const bool adds = coll::Reduces(row.op) || row.op == coll::Op::kSendRecv;
        scenario.reductions = {adds ? "sum" : "none"};
        CollperfTable table(scenario);
        CollectiveRecord last;
        last.algorithm = coll::AlgorithmsFor(row.op).front();
        last.bytes = 16384;
        std::ostringstream os;
        table.Add(os, {last, 8.192, last.bytes});
        EXPECT_EQ(os.str().find(std::string("       16384  ") + row.columns + "  "), 0u)
            << os.str();
    }
}

} // namespace
} // namespace reports
