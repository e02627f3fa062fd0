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

/// Rounds, as Nexus (H. Shen et al., SOSP 2019, "squishy bin packing") and gpulets have them: in a
/// round, its duty cycle, each model runs what has come since its last turn, at most what its rate
/// brings in the longest round that all SLOs allow:
///
///     batches of a turn <= rate x longest round / batch,  longest round = min (SLO - batch's time)
///
/// So turns follow rates. A weight of the mix takes their place: up to so many batches, by weighted
/// round robin. A switch of models takes time.
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
        uint64_t most = 0;    ///< of this turn
    };

    std::vector<Place> m_places;
    std::vector<uint32_t> m_weights; ///< by model; 0: by its rate
    std::vector<uint64_t> m_most;    ///< batches of a turn by its rate
    double m_switch;
    std::map<std::pair<uint32_t, uint32_t>, Turn> m_turns; ///< by GPU and part
};

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_POLICIES_TURNS_H
