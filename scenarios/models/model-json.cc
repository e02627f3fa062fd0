/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From the JSON of a model to its layers. Forms, told apart by their members:
 *
 *   config.json  Hugging Face's, by "model_type" or "architectures" (hugging-face.cc)
 *   config       "config" is there: such a file, beside a name
 *   transformer  "hidden" is there: shapes in the words of Hugging Face's configs
 *   operators    "image" or "input" is there: convolutions and the like; parameters and FLOPs
 *                follow
 *   list         "layers" is a list with parameters and FLOPs given
 *   graph        "graph" is there: operators and tensors in any order of flow (model-graph.h)
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-forms.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace training
{

Operator
Product(Work rows, double columns, double inner)
{
    Operator product;
    product.kind = KernelClass::kMatrix;
    product.rows = rows;
    product.columns = columns;
    product.inner = inner;
    return product;
}

void
AddPointwise(Part& part, Work elements, Split split)
{
    Operator pointwise;
    pointwise.elements = elements;
    pointwise.split = split;
    part.operators.push_back(pointwise);
}

Work
Times(const Work& a, const Work& b)
{
    return {a.sample * b.sample, a.sample * b.token + a.token * b.sample, a.token * b.token};
}

Work
Operator::Flops() const
{
    if (kind == KernelClass::kAttention)
    {
        // Scores Q K^T and context P V, 2 s^2 h each, causal or not (Megatron-LM's count, SC'21
        // appendix). Lengths are a number or grow with the sequence.
        const double wide = headSize + (valueSize > 0 ? valueSize : headSize);
        Work work = Times(queries, keys) * (2 * heads * wide * count);
        if (window > 0)
        {
            work.local = work.pair;
            work.window = window;
            work.pair = 0;
        }
        return work;
    }
    return columns > 0 ? rows * (2 * columns * inner * count) : flops * count;
}

uint64_t
LayerSpec::Parameters() const
{
    uint64_t sum = 0;
    for (const Part& part : parts)
    {
        for (const Tensor& tensor : part.tensors)
        {
            sum += tensor.All();
        }
    }
    return sum;
}

bool
LayerSpec::IsShared() const
{
    for (const Part& part : parts)
    {
        if (!part.entry.IsZero() || !part.exit.IsZero())
        {
            return true;
        }
    }
    return false;
}

Work
LayerSpec::Flops() const
{
    Work sum;
    for (const Part& part : parts)
    {
        for (const Operator& op : part.operators)
        {
            // Experts' products count once for each expert that a token is sent to.
            sum += op.Flops() * (op.expert ? part.routing->topK : 1);
        }
    }
    return sum;
}

Work
LayerSpec::ExpertFlops() const
{
    Work sum;
    for (const Part& part : parts)
    {
        for (const Operator& op : part.operators)
        {
            sum += op.expert ? op.Flops() * part.routing->topK : Work{};
        }
    }
    return sum;
}

Work
LayerSpec::ActivationBytes() const
{
    Work sum;
    for (const Part& part : parts)
    {
        for (const Kept& kept : part.kept)
        {
            sum += kept.bytes;
        }
    }
    return sum;
}

uint64_t
ModelSpec::ActiveParameters() const
{
    uint64_t active = 0;
    for (const LayerSpec& layer : layers)
    {
        for (const Part& part : layer.parts)
        {
            for (const Tensor& tensor : part.tensors)
            {
                active += tensor.elements * (tensor.experts > 0 ? part.routing->topK : 1);
            }
        }
    }
    return active;
}

void
AddPredictors(ModelSpec& model, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        const std::string number = std::to_string(++model.predictors);
        for (LayerSpec layer : model.predictor)
        {
            layer.name = "mtp " + number + (layer.name.empty() ? "" : " ") + layer.name;
            model.parameters += layer.Parameters();
            model.layers.push_back(std::move(layer));
        }
    }
}

double
ModelSpec::ForwardFlops(uint32_t batch, uint32_t s) const
{
    double flops = 0;
    for (const auto& layer : layers)
    {
        flops += layer.Flops().At(batch, s);
    }
    return flops;
}

