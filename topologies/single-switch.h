/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All servers on one switch: a star, and the fixture of most closed forms.
 *
 *     server-0  server-1  server-2       port s x nicsPerServer + n of switch-0 leads to NIC n of
 * server s \        |        /
 *          `--- switch-0 --'
 */
#ifndef TOPOLOGIES_SINGLE_SWITCH_H
#define TOPOLOGIES_SINGLE_SWITCH_H

#include "topologies/family.h"

namespace topo
{

TopologyResult MakeSingleSwitch(const TopologyRequest& request);

} // namespace topo

#endif // TOPOLOGIES_SINGLE_SWITCH_H
