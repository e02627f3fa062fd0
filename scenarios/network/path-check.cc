/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What load balancers and deadlocks make of the network's paths.
 */
#include "contrib/rdma/core/hop-comparison.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/network-kinds.h"
#include "topologies/family.h"
#include "topologies/route-cycles.h"

#include <algorithm>
#include <set>
#include <utility>

namespace scenario
{

void
NetworkChecker::RefuseDetours()
{
    const std::string& balancer = m_fabric.balancing.name;
    if (!MakesDetours(balancer))
    {
        return;
    }
    const auto refuse = [&](const std::string& why) {
        m_errors->push_back({m_read.values.Where(&asked::Fabric::loadBalancer), balancer, why, ""});
    };
    // Dragonflies, HyperX and tori have links between switches of a tier; trees have none.
    const auto& nodes = m_topology.Nodes();
    const bool sideways = std::any_of(m_topology.Links().begin(),
                                      m_topology.Links().end(),
                                      [&nodes](const topo::Link& link) {
                                          return nodes[link.a].kind == topo::NodeKind::kSwitch &&
                                                 nodes[link.b].kind == topo::NodeKind::kSwitch &&
                                                 nodes[link.a].tier == nodes[link.b].tier;
                                      });
    if (!sideways)
    {
        refuse("makes detours, and this network has nothing to gain by them: its links lead up "
               "and down, and shortest ways are all that lead to its top; allowed where "
               "switches of a tier are linked: --topology=dragonfly, dragonfly-plus, hyperx, "
               "torus, such a file");
        return;
    }
    using Groups = std::set<std::pair<bool, uint32_t>>; // parts, and switches of none
    const auto add = [this](Groups* to, topo::NodeId edge) {
        const auto coordinates = m_topology.Coordinates(edge);
        const bool part = !m_topology.About().part.empty() && coordinates.size() > 1;
        to->emplace(part, part ? coordinates.front() : edge);
    };
    Groups groups;
    for (const topo::Endpoint& end : m_topology.Endpoints())
    {
        add(&groups, m_topology.Peer(end.host, end.port));
    }
    if (groups.size() >= 3)
    {
        return;
    }
    Groups all;
    for (topo::NodeId n = 0; n < nodes.size(); ++n)
    {
        if (nodes[n].kind == topo::NodeKind::kSwitch && nodes[n].tier <= 1)
        {
            add(&all, n);
        }
    }
    // A user who has not given the number of hosts may not know this.
    const std::string option = m_cluster ? "servers" : "hosts";
    const bool empty = all.size() > groups.size() && !m_fromFile;
    refuse("makes detours by a third group of switches, and here hosts hang on " +
           std::to_string(groups.size()) +
           (empty ? " of " + std::to_string(all.size()) + ": " + m_read.values.Where(option) + "=" +
                        std::to_string(m_topology.Hosts().size()) +
                        " leaves the others empty; allowed: more of them, other load balancers"
                  : "; allowed: other load balancers"));
}

void
NetworkChecker::WarnOfCircles()
{
    const topo::Family* family = topo::FindFamily(m_topology.About().family);
    const bool credits = m_fabric.infiniBand && m_fabric.ib.adaptiveRouting;
    const bool pauses = m_fabric.pfc && m_read.values.Get(&asked::Fabric::pfcWatchdog).ps == 0;
    if (!HasPackets(m_fabric) || !(credits || pauses))
    {
        return;
    }
    if (!credits && MakesDetours(m_fabric.balancing.name))
    {
        m_notes->push_back(
            "warning: PFC can deadlock with --load-balancer=" + m_fabric.balancing.name +
            ": detours can wait for each other in a circle; --pfc-watchdog "
            "ends it, --no-pfc avoids it");
        return;
    }
    if (family && family->noCycles)
    {
        return;
    }
    if (pauses && m_topology.About().noCircles && !m_topology.About().routes.empty())
    {
        return;
    }
    const auto& dimensions = m_topology.About().dimensions;
    if (!dimensions.empty() && !m_topology.About().routes.empty())
    {
        const bool rings = std::any_of(dimensions.begin(), dimensions.end(), [](const auto& one) {
            return one.kind == topo::DimensionKind::kRing && one.size > 3;
        });
        if (rings)
        {
            m_notes->push_back("warning: PFC can deadlock on this network: messages over several "
                               "links of a ring can wait for each other in a circle. Those of "
                               "algorithms torus and by-dimension go to neighbours and cannot, but "
                               "for all-to-all; --fabric=ib has lanes for it");
        }
        return;
    }
    constexpr size_t kShown = 6;
    const auto cycle = topo::FindRouteCycle(m_topology);
    if (!cycle || cycle->empty())
    {
        return;
    }
    std::string text;
    for (size_t i = 0; i < cycle->size() && i < kShown; ++i)
    {
        text += (i ? " waits for " : "") + m_topology.LinkName((*cycle)[i].link, (*cycle)[i].fromA);
    }
    m_notes->push_back(
        std::string("warning: ") +
        (credits ? "--adaptive-routing can deadlock here: shortest paths can wait for credits in "
                   "a circle, as "
                 : "PFC can deadlock on this network: shortest paths can wait for each other in "
                   "a circle, as ") +
        text +
        (cycle->size() > kShown ? " and so on, over " + std::to_string(cycle->size()) + " links"
                                : " waits for the first") +
        (credits ? "; --no-adaptive-routing leaves it to --ib-routing, a larger --vl-buffer "
                   "makes it rarer"
                 : "; --pfc-watchdog ends it, --no-pfc avoids it"));
}

void
NetworkChecker::WarnOfWays()
{
    const std::string attribute = "ns3::RdmaSwitch::LoadBalancer";
    const std::string own = m_fabric.infiniBand ? "" : Ns3Value(attribute);
    if (!own.empty() && m_fabric.balancing.name != "ecmp" && own != m_fabric.balancing.name)
    {
        m_errors->push_back({m_read.values.Where(&asked::Fabric::loadBalancer),
                             m_fabric.balancing.name,
                             "--" + attribute + "=" + own + " says another; allowed: one of them",
                             ""});
    }
    const std::string balancer = own.empty() ? m_fabric.balancing.name : own;
    // One of a user's own may do anything.
    const LoadBalancer* scheme = FindLoadBalancer(balancer);
    const bool several = !scheme || scheme->order == LoadBalancer::Order::kLost;
    if (!several || !HasPackets(m_fabric) || m_topology.SwitchCount() <= 1)
    {
        return;
    }
    const auto warn = [&](const std::string& law) {
        m_notes->push_back("warning: " + law + " with " +
                           (m_fabric.ib.adaptiveRouting
                                ? "--adaptive-routing"
                                : (own.empty() ? "--load-balancer" : attribute) + "=" + balancer) +
                           ": it compares what switches say of themselves from packet to "
                           "packet, and here these take different ways: messages of many "
                           "packets may be slower by far");
    };
    if (rdma::ComparesHops::Is(m_fabric.cc))
    {
        warn("--cc=" + m_fabric.cc);
    }
    for (const TrafficClass& of : m_fabric.classes)
    {
        if (of.cc != m_fabric.cc && rdma::ComparesHops::Is(of.cc))
        {
            warn(of.cc + " of class " + of.name);
        }
    }
}

} // namespace scenario
