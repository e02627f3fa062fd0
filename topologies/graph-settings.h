/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Settings of places in a file of the family "graph", before the network is made: some options
 * follow from them.
 */
#ifndef TOPOLOGIES_GRAPH_SETTINGS_H
#define TOPOLOGIES_GRAPH_SETTINGS_H

#include <string>
#include <utility>
#include <vector>

namespace topo
{

/// \return keys and values of all `set`, `set_from` and `set_to`; none of a file that is no graph,
/// or cannot be read: ReadGraph says why
std::vector<std::pair<std::string, std::string>> SettingsOfFile(const std::string& path);

} // namespace topo

#endif // TOPOLOGIES_GRAPH_SETTINGS_H
