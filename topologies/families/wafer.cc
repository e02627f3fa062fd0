/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A wafer: a mesh of dies, each a GPU with a router of its own, of which some are dead.
 *
 *     wafer 4x3, dead=5, dead-links=2-3        wafer-io=14@...: ports round the edge
 *
 *      0 --- 1 --- 2     3                       1     2     3     4
 *      |     |     |     |                    0  0 --- 1 --- 2 --- 3  5
 *      4           6 --- 7                   13  4 --- 5 --- 6 --- 7  6
 *      |           |     |                   12  8 --- 9 --- 10--- 11 7
 *      8 --- 9 --- 10--- 11                     11    10     9     8
 *
 * Die number d of wafer w stands at x = d mod columns, y = (d / columns) mod rows; dies of wafer 1
 * follow those of wafer 0. A dead die has neither GPU nor router: GPUs, hosts and ranks are the
 * living dies in order.
 *
 * A die has a NIC for each link that a die within the mesh has (2 a dimension; 1 in one of two
 * dies), and one for each I/O port; those whose link is missing carry nothing. Numbers: +x, -x, +y,
 * -y, I/O. Messages leave by the NIC of the link that their route begins with.
 *
 * I/O ports are spread evenly over the 2 (columns + rows) places round the edge, corners having
 * two, clockwise from the top left. Port k of every wafer leads to one switch, io-k.
 *
 * Routes. Where the living dies are a box of one wafer with all of its links, the network is the
 * product of two lines (families/dims.cc), and routes go along x, then y. Else they go up and down
 * in one order of all routers (up-down-routes.h), so that no messages wait for each other in a
 * circle.
 */
#include "topologies/families/dims.h"
#include "topologies/families/wafer-plan.h"
#include "topologies/names.h"
#include "topologies/up-down-routes.h"

#include <memory>
#include <utility>

namespace topo
{

namespace
{

/// Table entries of a network with holes: 64 B each.
constexpr uint64_t kMostEntries = 1u << 21;

/// Builds a network with holes, or of several wafers.
class WaferBuilder
{
  public:
    WaferBuilder(const TopologyRequest& request, const WaferPlan& plan)
        : m_request(request),
          m_plan(plan),
          m_nics(plan.Nics())
    {
    }

    Topology Build()
    {
        detail::AddServers(&m_topology, m_plan.Living());
        m_router.assign(m_plan.Dies(), kNoNode);
        for (uint32_t die = 0; die < m_plan.Dies(); ++die)
        {
            if (m_plan.dead[die])
            {
                continue;
            }
            std::vector<uint32_t> at = {die / m_plan.x.size % m_plan.y.size, die % m_plan.x.size};
            if (m_plan.wafers > 1)
            {
                at.insert(at.begin(), die / m_plan.PerWafer());
            }
            m_router[die] = m_topology.AddSwitchAt("r", 1, at);
            m_dies.push_back(die);
        }
        for (uint32_t host = 0; host < m_dies.size(); ++host)
        {
            for (uint32_t nic = 0; nic < m_nics; ++nic)
            {
                const Dimension& of = nic < FirstIo() ? m_plan.x : m_plan.io;
                m_topology.Connect(m_topology.Hosts()[host],
                                   m_router[m_dies[host]],
                                   of.rate,
                                   rdma::Duration(0),
                                   m_request.bitErrorRate);
            }
        }
        m_nicOfPort.resize(m_topology.Nodes().size());
        for (const uint32_t die : m_dies)
        {
            for (const bool alongX : {true, false})
            {
                const auto next = m_plan.Next(die, alongX);
                if (next && m_plan.HasLink(die, *next))
                {
                    const uint32_t first = alongX ? 0 : m_plan.x.Ports();
                    const uint32_t back = (alongX ? m_plan.x : m_plan.y).Ports() - 1;
                    Join(m_router[die], m_router[*next], alongX ? m_plan.x : m_plan.y);
                    Note(die, first);
                    Note(*next, first + back);
                }
            }
        }
        JoinWafers();
        return std::move(m_topology);
    }

