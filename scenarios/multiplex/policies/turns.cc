/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/policies/turns.h"

#include "scenarios/multiplex/knee.h"

#include <algorithm>
#include <cmath>

namespace multiplex
{

Turns::Turns(const std::vector<Place>& places, const Mix& mix, double switchTime)
    : m_places(places),
      m_switch(switchTime)
{
    for (const ModelLoad& load : mix.models)
    {
        m_weights.push_back(load.weight);
    }
    std::map<std::pair<uint32_t, uint32_t>, double> longest; // by GPU and part
    for (std::size_t i = 0; i < places.size(); ++i)
    {
        const ModelLoad& load = mix.models[i];
        double& round =
            longest.emplace(std::make_pair(places[i].gpu, places[i].part), INFINITY).first->second;
        const ShareCurve& curve = *load.served.curve;
        const double share = KnownShare(curve, places[i].batch, places[i].percent);
        const double seconds =
            curve.Seconds(places[i].batch, share) * share / places[i].percent + switchTime;
        round = std::min(round, std::max(load.slo - seconds, seconds));
    }
    for (std::size_t i = 0; i < places.size(); ++i)
    {
        const double round = longest[{places[i].gpu, places[i].part}];
        m_most.push_back(static_cast<uint64_t>(
            std::max(1.0, std::ceil(mix.models[i].rate * round / places[i].batch))));
    }
}

void
Turns::Choose(const GpuView& view, uint32_t part, std::vector<Start>* starts)
{
    const auto& seats = view.seats;
    const auto isHere = [&](const Seat& seat) { return m_places[seat.model].part == part; };
    if (std::any_of(seats.begin(), seats.end(), [&](const Seat& seat) {
            return seat.running && isHere(seat);
        }))
    {
        return;
    }
    Turn& turn = m_turns[{view.gpu, part}];
    // From the one whose turn it is, which goes on while it has batches left.
    for (std::size_t i = 0; i <= seats.size(); ++i)
    {
        const std::size_t at = (turn.seat + i) % seats.size();
        const Seat& seat = seats[at];
        const bool same = turn.begun && i == 0;
        const bool goesOn = !same || turn.batches < turn.most;
        if (!isHere(seat) || seat.waiting == 0 || !goesOn)
        {
            continue;
        }
        const bool switches = turn.begun && at != turn.seat;
        const Place& place = m_places[seat.model];
        if (!same)
        {
            const uint64_t waiting = (seat.waiting + place.batch - 1) / place.batch;
            turn.most = m_weights[seat.model] > 0 ? m_weights[seat.model]
                                                  : std::min(m_most[seat.model], waiting);
        }
        turn.batches = same ? turn.batches + 1 : 1;
        turn.seat = at;
        turn.begun = true;
        const auto batch = static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
        starts->push_back({seat.model, batch, place.percent, switches ? m_switch : 0});
        return;
    }
}

} // namespace multiplex
