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

#endif // TESTS_UNIT_TOPOLOGIES_RESULTS_OF_H
