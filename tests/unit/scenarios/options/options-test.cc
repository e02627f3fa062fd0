/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The option tables and what reads by them: every row of every table is tried, on the command line
 * and in JSON.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/installation/installation.h"
#include "scenarios/network/common-options.h"
#include "scenarios/options/options.h"
#include "scenarios/startup/parse.h"
#include "tests/unit/scenarios/option-json.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace scenario;
using nlohmann::json;

namespace
{

std::vector<const OptionTable*>
Tables()
{
    return {&TrainingOptionTable(),
            &CollperfOptionTable(),
            &TrafficOptionTable(),
            &ServingOptionTable()};
}

ReadResult
Read(const OptionTable& table, const std::vector<std::string>& args)
{
    std::vector<const char*> argv{table.program.c_str()};
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ReadOptions(table, static_cast<int>(argv.size()), argv.data());
}

std::string
OnlyError(const ReadResult& read)
{
    std::string all;
    for (const auto& e : read.errors)
    {
        all += e.Text() + "\n";
    }
    EXPECT_EQ(read.errors.size(), 1u) << all;
    return read.errors.empty() ? "" : read.errors[0].Text();
}

/// A valid value that is not the default, as typed.
std::string
OtherValue(const Option& o)
{
    if (!o.example.empty())
    {
        return o.example;
    }
    switch (o.kind)
    {
    case Kind::kFlag:
        return o.defaultText == "1" ? "0" : "1";
    case Kind::kInteger:
        if (!o.oneOf.empty())
        {
            return std::to_string(o.oneOf.front());
        }
        break;
    case Kind::kName:
    case Kind::kNameOrFile:
        return o.names().back().name;
    case Kind::kText:
        return "some-text";
    case Kind::kFile:
        return "/tmp/some-file";
    default:
        break;
    }
    ADD_FAILURE() << "--" << o.name << " has no example";
    return "";
}

void
ExpectEqual(const Value& a, const Value& b, const std::string& what)
{
    EXPECT_EQ(a.present, b.present) << what;
    EXPECT_EQ(a.flag, b.flag) << what;
    EXPECT_EQ(a.integer, b.integer) << what;
    EXPECT_EQ(a.real, b.real) << what;
    EXPECT_EQ(a.text, b.text) << what;
    EXPECT_EQ(a.list, b.list) << what;
}

} // namespace

TEST(OptionTables, NamesLettersAndPathsAreUnique)
{
    for (const auto* table : Tables())
    {
        std::set<std::string> seen;
        for (const auto& o : table->options)
        {
            EXPECT_TRUE(seen.insert("--" + o.name).second) << o.name;
            for (const auto& a : o.aliases)
            {
                EXPECT_TRUE(seen.insert("--" + a).second) << a;
            }
            if (o.letter)
            {
                EXPECT_TRUE(seen.insert(std::string("-") + o.letter).second) << o.name;
            }
            if (!o.path.empty())
            {
                EXPECT_TRUE(seen.insert(o.path).second) << o.path;
            }
            EXPECT_FALSE(o.help.empty()) << o.name;
            EXPECT_FALSE(o.group.empty()) << o.name;
        }
    }
}

TEST(OptionTables, EveryOptionHasADefaultOrSaysWhatHappensWithoutIt)
{
    const std::set<std::string>
        actions{"help", "list", "version", "scenario", "dry-run", "flows", "profile"};
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            EXPECT_TRUE(!o.defaultText.empty() || !o.defaultNote.empty() || actions.count(o.name))
                << table->program << " --" << o.name;
        }
    }
}

