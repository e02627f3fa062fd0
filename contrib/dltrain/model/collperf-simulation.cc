/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collperf-simulation.h"

#include "collectives/checker.h"
#include "collectives/cost.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "results/run-summary.h"
#include "results/stats-file.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/network-kinds.h"

#include "ns3/simulator.h"

#include <cstdio>
#include <iostream>
#include <numeric>

namespace dltrain
{

CollperfSimulation::CollperfSimulation(const scenario::CollperfScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "collperf",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {false, false, scenario.ranks, std::cerr}),
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
    m_interconnect = std::make_unique<Interconnect>(m_scenario.cluster,
                                                    m_scenario.fabric.network,
                                                    m_run.Fabric(),
                                                    m_run.Collector());
    m_runner = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                  m_scenario.collectives,
                                                  *m_interconnect,
                                                  this);
    std::vector<Rank> ranks(m_scenario.ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    m_communicator = m_runner->AddCommunicator(ranks);
    m_tag = m_run.Collector().Tag(coll::OpName(m_scenario.op));
    ns3::Simulator::ScheduleNow(&CollperfSimulation::StartSize, this);
    return m_scenario.checked ? Prove() : "";
}

double
CollperfSimulation::GetShareDone() const
{
    return static_cast<double>(m_rows.empty() ? 0 : m_rows.size() - 1) /
           static_cast<double>(m_scenario.sizes.size());
}

bool
CollperfSimulation::IsDone() const
{
    return m_rows.size() == m_scenario.sizes.size() && m_ranksDone == m_scenario.ranks;
}

std::string
CollperfSimulation::DescribeUnfinished() const
{
    std::string text;
    for (const std::string& line : m_runner->DescribeUnfinished())
    {
        text += line + "\n";
    }
    return text;
}

nlohmann::ordered_json
CollperfSimulation::GetStatistics() const
{
    nlohmann::ordered_json body = results::ToJson(m_scenario.cluster, m_scenario.ranks);
    body["bytes_sent_per_gpu"] = nlohmann::ordered_json::object();
    body["collectives"] = nlohmann::ordered_json::array();
    uint64_t sent = 0;
    for (const Row& row : m_rows)
    {
        if (row.timeUs <= 0)
        {
            continue;
        }
        const coll::Bandwidth bw =
            coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, row.timeUs);
        sent += row.bytesSent;
        body["collectives"].push_back({{"op", coll::OpName(m_scenario.op)},
                                       {"algorithm", row.last.algorithm->Name()},
                                       {"bytes", row.last.bytes},
                                       {"ranks", m_scenario.ranks},
                                       {"time_us", row.timeUs},
                                       {"algbw_GBps", bw.algbw},
                                       {"busbw_GBps", bw.busbw}});
    }
    body["bytes_sent_per_gpu"][coll::OpName(m_scenario.op)] =
        static_cast<double>(sent) / m_scenario.ranks;
    return body;
}

void
CollperfSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    double busbw = 0;
    std::size_t complete = 0;
    for (const Row& row : m_rows)
    {
        if (row.timeUs > 0)
        {
            busbw += coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, row.timeUs)
                         .busbw;
            ++complete;
        }
    }
    std::printf("# Out of bounds values : 0 OK (schedules are proven, data is not moved)\n");
    std::printf("# Avg bus bandwidth    : %g\n#\n",
                complete ? busbw / static_cast<double>(complete) : 0.0);
    std::fflush(stdout);
    results::PrintRunStats(os, network);
}

