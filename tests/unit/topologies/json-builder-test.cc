/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-builder.h"
#include "topologies/json-text.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace
{

using nlohmann::json;

json
RandomValue(std::mt19937& rng, int depth)
{
    switch (rng() % (depth > 0 ? 8 : 6))
    {
    case 0:
        return nullptr;
    case 1:
        return rng() % 2 == 0;
    case 2:
        return -static_cast<int64_t>(rng());
    case 3:
        return static_cast<uint64_t>(rng()) << 32 | rng();
    case 4:
        return static_cast<double>(rng()) / 7;
    case 5:
        return "text \"" + std::to_string(rng() % 100) + "\"\n";
    case 6: {
        json list = json::array();
        for (uint32_t n = rng() % 5; n > 0; --n)
        {
            list.push_back(RandomValue(rng, depth - 1));
        }
        return list;
    }
    default: {
        json object = json::object();
        for (uint32_t n = rng() % 5; n > 0; --n)
        {
            object["key" + std::to_string(rng() % 9)] = RandomValue(rng, depth - 1);
        }
        return object;
    }
    }
}

TEST(JsonBuilder, BuildsWhatTheParserDoes)
{
    std::mt19937 rng(7);
    for (int turn = 0; turn < 2000; ++turn)
    {
        const json value = RandomValue(rng, 5);
        topo::JsonBuilder builder;
        ASSERT_TRUE(builder.Read(value.dump())) << value;
        EXPECT_EQ(builder.Take(), json::parse(value.dump()));
    }
    topo::JsonBuilder twice;
    ASSERT_TRUE(twice.Read(R"({"a": [1, {"b": 2}], "a": 3})"));
    EXPECT_EQ(twice.Take(), json({{"a", 3}})) << "the last one wins";
}

TEST(JsonBuilder, SaysWhatIsWrongAndWhere)
{
    for (const char* text : {"", "{", "[1, 2", "{\"a\": }", "[1e999]", "nul", "[1] 2", "\"a\nb\""})
    {
        topo::JsonBuilder builder;
        EXPECT_FALSE(builder.Read(text)) << text;
        try
        {
            [[maybe_unused]] const json parsed = json::parse(text);
            ADD_FAILURE() << text;
        }
        catch (const json::exception& e)
        {
            EXPECT_EQ(builder.Reason(), topo::JsonReason(e.what())) << text;
            EXPECT_EQ(builder.Byte(), topo::JsonByte(e, text)) << text;
        }
    }
}

/// Keeps no even numbers of lists, and stops at the third level.
class Odd : public topo::JsonBuilder
{
    bool OnOpen(int depth) override
    {
        return depth < 3;
    }

    bool OnElement(int, const json& element) override
    {
        return !element.is_number() || element.get<int>() % 2 != 0;
    }
};

TEST(JsonBuilder, HooksLeaveOutAndStop)
{
    Odd some;
    ASSERT_TRUE(some.Read("{\"a\": [1, 2, \"x\", 4, 5, 6]}"));
    EXPECT_EQ(some.Take(), json::parse("{\"a\": [1, \"x\", 5]}"));
    Odd deep;
    EXPECT_FALSE(deep.Read("[[1, [2]], 3]"));
    EXPECT_EQ(deep.Reason(), "") << "it is JSON";
    Odd broken;
    EXPECT_FALSE(broken.Read("[[1, [2]], 3"));
    EXPECT_NE(broken.Reason(), "") << "the rest is checked";
}

// Time grows with the text: by a look through the list for each object this takes a minute.
TEST(JsonBuilder, ManyObjectsInAList)
{
    std::string text = "[{}";
    for (int i = 0; i < 200000; ++i)
    {
        text += ",{\"n\":1}";
    }
    const topo::JsonText read = topo::ParseJsonText(text + "]", "a.json");
    EXPECT_EQ(read.error.problem, "");
    EXPECT_EQ(read.value.size(), 200001u);
}

} // namespace
