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

#include "scenarios/options/binding.h"
#include "scenarios/options/member.h"
#include "scenarios/options/option.h"
#include "scenarios/options/values.h"
#include "scenarios/options/when.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

template <class T>
void
Append(std::vector<T>* all, std::vector<T> more)
{
    all->insert(all->end(),
                std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

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

/// A value as the attributes of its option take it.
std::string AttributeText(const Option& option, const Value& value);

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
