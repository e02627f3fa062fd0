/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows, alone and beside a training job on one fabric.
 *
 * The bed is a star of servers with one GPU and one NIC at 100 Gb/s: no path is shared but a NIC's
 * link, so jobs of different servers do not meet.
 */
#include "reports/attribution/message-id.h"
#include "scenarios/workload/repeated-steps.h"

#include "ns3/boolean.h"
#include "ns3/flow-runner.h"
#include "ns3/global-value.h"
#include "ns3/job-runner.h"
#include "ns3/network-transport.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-owner.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace dltrain;
using scenario::Flow;
using scenario::FlowOperation;
using scenario::QueuePairUse;

namespace
{

constexpr int64_t US = 1000000;
constexpr int64_t CABLE = US;
constexpr uint64_t GBPS = 1000000000;

/// Servers on one switch, and the transports between them.
class Bed
{
  public:
    Bed(uint32_t servers, const std::string& network)
    {
        topo::Topology& topology = cluster.topology;
        std::vector<RdmaNodeSpec> nodes;
        std::vector<RdmaLinkSpec> links;
        for (uint32_t s = 0; s < servers; ++s)
        {
            topology.AddHost("h" + std::to_string(s));
            nodes.push_back({"h" + std::to_string(s), false});
            cluster.hostOfServer.push_back(s);
        }
        topology.AddSwitch("s", 1);
        nodes.push_back({"s", true});
        for (uint32_t s = 0; s < servers; ++s)
        {
            topology.Connect(s, servers, rdma::BitRate(100 * GBPS), rdma::Duration(CABLE));
            links.push_back({s, servers, 100 * GBPS, CABLE, 0});
        }
        cluster.servers = servers;
        cluster.server.gpus = 1;
        cluster.server.nics = 1;
        cluster.server.scaleUp.perGpu = rdma::BitRate(800 * GBPS);
        std::string error;
        fabric = RdmaFabricHelper().Build(nodes, links, error);
        NS_ABORT_MSG_IF(!fabric, error);
        TraceCollector::Options options;
        options.law = network == "packet" ? "" : network;
        collector = std::make_unique<TraceCollector>(*fabric, options);
        interconnect = std::make_unique<Interconnect>(cluster, network, *fabric, *collector);
    }

    ~Bed()
    {
        interconnect.reset();
        collector.reset();
        fabric.reset();
        Simulator::Destroy();
    }

    Transport& Between() const
    {
        return interconnect->Serving(0, 1);
    }

    scenario::ClusterSpec cluster;
    std::unique_ptr<RdmaFabric> fabric;
    std::unique_ptr<TraceCollector> collector;
    std::unique_ptr<Interconnect> interconnect;
};

/// Runs flows and notes what it hears.
class Flows : public FlowListener
{
  public:
    Flows(Bed& bed, std::vector<Flow> what, FlowOperation operation, QueuePairUse use, uint32_t job)
        : Flows(bed,
                std::move(what),
                operation,
                use,
                job,
                bed.Between(),
                bed.interconnect->GetPlaces())
    {
    }

    Flows(Bed& bed,
          std::vector<Flow> what,
          FlowOperation operation,
          QueuePairUse use,
          uint32_t job,
          Transport& transport,
          const Places& places)
        : arrivals(what.size(), -1),
          ends(what.size(), -1),
          m_flows(std::move(what)),
          m_read(operation == FlowOperation::kRead),
          m_places(places)
    {
        FlowJob flows{m_flows, m_measuring, operation, use, job, 100 * job};
        runner = std::make_unique<FlowRunner>(
            flows,
            transport,
            places,
            *this,
            [&bed](const std::string& tag) { return bed.collector->Tag(tag); });
        runner->SetDecider([](auto decision) {
            Simulator::ScheduleWithContext(Simulator::NO_CONTEXT,
                                           RdmaClock::At(CABLE),
                                           std::move(decision));
        });
        runner->Start();
    }

    void OnFlowBegin(uint32_t flow, ChannelId, int64_t now) override
    {
        inOrder = inOrder && now == m_flows[flow].start.ps;
        IsAt(m_read ? m_flows[flow].dst : m_flows[flow].src);
    }

    void OnFlowArrived(uint32_t flow, ChannelId, int64_t now) override
    {
        inOrder = inOrder && arrivals[flow] < 0;
        arrivals[flow] = now;
        IsAt(m_flows[flow].dst);
    }

