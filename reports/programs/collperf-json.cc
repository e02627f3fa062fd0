/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CollperfTable as keys of stats.json.
 */
#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/collperf-row.h"
#include "reports/programs/collperf-table.h"
#include "reports/schema/object.h"
#include "reports/stats/stats-file.h"

namespace reports
{

namespace
{

/// ps, by PathShare.
using PathTimes = std::array<int64_t, PATH_SHARES>;

const Object<PathTimes>&
PathTimesKeys()
{
    static const Object<PathTimes> keys("", [] {
        std::vector<Key<PathTimes>> list;
        for (std::size_t i = 0; i < PATH_SHARES; ++i)
        {
            list.push_back({Words(std::string(GetPathShareName(i)) + "_us",
                                  "us",
                                  "Time of messages " + GetPathShareMeaning(i)),
                            [i](const PathTimes& times) { return Us(times[i]); }});
        }
        return list;
    }());
    return keys;
}

using Shown = CollperfRowShown;

const Object<Shown>&
SizeKeys()
{
    static const Object<Shown> keys(
        "Collective",
        {{"op: Operation", &Shown::op},
         {"algorithm: Algorithm", &Shown::algorithm},
         Key<Shown>("protocol: Protocol of its messages; null with --library=none",
                    &Shown::protocol)
             .NullUnless([](const Shown& s) { return !s.protocol.empty(); }),
         {"bytes (B): Size of the vector, as nccl-tests counts it",
          [](const Shown& s) { return s.row->last.bytes; }},
         {"ranks (count): Ranks that take part", &Shown::ranks},
         {"time_us (us): From the first entry to the last exit",
          [](const Shown& s) { return s.row->timeUs; }},
         {"algbw_GBps (GB/s): bytes over time_us, 10^9 B/s",
          [](const Shown& s) { return s.bandwidth.algbw; }},
         {"busbw_GBps (GB/s): algbw times the operation's factor: comparable with the hardware's "
          "rate",
          [](const Shown& s) { return s.bandwidth.busbw; }},
         {"efficiency (0 to 1): Least time in which links carry the bytes, over time_us; switches "
          "add up where the algorithm uses them",
          &Shown::efficiency},
         Key<Shown>(
             "path (us): Where the time of the last iteration went, on the last rank's path",
             [](const Shown& s) { return *s.row->path; },
             PathTimesKeys())
             .Only([](const Shown& s) { return s.row->path.has_value(); }),
         Key<Shown>("choice: compared: the name in --compare", &Shown::choice)
             .Only([](const Shown& s) { return s.row->choice > 0; })});
    return keys;
}

/// The measured sizes of --reference.
struct Reference
{
    std::string file;
    std::optional<double> factor; ///< nothing: no size was measured
    std::vector<Shown> rows;
};

const Object<Reference>&
ReferenceKeys()
{
    static const Object<Shown> row{
        {"bytes (B): Size of the vector, as nccl-tests counts it",
         [](const Shown& s) { return s.row->last.bytes; }},
        {"time_us (us): Measured time, out of place", [](const Shown& s) { return *s.measuredUs; }},
        {"algbw_GBps (GB/s): bytes over the measured time, 10^9 B/s",
         [](const Shown& s) { return s.measuredAlgbw; }},
        {"busbw_GBps (GB/s): algbw times the operation's factor",
         [](const Shown& s) { return *s.measuredBusbw; }},
        {"factor (ratio): Simulated time over the measured time",
         [](const Shown& s) { return *s.factor; }}};
    static const Object<Reference> keys{
        {"file: File of the measured times", &Reference::file},
        {"factor (ratio): Simulated over measured time, geometric mean; null: no size was measured",
         &Reference::factor},
        {"rows: Sizes of the run that were measured", &Reference::rows, row}};
    return keys;
}

/// What the keys of a run are made of.
struct CollperfResults
{
    std::vector<Shown> collectives;
    std::vector<Shown> compared;
    std::optional<Reference> reference;
    bool compares;
    Json sent;
};

const Object<CollperfResults> RESULTS{
    {"bytes_sent_per_gpu (B): Per step and operation, NVLink included; mean over GPUs; collperf: "
     "in all",
     [](const auto& r) { return r.sent; }},
    {"collectives: collperf: the sizes of the table", &CollperfResults::collectives, SizeKeys()},
    Key<CollperfResults>("compared: collperf with --compare: each size and algorithm",
                         &CollperfResults::compared,
                         SizeKeys())
        .Only(&CollperfResults::compares),
    Key<CollperfResults>("reference: collperf with --reference: measured times of the run's sizes",
                         &CollperfResults::reference,
                         ReferenceKeys())
        .Only([](const auto& r) { return r.reference.has_value(); })};
const RegisteredKeys g_results(Section::kCollectives, RESULTS);

} // namespace

nlohmann::ordered_json
CollperfTable::ToJson() const
{
    CollperfResults all;
    uint64_t sent = 0;
    for (const CollperfRow& row : m_rows)
    {
        if (row.timeUs <= 0)
        {
            continue;
        }
        (row.choice > 0 ? all.compared : all.collectives).push_back(ShownOf(row));
        sent += row.choice > 0 ? 0 : row.last.bytesSent;
    }
    all.compares = !m_scenario.compare.empty();
    if (!m_scenario.reference.time.empty())
    {
        Reference reference{m_scenario.reference.file, std::nullopt, {}};
        for (const Shown& shown : all.collectives)
        {
            if (shown.measuredUs)
            {
                reference.rows.push_back(shown);
            }
        }
        if (!reference.rows.empty())
        {
            reference.factor = ReferenceFactor();
        }
        all.reference = std::move(reference);
    }
    all.sent[coll::OpName(m_scenario.op)] = static_cast<double>(sent) / m_scenario.ranks;
    Json body = reports::ToJson(m_scenario.cluster, m_scenario.ranks);
    RESULTS.AddTo(body, all);
    return body;
}

} // namespace reports
