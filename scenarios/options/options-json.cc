/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Scenario files: JSON to values.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>

namespace scenario
{

using nlohmann::json;
using namespace detail;

namespace
{

/// Reads the values of one JSON document into a ReadResult, by the paths of its options.
class ScenarioReader
{
  public:
    ScenarioReader(const OptionTable& table, std::string origin, std::string at, ReadResult* result)
        : m_table(table),
          m_origin(std::move(origin)),
          m_at(std::move(at)),
          m_result(result)
    {
        for (const auto& o : table.options)
        {
            if (!o.path.empty())
            {
                m_byPath[o.path] = &o;
                for (size_t slash = o.path.find('/', 1); slash != std::string::npos;
                     slash = o.path.find('/', slash + 1))
                {
                    m_sections.insert(o.path.substr(0, slash));
                }
            }
        }
    }

    void Read(const std::string& text)
    {
        const topo::JsonText parsed = topo::ParseJsonText(text, m_origin);
        if (parsed.error)
        {
            m_result->errors.push_back({"", "", parsed.error.Sentence(), ""});
            return;
        }
        if (!parsed.value.is_object())
        {
            m_result->errors.push_back(
                {m_origin,
                 "",
                 "a scenario is a JSON object such as {\"fabric\": {\"mtu\": 4096}}, this is " +
                     std::string(parsed.value.type_name()),
                 ""});
            return;
        }
        // The program's name comes first: an error in every key of a file for another program helps
        // nobody.
        if (const auto it = parsed.value.find("program");
            it != parsed.value.end() && *it != m_table.program)
        {
            Fail("/program", *it, "this program is " + m_table.program);
            return;
        }
        // Nor does one in every result of a run.
        if (const auto it = parsed.value.find("configuration");
            it != parsed.value.end() && it->is_object())
        {
            m_result->errors.push_back({At("/configuration"),
                                        "",
                                        "these are the results of a run; a scenario is what stands "
                                        "under this key alone",
                                        ""});
            return;
        }
        if (const auto it = parsed.value.find("given"); it != parsed.value.end())
        {
            ReadGiven(*it);
        }
        for (const auto& [key, value] : parsed.value.items())
        {
            if (TooMany())
            {
                return;
            }
            if (key == "program" || key == "given" || (key == kFilesKey && m_table.Find("resume")))
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
    /// Where a path of the scenario stands.
    std::string At(const std::string& path) const
    {
        return m_origin + ": " + m_at + path;
    }

    void Fail(const std::string& path,
              const json& value,
              std::string problem,
              std::string nearest = "")
    {
        m_result->errors.push_back({At(path),
                                    value.dump(-1, ' ', false, json::error_handler_t::replace),
                                    std::move(problem),
                                    std::move(nearest)});
    }

    /// Enough mistakes for one sitting: the nearest name of each costs a look at all options.
    bool TooMany()
    {
        constexpr std::size_t kMostMistakes = 100;
        if (m_result->errors.size() == kMostMistakes)
        {
            m_result->errors.push_back(
                {At("/"),
                 "",
                 "has more mistakes; these are the first " + std::to_string(kMostMistakes),
                 ""});
        }
        return m_result->errors.size() > kMostMistakes;
    }

    /// The options that somebody gave, of a configuration as run: the others follow from them.
    void ReadGiven(const json& names)
    {
        if (!names.is_array())
        {
            Fail("/given", names, "must be a list of names of options");
            return;
        }
        m_given.emplace();
        std::vector<std::string> known;
        for (const Option& o : m_table.options)
        {
            if (!o.path.empty())
            {
                known.push_back(o.name);
            }
        }
        for (const json& name : names)
        {
            const std::string text = name.is_string() ? name.get<std::string>() : "";
            if (std::find(known.begin(), known.end(), text) == known.end())
            {
                Fail("/given",
                     name,
                     "is no option that a scenario may have",
                     rdma::NearestName(text, known));
                return;
            }
            m_given->insert(text);
        }
    }

    /// A value that was read.
    void Store(const Option& o, const json& given, Value value)
    {
        if (!m_given || m_given->count(o.name))
        {
            m_result->values.Slot(o.name) = std::move(value);
        }
        else
        {
            m_result->kept[o.name] = {o.path, given, std::move(value)};
        }
    }

    void ReadAttributes(const json& object)
    {
        if (!object.is_object())
        {
            Fail("/ns3",
                 object,
                 "must be an object such as {\"ns3::RdmaSwitch::PipelineLatency\": \"300ns\"}");
            return;
        }
        for (const auto& [key, value] : object.items())
        {
            if (TooMany())
            {
                return;
            }
            if (key.rfind("ns3::", 0) != 0 || key.find("::", 5) == std::string::npos)
            {
                Fail("/ns3/" + key,
                     value,
                     "must be named as an ns-3 attribute: ns3::RdmaSwitch::PipelineLatency");
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
                if (TooMany())
                {
                    return;
                }
                Walk(path + "/" + key, inner);
            }
            return;
        }
        Unknown(path);
    }

    void Unknown(const std::string& path)
    {
        // Siblings first: "/fabric/mut" is a slip of the hand in /fabric; then the same key
        // elsewhere.
        const std::string folder = path.substr(0, path.rfind('/'));
        const std::string leaf = path.substr(path.rfind('/') + 1);
        std::vector<std::string> siblings;
        std::set<std::string> seen;
        std::string elsewhere;
        std::string asOption =
            SnakeCase(leaf); // an option's other name, as it stands on the command line
        std::replace(asOption.begin(), asOption.end(), '_', '-');
        if (const ForeignName* foreign = m_table.FindForeign(asOption))
        {
            m_result->errors.push_back({At(path), "", foreign->otherwise, ""});
            return;
        }
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
                const bool alias =
                    std::find(o.aliases.begin(), o.aliases.end(), asOption) != o.aliases.end();
                if (elsewhere.empty() &&
                    (alias || o.path.substr(o.path.rfind('/') + 1) == SnakeCase(leaf)))
                {
                    elsewhere = o.path;
                }
            }
        }
        if (folder.empty())
        {
            siblings.insert(siblings.end(), {"ns3", "program", "description", "given"});
        }
        std::string nearest = elsewhere;
        if (nearest.empty())
        {
            std::string close = rdma::NearestName(leaf, siblings);
            close = close.empty() ? rdma::NearestByParts(leaf, siblings) : close;
            nearest = close.empty() ? "" : m_at + folder + "/" + close;
        }
        const std::string in = m_at + folder;
        m_result->errors.push_back({At(path),
                                    "",
                                    "unknown key; allowed in " +
                                        (in.empty() ? std::string("the scenario") : in) + ": " +
                                        Join(siblings, ", "),
                                    nearest});
    }

