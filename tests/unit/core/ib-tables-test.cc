/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ib/ib-routing.h"
#include "contrib/rdma/core/ib/ib-tables-reading.h"
#include "contrib/rdma/core/ib/ib-tables.h"
#include "ib-fabrics.h"

#include <gtest/gtest.h>
#include <sstream>

namespace
{

using ibtest::Builder;
using namespace rdma;

using Reader = void (*)(std::istream&, const std::string&, const IbSubnet&, IbTables&);

std::string
Forwarding(const IbSubnet& subnet, const IbTables& tables, IbTextForm form = IbTextForm::kOpensm)
{
    std::ostringstream out;
    IbWriteForwarding(out, subnet, tables, form);
    return out.str();
}

std::string
SlToVl(const IbSubnet& subnet, const IbTables& tables)
{
    std::ostringstream out;
    IbWriteSlToVl(out, subnet, tables);
    return out.str();
}

std::string
Records(const IbSubnet& subnet, const IbTables& tables)
{
    std::ostringstream out;
    IbWritePathRecords(out, subnet, tables);
    return out.str();
}

void
Read(Reader reader, const std::string& text, const IbSubnet& subnet, IbTables& tables)
{
    std::istringstream in(text);
    reader(in, "t.dump", subnet, tables);
}

/// "line: text" of the error, or "" for none.
std::string
Error(Reader reader, const std::string& text, const IbSubnet& subnet)
{
    IbTables tables;
    try
    {
        Read(reader, text, subnet, tables);
    }
    catch (const IbTableError& error)
    {
        const std::string what = error.what();
        EXPECT_EQ(what.find("t.dump:" + std::to_string(error.Line()) + ": "), 0u) << what;
        return what.substr(7);
    }
    return "";
}

std::vector<std::string>
Lines(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line))
    {
        lines.push_back(line);
    }
    return lines;
}

std::string
Join(const std::vector<std::string>& lines)
{
    std::string text;
    for (const std::string& line : lines)
    {
        text += line + "\n";
    }
    return text;
}

/// With line `n` (from 1) replaced; "" takes it away.
std::string
With(const std::string& text, size_t n, const std::string& line)
{
    std::vector<std::string> lines = Lines(text);
    if (line.empty())
    {
        lines.erase(lines.begin() + static_cast<long>(n) - 1);
    }
    else
    {
        lines.at(n - 1) = line;
    }
    return Join(lines);
}

/// h0 - s - h1: LIDs 1, 2 and 3.
IbFabric
Small()
{
    Builder b;
    const uint32_t s = b.Switch("s");
    b.Link(b.Host("h0"), s);
    b.Link(b.Host("h1"), s);
    return b.fabric;
}

TEST(IbTables, TheTextsOfASmallSubnet)
{
    const IbSubnet subnet = DiscoverIbSubnet(Small());
    IbRoutingOptions options;
    options.vls = 4;
    const IbTables tables = IbRoute(subnet, {"minhop"}, options);
    // The forms are those of OpenSM's osm_dump.c, of ibroute (infiniband-diags), and of OpenSM's
    // plug-in osm_pr_dump.
    EXPECT_EQ(Forwarding(subnet, tables),
              "Unicast lids [0-3] of switch Lid 3 guid 0x0200000000000100 ('s'):\n"
              "0x0001 001 # Channel Adapter portguid 0x0200000000000201: 'h0'\n"
              "0x0002 002 # Channel Adapter portguid 0x0200000000000301: 'h1'\n"
              "0x0003 000 # Switch portguid 0x0200000000000100: 's'\n"
              "3 lids dumped\n");
    EXPECT_EQ(Forwarding(subnet, tables, IbTextForm::kIbroute),
              "Unicast lids [0x0-0x3] of switch Lid 3 guid 0x0200000000000100 (s):\n"
              "  Lid  Out   Destination\n"
              "       Port     Info \n"
              "0x0001 001 : (Channel Adapter portguid 0x0200000000000201: 'h0')\n"
              "0x0002 002 : (Channel Adapter portguid 0x0200000000000301: 'h1')\n"
              "0x0003 000 : (Switch portguid 0x0200000000000100: 's')\n"
              "3 valid lids dumped \n");
    const std::string head = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
                             "#--------------------------------------------------------\n";
    const std::string vls = " 0  1  2  3  0  1  2  3  0  1  2  3  0  1  2  3 \n";
    const std::string end = "#--------------------------------------------------------\n\n";
    EXPECT_EQ(SlToVl(subnet, tables),
              "Switch 0x0200000000000100, base LID 3, \"s\"\n" + head + "0   1   :" + vls +
                  "1   1   :" + vls + "2   1   :" + vls + "0   2   :" + vls + "1   2   :" + vls +
                  "2   2   :" + vls + end +
                  "Channel Adapter 0x0200000000000201, base LID 1, \"h0\"\n" + head + "0   0   :" +
                  vls + end + "Channel Adapter 0x0200000000000301, base LID 2, \"h1\"\n" + head +
                  "0   0   :" + vls + end);
    EXPECT_EQ(Records(subnet, tables),
              "Channel Adapter 0x0200000000000201, base LID 1, \"h0\", port 1\n"
              "# LID  : SL : MTU : RATE\n"
              "0x0001 : 0  : 5   : 16  \n0x0002 : 0  : 5   : 16  \n0x0003 : 0  : 5   : 16  \n\n"
              "Channel Adapter 0x0200000000000301, base LID 2, \"h1\", port 1\n"
              "# LID  : SL : MTU : RATE\n"
              "0x0001 : 0  : 5   : 16  \n0x0002 : 0  : 5   : 16  \n0x0003 : 0  : 5   : 16  \n\n");
}

