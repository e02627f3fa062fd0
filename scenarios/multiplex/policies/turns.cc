/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/policies/turns.h"

#include <algorithm>

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
        const bool goesOn = !same || turn.batches < m_weights[seat.model];
        if (!isHere(seat) || seat.waiting == 0 || !goesOn)
        {
            continue;
        }
        const bool switches = turn.begun && at != turn.seat;
        turn.batches = same ? turn.batches + 1 : 1;
        turn.seat = at;
        turn.begun = true;
        const Place& place = m_places[seat.model];
        const auto batch = static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
        starts->push_back({seat.model, batch, place.percent, switches ? m_switch : 0});
        return;
    }
}

} // namespace multiplex
