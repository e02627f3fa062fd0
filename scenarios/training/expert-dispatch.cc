/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/expert-dispatch.h"

#include <algorithm>

namespace training
{

double
MeanHolders(double holders, uint32_t experts, uint32_t topK)
{
    const double own = experts / holders;
    double none = 1;
    for (uint32_t i = 0; i < topK && none > 0; ++i)
    {
        none *= std::max(experts - own - i, 0.0) / (static_cast<double>(experts) - i);
    }
    return holders * (1 - none);
}

TokenCopies
CopiesOf(const Routing& routing, const ExpertSpan& span, uint32_t limit)
{
    const uint32_t servers = limit > 0 ? std::min(limit, span.servers) : span.servers;
    const uint32_t experts = routing.experts / span.servers * servers;
    return {MeanHolders(servers, experts, routing.topK),
            MeanHolders(static_cast<double>(servers) * span.ranks, experts, routing.topK)};
}

double
TokenBytes(TokenType type, double elements, Dtype dtype)
{
    switch (type)
    {
    case TokenType::kAsComputed:
        break;
    case TokenType::kFp8:
        return elements * (1 + 4.0 / 128);
    case TokenType::kBf16:
        return elements * 2;
    case TokenType::kFp32:
        return elements * 4;
    }
    return elements * DtypeBytes(dtype);
}

} // namespace training
