/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables back from their text (ib-tables.h has the forms).
 *
 * Reading needs the IbSubnet for which the tables were made: switches and ports are found by GUID,
 * and LIDs must have the owners that the file says. Everything that does not fit is one
 * IbTableError, "file:line: what". OpenSM skips lines that it does not know; here a damaged file is
 * found out, also one that ends early.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_TABLES_READING_H
#define CONTRIB_RDMA_CORE_IB_IB_TABLES_READING_H

#include "ib-lids.h"
#include "ib-routing-tables.h"
#include "ib-table-reader.h"
#include "ib-tables.h"

#include <cstdio>
#include <map>
#include <unordered_map>

namespace rdma
{

inline std::string
IbGuidText(uint64_t guid)
{
    char text[24];
    std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(guid));
    return text;
}

/// Reads forwarding tables in either form; all reached switches have to be there. Replaces
/// tables.lft. \param file its name, for errors
inline void
IbReadForwarding(std::istream& in,
                 const std::string& file,
                 const IbSubnet& subnet,
                 IbTables& tables)
{
    IbTableReader reader(in, file);
    std::unordered_map<uint64_t, uint32_t> switchOf;
    for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
    {
        switchOf[subnet.Switches()[s].guid] = s;
    }
    std::vector<std::vector<uint8_t>> lft(subnet.Switches().size());
    std::vector<bool> has(lft.size(), false);
    uint32_t at = kIbNone; // the switch whose block this is
    uint64_t top = 0;
    uint64_t count = 0;
    const auto name = [&](uint32_t s) { return subnet.Name(subnet.Switches()[s].node); };
    while (reader.Next())
    {
        if (reader.Take("#") || reader.Take("Lid ") || reader.Take("Port "))
        {
            continue;
        }
        if (reader.Take("Unicast lids"))
        {
            if (at != kIbNone)
            {
                reader.Fail("the table of " + name(at) +
                            " has no line \"... lids dumped\" at its end");
            }
            if (!reader.Take("["))
            {
                reader.Fail("no range of LIDs: \"" + reader.Text() + "\"");
            }
            const auto lid = [&] {
                const bool hex = reader.Text().find("[0x") != std::string::npos;
                return reader.Number(hex ? 16 : 10, kIbLastUnicastLid, "a LID");
            };
            if (lid() != 0 || !reader.Take("-"))
            {
                reader.Fail("the range of LIDs does not begin at 0");
            }
            top = lid();
            if (!reader.Take("]"))
            {
                reader.Fail("the range of LIDs has no end: \"" + reader.Rest() + "\"");
            }
            if (!reader.Skip(" guid "))
            {
                reader.Fail("no GUID of the switch: \"" + reader.Rest() + "\"");
            }
            const uint64_t guid = reader.Number(16, ~0ULL, "the GUID of the switch");
            const auto found = switchOf.find(guid);
            if (found == switchOf.end())
            {
                reader.Fail("no switch of this subnet has the GUID " + IbGuidText(guid));
            }
            at = found->second;
            if (has[at])
            {
                reader.Fail("a second table of " + name(at));
            }
            has[at] = true;
            count = 0;
            lft[at].assign(std::max<uint64_t>(subnet.TopLid(), top) + 1, kIbNoPort);
            continue;
        }
        if (at == kIbNone)
        {
            reader.Fail("not the head of a table: \"" + reader.Rest() + "\"");
        }
        if (reader.Text().compare(0, 2, "0x") != 0)
        {
            const std::string text = reader.Text();
            const std::string neither = "neither an entry (0x0001 001: LID and port) nor the end "
                                        "of a table (3 valid lids dumped): \"" +
                                        text + "\"";
            if (text.empty() || text[0] < '0' || text[0] > '9')
            {
                reader.Fail(neither);
            }
            const uint64_t number = reader.Number(10, 65535, "the number of LIDs");
            const bool valid = reader.Take("valid");
            if (!reader.Take("lids dumped") || !reader.AtEnd())
            {
                reader.Fail(neither);
            }
            if (number != (valid ? count : top) && (valid || number != count))
            {
                reader.Fail("the table of " + name(at) + " should have " + std::to_string(number) +
                            " LIDs, but has " + std::to_string(valid ? count : top));
            }
            at = kIbNone;
            continue;
        }
        const uint64_t lid = reader.Number(16, top, "the LID");
        const uint64_t port = reader.Number(10, 255, "the port");
        if (port > subnet.Switches()[at].ports)
        {
            reader.Fail(name(at) + " has no port " + std::to_string(port) + ", only 0 to " +
                        std::to_string(subnet.Switches()[at].ports));
        }
        if (lft[at][lid] != kIbNoPort)
        {
            reader.Fail("a second entry for LID " + std::to_string(lid) + " in the table of " +
                        name(at));
        }
        if (!reader.AtEnd() && !reader.Take("#") && !reader.Take(":"))
        {
            reader.Fail("after the port: \"" + reader.Rest() + "\"");
        }
        if (reader.Skip("portguid "))
        {
            const uint64_t guid = reader.Number(16, ~0ULL, "the port GUID");
            const IbSubnet::Owner owner = subnet.OwnerOf(static_cast<uint32_t>(lid));
            const uint64_t here =
                owner.endpoint != kIbNone      ? subnet.Endpoints()[owner.endpoint].guid
                : owner.switchIndex != kIbNone ? subnet.Switches()[owner.switchIndex].guid
                                               : 0;
            if (guid != here)
            {
                reader.Fail("LID " + std::to_string(lid) + " should belong to " + IbGuidText(guid) +
                            ", in this subnet it " +
                            (here ? "belongs to " + IbGuidText(here) : "belongs to nobody"));
            }
        }
        lft[at][lid] = static_cast<uint8_t>(port);
        ++count;
    }
    if (at != kIbNone)
    {
        reader.Fail("the file ends within the table of " + name(at));
    }
    for (uint32_t s = 0; s < lft.size(); ++s)
    {
        if (!has[s])
        {
            if (subnet.Switches()[s].reached)
            {
                reader.Fail("the file has no table of " + name(s));
            }
            lft[s].assign(subnet.TopLid() + 1u, kIbNoPort);
        }
    }
    tables.lft = std::move(lft);
}

