/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "jobs-simulation.h"

#include "contrib/dltrain/base/quiet-run.h"
#include "contrib/dltrain/observers/stuck-report.h"
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/run/fabric-builder.h"
#include "contrib/dltrain/transports/flow-transport.h"
#include "contrib/rdma/core/shown-text.h"
#include "results/base/human-text.h"
#include "results/schema/quantiles.h"
#include "results/stats/loss-counts.h"
#include "results/stats/run-summary.h"
#include "scenarios/options/cluster/network-kinds.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

namespace dltrain
{

namespace
{

uint32_t
GpusOf(const scenario::Job& job)
{
    const scenario::ClusterSpec& cluster = job.scenario->cluster;
    return cluster.servers * cluster.server.gpus;
}

/// As bits: of all jobs, so that a job alone meets the same switches.
uint32_t
PrioritiesOf(const scenario::JobSet& jobs)
{
    uint32_t priorities = 0;
    for (const scenario::Job& job : jobs.jobs)
    {
        if (!job.protocol.IsOrdinary() && !job.flows.empty())
        {
            priorities |= 1U << job.flows.front().priority;
        }
    }
    return priorities;
}

} // namespace

/// A job of this simulation.
class JobsSimulation::Member : public FlowListener
{
  public:
    Member(JobsSimulation& all, const scenario::Job& job, uint32_t number)
        : m_all(all),
          m_job(job),
          m_number(number)
    {
        if (job.kind != scenario::JobKind::kFlows)
        {
            m_training = std::make_unique<TrainingJob>(*job.scenario);
        }
    }

    std::string Populate()
    {
        FabricRun& run = m_all.m_run;
        m_owner = run.Collector().AddOwner(m_job.name, false);
        const auto tagOf = [this](const std::string& name) {
            return m_all.m_run.Collector().Tag(m_job.name + "/" + name, m_owner);
        };
        if (m_training)
        {
            TrainingJob::Setting setting;
            setting.number = m_number;
            setting.start = m_job.start.ps;
            setting.tagOf = tagOf;
            setting.decide = [this](const std::string& what) {
                m_all.m_run.DecideForAll(std::to_string(m_number) + " " + what);
            };
            setting.onPhase = [](const std::string&) {};
            setting.onMeasure = [](int64_t) {};
            setting.onEnd = [this] { OnEnd(); };
            setting.criticalPath = false; // it is not printed
            setting.share = &m_all.m_share;
            return m_training->Populate(run, std::move(setting));
        }
        m_places = std::make_unique<Places>(run.Fabric());
        m_transport = MakeFlowTransport(m_all.m_scenario.fabric.network,
                                        m_job.protocol,
                                        run.Stack(),
                                        {run.Fabric(), run.Collector(), *m_places, &m_all.m_share});
        if (m_job.protocol.IsOrdinary())
        {
            run.Collector().SetOwnerOfOrdinary(m_owner);
        }
        FlowJob flows{m_job.flows, m_measuring};
        flows.operation = m_job.operation;
        flows.number = m_number;
        m_flows = std::make_unique<FlowRunner>(flows, *m_transport, *m_places, *this, tagOf);
        m_flows->SetDecider(
            [this](std::function<void()> what) { m_all.m_run.Decide(std::move(what)); });
        m_flows->Start();
        return {};
    }

    void Act(const std::string& what)
    {
        m_training->Act(what);
    }

    void OnFlowsDone() override
    {
        OnEnd();
    }

    bool IsDone() const
    {
        return m_training ? m_training->IsDone()
                          : m_flows->GetCounts().ended == m_job.flows.size() &&
                                m_flows->GetCounts().failed == 0;
    }

    double GetShareDone() const
    {
        return m_training ? m_training->GetShareDone()
                          : static_cast<double>(m_flows->GetCounts().ended) /
                                static_cast<double>(m_job.flows.size());
    }

    /// Flows over TCP or UDP are watched by nothing else.
    bool GoesOnByItself() const
    {
        const bool isToCome = ns3::RdmaClock::Now() < m_job.start.ps;
        return !IsDone() &&
               (isToCome || (m_training ? m_training->GoesOnByItself()
                                        : m_job.protocol.IsOrdinary() ||
                                              m_flows->GetCounts().posted < m_job.flows.size()));
    }

    std::vector<std::string> DescribeUnfinished() const
    {
        std::vector<std::string> lines =
            m_training
                ? m_training->DescribeUnfinished()
                : std::vector<std::string>{
                      results::HumanCount(m_job.flows.size() - m_flows->GetCounts().arrived) +
                      " flows did not arrive"};
        for (std::string& line : lines)
        {
            line = "job " + m_job.name + ": " + line;
        }
        return lines;
    }

