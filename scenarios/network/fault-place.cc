/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/fault-place.h"

#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/network/capture-options.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string>

namespace scenario
{

namespace
{

uint32_t
EndOf(const topo::Topology& topology, topo::NodeId node, uint32_t port)
{
    const topo::LinkId link = topology.Nodes()[node].ports[port];
    const topo::Link& l = topology.Links()[link];
    return 2 * link + !(l.a == node && l.portA == port);
}

/// Finds the place of a fault.
class FaultPlacer
{
  public:
    FaultPlacer(const topo::Topology& topology,
                FaultReader* reader,
                const KnownFault& known,
                Fault* fault)
        : m_topology(topology),
          m_reader(*reader),
          m_known(known),
          m_fault(*fault),
          m_where(fault->where),
          m_left(4 * fault->value)
    {
    }

    void Place()
    {
        const std::optional<uint32_t> cable = TakeNumber();
        std::string nearest;
        const std::string wrong = CheckCaptureName(m_topology, m_where, &nearest);
        if (!wrong.empty())
        {
            m_reader.Fail("on", wrong, nearest);
            return;
        }
        std::set<uint32_t> ends;
        std::set<topo::NodeId> nodes;
        rdma::Selection how = rdma::Selection::kNo;
        for (topo::NodeId n = 0; n < m_topology.Nodes().size(); ++n)
        {
            const topo::Node& node = m_topology.Nodes()[n];
            for (uint32_t port = 0; port < node.ports.size(); ++port)
            {
                const topo::NodeId peer = m_topology.Peer(n, static_cast<topo::PortId>(port));
                const rdma::Selection one =
                    rdma::SelectsPort(m_where, node.name, port, m_topology.Nodes()[peer].name);
                if (one != rdma::Selection::kNo)
                {
                    how = one;
                    nodes.insert(n);
                    ends.insert(EndOf(m_topology, n, port));
                }
            }
        }
        if (!Check(how, *nodes.begin()) || (cable && !TakeCable(*cable, &ends)))
        {
            return;
        }
        if (how == rdma::Selection::kLink)
        {
            std::set<topo::LinkId> links;
            for (const uint32_t end : ends)
            {
                links.insert(end / 2);
            }
            m_fault.cables = static_cast<uint32_t>(links.size());
        }
        for (const uint32_t end : ends)
        {
            Take(end);
        }
        const auto tidy = [](std::vector<uint32_t>& list) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
        };
        tidy(m_fault.ends);
        tidy(m_fault.dead);
        CheckRate();
        CheckLanes();
    }

  private:
    /// Takes the "#1" of "a-b#1", one of several cables between two nodes, as links.csv names them
    /// (the first has no number there, and is #0 here). \return the number; nothing if there is
    /// none
    std::optional<uint32_t> TakeNumber()
    {
        const size_t mark = m_where.rfind('#');
        uint32_t number = 0;
        const char* begin = m_where.data() + mark + 1;
        const char* end = m_where.data() + m_where.size();
        if (mark == std::string::npos || m_topology.FindNode(m_where) || begin == end ||
            (*begin == '0' && end - begin > 1)) // another way of writing a number is another name
        {
            return std::nullopt;
        }
        const auto [after, bad] = std::from_chars(begin, end, number);
        if (after != end)
        {
            return std::nullopt;
        }
        if (bad != std::errc())
        {
            number = UINT32_MAX; // more than there can be
        }
        m_where.resize(mark);
        return number;
    }

    /// Keeps the ends of one of several parallel cables. \return whether that cable exists
    bool TakeCable(uint32_t number, std::set<uint32_t>* ends)
    {
        std::set<topo::LinkId> links; // in the order of their numbers
        for (const uint32_t end : *ends)
        {
            links.insert(end / 2);
        }
        if (m_how != rdma::Selection::kLink || number >= links.size())
        {
            const std::string all = "#0 to #" + std::to_string(links.size() - 1);
            m_reader.Fail("on",
                          m_how != rdma::Selection::kLink
                              ? "is no link between two nodes; allowed: # and a number behind one"
                              : "has no such cable; allowed: " +
                                    (links.size() > 1 ? all : m_where + ", there is but one"));
            return false;
        }
        const topo::LinkId chosen = *std::next(links.begin(), number);
        for (auto end = ends->begin(); end != ends->end();)
        {
            end = *end / 2 == chosen ? std::next(end) : ends->erase(end);
        }
        return true;
    }

    bool IsOneWay() const
    {
        // As it is no port, "->" stands between two nodes.
        return m_how == rdma::Selection::kLink &&
               m_topology.FindNode(m_where.substr(0, m_where.find("->"))) &&
               m_where.find("->") != std::string::npos;
    }

