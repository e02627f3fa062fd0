/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The zoo, from the JSON of all families.
 */
#include "scenarios/models/model-zoo.h"

#include "scenarios/models/family.h"
#include "scenarios/models/zoo-json.h"

namespace training
{

namespace
{

const nlohmann::json&
ModelZoo()
{
    static const nlohmann::json zoo = [] {
        auto all = nlohmann::json::array();
        for (const ModelFamily& family : ModelFamilies())
        {
            const auto models = nlohmann::json::parse(family.zoo);
            all.insert(all.end(), models.begin(), models.end());
        }
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
