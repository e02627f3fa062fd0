/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/ets-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"

#include <algorithm>
#include <charconv>

namespace scenario
{

namespace
{

/// Bytes per round for the least weight: a packet of 1,500 B with its headers.
constexpr uint32_t kLeastWeight = 1600;
constexpr uint32_t kMostWeight = 100;

/// \return whether it is "PRIORITY:WEIGHT"; a weight of 0 stands for "strict"
bool
Read(const std::string& word, uint32_t* priority, uint32_t* weight)
{
    const char* const end = word.data() + word.size();
    const auto [colon, bad] = std::from_chars(word.data(), end, *priority);
    if (bad != std::errc() || colon == end || *colon != ':' || *priority > 7)
    {
        return false;
    }
    if (std::string(colon + 1, end) == "strict")
    {
        *weight = 0;
        return true;
    }
    const auto [after, wrong] = std::from_chars(colon + 1, end, *weight);
    return wrong == std::errc() && after == end && *weight >= 1 && *weight <= kMostWeight;
}

} // namespace

std::vector<Option>
EtsOptionRows()
{
    return {
        Section{"/fabric", "Fabric"}
            .List(
                "ets",
                "shares of priorities at every port, for RDMA and TCP: a weight from 1 to 100, or "
                "strict; without one, the least weight given")
            .As(&asked::Fabric::ets)
            .Shows("P:WEIGHT,...")
            .Otherwise("6 and 7 strict, all others alike")
            .Example("0:30,3:70")
            .Only(when::Packets())
            .IdleUnless(when::SeveralPriorities(), "shares nothing among flows"),
    };
}

EtsSpec
ApplyEts(Validation* v)
{
    EtsSpec spec;
    if (!v->values.Given(&asked::Fabric::ets))
    {
        return spec;
    }
    if (v->values.Get(&asked::Fabric::fabric) == "ib")
    {
        v->Fail(&asked::Fabric::ets,
                "is of Ethernet's ports, InfiniBand's arbitrate virtual lanes; allowed with "
                "--fabric=roce");
        return spec;
    }
    std::array<uint32_t, 8> shares{};
    uint8_t seen = 0;
    uint32_t least = kMostWeight;
    for (const std::string& word : v->values.Get(&asked::Fabric::ets))
    {
        uint32_t priority = 0;
        uint32_t weight = 0;
        if (!Read(word, &priority, &weight) || (seen >> priority & 1))
        {
            v->errors.push_back({v->values.Where(&asked::Fabric::ets),
                                 word,
                                 "allowed: priorities 0 to 7, each once, with a weight of 1 to 100 "
                                 "or strict, as 0:30,3:70,6:strict",
                                 ""});
            return spec;
        }
        seen |= 1U << priority;
        shares[priority] = weight;
        spec.strict |= weight == 0 ? 1U << priority : 0;
        least = weight ? std::min(least, weight) : least;
    }
    spec.given = true;
    for (uint32_t priority = 0; priority < 8; ++priority)
    {
        const uint32_t share = shares[priority] ? shares[priority] : least;
        spec.weights[priority] = kLeastWeight * share / least;
    }
    return spec;
}

} // namespace scenario
