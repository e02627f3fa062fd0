/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Servers that are not alike: --server-kinds=4xdgx-a100,4xdgx-h100. Ranks go through them in this
 * order. Kinds differ in their GPUs, the links between these, and the rate of NICs; the numbers of
 * GPUs and NICs of a server are the same.
 */
#ifndef SCENARIOS_NETWORK_SERVER_KINDS_H
#define SCENARIOS_NETWORK_SERVER_KINDS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

std::vector<Option> ServerKindsRows();

/// Options that a run on unequal servers does not have.
void RefuseWithServerKinds(std::vector<Option>* options);

/// "4xdgx-a100,4xdgx-h100": numbers and names, neighbours of one name joined. Empty: an error, or
/// the option is not given.
std::vector<std::pair<uint32_t, std::string>> NamedServerKinds(Validation* v);

/// Decides --servers, and --server as the first kind. Before ChosenServer().
void DecideServerKinds(Validation* v);

/// The kinds, after errors or of equal servers none.
std::vector<ServerKind> ChosenServerKinds(Validation* v);

/// The server that decides options of NICs: the first one, with the fastest kind's NICs.
topo::ServerSpec ServerOfNics(const topo::ServerSpec& first, const std::vector<ServerKind>& kinds);

/// Gives the cluster its kinds, and the cables of slower NICs their rates.
void SetServerKinds(Validation* v,
                    const std::vector<ServerKind>& kinds,
                    const FabricSpec& fabric,
                    bool fromFile,
                    ClusterSpec* cluster);

/// "4 x dgx-a100 and 4 x dgx-h100".
std::string ServerKindsText(const ClusterSpec& cluster);

} // namespace scenario

#endif // SCENARIOS_NETWORK_SERVER_KINDS_H
