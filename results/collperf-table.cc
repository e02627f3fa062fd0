/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/collperf-table.h"

#include "collectives/cost.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "results/human-text.h"
#include "results/protocol-name.h"
#include "results/stats-file.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/network-kinds.h"
#include "topologies/names.h"

namespace results
{

namespace
{

/// A number in seven columns, as nccl-tests fits its times.
std::string
SevenColumns(double value)
{
    return Format("%7.*f", value < 100 ? 3 : value < 10000 ? 2 : value < 100000 ? 1 : 0, value);
}

} // namespace

CollperfTable::CollperfTable(const scenario::CollperfScenario& scenario)
    : m_scenario(scenario)
{
}

void
CollperfTable::PrintHead(std::ostream& os) const
{
    std::vector<coll::Collective> whats;
    for (const uint64_t bytes : m_scenario.sizes)
    {
        whats.push_back(m_scenario.CollectiveOf(bytes));
    }
    const std::string choices = scenario::ChoicesText(m_scenario.collectives,
                                                      whats,
                                                      scenario::RankPlacement(m_scenario.cluster));
    os << "# nThread " << m_scenario.threads << " nGpus " << m_scenario.gpusPerThread
       << " minBytes " << m_scenario.sizes.front() << " maxBytes " << m_scenario.sizes.back()
       << " iters: " << m_scenario.iterations << " warmup iters: " << m_scenario.warmupIterations
       << " validation: " << (m_scenario.checked ? 1 : 0) << "\n#\n";
    if (m_scenario.checked)
    {
        os << "# the schedule of every size is proven for these ranks: each byte arrives and is "
              "added once; no data is moved\n";
    }
    os << "# " << coll::OpName(m_scenario.op) << ", algorithm " << choices << "; "
       << topo::Counted(m_scenario.ranks, "rank") << " on "
       << topo::Counted(m_scenario.cluster.servers, "server") << ", "
       << rdma::Shown(m_scenario.cluster.topologyName) << ", "
       << rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)) << ", "
       << scenario::NetworkText(m_scenario.fabric) << "\n"
       << "# copies within a GPU take no time here, so in place is what out of place is: one "
          "simulation, shown twice\n#\n"
       << "#                                                              out-of-place            "
          "           in-place          \n"
          "#       size         count      type   redop    root     time   algbw   busbw #wrong   "
          "  time   algbw   busbw #wrong\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)          "
          "  (us)  (GB/s)  (GB/s)       \n"
       << std::flush;
}

void
CollperfTable::Add(std::ostream& os, const CollectiveRecord& last, double timeUs)
{
    m_rows.push_back({last, timeUs});
    Print(os, m_rows.back());
}

void
CollperfTable::Print(std::ostream& os, const Row& row) const
{
    // nccl-tests names the reduction of sendrecv, too, which has none.
    const bool reduces = coll::Reduces(m_scenario.op) || m_scenario.op == coll::Op::kSendRecv;
    // Elements as nccl-tests counts them: a rank's share where the vector is made of n pieces.
    const uint64_t count = row.last.bytes / m_scenario.elementBytes /
                           (coll::HasPieces(m_scenario.op) ? m_scenario.ranks : 1);
    const coll::Bandwidth bw =
        coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, row.timeUs);
    const std::string result = Format("  %7s  %6.2f  %6.2f    %3s",
                                      SevenColumns(row.timeUs).c_str(),
                                      bw.algbw,
                                      bw.busbw,
                                      m_scenario.checked ? "0" : "N/A");
    os << Format("%12llu  %12llu  %8s  %6s  %6d",
                 static_cast<unsigned long long>(row.last.bytes),
                 static_cast<unsigned long long>(count),
                 m_scenario.datatype.c_str(),
                 reduces ? "sum" : "none",
                 coll::HasRoot(m_scenario.op) ? static_cast<int>(m_scenario.root) : -1)
       << result << result << std::endl;
}

void
CollperfTable::PrintEnd(std::ostream& os) const
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
    os << "# Out of bounds values : 0 OK (schedules are proven, data is not moved)\n"
       << Format("# Avg bus bandwidth    : %g\n#\n",
                 complete ? busbw / static_cast<double>(complete) : 0.0)
       << std::flush;
}

nlohmann::ordered_json
CollperfTable::ToJson() const
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
        sent += row.last.bytesSent;
        body["collectives"].push_back({{"op", coll::OpName(m_scenario.op)},
                                       {"algorithm", row.last.algorithm->Name()},
                                       {"protocol", ProtocolOf(row.last)},
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

} // namespace results
