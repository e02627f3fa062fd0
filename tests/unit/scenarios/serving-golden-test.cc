/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured kernels and requests (tests/golden/serving/cases.json, each table with its source;
 * written by scripts/fit-serving) against the times of scenarios/inference. docs/validation.md has
 * the errors; here are their bounds.
 */
#include "tests/tools/serving-cases.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace serving;

namespace
{

struct Errors
{
    std::size_t rows = 0;
    double median = 0;
    double worstDecile = 0;
};

std::map<std::string, Errors>
ErrorsOfTables()
{
    std::ifstream file(DLTRAIN_ROOT "/tests/golden/serving/cases.json");
    std::map<std::string, Errors> found;
    for (const json& table : json::parse(file))
    {
        std::map<std::string, IterationTime> known;
        std::vector<double> errors;
        for (const json& row : table.at("rows"))
        {
            const double seconds = Case(row).Seconds(Trial(), known);
            errors.push_back(std::abs(seconds / row.at("seconds").get<double>() - 1));
        }
        std::sort(errors.begin(), errors.end());
        found[table.at("table").get<std::string>()] = {errors.size(),
                                                       errors[errors.size() / 2],
                                                       errors[errors.size() * 9 / 10]};
    }
    return found;
}

} // namespace

// Bounds: a tenth above what scripts/fit-serving --check printed, median and worst decile; 0: none,
// where docs/validation.md says why.
TEST(ServingGolden, ErrorsStayAsTheyWere)
{
    struct Bound
    {
        std::size_t rows;
        double median;
        double worstDecile;
    };

    const std::map<std::string, Bound> bounds = {
        {"products, RTX-4090", {162, 0.04, 0.129}},
        {"decode attention, RTX-4090", {99, 0.072, 0.259}},
        {"prefill attention, RTX-4090", {96, 0.07, 0.279}},
        {"products, RTX-PRO-6000", {324, 0.061, 0.159}},
        {"decode attention, RTX-PRO-6000", {99, 0.1, 0.224}},
        {"prefill attention, RTX-PRO-6000", {96, 0.078, 0.283}},
        {"FasterTransformer", {207, 0.059, 0.182}},
        {"DistServe's fit, distserve prompts", {42, 0.059, 0.106}},
        {"DistServe's fit, distserve steps", {35, 0.049, 0.183}},
        {"Splitwise prompts, A100", {57, 0.092, 0}},
        {"Splitwise tokens, A100", {57, 0.046, 0.122}},
        {"Splitwise prompts, H100", {38, 0.073, 0}},
        {"Splitwise tokens, H100", {38, 0.049, 0.108}},
        {"DistServe's fit, vllm prompts", {42, 0.272, 0}},
        {"DistServe's fit, vllm steps", {35, 0.117, 0}},
    };
    const auto tables = ErrorsOfTables();
    for (const auto& [name, bound] : bounds)
    {
        const auto found = tables.find(name);
        ASSERT_NE(found, tables.end()) << name;
        EXPECT_EQ(found->second.rows, bound.rows) << name;
        EXPECT_LE(found->second.median, bound.median) << name;
        if (bound.worstDecile > 0)
        {
            EXPECT_LE(found->second.worstDecile, bound.worstDecile) << name;
        }
    }
}