    /// \param nics gets those of each pair
    std::vector<StaticRoute> Routes(const Topology& topology, PairNics* nics) const
    {
        std::vector<StaticRoute> routes;
        UpDownRoutes upDown(topology);
        std::vector<std::optional<PortId>> port(topology.Nodes().size());
        for (uint32_t to = 0; to < m_dies.size(); ++to)
        {
            const NodeId last = m_router[m_dies[to]];
            upDown.Search(last);
            for (NodeId at = 0; at < topology.Nodes().size(); ++at)
            {
                port[at] = topology.Nodes()[at].kind == NodeKind::kSwitch ? upDown.PortOf(at)
                                                                          : std::nullopt;
                for (uint32_t nic = 0; port[at] && nic < m_nics; ++nic)
                {
                    routes.push_back(
                        {at, topology.EndpointOf(to, static_cast<PortId>(nic)), {*port[at]}});
                }
            }
            for (uint32_t from = 0; from < m_dies.size(); ++from)
            {
                if (from != to)
                {
                    nics->At(from, to) = EndsOf(topology, m_router[m_dies[from]], last, port);
                }
            }
        }
        return routes;
    }

  private:
    uint32_t FirstIo() const
    {
        return m_plan.x.Ports() + m_plan.y.Ports();
    }

    void Join(NodeId a, NodeId b, const Dimension& of)
    {
        m_topology.Connect(a, b, of.rate, *of.delay, m_request.bitErrorRate);
    }

    /// The router's newest port is that of this NIC.
    void Note(uint32_t die, uint32_t nic)
    {
        auto& nics = m_nicOfPort[m_router[die]];
        nics.resize(m_topology.Nodes()[m_router[die]].ports.size(), 0);
        nics.back() = static_cast<uint8_t>(nic);
    }

    void JoinWafers()
    {
        std::vector<uint32_t> ports(m_plan.Dies(), 0); // so far
        for (uint32_t port = 0; m_plan.wafers > 1 && port < m_plan.ioPorts; ++port)
        {
            std::vector<std::pair<uint32_t, uint32_t>> joined; // die, and its port of I/O
            for (uint32_t w = 0; w < m_plan.wafers; ++w)
            {
                const uint32_t die = w * m_plan.PerWafer() + m_plan.DieOfPort(port);
                const uint32_t number = ports[die]++;
                if (!m_plan.dead[die])
                {
                    joined.emplace_back(die, number);
                }
            }
            if (joined.size() < 2)
            {
                continue; // a switch that joins nothing
            }
            const NodeId io = m_topology.AddSwitch("io-" + std::to_string(port), 2);
            for (const auto& [die, number] : joined)
            {
                Join(m_router[die], io, m_plan.io);
                Note(die, FirstIo() + number);
            }
        }
    }

    PairNics::Ends EndsOf(const Topology& topology,
                          NodeId at,
                          NodeId last,
                          const std::vector<std::optional<PortId>>& port) const
    {
        PairNics::Ends ends;
        ends.from = m_nicOfPort[at][*port[at]];
        while (at != last)
        {
            const Link& link = Behind(topology, at, *port[at]);
            const bool fromA = link.a == at && link.portA == *port[at];
            at = fromA ? link.b : link.a;
            if (at == last)
            {
                ends.to = m_nicOfPort[at][fromA ? link.portB : link.portA];
            }
        }
        return ends;
    }

    static const Link& Behind(const Topology& topology, NodeId at, PortId port)
    {
        return topology.Links()[topology.Nodes()[at].ports[port]];
    }

