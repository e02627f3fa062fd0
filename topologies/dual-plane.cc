/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dual-plane: two leaf-spine networks, each with a port of every NIC (planes.h has the drawing and
 * the source); more with --planes. It is leaf-spine with --planes=2, under the name that such
 * networks have. Other families in planes: --planes with their names.
 */
#include "topologies/family.h"

#include <stdexcept>

namespace topo
{

namespace
{

const Family&
LeafSpine()
{
    const Family* family = FindFamily("leaf-spine");
    if (!family)
    {
        throw std::logic_error("dual-plane is made of leaf-spine, which is not there");
    }
    return *family;
}

Family
DualPlane()
{
    Family f(
        "dual-plane",
        "two leaf-spine networks, each with a port of every NIC (planes, leaves, spines, hosts "
        "per leaf, oversubscription)");
    f.parameters = {
        detail::Oversubscription(),
        CountParameter("leaves", "number of leaves").Chosen("what the servers need").Example("4"),
        CountParameter("spines", "number of spines").Chosen("what the leaves can use").Example("4"),
        CountParameter("hosts-per-leaf", "server ports of a leaf")
            .Chosen("16 at most")
            .Example("4"),
        detail::Planes(),
    };
    f.sizedBy = {"leaves", "hosts-per-leaf"};
    f.tiers = {"leaf", "spine"};
    f.planes = 2;
    f.noCycles = true;
    f.make = [](const TopologyRequest& r) { return LeafSpine().make(r); };
    return f;
}

const RegisteredFamily g_dualPlane(DualPlane());

} // namespace

} // namespace topo