    void Close()
    {
        if (m_training)
        {
            m_training->Close();
        }
    }

    /// A flow of UDP that lost a datagram has ended, and not arrived.
    bool HasLostFlows() const
    {
        return m_flows && m_flows->GetCounts().arrived < m_flows->GetCounts().ended;
    }

    /// us; nothing: it did not get so far, or there is no last arrival of all flows
    std::optional<double> GetTime() const
    {
        const double us =
            m_training
                ? m_training->GetResults().GetStepUs()
                : static_cast<double>(m_flows->GetCounts().lastArrival - m_job.start.ps) * 1e-6;
        const bool known = m_training ? us > 0 : IsDone() && !HasLostFlows();
        return known ? std::optional<double>(us) : std::nullopt;
    }

    const scenario::Job& GetJob() const
    {
        return m_job;
    }

    nlohmann::ordered_json GetStatistics(const std::optional<double>& alone) const;
    void Print(std::ostream& os, const std::optional<double>& alone) const;

  private:
    /// Between the nodes' events.
    void OnEnd()
    {
        m_end = ns3::RdmaClock::Now();
        m_all.OnMemberEnds();
    }

    const results::FlowTotals& Totals() const
    {
        return m_all.m_run.Collector().GetFlows().GetTotals(m_owner);
    }

    /// \return null: it is not known
    nlohmann::ordered_json Interference() const
    {
        if (m_job.protocol.IsOrdinary())
        {
            return {}; // its packets do not record for which job they wait
        }
        const results::Interference* of = m_all.m_run.Collector().GetInterference();
        return of ? of->ToJson(m_owner, "background") : nlohmann::ordered_json();
    }

    std::string WaitedWords() const
    {
        const ns3::RdmaLinkLayer& link = m_all.m_run.Fabric().GetLinkLayer();
        return results::WaitedLongest(Interference(), link.GetWords(), !link.HasCredits());
    }

    JobsSimulation& m_all;
    const scenario::Job& m_job;
    uint32_t m_number;
    uint32_t m_owner = 0;
    scenario::Measuring m_measuring;         ///< measures everything
    std::unique_ptr<TrainingJob> m_training; ///< null: flows
    std::unique_ptr<Places> m_places;
    std::unique_ptr<Transport> m_transport;
    std::unique_ptr<FlowRunner> m_flows;
    int64_t m_end = 0;

    friend class JobsSimulation;
};

JobsSimulation::JobsSimulation(const scenario::TrainingScenario& scenario,
                               std::optional<std::size_t> only,
                               Times alone)
    : m_scenario(scenario),
      m_isAlone(only.has_value()),
      m_alone(std::move(alone)),
      m_options(m_isAlone ? WithoutOutputs(scenario.run) : scenario.run),
      m_run(
          "dltrain",
          m_options,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {false,
           false,
           scenario.plan.ranks,
           m_isAlone ? NoOutput() : std::cout,
           false,
           PrioritiesOf(*scenario.jobs)})
{
    const std::vector<scenario::Job>& jobs = scenario.jobs->jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        if (!only || *only == i)
        {
            // A job has the same number alone, and so the same paths.
            m_members.push_back(std::make_unique<Member>(*this, jobs[i], static_cast<uint32_t>(i)));
        }
    }
}

JobsSimulation::~JobsSimulation() = default;

int
JobsSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
JobsSimulation::Populate()
{
    m_run.SetActor([this](const std::string& what) {
        std::istringstream words(what);
        uint32_t number = 0;
        words >> number;
        std::string rest;
        std::getline(words >> std::ws, rest);
        m_members[m_isAlone ? 0 : number]->Act(rest);
    });
    for (const std::unique_ptr<Member>& member : m_members)
    {
        const std::string error = member->Populate();
        if (!error.empty())
        {
            return "job " + member->GetJob().name + ": " + error;
        }
    }
    return {};
}

void
JobsSimulation::OnBegin()
{
    if (!m_isAlone)
    {
        std::cout << scenario::JobsText(*m_scenario.jobs) << std::endl;
    }
}

double
JobsSimulation::GetShareDone() const
{
    double sum = 0;
    for (const std::unique_ptr<Member>& member : m_members)
    {
        sum += member->GetShareDone();
    }
    return sum / static_cast<double>(m_members.size());
}

bool
JobsSimulation::IsDone() const
{
    return std::all_of(m_members.begin(), m_members.end(), [](const auto& m) {
        return m->IsDone();
    });
}

bool
JobsSimulation::GoesOnByItself() const
{
    return std::any_of(m_members.begin(), m_members.end(), [](const auto& member) {
        return member->GoesOnByItself();
    });
}

