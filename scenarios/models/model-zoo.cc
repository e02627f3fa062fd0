/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The zoo, from its JSON (zoo-text.h).
 */
#include "scenarios/models/model-zoo.h"

#include "scenarios/models/zoo-json.h"
#include "scenarios/models/zoo-text.h"

namespace training
{

namespace
{

const nlohmann::json&
ModelZoo()
{
    static const nlohmann::json zoo = [] {
        auto all = nlohmann::json::parse(LanguageZoo());
        const auto pictures = nlohmann::json::parse(PictureZoo());
        all.insert(all.end(), pictures.begin(), pictures.end());
        return all;
    }();
    return zoo;
}

} // namespace

std::vector<std::string>
ModelNames()
{
    return NamesIn(ModelZoo());
}

std::vector<std::pair<std::string, std::string>>
ModelSpellings()
{
    return SpellingsIn(ModelZoo());
}

std::optional<ModelSpec>
FindModel(std::string_view name)
{
    return FindIn(ModelZoo(), "model zoo", name, ParseModelJson);
}

} // namespace training
