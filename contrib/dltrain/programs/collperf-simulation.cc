/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collperf-simulation.h"

#include "collectives/core/checker.h"
#include "collectives/core/registry.h"
#include "contrib/dltrain/observers/stuck-report.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "reports/base/human-text.h"
#include "reports/base/output-errors.h"
#include "reports/stats/run-summary.h"
#include "reports/stats/tuner-record.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <utility>

namespace dltrain
{

CollperfSimulation::CollperfSimulation(const scenario::CollperfScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "collperf",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {false, false, scenario.ranks, std::cerr, true}),
      m_table(scenario),
      m_iterations(scenario.warmupIterations + scenario.iterations),
      m_entered(scenario.ranks)
{
}

int
CollperfSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
CollperfSimulation::Populate()
{
    // What is recalled has no path.
    const bool recalls = m_scenario.Choices().front()->recall.has_value();
    if (m_scenario.run.attribution && !recalls)
    {
        // Only the sums of a path are needed.
        constexpr uint16_t kLinked = 0;
        m_paths = std::make_unique<reports::CollectivePaths>(kLinked);
    }
    std::vector<Rank> ranks(m_scenario.ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const scenario::CollectiveOptions* options : m_scenario.Choices())
    {
        // All choices as one job: connections of one name have the same UDP source port. So ECMP's
        // hash sends the same flow of each choice the same way, and they differ only by their own
        // work.
        constexpr uint32_t job = 0;
        Choice& choice = m_choices.emplace_back();
        choice.interconnect = m_run.Connect(m_scenario.cluster);
        choice.runner = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                           *options,
                                                           *choice.interconnect,
                                                           this,
                                                           job);
        if (m_paths)
        {
            choice.runner->SetPaths(m_paths.get());
        }
        choice.communicator = choice.runner->AddCommunicator(ranks);
    }
    if (Ranks::Get().IsFirst() && !m_table.Open(m_scenario.run.out + "/collectives.csv"))
    {
        return reports::OutputErrors::First();
    }
    m_tag = m_run.Collector().Tag(coll::OpName(m_scenario.op));
    m_run.Collector().MarkCollective(m_tag);
    m_run.SetApply([this](const Decision& decision) { Apply(decision); });
    if (RankNotes* notes = m_run.Notes())
    {
        m_kind = notes->Add<LeftNote>([this](const LeftNote& note) {
            HearPart({note.part.GetPart(), note.entered, reports::CollectivePaths::NONE});
        });
        m_run.Control().SetPortion(Ranks::Get().IsFirst() ? 1 : 0);
    }
    ns3::Simulator::ScheduleNow(&CollperfSimulation::StartSize, this);
    return m_scenario.checked ? Prove() : "";
}

bool
CollperfSimulation::GoesOnByItself() const
{
    return false; // there is nothing but messages
}

double
CollperfSimulation::GetShareDone() const
{
    return Ranks::OfHosts().IsFirst()
               ? static_cast<double>(m_begun ? m_begun - 1 : 0) / static_cast<double>(Jobs())
               : 0;
}

void
CollperfSimulation::MergeRanks()
{
    for (const Choice& choice : m_choices)
    {
        choice.runner->MergeRanks();
    }
}

bool
CollperfSimulation::IsDone() const
{
    return m_begun == Jobs() && m_ranksDone == m_scenario.ranks;
}

std::string
CollperfSimulation::DescribeUnfinished() const
{
    const std::size_t choice = m_begun ? (m_begun - 1) % m_choices.size() : 0;
    return DescribeRanks(m_choices[choice].runner->DescribeUnfinished());
}

nlohmann::ordered_json
CollperfSimulation::GetStatistics() const
{
    nlohmann::ordered_json stats = m_table.ToJson();
    if (m_scenario.collectives.measured)
    {
        reports::AddTo(stats, *m_scenario.collectives.measured);
    }
    std::vector<reports::CutOffRecord> cutOff;
    for (const Choice& choice : m_choices)
    {
        const std::vector<reports::CutOffRecord> more = choice.runner->GetCutOff();
        cutOff.insert(cutOff.end(), more.begin(), more.end());
    }
    if (!cutOff.empty() && !IsDone())
    {
        reports::AddTo(stats, cutOff);
    }
    return stats;
}