TEST(OptionTables, EveryOptionIsTheSameOnTheCommandLineAndInJson)
{
    for (const auto* table : Tables())
    {
        const ReadResult byDefault = Read(*table, {});
        ASSERT_TRUE(byDefault.errors.empty());
        for (const auto& o : table->options)
        {
            if (o.path.empty())
            {
                continue;
            }
            const std::string what = table->program + " --" + o.name;
            const std::string text = OtherValue(o);
            const ReadResult joined = Read(*table, {"--" + o.name + "=" + text});
            ASSERT_TRUE(joined.errors.empty()) << what << ": " << joined.errors[0].Text();
            const ReadResult separate = Read(*table, {"--" + o.name, text});
            ASSERT_TRUE(separate.errors.empty()) << what << ": " << separate.errors[0].Text();
            json document;
            document[json::json_pointer(o.path)] = AsJson(o, text);
            const ReadResult fromJson = ReadScenarioText(*table, document.dump(), "x.json");
            ASSERT_TRUE(fromJson.errors.empty()) << what << ": " << fromJson.errors[0].Text();

            for (const auto& other : table->options)
            {
                ExpectEqual(joined.values[other.name],
                            separate.values[other.name],
                            what + " changes " + other.name);
                ExpectEqual(joined.values[other.name],
                            fromJson.values[other.name],
                            what + " changes " + other.name);
                if (other.name != o.name)
                {
                    ExpectEqual(joined.values[other.name],
                                byDefault.values[other.name],
                                what + " changes " + other.name);
                }
            }
            EXPECT_TRUE(joined.values.Given(o.name)) << what;
            EXPECT_TRUE(fromJson.values.Given(o.name)) << what;
            const Value& now = joined.values[o.name];
            const Value& before = byDefault.values[o.name];
            EXPECT_TRUE(!before.present || CanonicalText(o, now) != CanonicalText(o, before))
                << what << " has no other value to try";
            if (o.letter)
            {
                const ReadResult byLetter = Read(*table, {std::string("-") + o.letter, text});
                ASSERT_TRUE(byLetter.errors.empty()) << what;
                ExpectEqual(now, byLetter.values[o.name], what);
            }
        }
    }
}

TEST(OptionTables, ValuesAsJsonReadBackTheSame)
{
    for (const auto* table : Tables())
    {
        std::vector<std::string> args;
        for (const auto& o : table->options)
        {
            if (!o.path.empty())
            {
                args.push_back("--" + o.name + "=" + OtherValue(o));
            }
        }
        const ReadResult first = Read(*table, args);
        ASSERT_TRUE(first.errors.empty()) << first.errors[0].Text();
        const ReadResult second =
            ReadScenarioText(*table, ToJson(*table, first.values, {}).dump(2), "x.json");
        ASSERT_TRUE(second.errors.empty()) << second.errors[0].Text();
        for (const auto& o : table->options)
        {
            if (!o.path.empty())
            {
                ExpectEqual(first.values[o.name], second.values[o.name], o.name);
            }
        }
    }
}

TEST(OptionTables, WrongTypesInJsonAreOneErrorEach)
{
    const std::vector<json> all = {json(nullptr),
                                   json(true),
                                   json(-1),
                                   json(1.5),
                                   json("\x01 nonsense"),
                                   json::array({1, 2}),
                                   json::object({{"a", 1}})};
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            if (o.path.empty())
            {
                continue;
            }
            for (const auto& value : all)
            {
                const bool fits = (o.IsSwitch() && value.is_boolean()) ||
                                  (o.kind == Kind::kReal && value.is_number()) ||
                                  ((o.kind == Kind::kText || o.kind == Kind::kFile ||
                                    o.kind == Kind::kList || o.kind == Kind::kEntries) &&
                                   value.is_string());
                if (fits)
                {
                    continue;
                }
                json document;
                document[json::json_pointer(o.path)] = value;
                const ReadResult read = ReadScenarioText(*table, document.dump(), "x.json");
                EXPECT_EQ(read.errors.size(), 1u) << o.path << " " << value;
                if (!read.errors.empty())
                {
                    const std::string text = read.errors[0].Text();
                    const bool inPlace = o.ofPlaces && value.is_object();
                    const std::string path =
                        o.path + (inPlace                                        ? "/a="
                                  : o.kind == Kind::kEntries && value.is_array() ? "/0="
                                                                                 : "=");
                    EXPECT_EQ(text.find("x.json: " + path), 0u) << text;
                    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
                }
            }
        }
    }
}

TEST(OptionTables, ValuesOutsideTheRangeAreOneErrorEach)
{
    for (const auto* table : Tables())
    {
        for (const auto& o : table->options)
        {
            const bool whole = o.kind == Kind::kInteger || o.kind == Kind::kReal;
            if (!whole || o.max > 9e18)
            {
                continue;
            }
            const std::string text = std::to_string(static_cast<uint64_t>(o.max) + 7);
            const std::string error = OnlyError(Read(*table, {"--" + o.name + "=" + text}));
            EXPECT_EQ(error.find("--" + o.name + "=" + text + ": allowed: "), 0u) << error;
        }
    }
}

