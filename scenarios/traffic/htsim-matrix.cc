/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/htsim-matrix.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/options/member.h"

#include <charconv>
#include <set>
#include <sstream>
#include <utility>

namespace scenario
{

namespace
{

constexpr uint64_t kMostNodes = 10000000;           // as flows (kMostFlows)
constexpr uint64_t kMostBytes = 1000000000000000;   // as HPCC's files
constexpr uint64_t kLatestPs = 1000000000000000000; // 10^6 s, as CSV's
constexpr uint64_t kMostId = UINT32_MAX;

/// Whole numbers; htsim reads starts as reals, so "1500.0" and "1e6" may stand there.
bool
ParseNumber(const std::string& word, uint64_t most, uint64_t* value, bool real = false)
{
    const char* const end = word.data() + word.size();
    auto [rest, bad] = std::from_chars(word.data(), end, *value);
    if (bad == std::errc() && rest == end)
    {
        return *value <= most;
    }
    double number = 0;
    if (!real || std::from_chars(word.data(), end, number).ptr != end || !(number >= 0) ||
        number > static_cast<double>(most))
    {
        return false;
    }
    *value = static_cast<uint64_t>(number + 0.5);
    return true;
}

class Reader
{
  public:
    explicit Reader(std::string origin)
        : m_origin(std::move(origin))
    {
    }

    HtsimMatrix Read(const std::string& text);

  private:
    bool Fail(const std::string& what)
    {
        m_matrix.error = m_origin + ":" + std::to_string(m_number) + ": " + what;
        return false;
    }

    bool FailOn(const std::string& word, const std::string& expected)
    {
        return Fail("'" + rdma::Shown(word, 60) + "' where there should be " + expected);
    }

    /// The number behind words[*at].
    bool Number(const std::vector<std::string>& words,
                std::size_t* at,
                uint64_t least,
                uint64_t most,
                uint64_t* value);
    bool ReadCount(const std::vector<std::string>& words);
    bool ReadFlow(const std::vector<std::string>& words);
    bool CheckConnection(const HtsimFlow& flow);
    bool ReadTrigger(const std::vector<std::string>& words);
    bool Check();

