/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/action-text.h"

namespace training
{

std::string
ActionText(const PipelineAction& action)
{
    const char* kinds[] = {"forward", "backward", "backward (inputs)", "backward (weights)"};
    return std::string(kinds[static_cast<size_t>(action.kind)]) + " of micro-batch " +
           std::to_string(action.microBatch) + ", chunk " + std::to_string(action.chunk);
}

} // namespace training
