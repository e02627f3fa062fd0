/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the tests of topologies have in common: what a result says, files with one word changed.
 */
#ifndef TESTS_UNIT_TOPOLOGIES_RESULTS_OF_H
#define TESTS_UNIT_TOPOLOGIES_RESULTS_OF_H

#include "topologies/family.h"
#include "topologies/routes.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

/// Its errors, a line each. It has a topology or errors.
inline std::string
ErrorsOf(const topo::TopologyResult& result)
{
    EXPECT_NE(result.topology.has_value(), !result.errors.empty()) << "one or the other";
    std::string text;
    for (const auto& e : result.errors)
    {
        text += e.Sentence() + "\n";
    }
    return text;
}

/// A valid file with one text replaced by another.
inline std::string
Edited(std::string text, const std::string& from, const std::string& to)
{
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

/// Of a file that holds anything: errors that a terminal can show, or a network with routes.
inline void
ExpectErrorsOrNetwork(const topo::TopologyResult& result)
{
    for (const char c : ErrorsOf(result))
    {
        ASSERT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n');
    }
    if (result.topology)
    {
        topo::ComputeRoutes(*result.topology);
    }
}

/// Of each of 4,000 files that edits at random make of a valid one: ExpectErrorsOrNetwork.
/// \param most edits of one file \param longest that an edit takes away \param characters that
/// edits put in \param read a text
template <class Read>
void
ExpectNoCrashOfRandomEdits(const std::string& valid,
                           uint32_t most,
                           uint32_t longest,
                           const std::string& characters,
                           const Read& read)
{
    for (uint32_t seed = 0; seed < 4000; ++seed)
    {
        std::mt19937 rng(seed);
        std::string text = valid;
        for (uint32_t edits = 1 + rng() % most; edits > 0 && !text.empty(); --edits)
        {
            const size_t at = rng() % text.size();
            switch (rng() % 4)
            {
            case 0:
                text[at] = static_cast<char>(rng());
                break;
            case 1:
                text.erase(at, 1 + rng() % longest);
                break;
            case 2:
                text.insert(at, text.substr(rng() % text.size(), rng() % 30));
                break;
            default:
                text[at] = characters[rng() % characters.size()];
            }
        }
        SCOPED_TRACE(seed);
        ExpectErrorsOrNetwork(read(text));
        if (testing::Test::HasFatalFailure())
        {
            return;
        }
    }
}

#endif // TESTS_UNIT_TOPOLOGIES_RESULTS_OF_H