TEST(IbTables, RoundTrip)
{
    struct Case
    {
        IbFabric fabric;
        std::string engine;
        uint8_t lmc;
    };

    IbFabric failed = ibtest::FatTree(4).fabric;
    failed.linkDown.assign(failed.links.size(), false);
    failed.linkDown[0] = failed.linkDown[20] = true;
    failed.nodeDown.assign(failed.isHost.size(), false);
    failed.nodeDown[30] = true;
    const std::vector<Case> cases = {
        {ibtest::FatTree(4).fabric, "ftree", 0},
        {ibtest::FatTree(4).fabric, "updn", 2},
        {ibtest::MakeTorus({5, 4, 3}, 1).fabric, "torus", 1},
        {ibtest::MakeTorus({5, 5}, 2).fabric, "dfsssp", 0},
        {ibtest::RandomFabric(12, 8, 9, 5), "minhop", 0},
        {failed, "ftree", 1},
        {Small(), "torus", 7},
    };
    for (const Case& c : cases)
    {
        IbSubnetOptions so;
        so.lmc = c.lmc;
        so.unreached = IbUnreached::kList;
        const IbSubnet subnet = DiscoverIbSubnet(c.fabric, so);
        const IbTables tables = IbRoute(subnet, {c.engine});
        const std::string sl2vl = SlToVl(subnet, tables);
        const std::string records = Records(subnet, tables);
        for (const IbTextForm form : {IbTextForm::kOpensm, IbTextForm::kIbroute})
        {
            const std::string lfts = Forwarding(subnet, tables, form);
            IbTables again;
            Read(IbReadForwarding, lfts, subnet, again);
            Read(IbReadSlToVl, sl2vl, subnet, again);
            Read(IbReadPathRecords, records, subnet, again);
            EXPECT_EQ(again.lft, tables.lft) << c.engine;
            EXPECT_EQ(Forwarding(subnet, again, form), lfts);
            EXPECT_EQ(SlToVl(subnet, again), sl2vl);
            EXPECT_EQ(Records(subnet, again), records);
            // The same behaviour: SLs between hosts, and so all hops.
            std::vector<IbHop> x;
            std::vector<IbHop> y;
            for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
            {
                for (uint32_t lid = 1; lid <= subnet.TopLid(); ++lid)
                {
                    EXPECT_EQ(IbTracePath(subnet, tables, e, lid, x),
                              IbTracePath(subnet, again, e, lid, y));
                    ASSERT_EQ(x.size(), y.size());
                    for (size_t i = 0; i < x.size(); ++i)
                    {
                        EXPECT_EQ(x[i].out, y[i].out);
                        EXPECT_EQ(x[i].vl, y[i].vl);
                    }
                }
            }
            const IbCheck before = IbCheckTables(subnet, tables);
            const IbCheck after = IbCheckTables(subnet, again);
            EXPECT_EQ(before.dependencies, after.dependencies);
            EXPECT_EQ(before.vls, after.vls);
            EXPECT_TRUE(after.cycle.empty());
        }
    }
}