TEST(OptionTables, HelpListsEveryOptionAndFitsInAHundredColumns)
{
    for (const auto* table : Tables())
    {
        const ReadResult read = Read(*table, {"--help"});
        ASSERT_TRUE(read.text);
        for (const auto& o : table->options)
        {
            EXPECT_NE(read.text->find("--" + o.name), std::string::npos) << o.name;
            EXPECT_TRUE(o.defaultText.empty() ||
                        read.text->find(o.defaultText) != std::string::npos)
                << o.name;
        }
        std::istringstream lines(*read.text);
        std::string line;
        while (std::getline(lines, line))
        {
            EXPECT_LE(line.size(), 100u) << line;
        }
        for (const auto& list : table->lists)
        {
            EXPECT_NE(list.title.rfind("--", 0) == 0,
                      read.text->find("  " + list.name + ": ") != std::string::npos);
            const ReadResult asked = Read(*table, {"--list=" + list.name});
            const ReadResult helped = Read(*table, {"--help=" + list.name});
            ASSERT_TRUE(asked.text && helped.text);
            // --help has more to say of algorithms and recipes, and models by family.
            EXPECT_TRUE(list.name == "algorithms" || list.name == "models" ||
                        list.name == "recipes" || *asked.text == *helped.text)
                << list.name;
            for (const auto& item : list.items())
            {
                EXPECT_NE(asked.text->find("  " + item.name), std::string::npos) << item.name;
            }
        }
        EXPECT_EQ(*Read(*table, {"-h"}).text, *read.text);
        EXPECT_EQ(*Read(*table, {"--version"}).text,
                  table->program + " " + table->version + ", " + BuildText() + "\n");
    }
}

// Each option with names, by its own name or its plural; those that a list names ("(--cc)") too.
TEST(OptionTables, DescribeTheNamesOfEachOption)
{
    for (const auto* table : Tables())
    {
        for (const Option& o : table->options)
        {
            if (!o.names || o.name == "list" || o.name == "help")
            {
                continue;
            }
            for (const std::string asking : {"--list=", "--help="})
            {
                const ReadResult asked = Read(*table, {asking + o.name});
                ASSERT_TRUE(asked.text) << o.name;
                for (const auto& item : o.names())
                {
                    // --help=recipes has a paragraph for each.
                    const std::string& text = *asked.text;
                    EXPECT_TRUE(text.find("  " + item.name) != std::string::npos ||
                                text.find("\n" + item.name + ": ") != std::string::npos)
                        << o.name;
                }
            }
        }
    }
    const auto& serving = ServingOptionTable();
    for (const auto& [plural, name] : {std::pair("schedulers", "orca"),
                                       std::pair("routers", "kv-aware"),
                                       std::pair("kv-transfers", "by-layer"),
                                       std::pair("policy", "dstack")})
    {
        const ReadResult asked = Read(serving, {std::string("--list=") + plural});
        ASSERT_TRUE(asked.text) << plural;
        EXPECT_NE(asked.text->find(std::string("  ") + name), std::string::npos) << plural;
    }
}

// What tests/fuzz and other tools read.
TEST(OptionTables, AreAlsoThereAsJson)
{
    for (const auto* table : Tables())
    {
        const ReadResult asked = Read(*table, {"--list=options"});
        ASSERT_TRUE(asked.text);
        const auto listed = nlohmann::json::parse(*asked.text);
        EXPECT_EQ(listed["program"], table->program);
        ASSERT_EQ(listed["options"].size(), table->options.size());
        for (size_t i = 0; i < table->options.size(); ++i)
        {
            const auto& one = listed["options"][i];
            EXPECT_EQ(one["name"], table->options[i].name);
            EXPECT_EQ(one.value("path", ""), table->options[i].path);
            EXPECT_EQ(one.value("default", ""), table->options[i].defaultText);
            EXPECT_FALSE(one["kind"].get<std::string>().empty()) << one;
        }
        const auto& seed = *std::find_if(listed["options"].begin(),
                                         listed["options"].end(),
                                         [](const auto& one) { return one["name"] == "seed"; });
        EXPECT_EQ(seed["kind"], "integer");
        EXPECT_EQ(seed["min"], 0);
        EXPECT_EQ(seed["path"], "/run/seed");
    }
}

