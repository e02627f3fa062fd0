/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shared by the parts of the option machinery: options.cc (one value), options-json.cc,
 * options-command-line.cc, options-help.cc. Not for use outside; kFilesKey is.
 */
#ifndef SCENARIOS_OPTIONS_OPTIONS_DETAIL_H
#define SCENARIOS_OPTIONS_OPTIONS_DETAIL_H

#include "scenarios/options/options.h"

#include <string>

namespace scenario
{

/// Key of digests that a program which can --resume keeps beside its options: no option.
constexpr const char* kFilesKey = "files";

namespace detail
{

std::string SnakeCase(std::string s);     ///< "micro-batch" -> "micro_batch"
std::string RealText(double v);           ///< a number to as many digits as it has
std::string RangeText(const Option& o);   ///< "1 to 64"; "" if anything goes
std::string OneOfText(const Option& o);   ///< "256, 512"
std::string AllowedText(const Option& o); ///< all that a person needs to know to give a valid value
/// Checks one entry of a kEntries: its keys are known, none is repeated, the first one is there.
/// \return the problem, or nothing
/// \param [out] nearest a key that may have been meant
std::string CheckEntry(const Option& o,
                       const std::vector<std::pair<std::string, std::string>>& entry,
                       std::string* nearest);
/// "a,key=b,other=c", or "PLACE:KEY=VALUE"; of several entries blanks between them.
std::string EntriesText(
    const Option& o,
    const std::vector<std::vector<std::pair<std::string, std::string>>>& entries);
/// One entry of Option::ofPlaces. False, with what is wrong, if the text is none.
bool ParsePlaceEntry(const std::string& text,
                     const std::string& where,
                     std::vector<std::pair<std::string, std::string>>* entry,
                     std::string* problem);

/// What is wrong with a JSON value of Option::ofPlaces; nothing if `problem` is empty.
struct PlaceMistake
{
    std::string path; ///< "/core/ecn_kmin"
    nlohmann::json value;
    std::string problem;
    std::string nearest = {};
};

/// The entries of {"core": {"ecn_kmin": "1MB"}}. \param where the object stands
PlaceMistake ReadPlaceObjects(const nlohmann::json& given,
                              const std::string& where,
                              Entries* entries);
/// The entry of {"place": "core", "key": "ecn_kmin", "value": "1MB"}. \param where it stands
PlaceMistake ReadPlaceEntry(const nlohmann::json& given,
                            const std::string& where,
                            std::vector<std::pair<std::string, std::string>>* entry);
/// "PLACE:KEY=VALUE"
std::string PlaceText(const std::vector<std::pair<std::string, std::string>>& entry);
/// Whether OptionTable::Finish made the list, of the names of one option.
bool IsOfOption(const NameList& list);
bool ParseFlag(const std::string& text, bool* flag);
std::string FolderOf(const std::string& file); ///< with the '/', or ""

/// Every option at its default.
void SetDefaults(const OptionTable& table, ReadResult* result);
/// Lays the values and errors of a JSON text over *result. \param at the path of that text in the
/// file, "/jobs/0"; empty: the text is the file
void ReadJson(const OptionTable& table,
              const std::string& text,
              const std::string& origin,
              const std::string& at,
              ReadResult* result);

} // namespace detail
} // namespace scenario

#endif // SCENARIOS_OPTIONS_OPTIONS_DETAIL_H
