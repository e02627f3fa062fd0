/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How users write what other layers name by the field that has it: "{tensor}=2" is "--tp=2". Only
 * options know their spellings.
 */
#ifndef SCENARIOS_OPTIONS_SPELLING_H
#define SCENARIOS_OPTIONS_SPELLING_H

#include <string>

namespace scenario
{

/// \return the option of a field: "tp" of "tensor"; "" if none is
std::string OptionOfField(const std::string& field);

/// \return the text with each "{field}" as its option, "--tp"
std::string Spelled(const std::string& text);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_SPELLING_H
