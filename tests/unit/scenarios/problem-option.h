/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a problem with options is about, as users write it: "micro-batch", or the path in a file.
 */
#ifndef TESTS_UNIT_SCENARIOS_PROBLEM_OPTION_H
#define TESTS_UNIT_SCENARIOS_PROBLEM_OPTION_H

#include "scenarios/models/model-zoo.h"

#include <string>

inline std::string
AboutOf(const training::Problem& problem)
{
    return problem.member ? scenario::OptionOf(*problem.member) : problem.path;
}

#endif // TESTS_UNIT_SCENARIOS_PROBLEM_OPTION_H
