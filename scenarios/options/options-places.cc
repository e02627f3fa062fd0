/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Values at places: PLACE:KEY=VALUE (Option::ofPlaces). Which places and keys there are is not
 * known here.
 */
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"

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

PlaceMistake
ReadPlaceObjects(const json& given, const std::string& where, Entries* entries)
{
    for (const auto& [place, settings] : given.items())
    {
        if (!settings.is_object())
        {
            return {"/" + place, settings, "must be an object such as {\"ecn_kmin\": \"1MB\"}"};
        }
        for (const auto& [key, value] : settings.items())
        {
            const std::string path = "/" + place + "/" + key;
            const std::string text = value.is_string()         ? value.get<std::string>()
                                     : value.is_number_float() ? RealText(value.get<double>())
                                                               : value.dump();
            if (!(value.is_string() || value.is_number() || value.is_boolean()) || text.empty() ||
                text.find('\0') != std::string::npos)
            {
                return {path, value, "must be a string that is not empty, a number or a boolean"};
            }
            entries->push_back({{kPlaceKeys[0], place},
                                {kPlaceKeys[1], key},
                                {kPlaceKeys[2], text},
                                {kPlaceKeys[3], where + path}});
        }
    }
    return {};
}

} // namespace scenario::detail
