/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * By dimension, see by-dimension.h: all-reduce, reduce-scatter, all-gather and all-to-all that go
 * through the dimensions of a network in chunks.
 */
#include "collectives/schedules/by-dimension.h"

#include "collectives/schedules/placed-algorithm.h"
#include "collectives/schedules/torus.h"

namespace coll
{

namespace
{

class ByDimensionAlgorithm : public TorusAlgorithm
{
  public:
    using TorusAlgorithm::TorusAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = TorusAlgorithm::WhyNot(what, placement, options);
        if (!why.empty())
        {
            return why;
        }
        for (const PlanDimension& one : PlanDimensions(placement, options))
        {
            if (one.algorithm == RowAlgorithm::kHalving && (one.size & (one.size - 1)) != 0)
            {
                return "halving-doubling is for rows of a power of two; dimension " +
                       std::to_string(one.number + 1) + " has " + std::to_string(one.size);
            }
        }
        return {};
    }
};

AlgorithmFacts
Facts(std::vector<Knob> more)
{
    AlgorithmFacts facts{
        "alpha of each dimension's hops, and beta of the bytes of the busiest one with many chunks",
        "Won et al., ISPASS 2023; Rashidi et al., ISCA 2022",
        {Knob::kChannels, Knob::kDimensions, Knob::kSplits, Knob::kOrder}};
    facts.reads.insert(facts.reads.end(), more.begin(), more.end());
    return facts;
}

constexpr const char* kByDimension = "by-dimension";
constexpr const char* kAbout =
    "dimension after dimension in chunks, each as its links suggest: ring, direct, halving";

const Registered<PlacedAlgorithm<ByDimensionSchedule, ByDimensionAlgorithm>> g_allReduceByDimension{
    kByDimension,
    Op::kAllReduce,
    kAbout,
    Facts({Knob::kPhases, Knob::kRows})};
const Registered<PlacedAlgorithm<ByDimensionSchedule, ByDimensionAlgorithm>>
    g_reduceScatterByDimension{kByDimension,
                               Op::kReduceScatter,
                               kAbout,
                               Facts({Knob::kPhases, Knob::kRows})};
const Registered<PlacedAlgorithm<ByDimensionSchedule, ByDimensionAlgorithm>> g_allGatherByDimension{
    kByDimension,
    Op::kAllGather,
    kAbout,
    Facts({Knob::kPhases, Knob::kRows})};
const Registered<PlacedAlgorithm<ByDimensionSchedule, ByDimensionAlgorithm>> g_allToAllByDimension{
    kByDimension,
    Op::kAllToAll,
    "dimension after dimension in chunks, blocks passed on by the GPUs between",
    Facts({})};

} // namespace

} // namespace coll
