/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CriticalPath as tables and as keys of stats.json.
 */
#include "reports/attribution/critical-path.h"
#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/schema/table.h"

#include <algorithm>

namespace reports
{

using training::Communicates;

namespace
{

/// Work on the host below a nanosecond, as a copy of a few bytes that a captured script reads, is
/// on the path and in its sums, but no line of it.
constexpr int64_t LEAST_TOLD_PS = 1000;

/// A row of critical_messages.csv.
struct PathMessageRow
{
    std::string_view call;
    coll::Rank from;
    coll::Rank to;
    uint32_t messages;
    int64_t start;
    int64_t end;
    std::string_view link;
    std::string_view behind;
    std::array<int64_t, PATH_SHARES> shares;
};

/// \param columns then a column for each part
template <typename Row>
std::vector<Column<Row>>
WithParts(std::vector<Column<Row>> columns)
{
    for (std::size_t i = 0; i < PATH_SHARES; ++i)
    {
        columns.push_back({Words(std::string(GetPathShareName(i)) + "_us",
                                 "us",
                                 "Of its time " + GetPathShareMeaning(i)),
                           [i](const Row& row) { return row.shares[i]; }});
    }
    return columns;
}

const Table<CriticalPath::Call> PATH_CALLS(
    "critical_path.csv",
    WithParts<CriticalPath::Call>(
        {{"call: Name of the call", &CriticalPath::Call::call},
         {"rank: GPU; of a collective: the one by whose entry the path comes into it",
          &CriticalPath::Call::rank},
         {"start_us (us): Start; of a collective: entry of that GPU", &CriticalPath::Call::start},
         {"end_us (us): Where the path continues", &CriticalPath::Call::end},
         {"straggling_us (us): Excess over the time of half of the GPUs that compute the same; "
          "empty: none",
          &CriticalPath::Call::straggling},
         {"waited_us (us): Collective: its first GPU's wait for this one. Receive: wait before the "
          "message was sent",
          &CriticalPath::Call::waited},
         {"messages (count): Messages on the path; empty: a computation",
          &CriticalPath::Call::messages}}));

const Table<PathMessageRow> PATH_MESSAGES(
    "critical_messages.csv",
    WithParts<PathMessageRow>(
        {{"call: Name of the collective, or of the send", &PathMessageRow::call},
         {"from: Sending GPU", &PathMessageRow::from},
         {"to: Receiving GPU", &PathMessageRow::to},
         {"messages (count): 1, or of messages inside a server that followed one another",
          &PathMessageRow::messages},
         {"start_us (us): When the cause of its post had happened", &PathMessageRow::start},
         {"end_us (us): Arrival of its last byte", &PathMessageRow::end},
         {"link: Link out of the port where it was longest; empty: inside a server",
          &PathMessageRow::link},
         {"behind: Collective whose packets were in front there; empty: none",
          &PathMessageRow::behind}}));

} // namespace

std::size_t
CriticalPath::CountCalls() const
{
    return static_cast<std::size_t>(
        std::count_if(m_path.begin(), m_path.end(), [](const Part& part) { return IsTold(part); }));
}

bool
CriticalPath::IsTold(const Part& part)
{
    const bool onHost = !Computes(*part.task) && !Communicates(*part.task);
    return !onHost || part.end - part.start >= LEAST_TOLD_PS;
}

std::string_view
CriticalPath::TagName(uint32_t tag) const
{
    return tag < m_tags.size() ? std::string_view(m_tags[tag]) : std::string_view();
}

std::vector<CriticalPath::Call>
CriticalPath::GetCalls() const
{
    std::vector<Call> calls;
    for (const Part& part : m_path)
    {
        if (!IsTold(part) || calls.size() == MOST_PARTS)
        {
            continue;
        }
        const bool sends = Communicates(*part.task);
        calls.push_back({part.task->name,
                         part.rank,
                         part.start,
                         part.end,
                         !sends && part.straggling ? std::optional(part.straggling) : std::nullopt,
                         sends ? std::optional(part.waited) : std::nullopt,
                         sends ? std::optional(part.messages) : std::nullopt,
                         part.shares});
    }
    return calls;
}

void
CriticalPath::WriteTables(const std::string& out) const
{
    std::string line;
    LineLog calls(out + "/critical_path.csv");
    calls.Write(PATH_CALLS.Header());
    for (const Call& call : GetCalls())
    {
        PATH_CALLS.Write(line, call);
        calls.Write(line);
    }
    calls.Close();
    LineLog messages(out + "/critical_messages.csv");
    messages.Write(PATH_MESSAGES.Header());
    for (const Message& message : m_messages)
    {
        PATH_MESSAGES.Write(line,
                            {m_path[message.call].task->name,
                             message.from,
                             message.to,
                             message.messages,
                             message.start,
                             message.end,
                             message.port < m_ports.size() ? std::string_view(m_ports[message.port])
                                                           : std::string_view(),
                             TagName(message.behind),
                             message.shares});
        messages.Write(line);
    }
    messages.Close();
}

const Object<CriticalPath>&
CriticalPath::PartKeys(bool asShare)
{
    const auto make = [](bool share) {
        std::vector<Key<CriticalPath>> keys;
        const auto add = [&](const char* name, const std::string& meaning, auto of) {
            const auto value = [share, of](const CriticalPath& path) {
                const int64_t ps = of(path);
                return share ? static_cast<double>(ps) /
                                   static_cast<double>(std::max<int64_t>(1, path.Total()))
                             : Us(ps);
            };
            keys.push_back({Words(name, share ? "0 to 1" : "us", meaning), value});
        };
        add("compute", "computing, without straggling", [](const CriticalPath& p) {
            return p.m_computing - p.m_straggling;
        });
        add("straggling",
            "time by which a computation is longer than on half of the GPUs that compute the same",
            [](const CriticalPath& p) { return p.m_straggling; });
        add("offload",
            "with --offload, --loader, --memory: PCIe copies, the CPU's optimizer, loading, loads "
            "and "
            "stores",
            [](const CriticalPath& p) { return p.m_onHost; });
        keys.back() =
            std::move(keys.back()).Only([](const CriticalPath& p) { return p.m_onHost > 0; });
        for (std::size_t i = 0; i < PATH_SHARES; ++i)
        {
            add(GetPathShareName(i),
                "messages " + GetPathShareMeaning(i),
                [i](const CriticalPath& p) { return p.m_shares[i]; });
        }
        return keys;
    };
    static const Object<CriticalPath> us("", make(false));
    static const Object<CriticalPath> shares("", make(true));
    return asShare ? shares : us;
}

const Object<CriticalPath>&
CriticalPath::Keys()
{
    using P = CriticalPath;

    /// A port and its path.
    struct HopOf
    {
        const P& path;
        const Hop& hop;
    };

    static const auto ofHop = [](int64_t PathHop::*time) {
        return [time](const HopOf& h) { return Us(h.hop.hop.*time); };
    };
    static const Object<HopOf> hop{
        {"link: Link out of the port",
         [](const HopOf& h) { return h.path.m_ports[h.hop.hop.port]; }},
        {"call: The collective",
         [](const HopOf& h) { return h.path.m_path[h.hop.call].task->name; }},
        {"time_us (us): Longest message there, from its arrival at the port (at a NIC: its post) "
         "to the next one",
         ofHop(&PathHop::time)},
        {"waited_us (us): Of it: not serialization, cable or pipeline", ofHop(&PathHop::waited)},
        Key<HopOf>("why: Cause of most of the wait, as the parts are named; null: no wait",
                   [](const HopOf& h) { return GetTimeShareName(h.hop.why); })
            .NullUnless([](const HopOf& h) { return h.hop.hop.waited != 0; }),
        Key<HopOf>("behind: In a switch: collective whose packets were in front; null: none",
                   [](const HopOf& h) { return h.path.m_tags[h.hop.hop.behind]; })
            .NullUnless([](const HopOf& h) { return h.hop.hop.behind < h.path.m_tags.size(); }),
        Key<HopOf>("note: Faults of the link meanwhile, or that it was the busiest of its kind",
                   [](const HopOf& h) { return h.path.NoteOf(h.hop); })
            .Only([](const HopOf& h) { return !h.path.NoteOf(h.hop).empty(); })};
    static const auto itself = [](const P& path) -> const P& { return path; };
    static const Object<P> keys{
        {"step: The step, from 0, warm-up included", [](const P& p) { return p.m_kept; }},
        {"start_us (us): Begin of the path: its first rank begins the step",
         [](const P& p) { return Us(p.m_path.front().start); }},
        {"end_us (us): End of the step", [](const P& p) { return Us(p.m_path.back().end); }},
        {"total_us (us): end_us - start_us: compute_us + collectives_us (+ parts_us.offload)",
         [](const P& p) { return Us(p.Total()); }},
        {"before_step_us (us): Of it: before all GPUs had ended the step before; total_us less "
         "this is the step time",
         [](const P& p) { return Us(p.m_begin - p.m_path.front().start); }},
        {"compute_us (us): Computing on the path", [](const P& p) { return Us(p.m_computing); }},
        {"collectives_us (us): Collectives and messages on the path",
         [](const P& p) { return Us(p.Total() - p.m_computing - p.m_onHost); }},
        {"by_parallelism_us: collectives_us by the parallelism of the collective or message",
         itself,
         ParallelismKeys()},
        {"parts_us (us): Parts of the path, together total_us", itself, PartKeys(false)},
        {"share (0 to 1): The same over total_us", itself, PartKeys(true)},
        {"hops: Up to 10 ports where messages of the path were longest",
         [](const P& p) {
             std::vector<HopOf> hops;
             for (const Hop& one : p.m_hops)
             {
                 hops.push_back({p, one});
             }
             return hops;
         },
         hop},
        {"calls (count): Calls on the path; critical_path.csv has the first 1,000", &P::CountCalls},
        {"messages (count): Messages on the path; critical_messages.csv has the longest 500",
         [](const P& p) { return p.m_nMessages; }}};
    return keys;
}

nlohmann::ordered_json
CriticalPath::ToJson() const
{
    return m_path.empty() ? Json() : Keys().ToJson(*this);
}

} // namespace reports
