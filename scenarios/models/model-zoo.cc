/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The zoo, from the JSON of all families.
 */
#include "scenarios/models/model-zoo.h"

#include "scenarios/models/family.h"
#include "scenarios/models/zoo-json.h"

#include <cstdio>

namespace training
{

namespace
{

const nlohmann::json&
ModelZoo()
{
    static const nlohmann::json zoo = [] {
        auto all = nlohmann::json::array();
        for (const FamilyModels& family : FamiliesOfModels())
        {
            all.insert(all.end(), family.models.begin(), family.models.end());
        }
        return all;
    }();
    return zoo;
}

} // namespace

std::string
ParametersText(uint64_t count)
{
    const auto p = static_cast<double>(count);
    char text[32];
    std::snprintf(text,
                  sizeof text,
                  p >= 999.5e9 ? "%.3g T"
                  : p >= 1e9   ? "%.3g B"
                               : "%.4g M",
                  p * (p >= 999.5e9 ? 1e-12
                       : p >= 1e9   ? 1e-9
                                    : 1e-6));
    return text;
}

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
