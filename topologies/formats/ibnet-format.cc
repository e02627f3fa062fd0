/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/ibnet-format.h"

#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/formats/drawn-network.h"
#include "topologies/formats/link-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace topo
{

namespace
{

/// Reads one line from its begin; what it does not find, it leaves.
class LineCursor
{
  public:
    explicit LineCursor(std::string_view line)
        : m_line(line)
    {
    }

    bool AtEnd()
    {
        SkipSpace();
        return m_at >= m_line.size();
    }

    bool Take(char c)
    {
        SkipSpace();
        const bool is = m_at < m_line.size() && m_line[m_at] == c;
        m_at += is ? 1 : 0;
        return is;
    }

    /// Up to white space.
    std::string Word()
    {
        SkipSpace();
        const std::size_t from = m_at;
        while (m_at < m_line.size() && !std::isspace(static_cast<unsigned char>(m_line[m_at])))
        {
            ++m_at;
        }
        return std::string(m_line.substr(from, m_at - from));
    }

    /// What is between two signs: [1], (guid), "name".
    std::optional<std::string> Between(char open, char close)
    {
        SkipSpace();
        const std::size_t end = m_at < m_line.size() && m_line[m_at] == open
                                    ? m_line.find(close, m_at + 1)
                                    : std::string_view::npos;
        if (end == std::string_view::npos)
        {
            return std::nullopt;
        }
        std::string text(m_line.substr(m_at + 1, end - m_at - 1));
        m_at = end + 1;
        return text;
    }

    std::optional<uint32_t> Port()
    {
        const auto text = Between('[', ']');
        const auto number = text ? ParseWhole(*text, 255) : std::nullopt;
        return number && *number ? std::optional<uint32_t>(static_cast<uint32_t>(*number))
                                 : std::nullopt;
    }

  private:
    void SkipSpace()
    {
        while (m_at < m_line.size() && std::isspace(static_cast<unsigned char>(m_line[m_at])))
        {
            ++m_at;
        }
    }

    std::string_view m_line;
    std::size_t m_at = 0;
};

/// A block's first line: Switch 36 "S-ec0d9a0300ec8240" # "leaf-1" ...
struct IbnetHeader
{
    std::string id;
    std::string description;
};

std::optional<IbnetHeader>
ParseHeader(std::string_view line)
{
    LineCursor at(line);
    const std::string kind = at.Word();
    if ((kind != "Switch" && kind != "Ca" && kind != "Rt") || !ParseWhole(at.Word(), 255))
    {
        return std::nullopt;
    }
    const auto id = at.Between('"', '"');
    if (!id || id->size() < 3 || (*id)[1] != '-')
    {
        return std::nullopt;
    }
    IbnetHeader header{*id, ""};
    if (at.Take('#'))
    {
        header.description = at.Between('"', '"').value_or("");
    }
    return header;
}

/// Words first, numbers by their size: node2, node10.
bool
InNaturalOrder(const std::string& a, const std::string& b)
{
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size())
    {
        if (!digit(a[i]) || !digit(b[j]))
        {
            if (a[i] != b[j])
            {
                return a[i] < b[j];
            }
            ++i;
            ++j;
            continue;
        }
        const auto number = [&](const std::string& of, std::size_t* from) {
            while (*from < of.size() && of[*from] == '0')
            {
                ++*from;
            }
            std::string digits;
            while (*from < of.size() && digit(of[*from]))
            {
                digits += of[(*from)++];
            }
            return digits;
        };
        const std::string x = number(a, &i);
        const std::string y = number(b, &j);
        if (x != y)
        {
            return x.size() != y.size() ? x.size() < y.size() : x < y;
        }
    }
    return std::make_tuple(a.size() - i, a) < std::make_tuple(b.size() - j, b);
}

class IbnetReader
{
  public:
    IbnetReader(const std::string& text, const std::string& file, rdma::Duration delay)
        : m_text(text),
          m_file(file),
          m_delay(delay)
    {
    }

    TopologyResult Read()
    {
        std::string_view rest = m_text;
        while (!rest.empty() && m_result.errors.empty())
        {
            ++m_line;
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            ReadLine(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        if (m_result.errors.empty())
        {
            Build();
        }
        return std::move(m_result);
    }

  private:
    struct Device
    {
        std::string id;
        std::string description;
    };

    struct IbnetLink
    {
        uint32_t a = 0; ///< devices
        uint32_t b = 0;
        uint32_t portA = 0;
        uint32_t portB = 0;
        rdma::BitRate rate;
    };

    void Fail(const std::string& value, const std::string& problem)
    {
        m_result.errors.push_back({m_file + ":" + std::to_string(m_line), value, problem, ""});
    }

    bool IsSwitch(uint32_t device) const
    {
        return m_devices[device].id[0] == 'S';
    }

    uint32_t DeviceOf(const std::string& id, const std::string& description)
    {
        const auto [at, isNew] = m_byId.try_emplace(id, static_cast<uint32_t>(m_devices.size()));
        if (isNew)
        {
            m_devices.push_back({id, description});
        }
        else if (m_devices[at->second].description.empty())
        {
            m_devices[at->second].description = description;
        }
        return at->second;
    }

    void ReadLine(std::string_view line)
    {
        LineCursor at(line);
        if (at.AtEnd())
        {
            return;
        }
        if (const auto header = ParseHeader(line))
        {
            m_open = DeviceOf(header->id, header->description);
            if (m_devices.size() > detail::kMostNodes)
            {
                Fail("", "is in a network larger than " + detail::LargestNetwork());
            }
            return;
        }
        const auto port = at.Port();
        if (port)
        {
            ReadPort(*port, &at, line);
        }
    }

    /// [ext 3](guid) "H-..."[1](guid) # "desc" lid 67 4xHDR
    void ReadPort(uint32_t port, LineCursor* at, std::string_view line)
    {
        at->Between('[', ']');
        at->Between('(', ')');
        const auto id = at->Between('"', '"');
        const auto portThere = id ? at->Port() : std::nullopt;
        if (!m_open || !portThere || id->size() < 3)
        {
            Fail(Quoted(std::string(line)),
                 !m_open ? "is a port of no switch or adapter"
                         : "is no port; allowed: [1] \"H-506b4b03003fa9b6\"[1] # ... 4xHDR");
            return;
        }
        at->Between('[', ']');
        at->Between('(', ')');
        std::string description;
        std::string speed;
        if (at->Take('#'))
        {
            while (!at->AtEnd())
            {
                if (const auto text = at->Between('"', '"'))
                {
                    description = *text;
                    continue;
                }
                const std::string word = at->Word();
                const std::size_t x = word.find('x');
                speed =
                    x != std::string::npos && x && ParseWhole(word.substr(0, x), 99) ? word : speed;
            }
        }
        const std::size_t x = speed.find('x');
        const auto link =
            speed.empty() ? std::nullopt
                          : rdma::ParseIbLink(speed.substr(x + 1) + "-" + speed.substr(0, x) + "x");
        if (!link)
        {
            Fail(speed.empty() ? Quoted(std::string(line)) : Quoted(speed),
                 speed.empty()
                     ? "has no width and speed, such as 4xHDR"
                     : "is no width and speed of a link; allowed: 4xHDR, with 1x, 2x, 4x, "
                       "8x or 12x and SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR");
            return;
        }
        IbnetLink made;
        made.a = *m_open;
        made.b = DeviceOf(*id, description);
        made.portA = port;
        made.portB = *portThere;
        made.rate = link->Rate();
        if (made.a == made.b)
        {
            return; // a loop of a cable
        }
        if (std::tie(made.a, made.portA) > std::tie(made.b, made.portB))
        {
            std::swap(made.a, made.b);
            std::swap(made.portA, made.portB);
        }
        if (m_seen.emplace(made.a, made.portA, made.b, made.portB).second)
        {
            m_links.push_back(made);
        }
        if (m_links.size() > detail::kMostLinks || m_devices.size() > detail::kMostNodes)
        {
            Fail("", "is in a network larger than " + detail::LargestNetwork());
        }
    }

    /// "node018" and "mlx5_0" of "node018 mlx5_0"; the whole, or the id, and "".
    static std::pair<std::string, std::string> HostAndDevice(const Device& device)
    {
        const std::string& text = device.description;
        const std::size_t space = text.find(' ');
        if (text.empty())
        {
            return {device.id, ""};
        }
        if (space == std::string::npos || space == 0 || text.find(' ', space + 1) != text.npos)
        {
            return {text, ""};
        }
        return {text.substr(0, space), text.substr(space + 1)};
    }

    /// A name that no other node has: the text, else with the id, else with a number.
    std::string FreeName(const Topology& t, const std::string& text, const std::string& id) const
    {
        constexpr std::size_t kLongest = 64;
        std::string name = PlainName(text);
        for (uint64_t number = 0; name.empty() || t.FindNode(name); ++number)
        {
            const std::string end = "-" + (number ? std::to_string(number) : PlainName(id));
            const std::size_t left = kLongest - std::min(kLongest, end.size());
            name = PlainName(PlainName(text).substr(0, left) + end);
        }
        return name;
    }

    void Build()
    {
        Topology t;
        std::vector<NodeId> nodeOf(m_devices.size(), kNoNode);

        // Hosts by name; their adapters in the order of devices.
        struct Adapter
        {
            std::string host;
            std::string device;
            uint32_t number;
        };

        std::vector<Adapter> adapters;
        uint32_t aggregating = 0;
        uint32_t routers = 0;
        for (uint32_t d = 0; d < m_devices.size(); ++d)
        {
            const bool ofSwitch =
                m_devices[d].description.find("Aggregation Node") != std::string::npos;
            if (IsSwitch(d))
            {
                continue;
            }
            if (m_devices[d].id[0] != 'H' || ofSwitch)
            {
                (ofSwitch ? aggregating : routers) += 1;
                continue;
            }
            const auto [host, device] = HostAndDevice(m_devices[d]);
            // One without a device is a host of its own.
            adapters.push_back({device.empty() ? host + " " + m_devices[d].id : host, device, d});
        }
        std::sort(adapters.begin(), adapters.end(), [](const Adapter& a, const Adapter& b) {
            return a.host != b.host       ? InNaturalOrder(a.host, b.host)
                   : a.device != b.device ? InNaturalOrder(a.device, b.device)
                                          : a.number < b.number;
        });
        for (std::size_t i = 0; i < adapters.size(); ++i)
        {
            const Device& device = m_devices[adapters[i].number];
            const bool same = i > 0 && adapters[i].host == adapters[i - 1].host;
            nodeOf[adapters[i].number] =
                same ? nodeOf[adapters[i - 1].number]
                     : t.AddHost(FreeName(t, HostAndDevice(device).first, device.id));
        }
        for (uint32_t d = 0; d < m_devices.size(); ++d)
        {
            if (IsSwitch(d))
            {
                nodeOf[d] = t.AddSwitch(FreeName(t, m_devices[d].description, m_devices[d].id), 0);
            }
        }
        Connect(&t, nodeOf, [&] {
            std::vector<uint32_t> place(m_devices.size(), 0); // of adapters, in their order
            for (std::size_t i = 0; i < adapters.size(); ++i)
            {
                place[adapters[i].number] = static_cast<uint32_t>(i + 1);
            }
            return place;
        }());
        NoteLeftOut(aggregating, routers);
        m_result.topology = std::move(t);
    }

    /// \param place order of adapters; 0: of a switch
    void Connect(Topology* t, const std::vector<NodeId>& nodeOf, const std::vector<uint32_t>& place)
    {
        // A host's ports are numbered as its links are made.
        std::stable_sort(m_links.begin(), m_links.end(), [&](const auto& x, const auto& y) {
            const auto key = [&](const IbnetLink& of) {
                return place[of.a] ? std::make_pair(place[of.a], of.portA)
                                   : std::make_pair(place[of.b], of.portB);
            };
            return key(x) < key(y);
        });
        std::vector<FileLink> links;
        for (const IbnetLink& link : m_links)
        {
            const NodeId a = nodeOf[link.a];
            const NodeId b = nodeOf[link.b];
            if (a != kNoNode && b != kNoNode && a != b && t->Nodes()[a].ports.size() < UINT16_MAX &&
                t->Nodes()[b].ports.size() < UINT16_MAX)
            {
                t->Connect(a, b, link.rate, m_delay);
                FileLink ends;
                ends.a = a;
                ends.b = b;
                links.push_back(ends);
            }
        }
        std::vector<bool> isHost;
        for (const Node& node : t->Nodes())
        {
            isHost.push_back(node.kind == NodeKind::kHost);
        }
        const auto tiers = TiersFromHosts(isHost, links);
        for (NodeId n = 0; n < tiers.size(); ++n)
        {
            t->SetTier(n, tiers[n]);
        }
    }

    void NoteLeftOut(uint32_t aggregating, uint32_t routers)
    {
        if (aggregating)
        {
            m_result.notes.push_back(Counted(aggregating, "aggregation node") +
                                     " of switches left out: --algorithm=sharp adds them");
        }
        if (routers)
        {
            m_result.notes.push_back(Counted(routers, "router") +
                                     " left out: one subnet is simulated");
        }
        m_result.notes.push_back("links of " + Quoted(m_file) + " have a delay of " +
                                 rdma::ToString(m_delay) +
                                 " (--link-delay): ibnetdiscover tells none");
    }

    const std::string& m_text;
    const std::string& m_file;
    rdma::Duration m_delay;
    TopologyResult m_result;
    uint32_t m_line = 0;
    std::optional<uint32_t> m_open; ///< the device whose ports are listed
    std::vector<Device> m_devices;
    std::unordered_map<std::string, uint32_t> m_byId;
    std::vector<IbnetLink> m_links;
    std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> m_seen;
};

} // namespace

bool
IsIbnetTopology(const std::string& path)
{
    const std::string text = BeginOfFile(path);
    std::string_view rest = text;
    while (!rest.empty())
    {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (ParseHeader(rest.substr(0, end)))
        {
            return true;
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

TopologyResult
ReadIbnetTopology(const std::string& text, const std::string& name, rdma::Duration delay)
{
    return IbnetReader(text, name, delay).Read();
}

namespace
{

Family
Ibnet()
{
    Family f("ibnet", "an InfiniBand subnet, from the output of ibnetdiscover");
    f.file = "the output of ibnetdiscover";
    f.reads = IsIbnetTopology;
    f.leavesDelay = true;
    f.make = [](const TopologyRequest& r) {
        return detail::MakeFromFile(r, [&](const std::string& text, const std::string& name) {
            return ReadIbnetTopology(text, name, r.linkDelay);
        });
    };
    return f;
}

const RegisteredFamily g_ibnet(Ibnet());

} // namespace

} // namespace topo
