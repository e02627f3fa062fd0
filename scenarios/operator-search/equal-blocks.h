/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers of a model that are alike, in a row.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_EQUAL_BLOCKS_H
#define SCENARIOS_OPERATOR_SEARCH_EQUAL_BLOCKS_H

#include "scenarios/models/model-zoo.h"

#include <cstddef>
#include <cstdint>

namespace sharding
{

/// Layers [begin, begin + period), which stand there `times` times in a row.
struct Row
{
    std::size_t period = 1;
    uint32_t times = 1;
};

/// The longest row that begins with a layer; of one that nothing follows, itself.
Row RowFrom(const training::ModelSpec& model, std::size_t begin);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_EQUAL_BLOCKS_H
