/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/planner/launch-flags.h"

#include "scenarios/options/cluster/server-kinds.h"

namespace planner
{

std::vector<std::string>
MegatronFlags(const training::TrainingOptions& options, const scenario::Values* given)
{
    return LaunchOfMegatron(options, given).flags;
}

nlohmann::ordered_json
DeepSpeedConfig(const training::TrainingOptions& options, const scenario::Values* given)
{
    return LaunchOfDeepSpeed(options, given).config;
}

std::string
TorchrunLine(const scenario::TrainingScenario& cluster)
{
    return "torchrun --nnodes=" + std::to_string(cluster.cluster.servers) +
           " --nproc-per-node=" + std::to_string(cluster.cluster.server.gpus) +
           " --rdzv-backend=c10d --rdzv-endpoint=$HEAD_NODE:29500 train.py" +
           (cluster.cluster.kinds.empty()
                ? ""
                : " # node ranks in this order: " + scenario::ServerKindsText(cluster.cluster));
}

} // namespace planner
