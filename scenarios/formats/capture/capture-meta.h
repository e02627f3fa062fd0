/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a capture (docs/capture-format.md) says of all its ranks: its meta.json.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_META_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_META_H

#include "collectives/core/schedule.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

struct CaptureMeta
{
    uint32_t ranks = 0;
    uint32_t gpusPerServer = 0; ///< as the script was told; 0: not known
    std::vector<training::GroupKind> groupKinds;
    std::vector<coll::Rank> captured; ///< ranks that have a file, ascending
    std::vector<coll::Rank> roleOf;   ///< by rank: the captured rank whose role it plays
    uint64_t step = 0;                ///< step that is taken
    // Of the step; 0: not known
    uint64_t samples = 0;
    uint64_t tokens = 0;
    std::string gpu;                ///< GPU that it was captured for; may be empty
    std::string torch;              ///< version of PyTorch; empty: not told, or no script of it
    std::vector<std::string> notes; ///< findings of the capture, and facts that it could not know
};

/// Reads the head of the capture in a folder. Nothing, and an error with its JSON path, if it is
/// not in order.
std::optional<CaptureMeta> ReadCaptureMeta(const std::string& folder,
                                           std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_META_H
