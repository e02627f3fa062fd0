/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured times of inference as cases in JSON, and those that scenarios/inference has for them:
 *
 *   {"kind": "request", "model": "llama2-70b", "gpu": "A100", "server": "dgx-a100", "tp": 8,
 *    "pp": 1, "framework": "vllm-0.2", "dtype": "fp16", "batch": 1, "input": 512, "output": 128,
 *    "of": "whole"}
 *       a static batch of alike requests. "model" is a name or what stands in a file of --model.
 *       "of": whole, prompt, token (mean over the decode steps)
 *   {"kind": "attention", "gpu": ..., "heads": 32, "kv_heads": 8, "size": 128, "decode": 16,
 *    "context": 512, "chunk": 0, "before": 0}      one launch of attention
 *   {"kind": "product", "gpu": ..., "rows": 8, "columns": 4096, "inner": 4096}
 *   {"kind": "step", as "request", "decode": [sequences, context of each], "prompts": [tokens...]}
 *
 * All-reduces take the time that collectives/tuner/tuner.h has for them on the server.
 */
#ifndef TESTS_TOOLS_SERVING_CASES_H
#define TESTS_TOOLS_SERVING_CASES_H

#include "collectives/tuner/tuner.h"
#include "scenarios/inference/iteration-time.h"
#include "scenarios/training/spec/kernel-time.h"
#include "topologies/server.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace serving
{

using nlohmann::json;
using training::Dtype;
using training::GpuSpec;
using training::ModelSpec;

template <typename T>
T
Known(std::optional<T> value, const json& line, const char* key)
{
    if (!value)
    {
        throw std::invalid_argument(std::string(key) + ": " + line.at(key).dump() + " is none");
    }
    return *std::move(value);
}

inline ModelSpec
Model(const json& line)
{
    const json& model = line.at("model");
    if (model.is_string())
    {
        return Known(training::FindModel(model.get<std::string>()), line, "model");
    }
    std::vector<topo::Error> errors;
    json named = model;
    named["name"] = "own";
    auto own = training::ParseModelJson(named, "model", errors);
    if (!own)
    {
        throw std::invalid_argument(errors.front().Sentence());
    }
    return *std::move(own);
}

/// Constants of a trial.
class Trial
{
  public:
    /// \param line has "gpus", "rates", "frameworks", or some of them
    explicit Trial(const json& line = json::object())
        : m_gpus(line.value("gpus", json::object())),
          m_rates(line.value("rates", json::object())),
          m_frameworks(line.value("frameworks", json::object()))
    {
    }

    const GpuSpec& Gpu(const std::string& name) const
    {
        const auto found = m_known.find(name);
        if (found != m_known.end())
        {
            return found->second;
        }
        json spec = m_gpus.value(name, json::object());
        spec["name"] = name;
        spec["base"] = name;
        std::vector<topo::Error> errors;
        const auto gpu = training::ParseGpuJson(spec, "gpu", errors);
        if (!gpu)
        {
            throw std::invalid_argument(errors.front().Sentence());
        }
        return m_known.emplace(name, *gpu).first->second;
    }

    ServingRates Rates(const GpuSpec& gpu) const
    {
        ServingRates found = RatesOf(gpu);
        Replace(found, m_rates.value(gpu.name, json::object()));
        return found;
    }

    FrameworkProfile Framework(const std::string& name) const
    {
        const auto found = FindFramework(name);
        if (!found)
        {
            throw std::invalid_argument("framework: " + name + " is none");
        }
        FrameworkProfile profile = *found;
        Replace(profile, m_frameworks.value(name, json::object()));
        return profile;
    }

  private:
    json m_gpus;
    json m_rates;
    json m_frameworks;
    mutable std::map<std::string, GpuSpec> m_known;
};

/// Seconds of an all-reduce of a group that fills servers.
inline double
ReductionSeconds(const std::string& server, uint32_t ranks, double bytes)
{
    const auto* spec = topo::FindServer(topo::ServerPresets(), server);
    if (!spec)
    {
        throw std::invalid_argument("server: " + server + " is none");
    }
    coll::Machine machine;
    machine.insideRate =
        static_cast<double>(spec->scaleUp.perGpu.bps) / 8 * spec->scaleUp.efficiency;
    machine.nicRate = static_cast<double>(spec->nicRate.bps) / 8;
    machine.nics = spec->nics;
    machine.hasLibrary = true;
    machine.library = spec->library;
    coll::Placement placement;
    for (uint32_t r = 0; r < ranks; ++r)
    {
        placement.serverOf.push_back(r / spec->gpus);
        placement.gpuOf.push_back(r % spec->gpus);
    }
    placement.nicsPerServer = spec->nics;
    placement.gpusPerServer = spec->gpus;
    coll::Collective what;
    what.bytes = static_cast<uint64_t>(bytes);
    what.ranks = ranks;
    return coll::Choose(what, placement, {}, machine).seconds;
}

class Case
{
  public:
    explicit Case(const json& line)
        : m_line(line),
          m_kind(line.at("kind").get<std::string>()),
          m_gpu(line.at("gpu").get<std::string>())
    {
        if (m_kind == "attention")
        {
            const auto size = line.at("size").get<uint32_t>();
            const auto heads = line.at("heads").get<uint32_t>();
            m_line["model"] = {{"layers", 1},
                               {"hidden", heads * size},
                               {"heads", heads},
                               {"kv_heads", line.at("kv_heads")},
                               {"head_size", size},
                               {"vocab", 1000}};
        }
        if (m_kind != "product")
        {
            m_model = Model(m_line);
        }
    }

    /// Cases with the same key have the same IterationTime.
    std::string Key() const
    {
        return m_gpu + m_line.value("framework", "ideal") + m_line.value("dtype", "bf16") +
               std::to_string(m_line.value("tp", 1)) + "/" + std::to_string(m_line.value("pp", 1)) +
               m_line.value("model", json()).dump();
    }

    double Seconds(const Trial& trial, std::map<std::string, IterationTime>& known)
    {
        const GpuSpec& gpu = trial.Gpu(m_gpu);
        const auto number = [this](const char* key) { return m_line.at(key).get<double>(); };
        const Dtype dtype = *training::ParseDtype(m_line.value("dtype", "bf16"));
        if (m_kind == "product")
        {
            GpuSpec serving = gpu;
            serving.rates.productMemory = trial.Rates(gpu).weights;
            serving.rates.launch = trial.Rates(gpu).launch;
            serving.rates.tensorProduct *= trial.Rates(gpu).product;
            training::Kernel k;
            k.kind = training::KernelClass::kMatrix;
            k.rows = number("rows");
            k.columns = number("columns");
            k.inner = number("inner");
            k.flops = 2 * k.rows * k.columns * k.inner;
            k.elements = k.rows * k.columns + (k.rows + k.columns) * k.inner;
            return training::Seconds(k, serving, dtype);
        }
        const std::string key = Key();
        auto found = known.find(key);
        if (found == known.end())
        {
            const StageCut cut =
                EvenStage(*m_model, m_line.value("pp", 1), 0, m_line.value("tp", 1));
            found = known
                        .emplace(key,
                                 IterationTime(*m_model,
                                               gpu,
                                               cut,
                                               dtype,
                                               dtype,
                                               trial.Framework(m_line.value("framework", "ideal")),
                                               trial.Rates(gpu)))
                        .first;
        }
        const IterationTime& time = found->second;
        if (m_kind == "attention")
        {
            IterationBatch batch;
            for (double s = 0; s < number("decode"); ++s)
            {
                batch.AddDecode(number("context"));
            }
            if (number("chunk") > 0)
            {
                batch.AddChunk(number("chunk"), number("before"));
            }
            const IterationSeconds seconds = time.Seconds(batch);
            return seconds.prefill + seconds.decode;
        }
        if (m_kind == "step")
        {
            IterationBatch batch;
            for (double s = 0; s < m_line.at("decode").at(0).get<double>(); ++s)
            {
                batch.AddDecode(m_line.at("decode").at(1).get<double>());
            }
            for (const auto& tokens : m_line.at("prompts"))
            {
                batch.AddChunk(tokens.get<double>(), 0);
            }
            return Iteration(time, batch);
        }
        return Request(time);
    }

  private:
    double Iteration(const IterationTime& time, const IterationBatch& batch)
    {
        const StageExchanges& e = time.Exchanges();
        const double bytes = e.reductionBytes * batch.Tokens();
        double communication = 0;
        if (e.Reductions() > 0)
        {
            auto known = m_reductions.find(bytes);
            if (known == m_reductions.end())
            {
                const double seconds = ReductionSeconds(m_line.at("server").get<std::string>(),
                                                        m_line.at("tp").get<uint32_t>(),
                                                        bytes);
                known = m_reductions.emplace(bytes, seconds).first;
            }
            communication = e.Reductions() * known->second;
        }
        return time.Seconds(batch).Total() + communication;
    }

    double Request(const IterationTime& time)
    {
        const auto whole = [this](const char* key) { return m_line.at(key).get<uint32_t>(); };
        const uint32_t sequences = whole("batch");
        const uint32_t output = whole("output");
        const double input = whole("input");
        const uint32_t stages = m_line.value("pp", 1);
        // FasterTransformer halves a pipeline's batch until it has 1,024 tokens (getLocalBatchSize
        // of NVIDIA/FasterTransformer src/fastertransformer/utils/nccl_utils.cc).
        uint32_t local = sequences;
        if (stages > 1 && local % stages == 0)
        {
            local /= stages;
        }
        while (stages > 1 && local * input > 1024 && local % 2 == 0)
        {
            local /= 2;
        }
        IterationBatch prompts;
        for (uint32_t s = 0; s < local; ++s)
        {
            prompts.AddChunk(input, 0);
        }
        const std::string of = m_line.at("of").get<std::string>();
        const double prompt =
            of == "token" ? 0 : (sequences / local + stages - 1) * Iteration(time, prompts);
        if (of == "prompt" || output < 2)
        {
            return prompt;
        }
        // Steps get longer evenly: four of them stand for all, at the nodes of Gauss and Legendre.
        const double nodes[] = {0.0694318442, 0.3300094782, 0.6699905218, 0.9305681558};
        const double weights[] = {0.1739274226, 0.3260725774, 0.3260725774, 0.1739274226};
        double step = 0;
        for (int i = 0; i < 4; ++i)
        {
            IterationBatch batch;
            batch.decodeSequences = sequences;
            batch.decodeContext = sequences * (input + 1 + nodes[i] * (output - 2));
            batch.logitsRows = sequences;
            step += weights[i] * Iteration(time, batch);
        }
        step *= stages;
        return of == "token" ? step : prompt + (output - 1) * step;
    }

    json m_line;
    std::string m_kind;
    std::string m_gpu;
    std::optional<ModelSpec> m_model;
    std::map<double, double> m_reductions;
};

} // namespace serving

#endif // TESTS_TOOLS_SERVING_CASES_H
