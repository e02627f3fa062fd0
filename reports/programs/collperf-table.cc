/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/collperf-table.h"

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/collperf-row.h"
#include "reports/schema/table.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/network-kinds.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace reports
{

namespace
{

/// A number in seven columns, as nccl-tests fits its times.
std::string
SevenColumns(double value)
{
    return Format("%7.*f", value < 100 ? 3 : value < 10000 ? 2 : value < 100000 ? 1 : 0, value);
}

/// Elements as nccl-tests counts them: a rank's share where the vector is made of n pieces.
uint64_t
CountOf(const scenario::CollperfScenario& scenario, const CollperfRow& row, uint32_t elementBytes)
{
    return row.last.bytes / elementBytes / (coll::HasPieces(scenario.op) ? scenario.ranks : 1);
}

/// "ring, LL128".
std::string
ChoiceName(const CollperfRow& row)
{
    return row.last.algorithm->Name() +
           (row.last.protocol ? std::string(", ") + topo::ToString(*row.last.protocol) : "");
}

} // namespace

namespace
{

constexpr std::size_t COLUMNS_WITHOUT_REFERENCE = 17;

const Table<CollperfRowShown> COLLPERF(
    "collectives.csv",
    {{"bytes (B): Size of the vector, as nccl-tests counts it",
      [](const auto& r) { return r.row->last.bytes; }},
     {"count (count): Elements, as nccl-tests counts them", &CollperfRowShown::count},
     {"op: Operation", &CollperfRowShown::op},
     {"choice: table, or the name in --compare", &CollperfRowShown::choice},
     {"algorithm: Algorithm", &CollperfRowShown::algorithm},
     {"protocol: Protocol of its messages; empty: none", &CollperfRowShown::protocol},
     {"ranks (count): Ranks that take part", &CollperfRowShown::ranks},
     {"time_us (us): Mean time of an iteration, from the first entry to the last exit",
      [](const auto& r) { return r.row->timeUs; }},
     {"algbw_GBps (GB/s): bytes over time_us, 10^9 B/s",
      [](const auto& r) { return r.bandwidth.algbw; }},
     {"busbw_GBps (GB/s): algbw times the operation's factor: comparable with the hardware's rate",
      [](const auto& r) { return r.bandwidth.busbw; }},
     {"bound_us (us): Least time in which links carry the bytes; switches add up where the "
      "algorithm uses them; empty: not known",
      &CollperfRowShown::boundUs},
     {"efficiency (0 to 1): bound_us over time_us", &CollperfRowShown::efficiency},
     {"software_us (us): On the last rank's path: launch, and the library's time per message",
      [](const auto& r) { return r.Of(&PathSummary::software); }},
     {"inside_servers_us (us): On that path: messages inside servers",
      [](const auto& r) { return r.Of(&PathSummary::inside); }},
     {"serialization_us (us): On that path: sending the messages' own bytes",
      [](const auto& r) { return r.Of(&PathSummary::serialization); }},
     {"propagation_us (us): On that path: cables and switch pipelines",
      [](const auto& r) { return r.Of(&PathSummary::propagation); }},
     {"waiting_us (us): On that path: all else",
      [](const auto& r) { return r.Of(&PathSummary::waiting); }},
     {"reference_time_us (us): With --reference: measured time; empty: not measured",
      &CollperfRowShown::measuredUs},
     {"reference_busbw_GBps (GB/s): With --reference: measured bus bandwidth",
      &CollperfRowShown::measuredBusbw},
     {"reference_factor (ratio): With --reference: time_us over the measured time",
      &CollperfRowShown::factor}});

} // namespace

namespace
{

bool
AddsUp(const CollperfRow& row)
{
    const coll::InNetwork adds = row.last.algorithm->Uses();
    return adds.serverSwitch || adds.fabricSwitches;
}

} // namespace

PathSummary
Summarize(const std::array<int64_t, PATH_SHARES>& path)
{
    PathSummary summary;
    for (std::size_t share = 0; share < PATH_SHARES; ++share)
    {
        int64_t& part = share == static_cast<std::size_t>(PathShare::SOFTWARE) ? summary.software
                        : share == static_cast<std::size_t>(PathShare::INSIDE_SERVERS)
                            ? summary.inside
                        : share == At(TimeShare::SERIALIZATION) ? summary.serialization
                        : share == At(TimeShare::PROPAGATION)   ? summary.propagation
                                                                : summary.waiting;
        part += path[share];
    }
    return summary;
}

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
       << " minBytes " << m_scenario.sizes.front() << " maxBytes " << m_scenario.maxBytes
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
       << (scenario::UsesNetwork(m_scenario.cluster, m_scenario.run)
               ? rdma::Shown(m_scenario.cluster.topologyName) + ", " +
                     rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)) + ", " +
                     scenario::NetworkText(m_scenario.fabric)
               : "without a network")
       << "\n"
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