    void OnFlowEnded(uint32_t flow, ChannelId, bool failed, int64_t now) override
    {
        inOrder = inOrder && ends[flow] < 0 && (failed || arrivals[flow] >= 0);
        ends[flow] = now;
        IsAt(m_read ? m_flows[flow].dst : m_flows[flow].src);
    }

    void OnFlowsDone() override
    {
        inOrder = inOrder && done < 0 && Simulator::GetContext() == Simulator::NO_CONTEXT;
        done = RdmaClock::Now();
    }

    int64_t LastArrival() const
    {
        return *std::max_element(arrivals.begin(), arrivals.end());
    }

    std::vector<int64_t> arrivals;
    std::vector<int64_t> ends;
    int64_t done{-1};
    bool inOrder{true}; //!< each was told once, where and when it should be
    std::unique_ptr<FlowRunner> runner;

  private:
    void IsAt(uint32_t place)
    {
        inOrder = inOrder && Simulator::GetContext() == m_places.ContextOf(place);
    }

    std::vector<Flow> m_flows;
    scenario::Measuring m_measuring;
    bool m_read;
    const Places& m_places;
};

Flow
Make(uint32_t src, uint32_t dst, uint64_t bytes, int64_t start)
{
    Flow flow;
    flow.src = src;
    flow.dst = dst;
    flow.bytes = bytes;
    flow.start = rdma::TimePoint(start);
    flow.tag = bytes > 100000 ? "large" : "small";
    return flow;
}

/// \return flows of some servers, two of each at a time, and a pair that has several
std::vector<Flow>
Some(uint32_t first, uint32_t servers)
{
    std::vector<Flow> flows;
    for (uint32_t i = 0; i < 6 * servers; ++i)
    {
        const uint32_t src = i / 2 % servers;
        flows.push_back(Make(first + src,
                             first + (src + 1) % servers,
                             i % 5 ? 20000 + 3000 * i : 400000,
                             i / (2 * servers) * 3 * US));
    }
    return flows;
}

/// \return when a decision of this time acts. Events stand on whole nanoseconds here.
int64_t
AfterACable(int64_t ps)
{
    return (ps + CABLE + 999) / 1000 * 1000;
}

/// Training on the first ranks: two steps of an all-reduce behind a computation, and a message.
class Job : public JobListener
{
  public:
    Job(Bed& bed, uint32_t ranks)
        : m_plan(Plan(ranks)),
          m_workload(m_plan, 0, 2),
          m_job(m_workload,
                *this,
                [&bed](const std::string& name) { return bed.collector->Tag(name); }),
          m_collectives(bed.cluster, {}, *bed.interconnect, &m_job),
          m_messages(*bed.interconnect, scenario::CollectiveOptions(), m_job)
    {
        m_job.SetServices({&m_collectives, &m_messages});
        why = m_job.Start();
    }

    void OnRoundBegin(uint32_t) override
    {
    }

    void OnCall(const reports::CallRecord&) override
    {
    }

    void OnRoundEnd(uint32_t, const reports::StepRecord& record) override
    {
        end = record.end;
    }

    void OnMeasure(int64_t) override
    {
    }

    void OnJobEnd() override
    {
        over = true;
    }

    std::string why;
    int64_t end{-1};
    bool over{false};

  private:
    static training::TrainingPlan Plan(uint32_t ranks)
    {
        training::TrainingPlan plan;
        plan.ranks = ranks;
        std::vector<Rank> all(ranks);
        std::iota(all.begin(), all.end(), 0);
        plan.groupKinds.push_back({"data", {all}});
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            training::Task compute;
            compute.name = "backward";
            compute.duration = rdma::Duration(5 * US);
            training::Task reduce;
            reduce.kind = training::TaskKind::kCollective;
            reduce.name = "all-reduce";
            reduce.op = coll::Op::kAllReduce;
            reduce.bytes = 1000000;
            reduce.after = {0};
            reduce.stream = 1;
            training::Task message;
            message.kind = rank % 2 ? training::TaskKind::kRecv : training::TaskKind::kSend;
            message.name = rank % 2 ? "receive" : "send";
            message.bytes = 300000;
            message.peerOffset = rank % 2 ? -1 : 1;
            message.stream = 2;
            training::StepGraph graph;
            graph.streams = {"compute", "collectives", "messages"};
            graph.tasks = {compute, reduce, message};
            plan.roles.push_back(graph);
            plan.roleOf.push_back(rank);
        }
        return plan;
    }

    training::TrainingPlan m_plan;
    workload::RepeatedSteps m_workload;
    JobRunner m_job;
    CollectiveRunner m_collectives;
    MessageRunner m_messages;
};

