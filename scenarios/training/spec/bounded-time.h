/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Times of formulas as picoseconds. A rate of next to nothing makes them longer than 64 bits can
 * say; such a run is refused before it begins (WhyTooLong), until when nothing may overflow.
 */
#ifndef SCENARIOS_TRAINING_SPEC_BOUNDED_TIME_H
#define SCENARIOS_TRAINING_SPEC_BOUNDED_TIME_H

#include "contrib/rdma/core/units.h"

namespace training
{

/// The time to the nearest picosecond. Times beyond 46 days, and values that are no number, give 46
/// days, so that two results can still be added.
/// \param seconds 0 or more
inline rdma::Duration
BoundedTime(double seconds)
{
    constexpr double most = 4e6;
    return rdma::FromSeconds(seconds < most ? seconds : most);
}

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_BOUNDED_TIME_H
