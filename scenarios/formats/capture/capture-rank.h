/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What one captured rank does in the step that is taken: its rank-N.jsonl, as a graph.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_RANK_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_RANK_H

#include "scenarios/formats/capture/capture-blocks.h"
#include "scenarios/formats/capture/capture-kernels.h"
#include "scenarios/formats/capture/capture-meta.h"
#include "scenarios/formats/capture/capture.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace formats
{

struct CapturedRole
{
    training::StepGraph graph;
    /// All-to-all-v: the task, and its bytes for each position.
    std::vector<std::pair<training::TaskId, std::vector<uint64_t>>> sends;
    CapturedWork work;
    std::vector<uint32_t> modules; ///< by task: ModulesOfTasks::ofTask
};

/// The state that the files of all ranks share and add to.
class CaptureShared
{
  public:
    CaptureShared(const CaptureMachine& machine, const CaptureMeta& meta);

    /// The groups of a kind, each with the rank at position `root` first.
    uint32_t KindWithRoot(uint32_t kind, uint64_t root);

    /// Index of a path into `modules`.
    uint32_t ModuleOf(const std::string& path);

    const CaptureMachine& machine;
    const uint64_t step; ///< step that is taken
    std::vector<training::GroupKind> groupKinds;
    std::vector<std::string> modules; ///< ModulesOfTasks::paths
    CaptureKernels kernels;
    bool anySide = false; ///< whether a kernel stands on another stream than the default one

  private:
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> m_rootKinds;
    std::unordered_map<std::string, uint32_t> m_moduleOf;
};

/// Reads one rank of the capture in a folder. Nothing, and an error with its file and line, if it
/// is not in order.
std::optional<CapturedRole> ReadCaptureRank(const std::string& folder,
                                            coll::Rank rank,
                                            CaptureShared* shared,
                                            std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_RANK_H