constexpr uint32_t RANKS = 4;
constexpr uint32_t JOB = 7;

const std::vector<QueuePairUse> USES = {QueuePairUse::kPerFlow,
                                        QueuePairUse::kPerPair,
                                        QueuePairUse::kReused};

} // namespace

class FlowsBesideAJobTestCase : public TestCase
{
  public:
    FlowsBesideAJobTestCase()
        : TestCase("flows and a training job on one fabric")
    {
    }

  private:
    void Check(const Flows& flows, const std::vector<Flow>& list, const std::string& what)
    {
        NS_TEST_EXPECT_MSG_EQ(flows.inOrder, true, what << ": who hears what, when and where");
        const FlowCounts counts = flows.runner->GetCounts();
        uint64_t bytes = 0;
        for (const Flow& flow : list)
        {
            bytes += flow.bytes;
        }
        NS_TEST_EXPECT_MSG_EQ(counts.posted, list.size(), what);
        NS_TEST_EXPECT_MSG_EQ(counts.arrived, list.size(), what);
        NS_TEST_EXPECT_MSG_EQ(counts.measuredArrived, list.size(), what);
        NS_TEST_EXPECT_MSG_EQ(counts.ended, list.size(), what);
        NS_TEST_EXPECT_MSG_EQ(counts.failed, 0, what);
        NS_TEST_EXPECT_MSG_EQ(counts.arrivedBytes, bytes, what << ": of no other job");
        NS_TEST_EXPECT_MSG_EQ(counts.lastArrival, flows.LastArrival(), what);
        NS_TEST_EXPECT_MSG_EQ(flows.done,
                              AfterACable(counts.lastEnd),
                              what << ": a cable's delay later");
    }

    void Run(const std::string& network, FlowOperation operation, QueuePairUse use)
    {
        const std::string what = network + ", operation " +
                                 std::to_string(static_cast<int>(operation)) + ", use " +
                                 std::to_string(static_cast<int>(use));
        const std::vector<Flow> apart = Some(RANKS, 3);
        const std::vector<Flow> shared = Some(0, RANKS);
        int64_t jobAlone = 0;
        std::vector<int64_t> apartAlone;
        int64_t sharedAlone = 0;
        {
            Bed bed(7, network);
            Job job(bed, RANKS);
            NS_TEST_ASSERT_MSG_EQ(job.why, "", what);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(job.over, true, what);
            jobAlone = job.end;
        }
        {
            Bed bed(7, network);
            Flows flows(bed, apart, operation, use, JOB);
            Simulator::Run();
            Check(flows, apart, what + ", alone");
            apartAlone = flows.arrivals;
        }
        {
            Bed bed(7, network);
            Flows flows(bed, shared, operation, use, JOB);
            Simulator::Run();
            Check(flows, shared, what + ", alone");
            sharedAlone = flows.LastArrival();
        }
        {
            // On servers of their own they do not disturb each other.
            Bed bed(7, network);
            Job job(bed, RANKS);
            Flows flows(bed, apart, operation, use, JOB);
            Simulator::Run();
            Check(flows, apart, what + ", apart");
            NS_TEST_EXPECT_MSG_EQ(job.end, jobAlone, what << ": as alone");
            NS_TEST_EXPECT_MSG_EQ((flows.arrivals == apartAlone), true, what << ": as alone");
        }
        {
            // Three on one fabric: a job, flows on its servers, and flows on others.
            Bed bed(7, network);
            Job job(bed, RANKS);
            Flows flows(bed, shared, operation, use, JOB);
            Flows others(bed, apart, operation, use, JOB + 1);
            Simulator::Run();
            Check(flows, shared, what + ", shared");
            Check(others, apart, what + ", apart from those that share");
            NS_TEST_EXPECT_MSG_EQ(job.over, true, what);
            NS_TEST_EXPECT_MSG_GT(job.end, jobAlone, what << ": the job is disturbed");
            NS_TEST_EXPECT_MSG_GT(flows.LastArrival(), sharedAlone, what << ": so are the flows");
            NS_TEST_EXPECT_MSG_EQ((others.arrivals == apartAlone),
                                  true,
                                  what << ": others are not");
            NS_TEST_EXPECT_MSG_EQ(bed.collector->GetOutstanding(), 0, what << ": all is there");
        }
    }

