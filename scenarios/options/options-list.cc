/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --list=options: the option table for other programs.
 */
#include "scenarios/options/options.h"

namespace scenario
{

namespace
{

const char*
KindName(Kind kind)
{
    switch (kind)
    {
    case Kind::kFlag:
        return "flag";
    case Kind::kInteger:
        return "integer";
    case Kind::kReal:
        return "real";
    case Kind::kBytes:
        return "bytes";
    case Kind::kRate:
        return "rate";
    case Kind::kDuration:
        return "duration";
    case Kind::kText:
        return "text";
    case Kind::kName:
        return "name";
    case Kind::kFile:
        return "file";
    case Kind::kNameOrFile:
        return "name or file";
    case Kind::kEntries:
        return "entries";
    case Kind::kList:
        return "list";
    }
    return "";
}

} // namespace

std::string
OptionsJson(const OptionTable& table)
{
    nlohmann::json options = nlohmann::json::array();
    for (const auto& o : table.options)
    {
        nlohmann::json one = {{"name", o.name},
                              {"group", o.group},
                              {"kind", KindName(o.kind)},
                              {"help", o.help},
                              {"description", Description(table, o)}};
        const auto add = [&one](const char* key, const auto& value) {
            if (!value.empty())
            {
                one[key] = value;
            }
        };
        add("path", o.path);
        add("default", o.defaultText);
        add("otherwise", o.defaultNote);
        add("placeholder", o.placeholder);
        add("attributes", o.attributes);
        add("needs", table.Needs(o, true));
        add("example", o.example);
        add("aliases", o.aliases);
        add("letter", std::string(o.letter ? 1 : 0, o.letter));
        add("word", o.word);
        add("one_of", o.oneOf);
        if (o.kind == Kind::kInteger || o.kind == Kind::kReal || o.kind == Kind::kBytes ||
            o.kind == Kind::kRate || o.kind == Kind::kDuration)
        {
            one["min"] = o.min;
            one["max"] = o.max;
        }
        if (o.names)
        {
            nlohmann::json names = nlohmann::json::array();
            for (const auto& item : o.names())
            {
                names.push_back(item.name);
            }
            one["names"] = std::move(names);
        }
        options.push_back(std::move(one));
    }
    return nlohmann::json{{"program", table.program},
                          {"version", table.version},
                          {"options", options}}
               .dump(1) +
           "\n";
}

} // namespace scenario
