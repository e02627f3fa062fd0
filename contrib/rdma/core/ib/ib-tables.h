/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables as text, in the forms in which OpenSM and its tools write them.
 *
 *   forwarding tables    opensm-lfts.dump (OpenSM's osm_dump.c), one block a switch, by GUID:
 *
 *       Unicast lids [0-5] of switch Lid 5 guid 0x0200000000000500 ('leaf-0'):
 *       0x0001 003 # Channel Adapter portguid 0x0200000000000101: 'server-0'
 *       0x0005 000 # Switch portguid 0x0200000000000500: 'leaf-0'
 *       5 lids dumped
 *
 *     The number at the end is the top LID, not a count. IbTextForm::kIbroute is how the tools
 *     ibroute and dump_lfts.sh write the same: "[0x0-0x5]", the name in parentheses only, two lines
 *     of titles, "0x0001 003 : (Channel Adapter portguid 0x..: 'server-0')" and "2 valid lids
 *     dumped", a count. Both can be read. OpenSM loads both ("-R file -U FILE").
 *
 *   SL-to-VL tables      opensm-sl2vl.dump, one block a port that has LIDs, by GUID; for a switch
 *                        one line for every port that it sends to and every port that it receives
 *                        from
 *
 *       Switch 0x0200000000000500, base LID 5, "leaf-0"
 *       #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
 *       #--------------------------------------------------------
 *       0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
 *       #--------------------------------------------------------
 *
 *   path records         opensm-path-records.dump (its plug-in osm_pr_dump), one block a host port,
 *                        one line for every LID; MTU and rate are the architecture's codes (IBA
 *                        vol 1, 15.2.5.16). Large: 3,072 hosts and 720 switches are 290 MB. OpenSM
 *                        has blocks of switches too; they are not written, and skipped on reading.
 *
 *       Channel Adapter 0x0200000000000101, base LID 1, "server-0", port 1
 *       # LID  : SL : MTU : RATE
 *       0x0001 : 0  : 5   : 16
 *       0x0002 : UNREACHABLE
 *
 * ib-tables-reading.h reads them.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_TABLES_H
#define CONTRIB_RDMA_CORE_IB_IB_TABLES_H

#include "ib-routing-tables.h"

#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <utility>

