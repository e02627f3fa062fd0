/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/recovery-policy.h"

#include "scenarios/asked/recovery.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"

namespace scenario
{

namespace
{

/// Whether replicas can do without others.
void
CheckShrink(Validation* v, const training::TrainingOptions& o)
{
    if (o.sharding.optimizer)
    {
        v->Fail(&asked::Recovery::recovery,
                "ZeRO stage " + std::to_string(o.sharding.Stage()) +
                    " has shards of the optimizer's states on every rank, of which a failed "
                    "one's are lost; allowed: shrink with --zero=0, or restart");
    }
    if (o.expert > 1 || o.Folded())
    {
        v->Fail(&asked::Recovery::recovery,
                "experts are shared out among replicas, and a failed one's are lost; allowed: "
                "shrink with --ep=1, or restart");
    }
    if (o.Data() < 2)
    {
        v->Fail(&asked::Recovery::recovery,
                "there is one replica of the model, and nobody would be left; allowed: shrink "
                "with several, or restart");
    }
}

RecoveryPolicy
Restart()
{
    RecoveryPolicy policy{"restart",
                          2,
                          "all ranks end, and the job begins again from its last checkpoint, on "
                          "spare servers in place of those that failed"};
    policy.recovers = policy.restarts = true;
    policy.restartTime = "30s";
    return policy;
}

RecoveryPolicy
Shrink()
{
    RecoveryPolicy policy{"shrink",
                          3,
                          "replicas that have lost a rank leave, the others do the step again "
                          "(--zero=0, as other stages have lost a shard)"};
    policy.recovers = true;
    policy.check = CheckShrink;
    return policy;
}

RecoveryPolicy
Rebuild()
{
    RecoveryPolicy policy{
        "rebuild",
        4,
        "the ranks that are left, or with the NICs that are left, repeat the collectives that were "
        "under way, and go on; a restart where a failed rank's state is lost"};
    policy.recovers = policy.repeats = true;
    policy.instead = "restart";
    return policy;
}

const RegisteredRecoveryPolicy g_none({"none", 1, "it stands still"});
const RegisteredRecoveryPolicy g_restart(Restart());
const RegisteredRecoveryPolicy g_shrink(Shrink());
const RegisteredRecoveryPolicy g_rebuild(Rebuild());

} // namespace

} // namespace scenario
