/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/options.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/text-of-others.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace scenario
{

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
    case Kind::kFile:
        return "a file";
    default:
        return "text";
    }
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
    if (o.allowed)
    {
        return o.allowed();
    }
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
    return FormHelp(o.kind) + (range.empty() ? "" : ", " + range) +
           (o.word.empty() ? "" : ", or " + o.word) +
           (o.kind == Kind::kText && !o.example.empty() ? " such as " + o.example : "");
}

bool
IsOfOption(const NameList& list)
{
    return list.title.rfind("--", 0) == 0;
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
NearestName(const std::string& text, const std::vector<NamedItem>& items)
{
    std::vector<std::string> names;
    for (const auto& item : items)
    {
        names.push_back(item.name);
    }
    return rdma::NearestName(text, names);
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
    const std::size_t head = option.arguments ? std::min(text.find(':'), text.size()) : text.size();
    const auto names = MatchNames(text.substr(0, head), option.names());
    return names.size() == 1               ? names.front() + text.substr(head)
           : names.empty() && option.alias ? option.alias(text)
                                           : "";
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
    static const Unit units[] = {{"TiB", 1ULL << 40},
                                 {"GiB", 1ULL << 30},
                                 {"MiB", 1ULL << 20},
                                 {"TB", 1000000000000ULL},
                                 {"GB", 1000000000ULL},
                                 {"MB", 1000000ULL},
                                 {"kB", 1000ULL},
                                 {"KiB", 1024ULL}};
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
ExactBytes(uint64_t bytes)
{
    const std::string text = CanonicalBytes(bytes);
    return std::isdigit(static_cast<unsigned char>(text.back())) ? text + " B" : text;
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

    static const Unit units[] = {{"s", 1000000000000LL},
                                 {"ms", 1000000000LL},
                                 {"us", 1000000LL},
                                 {"ns", 1000LL}};
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
    case Kind::kEntries:
        o.placeholder = "WHAT,KEY=VALUE,...";
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

void
Option::CheckHolds(Kind held) const
{
    const bool text = kind == Kind::kName || kind == Kind::kFile || kind == Kind::kNameOrFile;
    if ((text ? Kind::kText : kind) != held)
    {
        throw std::logic_error("--" + name + " is bound to a member of another kind");
    }
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

const Option*
OptionTable::Find(Member member) const
{
    const auto rows = ByMember();
    const auto row = rows->find(member);
    return row == rows->end() ? nullptr : Find(row->second);
}

std::shared_ptr<const std::map<Member, std::string>>
OptionTable::ByMember() const
{
    if (m_byMember)
    {
        return m_byMember;
    }
    auto rows = std::make_shared<std::map<Member, std::string>>();
    for (const Option& option : options)
    {
        if (option.member && !rows->emplace(*option.member, option.name).second)
        {
            throw std::logic_error("--" + option.name + " has the member of another option");
        }
    }
    KnowRows(*rows);
    return rows;
}

const ForeignName*
OptionTable::FindForeign(const std::string& name) const
{
    const auto it = std::find_if(foreign.begin(), foreign.end(), [&](const ForeignName& f) {
        return f.name == name;
    });
    return it == foreign.end() ? nullptr : &*it;
}

TextOfOthers::TextOfOthers(std::string name, std::string title, std::string (*text)())
    : name(std::move(name)),
      title(std::move(title)),
      text(text)
{
    All().push_back(*this);
}

std::vector<TextOfOthers>&
TextOfOthers::All()
{
    static std::vector<TextOfOthers> all;
    return all;
}

void
OptionTable::Add(std::vector<Option> more)
{
    for (auto& o : more)
    {
        options.push_back(std::move(o));
    }
}

std::vector<std::string>
OptionTable::Needs(const Option& option, bool usual) const
{
    std::vector<std::string> needs;
    for (const Condition& condition : option.conditions)
    {
        const When& when = condition.when;
        if ((usual || !when.usual) && when.IsIn(*this) &&
            std::find(needs.begin(), needs.end(), when.needs) == needs.end())
        {
            needs.push_back(when.needs);
        }
    }
    return needs;
}

namespace
{

/// Titles have the option in brackets: "Network interfaces (--nic)".
bool
IsListOf(const std::string& title, const std::string& option)
{
    return title.find("(--" + option + ")") != std::string::npos;
}

/// The list that an option's name or a plural means: "topology", "schedulers"; "" if none.
std::string
ListMeant(const std::string& text, const std::vector<NamedItem>& lists)
{
    const auto ends = [&text](const std::string& end) {
        return text.size() > end.size() &&
               text.compare(text.size() - end.size(), end.size(), end) == 0;
    };
    const std::string one = ends("ies") ? text.substr(0, text.size() - 3) + "y"
                            : ends("s") ? text.substr(0, text.size() - 1)
                                        : text;
    const auto found = std::find_if(lists.begin(), lists.end(), [&](const NamedItem& list) {
        return list.name == one || IsListOf(list.description, one);
    });
    return found == lists.end() ? "" : found->name;
}

} // namespace

void
OptionTable::Finish()
{
    // Of a table made from another one, the options may be others.
    m_byMember = nullptr;
    m_byMember = ByMember();
    lists.erase(std::remove_if(lists.begin(), lists.end(), IsOfOption), lists.end());
    std::vector<NamedItem> items;
    for (const auto& list : lists)
    {
        items.push_back({list.name, list.title});
    }
    items.push_back({"options", "All options, as JSON for other programs"});
    for (const TextOfOthers& one : TextOfOthers::All())
    {
        items.push_back({one.name, one.title + ", as JSON for other programs"});
    }
    std::string allowed = JoinNames(items);
    const std::size_t described = items.size();
    for (const auto& o : options)
    {
        const bool listed = std::any_of(lists.begin(), lists.end(), [&o](const NameList& list) {
            return list.name == o.name || IsListOf(list.title, o.name);
        });
        if (o.names && !listed && o.name != "list" && o.name != "help")
        {
            lists.push_back({o.name, "--" + o.name + ": " + o.help, o.names});
            items.push_back({o.name, lists.back().title});
        }
    }
    if (items.size() > described)
    {
        allowed += ", or an option with names, as --list=" + items[described].name;
    }
    for (auto& o : options)
    {
        if (o.name == "list" || o.name == "help")
        {
            o.Names("list", items)
                .Aliases([items](const std::string& text) { return ListMeant(text, items); })
                .Allows([allowed] { return allowed; });
        }
    }
}

} // namespace scenario
