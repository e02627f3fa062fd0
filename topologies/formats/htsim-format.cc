/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/htsim-format.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/formats/link-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace topo
{

namespace
{

/// A key of the header or of a tier.
struct HtsimKey
{
    const char* name;
    uint64_t least;
    uint64_t most;
};

constexpr uint64_t kLongestHtsimNs = 10000000000; // kLongestDelay
constexpr uint64_t kMostHtsimSwitchNs = 1000000;  // as --switch-latency
constexpr uint64_t kFastestHtsimGbps = 1000000;   // kFastestLink

const std::vector<HtsimKey>&
HtsimHeader()
{
    static const std::vector<HtsimKey> keys = {{"Nodes", 1, detail::kMostNodes},
                                               {"Tiers", 2, 3},
                                               {"Podsize", 1, detail::kMostNodes},
                                               {"Tier", 0, 2}};
    return keys;
}

const std::vector<HtsimKey>&
HtsimTierKeys()
{
    static const std::vector<HtsimKey> keys = {{"Downlink_speed_Gbps", 1, kFastestHtsimGbps},
                                               {"Downlink_Latency_ns", 0, kLongestHtsimNs},
                                               {"Switch_Latency_ns", 0, kMostHtsimSwitchNs},
                                               {"Radix_Down", 1, 65535},
                                               {"Radix_Up", 1, 65535},
                                               {"Oversubscribed", 1, 65535},
                                               {"Bundle", 1, 65535},
                                               {"Queue_Up", 0, UINT32_MAX},
                                               {"Queue_Down", 0, UINT32_MAX},
                                               {"Tier", 0, 2}};
    return keys;
}

/// A value and its line; not set: the file does not have it.
struct HtsimValue
{
    std::optional<uint64_t> number;
    uint32_t line = 0;

    uint64_t Or(uint64_t other) const
    {
        return number.value_or(other);
    }
};

struct HtsimTier
{
    HtsimValue speed;
    HtsimValue latency;
    HtsimValue switchLatency;
    HtsimValue down;
    HtsimValue up;
    HtsimValue oversubscribed;
    HtsimValue bundle;
    HtsimValue queueUp;
    HtsimValue queueDown;
    uint32_t line = 0; ///< of "Tier N"; 0: there is none

    /// In the order of HtsimTierKeys.
    std::array<HtsimValue*, 9> Values()
    {
        return {&speed,
                &latency,
                &switchLatency,
                &down,
                &up,
                &oversubscribed,
                &bundle,
                &queueUp,
                &queueDown};
    }

    rdma::BitRate Rate() const
    {
        return rdma::Gbps(speed.Or(1));
    }
};

class HtsimReader
{
  public:
    HtsimReader(const std::string& text, const std::string& name)
        : m_text(text),
          m_name(name)
    {
    }

    TopologyResult Read()
    {
        if (ReadLines() && CheckKeys() && CheckShape() && CheckSize())
        {
            m_result.topology = Build();
        }
        return std::move(m_result);
    }

    /// The network is not made.
    std::optional<rdma::Duration> ReadSwitchLatency()
    {
        std::array<rdma::Duration, 3> delays{};
        if (ReadLines() && CheckKeys() && CheckShape() && CheckSize())
        {
            SetLatencies(delays);
        }
        return m_switchLatency;
    }

  private:
    bool Fail(uint32_t line, const std::string& value, const std::string& problem)
    {
        m_result.errors.push_back(
            {m_name + ":" + std::to_string(std::max(line, 1u)), value, problem, ""});
        return false;
    }

    std::string TierText(size_t tier) const
    {
        return "Tier " + std::to_string(tier);
    }

    /// The tier's rule: `factor` x its own are all of the other's. \return false after an error
    bool MustBe(const HtsimValue& value,
                size_t tier,
                const char* key,
                uint64_t right,
                const std::string& why)
    {
        return *value.number == right ||
               Fail(value.line,
                    TierText(tier) + ": " + key + " " + std::to_string(*value.number),
                    "contradicts other keys; allowed: " + std::to_string(right) + ", " + why);
    }

    bool ReadLines();
    bool ReadLine(const std::vector<std::string>& words, uint32_t line);
    bool CheckKeys();
    bool CheckShape();
    bool CheckOversubscription(size_t tier);
    bool CheckSize();
    Topology Build();
    void SetLatencies(std::array<rdma::Duration, 3>& delays);

    const std::string& m_text;
    const std::string& m_name;
    HtsimValue m_nodes;
    HtsimValue m_tiers;
    HtsimValue m_podSize;
    std::array<HtsimTier, 3> m_tier;
    int m_current = -1;
    // The shape, from CheckShape.
    uint64_t m_pods = 1;
    uint64_t m_edges = 0;  ///< of a pod
    uint64_t m_aggs = 0;   ///< of a pod; spines
    uint64_t m_toCore = 0; ///< core switches above an aggregation switch
    std::optional<rdma::Duration> m_switchLatency;
    TopologyResult m_result;
};

bool
HtsimReader::ReadLines()
{
    std::istringstream lines(m_text);
    uint32_t number = 0;
    for (std::string line; std::getline(lines, line);)
    {
        ++number;
        std::istringstream stream(line);
        std::vector<std::string> words;
        for (std::string word; stream >> word && word[0] != '#';)
        {
            words.push_back(std::move(word));
        }
        if (!words.empty() && !ReadLine(words, number))
        {
            return false;
        }
    }
    return true;
}

bool
HtsimReader::ReadLine(const std::vector<std::string>& words, uint32_t line)
{
    const auto& keys = m_current < 0 ? HtsimHeader() : HtsimTierKeys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const HtsimKey& k) {
        return rdma::SameName(words[0], k.name);
    });
    if (key == keys.end())
    {
        std::vector<std::string> names;
        for (const HtsimKey& k : keys)
        {
            names.emplace_back(k.name);
        }
        const bool isMatrix = rdma::SameName(words[0], "Connections");
        return Fail(line,
                    Quoted(words[0]),
                    isMatrix ? "is of a connection matrix, which is no topology; allowed: "
                               "traffic --flows=FILE, or dltrain --trace=FILE"
                             : "is no key" + DidYouMean(words[0], names) +
                                   "; allowed here: " + JoinNames(names));
    }
    const auto number =
        words.size() == 2 ? ParseWhole(words[1], key->most) : std::optional<uint64_t>();
    if (!number || *number < key->least)
    {
        return Fail(
            line,
            words.size() < 2 ? std::string(key->name) : Quoted(words.back()),
            std::string(words.size() == 2 ? "is not the value of " : "is not one value, of ") +
                key->name + "; allowed: a whole number from " + std::to_string(key->least) +
                " to " + std::to_string(key->most));
    }
    const std::string name = key->name;
    if (name == "Tier")
    {
        m_current = static_cast<int>(*number);
        HtsimTier& tier = m_tier[*number];
        if (tier.line > 0)
        {
            return Fail(line, TierText(*number), "a second time; allowed: once");
        }
        tier.line = line;
        return true;
    }
    const size_t index = static_cast<size_t>(key - keys.begin());
    HtsimValue* const header[] = {&m_nodes, &m_tiers, &m_podSize};
    HtsimValue* const value =
        m_current < 0 ? header[index] : m_tier[static_cast<size_t>(m_current)].Values()[index];
    if (value->number)
    {
        return Fail(line, name, "a second time; allowed: once");
    }
    *value = {number, line};
    return true;
}

