/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/graph-circuits.h"

#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>

namespace topo
{
namespace detail
{

using nlohmann::json;

namespace
{

constexpr rdma::Duration kLongest(1000000000000000000); // as of faults
constexpr const char* kLongestText = "1000000s";
constexpr double kMostChanges = 1e6;

} // namespace

void
CircuitReader::AddSwitch(const std::string& name)
{
    m_switches.push_back(name);
    m_ports.emplace_back();
}

std::optional<uint32_t>
CircuitReader::FindSwitch(const std::string& name) const
{
    const auto found = std::find(m_switches.begin(), m_switches.end(), name);
    return found == m_switches.end() ? std::nullopt
                                     : std::optional(uint32_t(found - m_switches.begin()));
}

void
CircuitReader::AddFibre(Fibre fibre)
{
    m_ports[fibre.circuitSwitch].push_back(static_cast<uint32_t>(m_fibres.size()));
    m_fibres.push_back(std::move(fibre));
    m_peer.emplace_back();
}

std::optional<uint32_t>
CircuitReader::FindPort(JsonObject& in,
                        const std::string& below,
                        const std::string& text,
                        std::optional<uint32_t> of,
                        const Topology& t) const
{
    const std::string shown = rdma::Shown(text, 64);
    const std::size_t colon = text.rfind(':');
    const auto device =
        colon == std::string::npos ? std::nullopt : FindSwitch(text.substr(0, colon));
    if (device)
    {
        for (std::size_t p = 0; p < m_ports[*device].size(); ++p)
        {
            if (text.substr(colon + 1) == std::to_string(p))
            {
                return m_ports[*device][p];
            }
        }
        in.Say(below,
               shown + ": " + m_switches[*device] + " has " +
                   Counted(m_ports[*device].size(), "port") + ", numbered from 0");
        return std::nullopt;
    }
    const auto node = t.FindNode(text);
    std::vector<uint32_t> fibres;
    for (uint32_t f = 0; node && f < m_fibres.size(); ++f)
    {
        if (m_fibres[f].node == *node && (!of || m_fibres[f].circuitSwitch == *of))
        {
            fibres.push_back(f);
        }
    }
    if (fibres.size() == 1)
    {
        return fibres[0];
    }
    std::vector<std::string> names;
    for (const Fibre& fibre : m_fibres)
    {
        names.push_back(t.Nodes()[fibre.node].name);
    }
    in.Say(below,
           fibres.empty()
               ? shown + " is no port of a circuit switch and no node at a fibre of " +
                     (of ? m_switches[*of] : std::string("one")) + DidYouMean(text, names)
               : shown + " has " + Counted(fibres.size(), "fibre") +
                     "; allowed: a port of the circuit switch, such as " +
                     m_switches[m_fibres[fibres[0]].circuitSwitch] + ":0");
    return std::nullopt;
}

void
CircuitReader::Free(uint32_t port)
{
    if (m_peer[port])
    {
        m_peer[*m_peer[port]].reset();
        m_peer[port].reset();
    }
}

bool
CircuitReader::Connect(JsonObject& in,
                       const std::string& below,
                       uint32_t a,
                       uint32_t b,
                       Topology& t)
{
    const Fibre& x = m_fibres[std::min(a, b)];
    const Fibre& y = m_fibres[std::max(a, b)];
    if (x.circuitSwitch != y.circuitSwitch)
    {
        in.Say(below,
               "joins a port of " + m_switches[x.circuitSwitch] + " with one of " +
                   m_switches[y.circuitSwitch] + "; allowed: two ports of one circuit switch");
        return false;
    }
    if (x.node == y.node)
    {
        in.Say(below, "joins " + t.Nodes()[x.node].name + " with itself");
        return false;
    }
    Free(a);
    Free(b);
    m_peer[a] = b;
    m_peer[b] = a;
    const auto [known, isNew] = m_links.emplace(std::minmax(a, b), 0);
    if (isNew)
    {
        if (t.Links().size() >= kMostLinks)
        {
            in.Say(below, "makes more than " + std::to_string(kMostLinks) + " links");
            return false;
        }
        known->second = t.Connect(x.node,
                                  y.node,
                                  std::min(x.rate, y.rate),
                                  rdma::Duration(x.delay.ps + y.delay.ps),
                                  1 - (1 - x.bitErrorRate) * (1 - y.bitErrorRate));
        m_settings(known->second, x, y);
    }
    return true;
}

std::vector<uint32_t>
CircuitReader::Lit() const
{
    std::vector<uint32_t> up;
    for (uint32_t f = 0; f < m_peer.size(); ++f)
    {
        if (m_peer[f] && f < *m_peer[f])
        {
            up.push_back(m_links.at({f, *m_peer[f]}));
        }
    }
    std::sort(up.begin(), up.end());
    return up;
}

/// Applies a change to the circuits that are there.
bool
CircuitReader::ReadChange(JsonObject in, Topology& t)
{
    if (!in.Only({"at", "switch", "connect", "disconnect"}))
    {
        return false;
    }
    std::string device;
    std::optional<uint32_t> of;
    if (in.Has("switch"))
    {
        if (!in.Text("switch", device))
        {
            return false;
        }
        of = FindSwitch(device);
        if (!of)
        {
            in.Fail("switch", "is no circuit switch" + DidYouMean(device, m_switches));
            return false;
        }
    }
    const json* connect = in.List("connect");
    const json* disconnect = in.List("disconnect");
    if (!connect && !disconnect)
    {
        in.Say("", "changes nothing; it needs connect or disconnect");
        return false;
    }
    std::vector<bool> named(m_fibres.size());
    const auto take = [&](const json& value, const std::string& below) {
        if (!value.is_string())
        {
            in.Say(below, "is not a text");
            return std::optional<uint32_t>();
        }
        const auto port = FindPort(in, below, value.get<std::string>(), of, t);
        if (port && named[*port])
        {
            in.Say(below, "names a port for the second time in this change");
            return std::optional<uint32_t>();
        }
        if (port)
        {
            named[*port] = true;
        }
        return port;
    };
    for (std::size_t i = 0; disconnect && i < disconnect->size(); ++i)
    {
        const auto port = take((*disconnect)[i], "disconnect/" + std::to_string(i));
        if (!port)
        {
            return false;
        }
        Free(*port);
    }
    for (std::size_t i = 0; connect && i < connect->size(); ++i)
    {
        const std::string below = "connect/" + std::to_string(i);
        const json& pair = (*connect)[i];
        if (!pair.is_array() || pair.size() != 2)
        {
            in.Say(below, "is not a list of two ports");
            return false;
        }
        const auto a = take(pair[0], below + "/0");
        const auto b = a ? take(pair[1], below + "/1") : std::nullopt;
        if (!b || !Connect(in, below, *a, *b, t))
        {
            return false;
        }
    }
    return true;
}

bool
CircuitReader::CheckTimes(JsonObject& in, const CircuitPlan& plan) const
{
    // The later change's drain must not begin while the one before is dark.
    const rdma::Duration least(plan.dark.ps + plan.drain.ps);
    const auto tooNear = [&](std::size_t i, rdma::Duration gap, const std::string& to) {
        if (gap.ps > 0 && gap >= least)
        {
            return false;
        }
        in.Say("changes/" + std::to_string(i),
               "comes " + rdma::ToString(gap) + " after " + to + "; allowed: " +
                   (least.ps ? rdma::ToString(least) + " or more, dark and drain together"
                             : std::string("later than that")));
        return true;
    };
    const std::size_t n = plan.changes.size();
    for (std::size_t i = 1; i < n; ++i)
    {
        const rdma::Duration gap(plan.changes[i].at.ps - plan.changes[i - 1].at.ps);
        if (tooNear(i, gap, "the change before"))
        {
            return false;
        }
    }
    const rdma::Duration round(plan.changes[0].at.ps + plan.every.ps - plan.changes[n - 1].at.ps);
    if (plan.every.ps && tooNear(0, round, "the last change, one period (every) later"))
    {
        return false;
    }
    if (plan.every.ps && static_cast<double>(plan.until.ps) / static_cast<double>(plan.every.ps) *
                                 static_cast<double>(n) >
                             kMostChanges)
    {
        in.Say("every", "makes more than a million changes; allowed: longer, or a shorter until");
        return false;
    }
    return true;
}

std::optional<CircuitPlan>
CircuitReader::Read(JsonObject& root,
                    Topology& t,
                    const std::function<void(LinkId, const Fibre&, const Fibre&)>& settings)
{
    const json* circuits = root.Find("circuits");
    if (!circuits)
    {
        if (!m_switches.empty())
        {
            root.Say("circuits",
                     "is missing; it says which ports of " + m_switches[0] +
                         " are joined, and when");
        }
        return std::nullopt;
    }
    if (m_switches.empty())
    {
        root.Say("circuits", "needs a node of the kind circuit-switch");
        return std::nullopt;
    }
    JsonObject in = root.Inner(*circuits, "circuits");
    if (!in.Only({"dark", "drain", "changes", "every", "until"}))
    {
        return std::nullopt;
    }
    m_settings = settings;
    CircuitPlan plan;
    plan.switches = m_switches;
    const std::size_t before = in.Errors();
    in.Time("dark", plan.dark, kLongest, kLongestText);
    in.Time("drain", plan.drain, kLongest, kLongestText);
    in.Time("every", plan.every, kLongest, kLongestText);
    in.Time("until", plan.until, kLongest, kLongestText);
    const json* changes = in.List("changes", Need::kRequired);
    if (in.Errors() != before)
    {
        return std::nullopt;
    }
    if (changes->empty())
    {
        in.Say("changes", "is empty; without a change all circuits are dark");
        return std::nullopt;
    }
    if (in.Has("every") != in.Has("until") || (in.Has("every") && !plan.every.ps))
    {
        in.Say(in.Has("every") ? "every" : "until",
               "needs the other one of every and until, both above 0");
        return std::nullopt;
    }
    // A second time from the state after the first, which is what comes again.
    const std::size_t rounds = plan.every.ps ? 2 : 1;
    for (std::size_t i = 0; i < rounds * changes->size(); ++i)
    {
        const std::size_t number = i % changes->size();
        JsonObject change = in.Inner((*changes)[number], "changes/" + std::to_string(number));
        CircuitPlan::Change one;
        if (!ReadChange(change, t) ||
            !change.Time("at", one.at, kLongest, kLongestText, Need::kRequired))
        {
            return std::nullopt;
        }
        if (plan.every.ps && one.at >= plan.every)
        {
            change.Fail("at", "is not before the period's end (every)");
            return std::nullopt;
        }
        one.at.ps += i == number ? 0 : plan.every.ps;
        one.up = Lit();
        plan.changes.push_back(std::move(one));
        if (i + 1 == changes->size() && !CheckTimes(in, plan))
        {
            return std::nullopt;
        }
    }
    plan.again = static_cast<uint32_t>(plan.every.ps ? changes->size() : plan.changes.size());
    for (const auto& [ports, link] : m_links)
    {
        plan.links.push_back(link);
    }
    std::sort(plan.links.begin(), plan.links.end());
    if (plan.links.empty())
    {
        in.Say("changes", "connect nothing");
        return std::nullopt;
    }
    return plan;
}

} // namespace detail
} // namespace topo