    const TopologyRequest& m_request;
    const WaferPlan& m_plan;
    uint32_t m_nics;
    Topology m_topology;
    std::vector<uint32_t> m_dies;                  ///< by host
    std::vector<NodeId> m_router;                  ///< by die
    std::vector<std::vector<uint8_t>> m_nicOfPort; ///< by node: of a router's port
};

std::string
NameOf(const WaferPlan& plan)
{
    std::string name = (plan.wafers > 1 ? std::to_string(plan.wafers) + " wafers " : "wafer ") +
                       SizesText({plan.x.size, plan.y.size});
    const uint32_t dead = plan.Dies() - plan.Living();
    name += dead ? ", " + std::to_string(dead) + " dead" : "";
    return name +
           (plan.deadLinks.empty() ? "" : ", " + Counted(plan.deadLinks.size(), "dead link"));
}

TopologyResult
MakeWafer(const TopologyRequest& r)
{
    TopologyResult result;
    const auto plan = ReadWafer(r, &result.errors);
    if (!plan)
    {
        return result;
    }
    const auto fail = [&](const char* field, const std::string& value, const std::string& problem) {
        result.errors.push_back({field, value, problem, ""});
        return result;
    };
    const std::string name = NameOf(*plan);
    if (r.hosts > plan->Living())
    {
        return fail("hosts",
                    std::to_string(r.hosts),
                    "GPUs are more than the " + Counted(plan->Living(), "living die") + " of " +
                        name);
    }
    if (plan->Nics() > kMostNics)
    {
        return fail(kWaferIo,
                    Quoted(r.parameters.Text(kWaferIo)),
                    "gives a die " + std::to_string(plan->Nics()) + " links; allowed: at most " +
                        std::to_string(kMostNics));
    }
    const uint64_t dies = plan->Living();
    if (!plan->Box() && (dies + plan->ioPorts) * dies * plan->Nics() > kMostEntries)
    {
        return fail(kWafer,
                    Quoted(plan->text),
                    "has " + std::to_string(dies) +
                        " living dies, for whose tables there is no room; allowed with dead dies, "
                        "dead links or several wafers: some 700");
    }
    result.notes = plan->notes;
    Description about;
    if (const auto box = plan->Box())
    {
        result = detail::MakeDimensions(r, *box, std::move(result));
        if (!result.topology)
        {
            return result;
        }
        about = result.topology->About();
        about.parameters = {};
    }
    else
    {
        WaferBuilder builder(r, *plan);
        Topology t = builder.Build();
        auto nics = std::make_shared<PairNics>(plan->Living());
        about.routes = builder.Routes(t, nics.get());
        about.nics = std::move(nics);
        about.noCircles = true;
        about.grid = true;
        result.topology = std::move(t);
        result.notes.push_back(name + ": " + Counted(dies, "GPU") +
                               ", the living dies in order, each with a router and " +
                               Counted(plan->Nics(), "NIC") +
                               ", one for each link of a die; routes go up and down in one order "
                               "of routers");
    }
    about.name = name;
    about.parameters.SetText(kWafer, plan->text);
    if (!plan->ioText.empty())
    {
        about.parameters.SetText(kWaferIo, plan->ioText); // a preset's, too
    }
    result.topology->Describe(std::move(about));
    return result;
}

Family
Wafer()
{
    Family f(kWafer,
             "a wafer: a mesh of dies, each a GPU with a router of its own; dead dies and links "
             "are routed around; several are joined by switches");
    f.parameters = {
        TextParameter(kWafer,
                      "columns x rows @ rate, delay of the mesh of dies; or fred-baseline, "
                      "cerebras-like, dojo-tile")
            .Chosen("needed")
            .Recorded()
            .Example("5x4@750GBps,20ns"),
        TextParameter(kWaferIo, "I/O ports round the edge: number @ rate, delay")
            .Chosen("none, or the preset's")
            .Example("18@128GBps,100ns"),
        CountParameter(kWafers, "wafers, joined by a switch for each of their I/O ports")
            .Range(1, 1024)
            .Standard("1")
            .Example("2"),
        TextParameter(kDead, "dies that do not work, by number: x + columns y")
            .Chosen("none")
            .Example("3,11"),
        TextParameter(kDeadLinks, "links of neighbouring dies that do not work")
            .Chosen("none")
            .Example("4-5"),
    };
    f.fabricLinks = false;
    f.sizedBy = {kWafer};
    f.tiers = {"router", "io"};
    f.routing = "updn,dfsssp";
    f.portsOfHost = [](const TopologyRequest& r) -> std::optional<uint32_t> {
        std::vector<Error> errors;
        TopologyRequest completed = r;
        if (!r.parameters.Has(kWafers))
        {
            completed.parameters.SetCount(kWafers, 1);
        }
        const auto plan = ReadWafer(completed, &errors);
        return plan ? std::optional<uint32_t>(plan->Nics()) : std::nullopt;
    };
    f.make = MakeWafer;
    return f;
}

const RegisteredFamily g_wafer(Wafer());

} // namespace

} // namespace topo
