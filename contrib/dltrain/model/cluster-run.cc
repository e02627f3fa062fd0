/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cluster-run.h"

#include "capture-setup.h"
#include "collectives/cost.h"
#include "fabric-builder.h"
#include "scenarios/spec/validate.h"
#include "topology-file.h"

#include "ns3/simulator.h"

#include <cmath>
#include <iostream>

namespace dltrain
{

ClusterRun::ClusterRun(std::string program,
                       const scenario::RunOptions& run,
                       const scenario::FabricSpec& fabric,
                       const scenario::ClusterSpec& cluster,
                       bool warmup)
    : m_program(std::move(program)),
      m_run(run),
      m_spec(fabric),
      m_cluster(cluster),
      m_warmup(warmup),
      m_control(run)
{
}

ClusterRun::~ClusterRun()
{
    m_collector.reset();
    m_fabric.reset();
    ns3::Simulator::Destroy();
}

std::string
ClusterRun::Build()
{
    std::string error;
    m_fabric = BuildFabric(m_spec, m_cluster.topology, m_run, error);
    if (!m_fabric)
    {
        return error;
    }
    TraceCollector::Options options;
    options.out = m_run.out;
    options.seed = m_run.seed;
    options.warmup = m_warmup;
    options.attribution = m_run.attribution;
    options.queuePairs = m_run.traceQueuePairs;
    m_collector = std::make_unique<TraceCollector>(*m_fabric, options);
    if (OutputErrors::Any())
    {
        return OutputErrors::First();
    }
    error = WriteSubnet(*m_fabric, m_spec, m_run);
    if (!error.empty())
    {
        return error;
    }
    error = StartCaptures(*m_fabric, m_run);
    if (!error.empty())
    {
        return error;
    }
    WriteTopology(m_run.out, m_cluster.topologyName, m_cluster.topology, m_cluster.hostOfServer);
    m_control.Watch(*m_collector);
    return {};
}

const RunStats&
ClusterRun::Finish()
{
    FinishCaptures();
    m_stats = CollectRunStats(*m_collector, ns3::RdmaClock::Now());
    return m_stats;
}

bool
ClusterRun::WriteStatistics(const RunOutcome& outcome,
                            const nlohmann::ordered_json& body,
                            uint32_t gpus)
{
    nlohmann::ordered_json stats = BeginStats(m_program, m_run, outcome);
    stats["gpus"] = gpus;
    stats["servers"] = m_cluster.servers;
    if (m_cluster.server.gpus > 1)
    {
        const topo::ScaleUp& inside = m_cluster.server.scaleUp;
        const double bps = static_cast<double>(inside.perGpu.bps) * inside.efficiency;
        stats["scale_up"] = {{"kind", topo::ToString(inside.kind)},
                             {"gpu_gbps", std::round(bps) / 1e9}};
    }
    stats.update(body);
    AddRunStats(stats, m_stats);
    AddCosts(stats, outcome, m_stats.frameHops);
    stats["simulated_gpu_s_per_core_s"] =
        outcome.eventLoopS > 0
            ? static_cast<double>(outcome.simulatedPs) * 1e-12 * gpus / outcome.eventLoopS
            : 0;
    std::string error;
    if (!WriteStats(stats, m_run.out, error))
    {
        OutputErrors::Add(error);
        return false;
    }
    return true;
}

int
ClusterRun::Status(const RunOutcome& outcome) const
{
    return OutputErrors::Status(m_program, outcome.exitStatus);
}

Bandwidth
BandwidthOf(coll::Op op, uint64_t bytes, uint32_t ranks, double timeUs)
{
    const double algbw = timeUs > 0 ? static_cast<double>(bytes) / timeUs * 1e-3 : 0;
    return {algbw, algbw * coll::BusBwFactor(op, ranks)};
}

int
SayError(const std::string& program, const std::string& error, const scenario::RunOptions* run)
{
    if (run)
    {
        scenario::DropOutput(*run);
    }
    std::cerr << program << ": error: " << error << "\n";
    return OutputErrors::Any() ? 1 : 2;
}

} // namespace dltrain