void
CollperfSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    m_table.PrintEnd(std::cout);
    m_table.PrintShares(os);
    if (m_scenario.collectives.measured)
    {
        reports::PrintTuner(os, *m_scenario.collectives.measured);
    }
    reports::PrintAdvice(os, m_scenario);
    reports::PrintLuckOfWays(os, network);
    reports::PrintRunStats(os, network);
}

std::string
CollperfSimulation::GetFiles() const
{
    return ", collectives.csv";
}

void
CollperfSimulation::OnEnd(reports::RunOutcome& /* outcome */)
{
    m_table.Close();
    if (m_paths)
    {
        m_paths->Drop(std::exchange(m_path, reports::CollectivePaths::NONE));
    }
}

std::size_t
CollperfSimulation::Jobs() const
{
    return m_scenario.sizes.size() * m_choices.size();
}

std::string
CollperfSimulation::Prove() const
{
    const coll::Placement placement = scenario::RankPlacement(m_scenario.cluster);
    coll::CheckOptions options;
    options.zeroCopy = false;
    const std::vector<const scenario::CollectiveOptions*> choices = m_scenario.Choices();
    for (const uint64_t bytes : m_scenario.sizes)
    {
        const coll::Collective what = m_scenario.CollectiveOf(bytes);
        for (const scenario::CollectiveOptions* choice : choices)
        {
            const coll::Choice how = scenario::ChoiceOf(*choice, what, placement);
            const coll::Algorithm& algorithm = *how.algorithm;
            const auto schedule = algorithm.Make(what, placement, choice->OptionsFor(what.op, how));
            const coll::CheckReport report = coll::Check(*schedule, options);
            if (!report.Ok())
            {
                return "the schedule of " + algorithm.Name() + " " + coll::OpName(m_scenario.op) +
                       " is wrong for " + std::to_string(bytes) + " B on " +
                       std::to_string(m_scenario.ranks) + " ranks: " + report.Problems();
            }
        }
    }
    return "";
}

void
CollperfSimulation::StartSize()
{
    const uint64_t bytes = m_scenario.sizes[m_begun / m_choices.size()];
    const Choice& choice = m_choices[m_begun % m_choices.size()];
    ++m_begun;
    m_iterationsDone = 0;
    m_ranksDone = 0;
    m_ranksWarm = 0;
    m_lastLeft = 0;
    m_leftTogether = 0;
    m_firstLeft.reset();
    m_run.Control().SetPhase(rdma::ToString(rdma::Bytes(bytes)));
    std::fill(m_entered.begin(), m_entered.end(), 0);
    m_run.Collector().Next();
    m_run.Fabric().BeginAnew(ns3::RdmaClock::Now());
    choice.runner->Forget(choice.communicator);
    m_what = m_scenario.CollectiveOf(bytes);
    choice.runner->Prepare(choice.communicator, m_what);
    EnterAll();
}

void
CollperfSimulation::EnterAll()
{
    const int64_t now = ns3::RdmaClock::Now();
    RankNotes* notes = m_run.Notes();
    for (Rank rank = 0; rank < m_scenario.ranks; ++rank)
    {
        if (notes)
        {
            notes->SetPlace(rank + 1);
        }
        if (m_choices.front().runner->IsHere(rank))
        {
            Enter(rank, now);
        }
    }
    if (notes)
    {
        notes->SetPlace(0);
    }
}

void
CollperfSimulation::Enter(Rank position, int64_t now)
{
    ++m_entered[position];
    const Choice& choice = m_choices[(m_begun - 1) % m_choices.size()];
    choice.runner->Start(choice.communicator, position, m_what, m_tag, 0, now);
}

