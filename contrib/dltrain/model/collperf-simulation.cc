/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collperf-simulation.h"

#include "collectives/checker.h"
#include "collectives/registry.h"
#include "ranks.h"
#include "results/human-text.h"
#include "results/run-summary.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "stuck-report.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>
#include <numeric>

namespace dltrain
{

namespace
{

// What is decided for all ranks.
constexpr char WARM[] = "warm"; ///< the warm-up iterations are over
constexpr char SIZE_DONE[] = "size done";

} // namespace

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
    m_interconnect = m_run.Connect(m_scenario.cluster);
    m_runner = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                  m_scenario.collectives,
                                                  *m_interconnect,
                                                  this);
    std::vector<Rank> ranks(m_scenario.ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    m_communicator = m_runner->AddCommunicator(ranks);
    m_tag = m_run.Collector().Tag(coll::OpName(m_scenario.op));
    m_run.SetActor([this](const std::string& what) { Act(what); });
    if (RankNotes* notes = m_run.Notes())
    {
        m_kind = notes->Add<LeftNote>([this](const LeftNote& note) {
            HearPart({note.part.GetPart(), note.entered});
        });
        m_run.Control().SetPortion(Ranks::Get().IsFirst() ? 1 : 0);
    }
    ns3::Simulator::ScheduleNow(&CollperfSimulation::StartSize, this);
    return m_scenario.checked ? Prove() : "";
}

double
CollperfSimulation::GetShareDone() const
{
    return Ranks::OfHosts().IsFirst() ? static_cast<double>(m_begun ? m_begun - 1 : 0) /
                                            static_cast<double>(m_scenario.sizes.size())
                                      : 0;
}

bool
CollperfSimulation::IsDone() const
{
    return m_begun == m_scenario.sizes.size() && m_ranksDone == m_scenario.ranks;
}

std::string
CollperfSimulation::DescribeUnfinished() const
{
    return DescribeRanks(m_runner->DescribeUnfinished());
}

nlohmann::ordered_json
CollperfSimulation::GetStatistics() const
{
    return m_table.ToJson();
}

void
CollperfSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    m_table.PrintEnd(std::cout);
    results::PrintRunStats(os, network);
}

std::string
CollperfSimulation::Prove() const
{
    const coll::Placement placement = scenario::RankPlacement(m_scenario.cluster);
    coll::CheckOptions options;
    options.zeroCopy = false;
    for (const uint64_t bytes : m_scenario.sizes)
    {
        const coll::Collective what = m_scenario.CollectiveOf(bytes);
        const coll::Algorithm& algorithm =
            *scenario::ChoiceOf(m_scenario.collectives, what, placement).algorithm;
        const auto schedule =
            algorithm.Make(what, placement, m_scenario.collectives.OptionsFor(what.op));
        const coll::CheckReport report = coll::Check(*schedule, options);
        if (!report.Ok())
        {
            return "the schedule of " + algorithm.Name() + " " + coll::OpName(m_scenario.op) +
                   " is wrong for " + std::to_string(bytes) + " B on " +
                   std::to_string(m_scenario.ranks) + " ranks: " + report.Problems();
        }
    }
    return "";
}

void
CollperfSimulation::StartSize()
{
    ++m_begun;
    m_iterationsDone = 0;
    m_ranksDone = 0;
    m_ranksWarm = 0;
    m_run.Control().SetPhase(rdma::ToString(rdma::Bytes(m_scenario.sizes[m_begun - 1])));
    std::fill(m_entered.begin(), m_entered.end(), 0);
    m_runner->Forget(m_communicator);
    m_what = m_scenario.CollectiveOf(m_scenario.sizes[m_begun - 1]);
    m_runner->Prepare(m_communicator, m_what);
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
        if (m_runner->IsHere(rank))
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
    m_runner->Start(m_communicator, position, m_what, m_tag, 0, now);
}

void
CollperfSimulation::OnRankDone(const results::CollectivePart& part, uint64_t)
{
    const uint32_t entered = m_entered[part.position];
    ns3::NodeWindows::Note<&CollperfSimulation::TellPart>(this, Left{part, entered});
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
    if (const auto whole = m_join.Add(left.part))
    {
        OnIteration(*whole);
    }
    if (left.entered == m_scenario.warmupIterations)
    {
        if (++m_ranksWarm == m_scenario.ranks)
        {
            m_run.DecideForAll(WARM);
        }
    }
    else if (left.entered == m_iterations && ++m_ranksDone == m_scenario.ranks)
    {
        m_run.DecideForAll(SIZE_DONE);
    }
}

void
CollperfSimulation::Act(const std::string& what)
{
    what == WARM ? EnterAll() : OnSizeDone();
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
        m_table.Add(std::cout,
                    record,
                    static_cast<double>(record.end - m_start) * 1e-6 / m_scenario.iterations);
    }
}

void
CollperfSimulation::OnSizeDone()
{
    if (m_begun < m_scenario.sizes.size())
    {
        StartSize();
        return;
    }
    m_run.End();
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
