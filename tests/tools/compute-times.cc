/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What scripts/fit-compute asks for kernels' times, so that no formula stands twice. Each line of
 * the input is a JSON object and has one line for an answer:
 *
 *   {"products": [[rows, columns, inner], ...], "dtype": "bf16"}   ->  {"cases": 2}
 *       what is timed from now on
 *   {"gpu": {"name": "x", "base": "A100", "launch_us": 5},
 *    "costs": {"tile": 8, "wave": 0.2, "split": 8192}}             ->  {"seconds": [1.2e-5, ...]}
 *       "gpu" as in a file of --gpu; "costs" may be left out
 *
 * What is wrong ends it: one line on the standard error, status 2.
 */
#include "scenarios/training/kernel-time.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace training;

namespace
{

struct Cases
{
    std::vector<Kernel> kernels;
    Dtype dtype = Dtype::kBf16;
};

Kernel
Product(const nlohmann::json& shape)
{
    Kernel k;
    k.kind = KernelClass::kMatrix;
    k.rows = shape.at(0).get<double>();
    k.columns = shape.at(1).get<double>();
    k.inner = shape.at(2).get<double>();
    k.flops = 2 * k.rows * k.columns * k.inner;
    k.elements = k.rows * k.columns + (k.rows + k.columns) * k.inner;
    return k;
}

Cases
CasesOf(const nlohmann::json& line)
{
    Cases cases;
    const auto dtype = ParseDtype(line.at("dtype").get<std::string>());
    if (!dtype)
    {
        throw std::invalid_argument("dtype: " + line.at("dtype").dump() + " is none");
    }
    cases.dtype = *dtype;
    for (const auto& shape : line.at("products"))
    {
        cases.kernels.push_back(Product(shape));
    }
    return cases;
}

nlohmann::json
Times(const nlohmann::json& line, const Cases& cases)
{
    std::vector<topo::Error> errors;
    const auto gpu = ParseGpuJson(line.at("gpu"), "gpu", errors);
    if (!gpu)
    {
        throw std::invalid_argument(errors.front().Sentence());
    }
    KernelCosts costs;
    if (line.contains("costs"))
    {
        costs.tile = line["costs"].value("tile", costs.tile);
        costs.wave = line["costs"].value("wave", costs.wave);
        costs.split = line["costs"].value("split", costs.split);
    }
    nlohmann::json seconds = nlohmann::json::array();
    for (const auto& kernel : cases.kernels)
    {
        seconds.push_back(Seconds(kernel, *gpu, cases.dtype, costs));
    }
    return {{"seconds", seconds}};
}

} // namespace

int
main()
{
    Cases cases;
    std::string text;
    while (std::getline(std::cin, text))
    {
        try
        {
            const auto line = nlohmann::json::parse(text);
            if (line.contains("gpu"))
            {
                std::cout << Times(line, cases) << std::endl;
                continue;
            }
            cases = CasesOf(line);
            std::cout << nlohmann::json{{"cases", cases.kernels.size()}} << std::endl;
        }
        catch (const std::exception& error)
        {
            std::cerr << "compute-times: error: " << error.what() << '\n';
            return 2;
        }
    }
    return 0;
}