void
CollperfSimulation::OnRankDone(const reports::CollectivePart& part,
                               uint64_t,
                               reports::PathRecord* leaving)
{
    const uint32_t entered = m_entered[part.position];
    auto path = reports::CollectivePaths::NONE;
    if (m_paths && entered == m_iterations)
    {
        path = leaving;
        reports::CollectivePaths::Hold(path);
    }
    ns3::NodeWindows::Note<&CollperfSimulation::TellPart>(this, Left{part, entered, path});
    // As in nccl-tests (src/common.cu, TimeTest: completeColl) the warm-up is over everywhere
    // before the measured iterations begin.
    if (entered != m_scenario.warmupIterations && entered < m_iterations)
    {
        Enter(part.position, part.left);
    }
}

void
CollperfSimulation::TellPart(const Left& left)
{
    if (RankNotes* notes = m_run.Notes())
    {
        const bool decides =
            left.entered == m_scenario.warmupIterations || left.entered == m_iterations;
        notes->Tell(m_kind, LeftNote{PartNote(left.part), left.entered}, decides);
        return;
    }
    HearPart(left);
}

void
CollperfSimulation::HearPart(const Left& left)
{
    if (left.entered == m_iterations)
    {
        const int64_t at = left.part.left;
        const bool first = !m_firstLeft; // 0 is a time, too: of a rank that only sends
        m_firstLeft = first ? at : std::min(*m_firstLeft, at);
        m_zeroLeft = left.part.position == 0 ? at : m_zeroLeft;
        m_leftTogether += static_cast<double>(at);
        if (m_paths)
        {
            // If several ranks leave last, the one reported last counts.
            const bool last = first || at >= m_lastLeft;
            m_paths->Drop(last ? std::exchange(m_path, left.path) : left.path);
        }
        m_lastLeft = first ? at : std::max(m_lastLeft, at);
    }
    if (const auto whole = m_join.Add(left.part))
    {
        OnIteration(*whole);
    }
    if (left.entered == m_scenario.warmupIterations)
    {
        if (++m_ranksWarm == m_scenario.ranks)
        {
            m_run.DecideForAll({WarmupEnded{}});
        }
    }
    else if (left.entered == m_iterations && ++m_ranksDone == m_scenario.ranks)
    {
        m_run.DecideForAll({SizeEnded{}});
    }
}

void
CollperfSimulation::Apply(const Decision& decision)
{
    std::holds_alternative<WarmupEnded>(decision.what) ? EnterAll() : OnSizeDone();
}

void
CollperfSimulation::OnIteration(const CollectiveRecord& record)
{
    if (m_iterationsDone++ == m_scenario.warmupIterations)
    {
        m_start = record.firstStart;
    }
    if (m_iterationsDone == m_iterations)
    {
        reports::CollperfRow row;
        row.last = record;
        row.timeUs = Elapsed() * 1e-6 / m_scenario.iterations;
        row.asked = m_scenario.sizes[(m_begun - 1) / m_choices.size()];
        row.choice = (m_begun - 1) % m_choices.size();
        if (m_path != reports::CollectivePaths::NONE)
        {
            row.path = m_path->shares;
        }
        m_table.Add(std::cout, row);
    }
}

double
CollperfSimulation::Elapsed() const
{
    const auto start = static_cast<double>(m_start);
    switch (m_scenario.average)
    {
    case 0:
        return static_cast<double>(m_zeroLeft) - start;
    case 1:
        return m_leftTogether / m_scenario.ranks - start;
    case 2:
        return static_cast<double>(m_firstLeft.value_or(m_start)) - start;
    default:
        return static_cast<double>(m_lastLeft - m_start);
    }
}

void
CollperfSimulation::OnSizeDone()
{
    if (m_begun == Jobs())
    {
        m_run.End();
        return;
    }
    // What is measured first changes no later time: until then ACKs and CNPs, which do not wait,
    // are home. (From one host to the farthest and back is half of the longest round trip at
    // least.)
    m_run.ActIn(4 * m_run.Fabric().GetBaseRtt(0), [this] { StartSize(); });
}

void
CollperfSimulation::OnBegin()
{
    if (Ranks::Get().IsFirst())
    {
        m_table.PrintHead(std::cout);
    }
}

} // namespace dltrain
