/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Neural networks as lists of layers: what each layer holds, computes and moves. The zoo is JSON
 * inside the binary (model-zoo.cc), and a user's own file has the same form (model-json.cc):
 *
 *   {"name": "my-gpt", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 50257, "sequence": 1024}
 *   {"name": "my-net", "layers": [{"name": "conv1", "parameters": 9408, "flops": 2.4e8}, ...]}
 *
 * or a config.json of Hugging Face, alone or as "config" beside a name. All forms:
 * docs/scenarios.md.
 *
 * Parameter counts come out of the arithmetic on shapes; `parameters_published` in the JSON is
 * checked against it.
 */
#ifndef SCENARIOS_MODELS_MODEL_ZOO_H
#define SCENARIOS_MODELS_MODEL_ZOO_H

#include "scenarios/models/layer-parts.h"
#include "scenarios/models/model-graph.h"
#include "scenarios/options/member.h"
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
    bool error = true;                           ///< false: a warning
    std::string path;                            ///< JSON path ("/layers/3"); may be empty
    std::string text;                            ///< reads on after the option or the path
    std::optional<scenario::Member> member = {}; ///< the option it is about
};

constexpr uint32_t kNotTied = UINT32_MAX;

/// One entry of the list a step walks through: forward in order, backward in reverse.
struct LayerSpec
{
    std::string name; ///< "embedding", "block 7", "head"; unique in the model
    Parts parts;
    /// The layer whose parameters this one uses as well (a language-model head that shares the
    /// embedding's matrix). Their gradient is complete only when both layers' backward is done.
    uint32_t tiedTo = kNotTied;
    uint64_t tiedParameters = 0; ///< elements shared with layer `tiedTo` (read here, owned there)
    Split tiedSplit = Split::kTensor;
    Work
        checkpointBytes; ///< kept instead with activation checkpointing (the layer's input), 16-bit
    Work output;         ///< elements that the next layer takes: what a pipeline sends
    /// One of a row of alike layers (a block): --layers leaves some out. A model may have two rows,
    /// an encoder's and a decoder's, with another layer between them.
    bool repeated = false;

    uint64_t Parameters() const; ///< elements this layer owns
    bool IsShared() const;       ///< it says how a tensor-parallel group divides it
    Work Flops() const;          ///< forward
    Work ExpertFlops() const;    ///< part of it in experts, for all tokens
    Work ActivationBytes() const;
};

/// The numbers a transformer was built from, for formulas that want them.
struct TransformerShape
{
    uint32_t layers = 0;
    uint32_t hidden = 0;
    uint32_t heads = 0;
    uint32_t kvHeads = 0;
    uint32_t headSize = 0;
    uint32_t ffn = 0;
    uint32_t vocabulary = 0;
    uint32_t recurrences = 0; ///< key heads of linear attention, or Mamba's groups; 0: neither
    /// Numbers of a token that multi-head latent attention keeps instead of keys and values, and
    /// beside them those with positions; 0: it keeps the heads'.
    uint32_t latentRank = 0;
    uint32_t latentRotary = 0;
};

struct ModelSpec
{
    std::string name;   ///< "bloom-560m"
    std::string family; ///< "BLOOM"
    std::string source; ///< where the shapes come from
    uint64_t parameters = 0;
    uint64_t parametersPublished = 0; ///< 0: none known
    uint64_t activePublished = 0;     ///< the same of ActiveParameters()
    uint32_t sequence = 1; ///< usual length; 1 for models of images, where it has no meaning
    bool hasSequence = true;
    /// Scores get a bias by their tokens' distance (ALiBi, T5): code of these models seldom has
    /// fused attention.
    bool biasedScores = false;
    std::vector<LayerSpec> layers;
    /// The entries of a model that is a free graph. `layers` have its parameters only, and samples
    /// are in its shapes.
    std::vector<GraphNode> graph;
    std::optional<TransformerShape> transformer;
    /// A module that predicts one token more (--mtp): its layers, which stand behind the others. It
    /// uses the matrices of embedding and head. Empty: the model has none.
    std::vector<LayerSpec> predictor;
    uint32_t predictors = 0; ///< modules among the layers

    /// Parameters that a token meets: all but those of experts that it is not sent to. Embedding
    /// and head count whole.
    uint64_t ActiveParameters() const;

    /// Forward FLOPs of b samples of s tokens, whole model; of experts those that tokens go to.
    double ForwardFlops(uint32_t batch, uint32_t sequence) const;
};

/// Lets layers with equal parts share them. What is computed from one's parts then goes for all.
void ShareParts(std::vector<LayerSpec>& layers);

/// Puts so many modules of model.predictor behind the layers: "mtp 1", "mtp 1 head", ...
void AddPredictors(ModelSpec& model, uint32_t count);

/// "30.5 B", "559.2 M", as people count parameters.
std::string ParametersText(uint64_t count);

/// Canonical names of the zoo, in the order in which it lists them (families together, sizes
/// ascending).
std::vector<std::string> ModelNames();

/// Every spelling of a model, aliases included, with the canonical name that it stands for.
std::vector<std::pair<std::string, std::string>> ModelSpellings();

/// By canonical name or alias; case, '-', '_' and spaces do not matter ("bloom560m", "BLOOM_560M").
std::optional<ModelSpec> FindModel(std::string_view name);

/// A model from a user's JSON. Appends problems; returns nothing if one of them is an error.
std::optional<ModelSpec> ParseModelJson(const nlohmann::json& json,
                                        const std::string& file,
                                        std::vector<topo::Error>& errors);

} // namespace training

#endif // SCENARIOS_MODELS_MODEL_ZOO_H