std::string
JobsSimulation::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (const std::unique_ptr<Member>& member : m_members)
    {
        if (!member->IsDone())
        {
            const std::vector<std::string> more = member->DescribeUnfinished();
            lines.insert(lines.end(), more.begin(), more.end());
        }
    }
    return DescribeRanks(lines);
}

void
JobsSimulation::OnMemberEnds()
{
    if (++m_ended == m_members.size())
    {
        m_run.End();
    }
}

void
JobsSimulation::OnEnd(results::RunOutcome&)
{
    for (const std::unique_ptr<Member>& member : m_members)
    {
        member->Close();
    }
}

JobsSimulation::Times
JobsSimulation::GetTimes() const
{
    Times times;
    for (const std::unique_ptr<Member>& member : m_members)
    {
        times.push_back(member->GetTime());
    }
    return times;
}

struct JobsSimulation::Told
{
    const Member& of;
    std::optional<double> alone;

    const scenario::ClusterSpec& Cluster() const
    {
        return of.m_job.scenario->cluster;
    }
};

const results::Object<JobsSimulation::Told>&
JobsSimulation::JobKeys()
{
    using T = Told;
    using results::Key;
    static const results::Object<T> keys{
        {"name: Name in the file, else job-N", [](const T& t) { return t.of.m_job.name; }},
        {"kind: training, collective or flows",
         [](const T& t) { return scenario::JobKindName(t.of.m_job.kind); }},
        {"start_us (us): When it begins",
         [](const T& t) { return static_cast<double>(t.of.m_job.start.ps) * 1e-6; }},
        Key<T>("end_us (us): When its last step or flow had ended, and others could know",
               [](const T& t) { return static_cast<double>(t.of.m_end) * 1e-6; })
            .NullUnless([](const T& t) { return t.of.m_end != 0; }),
        Key<T>("model: The model that is trained",
               [](const T& t) { return t.of.m_job.scenario->model; })
            .Only([](const T& t) { return t.of.m_job.kind == scenario::JobKind::kTraining; }),
        {"servers (count): Servers that it stands on",
         [](const T& t) { return t.Cluster().servers; }},
        {"gpus (count): GPUs of these", [](const T& t) { return GpusOf(t.of.m_job); }},
        {"hosts: Hosts of the network at which its servers stand",
         [](const T& t) { return t.Cluster().hostOfServer; }},
        {"time_us (us): Mean time of a measured step or repetition; flows: until the last has "
         "arrived",
         [](const T& t) { return t.of.GetTime(); }},
        {"time_alone_us (us): The same simulated without other jobs and background", &T::alone},
        {"slower_by_others (ratio): time_us over time_alone_us; 1: others do not touch it",
         [](const T& t) {
             const std::optional<double> time = t.of.GetTime();
             return time && t.alone && *t.alone > 0 ? std::optional<double>(*time / *t.alone)
                                                    : std::nullopt;
         }},
        {"messages (count): Its messages between servers that arrived",
         [](const T& t) { return t.of.Totals().fct.Count(); }},
        {"bytes (B): Size of these messages", [](const T& t) { return t.of.Totals().bytes; }},
        {"fct_us (us): Completion time of its messages",
         [](const T& t) { return results::ToJson(results::QuantilesOf(t.of.Totals().fct, 1e6)); },
         results::QuantileWords()},
        {"fct_slowdown (ratio): Completion time over that on the idle network",
         [](const T& t) { return results::ToJson(results::QuantilesOf(t.of.Totals().slowdown)); },
         results::QuantileWords()},
        {"interference: What its messages waited for in switches; null: not known",
         [](const T& t) { return t.of.Interference(); },
         results::Interference::Words()},
        Key<T>("waited_longest: What its messages waited for longest, and whom they meet, in "
               "words; null: not known",
               [](const T& t) { return t.of.WaitedWords(); })
            .NullUnless([](const T& t) { return !t.of.Interference().is_null(); })};
    return keys;
}

const results::Object<JobsSimulation::Told>&
JobsSimulation::FlowKeys()
{
    using T = Told;
    using results::Key;
    static const results::Object<T> keys{
        {"pattern: Flows: who sends to whom", [](const T& t) { return t.of.m_job.pattern; }},
        Key<T>("protocol: Flows: protocol, if not RDMA",
               [](const T& t) { return t.of.m_job.protocol.Name(); })
            .Only([](const T& t) { return t.of.m_job.protocol.IsOrdinary(); }),
        {"flows (count): Flows: number", [](const T& t) { return t.of.m_job.flows.size(); }},
        {"flows_arrived (count): Flows: arrived",
         [](const T& t) { return t.of.m_flows->GetCounts().arrived; }},
        {"flows_failed (count): Flows: senders gave up",
         [](const T& t) { return t.of.m_flows->GetCounts().failed; }}};
    return keys;
}

