/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The layers of each piece of a pipeline, as text. As Megatron-LM writes them
 * (--pipeline-model-parallel-layout; parse_str_to_list of NVIDIA/Megatron-LM@00caa53
 * megatron/core/transformer/pipeline_parallel_layer_layout.py):
 *
 *   Ett|(ttt|)*2tL    E embedding, t block, m prediction module, L loss; '|' between pieces
 *                     X*3, (X)*3: three times; ',' is ignored
 *
 * or numbers of blocks, 2-3-3-1: the first piece has the embedding too, the last one the loss.
 * Pieces are those of virtual stages in turn: with 2 stages, stage 0 has pieces 0 and 2.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_LAYOUT_TEXT_H
#define SCENARIOS_TRAINING_PIPELINE_LAYOUT_TEXT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace training
{

struct PipelineLayout
{
    std::vector<uint32_t> blocks;       ///< of each piece
    std::optional<uint32_t> predictors; ///< prediction modules; nothing: the text does not say
    std::string problem;                ///< why the text is no layout; empty: it is one
};

PipelineLayout ParsePipelineLayout(std::string_view text);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_LAYOUT_TEXT_H