namespace
{

/// A model in one of our own forms. \return whether it is clear which
bool
ReadOurs(ModelSpec& model, topo::JsonObject& in)
{
    in.Name("name", model.name);
    in.Text("family", model.family);
    in.Text("source", model.source);
    in.Whole("parameters_published", model.parametersPublished, 0, kMost);
    in.Whole("active_published", model.activePublished, 0, kMost);
    in.Has("aliases"); // in the zoo
    in.Has("note");    // for people
    if (in.Has("config"))
    {
        topo::JsonObject config = in.Inner(in.At("config"), "config");
        const std::string name = model.name;
        const std::string family = model.family;
        const std::string source = model.source;
        BuildHuggingFace(model, config);
        model.name = name.empty() ? model.name : name;
        model.family = family.empty() ? model.family : family;
        model.source = source.empty() ? model.source : source;
        in.Whole("sequence", model.sequence, 1, 1 << 24);
    }
    else if (in.Has("graph"))
    {
        BuildGraph(model, in);
    }
    else if (in.Has("hidden"))
    {
        BuildTransformer(model, in);
    }
    else if (in.Has("image") || in.Has("input"))
    {
        BuildOperators(model, in);
    }
    else if (in.Has("layers") && in.At("layers").is_array())
    {
        BuildList(model, in);
    }
    else if (in.Has("layers") || in.Has("heads") || in.Has("vocab"))
    {
        in.Missing("hidden", ": a transformer has layers, hidden, heads and vocab");
        return false;
    }
    else
    {
        in.Missing("layers",
                   ": give a transformer (layers, hidden, heads, vocab) or a list of layers");
        return false;
    }
    return true;
}

/// Assumed: a thousand times the largest models of 2025. Bytes of their states, and sums over GPUs,
/// stay below 2^64.
constexpr double kMostParameters = 1e15;

/// Parameters of layers, which may be more than a uint64_t holds.
double
Parameters(const std::vector<LayerSpec>& layers)
{
    double sum = 0;
    for (const LayerSpec& layer : layers)
    {
        for (const Part& part : layer.parts)
        {
            for (const Tensor& tensor : part.tensors)
            {
                sum += static_cast<double>(tensor.elements) * std::max(1U, tensor.experts);
            }
        }
    }
    return sum;
}

} // namespace

std::optional<ModelSpec>
ParseModelJson(const nlohmann::json& json,
               const std::string& file,
               std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    topo::JsonObject in(json, "", file, errors);
    ModelSpec model;
    if (IsHuggingFace(json))
    {
        BuildHuggingFace(model, in); // most of its members are not ours
    }
    else if (ReadOurs(model, in) || !json.is_object())
    {
        in.Finish(); // else what its members are for is not known
    }

    const double count = Parameters(model.layers) + Parameters(model.predictor);
    if (count > kMostParameters && errors.size() == before)
    {
        char text[80];
        std::snprintf(text,
                      sizeof text,
                      "a model of %.3g parameters; allowed: at most %.0e",
                      count,
                      kMostParameters);
        in.Say("", text);
        return std::nullopt;
    }
    std::set<std::string> names;
    for (size_t i = 0; i < model.layers.size(); ++i)
    {
        auto& layer = model.layers[i];
        layer.name = layer.name.empty() ? "layer " + std::to_string(i) : layer.name;
        if (!names.insert(layer.name).second)
        {
            in.Say("layers/" + std::to_string(i) + "/name",
                   "\"" + rdma::Shown(layer.name, 60) + "\" is the name of two layers");
        }
        model.parameters += layer.Parameters();
    }
    if (model.parameters == 0 && model.graph.empty() && errors.size() == before)
    {
        in.Say("layers", "have no parameters: there is nothing to train");
    }
    if (model.parametersPublished != 0 && errors.size() == before &&
        model.parameters != model.parametersPublished)
    {
        in.Fail("parameters_published",
                "is not what the layers have, " + std::to_string(model.parameters));
    }
    if (model.activePublished != 0 && errors.size() == before &&
        model.ActiveParameters() != model.activePublished)
    {
        in.Fail("active_published",
                "is not what a token meets, " + std::to_string(model.ActiveParameters()));
    }
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    ShareParts(model.layers);
    return model;
}

} // namespace training
