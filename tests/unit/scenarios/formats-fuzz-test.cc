/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Readers of foreign files get files that are damaged at random: each is read, or is one error that
 * names the file and can be printed; and what is read runs to its end. Here a sample of each;
 * DLTRAIN_FORMATS_FUZZ=100000 is how many there are of each:
 *
 *     DLTRAIN_FORMATS_FUZZ=100000 build/tests/unit_scenarios --gtest_filter='FormatsFuzz*'
 */
#include "contrib/rdma/core/shown-text.h"
#include "example-options.h"
#include "one-step.h"
#include "scenarios/formats/chakra-json.h"
#include "scenarios/formats/chakra-wire.h"
#include "scenarios/formats/chakra.h"
#include "scenarios/formats/goal.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recorded-plan.h"
#include "scenarios/training/training-plan.h"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace formats;

namespace
{

uint32_t
Cases()
{
    const char* const given = std::getenv("DLTRAIN_FORMATS_FUZZ");
    return given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 1500;
}

/// Damages a text in one to four places: bytes, pieces, numbers.
std::string
Damaged(std::string text, std::mt19937_64& random)
{
    static const std::vector<std::string> kWords = {"-1",
                                                    "0",
                                                    "18446744073709551615",
                                                    "99999999999999999999999",
                                                    "1e308",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "\"",
                                                    "null",
                                                    "requires",
                                                    "rank",
                                                    "\n",
                                                    std::string(1, '\0'),
                                                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
    for (auto times = 1 + below(4); times > 0 && !text.empty(); --times)
    {
        const std::size_t at = below(text.size());
        const std::size_t length = 1 + below(std::min<std::size_t>(40, text.size() - at));
        switch (below(7))
        {
        case 0:
            text[at] = static_cast<char>(random());
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(at, text.substr(below(text.size()), length));
            break;
        case 3:
            text.insert(at, kWords[below(kWords.size())]);
            break;
        case 4:
            text.resize(at);
            break;
        case 5: // a number
            if (const std::size_t digit = text.find_first_of("0123456789", at);
                digit != std::string::npos)
            {
                const std::size_t end = text.find_first_not_of("0123456789", digit);
                text.replace(digit,
                             (end == std::string::npos ? text.size() : end) - digit,
                             below(2) ? std::to_string(below(12)) : kWords[below(5)]);
            }
            break;
        default:
            text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }
    return text;
}

rdma::Duration
NoTime(double, double)
{
    return rdma::Duration(0);
}

using Read = std::function<std::optional<Recording>(const std::string&, std::vector<topo::Error>&)>;

/// \return how many were read and run
uint32_t
Fuzz(const std::string& seed, uint64_t number, const Read& read)
{
    std::mt19937_64 random(number);
    uint32_t fine = 0;
    for (uint32_t i = 0; i < Cases(); ++i)
    {
        const std::string text = Damaged(seed, random);
        std::vector<topo::Error> errors;
        const auto recording = read(text, errors);
        std::optional<training::TrainingPlan> plan;
        if (recording)
        {
            plan = MakePlan(*recording, "f", 0, errors);
        }
        EXPECT_EQ(plan.has_value(), errors.empty()) << i;
        EXPECT_LE(errors.size(), 1U) << i;
        for (const topo::Error& error : errors)
        {
            EXPECT_FALSE(error.problem.empty());
            EXPECT_EQ(error.file.compare(0, 1, "f"), 0) << error.Sentence();
            EXPECT_LT(error.Sentence().size(), 3000U);
            EXPECT_EQ(rdma::Printable(error.Sentence()), error.Sentence()) << i;
        }
        if (plan)
        {
            ++fine;
            std::size_t tasks = 0;
            for (const uint32_t role : plan->roleOf)
            {
                tasks += plan->roles[role].tasks.size();
            }
            const auto step = onestep::Run(*plan);
            EXPECT_EQ(step.ended, tasks) << "ranks wait for ever\n" << text;
            EXPECT_TRUE(training::MessageMatch(*plan).Problems().empty()) << text;
            EXPECT_TRUE(training::MessageMatch(*plan).Unmatched().empty()) << text;
        }
        if (testing::Test::HasFailure())
        {
            ADD_FAILURE() << "case " << i << ":\n" << rdma::Shown(text, 2000);
            break;
        }
    }
    return fine;
}

std::string
SmallGoal()
{
    std::string text = "num_ranks 4\n";
    for (int rank = 0; rank < 4; ++rank)
    {
        text += "rank " + std::to_string(rank) + " {\na: calc 100\nb: calc 30 cpu 1\n";
        for (int other = 0; other < 4; ++other)
        {
            if (other != rank)
            {
                const std::string n = std::to_string(other);
                text += "s" + n + ": send 64b to " + n + " tag 3\ns" + n + " requires a\n";
                text += "r" + n + ": recv 64b from " + n + " tag 3 cpu 0 nic 0\n";
            }
        }
        text += "c: calc 9 // end\nc requires r" + std::to_string((rank + 1) % 4) +
                "\nc irequires b\n}\n";
    }
    return text;
}

training::TrainingPlan
TwoStages()
{
    training::TrainingOptions o = OptionsOf("gpt2", 2, 0, 2);
    o.pipeline = 2;
    return training::MakePlan(o);
}

/// The traces of two ranks, all in one file: rank 0's, damaged, beside rank 1's.
Read
ChakraReader(bool json, std::string other)
{
    const std::string groups = GroupsText(TwoStages());
    return [json, other, groups](const std::string& text, std::vector<topo::Error>& errors) {
        const auto read = json ? ReadChakraJson : ReadChakraWire;
        std::vector<std::vector<ChakraNode>> nodes(2);
        if (!read(text, "f.0", &nodes[0], errors) || !read(other, "f.1", &nodes[1], errors))
        {
            return std::optional<Recording>();
        }
        return RecordingOfNodes(nodes, {"f.0", "f.1", "f.g"}, groups, NoTime, errors);
    };
}

std::string
ChakraText(bool json, coll::Rank rank)
{
    std::vector<ChakraNode> nodes = ChakraNodes(TwoStages(), rank);
    // A piece of it, small enough to be damaged where it matters.
    ChakraNode all;
    all.id = 9999;
    all.name = "all";
    all.type = ChakraType::kCollective;
    ChakraValue size;
    size.whole = 4096;
    all.attributes["comm_size"] = size;
    nodes.insert(nodes.begin(), all);
    std::ostringstream os;
    (json ? WriteChakraJson : WriteChakraWire)(nodes, os);
    return os.str();
}

} // namespace

TEST(FormatsFuzz, Goal)
{
    const uint32_t fine =
        Fuzz(SmallGoal(), 1, [](const std::string& text, std::vector<topo::Error>& errors) {
            return ReadGoal(text, "f", errors);
        });
    // Some damage leaves it in order: remarks, times, sizes of both ends.
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, ChakraOfTheWire)
{
    const uint32_t fine = Fuzz(ChakraText(false, 0), 2, ChakraReader(false, ChakraText(false, 1)));
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, ChakraJson)
{
    const uint32_t fine = Fuzz(ChakraText(true, 0), 3, ChakraReader(true, ChakraText(true, 1)));
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, FlatJson)
{
    const std::string seed =
        R"({"workload_graph": [{"Id": 1, "Name": "c", "NodeType": 4, "ctrlDeps": [],)"
        R"( "data_deps": [], "runtime": 7, "is_cpu_op": false}, {"Id": 2, "Name": "s",)"
        R"( "NodeType": 7, "ctrlDeps": [1], "data_deps": [1], "comm_type": 2, "comm_size": 64}]})";
    EXPECT_GT(Fuzz(seed, 4, ChakraReader(true, seed)), 0U);
}

TEST(FormatsFuzz, PackedFiles)
{
    // "hello\n" by gzip -n.
    const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02"
                             "\x00\x20\x30\x3a\x36\x06\x00\x00\x00",
                             26);
    std::mt19937_64 random(5);
    for (uint32_t i = 0; i < Cases(); ++i)
    {
        std::vector<topo::Error> errors;
        const auto text = Unpacked(Damaged(packed, random), "f", errors);
        ASSERT_EQ(text.has_value(), errors.empty()) << i;
    }
}