const results::Object<JobsSimulation>&
JobsSimulation::Keys()
{
    static const results::JoinedKeys words(
        {&JobKeys(), &results::TrainingResults::StepWords(), &FlowKeys(), &results::LossWords()});
    using J = JobsSimulation;
    static const results::Object<J> keys{
        {"gpus (count): GPUs, one rank each", [](const J& j) { return j.m_scenario.plan.ranks; }},
        {"servers (count): Servers", [](const J& j) { return j.m_scenario.cluster.servers; }},
        results::Key<J>(
            "jobs: With --jobs: the jobs",
            [](const J& j) {
                results::Json jobs = results::Json::array();
                for (std::size_t i = 0; i < j.m_members.size(); ++i)
                {
                    jobs.push_back(j.m_members[i]->GetStatistics(
                        i < j.m_alone.size() ? j.m_alone[i] : std::nullopt));
                }
                return jobs;
            },
            static_cast<const results::Shape&>(words))
            .List()};
    return keys;
}

const results::RegisteredKeys JobsSimulation::g_keys(results::Section::kOthers,
                                                     JobsSimulation::Keys());

nlohmann::ordered_json
JobsSimulation::Member::GetStatistics(const std::optional<double>& alone) const
{
    const Told told{*this, alone};
    results::Json json = JobKeys().ToJson(told);
    if (m_training)
    {
        json.update(m_training->GetStepStatistics());
    }
    else
    {
        FlowKeys().AddTo(json, told);
        AddLosses(*m_transport, json);
    }
    return json;
}

nlohmann::ordered_json
JobsSimulation::GetStatistics() const
{
    return Keys().ToJson(*this);
}

void
JobsSimulation::Member::Print(std::ostream& os, const std::optional<double>& alone) const
{
    const std::optional<double> time = GetTime();
    const auto human = [](const std::optional<double>& us) {
        return us ? results::HumanTime(*us) : std::string("-");
    };
    const std::string exposed =
        m_training && time ? results::HumanTime(m_training->GetResults().GetBreakdown().Exposed())
                           : "-";
    const std::string slower =
        time && alone && *alone > 0 ? results::Format("%.2f", *time / *alone) : "-";
    os << results::Format("%-16s %10s %10s %7s %12s %10s",
                          m_job.name.c_str(),
                          human(time).c_str(),
                          human(alone).c_str(),
                          slower.c_str(),
                          exposed.c_str(),
                          results::HumanBytes(static_cast<double>(Totals().bytes)).c_str());
    os << "  " << WaitedWords() << (m_transport ? LossesText(*m_transport) : "");
    if (HasLostFlows())
    {
        os << "; " << results::HumanCount(m_flows->GetCounts().arrived) << " of "
           << results::HumanCount(m_job.flows.size()) << " flows arrived";
    }
    os << "\n";
}

void
JobsSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    os << results::Format("%-16s %10s %10s %7s %12s %10s  %s\n",
                          "Job",
                          "time",
                          "alone",
                          "slower",
                          "exposed",
                          "bytes",
                          "waited longest");
    for (std::size_t i = 0; i < m_members.size(); ++i)
    {
        m_members[i]->Print(os, i < m_alone.size() ? m_alone[i] : std::nullopt);
    }
    os << "(time: of a step, mean; of flows, until the last has arrived; %: of its messages' "
          "time)\n\n";
    results::PrintRunStats(os, network);
}

int
RunJobs(const scenario::TrainingScenario& scenario)
{
    JobsSimulation::Times alone;
    const std::size_t jobs = scenario.jobs->jobs.size();
    for (std::size_t i = 0; scenario.jobs->alone && jobs > 1 && i < jobs; ++i)
    {
        // Also without the background: alone is alone.
        scenario::TrainingScenario one = scenario;
        one.run.background = nullptr;
        JobsSimulation simulation(one, i, {});
        const int status = simulation.Run();
        alone.push_back(status == 0 ? simulation.GetTimes().front() : std::nullopt);
        if (RunControl::IsInterrupted())
        {
            // Whatever the status: it was stopped, which says nothing of whether it would end.
            SayError("dltrain",
                     "stopped by signal " + std::to_string(RunControl::Signal()) + " while job " +
                         scenario.jobs->jobs[i].name +
                         " ran alone, before the jobs ran together: nothing is written",
                     &scenario.run);
            return 128 + RunControl::Signal();
        }
        if (status != 0)
        {
            SayNote("note: job " + scenario.jobs->jobs[i].name +
                    " does not end when it is alone either, so there is no time to compare with");
        }
    }
    return JobsSimulation(scenario, std::nullopt, std::move(alone)).Run();
}

} // namespace dltrain