bool
CollperfTable::Open(const std::string& path)
{
    if (!m_file.Open(path))
    {
        return false;
    }
    m_file.Write(COLLPERF.Header(Columns()));
    return true;
}

void
CollperfTable::Close()
{
    m_file.Close();
}

void
CollperfTable::Add(std::ostream& os, const CollperfRow& row)
{
    m_rows.push_back(row);
    Write(row);
    if (row.choice == 0)
    {
        Print(os, row, m_scenario.datatypes.front(), m_scenario.reductions.front());
    }
}

std::string
CollperfTable::NameOf(std::size_t choice) const
{
    return choice == 0 ? "table" : m_scenario.compare[choice - 1].name;
}

std::optional<double>
CollperfTable::Efficiency(const CollperfRow& row) const
{
    // One rank may leave before all bytes have moved: only the last one's time has the bound.
    constexpr uint32_t kLargest = 3;
    if (m_scenario.average != kLargest)
    {
        return std::nullopt;
    }
    const double least = LeastSecondsByBytes(m_scenario, row.last.bytes, *row.last.algorithm);
    return least > 0 && row.timeUs > 0 ? std::optional(least * 1e6 / row.timeUs) : std::nullopt;
}

void
CollperfTable::Write(const CollperfRow& row)
{
    if (!m_file.IsOpen())
    {
        return;
    }
    std::string line;
    COLLPERF.Write(line, ShownOf(row), Columns());
    m_file.Write(line);
}

std::size_t
CollperfTable::Columns() const
{
    return m_scenario.reference.time.empty() ? COLUMNS_WITHOUT_REFERENCE : SIZE_MAX;
}

CollperfRowShown
CollperfTable::ShownOf(const CollperfRow& row) const
{
    const auto bandwidth = [&](double us) {
        return coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, us);
    };
    CollperfRowShown shown;
    shown.row = &row;
    shown.count = CountOf(m_scenario, row, m_scenario.elementBytes);
    shown.op = coll::OpName(m_scenario.op);
    shown.choice = NameOf(row.choice);
    shown.algorithm = row.last.algorithm->Name();
    shown.protocol = row.last.protocol ? topo::ToString(*row.last.protocol) : "";
    shown.ranks = m_scenario.ranks;
    shown.bandwidth = bandwidth(row.timeUs);
    shown.efficiency = Efficiency(row);
    if (shown.efficiency)
    {
        shown.boundUs = LeastSecondsByBytes(m_scenario, row.last.bytes, *row.last.algorithm) * 1e6;
    }
    if (row.path)
    {
        shown.path = Summarize(*row.path);
    }
    if (const auto measured = Measured(row))
    {
        shown.measuredUs = *measured;
        shown.measuredAlgbw = bandwidth(*measured).algbw;
        shown.measuredBusbw = bandwidth(*measured).busbw;
        shown.factor = row.timeUs / *measured;
    }
    return shown;
}

std::optional<double>
CollperfTable::Measured(const CollperfRow& row) const
{
    const auto found = m_scenario.reference.time.find(row.asked);
    return found != m_scenario.reference.time.end() && row.timeUs > 0 ? std::optional(found->second)
                                                                      : std::nullopt;
}

double
CollperfTable::ReferenceFactor() const
{
    double logs = 0;
    std::size_t count = 0;
    for (const CollperfRow& row : m_rows)
    {
        const auto measured = Measured(row);
        if (measured && row.choice == 0)
        {
            logs += std::log(row.timeUs / *measured);
            ++count;
        }
    }
    return count ? std::exp(logs / static_cast<double>(count)) : 0;
}

