/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of collectives: which algorithm and which protocol, and what a library takes of time.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLECTIVE_OPTIONS_H
#define SCENARIOS_COLLECTIVE_COLLECTIVE_OPTIONS_H

#include "collectives/tuner/tuner.h"
#include "scenarios/collective/fabric-switches.h"
#include "scenarios/network/validate.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

/// The name in --algorithm that leaves the choice to the tuner.
constexpr const char* kAutoAlgorithm = "auto";

/// The names in --tuner.
constexpr const char* kModelTuner = "model";
constexpr const char* kMeasuredTuner = "measured";

/// The choice for a collective: the user's, else a measured one if there is one, else the tuner's
/// by formula. It may be impossible: Algorithm::WhyNot. Schedules are made with
/// CollectiveOptions::OptionsFor of this choice.
coll::Choice ChoiceOf(const CollectiveOptions& options,
                      const coll::Collective& what,
                      const coll::Placement& placement);

/// Whether a collective's algorithm is the tuner's to choose, by measurement if it is asked for.
bool IsLeftToTuner(const CollectiveOptions& options,
                   const coll::Collective& what,
                   const coll::Placement& placement);

/// The choices worth measuring where the choice is left to the tuner. The choice by formula is the
/// first.
std::vector<coll::Choice> CandidatesOf(const CollectiveOptions& options,
                                       const coll::Collective& what,
                                       const coll::Placement& placement);

/// The same in words: "ring", "ring, LL128".
std::string ChoiceText(const coll::Choice& choice);

/// The choices for several sizes in ascending order: "ring, LL up to 65536 B; ring, simple". The
/// part after the last size of a choice is left out where there is only one choice.
std::string ChoicesText(const CollectiveOptions& options,
                        const std::vector<coll::Collective>& whats,
                        const coll::Placement& placement);

/// Reads the options of collectives. `run`: the collectives of the run; their algorithms are asked
/// whether they can do them. `cluster` null (it was not valid): only names are checked; else it
/// gets the aggregation units that the collectives use. `nccl`: the result of ApplyNcclVariables.
/// `compared`: choices whose names are those of --compare, for the same collectives; their options
/// are set.
CollectiveOptions MakeCollectives(Validation* v,
                                  ClusterSpec* cluster,
                                  const FabricSpec& fabric,
                                  const NcclLimits& nccl,
                                  const CollectivesOfRun& run,
                                  std::vector<Compared>* compared = nullptr);

NameList AlgorithmList();

/// --help=algorithms: operations, times by formula, options that are read, sources.
std::string AlgorithmsText();

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLECTIVE_OPTIONS_H