/// Whether all that has to be there is there.
bool
HtsimReader::CheckKeys()
{
    const std::pair<const char*, const HtsimValue*> header[] = {{"Nodes", &m_nodes},
                                                                {"Tiers", &m_tiers},
                                                                {"Podsize", &m_podSize}};
    for (const auto& [name, value] : header)
    {
        if (!value->number)
        {
            return Fail(1, "", std::string(name) + " is missing");
        }
    }
    for (size_t t = 0; t < m_tier.size(); ++t)
    {
        const HtsimTier& tier = m_tier[t];
        const bool there = t < *m_tiers.number;
        if (there != (tier.line > 0))
        {
            return there ? Fail(m_tiers.line, "", TierText(t) + " is missing")
                         : Fail(tier.line,
                                TierText(t),
                                "is above the last of " + std::to_string(*m_tiers.number) +
                                    " tiers, which count from 0");
        }
    }
    bool queues = false;
    for (size_t t = 0; t < *m_tiers.number; ++t)
    {
        HtsimTier& tier = m_tier[t];
        const bool last = t + 1 == *m_tiers.number;
        const std::pair<const char*, const HtsimValue*> needed[] = {
            {"Downlink_speed_Gbps", &tier.speed},
            {"Downlink_Latency_ns", &tier.latency},
            {"Radix_Down", &tier.down},
            {"Radix_Up", &tier.up}};
        for (const auto& [name, value] : needed)
        {
            if (!value->number && !(last && value == &tier.up))
            {
                return Fail(tier.line, "", TierText(t) + ": " + name + " is missing");
            }
        }
        if (last && tier.up.number)
        {
            return Fail(tier.up.line, "Radix_Up", "of the last tier, which has no uplinks");
        }
        queues |= tier.queueUp.number || tier.queueDown.number;
    }
    if (queues)
    {
        m_result.notes.push_back(m_name + ": Queue_Up and Queue_Down ignored; --buffer sets the "
                                          "memory of switches");
    }
    return true;
}

