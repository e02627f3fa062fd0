/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/estimate.h"

#include "collectives/placement.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "scenarios/spec/cluster-options.h"
#include "topologies/routes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace scenario
{

namespace
{

/// Beyond this a schedule is sampled.
constexpr double kMostSteps = 4e6;

/// Adds up messages.
class Counter
{
  public:
    Counter(const topo::Topology& topology, const FabricSpec& fabric)
        : m_topology(topology),
          m_fabric(fabric),
          m_routes(topo::ComputeRoutes(topology)),
          m_out(topology.Endpoints().size()),
          m_in(topology.Endpoints().size())
    {
    }

    const topo::Topology& Network() const
    {
        return m_topology;
    }

    /// `times` messages of `bytes`.
    void Add(topo::EndpointId from, topo::EndpointId to, uint64_t bytes, double times)
    {
        const uint64_t packets = std::max<uint64_t>(1, (bytes + m_fabric.mtu - 1) / m_fabric.mtu);
        const uint64_t acks = (packets + m_fabric.ackEvery - 1) / m_fabric.ackEvery;
        const uint32_t hops = m_routes.Hops(from, to);
        const double n = static_cast<double>(packets) * times;
        m_sum.messages += times;
        m_sum.networkBytes += static_cast<double>(bytes) * times;
        m_sum.dataPackets += n;
        m_sum.ackPackets += static_cast<double>(acks) * times;
        m_sum.frameHops += hops * (n + static_cast<double>(acks) * times);
        m_dataHops += hops * n;
        // Of a whole packet: a short frame is padded.
        const double header =
            static_cast<double>(m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu)) - m_fabric.mtu;
        const double wire = (static_cast<double>(bytes) + static_cast<double>(packets) * header) * times;
        m_out[from] += wire;
        m_in[to] += wire;
    }

    void Compute(double seconds)
    {
        m_sum.computeSeconds += seconds;
    }

    void Sampled()
    {
        m_sum.sampled = true;
    }

    Estimate Result() const
    {
        Estimate e = m_sum;
        e.meanHops = e.dataPackets > 0 ? m_dataHops / e.dataPackets : 0;
        const auto& endpoints = m_topology.Endpoints();
        for (size_t i = 0; i < endpoints.size(); ++i)
        {
            const auto& link = m_topology.Links()[m_topology.Nodes()[endpoints[i].host].ports[endpoints[i].port]];
            e.busiestPortSeconds = std::max(e.busiestPortSeconds, std::max(m_out[i], m_in[i]) * 8 / static_cast<double>(link.rate.bps));
        }
        return e;
    }

  private:
    const topo::Topology& m_topology;
    const FabricSpec& m_fabric;
    rdma::EcmpRoutes m_routes;
    std::vector<double> m_out; ///< wire bytes per endpoint
    std::vector<double> m_in;
    Estimate m_sum;
    double m_dataHops = 0;
};

/// One collective over all `members` (ranks of the run), `times` over.
void
AddCollective(Counter* counter,
              const coll::Collective& what,
              const std::vector<coll::Rank>& members,
              const ClusterSpec& cluster,
              const CollectiveOptions& options,
              double times)
{
    const coll::Placement all = RankPlacement(cluster);
    coll::Placement placement = all;
    placement.serverOf.clear();
    placement.gpuOf.clear();
    for (const coll::Rank r : members)
    {
        placement.serverOf.push_back(all.serverOf[r]);
        placement.gpuOf.push_back(all.gpuOf[r]);
    }
    const auto schedule = AlgorithmOf(options, what.op, placement).Make(what, placement, options.options);

    double steps = 0;
    for (coll::Rank r = 0; r < what.ranks; ++r)
    {
        for (coll::Lane l = 0; l < schedule->Lanes(r); ++l)
        {
            steps += schedule->Steps(r, l);
        }
    }
    // Evenly: steps stride/2, stride/2 + stride, ... of a lane stand for stride steps each.
    const uint32_t stride = steps > kMostSteps ? static_cast<uint32_t>(std::ceil(steps / kMostSteps)) : 1;
    if (stride > 1)
    {
        counter->Sampled();
    }
    const uint32_t nics = std::max(1u, cluster.server.nics);
    const auto& topology = counter->Network();
    for (coll::Rank r = 0; r < what.ranks; ++r)
    {
        const uint32_t from = placement.serverOf[r];
        for (coll::Lane l = 0; l < schedule->Lanes(r); ++l)
        {
            const coll::StepIndex count = schedule->Steps(r, l);
            const coll::StepIndex samples = (count + stride - 1) / stride;
            if (samples == 0)
            {
                continue;
            }
            const double weight = static_cast<double>(count) / samples * times;
            const auto nic = static_cast<topo::PortId>(schedule->Channel(l) % nics);
            for (coll::StepIndex i = 0; i < samples; ++i)
            {
                const coll::Step step = schedule->At(r, l, std::min(count - 1, i * stride + stride / 2));
                if (step.sendPeer == coll::kNoRank || placement.serverOf[step.sendPeer] == from)
                {
                    continue;
                }
                counter->Add(topology.EndpointOf(cluster.hostOfServer[from], nic),
                             topology.EndpointOf(cluster.hostOfServer[placement.serverOf[step.sendPeer]], nic),
                             step.sendBytes,
                             weight);
            }
        }
    }
}

Estimate
Times(Estimate e, double n)
{
    e.messages *= n;
    e.networkBytes *= n;
    e.dataPackets *= n;
    e.ackPackets *= n;
    e.frameHops *= n;
    e.busiestPortSeconds *= n;
    e.computeSeconds *= n;
    return e;
}

} // namespace

