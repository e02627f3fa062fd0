/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Who may do what to whom in a job: ranks by themselves, others by what is decided. Times are those
 * of job-bed.h.
 */
#include "collectives/core/block-sizes.h"
#include "job-bed.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/rdma-owner.h"
#include "ns3/test.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace ns3;
using namespace dltrain;
using namespace dltrain::bed;
using training::Task;
using training::TaskKind;

namespace
{

constexpr int64_t DELAY = 3 * US;

/// All ranks begin a round together: when the last has ended the one before.
class Together : public workload::Workload
{
  public:
    Together(const training::TrainingPlan& plan, uint32_t rounds)
        : m_plan(plan),
          m_rounds(rounds),
          m_begun(plan.ranks),
          m_rests(plan.ranks)
    {
    }

    const training::TrainingPlan& Plan() const override
    {
        return m_plan;
    }

    std::optional<workload::Round> Next(coll::Rank rank) override
    {
        // As it ends a round it is asked, and rests; asked again, it has been woken.
        if (m_begun[rank] && !m_rests[rank])
        {
            m_rests[rank] = true;
            return std::nullopt;
        }
        m_rests[rank] = false;
        return workload::Round{m_plan.roleOf[rank], m_begun[rank]++, true, {}};
    }

    workload::Notice OnEnded(coll::Rank, const workload::Round& round) override
    {
        workload::Notice notice;
        if (++m_ended % m_plan.ranks == 0)
        {
            notice.measure = round.number == 0;
            notice.end = round.number + 1 == m_rounds;
            for (Rank rank = 0; rank < m_plan.ranks && !notice.end; ++rank)
            {
                notice.wake.push_back(m_plan.ranks - 1 - rank); // not in their order
            }
        }
        return notice;
    }

    bool IsDone() const override
    {
        return m_ended == m_rounds * m_plan.ranks;
    }

    uint64_t CountTasks() const override
    {
        return uint64_t{m_rounds} * m_plan.ranks;
    }

  private:
    const training::TrainingPlan& m_plan;
    uint32_t m_rounds;
    std::vector<uint32_t> m_begun;
    std::vector<bool> m_rests;
    uint32_t m_ended = 0;
};

class DecisionsTestCase : public TestCase
{
  public:
    DecisionsTestCase()
        : TestCase("ranks go on by themselves; what concerns others happens when it is decided to")
    {
    }

  private:
    void DoRun() override
    {
        // Ranks compute for 4 us and 7 us: a round ends at 7 us, and all begin the next as soon as
        // the others can know, by an event of nobody.
        for (const int64_t delay : {DELAY, int64_t(0)})
        {
            Bed job(Plan({{Compute("a", 4 * US)}, {Compute("b", 7 * US)}}),
                    1,
                    [](const training::TrainingPlan& plan) {
                        return std::make_unique<Together>(plan, 3);
                    });
            uint32_t decided = 0;
            if (delay)
            {
                job.job->SetDecider([&](const workload::Notice& notice) {
                    ++decided;
                    Simulator::ScheduleWithContext(Simulator::NO_CONTEXT,
                                                   RdmaClock::At(DELAY),
                                                   [&job, notice] { job.job->Act(notice); });
                });
            }
            NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(decided, (delay ? 3 : 0), "once a round");
            for (uint32_t round = 0; round < 3; ++round)
            {
                const int64_t begin = round * (7 * US + delay);
                for (const char* name : {"a", "b"})
                {
                    NS_TEST_EXPECT_MSG_EQ(job.StartOf(name, round), begin, "together, " << round);
                }
                NS_TEST_EXPECT_MSG_EQ(job.EndOf("b", round), begin + 7 * US, "computed");
            }
            NS_TEST_EXPECT_MSG_EQ(job.end, 3 * 7 * US + 2 * delay, "the end of the last round");
            NS_TEST_EXPECT_MSG_EQ(job.measuredFrom, 7 * US + delay, "decided");
            NS_TEST_EXPECT_MSG_EQ(job.overAt, 3 * (7 * US + delay), "decided");
            NS_TEST_EXPECT_MSG_EQ(job.decidedBy, Simulator::NO_CONTEXT, "by no host");
        }
        // Steps that wait for nobody are as fast as their ranks, however long a decision takes.
        Bed job(Plan({{Compute("a", 4 * US)}, {Compute("b", 7 * US)}}), 1, 3);
        job.job->SetDecider([&job](const workload::Notice& notice) {
            Simulator::ScheduleWithContext(Simulator::NO_CONTEXT,
                                           RdmaClock::At(DELAY),
                                           [&job, notice] { job.job->Act(notice); });
        });
        NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
        NS_TEST_EXPECT_MSG_EQ(job.EndOf("a", 2), 12 * US, "by itself");
        NS_TEST_EXPECT_MSG_EQ(job.EndOf("b", 2), 21 * US, "by itself");
        NS_TEST_EXPECT_MSG_EQ(job.overAt, 21 * US + DELAY, "decided");
    }
};

/// All ranks' part in an all-to-all-v, of a name a rank.
training::TrainingPlan
AllToAllV(uint32_t ranks, const std::vector<uint64_t>& bytes)
{
    const auto blocks = std::make_shared<coll::BlockSizes>(ranks, bytes);
    std::vector<std::vector<Task>> tasks(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        Task task;
        task.kind = TaskKind::kCollective;
        task.name = "rank " + std::to_string(rank);
        task.op = coll::Op::kAllToAllV;
        task.blocks = blocks;
        task.bytes = blocks->LargestInput();
        task.stream = 1;
        tasks[rank].push_back(task);
    }
    return Plan(tasks);
}

class AllToAllVTestCase : public TestCase
{
  public:
    AllToAllVTestCase()
        : TestCase("an all-to-all with sizes ends for each rank when what it gets is there")
    {
    }

