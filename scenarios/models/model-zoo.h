/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Neural networks as lists of layers: what each layer holds, computes and moves. The zoo is JSON
 * inside the binary (model-zoo.cc), and a user's own file has the same form (model-json.cc):
 *
 *   {"name": "my-gpt", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 50257, "sequence": 1024}
 *   {"name": "my-net", "layers": [{"name": "conv1", "parameters": 9408, "flops": 2.4e8}, ...]}
 *
 * Parameter counts come out of the arithmetic on shapes; `parameters_published` in the JSON is
 * checked against it.
 */
#ifndef SCENARIOS_MODELS_MODEL_ZOO_H
#define SCENARIOS_MODELS_MODEL_ZOO_H

#include "topologies/error.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training
{

/// Something to tell the user. Without an error among the problems the thing can be used.
struct Problem
{
    bool error = true; ///< false: a warning
    std::string path;  ///< option name ("micro-batch") or JSON path ("/layers/3"); may be empty
    std::string text;
};

/// A quantity that grows with the work: for b samples of s tokens, b (sample + token s + pair s^2).
/// `pair` counts only what attention matrices cost, so that a fused attention can leave it out.
struct Work
{
    double sample = 0;
    double token = 0;
    double pair = 0;

    double At(uint32_t batch, uint32_t sequence) const
    {
        return batch * (sample + sequence * (token + pair * sequence));
    }

    Work WithoutPairs() const
    {
        return {sample, token, 0};
    }

    Work& operator+=(const Work& o)
    {
        sample += o.sample;
        token += o.token;
        pair += o.pair;
        return *this;
    }
};

constexpr uint32_t kNotTied = UINT32_MAX;

/// One entry of the list a step walks through: forward in order, backward in reverse.
struct LayerSpec
{
    std::string name;        ///< "embedding", "block 7", "head"; unique in the model
    uint64_t parameters = 0; ///< elements this layer owns
    std::vector<uint64_t>
        tensors; ///< its parameter tensors in forward order; they add up to `parameters`
    /// The layer whose parameters this one uses as well (a language-model head that shares the
    /// embedding's matrix). Their gradient is complete only when both layers' backward is done.
    uint32_t tiedTo = kNotTied;
    uint64_t tiedParameters = 0; ///< elements shared with layer `tiedTo` (read here, owned there)
    Work flops;             ///< forward, matrix products and convolutions; a multiply-add counts 2
    Work matrixElements;    ///< forward, elements read and written by them, weights excluded
    Work pointwiseElements; ///< forward, elements moved by norms, activations, softmax, residuals,
                            ///< look-ups
    Work activationBytes;   ///< kept for backward with a 16-bit datatype, everything stored
    Work
        checkpointBytes; ///< kept instead with activation checkpointing (the layer's input), 16-bit
};

/// The numbers a transformer was built from, for formulas that want them.
struct TransformerShape
{
    uint32_t layers = 0;
    uint32_t hidden = 0;
    uint32_t heads = 0;
    uint32_t kvHeads = 0;
    uint32_t ffn = 0;
    uint32_t vocabulary = 0;
};

struct ModelSpec
{
    std::string name;   ///< "bloom-560m"
    std::string family; ///< "BLOOM"
    std::string source; ///< where the shapes come from
    uint64_t parameters = 0;
    uint64_t parametersPublished = 0; ///< 0: none known
    uint32_t sequence = 1; ///< usual length; 1 for models of images, where it has no meaning
    bool hasSequence = true;
    std::vector<LayerSpec> layers;
    std::optional<TransformerShape> transformer;

    /// Forward FLOPs of b samples of s tokens, whole model.
    double ForwardFlops(uint32_t batch, uint32_t sequence) const;
};

/// Canonical names of the zoo, in the order in which it lists them (families together, sizes
/// ascending).
std::vector<std::string> ModelNames();

/// Every spelling of a model, aliases included, with the canonical name that it stands for.
std::vector<std::pair<std::string, std::string>> ModelSpellings();

/// By canonical name or alias; case, '-', '_' and spaces do not matter ("bloom560m", "BLOOM_560M").
std::optional<ModelSpec> FindModel(std::string_view name);

/// A model from a user's JSON. Problems are appended; nothing is returned if any of them is an
/// error.
std::optional<ModelSpec> ParseModelJson(const nlohmann::json& json,
                                        const std::string& file,
                                        std::vector<topo::Error>& errors);

} // namespace training

#endif // SCENARIOS_MODELS_MODEL_ZOO_H
