/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/idle-link.h"

#include <algorithm>
#include <cmath>

namespace coll
{

uint64_t
IdleLink::Packets(uint64_t bytes) const
{
    return bytes == 0 ? 1 : (bytes - 1) / packet + 1;
}

uint64_t
IdleLink::Packets(const Schedule& schedule, Rank rank, Lane lane) const
{
    uint64_t packets = 0;
    for (StepIndex k = 0; k < schedule.Steps(rank, lane); k++)
    {
        const Step step = schedule.At(rank, lane, k);
        packets += step.sendPeer != kNoRank ? Packets(step.sendBytes) : 0;
    }
    return packets;
}

double
IdleLink::Wire(uint64_t bytes, uint64_t packets) const
{
    if (packets == 0)
    {
        return 0;
    }
    const bool whole = packets == Packets(bytes);
    const uint64_t data = whole ? (bytes + 3) / 4 * 4 : packets * packet; // RoCE pads to 4 B
    const uint64_t more = packets * header + first + (whole ? last : 0);
    return static_cast<double>(data + more) * perByte;
}

double
IdleLink::Latency(uint64_t bytes) const
{
    // Packets behind the first are no longer, so they wait nowhere.
    return latency + switches * Wire(bytes, 1);
}

double
IdleLink::Arrival(const std::vector<uint64_t>& posted, std::size_t which) const
{
    // When packet j of it has left: in turns, those before it have had as many turns as it, those
    // behind it one less. The first message is a packet ahead.
    const auto left = [&](uint64_t j) {
        double sum = 0;
        for (std::size_t i = 0; i < posted.size(); i++)
        {
            uint64_t turns = 0;
            if (i == which)
            {
                turns = j + 1;
            }
            else if (which == 0)
            {
                turns = j > 0 ? j - 1 : 0;
            }
            else
            {
                turns = i == 0 ? j + 2 : i < which ? j + 1 : j;
            }
            sum += Wire(posted[i], std::min(turns, Packets(posted[i])));
        }
        return sum;
    };
    const uint64_t bytes = posted[which];
    const uint64_t packets = Packets(bytes);
    double at = left(packets - 1);
    double before = packets > 1 ? left(packets - 2) : 0;
    const double own = Wire(bytes) - Wire(bytes, packets - 1);
    const double previous = Wire(bytes, packets - 1) - Wire(bytes, packets > 1 ? packets - 2 : 0);
    for (uint32_t i = 0; i < switches; i++)
    {
        before += previous; // on the next link, where it is before the last one
        at = std::max(at, before) + own;
    }
    return at + latency;
}

double
AllTaken(std::vector<Incoming> messages)
{
    std::sort(messages.begin(), messages.end(), [](const Incoming& a, const Incoming& b) {
        return a.begin < b.begin;
    });
    double at = 0;
    for (const Incoming& message : messages)
    {
        at = std::max(at, message.begin) + message.wire;
    }
    return at;
}

double
SecondsOf(const Cost& cost, const IdleLink& link, const InSeries& series)
{
    if (cost.chain == 0)
    {
        return 0;
    }
    const uint64_t messages = std::max({cost.chain, series.messages, cost.posts, cost.receives});
    const auto size = static_cast<uint64_t>(std::llround(cost.serialBytes / messages));
    const double latencies = cost.chain * link.Latency(size);
    const double wire = link.Wire(size);
    double answers = 0;
    if (series.answered)
    {
        // Messages that came in before the last latency are answered while there is more to send.
        const double during = std::max(0.0, messages - latencies / wire);
        const uint64_t each = (link.Packets(size) - 1) / link.packetsAnAnswer + 1;
        answers = during * each * link.answer * link.perByte;
    }
    return latencies + messages * wire + answers;
}

std::optional<double>
IdleSeconds(const Algorithm& algorithm,
            const Collective& what,
            const Placement& placement,
            const AlgorithmOptions& options,
            const IdleLink& link)
{
    const InNetwork uses = algorithm.Uses();
    const std::optional<Cost> cost = uses.serverSwitch || uses.fabricSwitches
                                         ? std::nullopt // whose messages end half way
                                         : algorithm.CostOf(what, placement, options);
    if (!cost)
    {
        return std::nullopt;
    }
    if (const auto* timed = dynamic_cast<const TimedAlgorithm*>(&algorithm))
    {
        if (const auto own = timed->OwnSeconds(what, placement, options, link))
        {
            return own;
        }
    }
    return SecondsOf(*cost, link);
}

} // namespace coll
