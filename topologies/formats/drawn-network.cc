/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/drawn-network.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/formats/link-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace topo
{

namespace
{

/// An attribute's key, and the unit that its value lacks.
struct DrawnKey
{
    const char* key;
    const char* unit;
};

constexpr DrawnKey kRateKeys[] = {
    {"rate", ""},
    {"bandwidth", ""},
    {"capacity", ""},
    {"speed", ""},
    {"rate_gbps", "Gbps"},
    {"bandwidth_gbps", "Gbps"},
};

constexpr DrawnKey kDelayKeys[] = {
    {"delay", ""},
    {"latency", ""},
    {"delay_ns", "ns"},
    {"delay_us", "us"},
    {"latency_ns", "ns"},
    {"latency_us", "us"},
};

constexpr DrawnKey kKindKeys[] = {{"kind", ""}, {"type", ""}, {"role", ""}};

const std::vector<std::string>&
HostWords()
{
    static const std::vector<std::string> words = {"host", "server", "gpu", "npu", "compute"};
    return words;
}

const std::vector<std::string>&
SwitchWords()
{
    static const std::vector<std::string> words =
        {"switch", "router", "leaf", "spine", "core", "tor", "aggregation", "edge"};
    return words;
}

bool
IsOneOf(const std::string& text, const std::vector<std::string>& words)
{
    return std::find(words.begin(), words.end(), LowerCase(text)) != words.end();
}

/// The value of the first of these keys, with its unit.
template <std::size_t N>
std::optional<std::string>
ValueOf(const DrawnAttributes& attributes, const DrawnKey (&keys)[N])
{
    for (const DrawnKey& key : keys)
    {
        const auto found = attributes.find(key.key);
        if (found != attributes.end() && !found->second.empty())
        {
            return found->second + key.unit;
        }
    }
    return std::nullopt;
}

/// The words of its kind; else those of its shape in DOT: boxes are switches.
std::optional<std::string>
KindOfNode(const DrawnAttributes& attributes)
{
    static const std::vector<std::string> boxes = {"box", "rect", "rectangle", "square", "box3d"};
    auto kind = ValueOf(attributes, kKindKeys);
    const auto shape = attributes.find("shape");
    return kind || shape == attributes.end() ? kind
           : IsOneOf(shape->second, boxes)   ? "switch"
                                             : "host";
}

class DrawnMaker
{
  public:
    DrawnMaker(const Drawing& drawing, const std::string& file, rdma::Duration delay)
        : m_drawing(drawing),
          m_file(file),
          m_delay(delay)
    {
    }

    TopologyResult Make()
    {
        Topology t;
        if (ReadLinks() && ReadKinds() && ReadNames())
        {
            Build(&t);
            m_result.topology = std::move(t);
        }
        return std::move(m_result);
    }

  private:
    bool Fail(uint32_t line, const std::string& value, const std::string& problem)
    {
        m_result.errors.push_back({m_file + ":" + std::to_string(line), value, problem, ""});
        return false;
    }

    std::string Shown(uint32_t node) const
    {
        return Quoted(m_drawing.nodes[node].id);
    }

    bool ReadLink(const DrawnEdge& edge)
    {
        const std::string ends = "the link from " + Shown(edge.from) + " to " + Shown(edge.to);
        FileLink link;
        link.a = edge.from;
        link.b = edge.to;
        link.line = edge.line;
        link.delay = m_delay;
        if (edge.from == edge.to)
        {
            return Fail(edge.line, "", "node " + Shown(edge.from) + " is linked with itself");
        }
        const auto rateText = ValueOf(edge.attributes, kRateKeys);
        const auto rate = rateText ? rdma::ParseBitRate(*rateText) : std::nullopt;
        if (!rate || *rate < kSlowestLink || *rate > kFastestLink)
        {
            return Fail(edge.line,
                        rateText ? Quoted(*rateText) : "",
                        (rateText ? "is no rate of " + ends : ends + " has no rate") +
                            "; allowed: an attribute rate=\"400Gbps\" (or bandwidth, capacity, "
                            "speed), " +
                            RateLimitsText());
        }
        link.rate = *rate;
        if (const auto text = ValueOf(edge.attributes, kDelayKeys))
        {
            const auto delay = rdma::ParseDuration(*text);
            if (!delay || delay->ps < 0 || *delay > kLongestDelay)
            {
                return Fail(edge.line,
                            Quoted(*text),
                            "is no delay of " + ends +
                                "; allowed: an attribute delay=\"1us\" (or latency), 0 to " +
                                kLongestDelayText);
            }
            link.delay = *delay;
        }
        else
        {
            ++m_withoutDelay;
        }
        m_links.push_back(link);
        return true;
    }

    bool ReadLinks()
    {
        std::map<std::pair<uint32_t, uint32_t>, std::vector<std::size_t>> open; // directed
        for (const DrawnEdge& edge : m_drawing.edges)
        {
            if (!ReadLink(edge))
            {
                return false;
            }
            if (!m_drawing.directed)
            {
                continue;
            }
            const auto back = open.find({edge.to, edge.from});
            if (back == open.end() || back->second.empty())
            {
                open[{edge.from, edge.to}].push_back(m_links.size() - 1);
                continue;
            }
            const FileLink forth = m_links[back->second.back()];
            if (forth.rate.bps != m_links.back().rate.bps ||
                forth.delay.ps != m_links.back().delay.ps)
            {
                return Fail(edge.line,
                            "",
                            "the link from " + Shown(edge.from) + " to " + Shown(edge.to) +
                                " has another rate or delay than its other direction, on line " +
                                std::to_string(forth.line) + "; allowed: the same");
            }
            back->second.pop_back();
            m_links.pop_back();
        }
        return true;
    }

    bool ReadKinds()
    {
        const auto& nodes = m_drawing.nodes;
        std::optional<uint32_t> without;
        bool anyKind = false;
        for (uint32_t n = 0; n < nodes.size(); ++n)
        {
            const auto kind = KindOfNode(nodes[n].attributes);
            const bool isSwitch = kind && IsOneOf(*kind, SwitchWords());
            if (kind && !isSwitch && !IsOneOf(*kind, HostWords()))
            {
                std::vector<std::string> all = HostWords();
                all.insert(all.end(), SwitchWords().begin(), SwitchWords().end());
                return Fail(nodes[n].line,
                            Quoted(*kind),
                            "is no kind of node " + Shown(n) + DidYouMean(LowerCase(*kind), all) +
                                "; allowed: " + JoinNames(HostWords()) + " for a host, " +
                                JoinNames(SwitchWords()) + " for a switch");
            }
            anyKind |= kind.has_value();
            without = kind || without ? without : std::optional<uint32_t>(n);
            m_isHost.push_back(!isSwitch);
        }
        if (anyKind && without)
        {
            return Fail(nodes[*without].line,
                        "",
                        "node " + Shown(*without) +
                            " has no kind, which others have; allowed: an attribute kind=\"host\" "
                            "or kind=\"switch\" (or type, role)");
        }
        if (!anyKind)
        {
            std::vector<uint32_t> links(nodes.size(), 0);
            for (const FileLink& link : m_links)
            {
                ++links[link.a];
                ++links[link.b];
            }
            for (uint32_t n = 0; n < nodes.size(); ++n)
            {
                m_isHost[n] = links[n] <= 1;
            }
            m_result.notes.push_back(
                "no node of " + Quoted(m_file) +
                " has a kind: those of one link are hosts, the others switches");
        }
        return true;
    }

    /// The names by this key, if all nodes have one and no two the same.
    std::optional<std::vector<std::string>> NamesBy(const char* key) const
    {
        std::vector<std::string> names;
        std::set<std::string> seen;
        for (const DrawnNode& node : m_drawing.nodes)
        {
            const auto found = node.attributes.find(key);
            names.push_back(PlainName(key[0] == '\0'                   ? node.id
                                      : found == node.attributes.end() ? std::string()
                                                                       : found->second));
            if (names.back().empty() || !seen.insert(names.back()).second)
            {
                return std::nullopt;
            }
        }
        return names;
    }

    bool ReadNames()
    {
        for (const char* key : {"name", "label", ""})
        {
            if (auto names = NamesBy(key))
            {
                m_names = std::move(*names);
                return true;
            }
        }
        return Fail(m_drawing.nodes.empty() ? 1 : m_drawing.nodes.front().line,
                    "",
                    "nodes have no names of their own: an id is empty, or two are alike once "
                    "characters other than letters, digits and _ . : - are '-'");
    }

    void Build(Topology* t)
    {
        const auto tiers = TiersFromHosts(m_isHost, m_links);
        std::vector<std::size_t> ports(m_names.size(), 0);
        for (uint32_t n = 0; n < m_names.size(); ++n)
        {
            if (m_isHost[n])
            {
                t->AddHost(m_names[n]);
            }
            else
            {
                t->AddSwitch(m_names[n], tiers[n]);
            }
        }
        std::size_t made = 0;
        for (const FileLink& link : m_links)
        {
            if (++ports[link.a] <= UINT16_MAX && ++ports[link.b] <= UINT16_MAX)
            {
                t->Connect(link.a, link.b, link.rate, link.delay);
                ++made;
            }
        }
        if (made < m_links.size())
        {
            m_result.notes.push_back(std::to_string(m_links.size() - made) +
                                     " links are left out: a node has at most 65535");
        }
        if (m_withoutDelay)
        {
            m_result.notes.push_back(Counted(m_withoutDelay, "link") + " of " + Quoted(m_file) +
                                     " without a delay: " + rdma::ToString(m_delay) +
                                     " (--link-delay)");
        }
    }

    const Drawing& m_drawing;
    const std::string& m_file;
    rdma::Duration m_delay;
    TopologyResult m_result;
    std::vector<FileLink> m_links;
    std::vector<bool> m_isHost;
    std::vector<std::string> m_names;
    uint64_t m_withoutDelay = 0;
};

} // namespace

std::optional<uint32_t>
Drawing::NodeOf(const std::string& id, uint32_t line)
{
    const auto [at, isNew] = m_byId.try_emplace(id, static_cast<uint32_t>(nodes.size()));
    if (!isNew)
    {
        return at->second;
    }
    if (nodes.size() >= detail::kMostNodes)
    {
        return std::nullopt;
    }
    nodes.push_back({id, {}, line});
    return at->second;
}

TopologyResult
MakeDrawn(const Drawing& drawing, const std::string& file, rdma::Duration delay)
{
    return DrawnMaker(drawing, file, delay).Make();
}

TopologyResult
DrawnFailure(const std::string& file, const DrawnProblem& problem)
{
    TopologyResult result;
    result.errors.push_back({file + ":" + std::to_string(problem.line), "", problem.text, ""});
    return result;
}

std::string
PlainName(const std::string& text)
{
    constexpr std::size_t kLongest = 64;
    std::string name = text.substr(0, kLongest);
    for (char& c : name)
    {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' || c == '-';
        c = fits ? c : '-';
    }
    return name;
}

std::string
LowerCase(std::string_view text)
{
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return lower;
}

} // namespace topo