TEST(IbTables, DamagedForwardingTablesAreFoundByLine)
{
    const IbSubnet subnet = DiscoverIbSubnet(Small());
    const std::string text = Forwarding(subnet, IbRoute(subnet, {"minhop"}));
    const auto error = [&](size_t line, const std::string& with) {
        return Error(IbReadForwarding, With(text, line, with), subnet);
    };
    ASSERT_EQ(Error(IbReadForwarding, text, subnet), "");
    EXPECT_EQ(error(1, "Unicast lids [0-3] of switch Lid 3 guid 0x99 ('s'):"),
              "1: no switch of this subnet has the GUID 0x0000000000000099");
    EXPECT_EQ(error(1, "Unicast lids [0-3] of switch Lid 3 ('s'):"),
              "1: no GUID of the switch: \"of switch Lid 3 ('s'):\"");
    EXPECT_EQ(error(1, "Unicast lids [1-3] of switch Lid 3 guid 0x0200000000000100 ('s'):"),
              "1: the range of LIDs does not begin at 0");
    EXPECT_EQ(error(1, "Unicast lids [0-60000] of switch Lid 3 guid 0x0200000000000100 ('s'):"),
              "1: a LID is more than 49151");
    EXPECT_EQ(error(1, ""),
              "1: not the head of a table: \"0x0001 001 # Channel Adapter portguid 0x\"");
    EXPECT_EQ(error(2, "0x0001 003 #"), "2: s has no port 3, only 0 to 2");
    EXPECT_EQ(error(2, "0x0001 #"), "2: the port is missing: \"#\"");
    EXPECT_EQ(error(2, "0x0001 001 Channel"), "2: after the port: \"Channel\"");
    EXPECT_EQ(error(2, "0x0009 001 #"), "2: the LID is more than 3");
    EXPECT_EQ(error(3, "0x0001 001 # x"), "3: a second entry for LID 1 in the table of s");
    EXPECT_EQ(error(3, "0x0002 002 # Channel Adapter portguid 0x0200000000000201: 'h0'"),
              "3: LID 2 should belong to 0x0200000000000201, in this subnet it belongs to "
              "0x0200000000000301");
    EXPECT_EQ(error(3, "garbage"),
              "3: neither an entry (0x0001 001: LID and port) nor the end of a table (3 valid lids "
              "dumped): \"garbage\"");
    EXPECT_EQ(error(5, "3 lids"),
              "5: neither an entry (0x0001 001: LID and port) nor the end of a table (3 valid lids "
              "dumped): \"3 lids\"");
    EXPECT_EQ(error(5, "7 lids dumped"), "5: the table of s should have 7 LIDs, but has 3");
    EXPECT_EQ(error(5, ""), "5: the file ends within the table of s");
    EXPECT_EQ(Error(IbReadForwarding, "", subnet), "1: the file has no table of s");
    EXPECT_EQ(Error(IbReadForwarding, text + text, subnet), "6: a second table of s");
    EXPECT_EQ(Error(IbReadForwarding, With(text, 5, "") + text, subnet),
              "5: the table of s has no line \"... lids dumped\" at its end");
    // What a hand adds is no damage: comments, empty lines, other ends of lines.
    EXPECT_EQ(Error(IbReadForwarding, "# by hand\r\n\r\n" + text, subnet), "");
    // An entry that is not there is a destination that is dropped, as in OpenSM's own dumps.
    EXPECT_EQ(error(3, ""), "");
    // With the count of ibroute it is missed.
    const std::string other = Forwarding(subnet, IbRoute(subnet, {"minhop"}), IbTextForm::kIbroute);
    EXPECT_EQ(Error(IbReadForwarding, With(other, 5, ""), subnet),
              "6: the table of s should have 3 LIDs, but has 2");
}

TEST(IbTables, DamagedSlToVlTablesAreFoundByLine)
{
    const IbSubnet subnet = DiscoverIbSubnet(Small());
    const std::string text = SlToVl(subnet, IbRoute(subnet, {"minhop"}));
    const auto error = [&](size_t line, const std::string& with) {
        return Error(IbReadSlToVl, With(text, line, with), subnet);
    };
    ASSERT_EQ(Error(IbReadSlToVl, text, subnet), "");
    EXPECT_EQ(error(1, "Switch 0x0200000000000201, base LID 3, \"s\""),
              "1: no switch of this subnet has the GUID 0x0200000000000201");
    EXPECT_EQ(error(1, "Switch 0x0200000000000100, base LID 4, \"s\""),
              "1: base LID 4 of 0x0200000000000100, in this subnet it has 3");
    EXPECT_EQ(error(1, "Router 0x02, base LID 4, \"s\""),
              "1: not the head of a block: \"Router 0x02, base LID 4, \"s\"\"");
    EXPECT_EQ(error(4, "0   1   : 0 1 2"), "4: the VL is missing: \"\"");
    EXPECT_EQ(error(4, "0   1   : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 16"), "4: the VL is more than 15");
    EXPECT_EQ(error(4, "0   1   : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0"),
              "4: more than 16 VLs: \"0\"");
    EXPECT_EQ(error(4, "0   3   : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7"),
              "4: the out port is more than 2");
    EXPECT_EQ(error(5, "0   1   : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7"),
              "5: a second row for ports 0 and 1");
    EXPECT_EQ(error(5, ""), "23: the file has no row of s from port 1 to port 1");
    EXPECT_EQ(Error(IbReadSlToVl, "", subnet), "1: the file has no tables");
    EXPECT_EQ(Error(IbReadSlToVl, text.substr(0, text.rfind("Channel")), subnet),
              "18: the file has no tables of h1 port 1");
    EXPECT_EQ(Error(IbReadSlToVl, text + text, subnet), "24: a second block of this port");
}

