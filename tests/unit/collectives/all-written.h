/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every algorithm of every operation as a list of steps, for tests that damage them.
 */
#ifndef TESTS_COLLECTIVES_ALL_WRITTEN_H
#define TESTS_COLLECTIVES_ALL_WRITTEN_H

#include "list-schedule.h"
#include "prove.h"

namespace coll
{

/// Every algorithm written out: 4 ranks on 2 servers, 6 on 3, 7 on 4 (where it can), each cut into
/// a few messages. All servers, and the network between them, have switches that add up.
inline std::vector<std::pair<std::string, ListSchedule>>
AllWritten()
{
    std::vector<std::pair<std::string, ListSchedule>> all;
    for (const uint32_t n : {4, 6, 7})
    {
        auto placement = UniformPlacement((n + 1) / 2, 2);
        placement.serverOf.resize(n);
        placement.gpuOf.resize(n);
        for (const Op op : AllOps())
        {
            for (const Algorithm* algorithm : AlgorithmsFor(op))
            {
                const Collective what{op, op == Op::kBarrier ? 0UL : 163UL, n, 0};
                const AlgorithmOptions options{n == 4 ? 2U : 1U, n == 4 ? 25U : 60U};
                for (const Placement& wish :
                     {placement, UniformPlacement(n, 1), UniformPlacement(1, n)})
                {
                    const Placement one = WithSwitches(wish, 2);
                    if (algorithm->WhyNot(what, one, options).empty())
                    {
                        all.emplace_back(OpName(op) + " " + algorithm->Name() + " of " +
                                             std::to_string(n),
                                         *algorithm->Make(what, one, options));
                        break; // else it is for one rank a server, or for one server
                    }
                }
            }
        }
    }
    return all;
}

} // namespace coll

#endif // TESTS_COLLECTIVES_ALL_WRITTEN_H