TEST(OptionTables, AnOptionThatIsAnAttributeSetsIt)
{
    const OptionTable& table = TrafficOptionTable();
    const ReadResult read = Read(table,
                                 {"--buffer=2MB",
                                  "--switch-latency=300ns",
                                  "--no-ecn",
                                  "--ecn-pmax=0.125",
                                  "--loss-recovery=selective-repeat",
                                  "--ack-every=4"});
    ASSERT_TRUE(read.errors.empty());
    const auto all = AttributesOf(table, read.values);
    std::multimap<std::string, std::string> of(all.begin(), all.end());
    const auto only = [&of](const std::string& name) {
        return of.count(name) == 1 ? of.find(name)->second
                                   : std::to_string(of.count(name)) + " times";
    };
    // As ns-3 reads numbers, times and words: no unit that it does not know.
    EXPECT_EQ(only("ns3::RdmaSwitch::BufferPer100G"), "2000000");
    EXPECT_EQ(only("ns3::RdmaSwitch::PipelineLatency"), "300000ps");
    EXPECT_EQ(only("ns3::IbSwitch::Latency"), "300000ps");
    EXPECT_EQ(only("ns3::RdmaSwitch::Ecn"), "0");
    EXPECT_EQ(only("ns3::RdmaSwitch::EcnPmax"), "0.125");
    EXPECT_EQ(only("ns3::RdmaNic::LossRecovery"), "selective-repeat");
    EXPECT_EQ(only("ns3::RdmaNic::AckEvery"), "4");
    EXPECT_EQ(only("ns3::RdmaNic::RetryCount"), "7") << "a default";
    EXPECT_EQ(only("ns3::RdmaSwitch::EcnKmin"), "0 times") << "decided later, by the preset";
}

// What --help, the documentation and the report say of an option is one text.
TEST(OptionTables, OneDescription)
{
    for (const auto* table : Tables())
    {
        std::string help;
        std::istringstream words(HelpText(*table));
        for (std::string word; words >> word;)
        {
            help += word + " ";
        }
        const auto listed = nlohmann::json::parse(OptionsJson(*table))["options"];
        for (size_t i = 0; i < table->options.size(); ++i)
        {
            const Option& o = table->options[i];
            EXPECT_EQ(listed[i]["description"], Description(*table, o));
            EXPECT_EQ(listed[i]["group"], o.group);
            EXPECT_NE(help.find(o.help), std::string::npos) << o.name;
        }
    }
    Option number = Opt("answer", Kind::kInteger, "/x", "X", "of all questions").Range(1, 42);
    EXPECT_EQ(Description({}, number), "of all questions; 1 to 42");
    number.OrWord("auto");
    EXPECT_EQ(Description({}, number), "of all questions; 1 to 42, or auto");
    number.OneOf({6, 7});
    EXPECT_EQ(Description({}, number), "of all questions; one of 6, 7, or auto");
}

TEST(OptionTables, ExamplesOfTheHelpAreValid)
{
    for (const auto* table : Tables())
    {
        for (const auto& example : table->examples)
        {
            std::istringstream words(example);
            std::string word;
            std::vector<std::string> args;
            while (words >> word)
            {
                if (word.rfind("--scenario=", 0) != 0) // presets have a test of their own
                {
                    args.push_back(word);
                }
            }
            ASSERT_EQ(args[0], table->program);
            args.erase(args.begin());
            const ReadResult read = Read(*table, args);
            EXPECT_TRUE(read.errors.empty()) << example << ": " << read.errors[0].Text();
        }
    }
}

TEST(CommandLine, FlagsInAllTheirForms)
{
    const auto& table = TrafficOptionTable();
    for (const char* on : {"--pfc", "--pfc=1", "--pfc=true", "--pfc=on", "--pfc=yes"})
    {
        EXPECT_TRUE(Read(table, {on}).values.Flag("pfc")) << on;
    }
    for (const char* off : {"--no-pfc", "--pfc=0", "--pfc=false", "--pfc=off", "--pfc=No"})
    {
        const ReadResult read = Read(table, {off});
        EXPECT_TRUE(read.errors.empty()) << off;
        EXPECT_FALSE(read.values.Flag("pfc")) << off;
    }
    EXPECT_FALSE(Read(table, {"--pfc", "0"}).values.Flag("pfc"));
    EXPECT_EQ(OnlyError(Read(table, {"--pfc=2"})),
              "--pfc=2: allowed: 0, 1, true, false, on or off");
    EXPECT_EQ(OnlyError(Read(table, {"--no-pfc=1"})), "--no-pfc: takes no value");
}

