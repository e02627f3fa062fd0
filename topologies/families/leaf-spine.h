/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dual-plane shares with leaf-spine (leaf-spine.cc): all but the number of planes.
 */
#ifndef TOPOLOGIES_FAMILIES_LEAF_SPINE_H
#define TOPOLOGIES_FAMILIES_LEAF_SPINE_H

#include "topologies/family.h"

#include <string>

namespace topo
{
namespace detail
{

/// Leaf-spine under a name. \param description for people, and the parameters it has
Family LeafSpineFamily(const std::string& name, const std::string& description);

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_FAMILIES_LEAF_SPINE_H
