/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What collperf's times are compared with.
 */
#include "collectives/core/cost.h"
#include "reports/programs/collperf-table.h"

#include <algorithm>

namespace reports
{

double
LeastSecondsByBytes(const scenario::CollperfScenario& scenario,
                    uint64_t bytes,
                    const coll::Algorithm& algorithm)
{
    // Uneven blocks: what the busiest has to send is not what the formulas take.
    if (scenario.op == coll::Op::kAllToAllV && !scenario.blockWeights.empty())
    {
        return 0;
    }
    const coll::Machine& machine = scenario.collectives.machine;
    const coll::InNetwork adds = algorithm.Uses();
    const uint32_t servers = scenario.cluster.servers;
    const double nics = machine.nicRate * machine.nics;
    const auto least = [&](bool switches, double byMessages) {
        return switches ? coll::LeastBytesWithSwitches(scenario.op, bytes, byMessages) : byMessages;
    };
    const double perServer =
        servers > 1
            ? least(adds.fabricSwitches,
                    coll::LeastBytesPerServer(scenario.op, bytes, scenario.ranks, servers)) /
                  nics
            : 0;
    // Data that leave a GPU go over its ports inside the server or over NICs, which share nothing
    // here (docs/limits.md). All of a server's GPUs are alike, so each has its share of the NICs.
    // But all bytes of a gather or a scatter are the root's, and no other GPU needs the NICs.
    const uint32_t gpus = scenario.ranks / std::max<uint32_t>(1, servers);
    const bool ofRoot = scenario.op == coll::Op::kGather || scenario.op == coll::Op::kScatter;
    const double share = ofRoot ? nics : nics / gpus;
    const double rate = (gpus > 1 ? machine.insideRate : 0) + (servers > 1 ? share : 0);
    const bool known = rate > 0 && (gpus == 1 || machine.insideRate > 0);
    const double perRank =
        known ? least(adds.serverSwitch || adds.fabricSwitches,
                      coll::LeastBytesPerRank(scenario.op, bytes, scenario.ranks)) /
                    rate
              : 0;
    return std::max(perServer, perRank);
}

} // namespace reports
