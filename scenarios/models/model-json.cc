/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From the JSON of a model to its layers. Three forms, told apart by their members:
 *
 *   transformer  "hidden" is there: shapes in the words of Hugging Face's configs
 *   operators    "image" is there: convolutions and the like; parameters and FLOPs follow
 *   list         "layers" is a list with parameters and FLOPs given
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-forms.h"

#include <set>

namespace training
{

double
ModelSpec::ForwardFlops(uint32_t batch, uint32_t s) const
{
    double flops = 0;
    for (const auto& layer : layers)
    {
        flops += layer.flops.At(batch, s);
    }
    return flops;
}

std::optional<ModelSpec>
ParseModelJson(const nlohmann::json& json, std::vector<Problem>& problems)
{
    const size_t before = problems.size();
    ObjectReader in(json, "", problems);
    if (!json.is_object())
    {
        return std::nullopt;
    }
    ModelSpec model;
    in.Text("name", model.name);
    if (model.name.empty())
    {
        in.Error("name", "is missing");
    }
    in.Text("family", model.family);
    in.Text("source", model.source);
    in.Whole("parameters_published", model.parametersPublished, 0, kMost);
    in.Has("aliases"); // of the zoo
    in.Has("note");    // for people
    if (in.Has("hidden"))
    {
        BuildTransformer(model, in);
    }
    else if (in.Has("image"))
    {
        BuildOperators(model, in, problems);
    }
    else if (in.Has("layers") && in.At("layers").is_array())
    {
        BuildList(model, in, problems);
    }
    else
    {
        in.Error(
            "layers",
            "is missing: give a transformer (layers, hidden, heads, vocab) or a list of layers");
    }
    in.Finish();

    std::set<std::string> names;
    for (size_t i = 0; i < model.layers.size(); ++i)
    {
        auto& layer = model.layers[i];
        layer.name = layer.name.empty() ? "layer " + std::to_string(i) : layer.name;
        if (!names.insert(layer.name).second)
        {
            in.Error("layers/" + std::to_string(i) + "/name",
                     "\"" + rdma::Shown(layer.name, 60) + "\" is the name of two layers");
        }
        layer.parameters = 0;
        for (const uint64_t t : layer.tensors)
        {
            layer.parameters += t;
        }
        model.parameters += layer.parameters;
    }
    if (model.parameters == 0 && problems.size() == before)
    {
        in.Error("layers", "have no parameters: there is nothing to train");
    }
    if (model.parametersPublished != 0 && problems.size() == before &&
        model.parameters != model.parametersPublished)
    {
        in.Error("parameters_published",
                 "is " + std::to_string(model.parametersPublished) + ", but the layers have " +
                     std::to_string(model.parameters));
    }
    for (size_t i = before; i < problems.size(); ++i)
    {
        if (problems[i].error)
        {
            return std::nullopt;
        }
    }
    return model;
}

} // namespace training