/// The head of a block: type, GUID, base LID. false: not a head.
struct IbBlockHead
{
    bool isSwitch = false;
    uint32_t index = kIbNone; ///< of the switch or endpoint
};

/// \param all by GUID: (is a switch, index)
inline bool
IbReadHead(IbTableReader& reader,
           const IbSubnet& subnet,
           const std::unordered_map<uint64_t, std::pair<bool, uint32_t>>& all,
           IbBlockHead& head)
{
    const bool isSwitch = reader.Take("Switch ");
    if (!isSwitch && !reader.Take("Channel Adapter "))
    {
        return false;
    }
    const uint64_t guid = reader.Number(16, ~0ULL, "the GUID of the port");
    const auto found = all.find(guid);
    if (found == all.end() || found->second.first != isSwitch)
    {
        reader.Fail(std::string("no ") + (isSwitch ? "switch" : "host port") +
                    " of this subnet has the GUID " + IbGuidText(guid));
    }
    head = {isSwitch, found->second.second};
    if (!reader.Take(",") || !reader.Take("base LID"))
    {
        reader.Fail("no base LID: \"" + reader.Rest() + "\"");
    }
    const uint64_t lid = reader.Number(10, kIbLastUnicastLid, "the base LID");
    const uint64_t here =
        isSwitch ? subnet.Switches()[head.index].lid : subnet.Endpoints()[head.index].lid;
    if (lid != here)
    {
        reader.Fail("base LID " + std::to_string(lid) + " of " + IbGuidText(guid) +
                    ", in this subnet it has " + std::to_string(here));
    }
    return true;
}

inline std::unordered_map<uint64_t, std::pair<bool, uint32_t>>
IbPortsByGuid(const IbSubnet& subnet)
{
    std::unordered_map<uint64_t, std::pair<bool, uint32_t>> all;
    for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
    {
        all[subnet.Switches()[s].guid] = {true, s};
    }
    for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
    {
        all[subnet.Endpoints()[e].guid] = {false, e};
    }
    return all;
}

