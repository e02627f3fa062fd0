/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a checkpoint is made of, and which ranks write and read what of it.
 */
#ifndef SCENARIOS_TRAINING_CHECKPOINT_PARTS_H
#define SCENARIOS_TRAINING_CHECKPOINT_PARTS_H

#include "collectives/schedule.h"
#include "scenarios/training/plan-options.h"

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
 * Of experts the first rank that has them writes them; where the optimizer is whole, its states
 * of all else once more for each rank of the first copy of all experts. Where a copy of the model
 * is shared out among some of the replicas (hybrid shards), the first of those with the same share
 * writes it (is_first_weights_partition_group). Every rank reads what it is to have.
 */
class CheckpointParts
{
  public:
    CheckpointParts() = default;
    explicit CheckpointParts(const TrainingOptions& options);

    /// \param absent by rank: has left; the next that has the same takes its place; empty: nobody
    /// \return bytes, by rank
    std::vector<uint64_t> WrittenBy(const std::vector<bool>& absent = {}) const;

    /// What several GPUs of a server need comes once, to the first of them: the file is in the
    /// server's page cache then (assumed).
    /// \param gpus of a server
    std::vector<uint64_t> ReadBy(uint32_t gpus, const std::vector<bool>& absent = {}) const;

  private:
    struct Part
    {
        uint64_t bytes;
        std::vector<coll::Rank> holders; ///< that need it, the first of which writes it
    };

    void Add(uint64_t bytes, const std::vector<coll::Rank>& holders);

    uint32_t m_ranks = 0;
    std::vector<Part> m_parts;
};

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKPOINT_PARTS_H
