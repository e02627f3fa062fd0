/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's variables as a preset of our options: --nccl-env.
 *
 *     --nccl-env=NCCL_ALGO=ring,tree,NCCL_PROTO=^LL128    as one would set them; the next begins at
 *                                                         ",NCCL_", since values have commas
 *     --nccl-env=nccl.conf                                a file with a line NAME=VALUE each
 *     --nccl-env=environment                              those that are set
 *
 * Each variable has a row in one table (--help=nccl-env). A variable that concerns nothing
 * that is simulated gets a note. One that would change times in a way that is not simulated is
 * refused. An unknown one is an error. An option of ours that is given wins, with a note.
 *
 * Names, values and their meaning: NCCL user guide, "Environment Variables", NCCL 2.30
 * (docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html), names also from its index of 2.32;
 * the grammar of NCCL_ALGO and NCCL_PROTO as well: NVIDIA/nccl src/graph/tuning.cc, parseList.
 */
#ifndef SCENARIOS_COLLECTIVE_NCCL_ENVIRONMENT_H
#define SCENARIOS_COLLECTIVE_NCCL_ENVIRONMENT_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// Names and values, in their order.
using NcclVariables = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLargestNcclFile = 1u << 20;

/// Splits a list "NCCL_A=x,NCCL_B=y". \param problem set if the text is no such list
NcclVariables SplitNcclVariables(const std::string& text, std::string* problem);

/// Reads a file's text, as nccl.conf: NAME=VALUE lines, empty lines and "# ...".
/// \param problem set, with the line's number, if the text has another form; or if it is larger
/// than kLargestNcclFile
NcclVariables ParseNcclFile(const std::string& text, std::string* problem);

/// The rows of --nccl-env in a table of options.
std::vector<Option> NcclOptionRows();

/// The effect of each variable here.
NameList NcclVariableList();

/// Reads --nccl-env. Decides options that were not given; variables without an option of their own
/// set the limits. Before options are used; adds errors and notes.
NcclLimits ApplyNcclVariables(Validation* v);

/// Whether NCCL_ALGO asks for switches between servers that add up, for an operation: its list has
/// CollnetDirect or CollnetChain, or nothing that does without (NVLS alone).
bool NcclAsksForSwitches(const NcclLimits& limits, coll::Op op);

/// The algorithm that is named for it (--algorithm); null: none, or auto.
const coll::Algorithm* NamedFor(const CollectiveOptions& options, const coll::Collective& what);

/// A variable as it was set, "NCCL_ALGO=Ring"; empty: it was not.
std::string NcclVariableAsSet(const NcclLimits& limits, const std::string& name);

/// Checks what the limits leave for these collectives beside the options that were given. Adds an
/// error where nothing is left to choose.
void CheckNcclLimits(Validation* v,
                     const CollectiveOptions& options,
                     const std::vector<coll::Collective>& used,
                     const coll::Placement& placement);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_NCCL_ENVIRONMENT_H