/// Reads SL-to-VL tables; all ports with LIDs that are up have to be there. Replaces tables.rows,
/// rowOf and hostRow.
inline void
IbReadSlToVl(std::istream& in, const std::string& file, const IbSubnet& subnet, IbTables& tables)
{
    IbTableReader reader(in, file);
    const auto all = IbPortsByGuid(subnet);
    std::map<IbSlToVl, uint16_t> known;
    std::vector<IbSlToVl> rows;
    const auto rowNumber = [&](const IbSlToVl& row) {
        const auto [it, isNew] = known.emplace(row, static_cast<uint16_t>(rows.size()));
        if (isNew)
        {
            if (rows.size() == 65535)
            {
                reader.Fail("more than 65535 different rows");
            }
            rows.push_back(row);
        }
        return it->second;
    };
    constexpr uint16_t kUnset = 0xFFFF;
    std::vector<std::vector<uint16_t>> rowOf(subnet.Switches().size());
    std::vector<uint16_t> hostRow(subnet.Endpoints().size(), kUnset);
    IbBlockHead head;
    while (reader.Next())
    {
        if (reader.Take("#"))
        {
            continue;
        }
        if (IbReadHead(reader, subnet, all, head))
        {
            const bool again =
                head.isSwitch ? !rowOf[head.index].empty() : hostRow[head.index] != kUnset;
            if (again)
            {
                reader.Fail("a second block of this port");
            }
            if (head.isSwitch)
            {
                const size_t ports = subnet.Switches()[head.index].ports + 1u;
                rowOf[head.index].assign(ports * ports, kUnset);
            }
            continue;
        }
        if (head.index == kIbNone)
        {
            reader.Fail("not the head of a block: \"" + reader.Rest() + "\"");
        }
        const uint64_t ports = head.isSwitch ? subnet.Switches()[head.index].ports : 0;
        const uint64_t from = reader.Number(10, ports, "the in port");
        const uint64_t to = reader.Number(10, ports, "the out port");
        if (!reader.Take(":"))
        {
            reader.Fail("no colon after the ports: \"" + reader.Rest() + "\"");
        }
        IbSlToVl row{};
        for (uint8_t& vl : row)
        {
            vl = static_cast<uint8_t>(reader.Number(10, 15, "the VL"));
        }
        if (!reader.AtEnd())
        {
            reader.Fail("more than 16 VLs: \"" + reader.Rest() + "\"");
        }
        uint16_t& at =
            head.isSwitch ? rowOf[head.index][from * (ports + 1) + to] : hostRow[head.index];
        if (at != kUnset)
        {
            reader.Fail("a second row for ports " + std::to_string(from) + " and " +
                        std::to_string(to));
        }
        at = rowNumber(row);
    }
    if (rows.empty() && !(rowOf.empty() && hostRow.empty()))
    {
        reader.Fail("the file has no tables");
    }
    if (rows.empty())
    {
        rows.push_back({});
    }
    for (uint32_t s = 0; s < rowOf.size(); ++s)
    {
        const IbSubnet::Switch& at = subnet.Switches()[s];
        if (rowOf[s].empty() && at.reached)
        {
            reader.Fail("the file has no tables of " + subnet.Name(at.node));
        }
        bool plain = true;
        for (uint32_t i = 0; i < rowOf[s].size(); ++i)
        {
            const uint32_t to = i % (at.ports + 1u);
            if (rowOf[s][i] == kUnset && to != 0 && at.peers[to].live)
            {
                reader.Fail("the file has no row of " + subnet.Name(at.node) + " from port " +
                            std::to_string(i / (at.ports + 1u)) + " to port " + std::to_string(to));
            }
            rowOf[s][i] = rowOf[s][i] == kUnset ? 0 : rowOf[s][i];
            plain = plain && rowOf[s][i] == 0;
        }
        if (plain)
        {
            rowOf[s] = {};
        }
    }
    bool plain = true;
    for (uint32_t e = 0; e < hostRow.size(); ++e)
    {
        if (hostRow[e] == kUnset && subnet.Endpoints()[e].reached)
        {
            reader.Fail("the file has no tables of " + subnet.Name(subnet.Endpoints()[e].node) +
                        " port " + std::to_string(subnet.Endpoints()[e].port));
        }
        hostRow[e] = hostRow[e] == kUnset ? 0 : hostRow[e];
        plain = plain && hostRow[e] == 0;
    }
    if (plain)
    {
        hostRow.clear();
    }
    tables.rows = std::move(rows);
    tables.rowOf = std::move(rowOf);
    tables.hostRow = std::move(hostRow);
}

