/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/registered.h"

#include <gtest/gtest.h>

namespace topo
{
namespace
{

struct Fruit
{
    static constexpr const char* kWhat = "fruits";

    std::string name;
    int rank = 0;
    int price = 0;
};

TEST(Registered, EntriesAreSortedAndLeave)
{
    using Names = std::vector<std::string>;
    const Registered<Fruit> pear({"pear", 0, 3});
    const Registered<Fruit> apple({"apple", 0, 2});
    {
        const Registered<Fruit> quince({"quince", -1, 5});
        EXPECT_EQ(Registered<Fruit>::Names(), (Names{"quince", "apple", "pear"}));
        EXPECT_THROW(Registered<Fruit>({"apple", 7, 1}), std::logic_error);
    }
    EXPECT_EQ(Registered<Fruit>::Names(), (Names{"apple", "pear"}));
    ASSERT_TRUE(Registered<Fruit>::Find("pear"));
    EXPECT_EQ(Registered<Fruit>::Find("pear")->price, 3);
    EXPECT_EQ(Registered<Fruit>::Find("Pear"), nullptr);
    EXPECT_EQ(Registered<Fruit>::Find("quince"), nullptr);
    EXPECT_EQ(Registered<Fruit>::Get("apple").price, 2);
    EXPECT_THROW(Registered<Fruit>::Get("quince"), std::logic_error);
    EXPECT_EQ(Registered<Fruit>::NamesWhere([](const Fruit& f) { return f.price > 2; }),
              Names{"pear"});
}

} // namespace
} // namespace topo
