/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dual-plane: two leaf-spine networks, each with a port of every NIC (planes.h has the drawing and
 * the source); more with --planes. It is leaf-spine with --planes=2, under the name that such
 * networks have. Other families in planes: --planes with their names.
 */
#include "topologies/families/leaf-spine.h"

namespace topo
{

namespace
{

Family
DualPlane()
{
    Family f = detail::LeafSpineFamily(
        "dual-plane",
        "two leaf-spine networks, each with a port of every NIC (planes, leaves, spines, hosts "
        "per leaf, oversubscription)");
    f.planes = 2;
    return f;
}

const RegisteredFamily g_dualPlane(DualPlane());

} // namespace

} // namespace topo
