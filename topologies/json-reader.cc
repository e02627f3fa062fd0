/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-reader.h"

#include "contrib/rdma/core/name-rule.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace topo
{

using nlohmann::json;

namespace
{

/// A value as it is shown in a message: one printable, short line.
std::string
Shown(const json& value)
{
    if (value.is_string())
    {
        return Quoted(value.get_ref<const std::string&>());
    }
    if (value.is_structured())
    {
        return value.is_object() ? "an object" : "a list";
    }
    return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

/// Parses a text; nothing for other values.
template <class T>
std::optional<T>
FromText(const json& value, std::optional<T> (*parse)(std::string_view))
{
    return value.is_string() ? parse(value.get_ref<const std::string&>()) : std::nullopt;
}

/// "1000", "0.001", "1e+06".
std::string
ShortNumber(double v)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", v);
    return text;
}

} // namespace

std::optional<json>
ReadJson(const std::string& text, const std::string& file, std::vector<Error>& errors)
{
    JsonText parsed = ParseJsonText(text, file);
    if (parsed.error)
    {
        errors.push_back(std::move(parsed.error));
        return std::nullopt;
    }
    return std::move(parsed.value);
}

std::string
PathPart(const std::string& key)
{
    std::string out;
    const std::string quoted = Quoted(key);
    for (const char c : quoted.substr(1, quoted.size() - 2))
    {
        out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return out;
}

JsonObject::JsonObject(const json& object,
                       std::string path,
                       std::string file,
                       std::vector<Error>& errors)
    : m_json(object),
      m_path(std::move(path)),
      m_file(std::move(file)),
      m_errors(errors)
{
}

JsonObject
JsonObject::Inner(const json& object, const std::string& below) const
{
    return JsonObject(object, Path(below), m_file, m_errors);
}

std::string
JsonObject::Path(const std::string& below) const
{
    return below.empty() ? m_path : m_path + "/" + below;
}

void
JsonObject::Add(const std::string& below, std::string value, const std::string& message)
{
    const std::string path = Path(below);
    m_errors.push_back(
        {path.empty() ? "/" : rdma::Shown(path, 300), std::move(value), message, "", m_file});
}

void
JsonObject::Fail(const char* key, const std::string& message)
{
    Add(key, Shown(At(key)), message);
}

void
JsonObject::Say(const std::string& below, const std::string& message)
{
    Add(below, "", message);
}

void
JsonObject::Missing(const char* key, const std::string& hint)
{
    if (m_json.is_object())
    {
        Say(key, "is missing" + hint);
    }
}

size_t
JsonObject::Errors() const
{
    return m_errors.size();
}

bool
JsonObject::TooMany() const
{
    return m_errors.size() >= 20;
}

bool
JsonObject::Only(const std::vector<std::string>& keys)
{
    if (!m_json.is_object())
    {
        Add("", Shown(m_json), "is not an object with " + JoinNames(keys));
        return false;
    }
    bool good = true;
    for (const auto& item : m_json.items())
    {
        if (TooMany())
        {
            break;
        }
        if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
        {
            Say(PathPart(item.key()),
                "unknown key" + DidYouMean(item.key(), keys) + "; allowed are " + JoinNames(keys));
            good = false;
        }
    }
    return good;
}

bool
JsonObject::Finish()
{
    return Only(m_asked);
}

bool
JsonObject::Has(const char* key)
{
    if (std::find(m_asked.begin(), m_asked.end(), key) == m_asked.end())
    {
        m_asked.emplace_back(key);
    }
    return m_json.is_object() && m_json.contains(key);
}

const json&
JsonObject::At(const char* key) const
{
    return m_json.at(key);
}

const json*
JsonObject::Find(const char* key, Need need)
{
    if (Has(key))
    {
        return &At(key);
    }
    if (need == Need::kRequired)
    {
        Missing(key);
    }
    return nullptr;
}

const json*
JsonObject::List(const char* key, Need need)
{
    const json* list = Find(key, need);
    if (list && !list->is_array())
    {
        Fail(key, "is not a list");
        return nullptr;
    }
    return list;
}

template <class T, class Parser>
bool
JsonObject::Parsed(const char* key, Need need, T& value, Parser parse)
{
    const json* member = Find(key, need);
    if (!member)
    {
        return false;
    }
    std::string allowed;
    const std::optional<T> parsed = parse(*member, allowed);
    if (!parsed)
    {
        Fail(key, "is not " + allowed);
        return false;
    }
    value = *parsed;
    return true;
}

bool
JsonObject::Text(const char* key, std::string& value, Need need)
{
    return Parsed(key, need, value, [](const json& member, auto& why) {
        why = member.is_string() ? rdma::kPlainHelp : "a text in quotes";
        auto text = member.is_string() ? std::optional(member.get<std::string>()) : std::nullopt;
        return text && !rdma::IsPlain(*text) ? std::nullopt : text;
    });
}

bool
JsonObject::Name(const char* key, std::string& value, Need need)
{
    return Parsed(key, need, value, [](const json& member, auto& why) {
        auto text = member.is_string() ? std::optional(member.get<std::string>()) : std::nullopt;
        const bool odd = text && !rdma::IsName(*text);
        why = odd ? rdma::kNameHelp : "a text in quotes, of one character at least";
        return text && (text->empty() || odd) ? std::nullopt : text;
    });
}

bool
JsonObject::Flag(const char* key, bool& value)
{
    return Parsed(key, Need::kOptional, value, [](const json& member, auto& why) {
        why = "true or false";
        return member.is_boolean() ? std::optional(member.get<bool>()) : std::nullopt;
    });
}

bool
JsonObject::Time(const char* key,
                 rdma::Duration& value,
                 rdma::Duration longest,
                 const char* longestText,
                 Need need)
{
    rdma::Duration time;
    const bool read = Parsed(key, need, time, [](const json& member, auto& why) {
        why = rdma::kDurationHelp;
        return FromText(member, rdma::ParseDuration);
    });
    if (read && time > longest)
    {
        Fail(key, std::string("is more than ") + longestText);
        return false;
    }
    value = read ? time : value;
    return read;
}

bool
JsonObject::Rate(const char* key, rdma::BitRate& value, rdma::BitRate slowest, Need need)
{
    return Parsed(key, need, value, [slowest](const json& member, auto& why) {
        auto rate = FromText(member, rdma::ParseBitRate);
        why = std::string(rdma::kBitRateHelp) + ", " + RateLimitsText(slowest);
        return rate && *rate >= slowest && *rate <= kFastestLink ? rate : std::nullopt;
    });
}

bool
JsonObject::Real(const char* key, double& value, double least, double most, Need need)
{
    return Parsed(key, need, value, [=](const json& member, auto& why) {
        why = "a number from " + ShortNumber(least) + " to " + ShortNumber(most);
        const double number = member.is_number() ? member.get<double>() : NAN;
        return number >= least && number <= most ? std::optional(number) : std::nullopt;
    });
}

bool
JsonObject::RealAbove(const char* key, double& value, double least, double most)
{
    return Parsed(key, Need::kOptional, value, [=](const json& member, auto& why) {
        why = "a number above " + json(least).dump() + ", at most " + json(most).dump();
        const double number = member.is_number() ? member.get<double>() : NAN;
        return number > least && number <= most ? std::optional(number) : std::nullopt;
    });
}

bool
JsonObject::ReadWhole(const char* key, uint64_t& value, uint64_t least, uint64_t most, Need need)
{
    return Parsed(key, need, value, [=](const json& member, auto& why) {
        why = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        const double number = member.is_number() ? member.get<double>() : NAN;
        const bool good = number == std::floor(number) && number >= static_cast<double>(least) &&
                          number <= static_cast<double>(most);
        return !good ? std::nullopt
                     : std::optional(member.is_number_unsigned() ? member.get<uint64_t>()
                                                                 : static_cast<uint64_t>(number));
    });
}

} // namespace topo
