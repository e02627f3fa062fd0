/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/options.h"

#include "scenarios/spec/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace scenario
{

using nlohmann::json;

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

/// "bloom560m" and "BLOOM-560m" are the same name.
std::string
Squeezed(const std::string& s)
{
    std::string out;
    for (const char c : Lower(s))
    {
        if (c != '-' && c != '_' && c != '.' && c != ' ')
        {
            out += c;
        }
    }
    return out;
}

std::string
SnakeCase(std::string s)
{
    std::replace(s.begin(), s.end(), '-', '_');
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

std::string
FolderOf(const std::string& file)
{
    const auto slash = file.rfind('/');
    return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

/// A number to as many digits as it has.
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

/// All that a person needs to know to give a valid value.
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
    const std::string range = RangeText(o);
    return FormHelp(o.kind) + (range.empty() ? "" : ", " + range);
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

std::vector<std::string>
SplitList(const std::string& text)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    std::string part;
    while (std::getline(stream, part, ','))
    {
        part = Trimmed(part);
        if (!part.empty())
        {
            parts.push_back(part);
        }
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

/// Writes control characters so that one error stays one line.
std::string
OneLine(const std::string& s)
{
    std::string out;
    for (const char c : s)
    {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        {
            char hex[8];
            std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
            out += hex;
        }
        else
        {
            out += c;
        }
        if (out.size() > 600)
        {
            return out + "...";
        }
    }
    return out;
}

} // namespace

std::string
Error::Text() const
{
    std::string text = where;
    if (!value.empty())
    {
        text += (text.empty() ? "" : "=") + OneLine(value);
    }
    text += (text.empty() ? "" : ": ") + problem;
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

std::string
MatchName(const std::string& text, const std::vector<NamedItem>& items)
{
    for (const auto& item : items)
    {
        if (item.name == text)
        {
            return item.name;
        }
    }
    const std::string squeezed = Squeezed(text);
    for (const auto& item : items)
    {
        if (!squeezed.empty() && Squeezed(item.name) == squeezed)
        {
            return item.name;
        }
    }
    return "";
}

std::string
NameMeant(const Option& option, const std::string& text)
{
    const std::string name = MatchName(text, option.names());
    return name.empty() && option.alias ? option.alias(text) : name;
}

std::string
CanonicalBytes(uint64_t bytes)
{
    struct Unit
    {
        const char* name;
        uint64_t factor;
    };
    // Binary first: 1 MiB is no round number of kB, and 400 kB is none of KiB.
    static const Unit units[] = {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"TB", 1000000000000ULL},
                                 {"GB", 1000000000ULL}, {"MB", 1000000ULL}, {"kB", 1000ULL}};
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
        v.real = std::strtod(text.c_str(), &end);
        if (*end != '\0' || !(std::isdigit(static_cast<unsigned char>(first)) || first == '.' || first == '-' ||
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
        else if (option.kind == Kind::kName || (text.find_first_of("/.") == std::string::npos && !IsFile(text)))
        {
            const std::string nearest = Nearest(text, items);
            return fail("unknown " + option.nameOf + "; allowed: " + AllowedText(option), nearest);
        }
        break;
    }
    case Kind::kList:
        v.list = SplitList(text);
        break;
    case Kind::kText:
    case Kind::kFile:
        break;
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
        return std::to_string(value.integer);
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
            slot = v.integer;
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

// ---------------------------------------------------------------------------------------------
// JSON.

namespace
{

/// Reads the values of one JSON document into a ReadResult.
class JsonReader
{
  public:
    JsonReader(const OptionTable& table, std::string origin, ReadResult* result)
        : m_table(table),
          m_origin(std::move(origin)),
          m_result(result)
    {
        for (const auto& o : table.options)
        {
            if (!o.path.empty())
            {
                m_byPath[o.path] = &o;
                for (size_t slash = o.path.find('/', 1); slash != std::string::npos; slash = o.path.find('/', slash + 1))
                {
                    m_sections.insert(o.path.substr(0, slash));
                }
            }
        }
    }

    void Read(const std::string& text)
    {
        const JsonText parsed = ParseJsonText(text, m_origin);
        if (!parsed.error.empty())
        {
            m_result->errors.push_back({"", "", parsed.error, ""});
            return;
        }
        if (!parsed.value.is_object())
        {
            m_result->errors.push_back(
                {m_origin, "", "a scenario is a JSON object such as {\"fabric\": {\"mtu\": 4096}}, this is " +
                                   std::string(parsed.value.type_name()),
                 ""});
            return;
        }
        // Whose scenario it is first: an error in every key of a file for another program helps nobody.
        if (const auto it = parsed.value.find("program"); it != parsed.value.end() && *it != m_table.program)
        {
            Fail("/program", *it, "this program is " + m_table.program);
            return;
        }
        for (const auto& [key, value] : parsed.value.items())
        {
            if (key == "program")
            {
                continue;
            }
            if (key == "description")
            {
                if (!value.is_string())
                {
                    Fail("/description", value, "must be a string");
                }
                continue;
            }
            if (key == "ns3")
            {
                ReadAttributes(value);
                continue;
            }
            Walk("/" + key, value);
        }
    }

  private:
    void Fail(const std::string& path, const json& value, std::string problem, std::string nearest = "")
    {
        m_result->errors.push_back(
            {m_origin + ": " + path, value.dump(-1, ' ', false, json::error_handler_t::replace), std::move(problem), std::move(nearest)});
    }

    void ReadAttributes(const json& object)
    {
        if (!object.is_object())
        {
            Fail("/ns3", object, "must be an object such as {\"ns3::RdmaSwitch::PipelineLatency\": \"300ns\"}");
            return;
        }
        for (const auto& [key, value] : object.items())
        {
            if (key.rfind("ns3::", 0) != 0 || key.find("::", 5) == std::string::npos)
            {
                Fail("/ns3/" + key, value, "must be named as an ns-3 attribute: ns3::RdmaSwitch::PipelineLatency");
            }
            else if (value.is_string())
            {
                m_result->attributes.emplace_back(key, value.get<std::string>());
            }
            else if (value.is_number() || value.is_boolean())
            {
                m_result->attributes.emplace_back(key, value.dump());
            }
            else
            {
                Fail("/ns3/" + key, value, "must be a string, a number or a boolean");
            }
        }
    }

    void Walk(const std::string& path, const json& value)
    {
        if (const auto it = m_byPath.find(path); it != m_byPath.end())
        {
            ReadOne(*it->second, value);
            return;
        }
        if (m_sections.count(path))
        {
            if (!value.is_object())
            {
                Fail(path, value, "must be an object");
                return;
            }
            for (const auto& [key, inner] : value.items())
            {
                Walk(path + "/" + key, inner);
            }
            return;
        }
        Unknown(path);
    }

    void Unknown(const std::string& path)
    {
        // Siblings first: "/fabric/mut" is a slip of the hand in /fabric; then the same key elsewhere.
        const std::string folder = path.substr(0, path.rfind('/'));
        const std::string leaf = path.substr(path.rfind('/') + 1);
        std::vector<std::string> siblings;
        std::set<std::string> seen;
        std::string elsewhere;
        const auto offer = [&](const std::string& candidate) {
            if (candidate.compare(0, folder.size() + 1, folder + "/") == 0)
            {
                const std::string rest = candidate.substr(folder.size() + 1);
                const std::string name = rest.substr(0, rest.find('/'));
                if (seen.insert(name).second)
                {
                    siblings.push_back(name);
                }
            }
        };
        for (const auto& o : m_table.options)
        {
            if (!o.path.empty())
            {
                offer(o.path);
                if (elsewhere.empty() && o.path.substr(o.path.rfind('/') + 1) == SnakeCase(leaf))
                {
                    elsewhere = o.path;
                }
            }
        }
        if (folder.empty())
        {
            siblings.insert(siblings.end(), {"ns3", "program", "description"});
        }
        std::string nearest = elsewhere;
        if (nearest.empty())
        {
            const std::string close = topo::NearestName(leaf, siblings);
            nearest = close.empty() ? "" : folder + "/" + close;
        }
        m_result->errors.push_back(
            {m_origin + ": " + path, "",
             "unknown key; allowed in " + (folder.empty() ? std::string("the scenario") : folder) + ": " + Join(siblings, ", "),
             nearest});
    }

    void ReadOne(const Option& o, const json& value)
    {
        const std::string path = o.path;
        std::string text;
        switch (o.kind)
        {
        case Kind::kFlag:
            if (!value.is_boolean())
            {
                Fail(path, value, "must be true or false");
                return;
            }
            text = value.get<bool>() ? "1" : "0";
            break;
        case Kind::kInteger:
            if (!value.is_number_integer())
            {
                Fail(path, value, "allowed: " + AllowedText(o));
                return;
            }
            text = value.dump();
            break;
        case Kind::kReal:
            if (!value.is_number())
            {
                Fail(path, value, "allowed: " + AllowedText(o));
                return;
            }
            text = value.is_number_float() ? RealText(value.get<double>()) : value.dump();
            break;
        case Kind::kBytes:
            if (value.is_number_unsigned())
            {
                text = value.dump();
                break;
            }
            [[fallthrough]];
        case Kind::kRate:
        case Kind::kDuration:
            if (!value.is_string())
            {
                Fail(path, value, "must be a string; allowed: " + AllowedText(o));
                return;
            }
            text = value.get<std::string>();
            break;
        case Kind::kList:
            if (!ListText(value, &text))
            {
                Fail(path, value, "must be a list of strings");
                return;
            }
            break;
        default:
            if (!value.is_string())
            {
                Fail(path, value, o.names ? "must be a string; allowed: " + AllowedText(o) : "must be a string");
                return;
            }
            text = value.get<std::string>();
            break;
        }
        Value parsed;
        Error error;
        if (!ParseValue(o, text, m_origin + ": " + path, &parsed, &error))
        {
            error.value = value.dump(-1, ' ', false, json::error_handler_t::replace);
            m_result->errors.push_back(std::move(error));
            return;
        }
        const bool isPath = o.kind == Kind::kFile || (o.kind == Kind::kNameOrFile && NameMeant(o, text).empty());
        if (isPath && !parsed.text.empty() && parsed.text[0] != '/')
        {
            parsed.text = FolderOf(m_origin) + parsed.text;
        }
        m_result->values.Slot(o.name) = std::move(parsed);
    }

    static bool ListText(const json& value, std::string* text)
    {
        if (value.is_string())
        {
            *text = value.get<std::string>();
            return true;
        }
        std::vector<std::string> parts;
        if (!value.is_array() && !value.is_object())
        {
            return false;
        }
        for (const auto& [key, item] : value.items())
        {
            if (!item.is_string())
            {
                return false;
            }
            parts.push_back((value.is_object() ? key + "=" : std::string()) + item.get<std::string>());
        }
        *text = Join(parts, ",");
        return true;
    }

    const OptionTable& m_table;
    std::string m_origin;
    ReadResult* m_result;
    std::map<std::string, const Option*> m_byPath;
    std::set<std::string> m_sections;
};

void
SetDefaults(const OptionTable& table, ReadResult* result)
{
    for (const auto& o : table.options)
    {
        Value& slot = result->values.Slot(o.name);
        slot = Value();
        if (!o.defaultText.empty() || (o.kind == Kind::kFlag && o.path.empty()))
        {
            Error error;
            if (!ParseValue(o, o.defaultText.empty() ? "0" : o.defaultText, "default", &slot, &error))
            {
                throw std::logic_error("default of --" + o.name + ": " + error.Text());
            }
            slot.given = false;
            slot.where.clear();
        }
    }
}

// -----------------------------------------------------------------------------------------
// Command line.

namespace po = boost::program_options;

/// Long options of a table, by every name they go by.
struct LongNames
{
    std::map<std::string, const Option*> byName;
    std::map<std::string, const Option*> negated; ///< "no-overlap"

    explicit LongNames(const OptionTable& table)
    {
        for (const auto& o : table.options)
        {
            byName[o.name] = &o;
            for (const auto& a : o.aliases)
            {
                byName[a] = &o;
            }
        }
        for (const auto& o : table.options)
        {
            if (o.kind == Kind::kFlag && !o.path.empty())
            {
                negated["no-" + o.name] = &o;
            }
        }
    }
};

class CommandLineReader
{
  public:
    CommandLineReader(const OptionTable& table, ReadResult* result)
        : m_table(table),
          m_names(table),
          m_result(result)
    {
    }

    /// Values land in `given`, by option name, so that they can be laid over those of a file.
    void Read(int argc, const char* const* argv, std::map<std::string, Value>* given)
    {
        std::vector<std::string> args;
        for (int i = 1; i < argc; ++i)
        {
            const std::string arg = argv[i];
            if (arg.rfind("--ns3::", 0) == 0 || arg.rfind("--Print", 0) == 0)
            {
                m_result->ns3Arguments.push_back(arg);
                continue;
            }
            args.push_back(Normalised(arg));
        }
        JoinFlagValues(&args);

        po::options_description all;
        for (const auto& [name, option] : m_names.byName)
        {
            const bool optional = option->kind == Kind::kFlag || option->name == "help";
            const std::string spec =
                name + (option->name == name && option->letter ? std::string(",") + option->letter : "");
            auto* semantic = po::value<std::vector<std::string>>();
            if (optional)
            {
                semantic->implicit_value({""}, "");
            }
            all.add_options()(spec.c_str(), semantic, "");
        }
        for (const auto& [name, option] : m_names.negated)
        {
            if (!m_names.byName.count(name))
            {
                all.add_options()(name.c_str(), po::value<std::vector<std::string>>()->zero_tokens(), "");
            }
        }

        using namespace po::command_line_style;
        const int style = allow_long | long_allow_adjacent | long_allow_next | allow_short | allow_dash_for_short |
                          short_allow_adjacent | short_allow_next;
        std::vector<po::option> parsed;
        try
        {
            parsed = po::command_line_parser(args).options(all).style(style).allow_unregistered().run().options;
        }
        catch (const po::error_with_option_name& e)
        {
            BoostError(e.get_option_name(), e.what());
            return;
        }
        catch (const po::error& e)
        {
            m_result->errors.push_back({"command line", "", e.what(), ""});
            return;
        }

        bool unknown = false;
        for (const auto& p : parsed)
        {
            if (p.unregistered)
            {
                UnknownOption(p.original_tokens.empty() ? p.string_key : p.original_tokens[0]);
                unknown = true;
            }
        }
        for (const auto& p : parsed)
        {
            if (p.unregistered)
            {
                continue;
            }
            if (p.string_key.empty() || p.position_key >= 0)
            {
                if (!unknown) // else it is most likely the value of the unknown option
                {
                    m_result->errors.push_back({"", p.value.empty() ? "" : p.value[0],
                                                "unexpected argument; options begin with '-', see --help", ""});
                }
                continue;
            }
            Take(p, given);
        }
    }

  private:
    /// nccl-tests writes --warmup_iters: in names of options '_' is '-'.
    static std::string Normalised(const std::string& arg)
    {
        if (arg.rfind("--", 0) != 0)
        {
            return arg;
        }
        std::string out = arg;
        const size_t end = std::min(out.find('='), out.size());
        std::replace(out.begin() + 2, out.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
        return out;
    }

    /// "--pfc 0" is "--pfc=0"; Boost takes no separate value where one is optional.
    void JoinFlagValues(std::vector<std::string>* args) const
    {
        for (size_t i = 0; i + 1 < args->size(); ++i)
        {
            const std::string& arg = (*args)[i];
            if (arg.rfind("--", 0) != 0)
            {
                continue;
            }
            const auto it = m_names.byName.find(arg.substr(2));
            bool flag = false;
            if (it != m_names.byName.end() && it->second->kind == Kind::kFlag && ParseFlag((*args)[i + 1], &flag))
            {
                (*args)[i] += "=" + (*args)[i + 1];
                args->erase(args->begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
        }
    }

    void BoostError(const std::string& name, const std::string& what)
    {
        std::string bare = name;
        bare.erase(0, bare.find_first_not_of('-'));
        const auto it = m_names.byName.find(bare);
        const Option* option = it == m_names.byName.end() ? nullptr : it->second;
        if (!option && bare.size() == 1)
        {
            for (const auto& o : m_table.options)
            {
                option = o.letter == bare[0] ? &o : option;
            }
        }
        if (option && option->kind != Kind::kFlag)
        {
            m_result->errors.push_back({name, "", "needs a value; allowed: " + AllowedText(*option), ""});
            return;
        }
        if (m_names.negated.count(bare))
        {
            m_result->errors.push_back({name, "", "takes no value", ""});
            return;
        }
        m_result->errors.push_back({"command line", "", what, ""});
    }

    void UnknownOption(const std::string& token)
    {
        const std::string name = token.substr(0, token.find('='));
        std::string bare = name;
        bare.erase(0, std::min(bare.find_first_not_of('-'), bare.size()));
        std::vector<std::string> candidates;
        for (const auto& [n, o] : m_names.byName)
        {
            candidates.push_back(n);
        }
        for (const auto& [n, o] : m_names.negated)
        {
            candidates.push_back(n);
        }
        std::string nearest = bare.size() > 1 ? topo::NearestName(bare, candidates) : "";
        m_result->errors.push_back(
            {name, "", "unknown option, see --help", nearest.empty() ? "" : "--" + nearest});
    }

    void Take(const po::option& p, std::map<std::string, Value>* given)
    {
        const auto negated = m_names.negated.find(p.string_key);
        const auto plain = m_names.byName.find(p.string_key);
        const Option* option = plain != m_names.byName.end() ? plain->second : negated->second;
        // As it was typed: "-b", "--warmup-iters".
        const std::string token = p.original_tokens.empty() ? "" : p.original_tokens[0];
        std::string where = "--" + p.string_key;
        if (token.size() >= 2 && token[0] == '-' && token[1] != '-')
        {
            where = token.substr(0, 2);
        }
        std::string text = p.value.empty() ? "" : p.value[0];
        if (plain == m_names.byName.end())
        {
            text = "0";
        }
        else if (option->kind == Kind::kFlag && text.empty() && token.find('=') == std::string::npos)
        {
            text = "1";
        }
        Value value;
        Error error;
        if (option->name == "help" && text.empty() && token.find('=') == std::string::npos)
        {
            (*given)["help"].text = "";
            return;
        }
        if (given->count(option->name))
        {
            m_result->errors.push_back({where, text, "given twice (first " + (*given)[option->name].raw + ")", ""});
            return;
        }
        if (!ParseValue(*option, text, where, &value, &error))
        {
            m_result->errors.push_back(std::move(error));
            // Marked as given, so that nothing downstream complains about its absence.
            return;
        }
        (*given)[option->name] = std::move(value);
    }

    const OptionTable& m_table;
    LongNames m_names;
    ReadResult* m_result;
};

} // namespace

ReadResult
ReadScenarioText(const OptionTable& table, const std::string& text, const std::string& origin)
{
    ReadResult result;
    SetDefaults(table, &result);
    JsonReader(table, origin, &result).Read(text);
    return result;
}

ReadResult
ReadOptions(const OptionTable& table, int argc, const char* const* argv)
{
    ReadResult result;
    SetDefaults(table, &result);
    std::map<std::string, Value> given;
    CommandLineReader(table, &result).Read(argc, argv, &given);

    // Help comes before complaints about anything else.
    if (given.count("version"))
    {
        result.errors.clear();
        result.text = table.program + " " + table.version + "\n";
        return result;
    }
    for (const char* asking : {"help", "list"})
    {
        if (given.count(asking))
        {
            const std::string what = given[asking].text;
            result.errors.clear();
            result.text = HelpText(table);
            for (const auto& list : table.lists)
            {
                if (list.name == what)
                {
                    result.text = ListText(list);
                }
            }
            return result;
        }
    }

    if (given.count("scenario"))
    {
        const std::string file = given["scenario"].text;
        errno = 0;
        std::ifstream stream(file, std::ios::binary);
        std::stringstream content;
        if (stream)
        {
            content << stream.rdbuf();
        }
        if (!stream || content.fail())
        {
            result.errors.push_back({given["scenario"].where, file,
                                     "cannot be read" + (errno ? std::string(": ") + std::strerror(errno) : ""), ""});
        }
        else
        {
            JsonReader(table, file, &result).Read(content.str());
        }
    }
    for (auto& [name, value] : given)
    {
        result.values.Slot(name) = value;
    }
    return result;
}

// ---------------------------------------------------------------------------------------------
// Help.

namespace
{

constexpr size_t kColumns = 100;

/// Words of `text` in lines of at most kColumns, the first after `used` columns, the others indented by `indent`.
void
Wrap(std::string* out, const std::string& text, size_t used, size_t indent)
{
    std::istringstream words(text);
    std::string word;
    size_t column = used;
    bool fresh = true;
    while (words >> word)
    {
        if (!fresh && column + 1 + word.size() > kColumns)
        {
            *out += "\n" + std::string(indent, ' ');
            column = indent;
            fresh = true;
        }
        if (!fresh)
        {
            *out += ' ';
            ++column;
        }
        *out += word;
        column += word.size();
        fresh = false;
    }
    *out += "\n";
}

std::string
DefaultText(const Option& o)
{
    if (!o.defaultText.empty())
    {
        if (o.kind == Kind::kFlag)
        {
            return "default " + o.defaultText;
        }
        return "default " + o.defaultText;
    }
    return o.defaultNote.empty() ? "" : "default: " + o.defaultNote;
}

} // namespace

std::string
HelpText(const OptionTable& table)
{
    constexpr size_t kIndent = 32;
    std::string out;
    Wrap(&out, table.program + " - " + table.description, 0, 0);
    out += "\nUsage: ./ns3 run \"" + table.program + " [--option=value ...]\"\n";
    Wrap(&out,
         "Every option with a JSON path can stand in a scenario file too (--scenario=FILE.json): --mtu=4096 is "
         "{\"fabric\": {\"mtu\": 4096}}. The command line overrides the file. Sizes: 40MB = 40 * 10^6 bytes, 25MiB and 25M = "
         "25 * 2^20. Times: 500ns, 1us, 2ms. Rates: 100Gbps.",
         0, 0);

    std::vector<std::string> groups;
    for (const auto& o : table.options)
    {
        if (std::find(groups.begin(), groups.end(), o.group) == groups.end())
        {
            groups.push_back(o.group);
        }
    }
    for (const auto& group : groups)
    {
        std::string section;
        for (const auto& o : table.options)
        {
            if (o.group == group && section.empty() && !o.path.empty())
            {
                section = o.path.substr(0, o.path.rfind('/'));
            }
        }
        out += "\n" + group + (section.empty() ? "" : "  (JSON: " + section + ")") + "\n";
        for (const auto& o : table.options)
        {
            if (o.group != group)
            {
                continue;
            }
            std::string left = "  ";
            if (o.letter)
            {
                left += std::string("-") + o.letter + ", ";
            }
            const bool flag = o.kind == Kind::kFlag;
            left += "--" + o.name + (flag && o.path.empty() ? "" : flag ? "[=0|1]" : "=" + o.placeholder);
            for (const auto& a : o.aliases)
            {
                left += ", --" + a;
            }
            if (left.size() + 2 > kIndent)
            {
                out += left + "\n" + std::string(kIndent, ' ');
            }
            else
            {
                out += left + std::string(kIndent - left.size(), ' ');
            }
            std::string help = o.help;
            if (!o.oneOf.empty())
            {
                help += "; one of " + OneOfText(o);
            }
            else if (o.kind == Kind::kInteger || o.kind == Kind::kReal || o.kind == Kind::kBytes || o.kind == Kind::kRate ||
                     o.kind == Kind::kDuration)
            {
                const std::string range = RangeText(o);
                help += range.empty() || o.max > 4e9 ? "" : "; " + range;
            }
            if (flag && !o.path.empty() && o.defaultText == "1")
            {
                help += "; off: --no-" + o.name;
            }
            const std::string byDefault = DefaultText(o);
            help += byDefault.empty() ? "" : " [" + byDefault + "]";
            if (!o.path.empty() && o.path != section + "/" + SnakeCase(o.name))
            {
                help += " (JSON: " + o.path + ")";
            }
            Wrap(&out, help, kIndent, kIndent);
        }
    }

    out += "\nns-3 attributes and lists  (JSON: /ns3)\n";
    out += "  --ns3::TYPE::ATTRIBUTE=VALUE  any attribute: --ns3::RdmaSwitch::PipelineLatency=300ns\n";
    out += "  --PrintAttributes=TYPE, --PrintTypeIds, ...  what ns-3 knows\n";

    if (!table.examples.empty())
    {
        out += "\nExamples\n";
        for (const auto& e : table.examples)
        {
            out += "  " + (e.rfind("# ", 0) == 0 ? e : "./ns3 run \"" + e + "\"") + "\n";
        }
    }
    if (!table.lists.empty())
    {
        out += "\nNames  (described by --list=" + std::string("WHAT") + ")\n";
        for (const auto& list : table.lists)
        {
            const std::string left = "  " + list.name + ": ";
            out += left;
            Wrap(&out, JoinNames(list.items()), left.size(), 4);
        }
    }
    return out;
}

std::string
ListText(const NameList& list)
{
    std::string out = list.title + "\n";
    const auto items = list.items();
    size_t width = 0;
    for (const auto& item : items)
    {
        width = std::max(width, item.name.size());
    }
    width = std::min<size_t>(width, 40);
    for (const auto& item : items)
    {
        std::string left = "  " + item.name;
        left += std::string(left.size() < width + 4 ? width + 4 - left.size() : 2, ' ');
        out += left;
        Wrap(&out, item.description, left.size(), width + 4);
    }
    return out;
}

} // namespace scenario