void
CollperfTable::PrintReference(std::ostream& os) const
{
    if (m_scenario.reference.time.empty())
    {
        return;
    }
    os << "# measured, " << rdma::Shown(m_scenario.reference.file, 300)
       << ": time (us) and busbw (GB/s), and of the table above: factor = its time over the "
          "measured one\n"
       << Format("# %11s  %20s  %20s  %7s\n", "size", "measured", "simulated", "factor");
    for (const CollperfRow& row : m_rows)
    {
        const auto measured = Measured(row);
        if (!measured || row.choice > 0)
        {
            continue;
        }
        os << Format("# %11llu", static_cast<unsigned long long>(row.last.bytes));
        for (const double us : {*measured, row.timeUs})
        {
            const double busbw =
                coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, us).busbw;
            os << Format("  %11s %8.2f", SevenColumns(us).c_str(), busbw);
        }
        os << Format("  %7.3f\n", row.timeUs / *measured);
    }
    if (const double factor = ReferenceFactor(); factor > 0)
    {
        os << Format("# factor, geometric mean: %.3f\n", factor);
    }
    os << "#\n";
}

void
CollperfTable::Print(std::ostream& os,
                     const CollperfRow& row,
                     const scenario::Datatype& datatype,
                     const std::string& reduction) const
{
    const coll::Bandwidth bw =
        coll::BandwidthOf(m_scenario.op, row.last.bytes, m_scenario.ranks, row.timeUs);
    const std::string result = Format("  %7s  %6.2f  %6.2f    %3s",
                                      SevenColumns(row.timeUs).c_str(),
                                      bw.algbw,
                                      bw.busbw,
                                      m_scenario.checked ? "0" : "N/A");
    os << Format("%12llu  %12llu  %8s  %6s  %6d",
                 static_cast<unsigned long long>(row.last.bytes),
                 static_cast<unsigned long long>(CountOf(m_scenario, row, datatype.bytes)),
                 datatype.name.c_str(),
                 reduction.c_str(),
                 coll::HasRoot(m_scenario.op) ? static_cast<int>(m_scenario.root) : -1)
       << result << result << std::endl;
}

void
CollperfTable::PrintEnd(std::ostream& os) const
{
    double busbw = 0;
    std::size_t complete = 0;
    for (std::size_t type = 0; type < m_scenario.datatypes.size(); ++type)
    {
        for (std::size_t reduction = 0; reduction < m_scenario.reductions.size(); ++reduction)
        {
            for (const CollperfRow& row : m_rows)
            {
                if (row.choice > 0)
                {
                    continue;
                }
                if (row.timeUs > 0)
                {
                    busbw += coll::BandwidthOf(m_scenario.op,
                                               row.last.bytes,
                                               m_scenario.ranks,
                                               row.timeUs)
                                 .busbw;
                    ++complete;
                }
                if (type + reduction > 0) // else printed when it was done
                {
                    Print(os, row, m_scenario.datatypes[type], m_scenario.reductions[reduction]);
                }
            }
        }
    }
    const auto done = static_cast<std::size_t>(
        std::count_if(m_rows.begin(), m_rows.end(), [](const CollperfRow& row) {
            return row.choice == 0;
        }));
    const std::size_t sizes = m_scenario.sizes.size();
    os << (done < sizes ? "# Out of bounds values : N/A (" + std::to_string(done) + " of " +
                              topo::Counted(sizes, "size") + " done)\n"
                        : "# Out of bounds values : 0 OK (schedules are proven, data is not "
                          "moved)\n")
       << Format("# Avg bus bandwidth    : %g\n#\n",
                 complete ? busbw / static_cast<double>(complete) : 0.0);
    PrintCompared(os);
    PrintReference(os);
    os << std::flush;
}