    bool Check(rdma::Selection how, topo::NodeId node)
    {
        m_how = how;
        const bool host = m_topology.Nodes()[node].kind == topo::NodeKind::kHost;
        const uint8_t place = how == rdma::Selection::kAll    ? kCables
                              : how == rdma::Selection::kLink ? IsOneWay() ? kOneWay : kCables
                              : how == rdma::Selection::kPort ? kCables | kPorts
                              : host                          ? kHosts
                                                              : kSwitches;
        const bool isHosts =
            m_known.kind != FaultKind::kNicDown || how != rdma::Selection::kPort || host;
        if (!(m_known.places & place) || !isHosts)
        {
            m_reader.Fail("on",
                          std::string(how == rdma::Selection::kNode
                                          ? host ? "is a host" : "is a switch"
                                      : how == rdma::Selection::kPort ? "is a port of a switch"
                                      : how == rdma::Selection::kAll  ? "is every link"
                                      : IsOneWay()                    ? "is one direction"
                                                                      : "is a link") +
                              "; allowed for " + m_known.name + ": " +
                              FaultPlacesText(m_known.places) + LinksOf(node));
            return false;
        }
        return true;
    }

    /// The names of a node's links, where a node was named in place of one of them.
    std::string LinksOf(topo::NodeId node) const
    {
        constexpr std::size_t kMost = 4;
        std::vector<std::string> names;
        if (m_how != rdma::Selection::kNode || !(m_known.places & kCables))
        {
            return "";
        }
        for (topo::PortId port = 0; port < m_topology.Nodes()[node].ports.size(); ++port)
        {
            const std::string name = m_topology.Nodes()[node].name + "-" +
                                     m_topology.Nodes()[m_topology.Peer(node, port)].name;
            if (std::find(names.begin(), names.end(), name) == names.end())
            {
                names.push_back(name);
            }
        }
        const bool more = names.size() > kMost;
        names.resize(std::min(names.size(), kMost));
        return ", as " + Join(names, ", ") + (more ? ", ..." : "");
    }

    /// \param end that the name selects
    void Take(uint32_t end)
    {
        switch (m_fault.kind)
        {
        case FaultKind::kPauseStorm:
            m_fault.ends.push_back(end);
            return;
        case FaultKind::kPortDown:
        case FaultKind::kSwitchDown:
        case FaultKind::kNicDown:
            m_fault.dead.push_back(end);
            break;
        default:
            break;
        }
        if (IsOneWay())
        {
            m_fault.ends.push_back(end ^ 1); // the receiving end
            return;
        }
        m_fault.ends.push_back(end);
        m_fault.ends.push_back(end ^ 1);
    }

    void CheckRate()
    {
        for (const uint32_t end : m_fault.ends)
        {
            const rdma::BitRate rate = m_topology.Links()[end / 2].rate;
            if (m_fault.kind == FaultKind::kRate && m_fault.rate.bps > rate.bps)
            {
                m_reader.Fail("to",
                              "is faster than " + m_topology.LinkName(end / 2, end % 2 == 0) +
                                  "; allowed: at most its " + rdma::ToString(rate));
                return;
            }
        }
    }

    /// How many lanes a link of this rate has: of a NIC's InfiniBand by its name. Ethernet of up to
    /// 25 Gb/s is serial (IEEE 802.3-2018, clauses 49 and 107: 10GBASE-R, 25GBASE-R); four of
    /// others are assumed.
    uint32_t LanesOf(rdma::BitRate rate) const
    {
        constexpr int64_t kSerial = 25000000000;
        const Values& options = m_reader.Options();
        if (options.Text("fabric") != "ib")
        {
            return rate.bps <= kSerial ? 1 : 4;
        }
        const auto link = rdma::ParseIbLink(options.Text("nic"));
        return link && link->Rate() == rate ? link->width : 4;
    }

    void CheckLanes()
    {
        for (const uint32_t end : m_fault.ends)
        {
            if (m_fault.kind != FaultKind::kLaneDown)
            {
                return;
            }
            const uint32_t lanes = LanesOf(m_topology.Links()[end / 2].rate);
            const auto left = static_cast<uint32_t>(m_left);
            if (left >= lanes)
            {
                m_reader.Fail("to",
                              m_topology.LinkName(end / 2, end % 2 == 0) + " has " +
                                  topo::Counted(lanes, "lane") + "; allowed: " +
                                  (lanes == 1   ? "another link, or link-down"
                                   : lanes == 2 ? "1"
                                                : "fewer"));
                return;
            }
            m_fault.value = m_left / lanes;
        }
    }

    const topo::Topology& m_topology;
    FaultReader& m_reader;
    const KnownFault& m_known;
    Fault& m_fault;
    std::string m_where; ///< without a number of a cable
    double m_left;       ///< lanes, of lane-down
    rdma::Selection m_how = rdma::Selection::kNo;
};

} // namespace

void
PlaceFault(const topo::Topology& topology,
           FaultReader* reader,
           const KnownFault& known,
           Fault* fault)
{
    FaultPlacer(topology, reader, known, fault).Place();
}

} // namespace scenario