// Scripts append options to override: the last one counts, and one note an option names them all.
TEST(CommandLine, TheLastOfAnOptionCounts)
{
    const auto& table = TrafficOptionTable();
    const auto read = [&table](const std::vector<std::string>& args) {
        ReadResult result = Read(table, args);
        EXPECT_TRUE(result.errors.empty()) << result.errors[0].Text();
        return result;
    };
    const auto mtu = read({"--mtu=512", "--seed=3", "--mtu=1024"});
    EXPECT_EQ(mtu.values.Integer("mtu"), 1024u);
    EXPECT_EQ(mtu.notes, std::vector<std::string>{"--mtu=1024 replaces the earlier --mtu=512"});
    const auto three = read({"--mtu=512", "--mtu=1024", "--mtu", "2048"});
    EXPECT_EQ(three.values.Integer("mtu"), 2048u);
    EXPECT_EQ(Join(three.notes, ";"), "--mtu=2048 replaces the earlier --mtu=512 and --mtu=1024");
    const auto pfc = read({"--pfc", "--no-pfc"});
    EXPECT_FALSE(pfc.values.Flag("pfc"));
    EXPECT_EQ(Join(pfc.notes, ";"), "--no-pfc replaces the earlier --pfc=1");
    EXPECT_EQ(Join(read({"--pfc=0", "--pfc"}).notes, ";"), "--pfc replaces the earlier --pfc=0");
    // The same value is no change, in other words either.
    EXPECT_TRUE(read({"--mtu=512", "--seed=3", "--mtu=512"}).notes.empty());
    EXPECT_TRUE(
        read({"--link-delay=1us", "--link-delay=1000ns", "--pfc", "--pfc=on"}).notes.empty());
    // What may stand there several times does.
    const auto faults = read({"--fault=link-down,at=1ms,on=a", "--fault=link-down,at=2ms,on=b"});
    EXPECT_EQ(faults.values["fault"].entries.size(), 2u);
    EXPECT_TRUE(faults.notes.empty());
    // ns-3's own, which it applies in order.
    EXPECT_EQ(Join(read({"--ns3::RdmaNic::Mtu=512", "--ns3::RdmaNic::Mtu=1024"}).notes, ";"),
              "--ns3::RdmaNic::Mtu=1024 replaces the earlier --ns3::RdmaNic::Mtu=512");
    // A value that is none is an error wherever it stands.
    EXPECT_EQ(OnlyError(Read(table, {"--mtu=1000", "--mtu=1024"})).substr(0, 11), "--mtu=1000:");
    // A file that has a key twice stays an error (Json.DuplicateKeys...).
    EXPECT_EQ(
        ReadScenarioText(table, R"({"fabric": {"mtu": 512, "mtu": 1024}})", "a.json").errors.size(),
        1u);
}

TEST(CommandLine, ShortOptionsAsNcclTestsHasThem)
{
    const auto& table = CollperfOptionTable();
    const ReadResult read =
        Read(table, {"-b", "1M", "-e1G", "-f", "2", "-n", "3", "-w", "1", "-d", "half"});
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].Text();
    EXPECT_EQ(read.values.Integer("minbytes"), 1u << 20);
    EXPECT_EQ(read.values.Integer("maxbytes"), 1u << 30);
    EXPECT_EQ(read.values.Real("stepfactor"), 2);
    EXPECT_EQ(read.values.Integer("iters"), 3u);
    EXPECT_EQ(read.values.Text("datatype"), "half");
    EXPECT_EQ(Read(table, {"--warmup_iters=4"}).values.Integer("warmup-iters"), 4u);
}

