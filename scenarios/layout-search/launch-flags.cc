/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/launch-flags.h"

#include "scenarios/network/server-kinds.h"

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
    const std::string line = "torchrun --nnodes=" + std::to_string(cluster.cluster.servers) +
                             " --nproc-per-node=" + std::to_string(cluster.cluster.server.gpus);
    if (cluster.cluster.kinds.empty())
    {
        return line + " --rdzv-backend=c10d --rdzv-endpoint=$HEAD_NODE:29500 train.py";
    }
    // c10d's rendezvous sorts nodes by their addresses (PyTorch, torch/distributed/elastic/
    // rendezvous/dynamic_rendezvous.py); the static one takes the ranks that are given.
    return line +
           " --node-rank=$NODE_RANK --master-addr=$HEAD_NODE --master-port=29500 train.py"
           " # node ranks in this order: " +
           scenario::ServerKindsText(cluster.cluster);
}

} // namespace planner
