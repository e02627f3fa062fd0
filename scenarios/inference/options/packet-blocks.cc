/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/packet-blocks.h"

#include "scenarios/asked/run.h"
#include "scenarios/asked/serving.h"
#include "scenarios/inference/controller.h"

#include <charconv>
#include <string>

namespace scenario
{

namespace
{

/// Instances with GPUs in several servers.
uint32_t
CountBetween(const ServingScenario& s, uint32_t gpus)
{
    uint32_t between = 0;
    for (const serving::InstancePlace& place : serving::PlacesOf(s.serving))
    {
        between += serving::IsBetweenServers(place, s.serving.pools[place.pool], gpus) ? 1 : 0;
    }
    return between;
}

} // namespace

void
ReadPacketBlocks(Validation* v, const ClusterSpec& cluster, ServingScenario* s)
{
    const std::string text = v->values.Get(&asked::Serving::packetBlocks);
    if (text == "all")
    {
        return;
    }
    if (text == "auto")
    {
        const bool alone = !v->seat && s->serving.pools.size() == 1 &&
                           !v->values.Given(&asked::Run::background) &&
                           CountBetween(*s, cluster.server.gpus) == 1;
        s->packetBlocks = alone ? kSampledBlocks : 0;
        return;
    }
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), s->packetBlocks);
    if (error != std::errc() || end != text.data() + text.size() || s->packetBlocks == 0)
    {
        v->errors.push_back(
            {"--packet-blocks", text, "allowed: a number from 1 on, all, auto", ""});
    }
}

} // namespace scenario
