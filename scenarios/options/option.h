/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One option, a row of an option table, and what makes rows (Section).
 */
#ifndef SCENARIOS_OPTIONS_OPTION_H
#define SCENARIOS_OPTIONS_OPTION_H

#include "contrib/rdma/core/input-error.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/options/binding.h"
#include "scenarios/options/member.h"
#include "scenarios/options/when.h"
#include "topologies/registered.h"

#include <array>
#include <cstdint>
#include <functional>
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

/// Keys of an entry of Option::OfPlaces, in this order: where it applies, to which setting, the
/// value, and where the user wrote it.
constexpr std::array<const char*, 4> kPlaceKeys = {"place", "key", "value", "where"};

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
    /// A kEntries of values at places: PLACE:KEY=VALUE; JSON {"PLACE": {"KEY": "VALUE"}}, or a list
    /// of such texts. Those of the command line come behind those of a file.
    bool ofPlaces = false;
    std::string example; ///< a valid value other than the default, for tests and documentation
    std::vector<Condition> conditions; ///< all must hold
    std::optional<Member> member;      ///< of scenarios/asked; none: the row is made of a registry
    std::vector<Binding> bindings;     ///< other members that get its value
    /// The ns-3 attributes that get its value, if nothing else is needed for that.
    std::vector<std::string> attributes;
    /// The ns-3 attributes that get its value at a place of the network (--set), if they are not
    /// `attributes`.
    std::vector<std::string> attributesOfPlaces;
    bool ofWhole = false; ///< `attributes` are one for the whole network: no place has its own

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

    /// PLACE:KEY=VALUE, for code that knows the places and keys.
    Option& OfPlaces()
    {
        ofPlaces = true;
        return Keys({kPlaceKeys.begin(), kPlaceKeys.end()}).Shows("PLACE:KEY=VALUE");
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

    /// The same of an attribute that is one for the whole network (RdmaCommon).
    Option& SetsForAll(std::string attribute)
    {
        ofWhole = true;
        return Sets(std::move(attribute));
    }

    /// At a place of the network (--set) the option is this attribute; for all of the network, more
    /// follows from it.
    Option& SetsAtPlaces(std::string attribute)
    {
        attributesOfPlaces.push_back(std::move(attribute));
        return *this;
    }

    std::vector<std::string> AttributesOfPlaces() const
    {
        return ofWhole                      ? std::vector<std::string>()
               : attributesOfPlaces.empty() ? attributes
                                            : attributesOfPlaces;
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

} // namespace scenario

#endif // SCENARIOS_OPTIONS_OPTION_H
