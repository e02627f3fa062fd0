/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Command lines to values, by Boost.Program_options.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/installation/installation.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"
#include "scenarios/options/text-of-others.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <boost/program_options.hpp>

namespace scenario
{

using namespace detail;

namespace
{

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
            if (o.IsSwitch() && !o.path.empty())
            {
                negated["no-" + o.name] = &o;
                for (const auto& a : o.aliases)
                {
                    negated["no-" + a] = &o;
                }
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
                const std::size_t equals = arg.find('=');
                if (arg.rfind("--ns3::", 0) == 0 && equals != std::string::npos)
                {
                    m_typed[arg.substr(0, equals)].push_back({arg, arg.substr(equals + 1)});
                }
                continue;
            }
            args.push_back(Normalised(arg));
        }
        TakeForeign(&args);
        JoinFlagValues(&args);
        TakeOutThoseWithoutValue(&args);

        po::options_description all;
        for (const auto& [name, option] : m_names.byName)
        {
            const bool optional = option->IsSwitch() || option->name == "help";
            const std::string spec =
                name +
                (option->name == name && option->letter ? std::string(",") + option->letter : "");
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
                all.add_options()(name.c_str(),
                                  po::value<std::vector<std::string>>()->zero_tokens(),
                                  "");
            }
        }

        using namespace po::command_line_style;
        const int style = allow_long | long_allow_adjacent | long_allow_next | allow_short |
                          allow_dash_for_short | short_allow_adjacent | short_allow_next;
        std::vector<po::option> parsed;
        try
        {
            parsed = po::command_line_parser(args)
                         .options(all)
                         .style(style)
                         .allow_unregistered()
                         .run()
                         .options;
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
                    m_result->errors.push_back(
                        {"",
                         "",
                         "unexpected argument '" +
                             (p.value.empty() ? "" : rdma::Shown(p.value[0], 100)) +
                             "'; options begin with '-', see --help",
                         ""});
                }
                continue;
            }
            Take(p, given);
        }
        NoteReplaced();
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

    /// Translates options of other software into an argument of this program, or into an error that
    /// names the replacement.
    void TakeForeign(std::vector<std::string>* args)
    {
        for (size_t i = 0; i < args->size();)
        {
            const std::string arg = (*args)[i];
            const size_t equals = std::min(arg.find('='), arg.size());
            const ForeignName* foreign = nullptr;
            for (const auto& f : m_table.foreign)
            {
                const bool byLetter = f.letter && arg == std::string("-") + f.letter;
                foreign = byLetter || arg.substr(0, equals) == "--" + f.name ? &f : foreign;
            }
            if (!foreign || (arg[1] == '-' && m_names.byName.count(foreign->name)))
            {
                ++i;
                continue;
            }
            std::string value = equals < arg.size() ? arg.substr(equals + 1) : "";
            args->erase(args->begin() + static_cast<std::ptrdiff_t>(i));
            if (equals == arg.size() && !foreign->flag && i < args->size() &&
                (*args)[i].rfind("-", 0) != 0)
            {
                value = (*args)[i];
                args->erase(args->begin() + static_cast<std::ptrdiff_t>(i));
            }
            bool on = false;
            if (foreign->flag && ParseFlag(value, &on) && on)
            {
                value.clear();
            }
            const auto same = std::find_if(foreign->means.begin(),
                                           foreign->means.end(),
                                           [&](const auto& m) { return m.first == value; });
            if (same == foreign->means.end())
            {
                m_result->errors.push_back({arg.substr(0, equals), value, foreign->otherwise, ""});
            }
            else if (!same->second.empty())
            {
                args->insert(args->begin() + static_cast<std::ptrdiff_t>(i), same->second);
                ++i;
            }
        }
    }

    /// "--pfc 0" is "--pfc=0", and "--pfc x" is "--pfc=1 x".
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
            if (it == m_names.byName.end() || !it->second->IsSwitch())
            {
                continue;
            }
            if (ParseFlag((*args)[i + 1], &flag) || IsNameOf(*it->second, (*args)[i + 1]))
            {
                (*args)[i] += "=" + (*args)[i + 1];
                args->erase(args->begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
            else
            {
                (*args)[i] +=
                    "=1"; // "--dry-run extra": else Boost would take "extra" for the value
            }
        }
    }

    /// "--recompute selective".
    static bool IsNameOf(const Option& option, const std::string& text)
    {
        Value value;
        Error error;
        return option.kind == Kind::kName && ParseValue(option, text, "", &value, &error);
    }

    /// The option that an argument names, without a value of its own: "--mtu", "-b".
    const Option* Bare(const std::string& arg) const
    {
        if (arg.rfind("--", 0) == 0)
        {
            const auto it = m_names.byName.find(arg.substr(2));
            return it == m_names.byName.end() ? nullptr : it->second;
        }
        for (const auto& o : m_table.options)
        {
            if (o.letter && arg == std::string("-") + o.letter)
            {
                return &o;
            }
        }
        return nullptr;
    }

    /// "--seed --out=x": Boost would take the second for the value of the first.
    void TakeOutThoseWithoutValue(std::vector<std::string>* args)
    {
        for (size_t i = 0; i + 1 < args->size();)
        {
            const Option* option = Bare((*args)[i]);
            const std::string& next = (*args)[i + 1];
            if (!option || option->IsSwitch() || option->name == "help")
            {
                ++i;
            }
            else if (next.rfind("--", 0) == 0 || Bare(next))
            {
                m_result->errors.push_back(
                    {(*args)[i], "", "needs a value; allowed: " + AllowedText(*option), ""});
                args->erase(args->begin() + static_cast<std::ptrdiff_t>(i));
            }
            else
            {
                i += 2;
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
        if (option && !option->IsSwitch())
        {
            m_result->errors.push_back(
                {name, "", "needs a value; allowed: " + AllowedText(*option), ""});
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
        std::string nearest = bare.size() > 1 ? rdma::NearestName(bare, candidates) : "";
        nearest = nearest.empty() ? rdma::NearestByParts(bare, candidates) : nearest;
        for (const Option& option : m_table.options)
        {
            // By the noun of its values: --operation is --op.
            nearest = nearest.empty() && option.nameOf == bare ? option.name : nearest;
        }
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
        else if (option->IsSwitch() && text.empty() && token.find('=') == std::string::npos)
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
        if (given->count(option->name) && option->kind == Kind::kEntries)
        {
            Value& all = (*given)[option->name];
            if (!ParseValue(*option, text, where, &value, &error))
            {
                m_result->errors.push_back(std::move(error));
                return;
            }
            all.entries.push_back(std::move(value.entries[0]));
            all.raw = all.text = EntriesText(*option, all.entries);
            return;
        }
        if (!ParseValue(*option, text, where, &value, &error))
        {
            m_result->errors.push_back(std::move(error));
            // Marked as given, so that nothing downstream complains about its absence.
            return;
        }
        const bool bare = option->IsSwitch() && token.find('=') == std::string::npos;
        m_typed[option->name].push_back(
            {where + (bare ? "" : "=" + text), CanonicalText(*option, value)});
        (*given)[option->name] = std::move(value);
    }

    /// Scripts append options to override earlier ones: the last one counts. One note an option.
    void NoteReplaced()
    {
        for (const auto& [name, all] : m_typed)
        {
            std::vector<std::string> earlier;
            for (const Typed& one : all)
            {
                if (one.value != all.back().value)
                {
                    earlier.push_back(rdma::Shown(one.text, 100));
                }
            }
            if (!earlier.empty())
            {
                m_result->notes.push_back(rdma::Shown(all.back().text, 100) +
                                          " replaces the earlier " + Join(earlier, " and "));
            }
        }
    }

    /// A value of an option as it was typed, and as it was read.
    struct Typed
    {
        std::string text;
        std::string value;
    };

    std::map<std::string, std::vector<Typed>> m_typed; ///< by option, in the order given
    const OptionTable& m_table;
    LongNames m_names;
    ReadResult* m_result;
};

} // namespace

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
        result.text = table.program + " " + table.version + ", " + BuildText() + "\n";
        return result;
    }
    for (const char* asking : {"help", "list"})
    {
        if (given.count(asking))
        {
            const std::string what = given[asking].text;
            result.errors.clear();
            result.text = what == "options" ? OptionsJson(table) : HelpText(table);
            for (const auto& list : table.lists)
            {
                if (list.name == what)
                {
                    const bool more = std::string(asking) == "help" && list.help;
                    result.text = more ? list.help() : ListText(list);
                }
            }
            for (const TextOfOthers& one : TextOfOthers::All())
            {
                result.text = one.name == what ? one.text() : result.text;
            }
            return result;
        }
    }

    if (given.count("scenario"))
    {
        const std::string file = given["scenario"].text;
        std::vector<topo::Error> errors;
        if (const auto text = topo::ReadWholeFile(file, errors))
        {
            ReadJson(table, *text, file, "", &result);
        }
        else
        {
            result.errors.push_back({given["scenario"].where,
                                     file,
                                     errors.empty() ? "cannot be read" : errors[0].problem,
                                     ""});
        }
    }
    const bool changes = std::any_of(given.begin(), given.end(), [&table](const auto& one) {
        const Option* option = table.Find(one.first);
        return option && !option->path.empty();
    });
    if (changes && !result.kept.empty() && result.errors.empty())
    {
        result.alone = std::make_shared<const ReadResult>(result);
    }
    for (auto& [name, value] : given)
    {
        const Option* option = table.Find(name);
        const Value& ofFile = result.values[name];
        if (option && option->ofPlaces && ofFile.given)
        {
            value.entries.insert(value.entries.begin(),
                                 ofFile.entries.begin(),
                                 ofFile.entries.end());
            value.raw = value.text = EntriesText(*option, value.entries);
        }
        result.values.Slot(name) = value;
        result.kept.erase(name);
    }
    return result;
}

} // namespace scenario