  private:
    // job-bed.h has W and P.
    static constexpr int64_t W = 1102 * 1000;
    static constexpr int64_t P = 4500 * 1000;

    void DoRun() override
    {
        // Ranks 0 and 1 have a packet for rank 2, and so one waits for the other at the switch;
        // rank 3 has one for rank 0, and nothing comes for it or for rank 1. Own blocks go nowhere.
        {
            Bed job(AllToAllV(4, {500, 0, 1000, 0, 0, 0, 1000, 0, 0, 0, 0, 0, 1000, 0, 0, 7}), 1);
            NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 0"), 2 * W + P, "a packet from rank 3");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 1"), 0, "nothing comes");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 2"), 3 * W + P, "two packets");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 3"), 0, "nothing comes");
            NS_TEST_EXPECT_MSG_EQ(job.collectives->GetBytes(), 3000, "without the own blocks");
        }
        // Two a server: 0 and 1, 2 and 3. What stays inside takes 600 ns and 0.1 ns a byte.
        {
            Bed job(AllToAllV(4, {0, 1000, 0, 0, 0, 0, 0, 1000, 0, 0, 0, 0, 0, 0, 0, 0}), 2);
            NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 1"), 700 * 1000, "inside the server");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("rank 3"), 2 * W + P, "over the network");
        }
        // Nobody has anything; three steps, one after another.
        {
            Bed job(AllToAllV(3, std::vector<uint64_t>(9, 0)), 1, 3);
            NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(job.over, true, "it ends");
            NS_TEST_EXPECT_MSG_EQ(job.end, 0, "at once");
        }
        // Sizes that do not fit the group are refused before anything runs.
        {
            training::TrainingPlan plan = AllToAllV(3, std::vector<uint64_t>(9, 5));
            plan.roles[1].tasks[0].bytes = 16;
            Bed job(std::move(plan), 1);
            NS_TEST_EXPECT_MSG_NE(job.Run(), "", "more bytes than the blocks have");
        }
    }
};

class OwnersTestCase : public TestCase
{
  public:
    OwnersTestCase()
        : TestCase("a rank's state changes by its own server's events: what breaks that is found")
    {
    }

