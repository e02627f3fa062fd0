/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models that take turns on a GPU, or on a part of one.
 */
#ifndef SCENARIOS_MULTIPLEX_POLICIES_TURNS_H
#define SCENARIOS_MULTIPLEX_POLICIES_TURNS_H

#include "scenarios/multiplex/policy.h"

#include <cstdint>
#include <map>
#include <utility>

namespace multiplex
{

/// Weighted round robin: a model runs up to `weight` batches, then the next one that waits. A
/// switch of models takes time.
class Turns
{
  public:
    Turns(const std::vector<Place>& places, const Mix& mix, double switchTime);

    /// What starts in a part of a GPU, if nothing runs there.
    void Choose(const GpuView& view, uint32_t part, std::vector<Start>* starts);

  private:
    struct Turn
    {
        bool begun = false;
        std::size_t seat = 0;
        uint32_t batches = 0; ///< of this turn
    };

    std::vector<Place> m_places;
    std::vector<uint32_t> m_weights;
    double m_switch;
    std::map<std::pair<uint32_t, uint32_t>, Turn> m_turns; ///< by GPU and part
};

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_POLICIES_TURNS_H
