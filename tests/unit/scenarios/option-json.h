/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TESTS_SCENARIOS_OPTION_JSON_H
#define TESTS_SCENARIOS_OPTION_JSON_H

#include "scenarios/options/options.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

/// A value of the command line as a scenario file has it.
inline nlohmann::json
AsJson(const scenario::Option& o, const std::string& text)
{
    switch (o.kind)
    {
    case scenario::Kind::kFlag:
        return text == "1";
    case scenario::Kind::kInteger:
        return std::stoull(text);
    case scenario::Kind::kReal:
        return std::stod(text);
    case scenario::Kind::kEntries: {
        if (o.ofPlaces) // PLACE:KEY=VALUE
        {
            return nlohmann::json::array({text});
        }
        // The value of the first key stands alone: "link-down,at=1us".
        nlohmann::json entry;
        std::istringstream words(text);
        std::string word;
        std::string key = o.keys.front();
        while (std::getline(words, word, ','))
        {
            const std::size_t equal = word.find('=');
            if (equal != std::string::npos)
            {
                key = word.substr(0, equal);
            }
            entry[key] = equal == std::string::npos ? word : word.substr(equal + 1);
        }
        return nlohmann::json::array({entry});
    }
    default:
        return text;
    }
}

#endif // TESTS_SCENARIOS_OPTION_JSON_H