/// Oversubscribed is what radices and rates make.
bool
HtsimReader::CheckOversubscription(size_t t)
{
    const HtsimTier& tier = m_tier[t];
    const double made = static_cast<double>(*tier.down.number * *tier.speed.number) /
                        static_cast<double>(*tier.up.number * *m_tier[t + 1].speed.number);
    return !tier.oversubscribed.number ||
           made == static_cast<double>(*tier.oversubscribed.number) ||
           Fail(tier.oversubscribed.line,
                TierText(t) + ": Oversubscribed " + std::to_string(*tier.oversubscribed.number),
                "contradicts other keys: " + Counted(*tier.down.number, "downlink") + " of " +
                    rdma::ToString(tier.Rate()) + " and " + Counted(*tier.up.number, "uplink") +
                    " of " + rdma::ToString(m_tier[t + 1].Rate()) + " are " +
                    detail::RatioText(made) + ":1");
}

bool
HtsimReader::CheckShape()
{
    const uint64_t nodes = *m_nodes.number;
    const uint64_t pod = *m_podSize.number;
    const bool three = *m_tiers.number == 3;
    if (three ? nodes % pod != 0 : nodes != pod)
    {
        return Fail(m_podSize.line,
                    "Podsize " + std::to_string(pod),
                    three ? "does not divide the " + std::to_string(nodes) + " nodes"
                          : "of two tiers is not all " + std::to_string(nodes) + " nodes");
    }
    m_pods = nodes / pod;
    const HtsimTier& edge = m_tier[0];
    if (edge.bundle.Or(1) != 1)
    {
        return Fail(edge.bundle.line, "Bundle", "of hosts; allowed: 1");
    }
    if (pod % *edge.down.number != 0)
    {
        return Fail(edge.down.line,
                    TierText(0) + ": Radix_Down " + std::to_string(*edge.down.number),
                    "does not divide the " + std::to_string(pod) + " hosts of a pod");
    }
    m_edges = pod / *edge.down.number;
    for (size_t t = 0; t + 1 < *m_tiers.number; ++t)
    {
        const HtsimTier& tier = m_tier[t];
        const HtsimTier& above = m_tier[t + 1];
        const uint64_t bundle = above.bundle.Or(1);
        if (*tier.up.number % bundle != 0)
        {
            return Fail(tier.up.line,
                        TierText(t) + ": Radix_Up " + std::to_string(*tier.up.number),
                        "is not a multiple of the bundle of " + TierText(t + 1) + ", " +
                            std::to_string(bundle));
        }
        const uint64_t below = t == 0 ? m_edges : m_pods;
        const std::string what = t == 0 ? (three ? "edge switches of a pod" : "leaves") : "pods";
        (t == 0 ? m_aggs : m_toCore) = *tier.up.number / bundle;
        if (!MustBe(above.down,
                    t + 1,
                    "Radix_Down",
                    below * bundle,
                    "a bundle of " + std::to_string(bundle) + " for each of " +
                        std::to_string(below) + " " + what) ||
            !CheckOversubscription(t))
        {
            return false;
        }
    }
    return true;
}

bool
HtsimReader::CheckSize()
{
    // Factors are 65,535 at most, pods and edges at most the nodes: no product overflows.
    const uint64_t switches = m_pods * (m_edges + m_aggs) + m_aggs * m_toCore;
    const uint64_t links = *m_nodes.number + m_pods * m_edges * *m_tier[0].up.number +
                           (m_toCore ? m_pods * m_aggs * *m_tier[1].up.number : 0);
    const bool fits = *m_nodes.number + switches <= detail::kMostNodes &&
                      links <= detail::kMostLinks &&
                      *m_tier[0].down.number + *m_tier[0].up.number <= 65535 &&
                      *m_tier[1].down.number + m_tier[1].up.Or(0) <= 65535;
    return fits || Fail(m_nodes.line,
                        "",
                        "the network has " + std::to_string(*m_nodes.number + switches) +
                            " nodes and " + Counted(links, "link") + "; allowed: at most " +
                            std::to_string(detail::kMostNodes) + " nodes, " +
                            std::to_string(detail::kMostLinks) + " links and 65535 ports a switch");
}

