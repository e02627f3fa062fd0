/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recoverable-job.h"

#include "contrib/dltrain/observers/stuck-report.h"

#include <utility>
#include <vector>

namespace dltrain
{

RecoverableJob::RecoverableJob(const scenario::TrainingScenario& scenario, FabricRun& run)
    : m_scenario(scenario),
      m_run(run),
      m_job(scenario)
{
}

std::string
RecoverableJob::Populate(TrainingJob::Setting setting)
{
    setting.tagOf = [this](const std::string& name) { return m_run.Collector().Tag(name); };
    setting.decide = [this](const Decision& decision) { m_run.DecideForAll(decision); };
    setting.onPhase = [this](const std::string& phase) { m_run.Control().SetPhase(phase); };
    // Packets and links are counted from where the step time is: the last rank's end, as soon as
    // others can know of it. Messages and calls by the step they belong to, as ranks do not begin
    // one together.
    setting.onMeasure = [this](int64_t now) { m_run.StartMeasuring(now); };
    if (!setting.onEnd)
    {
        setting.onEnd = [this] { m_run.End(); };
    }
    if (m_scenario.run.recovery)
    {
        m_recovery = std::make_unique<RecoveryRun>(m_scenario, m_run, m_job);
        setting.watcher = m_recovery.get();
        m_recovery->Start();
    }
    m_run.SetApply([this](const Decision& decision) { m_job.Apply(decision); });
    return m_job.Populate(m_run, std::move(setting));
}

bool
RecoverableJob::GoesOnByItself() const
{
    return m_job.GoesOnByItself() || IsRecovering() || (m_recovery && m_recovery->IsWriting());
}

std::string
RecoverableJob::DescribeUnfinished() const
{
    if (IsRecovering())
    {
        return {}; // its ranks are gone
    }
    std::vector<std::string> lines = m_job.DescribeUnfinished();
    if (m_recovery)
    {
        for (const std::string& line : m_recovery->DescribeUnfinished())
        {
            lines.push_back("checkpoint: " + line);
        }
    }
    std::string text = DescribeRanks(lines);
    if (!m_scenario.run.faults.faults.empty())
    {
        text +=
            (text.empty() || text.back() == '\n' ? "" : "\n") + DescribeTimeOuts(m_run.Fabric());
    }
    return text;
}

void
RecoverableJob::OnEnd(int64_t now)
{
    if (m_recovery)
    {
        m_recovery->End(now);
    }
    m_job.Close();
}

void
RecoverableJob::AddTo(nlohmann::ordered_json* stats) const
{
    if (m_recovery)
    {
        reports::AddTo(*stats, m_recovery->GetResults());
    }
    const std::vector<reports::CutOffRecord> cutOff = m_job.GetCutOff();
    if (!cutOff.empty() && !m_job.IsDone() && !IsRecovering())
    {
        reports::AddTo(*stats, cutOff);
    }
}

void
RecoverableJob::PrintRecovery(std::ostream& os) const
{
    if (m_recovery)
    {
        reports::PrintRecovery(os, m_recovery->GetResults());
    }
}

} // namespace dltrain