  private:
    /// A message from rank 0 to rank 1 and an all-reduce of both, checked.
    static std::unique_ptr<Bed> MakeJob(uint32_t gpus)
    {
        Task together;
        together.kind = TaskKind::kCollective;
        together.name = "together";
        together.op = coll::Op::kAllReduce;
        together.bytes = 1000;
        together.stream = 1;
        auto job =
            std::make_unique<Bed>(Plan({{Message(TaskKind::kSend, "send", 1000, 1), together},
                                        {Message(TaskKind::kRecv, "receive", 1000, -1), together}}),
                                  gpus,
                                  3);
        RdmaOwner::ReadGlobalValue();
        return job;
    }

    /// \return what the process said that did this in an event of rank 1's server, and died
    std::string Died(const std::function<void(Bed& bed)>& what)
    {
        int ends[2];
        NS_ABORT_MSG_IF(pipe(ends) != 0, "no pipe");
        const pid_t child = fork();
        if (child == 0)
        {
            // Not the test runner's handlers: whoever aborts ends here.
            std::signal(SIGABRT, SIG_DFL);
            std::signal(SIGSEGV, SIG_DFL);
            dup2(ends[1], STDERR_FILENO);
            const auto job = MakeJob(1);
            Simulator::ScheduleWithContext(job->collectives->ContextOf(1), MicroSeconds(1), [&] {
                what(*job);
            });
            job->Run();
            _exit(0);
        }
        close(ends[1]);
        std::string said;
        char buffer[4096];
        for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        {
            said.append(buffer, static_cast<std::size_t>(n));
        }
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        NS_TEST_EXPECT_MSG_EQ(WIFSIGNALED(status), true, "it goes on: " << said);
        return said;
    }

    void DoRun() override
    {
        Config::SetGlobal("RdmaCheckOwners", BooleanValue(true));
        for (const uint32_t gpus : {1U, 2U})
        {
            const uint64_t before = RdmaOwner::GetNChecks();
            const auto job = MakeJob(gpus);
            NS_TEST_ASSERT_MSG_EQ(job->Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(job->over, true, "nothing is wrong with it");
            // Three steps of two ranks, each of which begins, starts two tasks and ends them.
            NS_TEST_EXPECT_MSG_GT_OR_EQ(RdmaOwner::GetNChecks() - before, 3 * 2 * 5, "checked");
        }

        struct Deed
        {
            std::function<void(Bed& bed)> what;
            const char* words;
        };

        const std::vector<Deed> deeds = {
            {[](Bed& bed) {
                 bed.collectives->Start(0, 0, {coll::Op::kBarrier, 0, 2, 0}, 0, 0, 1 * US);
             },
             "starts a collective of a rank"},
            {[](Bed& bed) {
                 bed.collectives->Prepare(0, {coll::Op::kBarrier, 0, 2, 0});
             },
             "makes a schedule"},
            {[](Bed& bed) {
                 bed.messages->Send({0, 0, 1, 9}, 8, 0, 0, 1 * US);
             },
             "sends a message of a rank"},
            {[](Bed& bed) {
                 bed.messages->Receive({0, 1, 0, 9}, 0, 1 * US);
             },
             "receives a message for a rank"},
            {[](Bed& bed) {
                 ChannelName name;
                 name.from = 1;
                 name.lane = 0x8000;
                 bed.messages->OnDelivered({name, 0, 0, 0}, 1 * US);
             },
             "delivers a message to a rank"},
            {[](Bed& bed) { bed.messages->OnSent(0, 0, 0, false, 1 * US); },
             "ends a send of a rank"},
            {[](Bed& bed) {
                 const ChannelName name;
                 bed.collectives->OnDelivered({name, 0, 0, 0}, 1 * US);
             },
             "delivers a collective's message to a rank"},
            {[](Bed& bed) { bed.collectives->OnSent(0, 0, 0, true, 1 * US); },
             "tells of a failed message of a rank"},
            {[](Bed& bed) { bed.job->OnMessageDone(0, 0, 1 * US, -1, nullptr); },
             "ends a task of a rank"},
        };
        for (const Deed& deed : deeds)
        {
            const std::string said = Died(deed.what);
            NS_TEST_EXPECT_MSG_NE(said.find(std::string("an event of node 1 ") + deed.words),
                                  std::string::npos,
                                  said);
        }
        Config::SetGlobal("RdmaCheckOwners", BooleanValue(false));
        RdmaOwner::ReadGlobalValue();
    }
};

/// Something the host does.
Task
OnHost(const std::string& name,
       int64_t ps,
       uint8_t stream,
       std::vector<training::TaskId> after,
       training::Phase phase = training::Phase::kOptimizer)
{
    Task task = Compute(name, ps, std::move(after));
    task.kind = TaskKind::kHost;
    task.stream = stream;
    task.phase = phase;
    return task;
}

class HostTestCase : public TestCase
{
  public:
    HostTestCase()
        : TestCase("what the host does runs beside computing, and counts where nothing else runs")
    {
    }

