/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_PLACES_RECORD_H
#define REPORTS_STATS_PLACES_RECORD_H

#include "reports/schema/object.h"
#include "scenarios/network/places-as-run.h"

namespace reports
{

/// The key "fabric" of stats.json: tiers and places of the network that have settings of their own.
const Object<scenario::PlacesAsRun>& PlacesKeys();

} // namespace reports

#endif // REPORTS_STATS_PLACES_RECORD_H
