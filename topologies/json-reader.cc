/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-reader.h"

#include "topologies/limits.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <set>

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

/// Member of a path as JSON pointers write it, shortened and printable.
std::string
Escaped(const std::string& key)
{
    std::string out;
    const std::string quoted = Quoted(key);
    for (const char c : quoted.substr(1, quoted.size() - 2))
    {
        out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return out;
}

/// ":line:column" of byte `byte` of a text, all counted from 1.
std::string
Position(const std::string& text, size_t byte)
{
    const size_t end = std::min(byte > 0 ? byte - 1 : 0, text.size());
    const auto stop = text.begin() + static_cast<std::ptrdiff_t>(end);
    const auto line = std::count(text.begin(), stop, '\n');
    const size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    const size_t column = before == std::string::npos ? end + 1 : end - before;
    return ":" + std::to_string(line + 1) + ":" + std::to_string(column);
}

/// What `parse` makes of a text; nothing of other values.
template <class T>
std::optional<T>
FromText(const json& value, std::optional<T> (*parse)(std::string_view))
{
    return value.is_string() ? parse(value.get_ref<const std::string&>()) : std::nullopt;
}

} // namespace

JsonReader::JsonReader(std::string file, std::vector<Error>& errors)
    : m_file(std::move(file)),
      m_errors(errors)
{
}

void
JsonReader::Fail(const Path& path, const json* value, const std::string& message)
{
    m_errors.push_back(
        {path.empty() ? "/" : path, value ? Shown(*value) : "", message, "", m_file});
}

bool
JsonReader::TooMany() const
{
    return m_errors.size() >= 20;
}

std::optional<json>
JsonReader::Parse(const std::string& text)
{
    // The parser would keep the last of two members with one name, and nobody would know.
    std::vector<std::set<std::string>> keys;
    std::string twice;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start)
        {
            keys.emplace_back();
        }
        else if (event == json::parse_event_t::object_end)
        {
            keys.pop_back();
        }
        else if (event == json::parse_event_t::key &&
                 !keys.back().insert(parsed.get<std::string>()).second && twice.empty())
        {
            twice = parsed.get<std::string>();
        }
        return true;
    };
    try
    {
        json document = json::parse(text, watch);
        if (!twice.empty())
        {
            m_errors.push_back({"", Quoted(twice), "is twice in one object", "", m_file});
            return std::nullopt;
        }
        return document;
    }
    catch (const std::exception& e)
    {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: reason", with bytes of
        // the file in it. The position goes in front, as compilers write it.
        std::string what = e.what();
        const size_t bracket = what.find("] ");
        what = bracket == std::string::npos ? what : what.substr(bracket + 2);
        std::string place = m_file;
        if (const auto* wrong = dynamic_cast<const json::parse_error*>(&e))
        {
            place += Position(text, wrong->byte);
            const size_t column = what.find("column ");
            const size_t colon = column == std::string::npos ? column : what.find(": ", column);
            what = colon == std::string::npos ? what : what.substr(colon + 2);
        }
        for (char& c : what)
        {
            c = c >= 0x20 && c < 0x7f ? c : '?';
        }
        m_errors.push_back({"", "", "malformed JSON: " + what.substr(0, 300), "", place});
        return std::nullopt;
    }
}

bool
JsonReader::IsObject(const json& value, const Path& path, const std::vector<std::string>& keys)
{
    if (!value.is_object())
    {
        Fail(path, &value, "is not an object with " + JoinNames(keys));
        return false;
    }
    bool good = true;
    for (const auto& item : value.items())
    {
        if (std::find(keys.begin(), keys.end(), item.key()) == keys.end() && !TooMany())
        {
            Fail(path + "/" + Escaped(item.key()),
                 nullptr,
                 "unknown key" + DidYouMean(item.key(), keys) + "; allowed are " + JoinNames(keys));
            good = false;
        }
    }
    return good;
}

const json*
JsonReader::Member(const json& object, const Path& path, const char* key, bool required)
{
    const auto it = object.find(key);
    if (it != object.end())
    {
        return &*it;
    }
    if (required)
    {
        Fail(path + "/" + key, nullptr, "is missing");
    }
    return nullptr;
}

template <class T, class Parser>
bool
JsonReader::ReadParsed(const json& object,
                       const Path& path,
                       const char* key,
                       bool required,
                       T& value,
                       Parser parse)
{
    const json* member = Member(object, path, key, required);
    if (!member)
    {
        return false;
    }
    std::string allowed;
    const std::optional<T> parsed = parse(*member, allowed);
    if (!parsed)
    {
        Fail(path + "/" + key, member, "is not " + allowed);
        return false;
    }
    value = *parsed;
    return true;
}

bool
JsonReader::Read(const json& object,
                 const Path& path,
                 const char* key,
                 bool required,
                 std::string& value)
{
    return ReadParsed(object, path, key, required, value, [](const json& member, auto& why) {
        why = "a text in quotes";
        return member.is_string() ? std::optional(member.get<std::string>()) : std::nullopt;
    });
}

bool
JsonReader::Read(const json& object,
                 const Path& path,
                 const char* key,
                 bool required,
                 rdma::BitRate slowest,
                 rdma::BitRate& value)
{
    return ReadParsed(object, path, key, required, value, [slowest](const json& member, auto& why) {
        auto rate = FromText(member, rdma::ParseBitRate);
        why = std::string(rdma::kBitRateHelp) + ", " + RateLimitsText(slowest);
        return rate && *rate >= slowest && *rate <= kFastestLink ? rate : std::nullopt;
    });
}

bool
JsonReader::Read(const json& object,
                 const Path& path,
                 const char* key,
                 bool required,
                 rdma::Duration& value)
{
    return ReadParsed(object, path, key, required, value, [](const json& member, auto& why) {
        why = rdma::kDurationHelp;
        return FromText(member, rdma::ParseDuration);
    });
}

bool
JsonReader::Read(const json& object,
                 const Path& path,
                 const char* key,
                 bool required,
                 uint64_t least,
                 uint64_t most,
                 uint64_t& value)
{
    return ReadParsed(object, path, key, required, value, [=](const json& member, auto& why) {
        why = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        const uint64_t number = member.is_number_unsigned() ? member.get<uint64_t>() : 0;
        return member.is_number_unsigned() && number >= least && number <= most
                   ? std::optional(number)
                   : std::nullopt;
    });
}

bool
JsonReader::Read(const json& object,
                 const Path& path,
                 const char* key,
                 bool required,
                 double above,
                 double most,
                 double& value)
{
    return ReadParsed(object, path, key, required, value, [=](const json& member, auto& why) {
        why = "a number above " + json(above).dump() + ", at most " + json(most).dump();
        const double number = member.is_number() ? member.get<double>() : NAN;
        return number > above && number <= most ? std::optional(number) : std::nullopt;
    });
}

} // namespace topo