TEST(IbTables, DamagedPathRecordsAreFoundByLine)
{
    Builder b;
    const uint32_t s = b.Switch("s");
    b.Link(b.Host("h0"), s);
    b.Link(b.Host("h1"), s);
    b.Link(b.Host("h2"), s);
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric);
    const std::string text = Records(subnet, IbRoute(subnet, {"minhop"}));
    const auto error = [&](size_t line, const std::string& with) {
        return Error(IbReadPathRecords, With(text, line, with), subnet);
    };
    ASSERT_EQ(Error(IbReadPathRecords, text, subnet), "");
    EXPECT_EQ(error(4, "0x0002 : 16 : 5 : 16"), "4: the SL is more than 15");
    EXPECT_EQ(error(4, "0x0002 : 1 : 5"), "4: no colon after the MTU: \"\"");
    EXPECT_EQ(error(4, "0x0002 = 1"), "4: no colon after the LID: \"= 1\"");
    EXPECT_EQ(error(4, "0x0009 : 0 : 5 : 16"), "4: the LID is more than 4");
    EXPECT_EQ(error(4, "0x0002 : UNREACHABLE ?"), "4: after UNREACHABLE: \"?\"");
    // LID 3 (h2) from h0, then from h1, on one switch.
    EXPECT_EQ(error(5, "0x0003 : 2 : 5 : 16"),
              "12: SL 0 to LID 3, another host port of s has SL 2");
    EXPECT_EQ(Error(IbReadPathRecords, text.substr(0, text.rfind("Channel")), subnet),
              "15: the file has no records from h2 port 1");
    EXPECT_EQ(Error(IbReadPathRecords, text + text, subnet), "22: a second block of this port");
    EXPECT_EQ(error(5, ""), "7: the records from h0 end without one for LID 3");
    EXPECT_EQ(error(5, "0x0002 : 0 : 5 : 16"), "5: a second record for LID 2");
    // Blocks of switches, as OpenSM has them, are passed over.
    EXPECT_EQ(Error(IbReadPathRecords,
                    "Switch 0x0200000000000100, base LID 4, \"s\", port 0\n"
                    "# LID  : SL : MTU : RATE\n0x0001 : 3  : 5   : 16  \n\n" +
                        text,
                    subnet),
              "");
}

TEST(IbTables, NoDamageCrashes)
{
    // Single characters changed, lines lost or doubled: read as something, or one error with a
    // line.
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::MakeTorus({4, 3}, 1).fabric);
    IbRoutingOptions options;
    const IbTables tables = IbRoute(subnet, {"torus"}, options);
    const std::pair<Reader, std::string> texts[] = {
        {IbReadForwarding, Forwarding(subnet, tables)},
        {IbReadForwarding, Forwarding(subnet, tables, IbTextForm::kIbroute)},
        {IbReadSlToVl, SlToVl(subnet, tables)},
        {IbReadPathRecords, Records(subnet, tables)}};
    std::mt19937 random(1);
    uint32_t errors = 0;
    for (const auto& [reader, text] : texts)
    {
        const uint32_t lines = static_cast<uint32_t>(Lines(text).size());
        for (uint32_t i = 0; i < 120; ++i)
        {
            std::string damaged = text;
            switch (i % 3)
            {
            case 0:
                damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
                break;
            case 1:
                damaged = With(text, 1 + random() % lines, random() % 2 ? "" : "0x0001 001 #");
                break;
            default:
                damaged.resize(random() % damaged.size());
            }
            const std::string error = Error(reader, damaged, subnet);
            errors += !error.empty();
            EXPECT_LT(error.size(), 300u);
            if (i % 3 == 2 && damaged.size() + 90 < text.size())
            {
                EXPECT_NE(error, ""); // cut off by more than a line
            }
        }
    }
    EXPECT_GT(errors, 240u);
}

} // namespace