TEST(CommandLine, MistakesAreOneLineThatHelps)
{
    const auto& table = TrafficOptionTable();
    EXPECT_EQ(OnlyError(Read(table, {"--mut=4096"})),
              "--mut: unknown option, see --help; did you mean '--mtu'?");
    EXPECT_EQ(OnlyError(Read(table, {"--mut", "4096"})),
              "--mut: unknown option, see --help; did you mean '--mtu'?");
    EXPECT_EQ(OnlyError(Read(table, {"-z"})), "-z: unknown option, see --help");
    EXPECT_EQ(OnlyError(Read(table, {"4096"})),
              "unexpected argument '4096'; options begin with '-', see --help");
    EXPECT_EQ(OnlyError(Read(table, {"--mtu=1000"})),
              "--mtu=1000: allowed: 256, 512, 1024, 2048, 4096; did you mean '1024'?");
    EXPECT_EQ(OnlyError(Read(table, {"--mtu"})),
              "--mtu: needs a value; allowed: 256, 512, 1024, 2048, 4096");
    EXPECT_EQ(OnlyError(Read(table, {"--mtu", "--out=x"})),
              "--mtu: needs a value; allowed: 256, 512, 1024, 2048, 4096");
    EXPECT_EQ(OnlyError(Read(table, {"--out", "--no-pfc"})), "--out: needs a value; allowed: text");
    EXPECT_EQ(OnlyError(Read(table, {"--scenario"})), "--scenario: needs a value; allowed: a file");
    EXPECT_EQ(OnlyError(Read(table, {"--seed", "--out=x"})),
              "--seed: needs a value; allowed: a whole number, 0 to 18446744073709551615");
    EXPECT_EQ(OnlyError(Read(table, {"--seed=-1"})),
              "--seed=-1: allowed: a whole number, 0 to 18446744073709551615");
    EXPECT_EQ(OnlyError(Read(table, {"--seed", "-1"})),
              "--seed=-1: allowed: a whole number, 0 to 18446744073709551615");
    EXPECT_EQ(OnlyError(Read(table, {"--seed=18446744073709551616"})),
              "--seed=18446744073709551616: allowed: a whole number, 0 to 18446744073709551615");
    EXPECT_EQ(Read(table, {"--seed=18446744073709551615"}).values.Integer("seed"), UINT64_MAX);
    EXPECT_EQ(OnlyError(Read(table, {"--dry-run", "extra"})),
              "unexpected argument 'extra'; options begin with '-', see --help");
    EXPECT_EQ(OnlyError(Read(table, {"--mtu="})),
              "--mtu: needs a value; allowed: 256, 512, 1024, 2048, 4096");
    EXPECT_EQ(OnlyError(Read(table, {"--link-delay=5"})),
              "--link-delay=5: allowed: a time such as 500ns, 1us, 2.5ms or 1s, 0ns to 10s");
    EXPECT_EQ(OnlyError(Read(table, {"--link-delay=5Gbps"})),
              "--link-delay=5Gbps: allowed: a time such as 500ns, 1us, 2.5ms or 1s, 0ns to 10s");
    EXPECT_EQ(OnlyError(Read(table, {"--cc=dcqnc"})),
              "--cc=dcqnc: unknown congestion control; allowed: " + JoinNames(CongestionItems()) +
                  "; did you mean 'dcqcn'?");
    EXPECT_EQ(OnlyError(Read(table, {"--list=nick"})),
              "--list=nick: unknown list; allowed: topologies, nics, ib-switches, ib-routing, "
              "compat, load-balancers, queue-discs, markers, buffer-policies, transport, cc, "
              "cc-preset, faults, patterns, "
              "sizes, "
              "options, or an option with names, as --list=load-of; did you mean 'nics'?");
    EXPECT_EQ(Read(table, {"--mut=1", "--cc=x", "--k=x"}).errors.size(), 3u);
}

TEST(CommandLine, Ns3ArgumentsPassVerbatim)
{
    const ReadResult read = Read(
        TrafficOptionTable(),
        {"--ns3::RdmaSwitch::Pipeline_Latency=300ns", "--PrintAttributes=ns3::RdmaNic", "--k=4"});
    ASSERT_TRUE(read.errors.empty());
    EXPECT_EQ(read.ns3Arguments,
              (std::vector<std::string>{"--ns3::RdmaSwitch::Pipeline_Latency=300ns",
                                        "--PrintAttributes=ns3::RdmaNic"}));
}

TEST(Names, SpellingDoesNotMatterWhereItIsClear)
{
    const std::vector<NamedItem> items{{"bloom-560m", ""}, {"gpt3-1.3b", ""}, {"all_reduce", ""}};
    EXPECT_EQ(MatchName("bloom560m", items), "bloom-560m");
    EXPECT_EQ(MatchName("BLOOM_560M", items), "bloom-560m");
    EXPECT_EQ(MatchName("gpt3-13b", items), ""); // a dot is part of a name
    EXPECT_EQ(MatchName("GPT3 1.3B", items), "gpt3-1.3b");
    EXPECT_EQ(MatchName("allreduce", items), "all_reduce");
    EXPECT_EQ(MatchName("bloom", items), "");
    EXPECT_EQ(MatchName("", items), "");
    EXPECT_EQ(MatchName("-", items), "");
}

TEST(Canonical, TextReadsBackExactly)
{
    for (const uint64_t bytes : {0ull,
                                 1ull,
                                 1000ull,
                                 1024ull,
                                 26214400ull,
                                 400000ull,
                                 1048576ull,
                                 12345678901ull,
                                 1ull << 40})
    {
        EXPECT_EQ(rdma::ParseBytes(CanonicalBytes(bytes))->value, bytes) << CanonicalBytes(bytes);
    }
    for (const uint64_t bps :
         {1ull, 1000000ull, 54540000000ull, 100000000000ull, 2500000000ull, 99999999999ull})
    {
        EXPECT_EQ(rdma::ParseBitRate(CanonicalRate(bps))->bps, bps) << CanonicalRate(bps);
    }
    for (const int64_t ps : {0ll, 1ll, 1280ll, 500000ll, 1000000ll, 2500000000ll, 1000000000000ll})
    {
        EXPECT_EQ(rdma::ParseDuration(CanonicalDuration(ps))->ps, ps) << CanonicalDuration(ps);
    }
    EXPECT_EQ(CanonicalBytes(26214400), "25MiB");
    EXPECT_EQ(CanonicalBytes(400000), "400kB");
    EXPECT_EQ(CanonicalDuration(1280), "1280ps");
}

