/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CLUSTER_RUN_H
#define DLTRAIN_CLUSTER_RUN_H

#include "collective-runner.h"
#include "run-control.h"
#include "run-report.h"
#include "trace-collector.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace dltrain
{

/**
 * What every simulation of ranks on a cluster has: the fabric, its collector and captures, run
 * control, and the two ways out (a report; one clear error and status 2).
 */
class ClusterRun
{
  public:
    /// \param warmup nothing is measured before Collector().StartMeasuring
    ClusterRun(std::string program,
               const scenario::RunOptions& run,
               const scenario::FabricSpec& fabric,
               const scenario::ClusterSpec& cluster,
               bool warmup);
    ~ClusterRun();

    /// Build the fabric and all that listens to it. \return why it cannot be built, or nothing
    std::string Build();

    ns3::RdmaFabric& Fabric()
    {
        return *m_fabric;
    }

    TraceCollector& Collector()
    {
        return *m_collector;
    }

    const TraceCollector& Collector() const
    {
        return *m_collector;
    }

    RunControl& Control()
    {
        return m_control;
    }

    const scenario::RunOptions& Options() const
    {
        return m_run;
    }

    /// Close the collector's files and take the numbers. Once, after the event loop.
    const RunStats& Finish();

    /// stats.json: head, then `body`, then the fabric's keys and the costs.
    /// \param gpus for simulated_gpu_s_per_core_s
    /// \return false if it could not be written, which Status says
    bool WriteStatistics(const RunOutcome& outcome,
                         const nlohmann::ordered_json& body,
                         uint32_t gpus);

    /// \return the exit status: the outcome's, or 1 if an output failed, which is said. Last.
    int Status(const RunOutcome& outcome) const;

  private:
    std::string m_program;
    const scenario::RunOptions& m_run;
    const scenario::FabricSpec& m_spec;
    const scenario::ClusterSpec& m_cluster;
    bool m_warmup;
    RunControl m_control;
    std::unique_ptr<ns3::RdmaFabric> m_fabric;
    std::unique_ptr<TraceCollector> m_collector;
    RunStats m_stats;
};

/// algbw and busbw of a collective in GB/s (10^9), as nccl-tests defines them.
struct Bandwidth
{
    double algbw = 0;
    double busbw = 0;
};

Bandwidth BandwidthOf(coll::Op op, uint64_t bytes, uint32_t ranks, double timeUs);

/// An error of the user's input that only came out while building: to standard error, status 2; or
/// of a file that cannot be written (OutputErrors have one): 1. With `run`, the folder that was
/// made for its results is taken back.
int SayError(const std::string& program,
             const std::string& error,
             const scenario::RunOptions* run = nullptr);

} // namespace dltrain

#endif // DLTRAIN_CLUSTER_RUN_H