/// Reads the SLs of path records. Replaces tables.pathSl. Host ports of one switch have to have the
/// same SL to a LID, since here they share the record.
inline void
IbReadPathRecords(std::istream& in,
                  const std::string& file,
                  const IbSubnet& subnet,
                  IbTables& tables)
{
    IbTableReader reader(in, file);
    const auto all = IbPortsByGuid(subnet);
    constexpr uint8_t kUnset = 0xFF;
    std::vector<std::vector<uint8_t>> sl(subnet.Switches().size());
    std::vector<bool> has(subnet.Endpoints().size(), false);
    IbBlockHead head;
    bool any = false;
    std::vector<bool> seen; // LIDs of this block
    const auto endBlock = [&](const IbBlockHead& block) {
        for (uint32_t lid = 1; block.index != kIbNone && !block.isSwitch && lid < seen.size();
             ++lid)
        {
            const IbSubnet::Owner owner = subnet.OwnerOf(lid);
            if (!seen[lid] && (owner.endpoint != kIbNone || owner.switchIndex != kIbNone))
            {
                reader.Fail("the records from " +
                            subnet.Name(subnet.Endpoints()[block.index].node) +
                            " end without one for LID " + std::to_string(lid));
            }
        }
        seen.assign(subnet.TopLid() + 1u, false);
    };
    while (reader.Next())
    {
        if (reader.Take("#"))
        {
            continue;
        }
        const IbBlockHead before = head;
        if (IbReadHead(reader, subnet, all, head))
        {
            endBlock(before);
            if (!head.isSwitch)
            {
                if (has[head.index])
                {
                    reader.Fail("a second block of this port");
                }
                has[head.index] = true;
                const uint32_t s = subnet.Endpoints()[head.index].switchIndex;
                if (s != kIbNone && sl[s].empty())
                {
                    sl[s].assign(subnet.TopLid() + 1u, kUnset);
                }
            }
            continue;
        }
        if (head.index == kIbNone)
        {
            reader.Fail("not the head of a block: \"" + reader.Rest() + "\"");
        }
        const uint64_t lid = reader.Number(16, subnet.TopLid(), "the LID");
        if (!reader.Take(":"))
        {
            reader.Fail("no colon after the LID: \"" + reader.Rest() + "\"");
        }
        if (seen[lid])
        {
            reader.Fail("a second record for LID " + std::to_string(lid));
        }
        seen[lid] = true;
        if (reader.Take("UNREACHABLE"))
        {
            if (!reader.AtEnd())
            {
                reader.Fail("after UNREACHABLE: \"" + reader.Rest() + "\"");
            }
            continue;
        }
        const uint8_t level = static_cast<uint8_t>(reader.Number(10, 15, "the SL"));
        if (!reader.Take(":"))
        {
            reader.Fail("no colon after the SL: \"" + reader.Rest() + "\"");
        }
        reader.Number(10, 63, "the MTU");
        if (!reader.Take(":"))
        {
            reader.Fail("no colon after the MTU: \"" + reader.Rest() + "\"");
        }
        reader.Number(10, 63, "the rate");
        if (!reader.AtEnd())
        {
            reader.Fail("after the rate: \"" + reader.Rest() + "\"");
        }
        if (head.isSwitch || subnet.OwnerOf(static_cast<uint32_t>(lid)).endpoint == head.index)
        {
            continue; // from a switch, or to itself
        }
        const uint32_t s = subnet.Endpoints()[head.index].switchIndex;
        if (s == kIbNone)
        {
            continue;
        }
        if (sl[s][lid] != kUnset && sl[s][lid] != level)
        {
            reader.Fail("SL " + std::to_string(level) + " to LID " + std::to_string(lid) +
                        ", another host port of " + subnet.Name(subnet.Switches()[s].node) +
                        " has SL " + std::to_string(sl[s][lid]));
        }
        sl[s][lid] = level;
        any = any || level != 0;
    }
    endBlock(head);
    for (uint32_t e = 0; e < has.size(); ++e)
    {
        if (!has[e] && subnet.Endpoints()[e].reached)
        {
            reader.Fail("the file has no records from " + subnet.Name(subnet.Endpoints()[e].node) +
                        " port " + std::to_string(subnet.Endpoints()[e].port));
        }
    }
    for (auto& of : sl)
    {
        std::replace(of.begin(), of.end(), kUnset, uint8_t{0});
    }
    tables.pathSl = any ? std::move(sl) : std::vector<std::vector<uint8_t>>{};
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_TABLES_READING_H