    const std::string m_origin;
    uint64_t m_number = 0; ///< number of the line
    std::map<std::string, uint64_t> m_counts;
    std::map<uint64_t, std::size_t> m_ids; ///< the first flow that has each
    HtsimMatrix m_matrix;
};

bool
Reader::Number(const std::vector<std::string>& words,
               std::size_t* at,
               uint64_t least,
               uint64_t most,
               uint64_t* value)
{
    const std::string& name = words[(*at)++];
    const std::string allowed =
        "the number of '" + name + "', " + std::to_string(least) + " to " + std::to_string(most);
    if (*at == words.size())
    {
        return Fail("the line ends where there should be " + allowed);
    }
    return (ParseNumber(words[*at], most, value, name == "start") && *value >= least) ||
           FailOn(words[*at], allowed);
}

bool
Reader::ReadCount(const std::vector<std::string>& words)
{
    if (words.size() != 2)
    {
        return Fail("expected '" + words[0] + "' and a number");
    }
    std::size_t at = 0;
    uint64_t count = 0;
    if (!Number(words, &at, words[0] == "Nodes" ? 1 : 0, kMostNodes, &count))
    {
        return false;
    }
    if (words[0] == "Failures" && count > 0)
    {
        return Fail("link failures are not read; allowed: none here, and " +
                    Spell(&asked::Recovery::fault));
    }
    if (!m_counts.emplace(words[0], count).second)
    {
        return Fail("'" + words[0] + "' a second time");
    }
    if (words[0] == "Nodes")
    {
        m_matrix.nodes = static_cast<uint32_t>(count);
    }
    return true;
}

bool
Reader::ReadFlow(const std::vector<std::string>& words)
{
    HtsimFlow flow;
    flow.line = m_number;
    const std::size_t arrow = words[0].find("->");
    const std::pair<std::string, uint32_t*> ends[] = {{words[0].substr(0, arrow), &flow.src},
                                                      {words[0].substr(arrow + 2), &flow.dst}};
    for (const auto& [word, node] : ends)
    {
        uint64_t value = 0;
        if (m_matrix.nodes == 0)
        {
            return Fail("a flow before 'Nodes', which says how many there are");
        }
        if (!ParseNumber(word, m_matrix.nodes - 1, &value))
        {
            return FailOn(word, "a node, 0 to " + std::to_string(m_matrix.nodes - 1));
        }
        *node = static_cast<uint32_t>(value);
    }
    if (flow.src == flow.dst)
    {
        return Fail("a flow from node " + std::to_string(flow.src) + " to itself");
    }
    bool starts = false;
    std::set<std::string> seen;
    for (std::size_t at = 1; at < words.size(); ++at)
    {
        const std::string& word = words[at];
        if (!seen.insert(word).second)
        {
            return FailOn(word, "each word once on a line");
        }
        uint64_t number = 0;
        bool fine = true;
        if (word == "start")
        {
            fine = Number(words, &at, 0, kLatestPs, &number);
            flow.start.ps = static_cast<int64_t>(number);
            starts = true;
        }
        else if (word == "size")
        {
            fine = Number(words, &at, 0, kMostBytes, &flow.bytes) &&
                   (flow.bytes > 0 || Fail("size 0 is a flow that never ends; allowed: 1 to " +
                                           std::to_string(kMostBytes)));
        }
        else if (word == "id")
        {
            fine = Number(words, &at, 1, kMostId, &flow.id);
        }
        else if (word == "msg")
        {
            // A number may follow, or the next word.
            flow.message = 0;
            if (at + 1 < words.size() &&
                words[at + 1].find_first_not_of("0123456789") == std::string::npos)
            {
                fine = Number(words, &at, 1, kMostId, &number);
                flow.message = number;
            }
        }
        else if (word == "trigger")
        {
            fine = Number(words, &at, 1, kMostId, &flow.trigger);
        }
        else if (word == "send_done_trigger")
        {
            fine = Number(words, &at, 1, kMostId, &flow.sendDone);
        }
        else if (word == "recv_done_trigger")
        {
            fine = Number(words, &at, 1, kMostId, &flow.recvDone);
        }
        else if (word == "prio")
        {
            fine = Number(words, &at, 0, kMostId, &number);
            m_matrix.hasPriorities = true;
        }
        else
        {
            return FailOn(word,
                          "id, msg, start, trigger, size, prio, send_done_trigger or "
                          "recv_done_trigger");
        }
        if (!fine)
        {
            return false;
        }
    }
    if (starts == (flow.trigger > 0))
    {
        return Fail(starts ? "a flow with both start and trigger; allowed: one of them"
                           : "a flow with neither start nor trigger");
    }
    if (flow.bytes == 0)
    {
        return Fail("a flow without a size");
    }
    if (!CheckConnection(flow))
    {
        return false;
    }
    m_matrix.flows.push_back(flow);
    return true;
}

/// Flows of one id are messages, and of the same two nodes.
bool
Reader::CheckConnection(const HtsimFlow& flow)
{
    if (flow.id == 0)
    {
        return !flow.message || Fail("msg without an id, which names the connection");
    }
    const auto [known, isNew] = m_ids.emplace(flow.id, m_matrix.flows.size());
    if (isNew)
    {
        return true;
    }
    const HtsimFlow& first = m_matrix.flows[known->second];
    const std::string id = "id " + std::to_string(flow.id);
    if (!first.message || !flow.message)
    {
        return Fail(id +
                    " a second time; allowed: once, or with msg on each line, which makes them "
                    "messages of one connection");
    }
    return (first.src == flow.src && first.dst == flow.dst) ||
           Fail(id + " is a connection from " + std::to_string(first.src) + " to " +
                std::to_string(first.dst) + " (line " + std::to_string(first.line) +
                "); allowed: messages between these two");
}

bool
Reader::ReadTrigger(const std::vector<std::string>& words)
{
    using Kind = HtsimTrigger::Kind;
    static const std::map<std::string, Kind> kKinds = {{"oneshot", Kind::kOneShot},
                                                       {"multishot", Kind::kMultiShot},
                                                       {"barrier", Kind::kBarrier}};
    HtsimTrigger trigger;
    trigger.line = m_number;
    uint64_t id = 0;
    bool known = false;
    for (std::size_t at = 1; at < words.size(); ++at)
    {
        const auto kind = kKinds.find(words[at]);
        if (kind != kKinds.end() && !known)
        {
            trigger.kind = kind->second;
            known = true;
            continue;
        }
        if (words[at] != "id" && words[at] != "count")
        {
            return FailOn(words[at], "id, count, and one of oneshot, multishot, barrier");
        }
        if (!Number(words, &at, 1, kMostId, words[at] == "id" ? &id : &trigger.count))
        {
            return false;
        }
    }
    if (id == 0 || !known || (trigger.kind == Kind::kBarrier) != (trigger.count > 0))
    {
        return Fail(id == 0             ? "a trigger without an id"
                    : !known            ? "a trigger that is none of oneshot, multishot, barrier"
                    : trigger.count > 0 ? "a trigger with a count that is no barrier"
                                        : "a barrier without a count");
    }
    return m_matrix.triggers.emplace(id, trigger).second ||
           Fail("trigger " + std::to_string(id) + " a second time; allowed: once");
}

bool
Reader::Check()
{
    const std::pair<const char*, std::size_t> counts[] = {{"Connections", m_matrix.flows.size()},
                                                          {"Triggers", m_matrix.triggers.size()}};
    for (const auto& [name, there] : counts)
    {
        const auto found = m_counts.find(name);
        if ((found == m_counts.end() ? 0 : found->second) != there)
        {
            return Fail(std::string("'") + name + "' announces " +
                        (found == m_counts.end() ? "none" : std::to_string(found->second)) +
                        ", the file has " + std::to_string(there));
        }
    }
    if (m_matrix.flows.empty())
    {
        return Fail("there are no flows");
    }
    for (const HtsimFlow& flow : m_matrix.flows)
    {
        for (const uint64_t trigger : {flow.trigger, flow.sendDone, flow.recvDone})
        {
            if (trigger > 0 && !m_matrix.triggers.count(trigger))
            {
                m_number = flow.line;
                return Fail("trigger " + std::to_string(trigger) + " is not there: 'trigger id " +
                            std::to_string(trigger) + " oneshot' is missing");
            }
        }
    }
    return true;
}

HtsimMatrix
Reader::Read(const std::string& text)
{
    std::istringstream lines(text);
    std::string line;
    bool fine = true;
    while (fine && std::getline(lines, line))
    {
        ++m_number;
        std::istringstream stream(line);
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
        {
            words.push_back(std::move(word));
        }
        if (words.empty() || words[0][0] == '#')
        {
            continue;
        }
        if (words[0].find("->") != std::string::npos)
        {
            fine = ReadFlow(words);
        }
        else if (words[0] == "trigger")
        {
            fine = ReadTrigger(words);
        }
        else if (words[0] == "Nodes" || words[0] == "Connections" || words[0] == "Triggers" ||
                 words[0] == "Failures")
        {
            fine = ReadCount(words);
        }
        else
        {
            fine = FailOn(words[0], "a flow (0->5), trigger, Nodes, Connections or Triggers");
        }
    }
    if (fine && !Check())
    {
        fine = false;
    }
    if (!fine)
    {
        m_matrix.flows.clear();
    }
    return std::move(m_matrix);
}

} // namespace

bool
IsHtsimMatrix(const std::string& text)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
    {
        std::istringstream stream(line);
        std::string word;
        if (stream >> word && word[0] != '#')
        {
            return word == "Nodes" || word == "Connections";
        }
    }
    return false;
}

