/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/graph-settings.h"

#include "topologies/family.h"

#include <nlohmann/json.hpp>

namespace topo
{

using nlohmann::json;

namespace
{

void
Add(const json& item, const char* key, std::vector<std::pair<std::string, std::string>>* settings)
{
    if (!item.is_object() || !item.contains(key) || !item[key].is_object())
    {
        return;
    }
    for (const auto& [name, value] : item[key].items())
    {
        settings->emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
}

} // namespace

std::vector<std::pair<std::string, std::string>>
SettingsOfFile(const std::string& path)
{
    std::vector<std::pair<std::string, std::string>> settings;
    if (FamilyOfFile(path).name != "graph")
    {
        return settings;
    }
    std::vector<Error> ignored;
    const auto text = ReadWholeFile(path, ignored);
    const json file = text ? json::parse(*text, nullptr, false) : json();
    for (const char* list : {"nodes", "links"})
    {
        if (!file.is_object() || !file.contains(list) || !file[list].is_array())
        {
            continue;
        }
        for (const json& item : file[list])
        {
            for (const char* key : {"set", "set_from", "set_to"})
            {
                Add(item, key, &settings);
            }
        }
    }
    return settings;
}

} // namespace topo
