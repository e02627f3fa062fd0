/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ASTRA-sim's network file (astra-sim/astra-network-analytical, input/NAME.yml), in the part of
 * YAML that it uses: a key on each line, with a list behind it or on the lines below.
 *
 *     topology: [ Ring, FullyConnected, Switch ]
 *     npus_count: [ 2, 8, 4 ]             # the nearest dimension first
 *     bandwidth: [ 200.0, 100.0, 50.0 ]   # GB/s, 2^30 bytes
 *     latency: [ 50.0, 500.0, 2000.0 ]    # ns
 *
 * The same file is written for networks of dimensions that ASTRA-sim has words for.
 */
#ifndef TOPOLOGIES_FORMATS_ASTRA_FORMAT_H
#define TOPOLOGIES_FORMATS_ASTRA_FORMAT_H

#include "topologies/dimensions.h"
#include "topologies/family.h"

#include <string>
#include <vector>

namespace topo
{

/// Whether a file has the keys of ASTRA-sim's network files.
bool IsAstraTopology(const std::string& path);

/// The file for these dimensions, all with a rate and a delay; nothing, with the reason in *why, if
/// ASTRA-sim has no word for one (a line).
std::optional<std::string> AstraTopologyText(const std::vector<Dimension>& dimensions,
                                             std::string* why);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_ASTRA_FORMAT_H
