/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --help and --list.
 */
#include "scenarios/installation/installation.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/options/options.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace scenario
{

using namespace detail;

namespace
{

constexpr size_t kColumns = 100;

/// "random, round-robin, ...", if the help has not all of them. Longer ones are lists of their own:
/// --help ends in these.
std::string
NamesNotSaid(const Option& o)
{
    constexpr size_t kLongest = 100;
    if (!o.names || !o.placeholder.compare(0, 1, "["))
    {
        return "";
    }
    std::set<std::string> said;
    std::string word;
    for (const char c : o.help + " ")
    {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
        {
            word += c;
            continue;
        }
        said.insert(word);
        word.clear();
    }
    const std::vector<NamedItem> items = o.names();
    if (std::all_of(items.begin(), items.end(), [&said](const NamedItem& item) {
            return said.count(item.name) > 0;
        }))
    {
        return "";
    }
    const std::string names = JoinNames(items);
    return names.size() <= kLongest ? names : "";
}

/// "micro-batches a step; 1 to 1000000". No range that says nothing.
std::string
DescribedRange(const Option& o)
{
    if (!o.oneOf.empty())
    {
        return o.help + "; one of " + OneOfText(o);
    }
    const bool orFile = o.kind == Kind::kNameOrFile;
    if (const std::string names = o.kind == Kind::kName || orFile ? NamesNotSaid(o) : "";
        !names.empty())
    {
        return o.help + (orFile ? "; by name: " : "; ") + names;
    }
    const bool quantity = o.kind == Kind::kInteger || o.kind == Kind::kReal ||
                          o.kind == Kind::kBytes || o.kind == Kind::kRate ||
                          o.kind == Kind::kDuration;
    const std::string range = quantity && o.max <= 4e9 ? RangeText(o) : "";
    return o.help + (range.empty() ? "" : "; " + range);
}

std::string
OrWord(const Option& o, const std::string& said)
{
    return o.word.empty() || said.find(o.word) != std::string::npos ? "" : ", or " + o.word;
}

std::string
DefaultText(const Option& o)
{
    if (!o.defaultText.empty())
    {
        return "default " + o.defaultText + (o.defaultNote.empty() ? "" : "; ") + o.defaultNote;
    }
    return o.defaultNote.empty() ? "" : "default: " + o.defaultNote;
}

} // namespace

void
WrapText(std::string* out, const std::string& text, size_t used, size_t indent)
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

namespace
{

/// "; needs --pcap".
std::string
NeedsText(const OptionTable& table, const Option& option)
{
    const std::vector<std::string> needs = table.Needs(option, false);
    return needs.empty() ? "" : "; needs " + Join(needs, ", ");
}

} // namespace

std::string
Description(const OptionTable& table, const Option& option)
{
    const std::string text = DescribedRange(option);
    return text + OrWord(option, text) + NeedsText(table, option);
}

namespace
{

/// Where most options of a group stand in a scenario, of as many the first; the others say theirs.
std::string
SectionOf(const OptionTable& table, const std::string& group)
{
    std::vector<std::pair<std::string, uint32_t>> sections;
    for (const auto& o : table.options)
    {
        if (o.group != group || o.path.empty())
        {
            continue;
        }
        const std::string section = o.path.substr(0, o.path.rfind('/'));
        auto found = std::find_if(sections.begin(), sections.end(), [&](const auto& one) {
            return one.first == section;
        });
        found = found == sections.end() ? sections.insert(found, {section, 0}) : found;
        ++found->second;
    }
    const auto most =
        std::max_element(sections.begin(), sections.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    return most == sections.end() ? "" : most->first;
}

} // namespace

std::string
HelpText(const OptionTable& table)
{
    constexpr size_t kIndent = 32;
    std::string out;
    WrapText(&out, table.program + " - " + table.description, 0, 0);
    out += "\nUsage: " + CommandText(table.program + " [--option=value ...]") + "\n";
    WrapText(
        &out,
        "Every option with a JSON path can stand in a scenario file too (--scenario=FILE.json): "
        "--mtu=4096 is "
        "{\"fabric\": {\"mtu\": 4096}}. The command line overrides the file. Sizes: 40MB = 40 * "
        "10^6 bytes, 25MiB and 25M = "
        "25 * 2^20. Times: 500ns, 1us, 2ms. Rates: 100Gbps.",
        0,
        0);

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
        const std::string section = SectionOf(table, group);
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
            const std::string value =
                o.placeholder[0] == '[' ? o.placeholder : "=" + o.placeholder; // "[=WHAT]"
            left += "--" + o.name +
                    (flag && o.path.empty()   ? ""
                     : flag                   ? "[=0|1]"
                     : !o.onOff.first.empty() ? "[" + value + "]"
                                              : value);
            std::string also;
            for (const auto& a : o.aliases)
            {
                also += (also.empty() ? "; also --" : ", --") + a;
            }
            if (left.size() + 2 > kIndent)
            {
                out += left + "\n" + std::string(kIndent, ' ');
            }
            else
            {
                out += left + std::string(kIndent - left.size(), ' ');
            }
            std::string help = DescribedRange(o);
            if (flag && !o.path.empty() && o.defaultText == "1")
            {
                help += "; off: --no-" + o.name;
            }
            help += OrWord(o, help);
            help += NeedsText(table, o);
            help += also;
            const std::string byDefault = DefaultText(o);
            help += byDefault.empty() ? "" : " [" + byDefault + "]";
            if (!o.path.empty() && o.path != section + "/" + SnakeCase(o.name))
            {
                help += " (JSON: " + o.path + ")";
            }
            WrapText(&out, help, kIndent, kIndent);
        }
    }

    out += "\nns-3 attributes and lists  (JSON: /ns3)\n";
    out +=
        "  --ns3::TYPE::ATTRIBUTE=VALUE  any attribute: --ns3::RdmaSwitch::PipelineLatency=300ns\n";
    out += "  --PrintAttributes=TYPE, --PrintTypeIds, ...  what ns-3 knows\n";

    if (!table.examples.empty())
    {
        out += "\nExamples\n";
        for (const auto& e : table.examples)
        {
            out += "  " + (e.rfind("# ", 0) == 0 ? e : CommandText(e)) + "\n";
        }
    }
    if (!table.lists.empty())
    {
        out += "\nNames  (described by --list=" + std::string("WHAT") + ")\n";
        for (const auto& list : table.lists)
        {
            if (IsOfOption(list)) // they stand with the option
            {
                continue;
            }
            const std::string left = "  " + list.name + ": ";
            out += left;
            WrapText(&out, JoinNames(list.items()), left.size(), 4);
        }
    }
    return out;
}

std::string
ListText(const NameList& list)
{
    // Titles are one line, which scripts read; that of an option has its help.
    std::string out;
    if (IsOfOption(list))
    {
        WrapText(&out, list.title, 0, 4);
    }
    else
    {
        out = list.title + "\n";
    }
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
        WrapText(&out, item.description, left.size(), width + 4);
    }
    return out;
}

} // namespace scenario
