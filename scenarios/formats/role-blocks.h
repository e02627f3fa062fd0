/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The blocks that one role of a captured step goes through (capture-blocks.h), and the step with
 * fewer of them.
 */
#ifndef SCENARIOS_FORMATS_ROLE_BLOCKS_H
#define SCENARIOS_FORMATS_ROLE_BLOCKS_H

#include "scenarios/training/steps/step-graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace formats
{

constexpr uint32_t kNoBlock = UINT32_MAX; ///< block of a task that is in none

/// Equal numbers for tasks that are alike except for their dependencies.
std::vector<uint32_t> KindsOfTasks(const training::StepGraph& graph);

/// The work of one role in the blocks of a module.
class RoleBlocks
{
  public:
    /// \param graph, kinds kept; kinds: KindsOfTasks \param blockOf by task, or kNoBlock
    RoleBlocks(const training::StepGraph& graph,
               const std::vector<uint32_t>& kinds,
               const std::vector<uint32_t>& blockOf)
        : m_graph(graph),
          m_kinds(kinds)
    {
        FindPasses(blockOf);
    }

    /// How many it goes through.
    uint32_t Count() const
    {
        return m_passes.empty() ? 0 : m_highest - m_lowest + 1;
    }

    /// With fewer blocks: nothing if it does not repeat itself so, with a period of so many.
    std::optional<training::StepGraph> Without(uint32_t blocks, uint32_t period) const;

  private:
    /// Blocks that a rank goes through one after another, up or down.
    struct Pass
    {
        bool up = true;
        uint32_t lowest = 0;
        std::vector<std::size_t> starts; ///< first tasks, by number of the block from the lowest

        uint32_t Highest() const
        {
            return lowest + static_cast<uint32_t>(starts.size()) - 1;
        }

        std::size_t StartOf(uint32_t block) const
        {
            return starts[block - lowest];
        }
    };

    /// The range in which a pass repeats: the pattern of `period` tasks holds all through [begin,
    /// end).
    struct Repeats
    {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::size_t period = 0; ///< 0: it does not
    };

    /// A range that is taken out of a graph.
    struct Cut
    {
        std::size_t begin = 0;
        std::size_t end = 0;
        Repeats repeats;
    };

    void FindPasses(const std::vector<uint32_t>& blockOf);
    Repeats RepeatsOf(const Pass& pass, uint32_t blocks) const;
    std::optional<std::vector<Cut>> CutsOf(const std::vector<Repeats>& repeats,
                                           uint32_t first,
                                           uint32_t blocks,
                                           uint32_t period) const;
    bool WaitsAsBefore(std::size_t task, std::size_t before, const Cut& cut) const;
    std::optional<training::StepGraph> Take(const std::vector<Cut>& cuts) const;

    const training::StepGraph& m_graph;
    const std::vector<uint32_t>& m_kinds;
    std::vector<Pass> m_passes;
    uint32_t m_lowest = kNoBlock;
    uint32_t m_highest = 0;
};

} // namespace formats

#endif // SCENARIOS_FORMATS_ROLE_BLOCKS_H