// -------------------------------------------------------------------------------------------

TEST(Json, MalformedTextIsOneErrorWithLineAndColumn)
{
    const auto& table = TrainingOptionTable();
    EXPECT_EQ(
        OnlyError(
            ReadScenarioText(table, "{\n  \"training\": {\n    \"zero\": 2,\n  }\n}", "job.json"))
            .find("job.json:4:3: malformed JSON: "),
        0u);
    EXPECT_EQ(
        OnlyError(ReadScenarioText(table, "", "job.json")).find("job.json:1:1: malformed JSON: "),
        0u);
    EXPECT_EQ(OnlyError(ReadScenarioText(table, "{\"a\": 1", "job.json"))
                  .find("job.json:1:8: malformed JSON: "),
              0u);
    EXPECT_EQ(OnlyError(ReadScenarioText(table, "{} x", "job.json"))
                  .find("job.json:1:4: malformed JSON: "),
              0u);
    EXPECT_EQ(OnlyError(ReadScenarioText(table, "{\"training\": {\"zero\": 1e999}}", "job.json"))
                  .find("job.json"),
              0u);
    EXPECT_EQ(OnlyError(ReadScenarioText(table, "[1]", "job.json")),
              "job.json: a scenario is a JSON object such as {\"fabric\": {\"mtu\": 4096}}, this "
              "is array");
    // stats.json of a run, which has one key that is a scenario.
    EXPECT_EQ(OnlyError(ReadScenarioText(table,
                                         "{\"hosts\": 3, \"configuration\": {\"training\": {}}, "
                                         "\"flows\": 4, \"program\": \"dltrain\"}",
                                         "stats.json")),
              "stats.json: /configuration: these are the results of a run; a scenario is what "
              "stands under this key alone");
    EXPECT_EQ(
        OnlyError(
            ReadScenarioText(table, "{\"training\": {\"zero\": 1,\n \"zero\": 2}}", "job.json")),
        "job.json:2:2: the key \"zero\" stands twice in one object");
}

TEST(Json, UnknownKeysNameTheNearest)
{
    const auto& table = TrainingOptionTable();
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"training\": {\"modle\": \"x\"}}", "j"))
                  .find("j: /training/modle: unknown key"),
              std::string::npos);
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"training\": {\"modle\": \"x\"}}", "j"))
                  .find("did you mean '/training/model'?"),
              std::string::npos);
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"trainign\": {}}", "j"))
                  .find("did you mean '/training'?"),
              std::string::npos);
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"mtu\": 4096}", "j"))
                  .find("did you mean '/fabric/mtu'?"),
              std::string::npos);
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"training\": {\"micro-batch\": 4}}", "j"))
                  .find("did you mean '/training/micro_batch'?"),
              std::string::npos);
    EXPECT_NE(OnlyError(ReadScenarioText(table, "{\"training\": 3}", "j"))
                  .find("j: /training=3: must be an object"),
              std::string::npos);
}

TEST(Json, OtherProgramsScenariosAreRefusedAsAWhole)
{
    EXPECT_EQ(OnlyError(ReadScenarioText(
                  TrainingOptionTable(),
                  "{\"program\": \"traffic\", \"traffic\": {\"hosts\": 3, \"x\": 1}}",
                  "j")),
              "j: /program=\"traffic\": this program is dltrain");
}

TEST(Json, Ns3Attributes)
{
    const ReadResult read = ReadScenarioText(
        TrafficOptionTable(),
        "{\"ns3\": {\"ns3::RdmaSwitch::PipelineLatency\": \"300ns\", \"ns3::RdmaNic::X\": 3}}",
        "j");
    ASSERT_TRUE(read.errors.empty());
    ASSERT_EQ(read.attributes.size(), 2u);
    EXPECT_EQ(
        read.attributes[1],
        std::make_pair(std::string("ns3::RdmaSwitch::PipelineLatency"), std::string("300ns")));
    EXPECT_EQ(read.attributes[0], std::make_pair(std::string("ns3::RdmaNic::X"), std::string("3")));
    OnlyError(
        ReadScenarioText(TrafficOptionTable(), "{\"ns3\": {\"PipelineLatency\": \"300ns\"}}", "j"));
    OnlyError(ReadScenarioText(TrafficOptionTable(), "{\"ns3\": {\"ns3::A::B\": [1]}}", "j"));
    OnlyError(ReadScenarioText(TrafficOptionTable(), "{\"ns3\": 3}", "j"));
}

