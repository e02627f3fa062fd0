/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What collectives reach over networks that give them less the more GPUs they have
 * (LibraryModel::fall).
 */
#ifndef COLLECTIVES_TUNER_MEASURED_FALL_H
#define COLLECTIVES_TUNER_MEASURED_FALL_H

#include "collectives/core/schedule.h"
#include "topologies/library-model.h"

namespace coll
{

/// Seconds: the time that a large collective takes by what was measured on such a network
/// (LibraryModel::fall); 0: nothing was, or it is in one server, or another operation. Estimates
/// are no less.
double SecondsOfFall(const Collective& what,
                     const Placement& placement,
                     const topo::LibraryModel& library);

} // namespace coll

#endif // COLLECTIVES_TUNER_MEASURED_FALL_H
