/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The subnet manager's routing engines by name, fallback, and what a new sweep changes.
 *
 *     IbSubnet subnet = DiscoverIbSubnet(fabric, {...});
 *     IbTables tables = IbRoute(subnet, {"ftree", "minhop"}, {...});   // the first that can
 *     IbCheck check = IbCheckTables(subnet, tables);                   // ib-deadlock.h
 *
 *     fabric.linkDown[17] = true;                                      // a failure
 *     IbSubnet later = DiscoverIbSubnet(fabric, {...kList}, &subnet); // LIDs as before
 *     IbTables after = IbRoute(later, {"ftree", "minhop"}, {...});
 *     IbTableChanges changes = IbCompare(tables, after);
 *
 * Every sweep routes anew. OpenSM keeps a path that is still shortest; ours follow from the fabric
 * alone, so that a repair gives back the tables of before the failure.
 *
 * With only one name there is no fallback: IbRoutingError says what is wrong. OpenSM takes min-hop
 * by itself then ("-R ftree,updn" means ftree, updn, minhop), so a cluster may run on other tables
 * than its owner believes; here that has to be asked for, and IbTables::note says it.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_H

#include "ib-deadlock.h"
#include "ib-routing-dfsssp.h"
#include "ib-routing-ftree.h"
#include "ib-routing-minhop.h"
#include "ib-routing-torus.h"
#include "ib-routing-updn.h"

namespace rdma
{

struct IbRoutingEngine
{
    const char* name;
    const char* description; ///< one line
    IbTables (*route)(const IbSubnet&, const IbRoutingOptions&);
    bool deadlockFree; ///< by construction, between hosts
};

/// All engines, the default first.
inline const std::vector<IbRoutingEngine>&
IbRoutingEngines()
{
    static const std::vector<IbRoutingEngine> all = {
        {"minhop", "shortest paths, ports balanced by LIDs; may deadlock", IbRouteMinHop, false},
        {"updn", "up*/down*: paths go up towards roots, then down", IbRouteUpDown, true},
        {"ftree", "fat-trees: destination mod k, no contention on shifts", IbRouteFatTree, true},
        {"torus",
         "rings, tori and meshes: dimension order, virtual lanes at the dateline",
         IbRouteTorus,
         true},
        {"dfsssp",
         "any graph: balanced shortest paths, moved to other virtual lanes until nothing can "
         "deadlock",
         IbRouteDfsssp,
         true},
    };
    return all;
}

/// By name; an unknown name throws std::invalid_argument.
inline const IbRoutingEngine&
IbFindRoutingEngine(const std::string& name)
{
    std::string names;
    for (const IbRoutingEngine& engine : IbRoutingEngines())
    {
        if (name == engine.name)
        {
            return engine;
        }
        names += std::string(names.empty() ? "" : ", ") + engine.name;
    }
    throw std::invalid_argument("IbRoute: no routing engine is called \"" + name +
                                "\"; there are " + names);
}

/// Tables of the first engine of the list that can route this fabric; the error of the last one if
/// none can.
inline IbTables
IbRoute(const IbSubnet& subnet,
        const std::vector<std::string>& engines,
        const IbRoutingOptions& options = {})
{
    if (engines.empty())
    {
        throw std::invalid_argument("IbRoute: no routing engine is named");
    }
    std::vector<const IbRoutingEngine*> found; // all of them, so that a wrong name never hides
    for (const std::string& name : engines)
    {
        found.push_back(&IbFindRoutingEngine(name));
    }
    std::string note;
    for (size_t i = 0; i < found.size(); ++i)
    {
        try
        {
            IbTables tables = found[i]->route(subnet, options);
            if (!note.empty())
            {
                tables.note = "routed by " + engines[i] + ": " + note +
                              (tables.note.empty() ? "" : "; " + tables.note);
            }
            return tables;
        }
        catch (const IbRoutingError& error)
        {
            const std::string text = engines[i] + " cannot route: " + error.what();
            note += (note.empty() ? "" : "; ") + text;
            if (i + 1 == found.size())
            {
                throw IbRoutingError(note);
            }
        }
    }
    return {};
}

/// What a manager has to send after a sweep.
struct IbTableChanges
{
    uint64_t entries = 0;     ///< of forwarding tables
    uint64_t switches = 0;    ///< with at least one of them
    uint64_t blocks = 0;      ///< of 64 LIDs, as one SubnSet(LinearForwardingTable) has (14.2.5.10)
    uint64_t slToVlRows = 0;  ///< (switch, in, out) with other VLs
    uint64_t pathRecords = 0; ///< (source switch, LID) with another SL
};

/// Tables of the same fabric, before and after. LIDs that only one of them has count as entries.
inline IbTableChanges
IbCompare(const IbSubnet& subnet, const IbTables& before, const IbTables& after)
{
    IbTableChanges changes;
    for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
    {
        const uint32_t lids =
            static_cast<uint32_t>(std::max(before.lft[s].size(), after.lft[s].size()));
        uint64_t here = 0;
        for (uint32_t first = 0; first < lids; first += 64)
        {
            uint64_t inBlock = 0;
            for (uint32_t lid = first; lid < std::min(lids, first + 64); ++lid)
            {
                inBlock += before.OutPort(s, lid) != after.OutPort(s, lid);
                changes.pathRecords += before.PathSl(s, lid) != after.PathSl(s, lid);
            }
            here += inBlock;
            changes.blocks += inBlock > 0;
        }
        changes.entries += here;
        changes.switches += here > 0;
        const uint32_t ports = subnet.Switches()[s].ports;
        const bool plain = (before.rowOf.empty() || before.rowOf[s].empty()) &&
                           (after.rowOf.empty() || after.rowOf[s].empty());
        if (plain && before.rows[0] == after.rows[0])
        {
            continue;
        }
        for (uint32_t in = 0; in <= ports; ++in)
        {
            for (uint32_t out = 0; out <= ports; ++out)
            {
                changes.slToVlRows += before.rows[before.RowOf(s, in, out, ports)] !=
                                      after.rows[after.RowOf(s, in, out, ports)];
            }
        }
    }
    return changes;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_H