void
HtsimReader::SetLatencies(std::array<rdma::Duration, 3>& delays)
{
    const size_t tiers = *m_tiers.number;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    bool given = false;
    bool none = false;
    for (size_t t = 0; t < tiers; ++t)
    {
        const uint64_t latency = m_tier[t].switchLatency.Or(0);
        given |= m_tier[t].switchLatency.number.has_value();
        none |= !m_tier[t].switchLatency.number;
        least = std::min(least, latency);
        most = std::max(most, latency);
        delays[t] = rdma::Nanoseconds(static_cast<int64_t>(*m_tier[t].latency.number));
    }
    if (!given)
    {
        return; // --switch-latency has a default of its own
    }
    m_switchLatency = rdma::Nanoseconds(static_cast<int64_t>(least));
    for (size_t t = 0; t < tiers; ++t)
    {
        const auto half =
            rdma::Duration(500 * static_cast<int64_t>(m_tier[t].switchLatency.Or(0) - least));
        delays[t] = delays[t] + half;
        if (t + 1 < tiers)
        {
            delays[t + 1] = delays[t + 1] + half;
        }
    }
    if (most > least)
    {
        m_result.notes.push_back(
            m_name + ": tiers of different Switch_Latency_ns" + (none ? " (none is 0)" : "") +
            ": taken as --switch-latency=" + std::to_string(least) +
            "ns, with the rest in the delays of links at switches of the other tiers");
    }
}

Topology
HtsimReader::Build()
{
    std::array<rdma::Duration, 3> delays{};
    SetLatencies(delays);
    const auto number = [](uint64_t n) { return static_cast<uint32_t>(n); };
    const bool three = m_toCore > 0;
    Topology t;
    detail::AddServers(&t, *m_nodes.number);
    std::vector<NodeId> edge;
    std::vector<NodeId> agg;
    std::vector<NodeId> core;
    for (uint64_t p = 0; p < m_pods; ++p)
    {
        for (uint32_t e = 0; e < m_edges; ++e)
        {
            edge.push_back(three ? t.AddSwitchAt("edge", 1, {number(p), e})
                                 : t.AddSwitchAt("leaf", 1, {e}));
        }
        for (uint32_t a = 0; a < m_aggs; ++a)
        {
            agg.push_back(three ? t.AddSwitchAt("agg", 2, {number(p), a})
                                : t.AddSwitchAt("spine", 2, {a}));
        }
    }
    for (uint32_t c = 0; c < m_aggs * m_toCore; ++c)
    {
        core.push_back(t.AddSwitchAt("core", 3, {c}));
    }
    const auto connect = [&](NodeId below, NodeId above, size_t tier) {
        for (uint64_t b = 0; b < m_tier[tier].bundle.Or(1); ++b)
        {
            t.Connect(below, above, m_tier[tier].Rate(), delays[tier]);
        }
    };
    for (uint64_t h = 0; h < *m_nodes.number; ++h)
    {
        connect(t.Hosts()[h], edge[h / *m_tier[0].down.number], 0);
    }
    for (uint64_t e = 0; e < edge.size(); ++e)
    {
        for (uint64_t a = 0; a < m_aggs; ++a)
        {
            connect(edge[e], agg[e / m_edges * m_aggs + a], 1);
        }
    }
    for (uint64_t a = 0; three && a < agg.size(); ++a)
    {
        for (uint64_t c = 0; c < m_toCore; ++c)
        {
            connect(agg[a], core[a % m_aggs * m_toCore + c], 2);
        }
    }
    return t;
}

bool
IsHtsimTopology(const std::string& path)
{
    const std::vector<std::string> words = FirstWords(path);
    return !words.empty() &&
           std::any_of(HtsimHeader().begin(), HtsimHeader().end(), [&](const HtsimKey& key) {
               return rdma::SameName(words[0], key.name);
           });
}

Family
Htsim()
{
    Family f("htsim", "a leaf-spine or fat-tree, from a topology file of htsim");
    f.file = "a topology file of htsim";
    f.noCycles = true;
    f.reads = IsHtsimTopology;
    f.make = [](const TopologyRequest& r) { return detail::MakeFromFile(r, ReadHtsimTopology); };
    return f;
}

const RegisteredFamily g_htsim(Htsim());

} // namespace

TopologyResult
ReadHtsimTopology(const std::string& text, const std::string& name)
{
    return HtsimReader(text, name).Read();
}

std::optional<rdma::Duration>
HtsimSwitchLatency(const std::string& text)
{
    const std::string name; // kept by the reader
    return HtsimReader(text, name).ReadSwitchLatency();
}

std::optional<rdma::Duration>
SwitchLatencyOfFile(const std::string& path)
{
    std::vector<Error> ignored;
    const auto text = IsHtsimTopology(path) ? ReadWholeFile(path, ignored) : std::nullopt;
    return text ? HtsimSwitchLatency(*text) : std::nullopt;
}

} // namespace topo
