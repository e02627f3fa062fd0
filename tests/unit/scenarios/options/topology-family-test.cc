/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A family of networks that this file registers: its table is all that the programs need for its
 * options, JSON keys, checks, messages and help.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/validate.h"
#include "topologies/family.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>
#include <stdexcept>

using namespace scenario;

namespace
{

/// Switches in a row, each with `stems` servers; links between them are `thickness` as fast as
/// theirs.
topo::TopologyResult
MakeHedge(const topo::TopologyRequest& r)
{
    topo::TopologyResult result;
    const uint64_t stems = r.parameters.Has("stems") ? r.parameters.Count("stems") : 3;
    const uint64_t hosts = r.hosts ? r.hosts : stems * 2;
    if (stems == 13)
    {
        result.errors.push_back({"stems", "13", "brings bad luck", "", "thickness"});
        return result;
    }
    topo::Topology t;
    for (uint64_t h = 0; h < hosts; ++h)
    {
        t.AddHost("server-" + std::to_string(h));
    }
    const uint32_t switches = static_cast<uint32_t>((hosts + stems - 1) / stems);
    for (uint32_t s = 0; s < switches; ++s)
    {
        const auto at = t.AddSwitchAt("bush", 1, {s / 2, s % 2});
        for (uint64_t h = s * stems; h < std::min(hosts, (s + 1) * stems); ++h)
        {
            t.Connect(t.Hosts()[h], at, r.linkRate, r.linkDelay);
        }
        if (s)
        {
            const double thickness = r.parameters.Factor("thickness");
            t.Connect(at - 1, at, topo::detail::Scaled(r.linkRate, thickness), r.linkDelay);
        }
    }
    topo::Description about;
    about.name = std::string(r.parameters.Flag("evergreen") ? "evergreen" : "bare") + " hedge";
    about.parameters.SetCount("stems", stems);
    about.partPorts = 2 * stems;
    t.Describe(about);
    result.notes.push_back("a hedge of " + std::to_string(stems));
    result.topology = std::move(t);
    return result;
}

topo::Family
Hedge()
{
    topo::Family f("hedge", "bushes in a row");
    f.parameters = {
        topo::CountParameter("stems", "servers of a bush")
            .Range(1, 20)
            .Usual("4")
            .Chosen("what suits {servers}")
            .Recorded()
            .Example("5"),
        topo::FactorParameter("thickness", "of the links between bushes")
            .Range(0.5, 8)
            .Standard("1")
            .Always()
            .Example("2"),
        topo::FlagParameter("evergreen", "has leaves in winter").Standard("1").Recorded(),
        topo::SizesParameter("paths", "through the hedge").Chosen("none").Example("2x2"),
    };
    f.sizedBy = {"stems"};
    f.part = "garden";
    f.routing = "updn";
    f.make = MakeHedge;
    return f;
}

class FamilyOfThisFile : public testing::Test
{
  protected:
    FamilyOfThisFile()
        : m_hedge(Hedge())
    {
        m_table.program = "garden";
        m_table.Add({Opt("hosts", Kind::kInteger, "/garden", "Garden", "hosts")
                         .As(&asked::Traffic::hosts)
                         .Range(1, 1000)});
        m_table.Add(NetworkOptionRows("single-switch", ServerCount::kHosts));
        m_table.Add(FabricOptionRows(Software::kDrivers));
        m_table.Add(RunOptionRows("garden"));
        m_table.lists = FabricLists();
        m_table.Finish();
    }

    /// Errors, or the name of the network and its configuration.
    std::string Run(const ReadResult& read)
    {
        Validation v{m_table, read.values, read.errors, {}};
        if (v.errors.empty())
        {
            FabricSpec fabric = MakeFabric(&v);
            const uint32_t hosts = v.values.Given("hosts") ? v.values.U32("hosts") : 0;
            const Network network = MakeNetwork(&v, hosts, 1, &asked::Traffic::hosts, &fabric);
            m_notes = v.notes;
            m_network = network.topology;
            if (v.errors.empty())
            {
                return network.name + " " + ToJson(m_table, v.values, {})["network"].dump();
            }
        }
        std::string text;
        for (const auto& e : v.errors)
        {
            text += (text.empty() ? "" : "\n") + e.Text();
        }
        return text;
    }

    std::string Typed(std::vector<const char*> arguments)
    {
        arguments.insert(arguments.begin(), "garden");
        return Run(ReadOptions(m_table, static_cast<int>(arguments.size()), arguments.data()));
    }

