/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A CriticalPath as lines of the terminal.
 */
#include "reports/attribution/critical-path.h"
#include "reports/base/human-text.h"

#include <algorithm>

namespace reports
{

using training::Communicates;

namespace
{

/// Below 5% is not worth a word.
bool
LosesTime(const PathHop& hop)
{
    return hop.waited * 20 > hop.time;
}

/// A collective, whose chunks follow one another; else a message between two ranks.
bool
IsOfAll(const training::Task& task)
{
    return task.kind == training::TaskKind::kCollective;
}

} // namespace

std::string
CriticalPath::InWords(std::size_t share, bool ofCollective) const
{
    return ofCollective && share == static_cast<std::size_t>(TimeShare::BACKLOG)
               ? PIPELINING
               : GetPathShareWords(share, m_link);
}

bool
CriticalPath::IsMostlyCollectives(std::size_t share) const
{
    int64_t ofCollectives = 0;
    for (const Part& part : m_path)
    {
        ofCollectives += IsOfAll(*part.task) ? part.shares[share] : -part.shares[share];
    }
    return ofCollectives > 0;
}

std::string
CriticalPath::NoteOf(const Hop& hop) const
{
    const Part& call = m_path[hop.call];
    return m_notes ? m_notes->Of(hop.hop.port, call.start, call.end) : "";
}

void
CriticalPath::AddHop(const Hop& longest, std::vector<Line>& lines) const
{
    const PathHop& hop = longest.hop;
    lines.push_back({"longest at",
                     -1,
                     m_ports[hop.port] + ", " + HumanTime(Us(hop.time)) + " of " +
                         m_path[longest.call].task->name});
    if (LosesTime(hop))
    {
        // A collective's chunks follow one another at the speed of the line: nothing is lost.
        const bool ofCollective = IsOfAll(*m_path[longest.call].task);
        const bool pipelines = ofCollective && longest.why == TimeShare::BACKLOG;
        std::string text = Percent(hop.waited, hop.time) +
                           (pipelines ? " of it is " : " of it lost, mostly ") +
                           InWords(static_cast<std::size_t>(longest.why), ofCollective);
        text += hop.behind < m_tags.size() ? ", behind " + m_tags[hop.behind] : "";
        lines.push_back({"", -1, std::move(text)});
    }
    if (std::string note = NoteOf(longest); !note.empty())
    {
        lines.push_back({"", -1, std::move(note)});
    }
}

/// A link that fails, or that has too much to carry, holds up others: a pause, missing credits, or
/// a rank that waits are told where they are seen. Faults come first; that a link is the busiest of
/// its kind is told where the longest hop lost time and has no word of its own.
void
CriticalPath::AddCauseElsewhere(std::vector<Line>& lines) const
{
    if (!m_notes || m_hops.empty())
    {
        return;
    }
    const auto add = [this, &lines](const auto& noteOf) {
        for (std::size_t i = 1; i < m_hops.size(); ++i)
        {
            const Hop& hop = m_hops[i];
            if (const std::string note = noteOf(hop); !note.empty())
            {
                lines.push_back(
                    {"also over",
                     -1,
                     m_ports[hop.hop.port] + ", " + HumanTime(Us(hop.hop.time)) + ": " + note});
                return true;
            }
        }
        return false;
    };
    const PathHop& longest = m_hops.front().hop;
    if (!add([this](const Hop& hop) {
            const Part& call = m_path[hop.call];
            return m_notes->FaultsOf(hop.hop.port, call.start, call.end);
        }) &&
        LosesTime(longest) && NoteOf(m_hops.front()).empty())
    {
        add([this](const Hop& hop) { return NoteOf(hop); });
    }
}

std::string
CriticalPath::Stragglers() const
{
    std::map<coll::Rank, int64_t> by;
    for (const Part& part : m_path)
    {
        by[part.rank] += part.straggling;
    }
    const auto most = std::max_element(by.begin(), by.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
    });
    const std::string gpu = "GPU " + std::to_string(most->first);
    return most->second == m_straggling ? gpu
                                        : Percent(most->second, m_straggling) + " of that " + gpu;
}

std::vector<CriticalPath::Line>
CriticalPath::InLines() const
{
    std::vector<Line> lines;
    if (m_path.empty())
    {
        return lines;
    }
    // By parallelism, then by the first word of the name.
    std::map<std::pair<training::Parallelism, std::string>, int64_t> collectives;
    const Part* latest = nullptr;
    for (const Part& part : m_path)
    {
        if (Computes(*part.task))
        {
            continue;
        }
        const std::string& name = part.task->name;
        const training::Parallelism parallelism =
            Communicates(*part.task) ? ParallelismOf(part) : training::Parallelism::kOther;
        collectives[{parallelism, name.substr(0, name.find(' '))}] += part.end - part.start;
        if (part.waited > 0 && (!latest || part.waited > latest->waited))
        {
            latest = &part;
        }
    }
    const int64_t total = m_path.back().end - m_path.front().start;
    lines.push_back({"", total, "calls that waited for each other, back from the last one"});
    lines.push_back({"computing", m_computing, ""});
    if (m_straggling * 100 >= total)
    {
        lines.back().words =
            "(" + HumanTime(Us(m_straggling)) + " of it straggling, " + Stragglers() + ")";
    }
    for (const auto& [kind, ps] : collectives)
    {
        const std::string word = kind.first == training::Parallelism::kOther
                                     ? ""
                                     : std::string(ParallelismWord(kind.first)) + " ";
        lines.push_back({word + kind.second, ps, ""});
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < PATH_SHARES; ++i)
    {
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        return m_shares[a] > m_shares[b];
    });
    const int64_t communicating = total - m_computing - m_onHost;
    for (std::size_t i = 0; i < 3 && m_shares[order[i]] * 20 > communicating; ++i)
    {
        lines.push_back({i ? "" : "of the collectives",
                         -1,
                         Percent(m_shares[order[i]], communicating) + " " +
                             InWords(order[i], IsMostlyCollectives(order[i]))});
        if (m_notes && order[i] == static_cast<std::size_t>(TimeShare::REPEATING))
        {
            const std::string lost = m_notes->Losses(m_path.front().start, m_path.back().end);
            lines.back().words += lost.empty() ? "" : " (" + lost + ")";
        }
    }
    if (!m_hops.empty())
    {
        AddHop(m_hops.front(), lines);
        AddCauseElsewhere(lines);
    }
    if (latest)
    {
        lines.push_back({"longest wait",
                         -1,
                         HumanTime(Us(latest->waited)) + " for GPU " +
                             std::to_string(latest->rank) + ", at " + latest->task->name});
    }
    return lines;
}

} // namespace reports
