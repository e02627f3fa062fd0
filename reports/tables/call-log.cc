/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/call-log.h"

#include "reports/schema/table.h"

#include <algorithm>

namespace reports
{

namespace
{

const char*
KindName(training::TaskKind kind)
{
    switch (kind)
    {
    case training::TaskKind::kCompute:
        return "compute";
    case training::TaskKind::kMemory:
        return "memory";
    case training::TaskKind::kHost:
        return "host";
    case training::TaskKind::kCollective:
        return "collective";
    case training::TaskKind::kSend:
        return "send";
    default:
        return "recv";
    }
}

/// "2nd", "3rd", "4th", "11th", "21st".
std::string
Ordinal(uint32_t n)
{
    const bool teen = n / 10 % 10 == 1;
    const uint32_t last = teen ? 0 : n % 10;
    return std::to_string(n) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

/// A line of calls.log.
struct CallRow : CallRecord
{
    uint32_t shownStep;
    std::string name;
    std::string_view group;
};

const Table<CallRow> CALLS(
    "calls.log",
    {{"start_us (us): Start of the call", &CallRow::start},
     {"end_us (us): End of the call", &CallRow::end},
     {"step: Measured step, from 1; 0: a repeated warm-up step", &CallRow::shownStep},
     {"rank: GPU", &CallRow::rank},
     {"stream: Stream of the GPU",
      [](const auto& c) { return std::string_view(c.graph->streams[c.task->stream]); }},
     {"kind: compute, memory, host, collective, send, recv",
      [](const auto& c) { return KindName(c.task->kind); }},
     {"call: Name of the call; (aborted): it did not end", &CallRow::name},
     {"bytes (B): Size of the collective or message", [](const auto& c) { return c.task->bytes; }},
     {"group: Ranks of a collective; -: none", &CallRow::group}},
    '\t');

} // namespace

CallLog::CallLog(const training::TrainingPlan& plan, uint32_t warmup, uint32_t steps, uint64_t most)
    : m_plan(plan),
      m_warmup(warmup),
      m_steps(steps)
{
    uint64_t callsOfStep = 0;
    for (const uint32_t role : plan.roleOf)
    {
        callsOfStep += plan.roles[role].tasks.size();
    }
    const uint64_t calls = callsOfStep * steps;
    m_everyRank =
        static_cast<uint32_t>(std::clamp<uint64_t>((calls + most - 1) / most, 1, plan.ranks));
    if (calls / plan.ranks > most)
    {
        const uint64_t callsOfRank = std::max<uint64_t>(1, callsOfStep / plan.ranks);
        const uint64_t fit = std::max<uint64_t>(1, most / callsOfRank);
        m_allSteps = fit >= steps;
        m_steps = m_allSteps ? m_steps : static_cast<uint32_t>(fit);
    }
}

bool
CallLog::Open(const std::string& path)
{
    if (!m_file.Open(path))
    {
        return false;
    }
    m_file.Write(
        "# calls of the measured steps" +
        (m_allSteps ? std::string() : ", the first " + std::to_string(m_steps)) +
        ", in the order they end; times in us since the simulation began" +
        (m_everyRank > 1 ? "; only every " + Ordinal(m_everyRank) + " rank" : std::string()));
    m_file.Write("# " + CALLS.Header());
    return true;
}

void
CallLog::Write(const CallRecord& call, How how)
{
    // The replicas' own calls show the sends and waits of servers' connections.
    const bool connection = m_plan.HasActors() && call.graph->streams[0].empty() &&
                            call.task->kind != training::TaskKind::kMemory;
    const bool warmup = call.step < m_warmup;
    if (connection || (warmup && how == How::kPlain) ||
        (!warmup && call.step - m_warmup >= m_steps) || call.rank % m_everyRank)
    {
        return;
    }
    CALLS.Write(m_line,
                {{call},
                 warmup ? 0 : call.step - m_warmup + 1,
                 call.task->name + (how == How::kAborted ? " (aborted)" : ""),
                 call.task->kind == training::TaskKind::kCollective
                     ? std::string_view(m_plan.groupKinds[call.task->group].name)
                     : "-"});
    m_file.Write(m_line);
}

void
CallLog::Close()
{
    m_file.Close();
}

} // namespace reports