void
CollperfTable::PrintCompared(std::ostream& os) const
{
    if (m_scenario.compare.empty())
    {
        return;
    }
    // The table's own first.
    std::vector<std::string> names;
    for (std::size_t choice = 0; choice <= m_scenario.compare.size(); ++choice)
    {
        names.push_back(NameOf(choice));
    }
    os << "# compared: time (us) and busbw (GB/s) of the table above and of each; * the fastest of "
          "a size\n"
       << Format("# %11s", "size");
    for (const std::string& name : names)
    {
        os << Format("  %20s", name.c_str());
    }
    os << "\n";
    for (const uint64_t bytes : m_scenario.sizes)
    {
        std::vector<const CollperfRow*> rows(names.size());
        const CollperfRow* fastest = nullptr;
        for (const CollperfRow& row : m_rows)
        {
            if (row.asked == bytes)
            {
                rows[row.choice] = &row;
                fastest = !fastest || row.timeUs < fastest->timeUs ? &row : fastest;
            }
        }
        if (!fastest)
        {
            continue;
        }
        os << Format("# %11llu", static_cast<unsigned long long>(fastest->last.bytes));
        for (std::size_t i = 0; i < rows.size(); ++i)
        {
            // As wide as its name.
            const int width = std::max<int>(20, static_cast<int>(names[i].size()));
            std::string cell = "-"; // the run ended before
            if (rows[i])
            {
                const double busbw = coll::BandwidthOf(m_scenario.op,
                                                       rows[i]->last.bytes,
                                                       m_scenario.ranks,
                                                       rows[i]->timeUs)
                                         .busbw;
                cell = SevenColumns(rows[i]->timeUs) + Format("  %8.2f", busbw) +
                       (rows[i]->timeUs == fastest->timeUs ? " *" : "  ");
            }
            os << Format("  %*s", width, cell.c_str());
        }
        os << "\n";
    }
    os << "#\n";
}

void
CollperfTable::PrintShares(std::ostream& os) const
{
    if (m_rows.empty())
    {
        return;
    }
    const bool paths = std::any_of(m_rows.begin(), m_rows.end(), [](const CollperfRow& row) {
        return row.path.has_value();
    });
    // With several choices which one it is, too, as one algorithm may be several.
    const auto name = [this](const CollperfRow& row) {
        return m_scenario.compare.empty() ? ChoiceName(row)
                                          : NameOf(row.choice) + ": " + ChoiceName(row);
    };
    int width = 28;
    for (const CollperfRow& row : m_rows)
    {
        width = std::max(width, static_cast<int>(name(row).size()));
    }
    os << Format("%12s  %-*s %9s  %10s", "size", width, "algorithm", "time (us)", "efficiency");
    if (paths)
    {
        os << "  software  in servers  bytes  cables  waiting";
    }
    os << "\n";
    for (const CollperfRow& row : m_rows)
    {
        const std::optional<double> efficiency = Efficiency(row);
        os << Format("%12llu  %-*s %9s  %10s",
                     static_cast<unsigned long long>(row.last.bytes),
                     width,
                     name(row).c_str(),
                     SevenColumns(row.timeUs).c_str(),
                     efficiency ? Format("%.1f%%", *efficiency * 100).c_str() : "-");
        if (row.path)
        {
            const PathSummary p = Summarize(*row.path);
            const int64_t all = p.software + p.inside + p.serialization + p.propagation + p.waiting;
            os << Format("  %8s  %10s  %5s  %6s  %7s",
                         Percent(p.software, all).c_str(),
                         Percent(p.inside, all).c_str(),
                         Percent(p.serialization, all).c_str(),
                         Percent(p.propagation, all).c_str(),
                         Percent(p.waiting, all).c_str());
        }
        os << "\n";
    }
    if (std::any_of(m_rows.begin(), m_rows.end(), [this](const CollperfRow& row) {
            return Efficiency(row).has_value();
        }))
    {
        const bool adding = std::any_of(m_rows.begin(), m_rows.end(), AddsUp);
        const bool sending = !std::all_of(m_rows.begin(), m_rows.end(), AddsUp);
        os << "Efficiency       "
           << Wrapped(std::string("least possible time (bytes at link rate, no headers) over "
                                  "simulated time; ") +
                          (sending ? "for messages between GPUs" : "") +
                          (sending && adding ? ", and for "
                           : adding          ? "for "
                                             : "") +
                          (adding ? "vectors sent once, to switches that add up" : ""),
                      17,
                      2)
           << "\n";
    }
    const scenario::ClusterSpec& cluster = m_scenario.cluster;
    const topo::ScaleUp::Kind kind = cluster.server.scaleUp.kind;
    const bool pcie = kind == topo::ScaleUp::kPcie || kind == topo::ScaleUp::kNvLinkIslands;
    if (pcie && cluster.servers > 1 && m_scenario.ranks > cluster.servers)
    {
        os << "PCIe             "
           << Wrapped("what a GPU exchanges over NICs does not share its PCIe port with what it "
                      "exchanges inside the server, in times and bound alike (docs/limits.md)",
                      17,
                      2)
           << "\n";
    }
}

} // namespace reports
