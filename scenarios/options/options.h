/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One table of options a program, and what reads a command line and a JSON scenario by it.
 *
 *   Option  --micro-batch=4   JSON path /training/micro_batch   kind, default, range or names, help
 *
 * The table is the only place where an option is described: parsing, the errors, --help, the JSON
 * keys, the "configuration as run", the words of report.html and docs/options.md, and the ns-3
 * attributes that take its value all come from it: what uses an option is the only other place that
 * knows it. The command line overrides the file, and a later option an earlier one, with a note.
 * Nothing is ignored: an unknown option or key, a repeated key, a wrong type, unit or range, each
 * is one Error that says what would be right.
 *
 * This part knows no option by name except --scenario, --help, --list and --version, which every
 * program has.
 */
#ifndef SCENARIOS_OPTIONS_OPTIONS_H
#define SCENARIOS_OPTIONS_OPTIONS_H

#include "contrib/rdma/core/input-error.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/options/binding.h"
#include "scenarios/options/member.h"
#include "scenarios/options/when.h"
#include "topologies/registered.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scenario
{

/// Something a registry offers under a name.
struct NamedItem
{
    std::string name;
    std::string description;
};

/// Entries that register themselves (topologies/registered.h).
template <class Entry>
std::vector<NamedItem>
ItemsOf()
{
    std::vector<NamedItem> items;
    for (const Entry* entry : topo::Registered<Entry>::All())
    {
        items.push_back({entry->name, entry->description});
    }
    return items;
}

enum class Kind : uint8_t
{
    kFlag,     ///< --pfc, --pfc=0|1|true|false|on|off|yes|no, --no-pfc; JSON true, false
    kInteger,  ///< not negative; JSON number
    kReal,     ///< JSON number
    kBytes,    ///< 40MB, 25MiB, 1M; JSON string, or a number of bytes
    kRate,     ///< 100Gbps; JSON string
    kDuration, ///< 500ns; JSON string
    kText,     ///< anything; JSON string
    kName,     ///< one of names(); JSON string
    kFile,     ///< a path; in JSON relative to the folder of the JSON file
    /// one of names(), or a path (it has a '/' or a '.', or is the name of a file that exists)
    kNameOrFile,
    /// comma separated, WHAT,key=value,...; may stand there several times; JSON array of objects
    kEntries,
    kList, ///< comma separated; JSON array of strings, a string, or an object {"a": "b"} for a=b
};

using Error = rdma::InputError;

/// One line of an option table. Made by Opt() and its setters.
struct Option
{
    std::string name;
    Kind kind = Kind::kText;
    std::string path; ///< JSON path; empty: command line only
    std::string group;
    std::string help;
    std::string defaultText; ///< default in the command line's syntax; empty: no value
    std::string defaultNote; ///< shown behind defaultText or for it: "the smallest that fits"
    std::string placeholder; ///< "N", "SIZE"
    std::vector<std::string> aliases;
    char letter = 0;
    double min = 0; ///< in the base unit: bytes, bits per second, picoseconds
    double max = 18446744073709551615.;
    std::vector<uint64_t> oneOf; ///< the only values of a kInteger or kBytes, if any
    std::function<std::vector<NamedItem>()> names;
    std::string nameOf; ///< the noun for names() in errors: "model"
    /// The allowed names, where names() alone do not tell which of them go together.
    std::function<std::string()> allowed;
    /// The entry of names() that another spelling means ("A100-80GB" is "A100"); "" if none.
    std::function<std::string(const std::string&)> alias;
    /// The reason why a text that is not in names() cannot be had, if the case deserves its own
    /// words; else "".
    std::function<std::string(const std::string&)> refusal;
    /// Another word that a kInteger may be, "auto": Value::text is the word then, and the number 0.
    std::string word;
    /// A kName that is also a switch: its value if given without one, with "1", or true in JSON
    /// ("full"); and its value with "0", --no-NAME, or false. Empty: it is no switch.
    std::pair<std::string, std::string> onOff;
    bool distinct = false;         ///< a kList: no entry may be repeated
    bool arguments = false;        ///< of names(), too: "poisson:8", which Value::text has whole
    std::vector<std::string> keys; ///< a kEntries: its keys; the first one needs no name
    std::string example; ///< a valid value other than the default, for tests and documentation
    std::vector<Condition> conditions; ///< all must hold
    std::optional<Member> member;      ///< of scenarios/asked; none: the row is made of a registry
    std::vector<Binding> bindings;     ///< other members that get its value
    /// The ns-3 attributes that get its value, if nothing else is needed for that.
    std::vector<std::string> attributes;

    Option& Default(std::string text)
    {
        defaultText = std::move(text);
        return *this;
    }

    Option& Otherwise(std::string note)
    {
        defaultNote = std::move(note);
        return *this;
    }

    Option& Shows(std::string text)
    {
        placeholder = std::move(text);
        return *this;
    }

    Option& Alias(std::string other)
    {
        aliases.push_back(std::move(other));
        return *this;
    }

    Option& Letter(char c)
    {
        letter = c;
        return *this;
    }

    Option& Range(double low, double high)
    {
        min = low;
        max = high;
        return *this;
    }

    Option& OneOf(std::vector<uint64_t> values)
    {
        oneOf = std::move(values);
        return *this;
    }

    Option& Names(std::string what, std::function<std::vector<NamedItem>()> list)
    {
        nameOf = std::move(what);
        names = std::move(list);
        return *this;
    }

    Option& Names(std::string what, std::vector<NamedItem> list)
    {
        return Names(std::move(what), [list = std::move(list)] { return list; });
    }

    template <class Entry>
    Option& NamesOf(std::string what)
    {
        return Names(std::move(what), ItemsOf<Entry>);
    }

    Option& Aliases(std::function<std::string(const std::string&)> find)
    {
        alias = std::move(find);
        return *this;
    }

    Option& Refuse(std::function<std::string(const std::string&)> why)
    {
        refusal = std::move(why);
        return *this;
    }

    Option& Allows(std::function<std::string()> inWords)
    {
        allowed = std::move(inWords);
        return *this;
    }

    Option& WithArguments()
    {
        arguments = true;
        return *this;
    }

    Option& OrWord(std::string text)
    {
        word = std::move(text);
        return *this;
    }

    Option& OnOff(std::string on, std::string off)
    {
        onOff = {std::move(on), std::move(off)};
        return *this;
    }

    /// It may stand without a value.
    bool IsSwitch() const
    {
        return kind == Kind::kFlag || !onOff.first.empty();
    }

    Option& Distinct()
    {
        distinct = true;
        return *this;
    }

    Option& Keys(std::vector<std::string> all)
    {
        keys = std::move(all);
        return *this;
    }

    Option& CommandLineOnly()
    {
        path.clear();
        return *this;
    }

    Option& At(std::string jsonPath)
    {
        path = std::move(jsonPath);
        return *this;
    }

    Option& Example(std::string text)
    {
        example = std::move(text);
        return *this;
    }

    /// Elsewhere the option is refused.
    Option& Only(When when)
    {
        conditions.push_back({std::move(when), true});
        return *this;
    }

    /// Elsewhere a note says that the option has no effect, or what it does not do.
    Option& IdleUnless(When when, std::string idle = "has no effect")
    {
        conditions.push_back({std::move(when), false, std::move(idle)});
        return *this;
    }

    /// The row says how users write this member: its name in all rules.
    template <class S, class T>
    Option& As(T S::*asked)
    {
        using Has = typename Held<T>::Type;
        CheckHolds(std::is_same_v<Has, bool>                                      ? Kind::kFlag
                   : std::is_floating_point_v<Has>                                ? Kind::kReal
                   : std::is_integral_v<Has> || std::is_same_v<Has, NumberOrWord> ? Kind::kInteger
                   : std::is_same_v<Has, rdma::Bytes>                             ? Kind::kBytes
                   : std::is_same_v<Has, rdma::BitRate>                           ? Kind::kRate
                   : std::is_same_v<Has, rdma::Duration>                          ? Kind::kDuration
                   : std::is_same_v<Has, std::vector<std::string>>                ? Kind::kList
                   : std::is_same_v<Has, Entries>                                 ? Kind::kEntries
                                                                                  : Kind::kText);
        member = Member(asked);
        return *this;
    }

    template <class S, class T>
    Option& To(T S::*member)
    {
        bindings.push_back(BindTo(member));
        return *this;
    }

    /// For one of names(), of which `parse` knows all.
    template <class S, class T>
    Option& To(T S::*member, std::optional<T> (*parse)(std::string_view))
    {
        bindings.push_back({typeid(S), [member, parse](const Value& value, void* spec) {
                                if (!value.text.empty())
                                {
                                    static_cast<S*>(spec)->*member = *parse(value.text);
                                }
                            }});
        return *this;
    }

    /// Texts, names and files are all kept as texts. \throw std::logic_error the kind is another
    void CheckHolds(Kind held) const;

    /// "ns3::RdmaNic::AckEvery": the option is this attribute, and needs no other word to reach it.
    Option& Sets(std::string attribute)
    {
        attributes.push_back(std::move(attribute));
        return *this;
    }
};

/// An option with the JSON key that follows from its name: Opt("micro-batch", kInteger,
/// "/training", ...) is
/// /training/micro_batch. An empty section: command line only.
Option Opt(std::string name,
           Kind kind,
           const std::string& section,
           std::string group,
           std::string help);

template <class T>
void
Append(std::vector<T>* all, std::vector<T> more)
{
    all->insert(all->end(),
                std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

/// Makes the rows of one object of a scenario file, and of one group of --help.
struct Section
{
    std::string json; ///< "/training"
    std::string group;
    std::vector<Condition> conditions = {}; ///< of all rows

    /// The same section for rows with one more condition (Option::Only).
    Section Only(When when) const
    {
        Section more = *this;
        more.conditions.push_back({std::move(when), true});
        return more;
    }

    /// The same with Option::IdleUnless.
    Section IdleUnless(When when) const
    {
        Section more = *this;
        more.conditions.push_back({std::move(when), false});
        return more;
    }

    Option Row(Kind kind, std::string name, std::string help) const
    {
        Option row = Opt(std::move(name), kind, json, group, std::move(help));
        row.conditions = conditions;
        return row;
    }

    Option Flag(std::string name, std::string help) const
    {
        return Row(Kind::kFlag, std::move(name), std::move(help));
    }

    Option Integer(std::string name, std::string help) const
    {
        return Row(Kind::kInteger, std::move(name), std::move(help));
    }

    Option Real(std::string name, std::string help) const
    {
        return Row(Kind::kReal, std::move(name), std::move(help));
    }

    Option Bytes(std::string name, std::string help) const
    {
        return Row(Kind::kBytes, std::move(name), std::move(help));
    }

    Option Rate(std::string name, std::string help) const
    {
        return Row(Kind::kRate, std::move(name), std::move(help));
    }

    Option Duration(std::string name, std::string help) const
    {
        return Row(Kind::kDuration, std::move(name), std::move(help));
    }

    Option Text(std::string name, std::string help) const
    {
        return Row(Kind::kText, std::move(name), std::move(help));
    }

    Option Name(std::string name, std::string help) const
    {
        return Row(Kind::kName, std::move(name), std::move(help));
    }

    Option File(std::string name, std::string help) const
    {
        return Row(Kind::kFile, std::move(name), std::move(help));
    }

    Option NameOrFile(std::string name, std::string help) const
    {
        return Row(Kind::kNameOrFile, std::move(name), std::move(help));
    }

    Option Entries(std::string name, std::string help) const
    {
        return Row(Kind::kEntries, std::move(name), std::move(help));
    }

    Option List(std::string name, std::string help) const
    {
        return Row(Kind::kList, std::move(name), std::move(help));
    }
};

/// An option of other software that does not exist here, but deserves its own words.
struct ForeignName
{
    std::string name; ///< "tensor-model-parallel-size"
    char letter = 0;  ///< short option; without it only the name exists
    /// Values, and the argument of this program with the same effect; "" if that is the behaviour
    /// anyway. The value of a flag is "".
    std::vector<std::pair<std::string, std::string>> means;
    std::string otherwise; ///< the replacement, for all other values
    bool flag = false;     ///< takes no value
};

/// A list that --list=NAME and --help=NAME print.
struct NameList
{
    std::string name;  ///< "models"
    std::string title; ///< "Models (--model)"
    std::function<std::vector<NamedItem>()> items;
    /// The text of --help=NAME, if it is more than the items.
    std::function<std::string()> help = {};
};

struct OptionTable
{
    std::string program; ///< "dltrain"
    std::string version;
    std::string description; ///< first lines of --help
    std::vector<Option> options;
    std::vector<NameList> lists;
    std::vector<ForeignName> foreign;
    std::vector<std::string>
        examples; ///< command lines without "./ns3 run"; "# ..." lines are remarks

    const Option* Find(const std::string& name) const; ///< by name
    const ForeignName* FindForeign(
        const std::string& name) const; ///< \return the foreign name; null if there is none
    void Add(std::vector<Option> more);
    /// The conditions of an option in words, each once; \param usual with those that hold by
    /// default
    std::vector<std::string> Needs(const Option& option, bool usual) const;
    const Option* Find(Member member) const; ///< \return its row; null: this program has none
    /// Rows by member. Finish() makes it; a table without is asked anew each time.
    std::shared_ptr<const std::map<Member, std::string>> ByMember() const;
    /// Gives --list and --help the names of the lists. Call it when the lists are there.
    void Finish();

  private:
    std::shared_ptr<const std::map<Member, std::string>> m_byMember;
};

/// All values of a table. Asking for a name that is not in the table is a mistake of the program:
/// std::logic_error.
class Values
{
  public:
    const Value& operator[](const std::string& name) const;
    Value& Slot(const std::string& name);

    bool Given(const std::string& name) const
    {
        return (*this)[name].given;
    }

    bool Present(const std::string& name) const
    {
        return (*this)[name].present;
    }

    bool Flag(const std::string& name) const
    {
        return (*this)[name].flag;
    }

    uint64_t Integer(const std::string& name) const
    {
        return (*this)[name].integer;
    }

    uint32_t U32(const std::string& name) const
    {
        return static_cast<uint32_t>((*this)[name].integer);
    }

    double Real(const std::string& name) const
    {
        return (*this)[name].real;
    }

    const std::string& Text(const std::string& name) const
    {
        return (*this)[name].text;
    }

    rdma::Bytes Bytes(const std::string& name) const
    {
        return rdma::Bytes((*this)[name].integer);
    }

    rdma::BitRate Rate(const std::string& name) const
    {
        return rdma::BitRate((*this)[name].integer);
    }

    rdma::Duration Duration(const std::string& name) const
    {
        return rdma::Duration(static_cast<int64_t>((*this)[name].integer));
    }

    const std::vector<std::string>& List(const std::string& name) const
    {
        return (*this)[name].list;
    }

    /// The value of a member: T{} if there is none, or if the program has no such option. Texts,
    /// lists and entries by reference.
    template <class S, class T>
    decltype(auto) Get(T S::*member) const
    {
        using Has = typename Held<T>::Type;
        const Value& value = At(member);
        if constexpr (std::is_same_v<Has, std::string>)
        {
            return static_cast<const std::string&>(value.text);
        }
        else if constexpr (std::is_same_v<Has, std::vector<std::string>>)
        {
            return static_cast<const std::vector<std::string>&>(value.list);
        }
        else if constexpr (std::is_same_v<Has, Entries>)
        {
            return static_cast<const Entries&>(value.entries);
        }
        else
        {
            return ValueAs<Has>(value);
        }
    }

    /// Whether a member has a value, given or decided.
    bool Has(Member member) const
    {
        return At(member).present;
    }

    bool Given(Member member) const
    {
        return At(member).given;
    }

    /// As Where(name); of an option that this program does not have, "--name".
    std::string Where(Member member) const;

    const std::string& Raw(Member member) const
    {
        return At(member).raw;
    }

    /// \return the member's option: "zero"
    const std::string& NameOf(Member member) const;
    /// All of a value; an empty one if the program has no such option.
    const Value& At(Member member) const;
    /// The same to be written. The program has the option.
    Value& Slot(Member member);

    /// Sets a value as if nobody had given it.
    template <class S, class T>
    void Set(T S::*member, const typename Held<T>::Type& to)
    {
        Value value;
        SetValue(&value, to);
        value.present = true;
        Slot(member) = std::move(value);
    }

    /// How to point at an option in an error: where it was given, else "--name".
    std::string Where(const std::string& name) const;

    /// The text that was given, or the default.
    const std::string& Raw(const std::string& name) const
    {
        return (*this)[name].raw;
    }

    /// Members become names of the rows that are bound to them in this table.
    void BindTo(const OptionTable& table);

  private:
    std::map<std::string, Value> m_values;
    std::shared_ptr<const std::map<Member, std::string>> m_options;
};

struct JobSeat;

/// A value of a configuration as run that nobody gave: a default, or decided from others. A run of
/// that configuration decides it again.
struct KeptValue
{
    std::string path; ///< its option's
    nlohmann::json json;
    Value value; ///< as if it were given
};

/// The result of reading a command line.
struct ReadResult
{
    Values values;
    std::vector<Error> errors;
    std::vector<std::string> notes;  ///< of options given several times
    std::optional<std::string> text; ///< --help, --list, --version: print it and stop with status 0
    std::vector<std::string> ns3Arguments;
    std::vector<std::pair<std::string, std::string>>
        attributes;                      ///< attributes in the JSON's "ns3" object, in its order
    std::shared_ptr<const JobSeat> seat; ///< seat of a job among several; null: the run has one job
    std::map<std::string, KeptValue> kept; ///< by option
    /// A configuration as run, without the options that were given on top. Null: none were.
    std::shared_ptr<const ReadResult> alone;
};

/// Reads argv[1..] and the --scenario file it names.
ReadResult ReadOptions(const OptionTable& table, int argc, const char* const* argv);

/// The same from the text of a scenario alone; `origin` stands for its file name in errors. For
/// tests and tools.
ReadResult ReadScenarioText(const OptionTable& table,
                            const std::string& text,
                            const std::string& origin);

/// One value as if it had been typed. False, with *error set, if it is not valid. `where` names it
/// in the error.
bool ParseValue(const Option& option,
                const std::string& text,
                const std::string& where,
                Value* value,
                Error* error);

/// A value as one would type it, exactly: "25MiB", "100Gbps", "1us", "1".
std::string CanonicalText(const Option& option, const Value& value);
std::string CanonicalBytes(uint64_t bytes);
/// The same for people: always with a unit.
std::string ExactBytes(uint64_t bytes);
std::string CanonicalRate(uint64_t bps);
std::string CanonicalDuration(int64_t ps);

/// Attributes and their texts, as ns-3 reads them: of all options that are attributes and have a
/// value.
std::vector<std::pair<std::string, std::string>> AttributesOf(const OptionTable& table,
                                                              const Values& values);

/// The paths of files that were given.
std::vector<std::string> FilesOf(const OptionTable& table, const Values& values);

/// The options that were given, of those that ToJson writes.
std::vector<std::string> GivenOf(const OptionTable& table,
                                 const Values& values,
                                 const std::vector<std::string>& except);

/// All values as a scenario that reads back as the same values. Options without a value are left
/// out, and those in `except`.
nlohmann::json ToJson(const OptionTable& table,
                      const Values& values,
                      const std::vector<std::string>& except);

/// --help: grouped, with defaults, ranges and units; no line longer than 100 columns.
std::string HelpText(const OptionTable& table);
/// --list=NAME.
std::string ListText(const NameList& list);
/// Words of `text` in lines of at most 100 columns, the first after `used` columns, the others
/// indented by `indent`.
void WrapText(std::string* out, const std::string& text, size_t used, size_t indent);
/// The meaning of an option, with its range: "micro-batches a step; 1 to 1000000". For --help,
/// documentation and report.html. With the conditions that do not hold by default.
std::string Description(const OptionTable& table, const Option& option);
/// --list=options: the table as JSON, for programs that read it: tests, documentation, the report's
/// words, the Python package. Ranges are in the base unit, as Option has them.
std::string OptionsJson(const OptionTable& table);

/// The name that `text` means for this option, by names() or alias(). Empty if none, or if it may
/// mean several.
std::string NameMeant(const Option& option, const std::string& text);

/// The names in `items` that `text` may mean: the exact one, else all that match it when folded
/// (topo::FoldedName). No two names of a registry fold alike, so there is at most one; a test
/// checks that.
std::vector<std::string> MatchNames(const std::string& text, const std::vector<NamedItem>& items);
/// The only match. Empty if there is none, or several.
std::string MatchName(const std::string& text, const std::vector<NamedItem>& items);
/// "a, b, c".
std::string JoinNames(const std::vector<NamedItem>& items);
/// The one that a misspelt name is nearest to (rdma::NearestName), or "".
std::string NearestName(const std::string& text, const std::vector<NamedItem>& items);
std::string Join(const std::vector<std::string>& parts, const char* separator);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_OPTIONS_H