namespace rdma
{

enum class IbTextForm : uint8_t
{
    kOpensm,
    kIbroute,
};

/// Codes of the architecture for path records (IBA vol 1, 15.2.5.16): MTU 1..5 are 256..4096 B;
/// rates 3: 10, 7: 40, 12: 56, 16: 100, 17: 200, 21: 400, 23: 800 Gb/s.
struct IbPathCodes
{
    uint32_t mtu = 5;
    uint32_t rate = 16;
};

/// "Channel Adapter portguid 0x..: 'name'" of a LID.
inline std::string
IbOwnerText(const IbSubnet& subnet, uint32_t lid)
{
    const IbSubnet::Owner owner = subnet.OwnerOf(lid);
    char guid[24];
    const bool host = owner.endpoint != kIbNone;
    if (!host && owner.switchIndex == kIbNone)
    {
        return "unknown node and type";
    }
    const uint64_t number =
        host ? subnet.Endpoints()[owner.endpoint].guid : subnet.Switches()[owner.switchIndex].guid;
    const uint32_t node =
        host ? subnet.Endpoints()[owner.endpoint].node : subnet.Switches()[owner.switchIndex].node;
    std::snprintf(guid, sizeof(guid), "0x%016llx", static_cast<unsigned long long>(number));
    return std::string(host ? "Channel Adapter" : "Switch") + " portguid " + guid + ": '" +
           subnet.Name(node) + "'";
}

/// Forwarding tables of all reached switches.
inline void
IbWriteForwarding(std::ostream& out,
                  const IbSubnet& subnet,
                  const IbTables& tables,
                  IbTextForm form = IbTextForm::kOpensm)
{
    const bool opensm = form == IbTextForm::kOpensm;
    char text[96];
    std::vector<std::string> owners;
    for (uint32_t lid = 0; lid <= subnet.TopLid(); ++lid)
    {
        owners.push_back(IbOwnerText(subnet, lid));
    }
    for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
    {
        const IbSubnet::Switch& at = subnet.Switches()[s];
        if (!at.reached)
        {
            continue;
        }
        std::snprintf(text,
                      sizeof(text),
                      opensm ? "Unicast lids [0-%u] of switch Lid %u guid 0x%016llx "
                             : "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016llx ",
                      static_cast<unsigned>(subnet.TopLid()),
                      static_cast<unsigned>(at.lid),
                      static_cast<unsigned long long>(at.guid));
        out << text << (opensm ? "('" : "(") << subnet.Name(at.node) << (opensm ? "'):\n" : "):\n");
        if (!opensm)
        {
            out << "  Lid  Out   Destination\n       Port     Info \n";
        }
        uint32_t count = 0;
        for (uint32_t lid = 0; lid <= subnet.TopLid(); ++lid)
        {
            const uint8_t port = tables.OutPort(s, lid);
            if (port == kIbNoPort)
            {
                continue;
            }
            ++count;
            std::snprintf(text,
                          sizeof(text),
                          opensm ? "0x%04x %03u # " : "0x%04x %03u : (",
                          static_cast<unsigned>(lid),
                          static_cast<unsigned>(port));
            out << text << owners[lid] << (opensm ? "\n" : ")\n");
        }
        if (opensm)
        {
            out << subnet.TopLid() << " lids dumped\n";
        }
        else
        {
            out << count << " valid lids dumped \n";
        }
    }
}

/// SL-to-VL tables of all ports that have LIDs.
inline void
IbWriteSlToVl(std::ostream& out, const IbSubnet& subnet, const IbTables& tables)
{
    static const char* title = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n";
    static const char* rule = "#--------------------------------------------------------\n";
    char text[96];
    const auto head = [&](const char* type, uint64_t guid, uint16_t lid, uint32_t node) {
        std::snprintf(text,
                      sizeof(text),
                      "%s 0x%016llx, base LID %u, \"",
                      type,
                      static_cast<unsigned long long>(guid),
                      static_cast<unsigned>(lid));
        out << text << subnet.Name(node) << "\"\n" << title << rule;
    };
    const auto line = [&](uint32_t in, uint32_t to, const IbSlToVl& row) {
        std::snprintf(text, sizeof(text), "%-3u %-3u :", in, to);
        out << text;
        for (const uint8_t vl : row)
        {
            std::snprintf(text, sizeof(text), " %-2u", static_cast<unsigned>(vl));
            out << text;
        }
        out << '\n';
    };
    std::map<uint64_t, std::pair<bool, uint32_t>> byGuid; // GUID -> is a switch, index
    for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
    {
        if (subnet.Switches()[s].reached)
        {
            byGuid[subnet.Switches()[s].guid] = {true, s};
        }
    }
    for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
    {
        if (subnet.Endpoints()[e].reached)
        {
            byGuid[subnet.Endpoints()[e].guid] = {false, e};
        }
    }
    for (const auto& [guid, port] : byGuid)
    {
        if (port.first)
        {
            const IbSubnet::Switch& at = subnet.Switches()[port.second];
            head("Switch", guid, at.lid, at.node);
            for (uint32_t to = 1; to <= at.ports; ++to)
            {
                for (uint32_t in = 0; at.peers[to].live && in <= at.ports; ++in)
                {
                    line(in, to, tables.rows[tables.RowOf(port.second, in, to, at.ports)]);
                }
            }
        }
        else
        {
            const IbSubnet::Endpoint& at = subnet.Endpoints()[port.second];
            head("Channel Adapter", guid, at.lid, at.node);
            line(0, 0, tables.rows[tables.hostRow.empty() ? 0 : tables.hostRow[port.second]]);
        }
        out << rule << '\n';
    }
}

/// Path records from all reached host ports to all LIDs.
inline void
IbWritePathRecords(std::ostream& out,
                   const IbSubnet& subnet,
                   const IbTables& tables,
                   const IbPathCodes& codes = {})
{
    char text[96];
    for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
    {
        const IbSubnet::Endpoint& from = subnet.Endpoints()[e];
        if (!from.reached)
        {
            continue;
        }
        std::snprintf(text,
                      sizeof(text),
                      "Channel Adapter 0x%016llx, base LID %u, \"",
                      static_cast<unsigned long long>(from.guid),
                      static_cast<unsigned>(from.lid));
        out << text << subnet.Name(from.node) << "\", port " << static_cast<unsigned>(from.port)
            << "\n# LID  : SL : MTU : RATE\n";
        for (uint32_t lid = 1; lid <= subnet.TopLid(); ++lid)
        {
            const IbSubnet::Owner owner = subnet.OwnerOf(lid);
            if (owner.endpoint == kIbNone && owner.switchIndex == kIbNone)
            {
                continue;
            }
            const auto record = IbQueryPath(subnet, tables, e, static_cast<uint16_t>(lid));
            if (record)
            {
                std::snprintf(text,
                              sizeof(text),
                              "0x%04X : %-2u : %-3u : %-4u\n",
                              static_cast<unsigned>(lid),
                              static_cast<unsigned>(record->sl),
                              codes.mtu,
                              codes.rate);
            }
            else
            {
                std::snprintf(text, sizeof(text), "0x%04X : UNREACHABLE\n", lid);
            }
            out << text;
        }
        out << '\n';
    }
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_TABLES_H
