// SPDX-License-Identifier: GPL-2.0-only
#include "reports/schema/object.h"
#include "reports/schema/table.h"

namespace reports
{
namespace
{

struct Part
{
    int64_t ps;
};

struct Record
{
    std::string name;
    int64_t time = 0;
    uint64_t count = 0;
    double share = 0;
    std::optional<uint32_t> flow;
    std::vector<Part> parts;
};

TEST(Schema, WordsAreNameUnitAndMeaning)
{
    const Words both("utilization (0 to 1): Bits sent: over (all) bits");
    EXPECT_EQ(both.name, "utilization");
    EXPECT_EQ(both.unit, "0 to 1");
    EXPECT_EQ(both.meaning, "Bits sent: over (all) bits");
    const Words plain("link: from->to (a direction)");
    EXPECT_EQ(plain.name, "link");
    EXPECT_EQ(plain.unit, "");
    EXPECT_EQ(plain.meaning, "from->to (a direction)");
}

TEST(Schema, TablesAreWrittenByTheTypesOfTheirValues)
{
    const Table<Record> table("test.csv",
                              {{"name: Of a record", &Record::name},
                               {"time_us (us): Its time", &Record::time},
                               {"count (count): Its number", &Record::count},
                               {"share (0 to 1): Its share", &Record::share},
                               Column<Record>("flow: Its flow", &Record::flow).Later()});
    EXPECT_EQ(table.Header(), "name,time_us,count,share,flow");
    EXPECT_EQ(HeaderOf("test.csv"), table.Header());
    EXPECT_EQ(table.Header(2), "name,time_us");
    std::string types;
    for (const TableWords::Typed& column : table.Columns())
    {
        types += column.type + " ";
    }
    EXPECT_EQ(types, "str float64 int64 float64 float64?* ");
    std::string line = "before";
    table.Write(line, {"a,b", 1500000, 7, 0.25, std::nullopt, {}});
    EXPECT_EQ(line, "\"a,b\",1.5,7,0.25,");
    table.Write(line, {"c", 1, 7, 1. / 3, 5, {}});
    EXPECT_EQ(line, "c,0.000001,7,0.333333,5");
    table.Write(line, {"c", 1, 7, 0.5, 5, {}}, 2);
    EXPECT_EQ(line, "c,0.000001");
}

TEST(Schema, ObjectsLeaveOutOrNullWhatHasNoMeaning)
{
    const Object<Part> part{{"us (us): Its time", &Part::ps}};
    const Object<Record> object{
        {"name: Of a record", &Record::name},
        {"time_us (us): Its time; null: never", &Record::time},
        {"flow: Its flow", &Record::flow},
        Key<Record>("count (count): Only a share has it", &Record::count).Only(&Record::share),
        Key<Record>("share (0 to 1): Of a name", &Record::share).NullUnless([](const Record& r) {
            return !r.name.empty();
        }),
        {"parts: Its parts", &Record::parts, part}};
    EXPECT_EQ(object.ToJson({"a", 2500000, 7, 0.5, 3, {{1000000}, {-1}}}).dump(),
              R"({"name":"a","time_us":2.5,"flow":3,"count":7,"share":0.5,)"
              R"("parts":[{"us":1.0},{"us":null}]})");
    EXPECT_EQ(object.ToJson({"", -1, 7, 0, std::nullopt, {}}).dump(),
              R"({"name":"","time_us":null,"flow":null,"share":null,"parts":[]})");
    EXPECT_TRUE(object.Members()[5].isList);
    EXPECT_EQ(object.Members()[5].inside->Members()[0].name, "us");
}

// What other programs read, with an order of its own.
TEST(Schema, EverythingThatIsWrittenIsListed)
{
    const auto all = nlohmann::ordered_json::parse(WrittenAsJson());
    for (const char* file : {"flows.csv",
                             "links.csv",
                             "calls.log",
                             "attribution.csv",
                             "collectives.csv",
                             "critical_messages.csv",
                             "critical_path.csv",
                             "fairness.csv",
                             "paths.csv",
                             "queue_pairs.csv",
                             "queues.csv",
                             "rates.csv",
                             "slowdown.csv",
                             "step_collectives.csv",
                             "steps.csv"})
    {
        EXPECT_TRUE(all["files"].contains(file)) << file;
    }
    std::set<std::string> keys;
    for (const auto& section : all["stats"])
    {
        for (const auto& key : section["keys"])
        {
            EXPECT_NE(key["meaning"], "") << key;
            keys.insert(key["name"].get<std::string>());
        }
    }
    for (const char* key : {"schema_version", "step_time_us", "fct_us", "drops", "recovery"})
    {
        EXPECT_EQ(keys.count(key), 1U) << key;
    }
    EXPECT_TRUE(all["shapes"].contains("Quantiles"));
}

} // namespace
} // namespace reports
