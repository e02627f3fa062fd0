/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One order of all events of all ranks in which every event comes after its dependencies. Streams
 * that follow it do not wait for each other for ever. The second step of MakePlan
 * (recorded-plan.h).
 */
#ifndef SCENARIOS_FORMATS_RECORDED_RECORDED_ORDER_H
#define SCENARIOS_FORMATS_RECORDED_RECORDED_ORDER_H

#include "scenarios/formats/recorded/recorded-matches.h"

#include <vector>

namespace formats
{

/**
 * \param keeps whether to keep the order of the lists on each resource (recording.h), too;
 * collectives always keep it
 * \param [out] placeOf places of events in the order; SIZE_MAX for those with Event::nothing
 * \param [out] left if there is no order: the first event of each rank that is left over
 * \return whether there is one
 */
bool OrderEvents(const Recording& recording,
                 const Matches& matches,
                 bool keeps,
                 OfEvents<std::size_t>* placeOf,
                 std::vector<At>* left);

} // namespace formats

#endif // SCENARIOS_FORMATS_RECORDED_RECORDED_ORDER_H
