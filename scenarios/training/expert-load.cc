/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/expert-load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace training
{

std::vector<double>
ExpertShares(uint32_t experts, uint32_t topK, double skew, double capacity, uint64_t seed)
{
    std::vector<double> shares(experts);
    for (uint32_t i = 0; i < experts; ++i)
    {
        shares[i] = std::pow(i + 1.0, -skew);
    }
    // Descending, so those that would be above the limit are the first.
    const double most = 1.0 / topK;
    std::vector<double> from(experts + 1, 0); // weights from an expert on
    for (uint32_t i = experts; i-- > 0;)
    {
        from[i] = from[i + 1] + shares[i];
    }
    double left = 1;
    for (uint32_t i = 0; i < experts; ++i)
    {
        shares[i] = std::min(shares[i] / from[i] * left, most);
        left -= shares[i];
    }
    std::mt19937_64 engine(seed);
    for (uint32_t i = experts; i > 1; --i)
    {
        std::swap(shares[i - 1], shares[engine() % i]);
    }
    for (double& share : shares)
    {
        share = capacity > 0 ? std::min(share, capacity / experts) : share;
    }
    return shares;
}

std::vector<double>
ExpertRankShares(const Routing& routing, const TrainingOptions& o)
{
    const auto shares =
        ExpertShares(routing.experts, routing.topK, o.moeSkew, o.capacityFactor, o.seed);
    const uint32_t own = routing.experts / o.expert;
    std::vector<double> ranks(o.expert, 0);
    for (uint32_t i = 0; i < own * o.expert; ++i)
    {
        ranks[i / own] += shares[i];
    }
    return ranks;
}

uint32_t
BusiestPosition(const TrainingOptions& o)
{
    const auto routing = RoutingOf(o.model);
    if (!routing || !HasExpertLoad(o))
    {
        return 0;
    }
    const auto shares = ExpertRankShares(*routing, o);
    return static_cast<uint32_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

bool
AsksForExpertLoad(const TrainingOptions& o)
{
    return o.moeSkew > 0 || o.capacityFactor > 0;
}

bool
HasExpertLoad(const TrainingOptions& o)
{
    return o.moeSkew > 0 || (o.capacityFactor > 0 && o.capacityFactor < 1);
}

std::optional<Routing>
RoutingOf(const ModelSpec& model)
{
    for (const LayerSpec& layer : model.layers)
    {
        for (const Part& part : layer.parts)
        {
            if (part.routing)
            {
                return *part.routing;
            }
        }
    }
    return std::nullopt;
}

double
DroppedShare(const TrainingOptions& o)
{
    const auto routing = RoutingOf(o.model);
    if (!routing || o.capacityFactor == 0)
    {
        return 0;
    }
    const auto shares =
        ExpertShares(routing->experts, routing->topK, o.moeSkew, o.capacityFactor, o.seed);
    return std::max(0.0, 1 - std::accumulate(shares.begin(), shares.end(), 0.0));
}

} // namespace training
