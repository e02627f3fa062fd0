/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a job does about a failure: --recovery, how it hears of one, what a checkpoint costs.
 */
#ifndef SCENARIOS_NETWORK_RECOVERY_OPTIONS_H
#define SCENARIOS_NETWORK_RECOVERY_OPTIONS_H

#include "collectives/core/schedule.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/network/recovery-policy.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/placement/gpu-place.h"
#include "scenarios/training/checkpoint-parts.h"
#include "scenarios/training/steps/speed-profile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace scenario
{

struct ClusterSpec;
struct TrainingScenario;

struct RecoverySpec
{
    const RecoveryPolicy* policy = nullptr; ///< set
    rdma::Duration watchdog;        ///< time after which a collective or message is taken for hung
    rdma::Duration monitorInterval; ///< until the launcher knows that a process is gone
    rdma::Duration abort;           ///< until all ranks have given up
    rdma::Duration restart;         ///< until they can communicate again, without reading
    rdma::Duration restartInstead;  ///< the same, where a policy that repeats has to restart
    uint32_t mostRestarts = 0;
    uint32_t checkpointEvery = 0; ///< steps between checkpoints; 0: no checkpoints
    rdma::BitRate checkpointRate; ///< rate of a server to and from the checkpoint storage
    /// Ranks wait only until their data are copied to their server's memory.
    bool writesBehind = false;
    rdma::BitRate copyRate; ///< rate of each rank's copy
    training::CheckpointParts checkpoint;
    uint32_t gpus = 0; ///< GPUs of a server; set with checkpoints
    /// Hosts that keep checkpoints and receive them as packets. Empty: checkpoints take the time of
    /// checkpointRate.
    std::vector<uint32_t> checkpointHosts;
    std::vector<uint32_t> spares; ///< hosts of the topology, in the order in which they are taken
    std::map<std::size_t, GpuPlace> faultyGpus; ///< by the fault's place in FaultPlan::faults
    /// Speeds of the spares' GPUs that have faults.
    std::map<GpuPlace, training::SpeedProfile> spareSpeeds;

    /// \param bytesOf by rank
    uint64_t MostOfServer(const std::vector<uint64_t>& bytesOf) const;

    /// Until all servers, at once, have written or read this at checkpointRate.
    /// \param bytesOf by rank
    rdma::Duration TimeAtRate(const std::vector<uint64_t>& bytesOf) const;

    /// Until all ranks, at once, have copied this. \param bytesOf by rank
    rdma::Duration CopyTime(const std::vector<uint64_t>& bytesOf) const;
};

/// Whether a job has states that it could write.
enum class Checkpoints : uint8_t
{
    kNone,
    kOfModel
};

/// The rows for dltrain and, without checkpoints, for collperf.
std::vector<Option> RecoveryOptionRows(Checkpoints checkpoints);

/// Hosts that the network is to have beside the job's: --spares, --checkpoint-servers and
/// --memory-servers.
uint32_t ReservedOf(const Validation& v);

/// These hosts, as far as the network has them.
std::vector<uint32_t> ReservedHosts(const Validation& v, const ClusterSpec& cluster);

/// The hosts of the spare servers, as far as the network has them.
std::vector<uint32_t> SpareHosts(const Validation& v, const ClusterSpec& cluster);

/// \return the speed of the GPU that a rank has, if its server is at this host; null: never slower
const training::SpeedProfile* SpeedAt(const TrainingScenario& scenario,
                                      uint32_t host,
                                      coll::Rank rank);

/// RecoverySpec::faultyGpus and spareSpeeds. \param spec its spares are there
void PlaceGpuFaults(Validation* v, const ClusterSpec& cluster, RecoverySpec* spec);

/// Errors are added. \param cluster whose servers stand \param scenario plan and options are there
/// \return null: no option of recovery is in use
std::shared_ptr<const RecoverySpec> MakeRecovery(Validation* v,
                                                 const ClusterSpec& cluster,
                                                 const TrainingScenario& scenario);

/// What failures and checkpoints cost a job, for a program that has no network to simulate them on:
/// times, rates and sizes, by the same options and defaults. Errors are added. \param v with
/// --recovery and --checkpoint-every given
RecoverySpec RecoveryCosts(Validation* v,
                           const ClusterSpec& cluster,
                           const training::TrainingOptions& options);

} // namespace scenario

#endif // SCENARIOS_NETWORK_RECOVERY_OPTIONS_H
