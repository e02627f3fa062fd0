/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TrainingResults as tables.
 */
#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "reports/attribution/message-id.h"
#include "reports/programs/training-results.h"
#include "reports/schema/table.h"

namespace reports
{

namespace
{

/// A row of step_collectives.csv.
struct ListedRow
{
    const CollectiveRecord& record;
    double timeUs;
    coll::Bandwidth bandwidth;
    std::string_view name;
    uint32_t step;
};

const Table<ListedRow> STEP_COLLECTIVES(
    "step_collectives.csv",
    {{"op: Operation", [](const auto& r) { return coll::OpName(r.record.op); }},
     {"algorithm: Algorithm", [](const auto& r) { return r.record.algorithm->Name(); }},
     {"protocol: Protocol of its messages; empty: none",
      [](const auto& r) { return r.record.protocol ? topo::ToString(*r.record.protocol) : ""; }},
     {"bytes (B): Size of the vector, as nccl-tests counts it",
      [](const auto& r) { return r.record.bytes; }},
     {"ranks (count): Ranks that take part", [](const auto& r) { return r.record.ranks; }},
     {"time_us (us): From the first entry to the last exit", &ListedRow::timeUs},
     {"algbw_GBps (GB/s): bytes over time_us, 10^9 B/s",
      [](const auto& r) { return r.bandwidth.algbw; }},
     {"busbw_GBps (GB/s): algbw times the operation's factor: comparable with the hardware's rate",
      [](const auto& r) { return r.bandwidth.busbw; }},
     {"name: Purpose", &ListedRow::name},
     {"step: Measured step, from 1", &ListedRow::step},
     {"rank_time_us (us): Time of a rank in it, mean",
      [](const auto& r) { return r.record.meanPs * 1e-6; }},
     {"rank_wait_us (us): Of it: before the last rank entered, mean",
      [](const auto& r) { return r.record.waitPs * 1e-6; }},
     {"start_us (us): Entry of the first rank", [](const auto& r) { return r.record.firstStart; }},
     {"last_entry_us (us): Entry of the last rank",
      [](const auto& r) { return r.record.lastStart; }}});

/// A row of steps.csv.
struct StepRow
{
    uint64_t step;
    std::optional<double> beginUs;
    double timeUs;
};

const Table<StepRow> STEPS("steps.csv",
                           {{"step: Measured step, from 1", &StepRow::step},
                            {"begin_us (us): With --recovery or --checkpoint-every: when it began; "
                             "else steps follow at once",
                             &StepRow::beginUs},
                            {"time_us (us): Time of the step", &StepRow::timeUs}});

} // namespace

void
TrainingResults::WriteTables(const std::string& out,
                             const CriticalPath* critical,
                             const std::vector<std::string>& tags) const
{
    std::string line;
    LineLog steps(out + "/steps.csv");
    steps.Write(STEPS.Header());
    for (std::size_t i = 0; i < m_stepUs.size(); ++i)
    {
        STEPS.Write(line,
                    {i + 1,
                     i < m_stepBegins.size() ? std::optional(m_stepBegins[i]) : std::nullopt,
                     m_stepUs[i]});
        steps.Write(line);
    }
    steps.Close();
    LineLog collectives(out + "/step_collectives.csv");
    collectives.Write(STEP_COLLECTIVES.Header());
    for (const ListedStep& step : m_listed)
    {
        for (const CollectiveRecord& record : step.collectives)
        {
            const double us = SpanUs(record);
            STEP_COLLECTIVES.Write(line,
                                   {record,
                                    us,
                                    coll::BandwidthOf(record.op, record.bytes, record.ranks, us),
                                    tags[MessageId::Tag(record.tag)],
                                    step.number});
            collectives.Write(line);
        }
    }
    collectives.Close();
    if (critical)
    {
        critical->WriteTables(out);
    }
}

} // namespace reports