HtsimMatrix
ReadHtsimMatrix(const std::string& text, const std::string& origin)
{
    return Reader(origin).Read(text);
}

std::string
WriteHtsimMatrix(const HtsimMatrix& matrix)
{
    std::string out = "Nodes " + std::to_string(matrix.nodes) + "\nConnections " +
                      std::to_string(matrix.flows.size()) + "\n";
    if (!matrix.triggers.empty())
    {
        out += "Triggers " + std::to_string(matrix.triggers.size()) + "\n";
    }
    const auto word = [&out](const char* name, uint64_t value) {
        out += value > 0 ? std::string(" ") + name + " " + std::to_string(value) : "";
    };
    for (const HtsimFlow& flow : matrix.flows)
    {
        out += std::to_string(flow.src) + "->" + std::to_string(flow.dst);
        word("id", flow.id);
        out += flow.message ? " msg" : "";
        out += flow.message.value_or(0) > 0 ? " " + std::to_string(*flow.message) : "";
        out += flow.trigger > 0 ? " trigger " + std::to_string(flow.trigger)
                                : " start " + std::to_string(flow.start.ps);
        word("size", flow.bytes);
        word("send_done_trigger", flow.sendDone);
        word("recv_done_trigger", flow.recvDone);
        out += "\n";
    }
    for (const auto& [id, trigger] : matrix.triggers)
    {
        const bool barrier = trigger.kind == HtsimTrigger::Kind::kBarrier;
        out += "trigger id " + std::to_string(id) +
               (barrier                                          ? " barrier"
                : trigger.kind == HtsimTrigger::Kind::kMultiShot ? " multishot"
                                                                 : " oneshot");
        word("count", trigger.count);
        out += "\n";
    }
    return out;
}

} // namespace scenario
