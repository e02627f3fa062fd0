/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-simulation.h"

#include "contrib/dltrain/base/quiet-run.h"
#include "contrib/dltrain/serving/local-serving.h"
#include "reports/stats/run-summary.h"
#include "reports/timeline/serving-timeline.h"
#include "scenarios/compared/serving-band.h"
#include "scenarios/inference/requests.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/network-kinds.h"

#include <iostream>
#include <utility>

namespace dltrain
{

ServingSimulation::ServingSimulation(const scenario::ServingScenario& scenario,
                                     bool quiet,
                                     reports::ServingSearch search)
    : m_scenario(scenario),
      m_options(quiet ? WithoutOutputs(scenario.run) : scenario.run),
      m_search(std::move(search)),
      m_run(
          "dlserve",
          m_options,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {false, false, scenario.UsedGpus(), quiet ? NoOutput() : std::cout, true}),
      m_about(AboutOf(scenario))
{
}

int
ServingSimulation::Run()
{
    return m_run.Run(*this);
}

reports::ServingAbout
ServingSimulation::AboutOf(const scenario::ServingScenario& scenario)
{
    reports::ServingAbout about;
    about.model = scenario.model.name;
    about.dtype = scenario.dtypeName;
    about.gpu = scenario.gpu.name;
    if (!scenario.plain)
    {
        about.kind = compared::ServingKind(scenario.framework.name, scenario.gpu, scenario.model);
    }
    about.cluster = std::to_string(scenario.cluster.servers) + " " + scenario.cluster.server.name;
    if (scenario::UsesNetwork(scenario.cluster, scenario.run))
    {
        about.cluster += ", " + scenario.cluster.topologyName + ", " +
                         scenario::NicsText(scenario.cluster, scenario.fabric);
    }
    about.flops = scenario.gpu.Peak(scenario.dtype);
    about.memoryBandwidth = scenario.gpu.memoryBandwidth;
    about.weightBytes = training::DtypeBytes(scenario.dtype);
    if (scenario.plain)
    {
        about.plain = serving::PlainPassOf(scenario);
    }
    return about;
}

reports::ServingStatistics
ServingSimulation::Statistics() const
{
    return *m_statistics;
}

std::string
ServingSimulation::Populate()
{
    if (IsLocal(m_scenario))
    {
        m_run.ActIn(0, [this] {
            m_outcome = ServeLocally(m_scenario, [this](double done) {
                m_share = done;
                return scenario::Interruption() == 0;
            });
            m_served = true;
            m_run.End();
        });
        return {};
    }
    m_job = std::make_unique<ServingJob>(m_scenario,
                                         serving::MakeRequests(m_scenario.serving.requests));
    ServingJob::Setting setting;
    setting.tagOf = [this](const std::string& name) { return m_run.Collector().Tag(name); };
    setting.decide = [this](const Decision& decision) { m_run.DecideForAll(decision); };
    setting.onEnd = [this] { m_run.End(); };
    m_run.SetApply([this](const Decision& decision) { m_job->Apply(decision); });
    return m_job->Populate(m_run, std::move(setting));
}

double
ServingSimulation::GetShareDone() const
{
    return m_job ? m_job->GetShareDone() : m_share.load();
}

bool
ServingSimulation::IsDone() const
{
    const double duration = m_scenario.serving.duration;
    const bool wholeTime = duration > 0 && m_outcome.end >= static_cast<int64_t>(duration * 1e12);
    return m_job ? m_job->IsDone() : m_served && (!m_outcome.endedEarly || wholeTime);
}

bool
ServingSimulation::GoesOnByItself() const
{
    return m_job && m_job->GoesOnByItself();
}

std::string
ServingSimulation::DescribeUnfinished() const
{
    std::string text;
    for (const std::string& line : m_job ? m_job->DescribeUnfinished() : std::vector<std::string>())
    {
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

void
ServingSimulation::OnEnd(reports::RunOutcome& outcome)
{
    if (m_job)
    {
        m_outcome = m_job->TakeOutcome(outcome.simulatedPs);
        m_run.Collector().Finish(outcome.simulatedPs); // joins what all ranks have sent
        m_outcome.networkBytes =
            m_run.Collector().GetFlows().GetBytes() + m_run.Collector().GetRecalledBytes();
    }
    else
    {
        outcome.simulatedPs = m_outcome.end;
    }
    m_statistics = reports::StatisticsOf(m_outcome, m_scenario.serving, m_about);
}

reports::ServingResults
ServingSimulation::Results() const
{
    return {m_scenario.serving, m_outcome, m_about, *m_statistics, m_search};
}

nlohmann::ordered_json
ServingSimulation::GetStatistics() const
{
    nlohmann::ordered_json stats;
    reports::AddServing(stats, Results());
    return stats;
}

void
ServingSimulation::WriteTables() const
{
    reports::WriteServingTables(m_options.out, Results());
}

void
ServingSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    reports::PrintServing(os, Results());
    if (m_job)
    {
        reports::PrintRunStats(os, network);
    }
}

void
ServingSimulation::WriteTimeline(const scenario::RunOptions& run, std::ostream& os) const
{
    reports::WriteServingTimelineOf(run, m_outcome, os);
}

std::string
ServingSimulation::GetFiles() const
{
    return ", requests.csv, iterations.csv, load.csv, instances.csv";
}

} // namespace dltrain
