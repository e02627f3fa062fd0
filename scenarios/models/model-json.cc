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
ParseModelJson(const nlohmann::json& json,
               const std::string& file,
               std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    topo::JsonObject in(json, "", file, errors);
    ModelSpec model;
    in.Text("name", model.name);
    if (model.name.empty())
    {
        in.Missing("name");
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
        BuildOperators(model, in);
    }
    else if (in.Has("layers") && in.At("layers").is_array())
    {
        BuildList(model, in);
    }
    else
    {
        in.Missing("layers",
                   ": give a transformer (layers, hidden, heads, vocab) or a list of layers");
    }
    in.Finish();

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
        layer.parameters = 0;
        for (const uint64_t t : layer.tensors)
        {
            layer.parameters += t;
        }
        model.parameters += layer.parameters;
    }
    if (model.parameters == 0 && errors.size() == before)
    {
        in.Say("layers", "have no parameters: there is nothing to train");
    }
    if (model.parametersPublished != 0 && errors.size() == before &&
        model.parameters != model.parametersPublished)
    {
        in.Fail("parameters_published",
                "is not what the layers have, " + std::to_string(model.parameters));
    }
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    return model;
}

} // namespace training
