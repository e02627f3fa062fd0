/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/recorded/recorded-order.h"

#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace formats
{

using coll::Rank;
using training::TaskKind;

bool
OrderEvents(const Recording& recording,
            const Matches& matches,
            bool keeps,
            OfEvents<std::size_t>* placeOf,
            std::vector<At>* left)
{
    const auto ranks = static_cast<Rank>(recording.ranks.size());
    // Collectives are one for all their members: what waits for one waits until all have begun.
    std::vector<std::vector<uint32_t>> open(matches.calls.size());
    for (std::size_t c = 0; c < matches.calls.size(); ++c)
    {
        for (const auto& members : matches.calls[c])
        {
            open[c].push_back(static_cast<uint32_t>(members.size()));
        }
    }
    std::vector<std::vector<std::vector<uint32_t>>> next(ranks);
    std::vector<std::vector<uint32_t>> waits(ranks);
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        const auto& events = recording.ranks[rank];
        next[rank].resize(events.size());
        waits[rank].assign(events.size(), 0);
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> last; // last event of each resource
        const auto add = [&](uint32_t before, uint32_t event) {
            next[rank][before].push_back(event);
            ++waits[rank][event];
        };
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            if (event.nothing)
            {
                continue;
            }
            for (const uint32_t before : matches.after[rank][i])
            {
                add(before, i);
            }
            const bool host = event.kind == TaskKind::kHost;
            const bool collective = event.kind == TaskKind::kCollective;
            const bool computes =
                event.kind == TaskKind::kCompute || event.kind == TaskKind::kMemory;
            if (collective || (keeps && (host || computes)))
            {
                const std::pair<uint32_t, uint32_t> resource = {collective ? 2 : host,
                                                                collective ? event.communicator
                                                                : host     ? event.thread
                                                                           : 0};
                const auto [place, isNew] = last.try_emplace(resource, i);
                if (!isNew)
                {
                    // Collectives: the next may begin when this one has, as they are posted.
                    add(std::exchange(place->second, i), i);
                }
            }
            waits[rank][i] += event.kind == TaskKind::kRecv; // for its send
        }
    }
    std::map<std::pair<Rank, uint32_t>, At> receiveOf;
    for (const auto& [pair, messages] : matches.messages)
    {
        for (const Message& message : messages)
        {
            receiveOf[{message.send.rank, message.send.event}] = message.receive;
        }
    }
    using Ready = std::pair<uint32_t, Rank>; // event, rank: near the order of all lists
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    const auto release = [&](Rank rank, uint32_t event) {
        if (--waits[rank][event] == 0)
        {
            ready.push({event, rank});
        }
    };
    std::size_t all = 0;
    OfEvents<std::size_t>& placed = *placeOf;
    placed.assign(ranks, {});
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        placed[rank].assign(waits[rank].size(), SIZE_MAX);
        for (uint32_t i = 0; i < waits[rank].size(); ++i)
        {
            if (recording.ranks[rank][i].nothing)
            {
                continue;
            }
            ++all;
            if (waits[rank][i] == 0)
            {
                ready.push({i, rank});
            }
        }
    }
    std::size_t done = 0;
    while (!ready.empty())
    {
        const auto [i, rank] = ready.top();
        ready.pop();
        placed[rank][i] = done++;
        const Event& event = recording.ranks[rank][i];
        if (event.kind == TaskKind::kCollective)
        {
            const uint32_t k = matches.callOf[rank][i];
            if (--open[event.communicator][k] == 0)
            {
                for (const At& at : matches.calls[event.communicator][k])
                {
                    for (const uint32_t behind : next[at.rank][at.event])
                    {
                        release(at.rank, behind);
                    }
                }
            }
            continue;
        }
        if (event.kind == TaskKind::kSend)
        {
            const At receive = receiveOf.at({rank, i});
            release(receive.rank, receive.event);
        }
        for (const uint32_t behind : next[rank][i])
        {
            release(rank, behind);
        }
    }
    if (done == all)
    {
        return true;
    }
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        for (uint32_t i = 0; i < placed[rank].size(); ++i)
        {
            if (placed[rank][i] == SIZE_MAX && !recording.ranks[rank][i].nothing)
            {
                left->push_back({rank, i});
                break; // the first of each rank tells most
            }
        }
    }
    return false;
}

} // namespace formats
