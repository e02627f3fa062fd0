/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of collectives: which algorithm and which protocol, and what a library takes of time.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVE_OPTIONS_H
#define SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVE_OPTIONS_H

#include "collectives/tuner.h"
#include "scenarios/options/cluster/validate.h"
#include "scenarios/options/collective/fabric-switches.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

/// What --algorithm says where it does not choose.
constexpr const char* kAutoAlgorithm = "auto";

/// What --tuner says.
constexpr const char* kModelTuner = "model";
constexpr const char* kMeasuredTuner = "measured";

/// How a collective is done: as the user has said, else as the tuner chooses, by measurement where
/// there is one. It may be that it cannot: Algorithm::WhyNot. Schedules are made with
/// CollectiveOptions::OptionsFor of this choice.
coll::Choice ChoiceOf(const CollectiveOptions& options,
                      const coll::Collective& what,
                      const coll::Placement& placement);

/// Whether a collective's algorithm is the tuner's to choose, by measurement if it is asked for.
bool IsLeftToTuner(const CollectiveOptions& options,
                   const coll::Collective& what,
                   const coll::Placement& placement);

/// Of what is left to the tuner: what is worth a measurement, the choice by formula first.
std::vector<coll::Choice> CandidatesOf(const CollectiveOptions& options,
                                       const coll::Collective& what,
                                       const coll::Placement& placement);

/// The same in words: "ring", "ring, LL128".
std::string ChoiceText(const coll::Choice& choice);

/// Of several sizes in ascending order: "ring, LL up to 65536 B; ring, simple". The part after the
/// last size of a choice is left out where there is only one.
std::string ChoicesText(const CollectiveOptions& options,
                        const std::vector<coll::Collective>& whats,
                        const coll::Placement& placement);

/// `run`: the collectives that it will do, asked of their algorithms whether they can.
/// Without a cluster (it was not valid) only names are checked; if there is one, it gets the units
/// of switches that they use. `nccl`: of ApplyNcclVariables. `compared`: their names are those of
/// --compare, which do what the run does, too; their options are set.
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

#endif // SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVE_OPTIONS_H
