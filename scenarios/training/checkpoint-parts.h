/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The parts of a checkpoint, and the ranks that write and read them.
 */
#ifndef SCENARIOS_TRAINING_CHECKPOINT_PARTS_H
#define SCENARIOS_TRAINING_CHECKPOINT_PARTS_H

#include "collectives/core/schedule.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <vector>

namespace training
{

/**
 * As save_checkpoint and load_checkpoint of DeepSpeed@00409037 (deepspeed/runtime/engine.py:
 * _configure_checkpointing, _save_checkpoint, _save_moe_checkpoint, _save_zero_checkpoint,
 * _get_all_zero_checkpoint_state_dicts):
 *
 *                     weights                            states of the optimizer
 *   stage 0           the first rank that has them       the first rank that has them
 *   stages 1 and 2    the first rank that has them       each rank its share
 *   stage 3           none beside the 32-bit copy        each rank its share
 *
 * Experts are written by the first rank that has them. If the optimizer is whole, its states of
 * everything else are written once more for each rank of the first copy of all experts. If some of
 * the replicas divide a copy of the model (hybrid shards), the first of those with the same share
 * writes it (is_first_weights_partition_group). Every rank reads its own data.
 */
class CheckpointParts
{
  public:
    CheckpointParts() = default;
    explicit CheckpointParts(const TrainingOptions& options);

    /// \param absent by rank: has left; the next rank with the same data takes its place; empty:
    /// none has left
    /// \return bytes, by rank
    std::vector<uint64_t> WrittenBy(const std::vector<bool>& absent = {}) const;

    /// Data that several GPUs of a server need are read once, by the first of them: the file is in
    /// the server's page cache then (assumed).
    /// \param gpus GPUs of a server
    std::vector<uint64_t> ReadBy(uint32_t gpus, const std::vector<bool>& absent = {}) const;

  private:
    struct Part
    {
        uint64_t bytes;
        std::vector<coll::Rank> holders; ///< ranks that need it; the first one writes it
    };

    void Add(uint64_t bytes, const std::vector<coll::Rank>& holders);

    uint32_t m_ranks = 0;
    std::vector<Part> m_parts;
};

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKPOINT_PARTS_H