std::string
CollperfSimulation::Prove() const
{
    const coll::Placement placement = scenario::RankPlacement(m_scenario.cluster);
    const coll::Algorithm& algorithm =
        scenario::AlgorithmOf(m_scenario.collectives, m_scenario.op, placement);
    coll::CheckOptions options;
    options.zeroCopy = false;
    for (const uint64_t bytes : m_scenario.sizes)
    {
        const coll::Collective what{m_scenario.op, bytes, m_scenario.ranks, m_scenario.root};
        const auto schedule = algorithm.Make(what, placement, m_scenario.collectives.options);
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
    m_rows.emplace_back();
    m_collectivesDone = 0;
    m_ranksDone = 0;
    m_ranksWarm = 0;
    m_run.Control().SetPhase(rdma::ToString(rdma::Bytes(m_scenario.sizes[m_rows.size() - 1])));
    std::fill(m_entered.begin(), m_entered.end(), 0);
    const int64_t now = ns3::RdmaClock::Now();
    for (Rank rank = 0; rank < m_scenario.ranks; ++rank)
    {
        Enter(rank, now);
    }
}

void
CollperfSimulation::Enter(Rank position, int64_t now)
{
    if (m_entered[position]++ == m_scenario.warmupIterations && m_rows.back().start < 0)
    {
        m_rows.back().start = now;
    }
    m_runner->Start(m_communicator,
                    position,
                    m_scenario.op,
                    m_scenario.sizes[m_rows.size() - 1],
                    m_scenario.root,
                    m_tag,
                    0,
                    now);
}

void
CollperfSimulation::OnCollectiveDone(uint32_t, const CollectiveRecord& record, int64_t now)
{
    if (++m_collectivesDone < m_iterations)
    {
        return;
    }
    Row& row = m_rows.back();
    row.last = record;
    row.bytesSent = record.bytesSent;
    row.timeUs = static_cast<double>(now - row.start) * 1e-6 / m_scenario.iterations;
    PrintRow(row);
}

void
CollperfSimulation::OnRankDone(uint32_t, Rank position, uint64_t, int64_t now)
{
    // As in nccl-tests (src/common.cu, TimeTest: completeColl) the warm-up is over everywhere before
    // the measured iterations begin.
    if (m_entered[position] == m_scenario.warmupIterations)
    {
        if (++m_ranksWarm == m_scenario.ranks)
        {
            for (Rank rank = 0; rank < m_scenario.ranks; ++rank)
            {
                Enter(rank, now);
            }
        }
        return;
    }
    if (m_entered[position] < m_iterations)
    {
        Enter(position, now);
        return;
    }
    if (++m_ranksDone < m_scenario.ranks)
    {
        return;
    }
    if (m_rows.size() < m_scenario.sizes.size())
    {
        StartSize();
        return;
    }
    m_run.Control().End();
}

void
CollperfSimulation::OnBegin()
{
    const coll::Algorithm& algorithm =
        scenario::AlgorithmOf(m_scenario.collectives,
                              m_scenario.op,
                              scenario::RankPlacement(m_scenario.cluster));
    std::printf("# nThread %u nGpus %u minBytes %llu maxBytes %llu iters: %u warmup iters: %u "
                "validation: %u\n#\n",
                m_scenario.threads,
                m_scenario.gpusPerThread,
                static_cast<unsigned long long>(m_scenario.sizes.front()),
                static_cast<unsigned long long>(m_scenario.sizes.back()),
                m_scenario.iterations,
                m_scenario.warmupIterations,
                m_scenario.checked ? 1U : 0U);
    if (m_scenario.checked)
    {
        std::printf("# the schedule of every size is proven for these ranks: each byte arrives and "
                    "is added once; no data is moved\n");
    }
    std::printf("# %s, algorithm %s, %u ranks on %u servers, %s, %s, %s\n",
                coll::OpName(m_scenario.op).c_str(),
                algorithm.Name().c_str(),
                m_scenario.ranks,
                m_scenario.cluster.servers,
                rdma::Shown(m_scenario.cluster.topologyName).c_str(),
                rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)).c_str(),
                scenario::NetworkText(m_scenario.fabric).c_str());
    std::printf("# copies within a GPU take no time here, so in place is what out of place is: one "
                "simulation, shown twice\n#\n");
    std::printf("#                                                              out-of-place       "
                "                in-place          \n"
                "#       size         count      type   redop    root     time   algbw   busbw "
                "#wrong     time   algbw   busbw #wrong\n"
                "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     "
                "       (us)  (GB/s)  (GB/s)       \n");
    std::fflush(stdout);
}

namespace
{

/// A number in seven columns, as nccl-tests fits its times.
std::string
SevenColumns(double value)
{
    char text[32];
    std::snprintf(text,
                  sizeof text,
                  "%7.*f",
                  value < 100      ? 3
                  : value < 10000  ? 2
                  : value < 100000 ? 1
                                   : 0,
                  value);
    return text;
}

} // namespace

void
CollperfSimulation::PrintRow(const Row& row) const
{
    const bool reduces =
        m_scenario.op == coll::Op::kAllReduce || m_scenario.op == coll::Op::kReduceScatter;
    // Elements as nccl-tests counts them: a rank's share where the vector is made of n pieces.
    const bool pieces = m_scenario.op == coll::Op::kReduceScatter ||
                        m_scenario.op == coll::Op::kAllGather ||
                        m_scenario.op == coll::Op::kAllToAll;
    const uint64_t count =
        row.last.bytes / m_scenario.elementBytes / (pieces ? m_scenario.ranks : 1);
    const coll::Bandwidth bw =
        coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, row.timeUs);
    char result[96];
    std::snprintf(result,
                  sizeof result,
                  "  %7s  %6.2f  %6.2f    %3s",
                  SevenColumns(row.timeUs).c_str(),
                  bw.algbw,
                  bw.busbw,
                  m_scenario.checked ? "0" : "N/A");
    std::printf("%12llu  %12llu  %8s  %6s  %6d%s%s\n",
                static_cast<unsigned long long>(row.last.bytes),
                static_cast<unsigned long long>(count),
                m_scenario.datatype.c_str(),
                reduces ? "sum" : "none",
                m_scenario.op == coll::Op::kBroadcast ? static_cast<int>(m_scenario.root) : -1,
                result,
                result);
    std::fflush(stdout);
}

} // namespace dltrain
