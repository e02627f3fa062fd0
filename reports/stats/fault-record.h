/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_FAULT_RECORD_H
#define REPORTS_STATS_FAULT_RECORD_H

#include "reports/schema/object.h"
#include "scenarios/job/fault-plan.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/// The effect of an injected fault (--fault), or of circuits of the topology that come and go.
/// Times are ps of the run; -1: never.
struct FaultRecord
{
    std::string what;   //!< "link-down"
    std::string where;  //!< as given
    uint32_t cables{0}; //!< cables between the two nodes that `where` names, if it names a link
    std::string extent; //!< how far it goes, in words; empty: all the way
    /// The same as numbers: key of stats.json with its unit, value.
    std::vector<std::pair<std::string, double>> extents;
    bool ofNetwork{true};
    bool isCut{false};       //!< cables are cut by it
    bool losesFrames{false}; //!< by itself
    bool isPlanned{false};   //!< circuits that come and go; `times` counts their changes
    int64_t at{0};           //!< when it was to begin
    int64_t begun{-1};
    int64_t ended{-1};      //!< the last time
    int64_t detected{-1};   //!< the first switch knew
    int64_t rerouted{-1};   //!< all switches had new tables
    uint64_t times{0};      //!< number of times that it began
    double nicGbps{0};      //!< of a bonded NIC that it hits: all ports together; 0: none
    double nicGbpsLeft{0};  //!< the same without those that are cut, the least of several NICs
    std::string missed;     //!< why it had no target when it began; empty: it had one
    uint64_t framesLost{0}; //!< on the wire, sent in vain, dropped from queues
    uint64_t framesWithoutWay{0}; //!< dropped by switches without a route for them
    uint64_t pairsHit{0}; //!< pairs of a sender and a receiver, by direction, that lost data
};

/// \return a record with the plan's data, without effects yet
FaultRecord RecordOf(const scenario::Fault& fault);

const Object<FaultRecord>& FaultKeys();

/// A line each, for the terminal; none without faults. \param measuredFrom ps; of a fault that
/// began before, frames are those of the whole run, and it is said
void PrintFaults(std::ostream& os,
                 const std::vector<FaultRecord>& faults,
                 int64_t measuredFrom = 0);

} // namespace reports

#endif /* REPORTS_STATS_FAULT_RECORD_H */
