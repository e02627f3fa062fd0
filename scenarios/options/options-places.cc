/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Values at places: PLACE:KEY=VALUE (Option::ofPlaces). Which places and keys there are is not
 * known here.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"
#include "topologies/names.h"

#include <algorithm>
#include <boost/algorithm/string/trim.hpp>

namespace scenario::detail
{

using nlohmann::json;

bool
ParsePlaceEntry(const std::string& text,
                const std::string& where,
                std::vector<std::pair<std::string, std::string>>* entry,
                std::string* problem)
{
    const std::size_t equals = text.find('=');
    const std::string left = boost::trim_copy(text.substr(0, equals));
    // The name of an attribute has colons, and so may a place.
    const std::size_t attribute = left.find(":ns3::");
    const std::size_t colon = attribute == std::string::npos ? left.rfind(':') : attribute;
    const std::string value =
        equals == std::string::npos ? "" : boost::trim_copy(text.substr(equals + 1));
    if (colon == std::string::npos || colon == 0 || colon + 1 == left.size() || value.empty())
    {
        *problem = "allowed: PLACE:KEY=VALUE, as core:ecn-kmin=1MB";
        return false;
    }
    *entry = {{kPlaceKeys[0], boost::trim_copy(left.substr(0, colon))},
              {kPlaceKeys[1], boost::trim_copy(left.substr(colon + 1))},
              {kPlaceKeys[2], value},
              {kPlaceKeys[3], where}};
    return true;
}

std::string
PlaceText(const std::vector<std::pair<std::string, std::string>>& entry)
{
    return entry[0].second + ":" + entry[1].second + "=" + entry[2].second;
}

namespace
{

/// A value of a setting as on the command line. \return false: it is of a type that none has
bool
ReadPlaceValue(const json& value, std::string* text)
{
    *text = value.is_string()         ? value.get<std::string>()
            : value.is_number_float() ? RealText(value.get<double>())
                                      : value.dump();
    return (value.is_string() || value.is_number() || value.is_boolean()) && !text->empty() &&
           text->find('\0') == std::string::npos;
}

constexpr const char* kPlaceValueTypes =
    "must be a string that is not empty, a number or a boolean";

} // namespace

PlaceMistake
ReadPlaceObjects(const json& given, const std::string& where, Entries* entries)
{
    for (const auto& [place, settings] : given.items())
    {
        if (!settings.is_object())
        {
            return {"/" + place, settings, "must be an object such as {\"ecn_kmin\": \"1MB\"}"};
        }
        const std::size_t first = entries->size();
        for (const auto& [key, value] : settings.items())
        {
            const std::string path = "/" + place + "/" + key;
            std::string text;
            if (!ReadPlaceValue(value, &text))
            {
                return {path, value, kPlaceValueTypes};
            }
            // JSON's keys have no order by which the later could win.
            const auto twin =
                std::find_if(entries->begin() + first, entries->end(), [&key = key](const auto& e) {
                    return topo::SameName(key, e[1].second);
                });
            if (twin != entries->end())
            {
                return {path,
                        value,
                        "is another spelling of " + (*twin)[1].second + ". Use one of them."};
            }
            entries->push_back({{kPlaceKeys[0], place},
                                {kPlaceKeys[1], key},
                                {kPlaceKeys[2], text},
                                {kPlaceKeys[3], where + path}});
        }
    }
    return {};
}

PlaceMistake
ReadPlaceEntry(const json& given,
               const std::string& where,
               std::vector<std::pair<std::string, std::string>>* entry)
{
    if (!given.is_object())
    {
        return {"", given, "must be a text such as \"core:ecn-kmin=1MB\""};
    }
    // Where the entry stands is known here: a file cannot say so.
    const std::vector<std::string> keys(kPlaceKeys.begin(), kPlaceKeys.end() - 1);
    for (const auto& [key, value] : given.items())
    {
        if (std::find(keys.begin(), keys.end(), key) == keys.end() && key != kPlaceKeys[3])
        {
            return {"/" + key,
                    value,
                    "is no key of a setting; allowed: " + Join(keys, ", "),
                    rdma::NearestName(key, keys)};
        }
    }
    for (const std::string& key : keys)
    {
        const auto at = given.find(key);
        std::string text;
        if (at == given.end())
        {
            return {"",
                    given,
                    "has no " + key +
                        "; allowed: {\"place\": \"core\", \"key\": \"ecn_kmin\", "
                        "\"value\": \"1MB\"}"};
        }
        if (!(key == keys.back() || at->is_string()) || !ReadPlaceValue(*at, &text))
        {
            return {"/" + key,
                    *at,
                    key == keys.back() ? kPlaceValueTypes : "must be a string that is not empty"};
        }
        entry->emplace_back(key, text);
    }
    entry->emplace_back(kPlaceKeys[3], where);
    return {};
}

} // namespace scenario::detail
