/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What scripts/fit-serving asks for times of inference, so that no formula stands twice. Each line
 * of the input is a JSON object and has one line for an answer:
 *
 *   {"cases": [{"kind": "product", ...}, ...]}                    ->  {"cases": 1}
 *       what is timed from now on: serving-cases.h
 *   {"gpus": {"A100": {"launch_us": 5}}, "rates": {"A100": {"kv": 0.8}},
 *    "frameworks": {"vllm": {"iteration": 0.001}}}                ->  {"seconds": [0.0123, ...]}
 *       with constants other than those built in
 *
 * What is wrong ends it: one line on the standard error, status 2.
 */
#include "tests/tools/serving-cases.h"

#include <iostream>
#include <vector>

using namespace serving;

namespace
{

json
Answer(const json& line, std::vector<Case>& cases)
{
    if (line.contains("cases"))
    {
        cases.clear();
        for (const auto& one : line.at("cases"))
        {
            cases.emplace_back(one);
        }
        return {{"cases", cases.size()}};
    }
    const Trial trial(line);
    std::map<std::string, IterationTime> known;
    json seconds = json::array();
    for (Case& one : cases)
    {
        seconds.push_back(one.Seconds(trial, known));
    }
    return {{"seconds", seconds}};
}

} // namespace

int
main()
{
    std::vector<Case> cases;
    std::string text;
    while (std::getline(std::cin, text))
    {
        try
        {
            std::cout << Answer(json::parse(text), cases) << std::endl;
        }
        catch (const std::exception& error)
        {
            std::cerr << "serving-times: error: " << error.what() << '\n';
            return 2;
        }
    }
    return 0;
}