    void ReadOne(const Option& o, const json& value)
    {
        const std::string path = o.path;
        std::string text;
        switch (o.kind)
        {
        case Kind::kEntries:
            ReadEntries(o, value);
            return;
        case Kind::kFlag:
            if (!value.is_boolean())
            {
                Fail(path, value, "must be true or false");
                return;
            }
            text = value.get<bool>() ? "1" : "0";
            break;
        case Kind::kInteger:
            if (!value.is_number_integer() && (o.word.empty() || value != o.word))
            {
                Fail(path, value, "allowed: " + AllowedText(o));
                return;
            }
            text = value.is_string() ? o.word : value.dump();
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
                Fail(path, value, "must be a string, or a list of strings, none of them empty");
                return;
            }
            break;
        default:
            if (value.is_boolean() && !o.onOff.first.empty())
            {
                text = value.get<bool>() ? "1" : "0";
                break;
            }
            if (!value.is_string())
            {
                Fail(path,
                     value,
                     o.names ? "must be a string; allowed: " + AllowedText(o) : "must be a string");
                return;
            }
            text = value.get<std::string>();
            break;
        }
        if (text.find('\0') != std::string::npos)
        {
            Fail(path, value, "has a character of code 0; allowed: none");
            return;
        }
        Value parsed;
        Error error;
        if (!ParseValue(o, text, At(path), &parsed, &error))
        {
            error.value = value.dump(-1, ' ', false, json::error_handler_t::replace);
            m_result->errors.push_back(std::move(error));
            return;
        }
        const bool isPath =
            o.kind == Kind::kFile || (o.kind == Kind::kNameOrFile && NameMeant(o, text).empty());
        if (isPath && !parsed.text.empty() && parsed.text[0] != '/')
        {
            parsed.text = FolderOf(m_origin) + parsed.text;
        }
        Store(o, value, std::move(parsed));
    }

