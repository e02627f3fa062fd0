/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/family.h"
#include "scenarios/models/zoo-files.h"

#include <algorithm>

namespace training
{

const std::vector<FamilyModels>&
FamiliesOfModels()
{
    static const std::vector<FamilyModels> families = [] {
        const std::string folder = "models/";
        std::vector<FamilyModels> all;
        for (const auto& [path, text] : ZooFiles())
        {
            if (path.compare(0, folder.size(), folder) == 0)
            {
                const std::string file = path.substr(folder.size());
                const auto json = nlohmann::json::parse(text);
                all.push_back({file.substr(0, file.rfind('.')),
                               json.at("order").get<int>(),
                               json.at("models")});
            }
        }
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            return a.order < b.order;
        });
        return all;
    }();
    return families;
}

std::vector<ConfigType>
ConfigTypes()
{
    std::vector<ConfigType> types;
    for (const FamilyModels& family : FamiliesOfModels())
    {
        if (const auto* readers = topo::Registered<ModelFamily>::Find(family.name))
        {
            types.insert(types.end(), readers->types.begin(), readers->types.end());
        }
    }
    return types;
}

} // namespace training
