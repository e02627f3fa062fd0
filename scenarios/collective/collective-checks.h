/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Checks that the choices for collectives can be done.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLECTIVE_CHECKS_H
#define SCENARIOS_COLLECTIVE_COLLECTIVE_CHECKS_H

#include "scenarios/collective/collective-options.h"

#include <string>
#include <vector>

namespace scenario
{

/// Options that no algorithm of the run reads are refused: they would do nothing. Where some do and
/// others do not, it is told. \param placements of the groups
void CheckKnobs(Validation* v,
                const std::vector<CollectiveOptions*>& choices,
                const std::vector<UsedBy>& groups,
                const std::vector<coll::Placement>& placements);

/// Notes their options, where a run has no collective.
void NoteIdleKnobs(Validation* v);

/// --protocol where nothing has a choice of one: as an option that no algorithm reads.
void CheckProtocolUse(Validation* v, const std::vector<coll::Collective>& used);

/// Protocols that NCCL's variables leave, none of which these servers have.
void CheckNcclProtocols(Validation* v,
                        const CollectiveOptions& c,
                        const std::vector<coll::Collective>& used,
                        const coll::Placement& placement);

/// Whether a collective of the run is done by switches between servers.
bool AnySwitches(const std::vector<CollectiveOptions*>& choices,
                 const std::vector<UsedBy>& groups,
                 const std::vector<coll::Placement>& placements);

/// Checks algorithms that are for groups of several servers. Adds a note where other groups do
/// without the algorithm, and an error where only such other groups exist.
/// \param option the option that has chosen the algorithm
void CheckForOthers(Validation* v,
                    const CollectiveOptions& c,
                    const std::vector<UsedBy>& groups,
                    const std::vector<coll::Placement>& placements,
                    const std::string& option);

/// Adds the reasons why an algorithm cannot run with these ranks and options, once per operation.
/// \param option the option that has chosen the algorithm
void CheckChoices(Validation* v,
                  const CollectiveOptions& c,
                  const std::vector<coll::Collective>& used,
                  const ClusterSpec& cluster,
                  const coll::Placement& placement,
                  const std::string& option,
                  uint32_t elementBytes);

/// --in-server=formula: checks that a formula exists.
void CheckFormulas(Validation* v,
                   const CollectiveOptions& c,
                   const std::vector<coll::Collective>& used,
                   const coll::Placement& placement);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLECTIVE_CHECKS_H
