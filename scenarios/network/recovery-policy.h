/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a job does about a failure (--recovery). A policy registers itself in recovery-policy.cc.
 */
#ifndef SCENARIOS_NETWORK_RECOVERY_POLICY_H
#define SCENARIOS_NETWORK_RECOVERY_POLICY_H

#include "topologies/registered.h"

#include <string>

namespace training
{
struct TrainingOptions;
}

namespace scenario
{

struct Validation;

struct RecoveryPolicy
{
    static constexpr const char* kWhat = "recovery policies";

    std::string name;
    int rank;
    std::string description; ///< of --help
    /// It does something; with neither of the next two, replicas that lost a rank leave.
    bool recovers = false;
    bool restarts = false;    ///< all ranks end, the job begins again from its last checkpoint
    bool repeats = false;     ///< those that are left repeat the collectives that were under way
    std::string instead = {}; ///< the policy where it cannot repeat
    std::string restartTime = "1s"; ///< default of --restart-time; assumed
    /// Adds an error if a job cannot do it; null: all can.
    void (*check)(Validation* v, const training::TrainingOptions& o) = nullptr;

    /// Whether steps that have ended may have to be done again, and spares replace servers.
    bool MayRestart() const
    {
        return restarts || repeats;
    }
};

using RegisteredRecoveryPolicy = topo::Registered<RecoveryPolicy>;

} // namespace scenario

#endif // SCENARIOS_NETWORK_RECOVERY_POLICY_H
