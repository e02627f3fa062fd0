/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of its buffer that a network node has in use at once. A byte is in use from the step
 * that first receives it to the last step that sends it, before it is overwritten or not sent any
 * more. A byte that is never sent is in use in the step that receives it. Lanes are not ordered, so
 * each counts with its maximum over its steps.
 *
 *     step         0       1        2          3        4
 *     receives     [0, 8)  [0, 8)+             [8, 16)
 *     sends                [0, 8)              [8, 16)  [8, 16)
 *     in use       8       8        0          8        8
 *
 * The order is that of the program, not of a run: messages that come early wait where the receiver
 * keeps them.
 */
#ifndef COLLECTIVES_CORE_STATE_BYTES_H
#define COLLECTIVES_CORE_STATE_BYTES_H

#include "collectives/core/schedule.h"

namespace coll
{

/// \param node as a rank, from Collective::ranks on
uint64_t MostBytesInUse(const Schedule& schedule, Rank node);

} // namespace coll

#endif // COLLECTIVES_CORE_STATE_BYTES_H
