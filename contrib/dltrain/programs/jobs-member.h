/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOBS_MEMBER_H
#define DLTRAIN_JOBS_MEMBER_H

#include "contrib/dltrain/observers/stuck-report.h"
#include "contrib/dltrain/runners/flow-runner.h"
#include "contrib/dltrain/runners/training-job.h"
#include "contrib/dltrain/serving/serving-job.h"
#include "contrib/dltrain/transports/flow-transport.h"
#include "jobs-simulation.h"
#include "reports/base/human-text.h"
#include "reports/programs/serving-results.h"
#include "scenarios/inference/requests.h"
#include "scenarios/job/serving-scenario.h"
#include "serving-simulation.h"

#include "ns3/simulator.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// A job of this simulation.
class JobsSimulation::Member : public FlowListener
{
  public:
    Member(JobsSimulation& all, const scenario::Job& job, uint32_t number)
        : m_all(all),
          m_job(job),
          m_number(number)
    {
        if (job.serving)
        {
            m_serving =
                std::make_unique<ServingJob>(*job.serving,
                                             serving::MakeRequests(job.serving->serving.requests));
        }
        else if (job.kind != scenario::JobKind::kFlows)
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
        const auto decide = [this](Decision decision) {
            decision.job = m_number;
            m_all.m_run.DecideForAll(decision);
        };
        if (m_serving)
        {
            return m_serving->Populate(
                run,
                {m_number, m_job.start.ps, tagOf, decide, [this] { OnEnd(); }, &m_all.m_share});
        }
        if (m_training)
        {
            TrainingJob::Setting setting;
            setting.number = m_number;
            setting.start = m_job.start.ps;
            setting.tagOf = tagOf;
            setting.decide = decide;
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

    void Apply(const Decision& decision)
    {
        m_serving ? m_serving->Apply(decision) : m_training->Apply(decision);
    }

    void OnFlowsDone() override
    {
        OnEnd();
    }

    bool IsDone() const
    {
        return m_serving    ? m_serving->IsDone()
               : m_training ? m_training->IsDone()
                            : m_flows->GetCounts().ended == m_job.flows.size() &&
                                  m_flows->GetCounts().failed == 0;
    }

    double GetShareDone() const
    {
        return m_serving    ? m_serving->GetShareDone()
               : m_training ? m_training->GetShareDone()
                            : static_cast<double>(m_flows->GetCounts().ended) /
                                  static_cast<double>(m_job.flows.size());
    }

    /// Flows over TCP or UDP are watched by nothing else.
    bool GoesOnByItself() const
    {
        const bool isToCome = ns3::RdmaClock::Now() < m_job.start.ps;
        return !IsDone() &&
               (isToCome || (m_serving    ? m_serving->GoesOnByItself()
                             : m_training ? m_training->GoesOnByItself()
                                          : m_job.protocol.IsOrdinary() ||
                                                m_flows->GetCounts().posted < m_job.flows.size()));
    }

    std::vector<std::string> DescribeUnfinished() const
    {
        std::vector<std::string> lines =
            m_serving ? m_serving->DescribeUnfinished()
            : m_training
                ? m_training->DescribeUnfinished()
                : std::vector<std::string>{
                      reports::HumanCount(m_job.flows.size() - m_flows->GetCounts().arrived) +
                      " flows did not arrive"};
        for (std::string& line : lines)
        {
            line = "job " + m_job.name + ": " + line;
        }
        return lines;
    }

    /// \param end ps, of the run
    void Close(int64_t end)
    {
        if (m_serving)
        {
            const scenario::ServingScenario& s = *m_job.serving;
            m_outcome = m_serving->TakeOutcome(m_end > 0 ? m_end : end);
            m_outcome.networkBytes = Totals().bytes;
            m_about = ServingSimulation::AboutOf(s);
            m_served = reports::StatisticsOf(m_outcome, s.serving, m_about);
        }
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

    /// After Close. us; nothing: it did not get so far, or there is no last arrival of all flows
    std::optional<double> GetTime() const
    {
        if (m_serving)
        {
            const bool any = m_served && m_served->e2eMs.values > 0;
            return any ? std::optional<double>(1e3 * m_served->e2eMs.mean) : std::nullopt;
        }
        const double us =
            m_training
                ? m_training->GetResults().GetStepUs()
                : static_cast<double>(m_flows->GetCounts().lastArrival - m_job.start.ps) * 1e-6;
        const bool known = m_training ? us > 0 : IsDone() && !HasLostFlows();
        return known ? std::optional<double>(us) : std::nullopt;
    }

    Measured GetMeasured() const
    {
        return {GetTime(), m_served};
    }

    /// \pre it serves, after Close
    reports::ServingResults Served() const
    {
        return {m_job.serving->serving, m_outcome, m_about, *m_served};
    }

    const scenario::Job& GetJob() const
    {
        return m_job;
    }

    nlohmann::ordered_json GetStatistics(const Measured& alone) const;
    void Print(std::ostream& os, const std::optional<double>& alone) const;

  private:
    /// Between the nodes' events.
    void OnEnd()
    {
        m_end = ns3::RdmaClock::Now();
        m_all.OnMemberEnds();
    }

    const reports::FlowTotals& Totals() const
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
        const reports::Interference* of = m_all.m_run.Collector().GetInterference();
        return of ? of->ToJson(m_owner, "background") : nlohmann::ordered_json();
    }

    std::string WaitedWords() const
    {
        const ns3::RdmaLinkLayer& link = m_all.m_run.Fabric().GetLinkLayer();
        return reports::WaitedLongest(Interference(), link.GetWords(), !link.HasCredits());
    }

    JobsSimulation& m_all;
    const scenario::Job& m_job;
    uint32_t m_number;
    uint32_t m_owner = 0;
    scenario::Measuring m_measuring;         ///< measures everything
    std::unique_ptr<ServingJob> m_serving;   ///< null: it serves nothing
    std::unique_ptr<TrainingJob> m_training; ///< null: it serves, or has flows
    std::unique_ptr<Places> m_places;
    std::unique_ptr<Transport> m_transport;
    std::unique_ptr<FlowRunner> m_flows;
    int64_t m_end = 0;
    // Of m_serving, after Close:
    serving::ServingOutcome m_outcome;
    reports::ServingAbout m_about;
    std::optional<reports::ServingStatistics> m_served;

    friend class JobsSimulation;
};

} // namespace dltrain

#endif // DLTRAIN_JOBS_MEMBER_H