    void DoRun() override
    {
        GlobalValue::Bind("RdmaCheckOwners", BooleanValue(true));
        RdmaOwner::ReadGlobalValue();
        const uint64_t before = RdmaOwner::GetNChecks();
        for (const std::string network : {"packet", "fluid", "analytic"})
        {
            for (const QueuePairUse use : USES)
            {
                Run(network, FlowOperation::kWrite, use);
            }
            Run(network, FlowOperation::kSend, QueuePairUse::kPerFlow);
            Run(network, FlowOperation::kRead, QueuePairUse::kPerFlow);
            Run(network, FlowOperation::kRead, QueuePairUse::kReused);
        }
        NS_TEST_EXPECT_MSG_GT(RdmaOwner::GetNChecks(), before, "who touches what was checked");
        GlobalValue::Bind("RdmaCheckOwners", BooleanValue(false));
        RdmaOwner::ReadGlobalValue();
    }
};

class FlowsOfAnotherTransportTestCase : public TestCase
{
  public:
    FlowsOfAnotherTransportTestCase()
        : TestCase("flows between NICs, beside a job of GPUs with a transport of its own")
    {
    }

  private:
    void DoRun() override
    {
        uint64_t ofJob = 0;
        {
            Bed bed(4, "packet");
            Job job(bed, RANKS);
            Simulator::Run();
            ofJob = bed.fabric->GetConnections().GetQueuePairs();
        }
        Bed bed(4, "packet");
        const Places nics(*bed.fabric);
        NetworkTransport transport({*bed.fabric, *bed.collector, nics});
        Job job(bed, RANKS);
        const std::vector<Flow> list = Some(0, RANKS);
        Flows flows(bed, list, FlowOperation::kWrite, QueuePairUse::kPerPair, JOB, transport, nics);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(job.over, true, "the job");
        NS_TEST_EXPECT_MSG_EQ(flows.runner->GetCounts().arrived, list.size(), "the flows");
        NS_TEST_EXPECT_MSG_EQ(flows.inOrder, true, "each where it belongs");
        NS_TEST_EXPECT_MSG_EQ(transport.GetQueuePairs(), ofJob + 2 * RANKS, "a pair, two ends");
        NS_TEST_EXPECT_MSG_EQ(transport.GetBytesArrived(),
                              flows.runner->GetCounts().arrivedBytes,
                              "of flows only");
    }
};

class FlowsThatFailTestCase : public TestCase
{
  public:
    FlowsThatFailTestCase()
        : TestCase("flows that fail end too, each once")
    {
    }

  private:
    void DoRun() override
    {
        for (const QueuePairUse use : USES)
        {
            Bed bed(3, "packet");
            // The first two of a pair; another pair; and the first pair again, when it has failed.
            const std::vector<Flow> list = {Make(0, 1, 900000, 0),
                                            Make(0, 1, 1000, 0),
                                            Make(2, 1, 500000, 0),
                                            Make(0, 1, 1000, 500 * US)};
            Flows flows(bed, list, FlowOperation::kWrite, use, JOB);
            const uint32_t host = bed.interconnect->GetPlaces().ContextOf(0);
            Simulator::ScheduleWithContext(host, RdmaClock::At(3 * US), [&bed] {
                bed.fabric->GetNic(0)->GetQueuePair(0)->Modify(RdmaQueuePair::State::ERROR);
            });
            Simulator::Run();
            // On a channel of their own the others do not hear of it.
            const uint64_t failed = use == QueuePairUse::kPerPair ? 3 : 1;
            const FlowCounts counts = flows.runner->GetCounts();
            NS_TEST_EXPECT_MSG_EQ(flows.inOrder, true, "each was told once");
            NS_TEST_EXPECT_MSG_EQ(counts.ended, list.size(), "all have ended");
            NS_TEST_EXPECT_MSG_EQ(counts.failed, failed, "some in vain");
            NS_TEST_EXPECT_MSG_EQ(counts.arrived, list.size() - failed, "the others are there");
            NS_TEST_EXPECT_MSG_GT(flows.arrivals[2], 0, "of another pair");
            NS_TEST_EXPECT_MSG_EQ(flows.done, AfterACable(counts.lastEnd), "nothing is waited for");
        }
    }
};

class FlowsMeasuredTestCase : public TestCase
{
  public:
    FlowsMeasuredTestCase()
        : TestCase("the end is that of the measured flows; the numbers of flows.csv are the job's")
    {
    }

  private:
    struct Notes : FlowListener
    {
        void OnFlowsDone() override
        {
            done = RdmaClock::Now();
        }

        int64_t done{-1};
    };

    /// Notes what is asked of it; nothing moves.
    struct Names : Transport
    {
        using Transport::Open;

        ChannelId Open(const ChannelName& name, TransportUser&, uint64_t, uint64_t) override
        {
            names.push_back(name);
            return names.size() - 1;
        }

