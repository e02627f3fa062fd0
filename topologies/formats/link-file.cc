/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/link-file.h"

#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace topo
{

namespace
{

bool
IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/// A byte order mark, as Windows editors write it.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

} // namespace

FileWords::FileWords(std::string_view text)
    : m_text(text)
{
    if (m_text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    {
        m_text.remove_prefix(kByteOrderMark.size());
    }
}

FileWord
FileWords::Next()
{
    while (m_at < m_text.size() && IsBlank(m_text[m_at]))
    {
        m_line += m_text[m_at] == '\n';
        ++m_at;
    }
    const size_t begin = m_at;
    while (m_at < m_text.size() && !IsBlank(m_text[m_at]))
    {
        ++m_at;
    }
    return {m_text.substr(begin, m_at - begin), m_line};
}

std::vector<std::string>
FirstWords(const std::string& path)
{
    std::vector<std::string> words;
    if (!rdma::IsReadable(path))
    {
        return words; // whoever reads it says so
    }
    std::string text(4096, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0)
    {
        text.erase(0, kByteOrderMark.size());
    }
    std::istringstream lines(text);
    for (std::string line; words.empty() && std::getline(lines, line);)
    {
        std::istringstream stream(line);
        for (std::string word; stream >> word && (!words.empty() || word[0] != '#');)
        {
            words.push_back(word);
        }
    }
    return words;
}

std::optional<uint64_t>
ParseWhole(std::string_view text, uint64_t most)
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

LinkFileReader::LinkFileReader(const std::string& text, const std::string& name)
    : m_words(text),
      m_name(name)
{
}

bool
LinkFileReader::FailAt(uint32_t line, const std::string& value, const std::string& problem)
{
    m_result.errors.push_back({m_name + ":" + std::to_string(line), value, problem, ""});
    return false;
}

bool
LinkFileReader::Fail(const FileWord& at, const std::string& message)
{
    const bool atEnd = at.text.empty();
    return FailAt(at.line,
                  atEnd ? "the file" : Quoted(std::string(at.text)),
                  (atEnd ? "ends where there should be " : "is not ") + message);
}

bool
LinkFileReader::Number(const char* what, uint64_t most, uint64_t& value)
{
    const FileWord word = m_words.Next();
    const auto number = ParseWhole(word.text, most);
    if (!number)
    {
        return Fail(word,
                    std::string(what) + " (a whole number from 0 to " + std::to_string(most) + ")");
    }
    value = *number;
    return true;
}

namespace
{

/// "id (0 to 14)"
std::string
IdText(uint64_t nodes)
{
    return "id (0 to " + std::to_string(nodes == 0 ? 0 : nodes - 1) + ")";
}

/// As ns3::DataRate reads it: a number without a unit is bit/s.
std::optional<rdma::BitRate>
ParseRate(std::string_view text)
{
    if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    {
        return rdma::ParseBitRate(text);
    }
    const std::string copy(text);
    char* end = nullptr;
    const double bps = std::strtod(copy.c_str(), &end);
    return *end == '\0' && bps < 1e18
               ? std::optional(rdma::BitRate(static_cast<uint64_t>(std::llround(bps))))
               : std::nullopt;
}

} // namespace

bool
LinkFileReader::ReadIds(const char* what, uint64_t count, std::vector<bool>& isListed)
{
    for (uint64_t i = 0; i < count; ++i)
    {
        const FileWord word = m_words.Next();
        const auto id =
            isListed.empty() ? std::nullopt : ParseWhole(word.text, isListed.size() - 1);
        if (!id)
        {
            return Fail(word,
                        std::string("a ") + what + " " + IdText(isListed.size()) + ", " +
                            std::to_string(i + 1) + " of " + std::to_string(count));
        }
        if (isListed[*id])
        {
            return FailAt(word.line,
                          Quoted(std::string(word.text)),
                          "is in the list of switches twice");
        }
        isListed[*id] = true;
    }
    return true;
}

bool
LinkFileReader::ReadLinks(uint64_t nodes, uint64_t links, std::vector<FileLink>& read)
{
    std::vector<uint32_t> degree(nodes, 0);
    for (uint64_t i = 0; i < links; ++i)
    {
        const std::string which =
            ", of link " + std::to_string(i + 1) + " of " + std::to_string(links);
        FileLink link;
        FileWord word;
        uint64_t ends[2] = {0, 0};
        for (int e = 0; e < 2; ++e)
        {
            word = m_words.Next();
            const auto id = nodes == 0 ? std::nullopt : ParseWhole(word.text, nodes - 1);
            if (!id)
            {
                return Fail(word,
                            std::string(e == 0 ? "a source " : "a destination ") + IdText(nodes) +
                                which);
            }
            ends[e] = *id;
        }
        if (ends[0] == ends[1])
        {
            return Fail(word, "another node than the source" + which);
        }
        link.a = static_cast<NodeId>(ends[0]);
        link.b = static_cast<NodeId>(ends[1]);
        link.line = word.line;
        for (const NodeId end : {link.a, link.b})
        {
            if (++degree[end] > 65535)
            {
                return FailAt(word.line, std::to_string(end), "has more than 65535 links");
            }
        }
        word = m_words.Next();
        const auto rate = ParseRate(word.text);
        if (!rate || *rate < kSlowestLink || *rate > kFastestLink)
        {
            return Fail(word, std::string(rdma::kBitRateHelp) + ", " + RateLimitsText() + which);
        }
        link.rate = *rate;
        word = m_words.Next();
        const auto delay = rdma::ParseDuration(word.text);
        if (!delay || *delay > kLongestDelay)
        {
            return Fail(word,
                        std::string(rdma::kDurationHelp) + ", at most " + kLongestDelayText +
                            which);
        }
        link.delay = *delay;
        word = m_words.Next();
        const std::string copy(word.text);
        char* end = nullptr;
        const double loss = std::strtod(copy.c_str(), &end);
        const bool startsLikeNumber =
            !copy.empty() && (std::isdigit(static_cast<unsigned char>(copy[0])) || copy[0] == '.');
        if (!startsLikeNumber || *end != '\0' || end != copy.c_str() + copy.size() ||
            !(loss >= 0 && loss < 1))
        {
            return Fail(word, "an error rate (at least 0, below 1)" + which);
        }
        constexpr double kPacketBits = 8 * 1048;
        link.bitErrorRate = -std::expm1(std::log1p(-loss) / kPacketBits);
        if (link.bitErrorRate > kMostBitErrors)
        {
            return Fail(word, "an error rate that lets some packets through" + which);
        }
        link.loss = loss;
        read.push_back(link);
    }
    const FileWord rest = m_words.Next();
    if (!rest.text.empty())
    {
        const bool isLink = ParseWhole(rest.text, UINT64_MAX / 10 - 1).has_value();
        m_result.notes.push_back(m_name + ":" + std::to_string(rest.line) + ": " +
                                 (isLink ? "the first line announces " + Counted(links, "link") +
                                               "; lines behind " + (links == 1 ? "it" : "these") +
                                               " are ignored"
                                         : "text after the last link ignored"));
    }
    return true;
}

void
LinkFileReader::NoteLosses(const std::vector<const std::vector<FileLink>*>& of)
{
    double largest = 0;
    for (const auto* links : of)
    {
        for (const FileLink& link : *links)
        {
            largest = std::max(largest, link.loss);
        }
    }
    if (largest > 0)
    {
        char text[160];
        std::snprintf(text,
                      sizeof text,
                      ": error rates are per packet (largest %g); taken as bit errors at which a "
                      "packet of 1048 B has that loss",
                      largest);
        m_result.notes.push_back(m_name + text);
    }
}

std::vector<uint8_t>
TiersFromHosts(const std::vector<bool>& isHost, const std::vector<FileLink>& links)
{
    constexpr uint8_t kUnknown = 255;
    const size_t nodes = isHost.size();
    std::vector<std::vector<NodeId>> neighbours(nodes);
    for (const FileLink& link : links)
    {
        neighbours[link.a].push_back(link.b);
        neighbours[link.b].push_back(link.a);
    }
    std::vector<uint8_t> tier(nodes, kUnknown);
    std::vector<NodeId> queue;
    for (NodeId n = 0; n < nodes; ++n)
    {
        if (isHost[n])
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
    std::replace(tier.begin(), tier.end(), kUnknown, uint8_t{0});
    return tier;
}

} // namespace topo
