/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --class: messages of a congestion control, transport, priority and rate of their own.
 *
 *     --class=bulk:cc=hpcc,transport=irn,priority=4,rate=40Gbps
 *
 * Flows and jobs name a class, or say what is other than in theirs, which makes one for them.
 */
#ifndef SCENARIOS_NETWORK_TRAFFIC_CLASSES_H
#define SCENARIOS_NETWORK_TRAFFIC_CLASSES_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// What a flow, a job or --class asks for; empty: as the class, or the network, has it.
struct ClassWish
{
    std::string name; ///< of a class, which the rest goes over
    std::string cc;
    std::string ccPreset;
    std::string transport;
    std::string priority;
    std::string rate;

    /// \return the keys and values that are there
    std::vector<std::pair<std::string, std::string>> Said() const;

    /// The text of a key ("class", "cc", ...); null: there is no such key
    std::string* Find(const std::string& key);

    bool operator<(const ClassWish& other) const
    {
        return Said() < other.Said();
    }
};

/// The keys of a ClassWish: columns of flow files, keys of jobs.
const std::vector<std::string>& ClassKeys();

/// What is wrong with a wish.
struct ClassProblem
{
    std::string key; ///< one of ClassKeys()
    std::string value;
    std::string problem;
    std::string nearest;
};

std::vector<Option> TrafficClassRows();

/// Classes of --class, into `fabric`. After its congestion control and transport.
void ApplyTrafficClasses(Validation* v, FabricSpec* fabric);

/// The class that flows or a job with this wish are of. Adds it to `fabric` unless it is there:
/// under a name of its own ("hpcc-2") if another class has the usual one.
/// \return nothing after a problem
std::optional<ChannelClass> FindTrafficClass(FabricSpec* fabric,
                                             const ClassWish& wish,
                                             ClassProblem* problem);

/// Who sends: (number of the class, priority).
using ClassUses = std::set<std::pair<uint8_t, uint8_t>>;

/// What follows from who uses which class: marks of each priority, into `run`; notes, and an error
/// where two classes share a queue and want other marks.
void SettleTrafficClasses(Validation* v,
                          const FabricSpec& fabric,
                          const ClassUses& uses,
                          RunOptions* run);

/// \return classes by number, class 0 first; none if there is no other
std::vector<TrafficClass> TrafficClassesOf(const FabricSpec& fabric);

/// For plans: "bulk: hpcc, irn, priority 4, at most 40Gbps".
std::string TrafficClassText(const TrafficClass& of);

} // namespace scenario

#endif // SCENARIOS_NETWORK_TRAFFIC_CLASSES_H
