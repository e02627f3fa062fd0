/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A job on a bed for tests: a star at 8 Gb/s, so a byte is a nanosecond. A message of 1,000 B is
 * one packet of 1,102 B on the wire (82, an RETH of 16 and an immediate of 4 more), W = 1,102 ns a
 * link. Alone it takes 2 W + P: two cables of 2 us and the switch's pipeline of 500 ns make
 * P = 4,500 ns. Its acknowledgement is 86 B on the wire, A = 86 ns a link, so a send ends 2 A + P
 * after its message has arrived. Inside a server a message takes 600 ns and 0.1 ns a byte.
 */
#ifndef DLTRAIN_JOB_BED_H
#define DLTRAIN_JOB_BED_H

#include "reports/attribution/critical-path.h"
#include "scenarios/workload/repeated-steps.h"
#include "star-cluster.h"

#include "ns3/job-runner.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/trace-collector.h"

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dltrain::bed
{

using namespace ns3;
using namespace dltrain::test;

inline training::Task
Compute(const std::string& name, int64_t ps, std::vector<training::TaskId> after = {})
{
    training::Task task;
    task.name = name;
    task.duration = rdma::Duration(ps);
    task.after = std::move(after);
    return task;
}

/// \param to how many positions further on in the group
inline training::Task
Message(training::TaskKind kind,
        const std::string& name,
        uint64_t bytes,
        int32_t to,
        std::vector<training::TaskId> after = {},
        uint16_t tag = 0,
        uint8_t stream = 1)
{
    training::Task task;
    task.kind = kind;
    task.name = name;
    task.bytes = bytes;
    task.peerOffset = to;
    task.after = std::move(after);
    task.tag = tag;
    task.stream = stream;
    return task;
}

/// One graph a rank, all ranks in one group.
inline training::TrainingPlan
Plan(const std::vector<std::vector<training::Task>>& tasks)
{
    training::TrainingPlan plan;
    plan.ranks = static_cast<uint32_t>(tasks.size());
    std::vector<dltrain::Rank> all(plan.ranks);
    std::iota(all.begin(), all.end(), 0);
    plan.groupKinds.push_back({"pipeline", {all}});
    for (uint32_t rank = 0; rank < plan.ranks; ++rank)
    {
        training::StepGraph graph;
        graph.streams = {"compute", "sends", "receives"};
        graph.tasks = tasks[rank];
        plan.roles.push_back(graph);
        plan.roleOf.push_back(rank);
    }
    return plan;
}

/// A job on servers around one switch.
class Bed : public JobListener
{
  public:
    Bed(training::TrainingPlan what,
        uint32_t gpus,
        uint32_t steps = 1,
        bool infiniBand = false,
        rdma::Duration stepLatency = {},
        const coll::Machine& machine = {})
        : Bed(
              std::move(what),
              gpus,
              [steps](const training::TrainingPlan& plan) {
                  return std::make_unique<workload::RepeatedSteps>(plan, 0, steps);
              },
              infiniBand,
              stepLatency,
              machine)
    {
    }

    using MakeWorkload =
        std::function<std::unique_ptr<workload::Workload>(const training::TrainingPlan& plan)>;

    Bed(training::TrainingPlan what,
        uint32_t gpus,
        const MakeWorkload& workload,
        bool infiniBand = false,
        rdma::Duration stepLatency = {},
        const coll::Machine& machine = {})
        : m_plan(std::move(what)),
          m_workload(workload(m_plan))
    {
        const training::TrainingPlan& plan = m_plan;
        const uint32_t servers = (plan.ranks + gpus - 1) / gpus;
        m_cluster = StarCluster(std::vector<uint64_t>(servers, 8 * GBPS), gpus);
        m_cluster.server.library = machine.library;
        RdmaFabricHelper helper;
        if (infiniBand)
        {
            helper.SetInfiniBand(IbFabricConfig());
        }
        fabric = BuildFabric(helper, m_cluster);
        TraceCollector::Options collect;
        collect.attribution = true;
        collector = std::make_unique<TraceCollector>(*fabric, collect);
        critical = std::make_unique<reports::CriticalPath>(plan,
                                                           collector->GetPortNames(),
                                                           collector->GetTags(),
                                                           fabric->GetLinkLayer().GetWords());
        interconnect = std::make_unique<Interconnect>(m_cluster, "packet", *fabric, *collector);
        job = std::make_unique<JobRunner>(*m_workload, *this, [this](const std::string& name) {
            return collector->Tag(name);
        });
        scenario::CollectiveOptions options;
        options.stepLatency = stepLatency;
        options.machine = machine;
        collectives =
            std::make_unique<CollectiveRunner>(m_cluster, options, *interconnect, job.get());
        messages = std::make_unique<MessageRunner>(*interconnect, options, *job);
        collectives->SetPaths(&critical->GetPaths());
        messages->SetPaths(&critical->GetPaths());
        job->SetServices({collectives.get(), messages.get()});
    }

    ~Bed() override
    {
        messages.reset();
        collectives.reset();
        job.reset();
        interconnect.reset();
        collector.reset();
        fabric.reset();
        Simulator::Destroy();
    }

    /// \return why not, or nothing
    std::string Run()
    {
        const std::string why = job->Start();
        if (why.empty())
        {
            Simulator::Run();
        }
        return why;
    }

    void OnRoundBegin(uint32_t) override
    {
    }

    void OnCallEnds(const reports::CallRecord& call, reports::PathRecord* path) override
    {
        critical->OnCall(call, path);
    }

    void OnCall(const reports::CallRecord& call) override
    {
        calls[{call.step, call.task->name}] = {call.start, call.end};
    }

    void OnRoundEnd(uint32_t number, const reports::StepRecord& record) override
    {
        critical->OnStep(number, end);
        end = record.end;
        this->record = record;
        communicationPs = record.communicationPs;
        hostPs = record.hostPs;
        loadingPs = record.loadingPs;
    }

    void OnMeasure(int64_t now) override
    {
        measuredFrom = now;
    }

    void OnJobEnd() override
    {
        over = true;
        overAt = RdmaClock::Now();
        decidedBy = Simulator::GetContext();
    }

    int64_t StartOf(const std::string& name, uint32_t step = 0) const
    {
        return calls.at({step, name}).first;
    }

    int64_t EndOf(const std::string& name, uint32_t step = 0) const
    {
        return calls.at({step, name}).second;
    }

    std::unique_ptr<RdmaFabric> fabric;
    std::unique_ptr<TraceCollector> collector;
    std::unique_ptr<reports::CriticalPath> critical;
    std::unique_ptr<Interconnect> interconnect;
    std::unique_ptr<JobRunner> job;
    std::unique_ptr<CollectiveRunner> collectives;
    std::unique_ptr<MessageRunner> messages;
    std::map<std::pair<uint32_t, std::string>, std::pair<int64_t, int64_t>> calls;
    int64_t end{0};
    reports::StepRecord record; //!< of the last step
    double communicationPs{0};
    double hostPs{0};
    double loadingPs{0};
    bool over{false};
    int64_t measuredFrom{-1};
    int64_t overAt{-1};
    uint32_t decidedBy{0}; //!< context

  private:
    scenario::ClusterSpec m_cluster;
    training::TrainingPlan m_plan;
    std::unique_ptr<workload::Workload> m_workload;
};

} // namespace dltrain::bed

#endif // DLTRAIN_JOB_BED_H