    /// Objects, or texts as they stand on the command line.
    void ReadEntries(const Option& o, const json& given)
    {
        Value read;
        read.given = read.present = true;
        read.where = At(o.path);
        if (o.ofPlaces && given.is_object())
        {
            const PlaceMistake wrong = ReadPlaceObjects(given, read.where, &read.entries);
            if (!wrong.problem.empty())
            {
                Fail(o.path + wrong.path, wrong.value, wrong.problem);
            }
            else if (!read.entries.empty())
            {
                read.raw = read.text = EntriesText(o, read.entries);
                Store(o, given, std::move(read));
            }
            return;
        }
        const json value = given.is_string() ? json::array({given}) : given;
        const std::string example = o.ofPlaces ? " such as {\"core\": {\"ecn_kmin\": \"1MB\"}}"
                                               : " such as {\"" + o.keys.front() + "\": ...}";
        if (!value.is_array())
        {
            Fail(o.path,
                 given,
                 (o.ofPlaces ? "must be an object" : "must be a list of objects") + example);
            return;
        }
        bool good = true;
        for (std::size_t i = 0; i < value.size(); ++i)
        {
            const std::string path = o.path + "/" + std::to_string(i);
            if (!o.ofPlaces && !value[i].is_object() && !value[i].is_string())
            {
                Fail(path, value[i], "must be an object" + example);
                return;
            }
            read.entries.emplace_back();
            good &= value[i].is_string() ? ReadEntryText(o, path, value[i], &read.entries.back())
                                         : ReadEntry(o, path, value[i], &read.entries.back());
            if (o.ofPlaces && !good)
            {
                return; // of a list of wrong types one error says enough
            }
        }
        if (good && !read.entries.empty())
        {
            read.raw = read.text = EntriesText(o, read.entries);
            Store(o, given, std::move(read));
        }
    }

    using Entry = std::vector<std::pair<std::string, std::string>>;

    bool ReadEntryText(const Option& o, const std::string& path, const json& value, Entry* entry)
    {
        Value parsed;
        Error error;
        const std::string text = value.get<std::string>();
        if (text.find('\0') != std::string::npos)
        {
            Fail(path, value, "has a character of code 0; allowed: none");
            return false;
        }
        if (!ParseValue(o, text, At(path), &parsed, &error))
        {
            m_result->errors.push_back(std::move(error));
            return false;
        }
        *entry = std::move(parsed.entries[0]);
        return true;
    }

    bool ReadEntry(const Option& o, const std::string& path, const json& value, Entry* entry)
    {
        if (o.ofPlaces)
        {
            const PlaceMistake wrong = ReadPlaceEntry(value, At(path), entry);
            if (!wrong.problem.empty())
            {
                Fail(path + wrong.path, wrong.value, wrong.problem, wrong.nearest);
            }
            return wrong.problem.empty();
        }
        bool good = true;
        // As on the command line: the first key first.
        for (const std::string& key : o.keys)
        {
            if (value.contains(key))
            {
                good &= ReadEntryValue(path, key, value[key], entry);
            }
        }
        for (const auto& [key, item] : value.items())
        {
            if (std::find(o.keys.begin(), o.keys.end(), key) == o.keys.end())
            {
                good &= ReadEntryValue(path, key, item, entry);
            }
        }
        std::string nearest;
        const std::string wrong = good ? CheckEntry(o, *entry, &nearest) : "";
        if (!wrong.empty())
        {
            Fail(path, value, wrong, nearest);
        }
        return good && wrong.empty();
    }

    bool ReadEntryValue(const std::string& path,
                        const std::string& key,
                        const json& value,
                        Entry* entry)
    {
        const bool good = value.is_string() || value.is_number();
        const std::string text = value.is_string()         ? value.get<std::string>()
                                 : value.is_number_float() ? RealText(value.get<double>())
                                                           : value.dump();
        if (!good || text.find('\0') != std::string::npos)
        {
            Fail(path + "/" + key, value, "must be a string or a number");
            return false;
        }
        entry->emplace_back(key, text);
        return true;
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
            if (!item.is_string() || item.get_ref<const std::string&>().find_first_not_of(
                                         " \t\r\n") == std::string::npos)
            {
                return false;
            }
            parts.push_back((value.is_object() ? key + "=" : std::string()) +
                            item.get<std::string>());
        }
        *text = Join(parts, ",");
        return true;
    }

    const OptionTable& m_table;
    std::string m_origin;
    std::string m_at;
    ReadResult* m_result;
    std::map<std::string, const Option*> m_byPath;
    std::set<std::string> m_sections;
    std::optional<std::set<std::string>> m_given; ///< nothing: all
};

} // namespace

namespace detail
{

void
ReadJson(const OptionTable& table,
         const std::string& text,
         const std::string& origin,
         const std::string& at,
         ReadResult* result)
{
    ScenarioReader(table, origin, at, result).Read(text);
}

} // namespace detail

ReadResult
ReadScenarioText(const OptionTable& table, const std::string& text, const std::string& origin)
{
    ReadResult result;
    SetDefaults(table, &result);
    ReadJson(table, text, origin, "", &result);
    return result;
}

} // namespace scenario