  private:
    void DoRun() override
    {
        // us          0         10   14     20
        // compute     a a a a a a a         |
        // host (1)    h h h     u u u       |     4 of u alone, of h nothing
        // loading (2) l l l l l l l l l l l l     6 of it alone
        for (const double slowness : {1.0, 1.5})
        {
            training::TrainingPlan plan =
                Plan({{Compute("a", 10 * US),
                       OnHost("h", 3 * US, 1, {}),
                       OnHost("u", 4 * US, 1, {0}),
                       OnHost("l", 20 * US, 2, {}, training::Phase::kLoading)}});
            plan.slowness = {slowness};
            Bed job(std::move(plan), 1, 2);
            NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
            const auto computed = static_cast<int64_t>(10 * US * slowness);
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("h"), 3 * US, "beside computing");
            NS_TEST_EXPECT_MSG_EQ(job.StartOf("u"), computed, "behind what it waits for");
            NS_TEST_EXPECT_MSG_EQ(job.EndOf("u"), computed + 4 * US, "no slower: it is no GPU");
            NS_TEST_EXPECT_MSG_EQ(job.StartOf("a", 1), 20 * US, "when the next batch is there");
            NS_TEST_EXPECT_MSG_EQ(job.hostPs, 4.0 * US, "the update alone");
            NS_TEST_EXPECT_MSG_EQ(job.loadingPs, 16.0 * US - computed, "loading alone");
            NS_TEST_EXPECT_MSG_EQ(job.communicationPs, 0, "nothing is sent");
        }
    }
};

class JitterTestCase : public TestCase
{
  public:
    JitterTestCase()
        : TestCase("computing takes each GPU's draw of the step")
    {
    }

  private:
    void DoRun() override
    {
        training::TrainingPlan plan =
            Plan({{Compute("a", 40 * US)}, {Compute("b", 40 * US), OnHost("h", US, 1, {0})}});
        plan.jitter = {0.2, 5, 2};
        plan.slowness = {1, 1.5};
        const training::Jitter jitter = plan.jitter;
        Bed job(std::move(plan), 1, 3);
        NS_TEST_ASSERT_MSG_EQ(job.Run(), "", "it can be run");
        for (uint32_t step = 0; step < 3; ++step)
        {
            const auto length = [&](const char* name) {
                return static_cast<double>(job.EndOf(name, step) - job.StartOf(name, step));
            };
            const double a = 40 * US * training::JitterOf(jitter, 0, step);
            const double b = 60 * US * training::JitterOf(jitter, 1, step);
            NS_TEST_EXPECT_MSG_EQ_TOL(length("a"), a, 1, "rank 0");
            NS_TEST_EXPECT_MSG_EQ_TOL(length("b"), b, 1, "rank 1, which is slow besides");
            NS_TEST_EXPECT_MSG_EQ(length("h"), US, "a host has none");
        }
        NS_TEST_EXPECT_MSG_EQ(job.EndOf("a", 2) - job.StartOf("a", 2),
                              job.EndOf("a") - job.StartOf("a"),
                              "two steps are a period");
    }
};

class JobTestSuite : public TestSuite
{
  public:
    JobTestSuite()
        : TestSuite("dltrain-job", UNIT)
    {
        AddTestCase(new DecisionsTestCase, TestCase::QUICK);
        AddTestCase(new AllToAllVTestCase, TestCase::QUICK);
        AddTestCase(new OwnersTestCase, TestCase::QUICK);
        AddTestCase(new HostTestCase, TestCase::QUICK);
        AddTestCase(new JitterTestCase, TestCase::QUICK);
    }
};

JobTestSuite g_jobTestSuite;

} // namespace
