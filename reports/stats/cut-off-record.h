/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_CUT_OFF_RECORD_H
#define REPORTS_STATS_CUT_OFF_RECORD_H

#include "collectives/core/cut-off.h"
#include "reports/schema/object.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

/// A collective that cannot end because messages in it have failed, and the ranks that are cut off
/// from each other. Ranks are those of the job.
struct CutOffRecord
{
    coll::Op op{};
    uint64_t bytes = 0;
    std::string algorithm;
    std::vector<coll::Edge> lost;        ///< a rank's messages for another one failed
    std::vector<coll::SplitLanes> split; ///< both ways of `lost` taken away

    /// In a line.
    std::string InWords() const;
};

const Object<CutOffRecord>& CutOffKeys();
/// `cut_off` of stats.json.
void AddTo(nlohmann::ordered_json& stats, const std::vector<CutOffRecord>& records);

} // namespace reports

#endif // REPORTS_STATS_CUT_OFF_RECORD_H
