/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedule::At at the size of the 3,072-GPU preset. A step of ring all-reduce there is 19 M calls a
 * bucket, so a call should take well under 25 ns. The figure is printed, for a human: it is the
 * machine's as much as the code's, so nothing is asserted of it. Here steps name ranks that exist.
 */
#include "prove.h"
#include "tests/unit/full.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <numeric>

namespace coll
{
namespace
{

TEST(AtSpeed, On3072Ranks)
{
    constexpr uint32_t most = 3072;
    const Placement places[] = {
        WithSwitches(UniformPlacement(most / 8, 8, 1), 32),
        WithSwitches(UniformPlacement(most, 1), 32), // for those that want one rank a server
        WithSwitches(UniformPlacement(1, 72), 32),   // or one server
    };
    CaseShare share(22, 12);
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            if (!share.Takes())
            {
                continue;
            }
            for (const uint64_t loopBytes : {uint64_t{0}, uint64_t{4096}})
            {
                using Clock = std::chrono::steady_clock;
                Collective what{op, op == Op::kBarrier ? 0UL : 25UL << 20, 0, 0};
                const Placement* place = places;
                const auto can = [&] {
                    what.ranks = static_cast<uint32_t>(place->serverOf.size());
                    return algorithm->WhyNot(what, *place, {}).empty();
                };
                while (!can())
                {
                    place++;
                    ASSERT_LT(place, std::end(places)) << algorithm->Name();
                }
                const uint32_t n = what.ranks;
                const Placement& placement = *place;
                const auto begin = Clock::now();
                const auto schedule = algorithm->Make(what, placement, {0, loopBytes});
                const double makeUs =
                    std::chrono::duration<double, std::micro>(Clock::now() - begin).count();

                // As a simulation does: all ranks move through their steps together.
                std::vector<Rank> busy(n);
                std::iota(busy.begin(), busy.end(), 0);
                uint64_t calls = 0;
                uint64_t sum = 0;
                const auto start = Clock::now();
                for (StepIndex k = 0; !busy.empty() && calls < 3000000; k++)
                {
                    busy.erase(std::remove_if(busy.begin(),
                                              busy.end(),
                                              [&](Rank r) { return k >= schedule->Steps(r, 0); }),
                               busy.end());
                    for (const Rank r : busy)
                    {
                        const Step step = schedule->At(r, 0, k);
                        ASSERT_TRUE(step.sendPeer == kNoRank ||
                                    step.sendPeer < schedule->Members());
                        ASSERT_TRUE(step.recvPeer == kNoRank ||
                                    step.recvPeer < schedule->Members());
                        sum += step.recvOffset + step.sendOffset + step.sendPeer + step.recvPeer;
                        calls++;
                    }
                }
                const double ns =
                    std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
                std::printf(
                    "%-15s %-14s messages of at most %4lu B: %5.1f ns/At, Make %.0f us (%lu)\n",
                    OpName(op).c_str(),
                    algorithm->Name().c_str(),
                    static_cast<unsigned long>(loopBytes),
                    ns,
                    makeUs,
                    static_cast<unsigned long>(sum % 10));
            }
        }
    }
}

} // namespace
} // namespace coll
