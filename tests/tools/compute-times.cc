/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What scripts/fit-compute asks for times, so that no formula stands twice. Each line of the input
 * is a JSON object and has one line for an answer:
 *
 *   {"products": [[rows, columns, inner], ...], "dtype": "bf16"}   ->  {"cases": 2}
 *   {"steps": [{"model": "mpt-1b", "dtype": "bf16", "micro-batch": 2, "accumulation": 4, "seq":
 * 2048, "ranks": 8, "tp": 1, "zero": 3, "sequence-parallel": false, "recompute": "none",
 *               "fused-attention": true}, ...]}                    ->  {"cases": 1}
 *       what is timed from now on: products, or the computing of a rank in a step, whose model
 * FLOPs are told; "model" is a name or what stands in a file of --model
 *   {"gpu": {"name": "x", "base": "A100", "launch_us": 5},
 *    "costs": {"tile": 8, "wave": 0.2, "split": 8192}}             ->  {"seconds": [1.2e-5, ...]}
 *       "gpu" as in a file of --gpu; "costs", of products alone, may be left out
 *
 * What is wrong ends it: one line on the standard error, status 2.
 */
#include "scenarios/training/rank-work.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
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
    Dtype dtype = Dtype::kBf16; ///< of the kernels
    std::vector<TrainingOptions> steps;
};

template <typename T>
T
Known(std::optional<T> value, const nlohmann::json& line, const char* key)
{
    if (!value)
    {
        throw std::invalid_argument(std::string(key) + ": " + line.at(key).dump() + " is none");
    }
    return *std::move(value);
}

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

ModelSpec
Model(const nlohmann::json& line)
{
    const nlohmann::json& model = line.at("model");
    if (model.is_string())
    {
        return Known(FindModel(model.get<std::string>()), line, "model");
    }
    std::vector<topo::Error> errors;
    nlohmann::json named = model;
    named["name"] = "own";
    auto own = ParseModelJson(named, "model", errors);
    if (!own)
    {
        throw std::invalid_argument(errors.front().Sentence());
    }
    return *std::move(own);
}

TrainingOptions
Step(const nlohmann::json& line)
{
    const auto text = [&line](const char* key) { return line.at(key).get<std::string>(); };
    const auto whole = [&line](const char* key) { return line.at(key).get<uint32_t>(); };
    TrainingOptions o;
    o.model = Model(line);
    o.dtype = Known(ParseDtype(text("dtype")), line, "dtype");
    o.recompute = Known(ParseRecompute(text("recompute")), line, "recompute");
    o.microBatch = whole("micro-batch");
    o.accumulation = whole("accumulation");
    o.sequence = whole("seq");
    o.ranks = whole("ranks");
    o.tensor = whole("tp");
    o.sharding = ZeroStage(whole("zero"));
    o.sequenceParallel = line.at("sequence-parallel").get<bool>();
    o.fusedAttention = line.at("fused-attention").get<bool>();
    return o;
}

Cases
CasesOf(const nlohmann::json& line)
{
    Cases cases;
    if (line.contains("steps"))
    {
        for (const auto& step : line.at("steps"))
        {
            cases.steps.push_back(Step(step));
        }
        return cases;
    }
    cases.dtype = Known(ParseDtype(line.at("dtype").get<std::string>()), line, "dtype");
    for (const auto& shape : line.at("products"))
    {
        cases.kernels.push_back(Product(shape));
    }
    return cases;
}

/// What a rank computes: its micro-batches from the second on are alike, so one stands for them.
double
ComputingOf(TrainingOptions o)
{
    const uint32_t microBatches = o.accumulation;
    o.accumulation = std::min(2U, microBatches);
    const RankWork work = WorkOfRank(ResolvedOptions(std::move(o)));
    double first = 0;
    double others = 0;
    for (Position p = 0; p < work.Optimizer(); ++p)
    {
        (work.order[p].microBatch == 0 ? first : others) += work.order[p].duration.Seconds();
    }
    return first + (microBatches - 1) * others + work.order.back().duration.Seconds();
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
    for (TrainingOptions step : cases.steps)
    {
        step.gpu = *gpu;
        seconds.push_back(ComputingOf(std::move(step)));
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
            nlohmann::json answer{{"cases", cases.kernels.size() + cases.steps.size()}};
            for (const TrainingOptions& step : cases.steps)
            {
                answer["flops"].push_back(StepFlops(step));
            }
            std::cout << answer << std::endl;
        }
        catch (const std::exception& error)
        {
            std::cerr << "compute-times: error: " << error.what() << '\n';
            return 2;
        }
    }
    return 0;
}
