/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One value of an option: read, and written.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/installation/installation.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"
#include "topologies/names.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/split.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace scenario
{

using nlohmann::json;
using namespace detail;

namespace
{

std::string
Trimmed(const std::string& s)
{
    const auto first = s.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
    {
        return "";
    }
    return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

bool
IsFile(const std::string& path)
{
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
}

/// The entries of a list, empty ones included; an empty text has none.
std::vector<std::string>
SplitList(const std::string& text)
{
    std::vector<std::string> parts;
    if (!text.empty())
    {
        boost::split(parts, text, [](char c) { return c == ','; });
        std::transform(parts.begin(), parts.end(), parts.begin(), Trimmed);
    }
    return parts;
}

} // namespace

namespace detail
{

std::string
CheckEntry(const Option& o,
           const std::vector<std::pair<std::string, std::string>>& entry,
           std::string* nearest)
{
    std::vector<std::string> seen;
    for (const auto& [key, value] : entry)
    {
        if (std::find(o.keys.begin(), o.keys.end(), key) == o.keys.end())
        {
            *nearest = rdma::NearestName(key, o.keys);
            return "'" + key + "' is no key; allowed: " + Join(o.keys, ", ");
        }
        if (value.empty())
        {
            return key + "= needs a value";
        }
        if (std::find(seen.begin(), seen.end(), key) != seen.end())
        {
            return "says " + key + "= twice";
        }
        seen.push_back(key);
    }
    return std::find(seen.begin(), seen.end(), o.keys.front()) == seen.end()
               ? "needs a " + o.keys.front() + "; allowed: " + o.placeholder
               : "";
}

std::string
EntriesText(const Option& o,
            const std::vector<std::vector<std::pair<std::string, std::string>>>& entries)
{
    std::string text;
    for (const auto& entry : entries)
    {
        text += text.empty() ? "" : " ";
        if (o.ofPlaces)
        {
            text += PlaceText(entry);
            continue;
        }
        for (std::size_t i = 0; i < entry.size(); ++i)
        {
            text += i == 0 ? entry[i].second : "," + entry[i].first + "=" + entry[i].second;
        }
    }
    return text;
}

void
SetDefaults(const OptionTable& table, ReadResult* result)
{
    result->values.BindTo(table);
    for (const auto& o : table.options)
    {
        Value& slot = result->values.Slot(o.name);
        slot = Value();
        if (!o.defaultText.empty() || (o.kind == Kind::kFlag && o.path.empty()))
        {
            Error error;
            if (!ParseValue(o,
                            o.defaultText.empty() ? "0" : o.defaultText,
                            "default",
                            &slot,
                            &error))
            {
                throw std::logic_error("default of --" + o.name + ": " + error.Text());
            }
            slot.given = false;
            slot.where.clear();
        }
    }
}

} // namespace detail

bool
ParseValue(const Option& option,
           const std::string& given,
           const std::string& where,
           Value* value,
           Error* error)
{
    const std::string text = Trimmed(given);
    const auto fail = [&](std::string problem, std::string nearest = "") {
        *error = Error{where, given, std::move(problem), std::move(nearest)};
        return false;
    };

    Value v;
    v.given = v.present = true;
    v.where = where;
    v.raw = v.text = text;

    if (text.empty() && option.kind != Kind::kText && option.kind != Kind::kList)
    {
        return fail("needs a value; allowed: " + AllowedText(option));
    }

    bool quantity = false;
    double number = 0;
    switch (option.kind)
    {
    case Kind::kFlag:
        if (!ParseFlag(text, &v.flag))
        {
            return fail("allowed: " + AllowedText(option));
        }
        break;
    case Kind::kInteger: {
        if (!option.word.empty() && boost::algorithm::iequals(text, option.word))
        {
            v.text = option.word;
            *value = std::move(v);
            return true;
        }
        const char* end = text.data() + text.size();
        const auto [p, bad] = std::from_chars(text.data(), end, v.integer);
        if (bad != std::errc() || p != end)
        {
            return fail("allowed: " + AllowedText(option));
        }
        quantity = true;
        number = static_cast<double>(v.integer);
        break;
    }
    case Kind::kReal: {
        char* end = nullptr;
        const char first = text[0];
        errno = 0;
        v.real = std::strtod(text.c_str(), &end);
        if (errno == ERANGE || *end != '\0' ||
            !(std::isdigit(static_cast<unsigned char>(first)) || first == '.' || first == '-' ||
              first == '+') ||
            text.find_first_of("xX") != std::string::npos || !(v.real - v.real == 0))
        {
            return fail("allowed: " + AllowedText(option));
        }
        quantity = true;
        number = v.real;
        break;
    }
    case Kind::kBytes: {
        const auto b = rdma::ParseBytes(text);
        if (!b)
        {
            return fail("allowed: " + AllowedText(option));
        }
        v.integer = b->value;
        quantity = true;
        number = static_cast<double>(v.integer);
        break;
    }
    case Kind::kRate: {
        const auto r = rdma::ParseBitRate(text);
        if (!r)
        {
            return fail("allowed: " + AllowedText(option));
        }
        v.integer = r->bps;
        quantity = true;
        number = static_cast<double>(v.integer);
        break;
    }
    case Kind::kDuration: {
        const auto d = rdma::ParseDuration(text);
        if (!d)
        {
            return fail("allowed: " + AllowedText(option));
        }
        v.integer = static_cast<uint64_t>(d->ps);
        quantity = true;
        number = static_cast<double>(d->ps);
        break;
    }
    case Kind::kName:
    case Kind::kNameOrFile: {
        const auto items = option.names();
        bool on = false;
        const bool isSwitch = !option.onOff.first.empty() && ParseFlag(text, &on);
        const std::string name = !isSwitch ? NameMeant(option, text)
                                 : on      ? option.onOff.first
                                           : option.onOff.second;
        const std::string head = option.arguments ? text.substr(0, text.find(':')) : text;
        if (!name.empty())
        {
            v.text = name;
        }
        else if (const std::string why = option.refusal ? option.refusal(text) : ""; !why.empty())
        {
            return fail(why);
        }
        else if (const auto several = MatchNames(text, items); several.size() > 1)
        {
            return fail("may mean " + topo::JoinNames(several) +
                        "; allowed: either, spelt as it stands there");
        }
        else if (option.kind == Kind::kName ||
                 (head.find_first_of("/.") == std::string::npos && !IsFile(text)))
        {
            return fail("unknown " + option.nameOf + "; allowed: " + AllowedText(option),
                        NearestName(head, items));
        }
        else
        {
            v.text = InstalledFile(text);
        }
        break;
    }
    case Kind::kEntries: {
        v.entries.emplace_back();
        if (option.ofPlaces)
        {
            std::string problem;
            if (!ParsePlaceEntry(text, where, &v.entries.back(), &problem))
            {
                return fail(problem);
            }
            break;
        }
        // "NAME:key=value" as "NAME,key=value".
        std::string entry = text;
        if (const std::size_t colon = entry.find_first_of(":,=");
            colon != std::string::npos && entry[colon] == ':')
        {
            entry[colon] = ',';
        }
        for (const std::string& part : SplitList(entry))
        {
            const std::size_t equals = part.find('=');
            const bool bare = equals == std::string::npos && v.entries[0].empty();
            if (part.empty() || (equals == std::string::npos && !bare))
            {
                return fail((part.empty() ? "has an empty part" : "'" + part + "' has no value") +
                            std::string("; allowed: ") + option.placeholder);
            }
            v.entries[0].emplace_back(bare ? option.keys.front() : Trimmed(part.substr(0, equals)),
                                      bare ? part : Trimmed(part.substr(equals + 1)));
        }
        std::string nearest;
        const std::string wrong = CheckEntry(option, v.entries[0], &nearest);
        if (!wrong.empty())
        {
            return fail(wrong, nearest);
        }
        break;
    }
    case Kind::kList:
        v.list = SplitList(text);
        for (auto word = v.list.begin(); word != v.list.end(); ++word)
        {
            if (word->empty())
            {
                return fail("entry " + std::to_string(word - v.list.begin() + 1) +
                            " of the list is empty; allowed: entries between commas, " +
                            option.placeholder);
            }
            if (option.distinct && std::find(v.list.begin(), word, *word) != word)
            {
                return fail("names " + *word + " twice");
            }
        }
        break;
    case Kind::kFile:
        v.text = InstalledFile(text);
        break;
    case Kind::kText:
        break;
    }

    if (quantity || option.kind == Kind::kFlag)
    {
        v.text.clear();
    }
    if (quantity)
    {
        if (!option.oneOf.empty())
        {
            if (std::find(option.oneOf.begin(), option.oneOf.end(), v.integer) ==
                option.oneOf.end())
            {
                uint64_t best = option.oneOf.front();
                for (const uint64_t o : option.oneOf)
                {
                    const auto distance = [&](uint64_t x) {
                        return x > v.integer ? x - v.integer : v.integer - x;
                    };
                    if (distance(o) < distance(best))
                    {
                        best = o;
                    }
                }
                return fail("allowed: " + OneOfText(option), std::to_string(best));
            }
        }
        else if (number < option.min || number > option.max)
        {
            return fail("allowed: " + (option.kind == Kind::kInteger || option.kind == Kind::kReal
                                           ? AllowedText(option)
                                           : RangeText(option)));
        }
    }
    *value = std::move(v);
    return true;
}

std::string
CanonicalText(const Option& option, const Value& value)
{
    switch (option.kind)
    {
    case Kind::kFlag:
        return value.flag ? "1" : "0";
    case Kind::kInteger:
        return value.text.empty() ? std::to_string(value.integer) : value.text;
    case Kind::kReal:
        return RealText(value.real);
    case Kind::kBytes:
        return CanonicalBytes(value.integer);
    case Kind::kRate:
        return CanonicalRate(value.integer);
    case Kind::kDuration:
        return CanonicalDuration(static_cast<int64_t>(value.integer));
    case Kind::kEntries:
        return EntriesText(option, value.entries);
    case Kind::kList:
        return Join(value.list, ",");
    default:
        return value.text;
    }
}

std::string
AttributeText(const Option& option, const Value& value)
{
    // ns-3 has numbers of bytes, bits per second and picoseconds; their texts here are for people.
    const bool number =
        option.kind == Kind::kBytes || option.kind == Kind::kRate || option.kind == Kind::kDuration;
    return !number ? CanonicalText(option, value)
                   : std::to_string(value.integer) + (option.kind == Kind::kDuration ? "ps" : "");
}

std::vector<std::pair<std::string, std::string>>
AttributesOf(const OptionTable& table, const Values& values)
{
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& o : table.options)
    {
        const Value& v = values[o.name];
        for (const auto& attribute : v.present ? o.attributes : std::vector<std::string>{})
        {
            all.emplace_back(attribute, AttributeText(o, v));
        }
    }
    return all;
}

namespace
{

/// A path, and no name of a registry.
bool
IsPath(const Option& o, const Value& v)
{
    return o.kind == Kind::kFile || (o.kind == Kind::kNameOrFile && NameMeant(o, v.text).empty());
}

} // namespace

std::vector<std::string>
GivenOf(const OptionTable& table, const Values& values, const std::vector<std::string>& except)
{
    std::vector<std::string> given;
    for (const Option& o : table.options)
    {
        const Value& v = values[o.name];
        if (!o.path.empty() && v.given && v.present &&
            std::find(except.begin(), except.end(), o.name) == except.end())
        {
            given.push_back(o.name);
        }
    }
    std::sort(given.begin(), given.end());
    return given;
}

std::vector<std::string>
FilesOf(const OptionTable& table, const Values& values)
{
    std::vector<std::string> files;
    for (const Option& o : table.options)
    {
        const Value& v = values[o.name];
        if (v.given && v.present && !v.text.empty() && IsPath(o, v))
        {
            files.push_back(v.text);
        }
    }
    return files;
}

json
ToJson(const OptionTable& table, const Values& values, const std::vector<std::string>& except)
{
    json out = json::object();
    out["program"] = table.program;
    for (const auto& o : table.options)
    {
        if (o.path.empty() || std::find(except.begin(), except.end(), o.name) != except.end())
        {
            continue;
        }
        const Value& v = values[o.name];
        if (!v.present)
        {
            continue;
        }
        json& slot = out[json::json_pointer(o.path)];
        switch (o.kind)
        {
        case Kind::kFlag:
            slot = v.flag;
            break;
        case Kind::kInteger:
            slot = v.text.empty() ? json(v.integer) : json(v.text);
            break;
        case Kind::kReal:
            slot = v.real;
            break;
        case Kind::kEntries:
            for (const auto& entry : v.entries)
            {
                if (o.ofPlaces) // their order counts, and that of JSON's keys is lost
                {
                    slot.push_back(PlaceText(entry));
                    continue;
                }
                json one = json::object();
                for (const auto& [key, text] : entry)
                {
                    one[key] = text;
                }
                slot.push_back(std::move(one));
            }
            break;
        case Kind::kList:
            slot = v.list;
            break;
        default:
            slot = CanonicalText(o, v);
            break;
        }
        // A file stays the same file wherever this JSON is read from.
        if (IsPath(o, v))
        {
            slot = std::filesystem::absolute(v.text).lexically_normal().string();
        }
    }
    return out;
}

} // namespace scenario
