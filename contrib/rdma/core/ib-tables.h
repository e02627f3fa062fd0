/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables as text, in the forms in which OpenSM and its tools write them, and back.
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
 * of titles, "0x0001 003 : (Channel Adapter portguid 0x..: 'server-0')" and "2 valid lids dumped",
 * a count. Both can be read. OpenSM loads both ("-R file -U FILE").
 *
 *   SL-to-VL tables      opensm-sl2vl.dump, one block a port that has LIDs, by GUID; for a switch
 * one line for every port that it sends to and every port that it receives from
 *
 *       Switch 0x0200000000000500, base LID 5, "leaf-0"
 *       #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
 *       #--------------------------------------------------------
 *       0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
 *       #--------------------------------------------------------
 *
 *   path records         opensm-path-records.dump (its plug-in osm_pr_dump), one block a host port,
 *                        one line for every LID; MTU and rate are the architecture's codes (IBA vol
 * 1, 15.2.5.16). Large: 3,072 hosts and 720 switches are 290 MB. OpenSM has blocks of switches too;
 * they are not written, and skipped on reading.
 *
 *       Channel Adapter 0x0200000000000101, base LID 1, "server-0", port 1
 *       # LID  : SL : MTU : RATE
 *       0x0001 : 0  : 5   : 16
 *       0x0002 : UNREACHABLE
 *
 * Reading needs the IbSubnet for which the tables were made: switches and ports are found by GUID,
 * and LIDs must have the owners that the file says. Everything that does not fit is one
 * IbTableError, "file:line: what". OpenSM skips lines that it does not know; here a damaged file is
 * found out, also one that ends early.
 */
#ifndef RDMA_CORE_IB_TABLES_H
#define RDMA_CORE_IB_TABLES_H

#include "ib-routing-tables.h"

#include <cstdio>
#include <istream>
#include <map>
#include <ostream>
#include <string_view>
#include <unordered_map>

namespace rdma
{

/// A file of tables cannot be read; what() is "file:line: what is wrong".
class IbTableError : public std::runtime_error
{
  public:
    IbTableError(const std::string& file, uint32_t line, const std::string& what)
        : std::runtime_error(file + ":" + std::to_string(line) + ": " + what),
          m_line(line)
    {
    }

    /// From 1; that after the last one if something is missing at the end.
    uint32_t Line() const
    {
        return m_line;
    }

  private:
    uint32_t m_line;
};

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

/// One line at a time, and what is left of it.
class IbTableReader
{
  public:
    IbTableReader(std::istream& in, std::string file)
        : m_in(in),
          m_file(std::move(file))
    {
    }

    /// The next line that is not empty; false at the end of the file.
    bool Next()
    {
        while (std::getline(m_in, m_text))
        {
            ++m_line;
            if (!m_text.empty() && m_text.back() == '\r')
            {
                m_text.pop_back();
            }
            m_at = 0;
            Blanks();
            if (m_at < m_text.size())
            {
                return true;
            }
        }
        ++m_line;
        m_text.clear();
        m_at = 0;
        if (m_in.bad())
        {
            Fail("cannot be read any further");
        }
        return false;
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
        throw IbTableError(m_file, m_line, what);
    }

    /// Passes blanks and then this text, if it comes next.
    bool Take(std::string_view text)
    {
        Blanks();
        if (m_text.compare(m_at, text.size(), text) != 0)
        {
            return false;
        }
        m_at += text.size();
        return true;
    }

    /// Passes everything up to and with this text; false if it does not come.
    bool Skip(std::string_view text)
    {
        const size_t found = m_text.find(text, m_at);
        if (found == std::string::npos)
        {
            return false;
        }
        m_at = found + text.size();
        return true;
    }

    /// A number, with 0x in base 16. \param what for the error
    uint64_t Number(uint32_t base, uint64_t most, const char* what)
    {
        Blanks();
        if (base == 16)
        {
            if (!Take("0x") && !Take("0X"))
            {
                Fail(std::string(what) + " should begin with 0x here: \"" + Rest() + "\"");
            }
        }
        uint64_t value = 0;
        size_t digits = 0;
        for (; m_at < m_text.size(); ++m_at, ++digits)
        {
            const char c = m_text[m_at];
            const uint32_t digit = c >= '0' && c <= '9'   ? c - '0'
                                   : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                   : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                          : 99;
            if (digit >= base)
            {
                break;
            }
            if (value > (~0ULL - digit) / base || value * base + digit > most)
            {
                Fail(std::string(what) + " is more than " + std::to_string(most));
            }
            value = value * base + digit;
        }
        if (digits == 0)
        {
            Fail(std::string(what) + " is missing: \"" + Rest() + "\"");
        }
        return value;
    }

    bool AtEnd()
    {
        Blanks();
        return m_at == m_text.size();
    }

    /// The start of what is left, for errors.
    std::string Rest() const
    {
        const size_t from = m_text.find_first_not_of(" \t", m_at);
        return from == std::string::npos ? "" : m_text.substr(from, 40);
    }

    const std::string& Text() const
    {
        return m_text;
    }

  private:
    void Blanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t'))
        {
            ++m_at;
        }
    }

    std::istream& m_in;
    std::string m_file;
    std::string m_text;
    size_t m_at = 0;
    uint32_t m_line = 0;
};

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
            const uint64_t number = reader.Number(10, 65535, "the number of LIDs");
            const bool valid = reader.Take("valid");
            if (!reader.Take("lids dumped") || !reader.AtEnd())
            {
                reader.Fail("neither an entry nor the end of a table: \"" + reader.Text() + "\"");
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

#endif // RDMA_CORE_IB_TABLES_H
