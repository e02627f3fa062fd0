/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training that waits for its data: batch i is there at i x 100 ms, for all GPUs, and not before.
 *
 *     batches  0         1         2
 *     GPU 0    [step 0]..[step 1]..[step 2]     a shorter step: the GPUs rest
 *     GPU 1    [step 0]..[step 1]..[step 2]
 */
#include "scenarios/workload/registry.h"
#include "scenarios/workload/repeated-steps.h"

namespace workload
{

namespace
{

constexpr int64_t kPeriodPs = 100'000'000'000;

class DataLoader final : public RepeatedSteps
{
  public:
    using RepeatedSteps::RepeatedSteps;

    std::optional<Round> Next(coll::Rank rank) override
    {
        std::optional<Round> round = RepeatedSteps::Next(rank);
        if (round)
        {
            round->earliest = rdma::TimePoint(round->number * kPeriodPs);
        }
        return round;
    }
};

const RegisteredWorkload<DataLoader> g_dataLoader("data-loader",
                                                  "steps whose batches come every 100 ms");

} // namespace

} // namespace workload
