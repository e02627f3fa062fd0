/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/layer-types.h"

#include <map>
#include <regex>

namespace training
{

namespace
{

// Longer ones are no lists of types, and a library goes as deep as they are long.
constexpr std::size_t kLongestExpression = 200;

/// libstdc++ searches backwards and forwards, which for (a|a)*b takes 2^length steps, unless it is
/// asked for the other way it has, which takes steps as the length.
std::regex
RegexOf(const std::string& expression)
{
    auto flags = std::regex::ECMAScript | std::regex::icase;
#ifdef __GLIBCXX__
    flags |= std::regex_constants::__polynomial;
#endif
    return std::regex(expression, flags);
}

} // namespace

std::string
LayerType(const ModelSpec& model, std::size_t index)
{
    const LayerSpec& layer = model.layers[index];
    if (!model.transformer)
    {
        return layer.name;
    }
    if (layer.name == "embedding" || layer.name == "head")
    {
        return layer.name == "embedding" || layer.tiedTo != kNotTied ? "EmbeddingPipe"
                                                                     : "LMHeadPipe";
    }
    return layer.name.find("block") == std::string::npos ? layer.name
                                                         : "ParallelTransformerLayerPipe";
}

std::optional<std::string>
WhyNoTypes(const std::string& expression)
{
    if (expression.empty())
    {
        return "names no layers; allowed: type: and a regular expression, as "
               "type:transformer|embedding";
    }
    if (expression.size() > kLongestExpression)
    {
        return "has a regular expression of " + std::to_string(expression.size()) +
               " letters; allowed: up to " + std::to_string(kLongestExpression);
    }
    try
    {
        RegexOf(expression);
    }
    catch (const std::regex_error& error)
    {
        return "is no regular expression (" + std::string(error.what()) +
               "); allowed: ECMAScript's, without references back";
    }
    return std::nullopt;
}

std::vector<bool>
LayersOfTypes(const ModelSpec& model, const std::string& expression)
{
    const std::regex regex = RegexOf(expression);
    std::map<std::string, bool> known; // of types: many layers have the same one
    std::vector<bool> meant;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
    {
        const std::string type = LayerType(model, i);
        const auto [at, isNew] = known.try_emplace(type, false);
        if (isNew)
        {
            at->second = std::regex_search(type, regex);
        }
        meant.push_back(at->second || std::regex_search(model.layers[i].name, regex));
    }
    return meant;
}

} // namespace training
