/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/spec/layer-profile.h"

#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/spec/profile-shape.h"
#include "topologies/json-reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace training
{

std::string
NotWhole(double elementBytes)
{
    std::ostringstream text;
    text << "is no whole number of elements of " << elementBytes << " bytes";
    return text.str();
}

namespace
{

constexpr double kMostUs = 1e9;
constexpr double kMostFlops = 1e21;

} // namespace

namespace
{

bool
Matches(const std::string& pattern, const std::string& name)
{
    if (!pattern.empty() && pattern.back() == '*')
    {
        return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
    }
    return pattern == name;
}

void
ReadTimes(topo::JsonObject& in, ProfiledLayer& layer)
{
    double forward = 0;
    double backward = 0;
    in.Real("forward_us", forward, 0, kMostUs, topo::Need::kRequired);
    in.Real("backward_us", backward, 0, kMostUs, topo::Need::kRequired);
    layer.forwardSeconds = forward * 1e-6;
    layer.backwardSeconds = backward * 1e-6;
}

/// Layers in order.
void
ReadList(topo::JsonObject& in, LayerProfile& profile)
{
    in.Real("element_bytes", profile.elementBytes, 1, 8);
    const nlohmann::json& layers = in.At("layers");
    for (size_t i = 0; i < layers.size() && !in.TooMany(); ++i)
    {
        topo::JsonObject one = in.Inner(layers[i], "layers/" + std::to_string(i));
        ProfiledLayer layer;
        one.Name("name", layer.name, topo::Need::kOptional);
        ReadTimes(one, layer);
        one.Real("activation_bytes", layer.activationBytes, 0, kMostBytes);
        one.Real("parameter_bytes", layer.parameterBytes, 0, kMostBytes);
        if (std::fmod(layer.parameterBytes, profile.elementBytes) != 0)
        {
            one.Fail("parameter_bytes", NotWhole(profile.elementBytes) + " (element_bytes)");
        }
        one.Real("forward_flops", layer.forwardFlops, 0, kMostFlops);
        one.Finish();
        profile.layers.push_back(std::move(layer));
    }
    in.Name("name", profile.name, topo::Need::kOptional);
}

/// Patterns.
void
ReadObject(topo::JsonObject& in, LayerProfile& profile)
{
    profile.inOrder = false;
    for (const auto& [name, times] : in.At("layers").items())
    {
        topo::JsonObject one = in.Inner(times, "layers/" + topo::PathPart(name));
        ProfiledLayer layer;
        layer.name = name;
        ReadTimes(one, layer);
        one.Finish();
        profile.layers.push_back(std::move(layer));
    }
}

} // namespace

const ProfiledLayer*
LayerProfile::Find(const std::string& layer) const
{
    const ProfiledLayer* best = nullptr;
    for (const ProfiledLayer& one : layers)
    {
        if (one.name == layer)
        {
            return &one;
        }
        if (!inOrder && Matches(one.name, layer) && (!best || one.name.size() > best->name.size()))
        {
            best = &one;
        }
    }
    return best;
}

std::optional<LayerProfile>
ParseProfileJson(const nlohmann::json& json,
                 const std::string& file,
                 std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    LayerProfile profile;
    topo::JsonObject in(json, "", file, errors);
    in.Has("note");
    if (in.Has("optimizer_us"))
    {
        double us = 0;
        in.Real("optimizer_us", us, 0, kMostUs);
        profile.optimizerSeconds = us * 1e-6;
    }
    in.Whole("batch", profile.batch, 1, 1 << 24);
    const ProfileShape shape = ReadProfileShape(in);
    profile.batch = shape.microBatch > 0 ? shape.microBatch : profile.batch;
    if (!in.IsObject())
    {
        in.Has("layers"); // Finish reports the problem
        in.Has("name");
    }
    else if (!in.Has("layers") || !in.At("layers").is_structured() || in.At("layers").empty())
    {
        in.Say("layers",
               "must be a list of layers in order, each with forward_us and backward_us, or an "
               "object: layer name -> {\"forward_us\", \"backward_us\"}");
        in.Has("name"); // name of a list; otherwise it has no effect
        in.Has("element_bytes");
    }
    else if (in.At("layers").is_array())
    {
        ReadList(in, profile);
    }
    else
    {
        ReadObject(in, profile);
    }
    in.Finish();
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    return profile;
}

std::vector<Problem>
CheckProfile(const LayerProfile& profile, const ModelSpec& model)
{
    std::vector<Problem> problems;
    if (profile.inOrder)
    {
        const size_t both = std::min(profile.layers.size(), model.layers.size());
        size_t same = 0;
        while (same < both && profile.layers[same].name == model.layers[same].name)
        {
            ++same;
        }
        if (same < profile.layers.size() || same < model.layers.size())
        {
            const auto named = [same](const auto& layers) {
                return same < layers.size() ? '"' + layers[same].name + '"' : "nothing";
            };
            problems.push_back({true,
                                "",
                                "its layer " + std::to_string(same) + " is " +
                                    named(profile.layers) + " where " + model.name + " has " +
                                    named(model.layers) +
                                    "; allowed: the names of the model's layers in their order, "
                                    "or no " +
                                    scenario::Spell(&scenario::asked::Model::model),
                                &scenario::asked::Training::profile});
        }
        return problems;
    }
    for (const ProfiledLayer& one : profile.layers)
    {
        const bool used =
            std::any_of(model.layers.begin(), model.layers.end(), [&one](const LayerSpec& layer) {
                return Matches(one.name, layer.name);
            });
        if (!used)
        {
            problems.push_back({false, "/layers/" + one.name, "fits no layer of " + model.name});
        }
    }
    size_t missing = 0;
    std::string first;
    for (const auto& layer : model.layers)
    {
        if (profile.Find(layer.name) == nullptr)
        {
            first = missing++ == 0 ? layer.name : first;
        }
    }
    if (missing == model.layers.size())
    {
        problems.push_back({true,
                            "",
                            "its names fit no layer of " + model.name +
                                "; allowed: names such as \"" + first + "\", or the beginning of " +
                                "them and '*'",
                            &scenario::asked::Training::profile});
    }
    else if (missing > 0)
    {
        problems.push_back({false,
                            "/layers",
                            std::to_string(missing) + " of " + std::to_string(model.layers.size()) +
                                " layers of " + model.name +
                                " have no measured time (the first is \"" + first +
                                "\") and keep those of their kernels"});
    }
    return problems;
}

ModelSpec
ModelOfProfile(LayerProfile& profile, const std::string& name)
{
    ModelSpec model;
    model.name = profile.name.empty() ? name : profile.name;
    model.family = "measured";
    model.hasSequence = false;
    std::map<std::string, uint32_t> seen;
    for (size_t i = 0; i < profile.layers.size(); ++i)
    {
        ProfiledLayer& from = profile.layers[i];
        from.name = from.name.empty() ? "layer " + std::to_string(i) : from.name;
        const uint32_t times = ++seen[from.name];
        from.name += times > 1 ? " " + std::to_string(times) : "";
        LayerSpec layer;
        layer.name = from.name;
        Part part;
        const auto parameters =
            static_cast<uint64_t>(std::llround(from.parameterBytes / profile.elementBytes));
        if (parameters > 0)
        {
            part.tensors.push_back({parameters});
        }
        if (from.forwardFlops > 0)
        {
            Operator product;
            product.kind = KernelClass::kMatrix;
            product.flops.sample = from.forwardFlops / profile.batch;
            product.weights = true;
            part.operators.push_back(product);
        }
        const double outputs = from.activationBytes / profile.elementBytes / profile.batch;
        Kept kept;
        kept.bytes.sample = 2 * outputs; // as of a 16-bit datatype
        part.kept.push_back(kept);
        layer.parts.push_back(std::move(part));
        layer.output.sample = outputs;
        model.parameters += parameters;
        model.layers.push_back(std::move(layer));
    }
    return model;
}

} // namespace training