TEST(Json, TheCommandLineOverridesTheFile)
{
    const std::string file = testing::TempDir() + "dltrain-override.json";
    std::ofstream(file) << "{\"fabric\": {\"mtu\": 1024, \"pfc\": false}, \"traffic\": {\"flows\": "
                           "\"sub/flow.txt\"}}";
    const ReadResult read = Read(TrafficOptionTable(), {"--mtu=512", "--scenario=" + file});
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].Text();
    EXPECT_EQ(read.values.Integer("mtu"), 512u);
    EXPECT_FALSE(read.values.Flag("pfc"));
    EXPECT_EQ(read.values.Text("flows"),
              testing::TempDir() + "sub/flow.txt"); // relative to the file's folder
    EXPECT_EQ(read.values.Where("pfc"), file + ": /fabric/pfc");
    EXPECT_EQ(read.values.Where("mtu"), "--mtu");
    std::remove(file.c_str());
    EXPECT_EQ(OnlyError(Read(TrafficOptionTable(), {"--scenario=" + file})),
              "--scenario=" + file + ": cannot be read: No such file or directory");
}

// A configuration as run: its other values were derived, and are derived again.
TEST(Json, GivenNamesTheValuesThatSomebodyGave)
{
    const std::string text = R"({"program": "traffic", "given": ["mtu"],)"
                             R"( "fabric": {"mtu": 1024, "pfc": false}})";
    const ReadResult read = ReadScenarioText(TrafficOptionTable(), text, "job.json");
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].Text();
    EXPECT_TRUE(read.values.Given("mtu"));
    EXPECT_EQ(read.values.Integer("mtu"), 1024U);
    EXPECT_FALSE(read.values.Given("pfc"));
    EXPECT_TRUE(read.values.Flag("pfc")) << "the default";
    ASSERT_EQ(read.kept.size(), 1U);
    EXPECT_FALSE(read.kept.at("pfc").value.flag) << "if it turns out that it was changed";
    const auto error = [](const std::string& given) {
        return OnlyError(
            ReadScenarioText(TrafficOptionTable(), "{\"given\": " + given + "}", "job.json"));
    };
    EXPECT_EQ(error("3"), "job.json: /given=3: must be a list of names of options");
    EXPECT_EQ(error("[\"mtuu\"]"),
              "job.json: /given=\"mtuu\": is no option that a scenario may have; did you mean "
              "'mtu'?");
}

TEST(Json, BrokenBytesNeverCrash)
{
    std::ifstream in(DLTRAIN_ROOT "/scenarios/presets/default.json");
    std::stringstream content;
    content << in.rdbuf();
    const std::string good = content.str();
    ASSERT_GT(good.size(), 100u);
    std::mt19937_64 engine(5);
    for (int i = 0; i < 3000; ++i)
    {
        std::string text = good;
        const int edits = 1 + static_cast<int>(engine() % 4);
        for (int e = 0; e < edits; ++e)
        {
            const size_t at = engine() % text.size();
            switch (engine() % 4)
            {
            case 0:
                text[at] = static_cast<char>(engine());
                break;
            case 1:
                text.erase(at, engine() % 20);
                break;
            case 2:
                text.insert(at, text.substr(engine() % text.size(), engine() % 20));
                break;
            default:
                text[at] = "{}[],:\"0-e"[engine() % 10];
                break;
            }
            if (text.empty())
            {
                text = " ";
            }
        }
        const ReadResult read = ReadScenarioText(TrainingOptionTable(), text, "fuzz.json");
        for (const auto& e : read.errors)
        {
            const std::string line = e.Text();
            EXPECT_FALSE(line.empty());
            EXPECT_EQ(line.find('\n'), std::string::npos);
        }
    }
    const size_t deep = 100000;
    OnlyError(ReadScenarioText(TrainingOptionTable(), std::string(deep, '['), "deep.json"));
    OnlyError(ReadScenarioText(TrainingOptionTable(),
                               "{\"training\": {\"zero\": " + std::string(deep, '[') +
                                   std::string(deep, ']') + "}}",
                               "deep.json"));
    std::string objects;
    for (size_t i = 0; i < deep; ++i)
    {
        objects += "{\"a\":";
    }
    OnlyError(ReadScenarioText(TrainingOptionTable(),
                               objects + "1" + std::string(deep, '}'),
                               "deep.json"));
}
