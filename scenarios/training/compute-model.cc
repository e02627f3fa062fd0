/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/compute-model.h"

#include "topologies/json-reader.h"

#include <algorithm>

namespace training
{

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

} // namespace

const LayerTime*
Profile::Find(const std::string& layer) const
{
    const auto exact = layers.find(layer);
    if (exact != layers.end())
    {
        return &exact->second;
    }
    const LayerTime* best = nullptr;
    size_t length = 0;
    for (const auto& [pattern, time] : layers)
    {
        if (pattern.size() > length && Matches(pattern, layer))
        {
            best = &time;
            length = pattern.size();
        }
    }
    return best;
}

std::optional<Profile>
ParseProfileJson(const nlohmann::json& json,
                 const std::string& file,
                 std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    constexpr double kMostUs = 1e9;
    Profile profile;
    topo::JsonObject in(json, "", file, errors);
    in.Has("note");
    if (in.Has("optimizer_us"))
    {
        double us = 0;
        in.Real("optimizer_us", us, 0, kMostUs);
        profile.optimizer = rdma::FromSeconds(us * 1e-6);
    }
    if (!in.Has("layers") || !in.At("layers").is_object() || in.At("layers").empty())
    {
        in.Say("layers", "must be an object: layer name -> {\"forward_us\", \"backward_us\"}");
    }
    else
    {
        for (const auto& [name, times] : in.At("layers").items())
        {
            topo::JsonObject r = in.Inner(times, "layers/" + topo::PathPart(name));
            double forward = 0;
            double backward = 0;
            r.Real("forward_us", forward, 0, kMostUs, topo::Need::kRequired);
            r.Real("backward_us", backward, 0, kMostUs, topo::Need::kRequired);
            r.Finish();
            profile.layers[name] = {rdma::FromSeconds(forward * 1e-6),
                                    rdma::FromSeconds(backward * 1e-6)};
        }
    }
    in.Finish();
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    return profile;
}

std::vector<Problem>
CheckProfile(const Profile& profile, const ModelSpec& model)
{
    std::vector<Problem> problems;
    for (const auto& [pattern, time] : profile.layers)
    {
        const bool used =
            std::any_of(model.layers.begin(),
                        model.layers.end(),
                        [&p = pattern](const LayerSpec& layer) { return Matches(p, layer.name); });
        if (!used)
        {
            problems.push_back({false, "/layers/" + pattern, "fits no layer of " + model.name});
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
    if (missing > 0)
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

} // namespace training
