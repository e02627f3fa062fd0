/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "jobs-simulation.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/base/quiet-run.h"
#include "contrib/dltrain/runners/fabric-builder.h"
#include "contrib/rdma/core/shown-text.h"
#include "jobs-member.h"
#include "reports/base/answer-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/serving-results.h"
#include "reports/schema/quantiles.h"
#include "reports/stats/loss-counts.h"
#include "reports/stats/run-summary.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/network/network-kinds.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace dltrain
{

namespace
{

/// As bits: of all jobs, so that a job alone meets the same switches.
uint32_t
PrioritiesOf(const scenario::JobSet& jobs, const scenario::FabricSpec& fabric)
{
    uint32_t priorities = 0;
    for (const scenario::Job& job : jobs.jobs)
    {
        const scenario::ChannelClass& own = job.scenario->cluster.channelClass;
        if (job.flows.empty() && own.priority && !fabric.IsLossy(own.trafficClass))
        {
            priorities |= 1U << *own.priority;
        }
        if (!job.protocol.IsOrdinary() && !job.flows.empty() &&
            !fabric.IsLossy(job.flows.front().trafficClass))
        {
            priorities |= 1U << job.flows.front().priority;
        }
    }
    return priorities;
}

} // namespace

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
           PrioritiesOf(*scenario.jobs, scenario.fabric)})
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
    m_run.SetApply([this](const Decision& decision) {
        m_members[m_isAlone ? 0 : decision.job]->Apply(decision);
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
JobsSimulation::OnEnd(reports::RunOutcome& outcome)
{
    for (const std::unique_ptr<Member>& member : m_members)
    {
        member->Close(outcome.simulatedPs);
    }
}

JobsSimulation::Times
JobsSimulation::GetTimes() const
{
    Times times;
    for (const std::unique_ptr<Member>& member : m_members)
    {
        times.push_back(member->GetMeasured());
    }
    return times;
}

JobsSimulation::Measured
JobsSimulation::AloneOf(std::size_t member) const
{
    return member < m_alone.size() ? m_alone[member] : Measured();
}

void
JobsSimulation::WriteTables() const
{
    for (const std::unique_ptr<Member>& member : m_members)
    {
        if (member->GetJob().serving)
        {
            const std::string prefix = member->GetJob().name + "-";
            reports::WriteServingTables(m_options.out, member->Served(), true, prefix);
        }
    }
}

std::string
JobsSimulation::GetFiles() const
{
    std::string files;
    for (const std::unique_ptr<Member>& member : m_members)
    {
        if (member->GetJob().serving)
        {
            for (const char* table : {"requests", "iterations", "load", "instances"})
            {
                files += ", " + member->GetJob().name + "-" + table + ".csv";
            }
        }
    }
    return files;
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
        return us ? reports::HumanTime(*us) : std::string("-");
    };
    const std::string exposed =
        m_training && time ? reports::HumanTime(m_training->GetResults().GetBreakdown().Exposed())
                           : "-";
    const std::string slower =
        time && alone && *alone > 0 ? reports::Format("%.2f", *time / *alone) : "-";
    os << reports::Format("%-16s %10s %10s %7s %12s %10s",
                          m_job.name.c_str(),
                          human(time).c_str(),
                          human(alone).c_str(),
                          slower.c_str(),
                          exposed.c_str(),
                          reports::HumanBytes(static_cast<double>(Totals().bytes)).c_str());
    os << "  " << WaitedWords() << (m_transport ? LossesText(*m_transport) : "");
    if (HasLostFlows())
    {
        os << "; " << reports::HumanCount(m_flows->GetCounts().arrived) << " of "
           << reports::HumanCount(m_job.flows.size()) << " flows arrived";
    }
    os << "\n";
}

void
JobsSimulation::PrintServed(std::ostream& os) const
{
    std::vector<std::vector<std::string>> rows = {
        {"TTFT p50", "alone", "p99", "alone", "TPOT p50", "alone", "p99", "alone", "served by"}};
    for (std::size_t i = 0; i < m_members.size(); ++i)
    {
        const scenario::Job& job = m_members[i]->GetJob();
        if (!job.serving)
        {
            continue;
        }
        const reports::ServingStatistics& together = m_members[i]->Served().statistics;
        const serving::ServingOutcome& outcome = m_members[i]->Served().outcome;
        const Measured alone = AloneOf(i);
        rows.emplace_back();
        for (const auto latency :
             {&reports::ServingStatistics::ttftMs, &reports::ServingStatistics::tpotMs})
        {
            for (const auto share : {&reports::Quantiles::p50, &reports::Quantiles::p99})
            {
                const auto text = [&](const reports::ServingStatistics& of) {
                    const reports::Quantiles& q = of.*latency;
                    return q.values > 0 ? reports::HumanTime(1e3 * (q.*share)) : std::string("-");
                };
                rows.back().push_back(text(together));
                rows.back().push_back(alone.served ? text(*alone.served) : "-");
            }
        }
        rows.back().push_back(job.name + ": " + reports::HumanCount(together.answered) + " of " +
                              reports::HumanCount(together.requests) + " requests answered" +
                              (outcome.arrivesPerS > 0
                                   ? "; it cannot keep up: " + reports::Three(outcome.arrivesPerS) +
                                         " a second arrive, " + reports::Three(outcome.beginsPerS) +
                                         " begin"
                                   : ""));
    }
    if (rows.size() > 1)
    {
        os << "(time of a job that serves: of a request, from its arrival to its last token, "
              "mean)\n\n";
        reports::PrintColumns(os, rows);
        os << "\n";
    }
}

void
JobsSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    os << reports::Format("%-16s %10s %10s %7s %12s %10s  %s\n",
                          "Job",
                          "time",
                          "alone",
                          "slower",
                          "exposed",
                          "bytes",
                          "waited longest");
    for (std::size_t i = 0; i < m_members.size(); ++i)
    {
        m_members[i]->Print(os, AloneOf(i).us);
    }
    os << "(time: of a step, mean; of flows, until the last has arrived; %: of its messages' "
          "time)\n\n";
    PrintServed(os);
    reports::PrintRunStats(os, network);
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
        alone.push_back(status == 0 ? simulation.GetTimes().front() : JobsSimulation::Measured());
        if (scenario::Interruption() != 0)
        {
            // Whatever the status: it was stopped, which says nothing of whether it would end.
            SayError("dltrain",
                     "stopped by signal " + std::to_string(scenario::Interruption()) +
                         " while job " + scenario.jobs->jobs[i].name +
                         " ran alone, before the jobs ran together: nothing is written",
                     &scenario.run);
            return 128 + scenario::Interruption();
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
