/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/name-rule.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/formats/input-file.h"

#include <cctype>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace formats
{

using training::TaskKind;

namespace
{

class GoalParser
{
  public:
    GoalParser(const std::string& text, std::string file, std::vector<topo::Error>& errors)
        : m_text(text),
          m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::optional<Recording> Read();

  private:
    /// A word, number, or sign; nothing at the end of a line.
    std::string_view Token();
    std::string_view Peek();
    bool SkipRemarks();

    bool Fail(const std::string& problem)
    {
        if (m_failed)
        {
            return false;
        }
        m_failed = true;
        AddError(m_errors, m_file + ":" + std::to_string(m_line), "", problem);
        return false;
    }

    bool FailOn(std::string_view token, const std::string& expected)
    {
        return Fail(
            (token.empty() ? std::string("the line ends") : topo::Quoted(std::string(token))) +
            " where there should be " + expected);
    }

    bool Number(uint64_t most, const char* what, uint64_t* value);
    bool Word(const char* word);
    bool EndLine();
    bool ReadRank();
    bool ReadStatement(std::string_view first);
    bool ReadOperation(std::string_view what, Event* event);
    bool ReadMessage(bool sends, Event* event);
    bool ReadPlaces(bool message, Event* event, uint64_t* cpu);
    bool ReadDependency(std::string_view label, std::string_view how);
    bool ResolveStarts();

    const std::string& m_text;
    const std::string m_file;
    std::vector<topo::Error>& m_errors;
    std::size_t m_at = 0;
    uint64_t m_line = 1;
    bool m_failed = false;
    Recording m_recording;
    std::vector<bool> m_seen; ///< ranks
    // State of the rank:
    std::vector<Event>* m_events = nullptr;
    std::unordered_map<std::string, uint32_t> m_labels;
    std::vector<std::pair<uint32_t, uint32_t>> m_starts; ///< irequires: event, the other
    std::vector<uint64_t> m_startLines;
    bool m_anyStart = false;
    bool m_anyNic = false;
};

bool
IsWordPart(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool
IsLabel(std::string_view token)
{
    return !token.empty() && std::isalpha(static_cast<unsigned char>(token[0]));
}

bool
GoalParser::SkipRemarks()
{
    while (m_at < m_text.size())
    {
        const char c = m_text[m_at];
        if (c == ' ' || c == '\t' ||
            (c == '\r' && m_at + 1 < m_text.size() && m_text[m_at + 1] == '\n'))
        {
            ++m_at;
        }
        else if (m_text.compare(m_at, 2, "//") == 0)
        {
            while (m_at < m_text.size() && m_text[m_at] != '\n')
            {
                ++m_at;
            }
        }
        else if (m_text.compare(m_at, 2, "/*") == 0)
        {
            const uint64_t line = m_line;
            const std::size_t end = m_text.find("*/", m_at + 2);
            if (end == std::string::npos)
            {
                m_at = m_text.size();
                m_line = line;
                return Fail("a remark that begins here has no end");
            }
            for (; m_at < end + 2; ++m_at)
            {
                m_line += m_text[m_at] == '\n';
            }
        }
        else
        {
            break;
        }
    }
    return true;
}

std::string_view
GoalParser::Peek()
{
    if (!SkipRemarks() || m_at == m_text.size() || m_text[m_at] == '\n')
    {
        return {};
    }
    std::size_t end = m_at + 1;
    if (IsWordPart(m_text[m_at]) || m_text[m_at] == '-')
    {
        while (end < m_text.size() && IsWordPart(m_text[end]))
        {
            ++end;
        }
    }
    return std::string_view(m_text).substr(m_at, end - m_at);
}

std::string_view
GoalParser::Token()
{
    const std::string_view token = Peek();
    m_at += token.size();
    return token;
}

bool
GoalParser::Number(uint64_t most, const char* what, uint64_t* value)
{
    const std::string_view token = Token();
    const auto [end, bad] = std::from_chars(token.data(), token.data() + token.size(), *value);
    if (token.empty() || bad == std::errc::invalid_argument ||
        (bad == std::errc() && end != token.data() + token.size()))
    {
        return FailOn(token, std::string(what) + ", 0 to " + std::to_string(most));
    }
    if (bad != std::errc() || *value > most)
    {
        return FailOn(token, std::string(what) + ", 0 to " + std::to_string(most));
    }
    return true;
}

bool
GoalParser::Word(const char* word)
{
    const std::string_view token = Token();
    return token == word || FailOn(token, std::string("\"") + word + "\"");
}

bool
GoalParser::EndLine()
{
    const std::string_view token = Peek();
    return token.empty() || token == "}" ? !m_failed : FailOn(token, "the end of the line");
}

bool
GoalParser::ReadPlaces(bool message, Event* event, uint64_t* cpu)
{
    // In this order, each or not.
    if (message && Peek() == "tag")
    {
        Token();
        if (Peek() == "-1")
        {
            return Fail("a message of any tag (tag -1); allowed: a number");
        }
        if (!Number(UINT32_MAX, "a tag", &event->tag))
        {
            return false;
        }
    }
    if (Peek() == "cpu")
    {
        Token();
        if (!Number(UINT8_MAX, "a cpu", cpu))
        {
            return false;
        }
    }
    if (message && Peek() == "nic")
    {
        Token();
        uint64_t nic = 0;
        if (!Number(UINT8_MAX, "a nic", &nic))
        {
            return false;
        }
        m_anyNic = m_anyNic || nic > 0;
    }
    return EndLine();
}

bool
GoalParser::ReadMessage(bool sends, Event* event)
{
    // "64b": one word.
    const std::string_view size = Token();
    const char* const end = size.data() + size.size();
    const auto [rest, bad] = std::from_chars(size.data(), end, event->bytes);
    if (bad != std::errc() || rest + 1 != end || *rest != 'b' || event->bytes > kMostBytes)
    {
        return FailOn(size, "a size as 64b, at most 2^50 bytes");
    }
    if (!Word(sends ? "to" : "from"))
    {
        return false;
    }
    if (!sends && Peek() == "-1")
    {
        return Fail("a message from any rank (from -1); allowed: a rank");
    }
    uint64_t peer = 0;
    uint64_t cpu = 0;
    if (!Number(m_recording.ranks.size() - 1, "a rank", &peer))
    {
        return false;
    }
    event->kind = sends ? TaskKind::kSend : TaskKind::kRecv;
    event->peer = static_cast<coll::Rank>(peer);
    if (event->peer == m_events - m_recording.ranks.data())
    {
        return Fail("a message of rank " + std::to_string(peer) + " to itself; allowed: to others");
    }
    return ReadPlaces(true, event, &cpu);
}

bool
GoalParser::ReadOperation(std::string_view what, Event* event)
{
    if (what == "send" || what == "recv")
    {
        return ReadMessage(what == "send", event);
    }
    uint64_t ns = 0;
    uint64_t cpu = 0;
    if (!Number(kLongestPs / 1000, "a time in ns", &ns) || !ReadPlaces(false, event, &cpu))
    {
        return false;
    }
    event->kind = cpu == 0 ? TaskKind::kCompute : TaskKind::kHost;
    event->thread = cpu == 0 ? 0 : static_cast<uint32_t>(cpu - 1);
    event->duration = rdma::Duration(static_cast<int64_t>(ns) * 1000);
    event->nothing = ns == 0;
    return true;
}

bool
GoalParser::ReadDependency(std::string_view label, std::string_view how)
{
    const std::string_view other = Token();
    if (!IsLabel(other))
    {
        return FailOn(other, "a label");
    }
    const auto event = m_labels.find(std::string(label));
    const auto before = m_labels.find(std::string(other));
    for (const auto& [found, name] : {std::pair(event, label), std::pair(before, other)})
    {
        if (found == m_labels.end())
        {
            return Fail("the label " + topo::Quoted(std::string(name)) +
                        " has not been given to an operation of this rank above");
        }
    }
    if (how == "requires")
    {
        (*m_events)[event->second].after.push_back(before->second);
    }
    else
    {
        m_starts.emplace_back(event->second, before->second);
        m_startLines.push_back(m_line);
    }
    return EndLine();
}

bool
GoalParser::ReadStatement(std::string_view first)
{
    const bool operation = first == "calc" || first == "send" || first == "recv";
    std::string_view what = first;
    std::string_view label;
    if (!operation)
    {
        if (!IsLabel(first))
        {
            return FailOn(first, "an operation (calc, send, recv), a label or \"}\"");
        }
        label = first;
        const std::string_view next = Token();
        if (next == "requires" || next == "irequires")
        {
            return ReadDependency(label, next);
        }
        if (next != ":")
        {
            return FailOn(next, "\":\", \"requires\" or \"irequires\"");
        }
        what = Token();
        if (what != "calc" && what != "send" && what != "recv")
        {
            return FailOn(what, "an operation: calc, send or recv");
        }
    }
    if (!rdma::IsName(label))
    {
        return FailOn(label, std::string("a label: ") + rdma::kNameHelp);
    }
    Event event;
    if (!ReadOperation(what, &event))
    {
        return false;
    }
    const auto number = static_cast<uint32_t>(m_events->size());
    if (!label.empty() && !m_labels.emplace(label, number).second)
    {
        return Fail("the label " + topo::Quoted(std::string(label)) +
                    " has been given to an operation of this rank above");
    }
    event.name = std::string(what) + (label.empty() ? "" : " " + std::string(label));
    m_events->push_back(std::move(event));
    return true;
}

bool
GoalParser::ResolveStarts()
{
    // A statement that begins with another has the dependencies of that one, which may itself begin
    // with another.
    m_anyStart = m_anyStart || !m_starts.empty();
    std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, uint64_t>>> of; // other, its line
    for (std::size_t i = 0; i < m_starts.size(); ++i)
    {
        of[m_starts[i].first].emplace_back(m_starts[i].second, m_startLines[i]);
    }
    std::unordered_map<uint32_t, bool> done; // false: under way
    for (const auto& [event, other] : m_starts)
    {
        // Depth first, without recursion: chains may be long.
        std::vector<std::pair<uint32_t, std::size_t>> path = {{event, 0}};
        if (done.count(event))
        {
            continue;
        }
        done[event] = false;
        while (!path.empty())
        {
            auto& [at, next] = path.back();
            const auto found = of.find(at);
            if (found == of.end() || next == found->second.size())
            {
                done[at] = true;
                path.pop_back();
                continue;
            }
            const auto [before, line] = found->second[next];
            const auto state = done.find(before);
            if (state != done.end() && !state->second)
            {
                m_line = line;
                return Fail("this \"irequires\" closes a circle");
            }
            if (state == done.end())
            {
                done[before] = false;
                path.emplace_back(before, 0);
                continue;
            }
            const auto& its = (*m_events)[before].after;
            auto& after = (*m_events)[at].after;
            after.insert(after.end(), its.begin(), its.end());
            ++next;
        }
    }
    m_starts.clear();
    m_startLines.clear();
    return true;
}

bool
GoalParser::ReadRank()
{
    uint64_t rank = 0;
    if (m_recording.ranks.empty())
    {
        return Fail("a rank before \"num_ranks\", which says how many there are");
    }
    if (!Number(m_recording.ranks.size() - 1, "a rank", &rank))
    {
        return false;
    }
    if (m_seen[rank])
    {
        return Fail("rank " + std::to_string(rank) + " a second time; allowed: once");
    }
    m_seen[rank] = true;
    m_events = &m_recording.ranks[rank];
    m_labels.clear();
    if (!Word("{"))
    {
        return false;
    }
    const uint64_t begin = m_line;
    while (!m_failed)
    {
        const std::string_view token = Token();
        if (token == "}")
        {
            return ResolveStarts();
        }
        if (token.empty())
        {
            if (m_at == m_text.size())
            {
                return Fail("rank " + std::to_string(rank) + ", which begins in line " +
                            std::to_string(begin) + ", has no \"}\"");
            }
            ++m_at;
            ++m_line;
            continue;
        }
        ReadStatement(token);
    }
    return false;
}

std::optional<Recording>
GoalParser::Read()
{
    m_recording.format = "GOAL";
    while (!m_failed)
    {
        const std::string_view token = Token();
        if (token.empty())
        {
            if (m_at == m_text.size())
            {
                break;
            }
            ++m_at;
            ++m_line;
        }
        else if (token == "num_ranks")
        {
            uint64_t ranks = 0;
            if (!m_recording.ranks.empty())
            {
                Fail("\"num_ranks\" a second time; allowed: once");
            }
            else if (Number(kMostRanks, "a number of ranks", &ranks) && ranks == 0)
            {
                Fail("no ranks; allowed: 1 to " + std::to_string(kMostRanks));
            }
            else if (!m_failed)
            {
                m_recording.ranks.resize(ranks);
                m_seen.resize(ranks);
            }
        }
        else if (token == "rank")
        {
            ReadRank();
        }
        else
        {
            FailOn(token, "\"num_ranks\" or \"rank\"");
        }
    }
    if (!m_failed && m_recording.ranks.empty())
    {
        Fail("there is no \"num_ranks\"");
    }
    if (m_failed)
    {
        return std::nullopt;
    }
    if (m_anyStart)
    {
        m_recording.notes.push_back(
            "what begins with another (irequires) waits for what that one waits for");
    }
    if (m_anyNic)
    {
        m_recording.notes.push_back("\"nic\" says nothing here: messages leave by their GPU's NIC");
    }
    return std::move(m_recording);
}

} // namespace

std::optional<Recording>
ReadGoal(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    return GoalParser(text, file, errors).Read();
}

} // namespace formats
