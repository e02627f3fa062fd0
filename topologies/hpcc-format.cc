/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/hpcc-format.h"

#include "contrib/rdma/core/unit-strings.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace topo
{

namespace
{

bool
IsSpace(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

struct Token
{
    std::string_view text; ///< empty at the end of the file
    uint32_t line = 1;
};

/// The words of the text one after the other, with their lines.
class Words
{
  public:
    explicit Words(std::string_view text)
        : m_text(text)
    {
        // A byte order mark, as Windows editors write it.
        if (m_text.substr(0, 3) == "\xEF\xBB\xBF")
        {
            m_text.remove_prefix(3);
        }
    }

    Token Next()
    {
        while (m_at < m_text.size() && IsSpace(m_text[m_at]))
        {
            m_line += m_text[m_at] == '\n';
            ++m_at;
        }
        const size_t begin = m_at;
        while (m_at < m_text.size() && !IsSpace(m_text[m_at]))
        {
            ++m_at;
        }
        return {m_text.substr(begin, m_at - begin), m_line};
    }

  private:
    std::string_view m_text;
    size_t m_at = 0;
    uint32_t m_line = 1;
};

/// A whole number of digits only, at most `most`.
std::optional<uint64_t>
ParseNumber(std::string_view text, uint64_t most)
{
    if (text.empty())
    {
        return std::nullopt;
    }
    uint64_t value = 0;
    for (const char c : text)
    {
        if (c < '0' || c > '9' || value > most)
        {
            return std::nullopt;
        }
        value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    return value <= most ? std::optional<uint64_t>(value) : std::nullopt;
}

/// Reads one file; stops at the first error, since one wrong word shifts all that follow.
class HpccReader
{
  public:
    HpccReader(const std::string& text, const std::string& name)
        : m_words(text),
          m_text(text),
          m_name(name)
    {
    }

    TopologyResult Read()
    {
        Topology t;
        if (ReadAll(t))
        {
            m_result.topology = std::move(t);
        }
        return std::move(m_result);
    }

  private:
    bool ReadAll(Topology& t);
    bool ReadHeader(uint64_t& nodes, uint64_t& switches, uint64_t& links);

    bool Fail(const Token& at, const std::string& message)
    {
        const bool atEnd = at.text.empty();
        m_result.errors.push_back({m_name + ":" + std::to_string(at.line),
                                   atEnd ? "the file" : Quoted(std::string(at.text)),
                                   (atEnd ? "ends where there should be " : "is not ") + message,
                                   ""});
        return false;
    }

    bool Number(const char* what, uint64_t most, uint64_t& value)
    {
        const Token token = m_words.Next();
        const auto number = ParseNumber(token.text, most);
        if (!number)
        {
            return Fail(token,
                        std::string(what) + " (a whole number from 0 to " + std::to_string(most) +
                            ")");
        }
        value = *number;
        return true;
    }

    Words m_words;
    const std::string& m_text;
    const std::string& m_name;
    TopologyResult m_result;
};

bool
HpccReader::ReadHeader(uint64_t& nodes, uint64_t& switches, uint64_t& links)
{
    // The relatives of this format differ in the first line, and would otherwise fail at some odd
    // place.
    Words words(m_text);
    const Token first = words.Next();
    uint32_t onFirstLine = first.text.empty() ? 0 : 1;
    for (Token t = words.Next(); !t.text.empty() && t.line == first.line; t = words.Next())
    {
        ++onFirstLine;
        if (onFirstLine == 6 && !ParseNumber(t.text, UINT32_MAX))
        {
            m_result.errors.push_back(
                {m_name + ":" + std::to_string(first.line),
                 "",
                 "this looks like a SimAI topology (nodes, GPUs per server, NVSwitches, switches, "
                 "links, GPU type), which cannot be read yet; expected 'nodes switches links'",
                 ""});
            return false;
        }
    }
    return Number("the number of nodes", detail::kMostNodes, nodes) &&
           Number("the number of switches", nodes, switches) &&
           Number("the number of links", detail::kMostLinks, links);
}

bool
HpccReader::ReadAll(Topology& t)
{
    uint64_t nodes = 0;
    uint64_t switches = 0;
    uint64_t links = 0;
    if (!ReadHeader(nodes, switches, links))
    {
        return false;
    }
    const auto idText = "id (0 to " + std::to_string(nodes == 0 ? 0 : nodes - 1) + ")";
    std::vector<bool> isSwitch(nodes, false);
    for (uint64_t i = 0; i < switches; ++i)
    {
        const Token token = m_words.Next();
        const auto id = ParseNumber(token.text, nodes - 1);
        if (!id)
        {
            return Fail(token,
                        "a switch " + idText + ", " + std::to_string(i + 1) + " of " +
                            std::to_string(switches));
        }
        if (isSwitch[*id])
        {
            m_result.errors.push_back({m_name + ":" + std::to_string(token.line),
                                       Quoted(std::string(token.text)),
                                       "is in the list of switches twice",
                                       ""});
            return false;
        }
        isSwitch[*id] = true;
    }

    struct ReadLink
    {
        NodeId a;
        NodeId b;
        rdma::BitRate rate;
        rdma::Duration delay;
        double bitErrorRate;
    };

    std::vector<ReadLink> read;
    std::vector<uint32_t> degree(nodes, 0);
    double largestLoss = 0;
    for (uint64_t i = 0; i < links; ++i)
    {
        const std::string which =
            ", of link " + std::to_string(i + 1) + " of " + std::to_string(links);
        ReadLink link{};
        Token token;
        uint64_t ends[2] = {0, 0};
        for (int e = 0; e < 2; ++e)
        {
            token = m_words.Next();
            const auto id = nodes == 0 ? std::nullopt : ParseNumber(token.text, nodes - 1);
            if (!id)
            {
                return Fail(token,
                            std::string(e == 0 ? "a source " : "a destination ") + idText + which);
            }
            ends[e] = *id;
        }
        if (ends[0] == ends[1])
        {
            return Fail(token, "another node than the source" + which);
        }
        link.a = static_cast<NodeId>(ends[0]);
        link.b = static_cast<NodeId>(ends[1]);
        for (const NodeId end : {link.a, link.b})
        {
            if (++degree[end] > 65535)
            {
                m_result.errors.push_back({m_name + ":" + std::to_string(token.line),
                                           std::to_string(end),
                                           "has more than 65535 links",
                                           ""});
                return false;
            }
        }
        token = m_words.Next();
        const auto rate = rdma::ParseBitRate(token.text);
        if (!rate || *rate < kSlowestLink || *rate > kFastestLink)
        {
            return Fail(token, std::string(rdma::kBitRateHelp) + ", " + RateLimitsText() + which);
        }
        link.rate = *rate;
        token = m_words.Next();
        const auto delay = rdma::ParseDuration(token.text);
        if (!delay || *delay > kLongestDelay)
        {
            return Fail(token,
                        std::string(rdma::kDurationHelp) + ", at most " + kLongestDelayText +
                            which);
        }
        link.delay = *delay;
        token = m_words.Next();
        const std::string copy(token.text);
        char* end = nullptr;
        const double loss = std::strtod(copy.c_str(), &end);
        const bool startsLikeNumber =
            !copy.empty() && (std::isdigit(static_cast<unsigned char>(copy[0])) || copy[0] == '.');
        if (!startsLikeNumber || *end != '\0' || end != copy.c_str() + copy.size() ||
            !(loss >= 0 && loss < 1))
        {
            return Fail(token, "an error rate (at least 0, below 1)" + which);
        }
        constexpr double kPacketBits = 8 * 1048;
        link.bitErrorRate = -std::expm1(std::log1p(-loss) / kPacketBits);
        if (link.bitErrorRate > kMostBitErrors)
        {
            return Fail(token, "an error rate that lets some packets through" + which);
        }
        largestLoss = std::max(largestLoss, loss);
        read.push_back(link);
    }
    const Token rest = m_words.Next();
    if (!rest.text.empty() && ParseNumber(rest.text, UINT64_MAX / 10 - 1))
    {
        return Fail(rest,
                    "the end of the file: the first line announces " + std::to_string(links) +
                        " links, and they have been read");
    }
    if (!rest.text.empty())
    {
        m_result.notes.push_back(m_name + ":" + std::to_string(rest.line) +
                                 ": text after the last link ignored");
    }
    if (largestLoss > 0)
    {
        char text[160];
        std::snprintf(text,
                      sizeof text,
                      ": error rates are per packet (largest %g); taken as bit errors at which a "
                      "packet of 1048 B has that loss",
                      largestLoss);
        m_result.notes.push_back(m_name + text);
    }

    // Tiers: breadth first from the hosts.
    constexpr uint8_t kUnknown = 255;
    std::vector<std::vector<NodeId>> neighbours(nodes);
    for (const ReadLink& link : read)
    {
        neighbours[link.a].push_back(link.b);
        neighbours[link.b].push_back(link.a);
    }
    std::vector<uint8_t> tier(nodes, kUnknown);
    std::vector<NodeId> queue;
    for (NodeId n = 0; n < nodes; ++n)
    {
        if (!isSwitch[n])
        {
            tier[n] = 0;
            queue.push_back(n);
        }
    }
    for (size_t i = 0; i < queue.size(); ++i)
    {
        for (const NodeId peer : neighbours[queue[i]])
        {
            if (tier[peer] == kUnknown)
            {
                tier[peer] = static_cast<uint8_t>(std::min(tier[queue[i]] + 1, 254));
                queue.push_back(peer);
            }
        }
    }

    for (NodeId n = 0; n < nodes; ++n)
    {
        if (isSwitch[n])
        {
            t.AddSwitch("switch-" + std::to_string(n), tier[n] == kUnknown ? 0 : tier[n]);
        }
        else
        {
            t.AddHost("server-" + std::to_string(n));
        }
    }
    for (const ReadLink& link : read)
    {
        t.Connect(link.a, link.b, link.rate, link.delay, link.bitErrorRate);
    }
    return true;
}

} // namespace

TopologyResult
ReadHpccTopology(const std::string& text, const std::string& name)
{
    return HpccReader(text, name).Read();
}

namespace
{

TopologyResult
Make(const TopologyRequest& r)
{
    TopologyResult result = detail::MakeFromFile(r, ReadHpccTopology);
    if (result.topology)
    {
        Description about;
        about.numberedNodes = true;
        result.topology->Describe(std::move(about));
    }
    return result;
}

Family
Hpcc()
{
    Family f("hpcc", "any network, from a topology file of HPCC's ns-3 code and its descendants");
    f.file = "a topology file of HPCC's ns-3 code";
    f.make = Make;
    return f;
}

const RegisteredFamily g_hpcc(Hpcc());

} // namespace

} // namespace topo
