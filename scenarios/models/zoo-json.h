/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Entries of a zoo (models, GPUs) by the names that people give them.
 */
#ifndef SCENARIOS_MODELS_ZOO_JSON_H
#define SCENARIOS_MODELS_ZOO_JSON_H

#include "topologies/error.h"
#include "topologies/names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training
{

/// As topo::FoldedName: "BLOOM_560m" and "bloom-560m" are the same, gpt3-1.3b and gpt3-13b are not.
inline std::string
PlainName(std::string_view name)
{
    return topo::FoldedName(std::string(name));
}

/// Each "name" of a list of objects and each of its "aliases", with the entry's name.
inline std::vector<std::pair<std::string, std::string>>
SpellingsIn(const nlohmann::json& list)
{
    std::vector<std::pair<std::string, std::string>> spellings;
    for (const auto& entry : list)
    {
        const std::string name = entry.at("name").get<std::string>();
        spellings.emplace_back(name, name);
        for (const auto& alias : entry.value("aliases", nlohmann::json::array()))
        {
            spellings.emplace_back(alias.get<std::string>(), name);
        }
    }
    return spellings;
}

/// Each "name" of a list of objects.
inline std::vector<std::string>
NamesIn(const nlohmann::json& list)
{
    std::vector<std::string> names;
    for (const auto& entry : list)
    {
        names.push_back(entry.at("name").get<std::string>());
    }
    return names;
}

/// The entry of a list of objects whose "name", or one of whose "aliases", means the same as `name`
/// (topo::SameName); nullptr: none. No two entries have spellings that fold alike (a test checks
/// that).
inline const nlohmann::json*
FindByName(const nlohmann::json& list, std::string_view name)
{
    for (const auto& [spelling, of] : SpellingsIn(list))
    {
        if (topo::SameName(std::string(name), spelling))
        {
            const std::string& entry = of;
            return &*std::find_if(list.begin(), list.end(), [&entry](const auto& e) {
                return e.at("name") == entry;
            });
        }
    }
    return nullptr;
}

/// Parses the entry that `name` means; nothing if there is none. Entries are right (a test reads
/// them all), so an error is a std::logic_error.
/// \param what "GPU zoo"
/// \param parse (entry, file, errors) -> std::optional, as for a user's file
template <class T>
std::optional<T>
FindIn(const nlohmann::json& list,
       const char* what,
       std::string_view name,
       std::optional<T> (*parse)(const nlohmann::json&,
                                 const std::string&,
                                 std::vector<topo::Error>&))
{
    const nlohmann::json* entry = FindByName(list, name);
    if (entry == nullptr)
    {
        return std::nullopt;
    }
    std::vector<topo::Error> errors;
    auto found = parse(*entry, what, errors);
    if (!found)
    {
        throw std::logic_error(entry->dump() + ": " + errors.front().Sentence());
    }
    return found;
}

} // namespace training

#endif // SCENARIOS_MODELS_ZOO_JSON_H