        void Post(ChannelId channel, const TransportPost& post) override
        {
            posts.emplace_back(channel, post.id);
        }

        void Close(ChannelId) override
        {
        }

        std::string Describe(ChannelId) const override
        {
            return {};
        }

        uint64_t GetBytesArrived() const override
        {
            return 0;
        }

        std::vector<ChannelName> names;
        std::vector<std::pair<ChannelId, uint64_t>> posts;
    };

    void TheEnd()
    {
        Bed bed(3, "packet");
        scenario::Measuring measuring;
        measuring.from = rdma::Duration(10 * US);
        measuring.until = rdma::Duration(20 * US);
        const std::vector<Flow> list = {Make(0, 1, 1000, 9 * US),
                                        Make(0, 1, 200000, 10 * US),
                                        Make(1, 2, 1000, 12 * US),
                                        Make(2, 0, 900000, 20 * US)};
        Notes notes;
        FlowRunner runner({list, measuring},
                          bed.Between(),
                          bed.interconnect->GetPlaces(),
                          notes,
                          [](const std::string&) { return 0; });
        int64_t lastMeasured = -1;
        runner.SetDecider([&](auto decision) {
            lastMeasured = RdmaClock::Now();
            Simulator::ScheduleWithContext(Simulator::NO_CONTEXT, Time(0), std::move(decision));
        });
        runner.Start();
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(runner.GetCounts().measuredArrived, 2, "two");
        NS_TEST_EXPECT_MSG_EQ(runner.GetCounts().arrived, 4, "of four");
        NS_TEST_EXPECT_MSG_EQ(notes.done, lastMeasured, "one end");
        NS_TEST_EXPECT_MSG_LT(notes.done, runner.GetCounts().lastEnd, "a later one goes on");
    }

    void TheNames()
    {
        const std::vector<Flow> list = {Make(0, 1, 1000, 0),
                                        Make(0, 2, 1000, 0),
                                        Make(0, 1, 1000, 0),
                                        Make(1, 0, 1000, 5),
                                        Make(0, 1, 1000, 6)};
        const scenario::Measuring measuring;
        FlowListener listener;
        for (const QueuePairUse use : USES)
        {
            Bed bed(3, "packet"); // for its hosts
            Names names;
            FlowJob job{list, measuring, FlowOperation::kRead, use, JOB, 40};
            FlowRunner runner(job,
                              names,
                              bed.interconnect->GetPlaces(),
                              listener,
                              [](const std::string&) { return 3; });
            runner.Start();
            NS_TEST_EXPECT_MSG_EQ(names.names.size(), 0, "nothing is opened before it begins");
            Simulator::Run();
            const bool perPair = use == QueuePairUse::kPerPair;
            NS_TEST_ASSERT_MSG_EQ(names.posts.size(), list.size(), "all flows");
            NS_TEST_ASSERT_MSG_EQ(names.names.size(), (perPair ? 3 : list.size()), "channels");
            for (const auto& [channel, id] : names.posts)
            {
                const uint32_t flow = reports::MessageId::Flow(id) - 40;
                const ChannelName& name = names.names[channel];
                NS_TEST_EXPECT_MSG_EQ(reports::MessageId::Tag(id), 3, "tag");
                NS_TEST_EXPECT_MSG_EQ(name.from, list[flow].dst, "who reads posts");
                NS_TEST_EXPECT_MSG_EQ(name.to, list[flow].src, "what is there");
                NS_TEST_EXPECT_MSG_EQ(name.job, JOB, "of this job");
                NS_TEST_EXPECT_MSG_EQ(name.single, (use == QueuePairUse::kReused), "single use");
                const std::vector<uint32_t> lanes = {0, 0, 1, 0, 2};
                NS_TEST_EXPECT_MSG_EQ(name.lane, (perPair ? 0 : lanes[flow]), "flow " << flow);
            }
        }
    }

    void DoRun() override
    {
        TheEnd();
        TheNames();
    }
};

class FlowsTestSuite : public TestSuite
{
  public:
    FlowsTestSuite()
        : TestSuite("dltrain-flows", UNIT)
    {
        AddTestCase(new FlowsBesideAJobTestCase, TestCase::QUICK);
        AddTestCase(new FlowsOfAnotherTransportTestCase, TestCase::QUICK);
        AddTestCase(new FlowsThatFailTestCase, TestCase::QUICK);
        AddTestCase(new FlowsMeasuredTestCase, TestCase::QUICK);
    }
};

static FlowsTestSuite g_flowsTestSuite;
