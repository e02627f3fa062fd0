/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/options.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/spec/options-detail.h"
#include "topologies/names.h"

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace scenario
{

using nlohmann::json;
using namespace detail;

// ---------------------------------------------------------------------------------------------
// Small text.

namespace
{

std::string
Lower(std::string s)
{
    for (char& c : s)
    {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return s;
}

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

/// The value of an option in its base unit, as a person writes it.
std::string
Quantity(Kind kind, double v)
{
    switch (kind)
    {
    case Kind::kBytes:
        return v >= 9e18 ? "2^63" : CanonicalBytes(static_cast<uint64_t>(v));
    case Kind::kRate:
        return CanonicalRate(static_cast<uint64_t>(v));
    case Kind::kDuration:
        return CanonicalDuration(static_cast<int64_t>(v));
    default:
        return RealText(v);
    }
}

const char*
FormHelp(Kind kind)
{
    switch (kind)
    {
    case Kind::kFlag:
        return "0, 1, true, false, on or off";
    case Kind::kInteger:
        return "a whole number";
    case Kind::kReal:
        return "a number";
    case Kind::kBytes:
        return rdma::kBytesHelp;
    case Kind::kRate:
        return rdma::kBitRateHelp;
    case Kind::kDuration:
        return rdma::kDurationHelp;
    default:
        return "text";
    }
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

std::string
Nearest(const std::string& text, const std::vector<NamedItem>& items)
{
    std::vector<std::string> names;
    for (const auto& item : items)
    {
        names.push_back(item.name);
    }
    return topo::NearestName(text, names);
}

} // namespace

namespace detail
{

std::string
SnakeCase(std::string s)
{
    std::replace(s.begin(), s.end(), '-', '_');
    return s;
}

std::string
RealText(double v)
{
    char text[64];
    if (v >= 0 && v < 1e15 && v == static_cast<double>(static_cast<uint64_t>(v)))
    {
        return std::to_string(static_cast<uint64_t>(v));
    }
    for (int digits = 6; digits <= 17; ++digits)
    {
        std::snprintf(text, sizeof text, "%.*g", digits, v);
        if (std::strtod(text, nullptr) == v)
        {
            break;
        }
    }
    return text;
}

std::string
RangeText(const Option& o)
{
    const bool unlimited = o.max >= 9e18;
    if (unlimited && o.min == 0)
    {
        return "";
    }
    return unlimited ? "at least " + Quantity(o.kind, o.min)
                     : Quantity(o.kind, o.min) + " to " + Quantity(o.kind, o.max);
}

std::string
OneOfText(const Option& o)
{
    std::string text;
    for (const uint64_t v : o.oneOf)
    {
        text += (text.empty() ? "" : ", ") + std::to_string(v);
    }
    return text;
}

std::string
AllowedText(const Option& o)
{
    if (o.names)
    {
        return JoinNames(o.names()) + (o.kind == Kind::kNameOrFile ? ", or a file" : "");
    }
    if (!o.oneOf.empty())
    {
        return OneOfText(o);
    }
    std::string range = RangeText(o);
    if (range.empty() && o.kind == Kind::kInteger)
    {
        range = "0 to 18446744073709551615";
    }
    return FormHelp(o.kind) + (range.empty() ? "" : ", " + range) + (o.word.empty() ? "" : ", or " + o.word);
}

bool
ParseFlag(const std::string& text, bool* flag)
{
    const std::string s = Lower(text);
    if (s == "1" || s == "true" || s == "on" || s == "yes")
    {
        *flag = true;
        return true;
    }
    if (s == "0" || s == "false" || s == "off" || s == "no")
    {
        *flag = false;
        return true;
    }
    return false;
}

std::string
FolderOf(const std::string& file)
{
    const auto slash = file.rfind('/');
    return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

} // namespace detail


namespace
{

/// Of what a user gave: as long as paths are.
constexpr size_t kShown = 300;
/// Of what is wrong with it: the longest list of names is shorter.
constexpr size_t kProblem = 5000;

} // namespace

std::string
Error::Text() const
{
    std::string text = rdma::Shown(where, kShown);
    if (!value.empty())
    {
        text += (text.empty() ? "" : "=") + rdma::Shown(value, kShown);
    }
    text += (text.empty() ? "" : ": ") + rdma::Shown(problem, kProblem);
    if (!nearest.empty())
    {
        text += "; did you mean '" + nearest + "'?";
    }
    return text;
}

std::string
Join(const std::vector<std::string>& parts, const char* separator)
{
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i)
    {
        text += (i ? separator : "") + parts[i];
    }
    return text;
}

std::string
JoinNames(const std::vector<NamedItem>& items)
{
    std::string text;
    for (const auto& item : items)
    {
        text += (text.empty() ? "" : ", ") + item.name;
    }
    return text;
}

std::vector<std::string>
MatchNames(const std::string& text, const std::vector<NamedItem>& items)
{
    std::vector<std::string> names;
    for (const auto& item : items)
    {
        if (item.name == text)
        {
            return {item.name};
        }
        if (topo::SameName(text, item.name))
        {
            names.push_back(item.name);
        }
    }
    return names;
}

std::string
MatchName(const std::string& text, const std::vector<NamedItem>& items)
{
    const auto names = MatchNames(text, items);
    return names.size() == 1 ? names.front() : "";
}

std::string
NameMeant(const Option& option, const std::string& text)
{
    const auto names = MatchNames(text, option.names());
    return names.size() == 1 ? names.front() : names.empty() && option.alias ? option.alias(text) : "";
}

std::string
CanonicalBytes(uint64_t bytes)
{
    struct Unit
    {
        const char* name;
        uint64_t factor;
    };
    // The first that goes in a whole number of times.
    static const Unit units[] = {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"TB", 1000000000000ULL},
                                 {"GB", 1000000000ULL}, {"MB", 1000000ULL}, {"kB", 1000ULL}, {"KiB", 1024ULL}};
    for (const auto& u : units)
    {
        if (bytes >= u.factor && bytes % u.factor == 0)
        {
            return std::to_string(bytes / u.factor) + u.name;
        }
    }
    return std::to_string(bytes);
}

std::string
CanonicalRate(uint64_t bps)
{
    if (bps >= 1000000000ULL && bps % 1000000ULL == 0)
    {
        const uint64_t whole = bps / 1000000000ULL;
        const uint64_t rest = bps % 1000000000ULL / 1000000ULL;
        if (rest == 0)
        {
            return std::to_string(whole) + "Gbps";
        }
    }
    if (bps >= 1000000ULL && bps % 1000000ULL == 0)
    {
        return std::to_string(bps / 1000000ULL) + "Mbps";
    }
    return std::to_string(bps) + "bps";
}

std::string
CanonicalDuration(int64_t ps)
{
    struct Unit
    {
        const char* name;
        int64_t factor;
    };
    static const Unit units[] = {{"s", 1000000000000LL}, {"ms", 1000000000LL}, {"us", 1000000LL}, {"ns", 1000LL}};
    if (ps == 0)
    {
        return "0ns";
    }
    for (const auto& u : units)
    {
        if (ps >= u.factor && ps % u.factor == 0)
        {
            return std::to_string(ps / u.factor) + u.name;
        }
    }
    return std::to_string(ps) + "ps";
}

// ---------------------------------------------------------------------------------------------
// The table and the values.

Option
Opt(std::string name, Kind kind, const std::string& section, std::string group, std::string help)
{
    Option o;
    o.path = section.empty() ? "" : section + "/" + SnakeCase(name);
    o.name = std::move(name);
    o.kind = kind;
    o.group = std::move(group);
    o.help = std::move(help);
    switch (kind)
    {
    case Kind::kInteger:
        o.placeholder = "N";
        break;
    case Kind::kReal:
        o.placeholder = "X";
        break;
    case Kind::kBytes:
        o.placeholder = "SIZE";
        break;
    case Kind::kRate:
        o.placeholder = "RATE";
        break;
    case Kind::kDuration:
        o.placeholder = "TIME";
        o.max = 9.2e18;
        break;
    case Kind::kName:
        o.placeholder = "NAME";
        break;
    case Kind::kFile:
        o.placeholder = "FILE";
        break;
    case Kind::kNameOrFile:
        o.placeholder = "NAME|FILE";
        break;
    case Kind::kList:
        o.placeholder = "A,B,...";
        break;
    case Kind::kText:
        o.placeholder = "TEXT";
        break;
    case Kind::kFlag:
        o.placeholder = "0|1";
        break;
    }
    return o;
}

const Option*
OptionTable::Find(const std::string& name) const
{
    for (const auto& o : options)
    {
        if (o.name == name)
        {
            return &o;
        }
    }
    return nullptr;
}

const ForeignName*
OptionTable::FindForeign(const std::string& name) const
{
    const auto it = std::find_if(foreign.begin(), foreign.end(), [&](const ForeignName& f) { return f.name == name; });
    return it == foreign.end() ? nullptr : &*it;
}

void
OptionTable::Add(std::vector<Option> more)
{
    for (auto& o : more)
    {
        options.push_back(std::move(o));
    }
}

void
OptionTable::Finish()
{
    std::vector<NamedItem> items;
    for (const auto& list : lists)
    {
        items.push_back({list.name, list.title});
    }
    items.push_back({"options", "All options, as JSON for other programs"});
    for (auto& o : options)
    {
        if (o.name == "list" || o.name == "help")
        {
            o.Names("list", items);
        }
    }
}

const Value&
Values::operator[](const std::string& name) const
{
    const auto it = m_values.find(name);
    if (it == m_values.end())
    {
        throw std::logic_error("no option --" + name + " in this table");
    }
    return it->second;
}

Value&
Values::Slot(const std::string& name)
{
    return m_values[name];
}

std::string
Values::Where(const std::string& name) const
{
    const Value& v = (*this)[name];
    return v.given ? v.where : "--" + name;
}

// ---------------------------------------------------------------------------------------------
// One value.

bool
ParseValue(const Option& option, const std::string& given, const std::string& where, Value* value, Error* error)
{
    const std::string text = Trimmed(given);
    const auto fail = [&](std::string problem, std::string nearest = "") {
        *error = Error{where, given, std::move(problem), std::move(nearest)};
        return false;
    };

    Value v;
    v.given = true;
    v.present = true;
    v.where = where;
    v.raw = text;
    v.text = text;

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
        if (!option.word.empty() && Lower(text) == option.word)
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
        if (errno == ERANGE || *end != '\0' || !(std::isdigit(static_cast<unsigned char>(first)) || first == '.' || first == '-' ||
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
        const std::string name = NameMeant(option, text);
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
            return fail("may mean " + topo::JoinNames(several) + "; allowed: either, spelt as it stands there");
        }
        else if (option.kind == Kind::kName || (text.find_first_of("/.") == std::string::npos && !IsFile(text)))
        {
            const std::string nearest = Nearest(text, items);
            return fail("unknown " + option.nameOf + "; allowed: " + AllowedText(option), nearest);
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
                            " of the list is empty; allowed: entries between commas, " + option.placeholder);
            }
            if (option.distinct && std::find(v.list.begin(), word, *word) != word)
            {
                return fail("names " + *word + " twice");
            }
        }
        break;
    case Kind::kText:
    case Kind::kFile:
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
            if (std::find(option.oneOf.begin(), option.oneOf.end(), v.integer) == option.oneOf.end())
            {
                uint64_t best = option.oneOf.front();
                for (const uint64_t o : option.oneOf)
                {
                    const auto distance = [&](uint64_t x) { return x > v.integer ? x - v.integer : v.integer - x; };
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
            return fail("allowed: " + (option.kind == Kind::kInteger || option.kind == Kind::kReal ? AllowedText(option)
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
    case Kind::kList:
        return Join(value.list, ",");
    default:
        return value.text;
    }
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
            // ns-3 has numbers of bytes, bits per second and picoseconds; their texts here are for
            // people.
            const bool number =
                o.kind == Kind::kBytes || o.kind == Kind::kRate || o.kind == Kind::kDuration;
            all.emplace_back(attribute,
                             !number ? CanonicalText(o, v)
                                     : std::to_string(v.integer) +
                                           (o.kind == Kind::kDuration ? "ps" : ""));
        }
    }
    return all;
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
        case Kind::kList:
            slot = v.list;
            break;
        default:
            slot = CanonicalText(o, v);
            break;
        }
        // A file stays the same file wherever this JSON is read from.
        if (o.kind == Kind::kFile || (o.kind == Kind::kNameOrFile && NameMeant(o, v.text).empty()))
        {
            slot = std::filesystem::absolute(v.text).lexically_normal().string();
        }
    }
    return out;
}

} // namespace scenario
