/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Names of a request's parts in the files of others.
 */
#ifndef SCENARIOS_FORMATS_REQUESTS_REQUEST_COLUMNS_H
#define SCENARIOS_FORMATS_REQUESTS_REQUEST_COLUMNS_H

#include "scenarios/formats/date-time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// A time's unit, as the digits of a ps in it.
struct TimeColumn
{
    std::string name;
    int digits;
};

/// The first that a file has counts.
const std::vector<TimeColumn>& ArrivalColumns();
const std::vector<std::string>& PromptColumns();
const std::vector<std::string>& OutputColumns();

/// Columns that tell runs of one file apart.
const std::vector<std::string>& RunColumns();

constexpr std::size_t kNoColumn = SIZE_MAX;

/// The columns of a request, as indices into a file's names.
struct RequestColumns
{
    std::size_t arrival = kNoColumn;
    int digits = 12; ///< of a ps in the arrival's unit
    std::size_t prompt = kNoColumn;
    std::size_t output = kNoColumn;
    std::string problem; ///< empty: both lengths are there
};

/// \param milliseconds a "timestamp" has this unit (Mooncake's), else seconds
RequestColumns FindRequestColumns(const std::vector<std::string>& names, bool milliseconds);

/// The column of this name; kNoColumn if there is none.
std::size_t FindColumn(const std::vector<std::string>& names, const std::string& name);

/// A number in the column's unit, or a date.
std::optional<WidePs> ParseArrival(const std::string& text, int digits);

/// A whole number up to kMostTokens; "12.0" is one, too.
std::optional<uint32_t> ParseTokenCount(const std::string& text);

} // namespace formats

#endif // SCENARIOS_FORMATS_REQUESTS_REQUEST_COLUMNS_H