    topo::RegisteredFamily m_hedge;
    OptionTable m_table;
    std::vector<std::string> m_notes;
    topo::Topology m_network;
};

/// The words, wherever lines end.
std::string
Flat(const std::string& text)
{
    std::istringstream words(text);
    std::string flat;
    for (std::string word; words >> word;)
    {
        flat += (flat.empty() ? "" : " ") + word;
    }
    return flat;
}

TEST_F(FamilyOfThisFile, HelpIsItsTable)
{
    const std::string help = Flat(HelpText(m_table));
    const std::string names = JoinNames(TopologyItems());
    EXPECT_NE(names.find(", hedge, "), std::string::npos) << names;
    for (const std::string& line :
         {names + ", or a file: a network file of ASTRA-sim, or ",
          std::string(
              "--stems=N hedge: servers of a bush; 1 to 20 [default: 4, or what suits --hosts]"),
          std::string("--thickness=X hedge: of the links between bushes; 0.5 to 8 [default 1]"),
          std::string("--evergreen[=0|1] hedge: has leaves in winter [default: 1]"),
          std::string("--paths=TEXT hedge: through the hedge [default: none]"),
          std::string("; updn on a hedge; ")})
    {
        EXPECT_NE(help.find(line), std::string::npos) << line << " in\n" << help;
    }
    // In the order of families and of their tables.
    EXPECT_LT(help.find("--oversubscription"), help.find("--stems"));
    EXPECT_LT(help.find("--paths"), help.find("--torus"));
    EXPECT_NE(Flat(ListText(m_table.lists[0])).find(" hedge bushes in a row "), std::string::npos);
    const auto options = nlohmann::json::parse(OptionsJson(m_table))["options"];
    EXPECT_NE(options.dump().find("\"path\":\"/network/evergreen\""), std::string::npos);
    for (const auto& option : options)
    {
        if (option["name"] == "stems")
        {
            EXPECT_EQ(option["path"], "/network/stems");
            EXPECT_EQ(option["example"], "5");
            EXPECT_EQ(option["max"], 20);
        }
    }
    // Where servers are known, there is no usual value.
    const auto rows = NetworkOptionRows("hedge", ServerCount::kAlways);
    const auto stems =
        std::find_if(rows.begin(), rows.end(), [](const Option& o) { return o.name == "stems"; });
    ASSERT_NE(stems, rows.end());
    EXPECT_EQ(stems->defaultNote, "what suits the servers");
}

TEST_F(FamilyOfThisFile, ValuesArriveAndAreRecorded)
{
    EXPECT_EQ(Typed({"--topology=hedge", "--hosts=7"}),
              "evergreen hedge {\"bit_error_rate\":0.0,\"evergreen\":true,\"link_delay\":\"1us\","
              "\"oversubscription\":1.0,\"stems\":3,\"thickness\":1.0,\"topology\":\"hedge\"}");
    EXPECT_EQ(m_network.SwitchCount(), 3u);
    EXPECT_EQ(m_notes, (std::vector<std::string>{"a hedge of 3"}));
    const topo::Description& about = m_network.About();
    EXPECT_EQ(about.family, "hedge");
    EXPECT_EQ(about.part, "garden");
    EXPECT_EQ(about.partPorts, 6u);
    EXPECT_EQ(about.parameters.Count("stems"), 3u) << "what the family chose";
    EXPECT_EQ(about.parameters.Factor("thickness"), 1) << "what is so if nobody says otherwise";
    const auto last = static_cast<topo::NodeId>(m_network.Nodes().size() - 1);
    EXPECT_EQ(m_network.Nodes()[last].name, "bush-1-0");
    EXPECT_EQ(m_network.Coordinates(last), (std::vector<uint32_t>{1, 0}));
    EXPECT_TRUE(m_network.Coordinates(0).empty()) << "a host";

    EXPECT_EQ(Typed({"--topology=hedge", "--stems=5", "--thickness=2.5", "--no-evergreen"}),
              "bare hedge {\"bit_error_rate\":0.0,\"evergreen\":false,\"link_delay\":\"1us\","
              "\"oversubscription\":1.0,\"stems\":5,\"thickness\":2.5,\"topology\":\"hedge\"}");
    EXPECT_EQ(m_network.Hosts().size(), 10u);
    EXPECT_EQ(m_network.Links().back().rate, rdma::Gbps(250));

    const std::string text =
        R"({"network": {"topology": "Hedge", "stems": 2, "evergreen": false, "thickness": 4}})";
    std::string keys;
    for (const Option& o : m_table.options)
    {
        if (o.path.rfind("/network/", 0) == 0)
        {
            keys += (keys.empty() ? "" : ", ") + o.path.substr(9);
        }
    }
    const char* const wrong = R"({"network": {"topology": "hedge", "stems": 0, "steams": 1}})";
    EXPECT_EQ(Run(ReadScenarioText(m_table, wrong, "job.json")),
              "job.json: /network/steams: unknown key; allowed in /network: " + keys +
                  "; did you mean '/network/stems'?\n"
                  "job.json: /network/stems=0: allowed: a whole number, 1 to 20");
}

TEST_F(FamilyOfThisFile, NamesAreTakenOnce)
{
    EXPECT_THROW(topo::RegisteredFamily again(Hedge()), std::logic_error);
    topo::Family other = Hedge();
    other.name = "fence";
    other.parameters[0].max = 30;
    EXPECT_THROW(topo::RegisteredFamily fence(other), std::logic_error)
        << "--stems would have two ranges";
    other.parameters[0].max = 20;
    {
        const topo::RegisteredFamily fence(other);
        OptionTable both;
        both.Add(NetworkOptionRows("hedge", ServerCount::kAlways));
        EXPECT_EQ(both.Find("stems")->help, "fence, hedge: servers of a bush");
    }
    EXPECT_EQ(topo::FindFamily("fence"), nullptr) << "gone with its object";
}

} // namespace
