/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the readers of model and GPU files share: checked access to a JSON object, and names
 * compared leniently.
 */
#ifndef SCENARIOS_MODELS_ZOO_JSON_H
#define SCENARIOS_MODELS_ZOO_JSON_H

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-zoo.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
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

/// The entry of a list of objects whose "name", or one of whose "aliases", is what `name`
/// means (topo::SameName); nullptr: none. No two entries have spellings that fold alike (a test
/// sees to it).
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

/// Reads the members of one JSON object, reports what is wrong with them, and at the end what
/// nobody asked for.
class ObjectReader
{
  public:
    ObjectReader(const nlohmann::json& json, std::string path, std::vector<Problem>& problems)
        : m_json(json),
          m_path(std::move(path)),
          m_problems(problems)
    {
        if (!json.is_object())
        {
            Error("", "must be an object, not " + std::string(json.type_name()));
        }
    }

    bool Has(const char* key)
    {
        Know(key);
        return m_json.is_object() && m_json.contains(key);
    }

    /// The member; only after Has(key).
    const nlohmann::json& At(const char* key) const
    {
        return m_json.at(key);
    }

    void Text(const char* key, std::string& value)
    {
        if (!Has(key))
        {
            return;
        }
        if (!At(key).is_string())
        {
            Error(key, "must be a string");
            return;
        }
        value = At(key).get<std::string>();
    }

    void Flag(const char* key, bool& value)
    {
        if (!Has(key))
        {
            return;
        }
        if (!At(key).is_boolean())
        {
            Error(key, "must be true or false");
            return;
        }
        value = At(key).get<bool>();
    }

    /// A whole number in [least, most].
    template <typename T>
    void Whole(const char* key, T& value, uint64_t least, uint64_t most)
    {
        if (!Has(key))
        {
            return;
        }
        const auto& j = At(key);
        const double v = j.is_number() ? j.get<double>() : -1;
        if (!j.is_number() || v != std::floor(v) || v < static_cast<double>(least) ||
            v > static_cast<double>(most))
        {
            Error(key,
                  "is " + Shown(j) + "; must be a whole number from " + std::to_string(least) +
                      " to " + std::to_string(most));
            return;
        }
        value = j.is_number_integer() ? static_cast<T>(j.get<uint64_t>()) : static_cast<T>(v);
    }

    /// A finite number in [least, most].
    void Real(const char* key, double& value, double least, double most)
    {
        if (!Has(key))
        {
            return;
        }
        const auto& j = At(key);
        const double v = j.is_number() ? j.get<double>() : std::nan("");
        if (!(v >= least && v <= most))
        {
            char range[64];
            std::snprintf(range, sizeof range, "%g to %g", least, most);
            Error(key, "is " + Shown(j) + "; must be a number from " + range);
            return;
        }
        value = v;
    }

    void Error(const std::string& key, const std::string& text)
    {
        m_problems.push_back({true, rdma::Shown(Path(key), 200), text});
    }

    std::string Path(const std::string& key) const
    {
        return key.empty() ? m_path : m_path + "/" + key;
    }

    /// Unknown members are errors: a misspelt one must not be ignored.
    void Finish()
    {
        if (!m_json.is_object())
        {
            return;
        }
        for (const auto& [key, value] : m_json.items())
        {
            if (std::find(m_known.begin(), m_known.end(), key) == m_known.end())
            {
                std::string text = "is not a known member";
                const std::string nearest = rdma::NearestName(key, m_known);
                text += nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
                Error(key, text);
            }
        }
    }

  private:
    /// A value in a message: the user's may be as long as the file.
    static std::string Shown(const nlohmann::json& value)
    {
        return rdma::Shown(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                           100);
    }

    void Know(const char* key)
    {
        m_known.emplace_back(key);
    }

    const nlohmann::json& m_json;
    std::string m_path;
    std::vector<Problem>& m_problems;
    std::vector<std::string> m_known;
};

} // namespace training

#endif // SCENARIOS_MODELS_ZOO_JSON_H