Estimate
EstimateStep(const TrainingScenario& s)
{
    Counter counter(s.cluster.topology, s.fabric);

    // Ranks of one role do the same, so a task of role 0 happens once a group.
    std::map<std::tuple<coll::Op, uint64_t, uint32_t>, double> collectives;
    double compute = 0;
    for (const auto& task : s.plan.roles[0].tasks)
    {
        if (task.kind == training::TaskKind::kCollective)
        {
            collectives[{task.op, task.bytes, task.group}] += 1;
        }
        else if (task.stream == 0)
        {
            compute += task.duration.Seconds();
        }
    }
    for (const auto& [key, times] : collectives)
    {
        const auto& [op, bytes, group] = key;
        for (const auto& members : s.plan.groupKinds[group].groups)
        {
            coll::Collective what;
            what.op = op;
            what.bytes = bytes;
            what.ranks = static_cast<coll::Rank>(members.size());
            AddCollective(&counter, what, members, s.cluster, s.collectives, times);
        }
    }
    counter.Compute(compute);
    return counter.Result();
}

Estimate
EstimateRun(const TrainingScenario& s)
{
    return Times(EstimateStep(s), static_cast<double>(s.steps) + s.warmupSteps);
}

Estimate
EstimateRun(const CollperfScenario& s)
{
    Counter counter(s.cluster.topology, s.fabric);
    std::vector<coll::Rank> members(s.ranks);
    for (coll::Rank r = 0; r < s.ranks; ++r)
    {
        members[r] = r;
    }
    for (const uint64_t bytes : s.sizes)
    {
        AddCollective(&counter, {s.op, bytes, s.ranks, s.root}, members, s.cluster, s.collectives,
                      static_cast<double>(s.iterations) + s.warmupIterations);
    }
    return counter.Result();
}

Estimate
EstimateRun(const TrafficScenario& s)
{
    Counter counter(s.topology, s.fabric);
    for (const auto& f : s.flows)
    {
        counter.Add(f.src, f.dst, f.bytes, 1);
    }
    return counter.Result();
}

} // namespace scenario
